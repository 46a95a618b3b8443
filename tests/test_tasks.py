"""Tasks: problem files of every kind are read, run, summarised and written alike, also in other processes."""

import json
import pickle

import numpy as np
import pytest

from cli_runs import refused, run
from identify_logs import write_log
from neuler.errors import FormatError
from neuler.files.problems import Problem
from neuler.files.tasks import Output
from neuler.tasks import READERS, read_task
from random_robots import later

SIMULATE = """
title = "a swing"
[robot]
name = "two_link"
[[robot.payload]]
frame = "link2"
mass = 0.2
known = false
[controller]
kind = "computed_torque"
kp = 100.0
[reference]
kind = "sines"
amplitude = 0.3
[simulate]
duration = 0.2
[[load]]
frame = "link2"
force = [1.0, 0.0, 0.0]
begin = 0.05
end = 0.1
[output]
tables = ["npz"]
"""
PLAN = """
title = "a way"
[robot]
name = "two_link"
[plan]
control_points = 8
[objective]
duration = 1.0
[start]
q = [0.0, -2.0]
[goal]
q = [1.0, -1.0]
[output]
figures = false
"""
GAIT = """
title = "a walk"
[person]
mass = 75.0
[gait]
speed = 1.2
step = 0.6
refine = false
seconds = 0.001
"""
IDENTIFY = """
title = "a log"
[robot]
name = "two_link"
[identify]
columns = ["links", "friction"]
[[log]]
file = "log.csv"
"""
PROBLEMS = {"simulate": SIMULATE, "plan": PLAN, "gait": GAIT, "identify": IDENTIFY}


@pytest.fixture(scope="module", params=PROBLEMS)
def task(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("task")
    if request.param == "identify":
        pytest.importorskip("clarabel")
        write_log(folder / "log.csv", 1)
    return read_task(Problem.of_text(PROBLEMS[request.param], folder))


def test_every_reader_has_a_problem_here():
    assert set(PROBLEMS) == set(READERS)


def test_a_task_says_what_it_is_about(task):
    assert task.title in ("a swing", "a way", "a walk", "a log")
    assert task.robot.name == ("human" if task.title == "a walk" else "two_link")
    assert isinstance(task.output, Output)
    assert task.notes == []


@pytest.mark.parametrize("task", later(PROBLEMS, "gait"), indirect=True)
def test_a_result_is_summarised_saved_and_shown(task, tmp_path):
    found = task.run()
    json.dumps(found.summary(), allow_nan=False)
    assert found.summary()["robot"] == task.robot.name
    assert isinstance(found.notes, tuple)
    found.save(tmp_path / "table.csv")
    found.page(tmp_path / "page.html", title="ours")
    begins = {"a walk": "percent,t,", "a log": "name,value,sd,"}.get(task.title, "t,q_joint1,q_joint2")
    assert (tmp_path / "table.csv").read_text().startswith(begins)
    assert "ours" in (tmp_path / "page.html").read_text()
    pytest.importorskip("matplotlib")
    assert found.plot().axes


@pytest.mark.parametrize("task", later(PROBLEMS, "gait"), indirect=True)
def test_tasks_and_results_are_pickled(task):
    """As studies send them to processes."""
    found = task.run()
    again = pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(task)).run()))
    one, other = (
        {name: value for name, value in each.summary().items() if "seconds" not in name and name != "message"}
        for each in (found, again)
    )
    assert one == other


@pytest.mark.parametrize(("table", "wanted"), [("simulate", 0.2), ("plan", 1)])
def test_progress_is_told(table, wanted):
    seen = []
    read_task(Problem.of_text(PROBLEMS[table])).run(progress=seen.append)
    assert sum(seen) == pytest.approx(wanted) if table == "simulate" else len(seen) >= wanted


def test_which_task_it_is_must_be_said():
    head = '[robot]\nname = "two_link"\n'
    with pytest.raises(
        FormatError, match=r"expected one of the tables \[simulate\] or \[plan\] or \[gait\] or \[identify\].* has none"
    ):
        read_task(Problem.of_text(head))
    with pytest.raises(FormatError, match=r"the file has \[simulate\] and \[plan\]"):
        read_task(Problem.of_text(f"{head}[simulate]\n[plan]\n"))
    text = PLAN.replace("[plan]\ncontrol_points = 8", "")
    assert read_task(Problem.of_text(text), table="plan").title == "a way"


@pytest.mark.parametrize(
    ("command", "other"),
    [("simulate", "plan"), ("plan", "gait"), ("gait", "simulate"), ("identify", "plan"), ("plan", "identify")],
)
def test_a_file_for_another_command_is_refused_by_name(command, other, capsys, tmp_path):
    path = tmp_path / "p.toml"
    path.write_text(PROBLEMS[other])
    told = refused(capsys, command, path)
    assert f"[{other}]: the file is a problem of 'neuler {other}', and has no table [{command}]" in told
    assert "p.toml: line " in told
    assert f"run 'neuler {other}'" in told


def test_the_output_is_that_of_the_file_or_of_the_flags(capsys, tmp_path):
    path = tmp_path / "p.toml"
    path.write_text(SIMULATE)
    code, out, err = run(
        capsys, "simulate", path, "--set", "title=ours", "-o", tmp_path / "o", "--no-figures", "--json"
    )
    assert code == 0, err
    assert json.loads(out)["title"] == "ours"
    assert sorted(each.name for each in (tmp_path / "o").iterdir()) == ["run.html", "run.npz"]
    arrays = np.load(tmp_path / "o" / "run.npz")
    assert {"t", "q", "qd", "tau", "wanted", "work_of_losses", "load_link2"} <= set(arrays)


def test_a_wrench_acts_between_two_times():
    found = read_task(Problem.of_text(SIMULATE)).run()
    force = found.loads["link2"][:, 0]
    assert np.array_equal(force != 0, (found.t >= 0.05) & (found.t < 0.1))
