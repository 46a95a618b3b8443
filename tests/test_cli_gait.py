"""``neuler gait``: what it prints, writes and refuses, how it ends; and studies of walks."""

from __future__ import annotations

import json
import os
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from cli_runs import refused, run
from neuler import studies
from neuler.cli import parser
from neuler.cli.gait import _problem
from neuler.gait.problem import read_gait
from neuler.robots.humans import Person

pytest.importorskip("scipy")
SHORT = ("--seconds", 0.001, "--no-refine")
WALK = """
title = "a short walk"
[person]
stature = 1.75
mass = 75.0
[gait]
speed = 1.2
step = 0.6
refine = false
"""


@pytest.fixture
def problem(tmp_path):
    path = tmp_path / "walk.toml"
    path.write_text(WALK)
    return path


@pytest.mark.slow
def test_one_object_of_json_and_all_files(capsys, problem, tmp_path, monkeypatch):
    """It was stopped at once, so that it is not valid: 1."""
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    code, out, err = run(capsys, "gait", problem, "--seconds", 0.001, "--speed", 1.1, "-o", "out", "--json")
    assert code == 1, err
    assert err == ""
    found = json.loads(out)
    assert (found["title"], found["speed"], found["step"], found["mass"]) == ("a short walk", 1.1, 0.6, 75.0)
    assert (found["valid"], found["status"]) == (False, "limit")
    names = {"stride.csv", "angles.mot", "forces.sto", "walk.npz", "curves.png", "strip.png", "walk.html",
             "summary.json"}  # fmt: skip
    assert {path.name for path in (tmp_path / "out").iterdir()} == names
    assert set(found["files"]) == {f"out/{name}" for name in names}
    kept = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert kept == {name: value for name, value in found.items() if name != "files"}
    assert (tmp_path / "out" / "curves.png").read_bytes()[:4] == b"\x89PNG"
    assert "a short walk" in (tmp_path / "out" / "walk.html").read_text()


@pytest.mark.slow
def test_flags_alone(capsys, tmp_path):
    code, out, err = run(capsys, "gait", *SHORT, "-o", tmp_path / "out", "--tables", "csv", "--no-figures", "--no-page")
    assert code == 1, err
    assert out.startswith("walk at 1.2 m/s with steps of 0.6 m\nwalk of a male person of 1.75 m and 75 kg")
    assert "worst of " in out
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["stride.csv", "summary.json"]
    assert f"wrote {tmp_path / 'out' / 'stride.csv'}" in out


def test_what_flags_mean():
    """Each changes one value of the problem file."""
    given = "gait --speed 1.0 --step 0.5 --stature 1.65 --mass 60 --sex female --control-points 14 --seconds 9"
    given += " --starts 3 --seed 2 --no-refine --set gait.knee=55,8 --set person.measured_lengths.thigh=0.4 --no-page"
    task = read_gait(_problem(parser().parse_args(given.split())))
    assert task.walk.person == Person(1.65, 60.0, "female", measured_lengths={"thigh": 0.4})
    assert (task.walk.speed, task.walk.step, task.walk.control_points, task.walk.knee) == (1.0, 0.5, 14, (55.0, 8.0))
    assert task.options == {"seconds": 9.0, "refine": False, "starts": 3, "seed": 2}
    assert (task.output.figures, task.output.page) == (True, False)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["human"], "expected a problem file that ends in .toml"),
        (["nothing.toml"], "nothing.toml: there is no such file"),
        (["--speed", -1], "[gait] speed: must be above zero, got -1"),
        (["--speed", "nan"], "[gait] speed: expected a number, got nan"),
        (["--step", 3], "longer than the legs allow"),
        (["--sex", "robot"], "[person] sex: must be one of 'female', 'male'"),
        (["--stature", 175], "is it in cm?"),
        (["--mass", "heavy"], "[person] mass: expected a number"),
        (["--seconds", 0], "[gait] seconds: expected a positive number"),
        (["--starts", "many"], "[gait] starts: expected a whole number"),
        (["--control-points", 2], "[gait] control_points: must be a whole number, 12 or more"),
        (["--set", "gait.sped=1"], "did you mean 'speed'?"),
        (["--set", "gait.speed"], "--set expects TABLE.KEY=VALUE"),
        (["--tables", "xls"], "there is no 'xls'"),
        (["PROBLEM", "--set", "robot.name=two_link"], "robot: unknown key"),
    ],
)
def test_what_is_refused(capsys, problem, arguments, words):
    given = [str(problem) if word == "PROBLEM" else word for word in arguments]
    assert words in refused(capsys, "gait", *given)


