"""Persons: what stature, mass and sex decide, what may be measured instead, what is refused; the page about them."""

import dataclasses
import math
import pickle
import re
import subprocess
import sys
from pathlib import Path

import pytest

from neuler import RobotError, robots
from neuler.robots.humans import BONES, JOINTS, Person, mirror, partner, skeleton, strengths
from neuler.robots.humans.segments import DE_LEVA, DIMENSIONS, SEGMENTS


def test_lengths_scale_with_stature():
    one, two = Person(1.5, 60.0), Person(1.8, 60.0)
    for name, length in one.lengths.items():
        assert two.lengths[name] == pytest.approx(length * 1.2, rel=1e-14)
    mean = Person(1.741, 73.0)
    assert {name: round(mean.lengths[name], 7) for name in SEGMENTS} == {n: DE_LEVA["male"][n][-1] for n in SEGMENTS}
    shares = Person(2.0, 70.0, source="drillis-contini").lengths
    assert (shares["thigh"], shares["shank"], shares["upper_arm"]) == pytest.approx((0.49, 0.492, 0.372))
    assert shares["head"] == Person(2.0, 70.0).lengths["head"]


def test_measured_masses_leave_the_rest_in_proportion():
    person = Person(1.75, 75.0, measured_masses={"thigh": 12.0})
    assert person.masses["thigh"] == 12.0
    usual = Person(1.75, 75.0).masses
    assert person.masses["shank"] / usual["shank"] == pytest.approx(51.0 / (75.0 - 2 * usual["thigh"]), rel=1e-13)
    every = Person(1.75, 75.0, measured_masses=usual)
    assert every.masses == pytest.approx(usual)
    table = {name: (None, mass) for name, mass in usual.items()}
    assert Person.from_table(table, stature=1.75, mass=75.0).masses == pytest.approx(usual)


def test_a_table_may_be_a_file_or_a_frame(tmp_path):
    path = tmp_path / "anna.csv"
    path.write_text("segment,length,mass\nthigh,0.38,\nshank,,3.0\n hand , 0.08 ,0.35\nankle_height,0.07,\n")
    person = Person.from_table(path, stature=1.66, mass=60.0, sex="female")
    assert person.measured_lengths == {"hand": 0.08, "thigh": 0.38, "ankle_height": 0.07}
    assert person.measured_masses == {"hand": 0.35, "shank": 3.0}
    pandas = pytest.importorskip("pandas")
    assert Person.from_table(pandas.read_csv(path), stature=1.66, mass=60.0, sex="female") == person
    assert pickle.loads(pickle.dumps(person)) == person
    assert hash(person) == hash(dataclasses.replace(person))


