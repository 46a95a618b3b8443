"""The command line as it is used: real commands, real files, real messages."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import neuler
from cli_runs import refused, run
from neuler.cli import main

HOSTILE = """<robot name="&lt;b&gt;arm"><link name="base"/><link name="&lt;script&gt;"><inertial><mass value="1"/>
<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="j&#x9b;[2J" type="continuous"><parent link="base"/><child link="&lt;script&gt;"/></joint></robot>"""


# ---- info ----------------------------------------------------------------------------------------


def test_info_shows_the_tree_the_parameters_and_the_findings(capsys):
    code, out, _ = run(capsys, "info", "puma560")
    assert code == 0
    assert "joint3: revolute q[2] -> link3 (4.8 kg)" in out
    assert "24.731 / 27.236" in out  # Coulomb friction, forward and reverse
    assert "warning: link 'link1'" in out
    assert "dh6" in out


def test_info_can_be_strict(capsys, tmp_path):
    path = tmp_path / "arm.urdf"
    path.write_text(HOSTILE)
    assert run(capsys, "info", path, "--strict")[0] == 0
    assert run(capsys, "info", "puma560", "--strict")[0] == 0  # warnings do not count
    path.write_text(HOSTILE.replace('mass value="1"', 'mass value="-1"'))
    code, lenient, _ = run(capsys, "info", path)
    assert code == 0
    code, out, err = run(capsys, "info", path, "--strict")
    assert (code, out, err) == (1, lenient, "")
    assert "error: link" in out
    code, out, _ = run(capsys, "info", path, "--strict", "--json")
    assert code == 1
    assert json.loads(out)["findings"][0]["severity"] == "error"


def test_info_draws_branches(capsys, tmp_path):
    robot = "<robot name='y'><link name='base'/>" + "".join(f"<link name='{n}'/>" for n in "abc")
    for name, parent, child in (("one", "base", "a"), ("two", "a", "b"), ("three", "base", "c")):
        robot += f"<joint name='{name}' type='fixed'><parent link='{parent}'/><child link='{child}'/></joint>"
    path = tmp_path / "y.urdf"
    path.write_text(robot + "</robot>")
    _, out, _ = run(capsys, "info", path)
    assert "base\n├─ one: fixed -> a\n│  └─ two: fixed -> b\n└─ three: fixed -> c\n" in out


def test_info_as_json(capsys, tmp_path):
    path = tmp_path / "arm.urdf"
    path.write_text(HOSTILE)
    _, out, _ = run(capsys, "info", path, "--json")
    data = json.loads(out, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    assert data["name"] == "<b>arm"
    assert data["joints"][0]["limits"]["lower"] is None
    assert data["joints"][0]["coordinate"] == 0
    assert data["links"][1]["mass"] == 1.0


def test_names_cannot_steer_the_terminal(capsys, tmp_path):
    path = tmp_path / "arm.urdf"
    path.write_text(HOSTILE, encoding="utf-8")
    _, out, _ = run(capsys, "info", path)
    assert "\x9b" not in out
    assert "j\\x9b[2J" in out


# ---- which robot -----------------------------------------------------------------------------------


def test_unknown_robots_are_named_with_the_catalogue(capsys):
    assert "'pumma'" in refused(capsys, "info", "pumma")
    assert "no file 'arm.urdf'" in refused(capsys, "info", "arm.urdf")
    assert "stanford" in refused(capsys, "info", "pumma")


def test_load_options_reach_the_reader(capsys, tmp_path):
    path = tmp_path / "arm.urdf"
    path.write_text(HOSTILE.replace("<child", "<mimic joint='x'/><child"))
    assert "mimic" in refused(capsys, "info", path)
    code, _, _ = run(capsys, "info", path, "--mimic", "independent")
    assert code == 0
    assert "--mimic is for robot files" in refused(capsys, "info", "puma560", "--mimic", "independent")


def test_a_broken_file_is_refused_without_a_traceback(capsys, tmp_path):
    path = tmp_path / "arm.urdf"
    path.write_text("<robot name='x'><link")
    assert "arm.urdf" in refused(capsys, "info", path)
    assert refused(capsys, "info", tmp_path)


def test_version_and_usage(capsys):
    with pytest.raises(SystemExit) as left:
        main(["--version"])
    assert left.value.code == 0
    assert neuler.__version__ in capsys.readouterr().out
    with pytest.raises(SystemExit) as left:
        main([])
    assert left.value.code == 2


def test_module_runs_and_survives_a_closed_pipe():
    source = str(Path(neuler.__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": source, "PYTHONIOENCODING": "ascii"}
    command = [sys.executable, "-m", "neuler", "info", "stanford"]
    done = subprocess.run(command, capture_output=True, env=environment, timeout=60)
    assert done.returncode == 0
    assert b"`- joint1: revolute q[0]" in done.stdout  # no box characters in ASCII
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment) as process:
        process.stdout.close()
        errors = process.stderr.read()
        process.wait(60)
    assert b"Traceback" not in errors
    assert b"Exception" not in errors


# ---- words of the command line --------------------------------------------------------------------------------------


PAR = """NL = 1
NJ = 1
Ant = {0} Sigma = {0} d = {D1} R = {0} Alpha = {0} Theta = {th1}
M = {M1}  ZZ = {0.1} G = {0,0,-9.81}
"""


def test_messages_name_flags(capsys, tmp_path):
    path = tmp_path / "two.urdf"
    path.write_text(
        "<robot name='r'><link name='a'/><link name='b'/><link name='c'/>"
        "<joint name='j' type='continuous'><parent link='a'/><child link='b'/></joint>"
        "<joint name='k' type='continuous'><parent link='b'/><child link='c'/><mimic joint='j'/></joint></robot>"
    )
    assert "k: revolute, follows j -> c" in run(capsys, "info", path)[1]
    text = refused(capsys, "info", path, "--mimic", "refuse")
    assert "--mimic couple lets it follow" in text
    assert "--mimic independent gives" in text
    assert 'mimic="' not in text
    arm = tmp_path / "arm.par"
    arm.write_text(PAR)
    text = refused(capsys, "info", arm)
    assert "give --value SYMBOL=NUMBER for each, or --values FILE" in text
    assert "--missing zero takes" in text
    text = refused(capsys, "info", arm, "--value", "D1=1", "--value", "MM1=2", "--missing", "zero")
    assert "--value: 'MM1' is no symbol of this file; did you mean 'M1'?" in text


def test_values_from_a_file(capsys, tmp_path):
    arm, values = tmp_path / "arm.par", tmp_path / "values.toml"
    arm.write_text(PAR)
    values.write_text("# of the arm\nD1 = 0.5\nM1 = 2\n")
    found = json.loads(run(capsys, "info", arm, "--values", values, "--missing", "zero", "--json")[1])
    assert "2" in json.dumps(found)
    again = json.loads(
        run(capsys, "info", arm, "--values", values, "--value", "M1=3", "--missing", "zero", "--json")[1]
    )
    assert found != again, "a single value goes before the file's"
    values.write_text('{"D1": 0.5, "M1": 2}')
    assert json.loads(run(capsys, "info", arm, "--values", values, "--missing", "zero", "--json")[1]) == found
    for text, message in (
        ("D1 = ", "expected lines such as"),
        ("D1 = 'a'", "'D1' must be a finite number"),
        ("{", "expected"),
    ):
        values.write_text(text)
        assert message in refused(capsys, "info", arm, "--values", values)
    assert "No such file" in refused(capsys, "info", arm, "--values", tmp_path / "none")
