"""Problem files in studies: settings by their keys, study files, the command."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import neuler
from neuler import NeulerError, studies
from neuler.cli import main
from neuler.files.problems import Problem
from neuler.studies.problems import ProblemTask, flat, problem_task, read_study
from neuler.tasks import read_task

QUIET = {"progress": False}
SIMULATE = """
title = "a swing"
[robot]
name = "two_link"
[[robot.payload]]
frame = "link2"
mass = 0.5
[simulate]
duration = 0.1
q0 = [0.3, 0.2]
"""
PLAN = """
[robot]
name = "two_link"
[objective]
duration = 1.0
[start]
q = [0.0, -2.0]
[goal]
q = [1.0, -1.0]
[plan]
control_points = 8
"""


def written(tmp_path, text, name="study.toml"):
    (tmp_path / name).write_text(text)
    return tmp_path / name


@pytest.mark.slow
def test_a_simulation_with_other_values_is_the_simulation_of_the_changed_file(tmp_path):
    path = written(tmp_path, SIMULATE)
    settings = studies.product({"simulate.duration": [0.1, 0.2], "robot.payload.mass": [0.5, 2.0]})
    found = neuler.study(path, settings, tmp_path / "a", workers=2, **QUIET).table()
    for k in range(4):
        text = SIMULATE.replace("0.1", str(found["simulate.duration"][k]))
        text = text.replace("mass = 0.5", f"mass = {found['robot.payload.mass'][k]}")
        alone = read_task(Problem.of_text(text)).run().summary()
        assert found["energy.first"][k] == alone["energy"]["first"]
        assert found["largest_velocity.joint2"][k] == alone["largest_velocity"]["joint2"]
    assert not {"seconds", "robot", "method"} & set(found)


def test_a_plan_as_a_task(tmp_path):
    task = problem_task(Problem.of_text(PLAN))
    rows = [{"goal.q": [1.0, -1.0]}, {"goal.q": [0.5, -1.5]}]
    found = neuler.study(task, rows, tmp_path / "a", workers=0, **QUIET).table()
    assert found["valid"].tolist() == [True, True]
    assert found["duration"][1] < found["duration"][0]
    assert found["result_status"][0] == "optimal"


def test_robots_of_equal_tables_are_read_once():
    task = problem_task(Problem.of_text(SIMULATE))
    one, two = task.read({"simulate.duration": 0.1}), task.read({"simulate.duration": 0.2})
    assert one.robot is two.robot
    assert task.read({"robot.payload.mass": 1.0}).robot is not one.robot
    assert task.table["robot"]["payload"][0]["mass"] == 0.5  # of the task, unchanged


def test_a_robot_file_that_was_changed_is_read_again(tmp_path):
    text = (Path(__file__).parents[1] / "examples" / "arm.urdf").read_text()
    (tmp_path / "arm.urdf").write_text(text)
    path = written(tmp_path, '[robot]\nfile = "arm.urdf"\n[simulate]\nduration = 0.1\n')
    first = problem_task(path).read({}).robot
    (tmp_path / "arm.urdf").write_text(text.replace('<mass value="', '<mass value="1'))
    assert problem_task(path).read({}).robot != first


def test_summaries_become_flat():
    given = {
        "valid": True,
        "status": "optimal",
        "seconds": 1.0,
        "a": {"b": {"c": None}},
        "violations": [{}],
        "t": [1, 2],
    }
    found = flat(given)
    assert np.isnan(found.pop("a.b.c"))
    assert found.pop("t").tolist() == [1.0, 2.0]
    assert found == {"valid": True, "result_status": "optimal", "violations": 1}


SAMPLED = (
    SIMULATE
    + """
