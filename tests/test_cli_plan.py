"""``neuler plan``: what it prints, writes and refuses, and how it ends."""

import json
import os
import signal
import struct
import subprocess
import sys
import time

import numpy as np
import pytest

from cli_runs import read, refused, run
from neuler import plan
from neuler.motions import Samples

TWO_LINK = """
title = "to the other side"
[robot]
name = "two_link"
[objective]
duration = 1.0
[start]
q = [0.0, -2.0]
[goal]
q = [1.0, -1.0]
[[limit]]
measure = "torque"
bound = 10.0
[plan]
control_points = 10
"""
WANTED = {"valid", "duration", "objective", "worst_violation", "iterations", "seconds", "function_seconds", "solver"}


@pytest.fixture
def problem(tmp_path):
    path = tmp_path / "problem.toml"
    path.write_text(TWO_LINK)
    return path


def test_one_object_of_json(capsys, problem):
    code, out, err = run(capsys, "plan", problem, "--json")
    assert code == 0, err
    found = json.loads(out)
    assert set(found) >= WANTED
    assert found["valid"] is True
    assert found["duration"] == pytest.approx(0.3957, abs=2e-3)
    assert found["title"] == "to the other side"
    assert found["files"] == []


def test_what_it_writes(capsys, problem, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, err = run(capsys, "plan", problem, "-o", "out", "--step", 0.01, "--replay")
    assert code == 0, err
    assert "valid; optimal" in out
    assert "replay of the forces: at most" in out
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names >= {"plan.csv", "plan.npz", "plan.json", "plan.html", "plan.png", "torque.png", "joint_force.png",
                     "motion.png"}  # fmt: skip
    for name in names:
        assert f"wrote out/{name}" in out
    header, rows = read(tmp_path / "out" / "plan.csv")
    assert header[:3] == ["t", "q_joint1", "q_joint2"]
    np.testing.assert_allclose(np.diff(rows[:-1, 0]), 0.01, atol=1e-12)
    np.testing.assert_allclose(rows[-1, 1:3], [1.0, -1.0], atol=1e-9)
    import neuler

    again = Samples.load(tmp_path / "out" / "plan.npz", neuler.robots.two_link())
    assert np.abs(again.tau).max() < 10.0 + 1e-5
    assert json.loads((tmp_path / "out" / "plan.json").read_text())["joint_names"] == ["joint1", "joint2"]
    assert (tmp_path / "out" / "torque.png").read_bytes()[:4] == b"\x89PNG"


def test_flags_change_the_problem(capsys, problem, tmp_path):
    code, out, err = run(
        capsys, "plan", problem, "--json", "--set", "plan.control_points=8", "--set", "objective.effort=1e-5",
        "--set", "limit.bound=20", "--seed", 3, "-o", tmp_path / "out", "--tables", "csv", "--no-figures", "--no-page",
    )  # fmt: skip
    assert code == 0, err
    found = json.loads(out)
    assert found["objective"] > found["duration"]
    assert found["duration"] < 0.39
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["plan.csv"]


@pytest.mark.slow
def test_many_starts_keep_the_best(capsys, problem):
    code, out, err = run(capsys, "plan", problem, "--json", "--starts", 2, "--seed", 1)
    assert code == 0, err
    assert json.loads(out)["duration"] < 0.4001


def test_another_solver(capsys, problem):
    code, out, err = run(capsys, "plan", problem, "--json", "--solver", "scipy", "--set", "plan.control_points=8",
                         "--set", "plan.duration=0.6", "--set", "objective.effort=1")  # fmt: skip
    assert code in (0, 1), err
    assert json.loads(out)["solver"].startswith("scipy")


def test_a_plan_that_is_not_valid_ends_with_one(capsys, problem):
    code, out, _ = run(capsys, "plan", problem, "--set", "plan.duration=0.3")
    assert code == 1
    assert "NOT valid" in out
    assert "torque of joint" in out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["two_link"], "expected a problem file that ends in .toml"),
        (["nothing.toml"], "nothing.toml"),
        (["PROBLEM", "--solver", "snopt"], "there is no 'snopt'"),
        (["PROBLEM", "--seed", "x"], "expected a whole number"),
        (["PROBLEM", "--set", "plan.degree"], "--set expects TABLE.KEY=VALUE"),
        (["PROBLEM", "--set", "plan.pace=2"], "unknown key"),
        (["PROBLEM", "--tables", "xls"], "there is no 'xls'"),
        (["PROBLEM", "--set", "start.q=[0.0, nan]"], "[start] q: expected a list of 2 numbers"),
    ],
)
def test_what_is_refused(capsys, problem, arguments, words):
    given = [str(problem) if word == "PROBLEM" else word for word in arguments]
    assert words in refused(capsys, "plan", *given)


@pytest.mark.skipif(os.name != "posix", reason="sends a signal")
def test_interrupted_it_writes_the_best_so_far(problem, tmp_path):
    """A bar on a terminal, Ctrl-C while it solves: exit code 130 and files."""
    import fcntl
    import pty
    import termios

    problem.write_text(TWO_LINK.replace("control_points = 10", "control_points = 400\ntolerance = 1e-12"))
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 160, 0, 0))
    command = [sys.executable, "-m", "neuler", "plan", str(problem), "-o", str(tmp_path / "out"), "--no-figures",
               "--no-page", "--json"]  # fmt: skip
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=follower) as process:
        os.close(follower)
        shown = b""
        begun = time.monotonic()
        while b"infeasible by" not in shown and time.monotonic() - begun < 60:
            shown += os.read(leader, 4096)
        assert b"infeasible by" in shown
        process.send_signal(signal.SIGINT)
        out = process.stdout.read()
        assert process.wait(60) == 130
    os.close(leader)
    found = json.loads(out)
    assert found["status"] == "interrupted"
    assert (tmp_path / "out" / "plan.csv").exists()


def test_plans_of_python_and_of_the_command_are_one(capsys, problem):
    """The command's number is that of the same plan in Python."""
    import neuler

    limits = [plan.within(plan.torque, 10.0)]
    task = plan.Plan(neuler.robots.two_link(), start=[0, -2], goal=[1, -1], limits=limits, control_points=10)
    _, out, _ = run(capsys, "plan", problem, "--json")
    assert json.loads(out)["duration"] == task.solve().duration