def test_percentiles_are_of_the_population_that_is_given():
    population = {"mean": (1.70, 70.0), "sd": (0.07, 10.0)}
    assert Person.percentile(50, **population) == Person(1.70, 70.0)
    tall = Person.percentile(97.72498680518208, **population)  # two standard deviations
    assert (tall.stature, tall.mass) == pytest.approx((1.84, 90.0), rel=1e-12)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Person(-1.7), r"stature must be above zero \(m\), got -1.7"),
        (lambda: Person(175.0), "stature must be in metres, at most 3, got 175; is it in cm"),
        (lambda: Person(1.75, math.nan), "mass must be finite, got nan"),
        (lambda: Person(1.75, 0.0), r"mass must be above zero \(kg\)"),
        (lambda: Person(1.75, "heavy"), "mass must be a number, got 'heavy'"),
        (lambda: Person(sex="men"), "sex must be one of 'female', 'male', got 'men'"),
        (lambda: Person(source="winter"), "source of lengths must be one of 'de-leva', 'drillis-contini'"),
        (lambda: robots.human(lengths="deleva"), "did you mean 'de-leva'"),
        (lambda: robots.human(base="fixed"), "base must be one of 'joints', 'free', got 'fixed'"),
        (lambda: Person(measured_lengths={"tigh": 0.4}), "no length of 'tigh'; did you mean 'thigh'"),
        (lambda: Person(measured_masses={"ankle_height": 1.0}), "no mass of 'ankle_height'"),
        (lambda: Person(measured_lengths={"thigh": -0.4}), r"length of 'thigh' must be above zero \(m\)"),
        (lambda: Person(measured_lengths=[0.4]), "must map names to values"),
        (lambda: Person(measured_masses={"thigh": 40.0}), r"thigh sum to 80 kg \(limbs twice\), which leaves nothing"),
        (lambda: Person(measured_masses=dict.fromkeys(SEGMENTS, 1.0)), "sum to 16 kg .* give mass=16, or leave"),
        (lambda: Person(measured_lengths={"shank": 0.9}), "leaves no neck in a stature of 1.75 m; give a larger"),
        (lambda: Person.percentile(0, mean=(1.7, 70), sd=(0.1, 9)), "percent must be above zero"),
        (lambda: Person.percentile(100, mean=(1.7, 70), sd=(0.1, 9)), "percent must be below 100"),
        (lambda: Person.percentile(5, mean=1.7, sd=(0.1, 9)), "mean must be a pair"),
        (lambda: Person.percentile(1, mean=(1.7, 70), sd=(0.1, 90)), "mass must be above zero"),
        (lambda: Person.from_table({"thigh": 0.4}, stature=1.7, mass=70), r"'thigh' must be \(length in m, mass"),
        (lambda: Person.from_table(3, stature=1.7, mass=70), "a table is the path of a CSV file"),
        (lambda: Person.from_table("none.csv", stature=1.7, mass=70), "'none.csv' cannot be read"),
        (lambda: Person().segment("neck"), "no segment 'neck'; there are 'head'"),
        (lambda: skeleton("me"), "a Person is needed, got 'me'"),
        (lambda: partner("tail"), "no joint 'tail' with a partner"),
        (lambda: strengths(robots.two_link()), "joint 'joint1' is no joint of a human"),
        (lambda: mirror(robots.human().with_fixed({"l_knee_flexion": 0.0})), "'r_knee_flexion' moves and its partner"),
    ],
)  # fmt: skip
def test_persons_that_cannot_be_are_refused(make, message):
    with pytest.raises(RobotError, match=message):
        make()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("part,length\nthigh,0.4\n", "the columns must be 'segment' with 'length'"),
        ("segment,length\nthigh,long\n", "length of 'thigh' must be a number, got 'long'"),
        ("segment,length\nthigh,0.4\nthigh,0.41\n", "'thigh' stands in two rows"),
        ("segment,length\ntail,0.4\n", "no length of 'tail'"),
    ],
)
def test_bad_tables_are_refused(tmp_path, text, message):
    path = tmp_path / "person.csv"
    path.write_text(text)
    with pytest.raises(RobotError, match=message):
        Person.from_table(path, stature=1.7, mass=70.0)


# ---- what the page says ------------------------------------------------------------------------------------


def test_the_page_has_the_numbers_of_the_code():
    text = (Path(__file__).parent.parent / "docs" / "human.md").read_text()
    rows = dict(re.findall(r"^\| `(\w+)` \| (.*) \|$", text, re.MULTILINE))
    named = {name.removeprefix("l_") for name in JOINTS if not name.startswith("r_")}
    for name in named:
        row = JOINTS.get(name) or JOINTS[f"l_{name}"]
        ends = [f"{getattr(row, end):g}{'*' if end in row.chosen else ''}" for end in ("lower", "upper")]
        assert f"{ends[0]} to {ends[1]} | {row.negative:g}, {row.positive:g}" in rows[name], name
    for name, (share, source) in DIMENSIONS.items():
        assert f"{share:g} | {source}" in rows[name], name


def test_the_command_line_knows_humans():
    run = subprocess.run([sys.executable, "-m", "neuler", "info", "human"], capture_output=True, text=True, check=True)
    assert run.stdout.startswith("human: 56 links, 55 joints, 55 coordinates, 75 kg")


def test_bones_join_links_and_frames():
    robot = robots.human()
    names = {name for pair in BONES for name in pair}
    assert names <= set(robot.frame_names)
    assert {name for name in robot.frame_names if "_after_" not in name} - names == {"world"}
