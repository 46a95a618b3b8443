"""MJCF files in commands, problem files and studies."""

import json
import os

import pytest

from cli_runs import refused, run
from mjcf_models import body
from neuler import FormatError
from neuler.files.problem_robots import read_robot
from neuler.files.problems import Problem

TEXT = body('<joint name="j" axis="0 1 0"/>', '<keyframe><key name="home" qpos="0.3"/></keyframe>').replace(
    'name="b"', 'name="b" gravcomp="1"'
)


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "arm.xml"
    path.write_text(TEXT)
    return path


def test_info_says_what_is_left_out(model, capsys):
    assert "gravity compensation; without=['gravcomp'] leaves it out" in refused(capsys, "info", model)
    code, out, err = run(capsys, "info", model, "--without", "gravcomp")
    assert not code, err
    assert "left out, though it changes the motion: body 'b': gravity compensation" in out
    assert "ignored: contacts (1 geoms and pairs that collide)" in out


def test_commands_start_from_a_keyframe(model, tmp_path, capsys):
    code, _, err = run(
        capsys, "simulate", model, "--without", "gravcomp", "--q0", "home", "--duration", "0.01", "-o", tmp_path / "out"
    )
    assert not code, err
    text = (tmp_path / "out" / "run.csv").read_text().splitlines()
    assert text[1].split(",")[text[0].split(",").index("q_j")] == "0.3"
    err = refused(capsys, "simulate", model, "--without", "gravcomp", "--q0", "hme", "--duration", "0.01", "-o", "out")
    assert "no position named 'hme'; it has 'home'" in err


def test_problem_files(model):
    problem = '[robot]\nfile = "{}"\nwithout = {}\n'
    section = Problem.of_text(problem.format(model, '["gravcomp"]')).root.section("robot")
    assert read_robot(section).joint_names == ("j",)
    section = Problem.of_text(problem.format(model, '["gravcom"]')).root.section("robot")
    with pytest.raises(FormatError, match="there is no 'gravcom'; did you mean 'gravcomp'"):
        read_robot(section)


def test_a_part_that_changes_is_read_again(tmp_path):
    part, whole = tmp_path / "part.xml", tmp_path / "whole.xml"
    whole.write_text('<mujoco><worldbody><include file="part.xml"/></worldbody></mujoco>')
    text = '<mujocoinclude><body name="b"><joint name="j"/><geom size=".1" mass="{}"/></body></mujocoinclude>'
    for k, mass in enumerate((1.0, 2.0)):
        part.write_text(text.format(mass))
        os.utime(part, ns=(k, k))
        problem = Problem.of_text(f'[robot]\nfile = "{whole}"\n')
        assert read_robot(problem.root.section("robot")).mass == mass


def test_a_table_is_evaluated(model, tmp_path, capsys):
    (tmp_path / "q.csv").write_text("q_j\n0.3\n")
    code, out, err = run(
        capsys, "eval", "gravity_force", model, "--without", "gravcomp", "--in", tmp_path / "q.csv", "--out", "-"
    )
    assert not code, err
    assert float(out.splitlines()[1].split(",")[-1]) == 0.0  # its mass is at the joint
    code, out, err = run(capsys, "info", model, "--without", "gravcomp", "--json")
    assert not code, err
    assert "gravity compensation" in str(json.loads(out)["findings"])