[study]
sampling = "latin_hypercube"
rows = 6
seed = 2
plot = ["energy.first"]
[study.settings]
simulate.duration = 0.1
simulate.q0 = [[-1.0, -1.0], [1.0, 1.0]]
robot.payload.mass = { normal = [1.0, 0.01] }
simulate.method = { choice = ["rk4", "euler"] }
"""
)


def test_study_files():
    asked = read_study(Problem.of_text(SAMPLED))
    assert isinstance(asked.task, ProblemTask)
    assert (asked.title, asked.options, asked.plot) == ("a swing", {"seed": 2}, ("energy.first",))
    columns = asked.settings.columns()
    assert columns["simulate.q0"].shape == (6, 2)
    assert set(columns["simulate.method"]) <= {"rk4", "euler"}
    assert np.all(np.abs(columns["robot.payload.mass"] - 1.0) < 0.1)
    assert "study" not in asked.task.table


def test_settings_and_problems_in_files_of_their_own(tmp_path):
    written(tmp_path, SIMULATE, "problem.toml")
    (tmp_path / "rows.csv").write_text("simulate.duration,simulate.method\n0.1,rk4\n0.2,euler\n")
    path = written(tmp_path, '[study]\nproblem = "problem.toml"\nfile = "rows.csv"\nfolder = "out"\n')
    asked = read_study(Problem.read(path))
    assert len(asked.settings) == 2
    assert asked.folder == tmp_path / "out"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("[study]", "[stdy]"), "expected a list of values"),
        (("rows = 6", "rows = 0"), "expected a whole number, 1 or more"),
        (("rows = 6\n", ""), "expected a key 'rows'"),
        (('"latin_hypercube"', '"latin"'), "there is no 'latin'; there are 'product'"),
        (("seed = 2", "sed = 2"), "unknown key; did you mean 'seed'"),
        (("[1.0, 0.01]", "[1.0]"), "two numbers"),
        (("[1.0, 0.01]", "[1.0, -0.01]"), "deviation"),
        (("{ normal =", "{ normel ="), "normel"),
        (("[[-1.0, -1.0], [1.0, 1.0]]", "[1.0, 2.0, 3.0]"), r"expected \[low, high\]"),
        (('sampling = "latin_hypercube"', 'sampling = "product"'), "expected a list of values"),
        (("plot = [", "plot = [1, "), "plot"),
    ],
)
def test_bad_study_files_are_told(change, words):
    assert change[0] in SAMPLED
    problem = Problem.of_text(SAMPLED.replace(*change))

    def read():
        asked = read_study(problem)
        asked.task.check(asked.settings)

    with pytest.raises(NeulerError, match=words):
        read()


def test_settings_that_name_nothing_are_refused_before_work_begins(tmp_path):
    path = written(tmp_path, SIMULATE)
    for name, words in (
        ("simulate.stp", "did you mean 'step'"),
        ("duration", "names no value of a problem file"),
        ("simulate.duration.x", "is no table"),
        ("robot.payload.3.mass", "there are 1 tables"),
    ):
        with pytest.raises(NeulerError, match=words):
            neuler.study(path, {name: [1.0]}, tmp_path / "a", **QUIET)
    assert not (tmp_path / "a").exists()
    with pytest.raises(NeulerError, match="row 0"):
        neuler.study(path, {"simulate.duration": [-1.0]}, tmp_path / "a", **QUIET)


# ---- the command -----------------------------------------------------------------------------------------------------


def test_the_command(tmp_path, capsys):
    path = str(written(tmp_path, SAMPLED))
    out = str(tmp_path / "out")
    assert main(["study", path, "-o", out, "--workers", "1"]) == 0
    printed = capsys.readouterr().out
    assert "6 rows: 6 ok" in printed
    assert "energy.first" in printed
    assert (tmp_path / "out" / "study.png").stat().st_size > 5000
    assert main(["study", path, "-o", out, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["complete"]
    assert told["title"] == "a swing"
    assert json.loads((tmp_path / "out" / "summary.json").read_text())["results"] == told["results"]


def test_the_command_with_failing_rows_and_bad_flags(tmp_path, capsys):
    path = str(written(tmp_path, SIMULATE + "[study.settings]\nsimulate.q0 = [[0.1, 0.2], [0.1, 0.2, 0.3]]\n"))
    assert main(["study", path, "-o", str(tmp_path / "a")]) == 2  # vectors of one length
    good = str(written(tmp_path, SIMULATE + "[study.settings]\nsimulate.duration = [0.1, -1.0]\n"))
    options = ["-o", str(tmp_path / "b"), "--no-figures", "--workers", "0"]
    assert main(["study", good, *options]) == 0
    assert main(["study", good, *options, "--strict"]) == 1
    assert "most common failure (1 row): FormatError" in capsys.readouterr().out
    assert not (tmp_path / "b" / "study.png").exists()
    for arguments, words in (
        ([good], "name a folder"),
        (["two_link"], "expected a study file that ends in .toml"),
        ([good, "-o", str(tmp_path / "c"), "--workers", "x"], "expected a whole number"),
        ([good, "-o", str(tmp_path / "c"), "--timeout", "0"], "expected a positive number"),
        ([good, "-o", str(tmp_path / "b"), "--seed", "5"], "another seed"),
        ([good, "-o", str(tmp_path / "c"), "--set", "study.settings.simulate.stp=[1.0]"], "did you mean 'step'"),
    ):
        assert main(["study", *arguments]) == 2
        assert words in capsys.readouterr().err
    assert main(["simulate", good]) == 2
    assert "run 'neuler study'" in capsys.readouterr().err