def test_a_folder_that_cannot_be_written_is_refused_before_the_solve(capsys, tmp_path):
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        told = refused(capsys, "gait", "-o", folder)
        assert f"cannot write into the folder '{folder}'" in told
        assert "name another one: -o FOLDER" in told


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="sends a signal")
def test_interrupted_it_writes_the_best_so_far(problem, tmp_path):
    """A bar on a terminal, Ctrl-C while it solves: exit code 130 and files."""
    import fcntl
    import pty
    import termios

    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 160, 0, 0))
    command = [sys.executable, "-m", "neuler", "gait", str(problem), "-o", str(tmp_path / "out"), "--no-figures",
               "--no-page", "--json"]  # fmt: skip
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=follower) as process:
        os.close(follower)
        shown = b""
        begun = time.monotonic()
        while b"infeasible by" not in shown and time.monotonic() - begun < 120:
            shown += os.read(leader, 4096)
        assert b"infeasible by" in shown
        process.send_signal(signal.SIGINT)
        out = process.stdout.read()
        assert process.wait(60) == 130
    os.close(leader)
    assert json.loads(out)["status"] == "interrupted"
    assert (tmp_path / "out" / "stride.csv").exists()


# ---- studies of walks --------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_study_of_walks(capsys, problem, tmp_path):
    """Rows have the numbers of the summary; the picture of peak forces is beside the usual one."""
    pytest.importorskip("matplotlib")
    text = problem.read_text() + "seconds = 0.001\n[study.settings]\ngait.speed = [1.1, 1.2]\n"
    problem.write_text(text)
    code, out, err = run(capsys, "study", problem, "-o", tmp_path / "out", "--workers", 0, "--json")
    assert code == 0, err
    assert json.loads(out)["counts"]["ok"] == 2
    table = studies.load(tmp_path / "out").table()
    assert table["gait.speed"].tolist() == table["speed"].tolist() == [1.1, 1.2]
    assert {"peak_force.hip", "rms_knee_deg", "grf_valley", "fine_grid.foot contact", "knee_row.active"} <= set(table)
    assert np.all(table["peak_force.knee"] > 0.5)
    assert (tmp_path / "out" / "peak_forces.png").read_bytes()[:4] == b"\x89PNG"


@pytest.mark.slow
def test_a_whole_walk(capsys, problem, tmp_path):
    """As far as the first solve: limits hold nearly between grid points."""
    code, out, err = run(capsys, "gait", problem, "-o", tmp_path / "out", "--json")
    assert code in (0, 1), err
    found = json.loads(out)
    assert found["status"] in ("optimal", "acceptable")
    assert found["worst_violation"] < 0.05
    assert found["fine_grid"]["joint range"] < 0.1
    assert found["step_jump"] < 1e-3
    assert found["rms_knee_deg"] < 15.0


@pytest.mark.slow
def test_rows_do_not_depend_on_processes(problem, tmp_path):
    """In this process, and each row in a process of its own: the same objectives."""
    import neuler

    rows = [{"gait.speed": 1.15, "gait.step": 0.58}, {"gait.speed": 1.25, "gait.step": 0.62}]
    rows = [{**row, "gait.start.speed": 1.2, "gait.start.step": 0.6} for row in rows]
    here = neuler.study(problem, rows, tmp_path / "here", workers=0, progress=False).table()
    there = neuler.study(problem, rows, tmp_path / "there", workers=2, chunk=1, progress=False).table()
    assert here["objective"].tolist() == there["objective"].tolist()
    assert here["peak_force.knee"].tolist() == there["peak_force.knee"].tolist()


@pytest.mark.slow
def test_several_starts(capsys, problem):
    code, out, err = run(capsys, "gait", problem, "--starts", 2, "--json")
    assert code in (0, 1), err
    found = json.loads(out)
    assert [each["seed"] for each in found["starts"]] == [-1, 0]
    assert found["objective"] == min(each["objective"] for each in found["starts"])
    assert found["objectives"][0] <= found["objectives"][1]


@pytest.mark.slow
def test_the_benchmark_of_walks():
    """A row of it, of a solve that is cut short."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "benchmarks"))
    import walking

    found = walking.report(quick=True)
    assert found[0] == "## Prediction of walking, one core"
    row = next(line for line in found if line.startswith("| 1.2 m/s"))
    assert row.count("|") == found[4].count("|")
    assert "not valid" in row
