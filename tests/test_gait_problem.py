"""Problem files of walks: every field of a walk is a key, what is wrong is named, and studies change any of them."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from neuler import gait, robots
from neuler.errors import FormatError, InputError, NeulerError
from neuler.files.problems import Problem
from neuler.gait.problem import READERS, _hints, parts_of, read_fields, read_gait
from neuler.robots.humans import Person
from neuler.studies.problems import problem_task, read_study
from neuler.tasks import read_task

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
WHOLE = """
title = "slow and light"
[person]
stature = 1.68
mass = 62
sex = "female"
measured_lengths = { thigh = 0.4 }
[gait]
speed = 1.1
step = 0.56
width = 0.1
knee = [55, 10]
ranges = { ankle_flexion = [-20, 15] }
fixed = ["head_flexion"]
control_points = 14
refine = false
seconds = 30
starts = 3
[gait.start]
speed = 1.2
person = { mass = 70.0 }
[events]
double = 0.3
[weights]
effort = 2
[output]
tables = ["csv", "mot"]
page = false
"""


def read(text):
    return read_gait(Problem.of_text(text))


def test_what_a_file_says():
    task = read(WHOLE)
    walk = task.walk
    assert task.title == "slow and light"
    assert walk.person == Person(1.68, 62.0, "female", measured_lengths={"thigh": 0.4})
    assert (walk.speed, walk.step, walk.width, walk.control_points) == (1.1, 0.56, 0.1, 14)
    assert (walk.knee, walk.fixed) == ((55.0, 10.0), ("head_flexion",))
    assert walk.ranges == {"ankle_flexion": (-20.0, 15.0), "knee_flexion": (0.0, 85.0)}  # others keep their defaults
    assert walk.events == gait.Events(double=0.3)
    assert walk.weights == gait.Weights(effort=2.0)
    assert task.options == {"refine": False, "seconds": 30.0, "starts": 3}
    assert (task.output.tables, task.output.page) == (("csv", "mot"), False)
    assert task.notes == []


def test_the_walk_to_begin_with_differs_in_what_is_said():
    task = read(WHOLE)
    assert task.start.speed == 1.2
    assert (task.start.step, task.start.knee) == (0.56, (55.0, 10.0))
    assert task.start.person == dataclasses.replace(task.walk.person, mass=70.0)
    assert read("[gait]\nspeed = 1.0").start is None


def test_without_a_word_it_is_the_usual_walk():
    task = read("[gait]")
    assert (task.walk.speed, task.walk.step, task.walk.person) == (1.2, 0.6, Person())
    assert task.title == "walk at 1.2 m/s with steps of 0.6 m"
    assert task.options == {}
    assert task.output.tables == ("csv", "mot", "sto", "npz")


def test_every_field_of_a_walk_can_be_said():
    """A field that a walk gains is read by its type; one of a type without a reader is found here."""
    for kind in (gait.Walk, Person, gait.Load, gait.Events, gait.Weights):
        parts = parts_of(kind)
        left = {name for name, hint in _hints(kind).items() if hint not in READERS and name not in parts}
        assert left == set(), kind
    assert {name: kind for name, (kind, _) in parts_of(gait.Walk).items()} == {
        "person": Person, "loads": gait.Load, "events": gait.Events, "weights": gait.Weights
    }  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Carried:
    mass: float = 0.0
    place: str = "back"


@dataclasses.dataclass(frozen=True)
class Hike:
    """A walk that has gained fields."""

    slope: float | None = None
    uphill: bool = False
    offset: tuple[float, float, float] = (0.0, 0.0, 0.0)
    loads: tuple[Carried, ...] = ()
    pack: Carried | None = None


def test_fields_are_read_by_their_types():
    section = Problem.of_text("slope = 5\nuphill = true\noffset = [1, 2, 3]").root
    assert read_fields(Hike, section) == {"slope": 5.0, "uphill": True, "offset": (1.0, 2.0, 3.0)}
    assert parts_of(Hike) == {"loads": (Carried, True), "pack": (Carried, False)}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("speed = 1.1", "sped = 1.1"), r"line 9: \[gait\] sped: unknown key; did you mean 'speed'"),
        (("speed = 1.1", "speed = -1.1"), r"line 9: \[gait\] speed: must be above zero, got -1.1"),
        (("speed = 1.1", "speed = nan"), r"\[gait\] speed: expected a number, got nan"),
        (("speed = 1.1", "speed = 'fast'"), r"\[gait\] speed: expected a number, got 'fast'"),
        (("step = 0.56", "step = 5.6"), "longer than the legs allow.* take shorter steps"),
        (("step = 0.56", "step = inf"), r"\[gait\] step: expected a number, got inf"),
        (('"female"', '"femal"'), r"\[person\] sex: must be one of .* did you mean 'female'"),
        (("stature = 1.68", "stature = 168"), r"\[person\] stature: must be in metres, .* is it in cm"),
        (("thigh = 0.4", "tigh = 0.4"), r"\[person\]: there is no length of 'tigh'; did you mean 'thigh'"),
        (("knee = [55, 10]", "knee = [55]"), r"\[gait\] knee: expected a list of 2 numbers, got 1"),
        (("knee = [55, 10]", "knee = [55, -10]"), r"\[gait\] knee: must be two numbers"),
        (("ankle_flexion =", "ankel_flexion ="), r"ranges: there is no joint 'ankel_flexion'; did you mean"),
        (("control_points = 14", "control_points = 3"), r"\[gait\] control_points: must be a whole number, 12 or more"),
        (("seconds = 30", "seconds = 0"), r"\[gait\] seconds: expected a positive number"),
        (("starts = 3", "starts = 0"), r"\[gait\] starts: expected a whole number, from 1 to"),
        (("double = 0.3", "double = 0.1"), r"\[events\]: events must be in order"),
        (("double = 0.3", "duble = 0.3"), r"\[events\] duble: unknown key; did you mean 'double'"),
        (("effort = 2", "effort = -2"), r"\[weights\] effort: must not be negative"),
        (("effort = 2", "efort = 2"), r"\[weights\] efort: unknown key; did you mean 'effort'"),
        (("speed = 1.2\n", "speed = -1.2\n"), r"\[gait.start\] speed: must be above zero"),
        (("speed = 1.2\n", "seed = 1.2\n"), r"\[gait.start\] seed: unknown key"),
        (("{ mass = 70.0 }", "{ mas = 70.0 }"), r"\[gait.start.person\] mas: unknown key; did you mean 'mass'"),
        (('"mot"]', '"xls"]'), r"\[output\] tables: there is no 'xls'"),
        (("[weights]", "[weight]"), "weight: unknown key; did you mean 'weights'"),
        (("[person]", "person = 3\n[persons]"), r"person: expected a table, \[person\], got 3"),
    ],
)
def test_bad_files_are_told(change, words):
    assert change[0] in WHOLE
    with pytest.raises(FormatError, match=words):
        read(WHOLE.replace(*change, 1))


def test_a_start_says_what_differs():
    with pytest.raises(FormatError, match=r"\[gait.start\]: expected what differs"):
        read("[gait]\nstart = {}")


def test_robots_do_not_walk():
    with pytest.raises(InputError, match="a walk is that of a person"):
        read_task(Problem.of_text("[gait]"), robots.two_link())


# ---- examples and studies ----------------------------------------------------------------------------------------


def test_the_example_is_the_usual_walk():
    task = read_gait(Problem.read(EXAMPLES / "walk.toml"))
    usual = gait.Walk(Person(1.75, 75.0), speed=1.2, step=0.6)
    assert repr(task.walk) == repr(usual)


def test_the_keys_that_the_example_shows_exist():
    """Comments of the example are keys that can be used."""
    text = (EXAMPLES / "walk.toml").read_text()
    for key in ("width = 0.11", "control_points = 17", "band = 1.4e-3", "clearance = 0.01", "friction = 0.8",
                "torsion = 0.02", "knee = [60.0, 5.0]", "ranges = { knee_flexion = [0.0, 85.0] }", "refine = true",
                "starts = 4", "start = { speed = 1.1, step = 0.57 }"):  # fmt: skip
        assert key in text
        read(f"[gait]\n{key}")


def test_settings_of_a_study_change_a_walk():
    task = problem_task(Problem.of_text(WHOLE))
    row = task.read({"gait.speed": 1.3, "person.mass": 80.0, "gait.start.step": 0.6, "weights.power": 0.2})
    assert (row.walk.speed, row.walk.person.mass, row.walk.weights.power) == (1.3, 80.0, 0.2)
    assert (row.start.speed, row.start.step) == (1.2, 0.6)
    assert task.table["gait"]["speed"] == 1.1  # of the task, unchanged


def test_the_study_of_the_examples():
    """Each row begins with a walk that it names itself."""
    asked = read_study(Problem.read(EXAMPLES / "study_walk.toml"))
    columns = asked.settings.columns()
    assert set(columns) >= {"gait.speed", "gait.step"}
    assert len(np.unique(columns["gait.speed"])) >= 3
    assert asked.task.check(asked.settings) == []
    for k in range(len(asked.settings)):
        row = asked.task.read({name: values[k].item() for name, values in columns.items()})
        assert (row.start.speed, row.start.step) == (1.2, 0.6)
        assert row.start.person == row.walk.person
    with pytest.raises(NeulerError, match="did you mean 'speed'"):
        asked.task.read({"gait.sped": 1.0})
