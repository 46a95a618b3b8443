"""What a prediction of walking gives back: numbers, tables, figures, words; and where its search begins."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace

import numpy as np
import pytest

from gait_predictions import SHORT, rough, walk
from neuler import gait, motions
from neuler.errors import InputError
from neuler.gait import starts
from neuler.gait.study_figure import peak_forces
from neuler.plan.planned import FamilyReport
from neuler.studies.columns import problem_of
from neuler.studies.problems import flat

pytest.importorskip("scipy")
KEYS = {
    "valid", "seconds", "first_solve_seconds", "function_seconds", "solver_seconds", "compile_seconds", "iterations",
    "variables", "constraints", "active", "objective", "fine_grid", "grf_peaks", "grf_valley", "step_jump",
    "rms_hip_deg", "rms_knee_deg", "rms_ankle_deg", "stance_knee_deg", "swing_knee_deg", "knee_row", "speed", "step",
    "stature", "mass",
}  # fmt: skip
FAMILIES = {"joint range", "foot contact", "foot speed", "ground", "strength", "knee in swing", "contact"} | {
    "arm-leg coupling",
    "self-avoidance",
}


# ---- numbers -----------------------------------------------------------------------------------------------------


def test_one_dict_for_json():
    facts = json.loads(json.dumps(rough().summary(), allow_nan=False))
    assert set(facts) >= KEYS
    assert (facts["valid"], facts["status"]) == (False, "limit")
    assert (facts["speed"], facts["step"], facts["stature"], facts["mass"]) == (1.2, 0.6, 1.75, 75.0)
    assert facts["solver_seconds"] == pytest.approx(facts["seconds"] - facts["function_seconds"])
    assert facts["first_solve_seconds"] <= facts["seconds"]
    assert 0 < facts["active"] <= facts["constraints"]
    assert "ranges" not in facts


def test_the_numbers_are_those_of_the_stride():
    facts, stride = rough().summary(), rough().stride
    assert facts["grf_peaks"] == [top.value for top in stride.peaks()]
    assert facts["swing_knee_deg"] == stride.swing_knee
    assert facts["length"] == pytest.approx(1.2, abs=1e-6)
    assert len(stride.percent) == 401


def test_violations_by_family_have_units():
    """At 1001 points of the step or more, each in its own unit, angles in degrees."""
    facts, planned = rough().summary(), rough().planned
    assert set(facts["fine_grid"]) == set(facts["fine_grid_units"]) == FAMILIES
    assert facts["fine_grid_points"] >= 1000
    units = {"joint range": "deg", "foot contact": "m", "foot speed": "m/s", "strength": "N m", "knee in swing": "deg",
             "ground": "m", "contact": "body weights", "arm-leg coupling": "", "self-avoidance": "m"}  # fmt: skip
    assert facts["fine_grid_units"] == units
    for name in ("foot contact", "foot speed", "strength"):
        worst = max(each.excess for each in planned.violations if each.family == name)
        assert facts["fine_grid"][name] == pytest.approx(worst, rel=0.5)
        assert facts["fine_grid"][name] <= worst
    turned = {"joint range": FamilyReport(excess=np.radians(2.0), unit="rad", rows=1)}
    facts = gait.Prediction(walk(), replace(planned, family_reports=turned)).summary()
    assert facts["fine_grid"]["joint range"] == pytest.approx(2.0)
    assert facts["knee_row"] is None


def test_the_fine_grid_sees_the_feet():
    """The largest distance of the right heel from its place, on a grid of the test's own."""
    planned, sole = rough().planned, walk().soles[0]
    t = np.linspace(0.0, walk().events.heel_off * planned.duration, 400)
    poses = np.asarray(walk().robot.compile("link_poses", frame=sole.foot)(planned.at(t).q))
    there = poses[:, :3, :3] @ np.array(sole.heel) + poses[:, :3, 3]
    away = np.abs(there - [0.0, walk().lines[0], 0.0]).max() - walk().band
    assert away <= rough().summary()["fine_grid"]["foot contact"] + 1e-9
    heel = max(each.excess for each in planned.violations if each.name == "right heel")
    assert heel == pytest.approx(away, rel=1e-3)


def test_the_row_of_the_knee():
    report = FamilyReport(unit="rad", rows=1, active=1, multiplier=-0.5)
    planned = replace(rough().planned, family_reports={"knee in swing": report})
    row = gait.Prediction(walk(), planned).summary()["knee_row"]
    assert row == {"active": True, "multiplier": pytest.approx(-0.5 * np.pi / 180.0)}


def test_a_row_of_a_study():
    """Flat, without times and texts about units, and all of it can be stored."""
    row = flat(rough().summary())
    assert problem_of(row, ["gait.speed"]) is None
    assert row["peak_force.hip"] == rough().summary()["peak_force"]["hip"]
    assert row["fine_grid.foot contact"] > 0.0
    assert not [name for name in row if "seconds" in name or "units" in name]


# ---- words -------------------------------------------------------------------------------------------------------


def test_what_is_printed():
    text = str(rough())
    assert text.startswith("walk of a male person of 1.75 m and 75 kg: 1.2 m/s, steps of 0.6 m\nNOT valid; not optimal")
    for words in ("vertical force, body weights: peaks", "peak joint force, body weights", "RMS distance to measured",
                  f"worst of {rough().planned.checked_points} points of the step", *FAMILIES):  # fmt: skip
        assert words in text
    assert max(map(len, text.splitlines())) < 140
    assert repr(rough()).endswith("not valid, limit>")


def test_the_spread_of_starts_is_told():
    tried = tuple(
        gait.StartReport(k - 1, objective, True, status, 1.0)
        for k, (objective, status) in enumerate([(0.7, "optimal"), (0.5, "acceptable"), (9.0, "limit")])
    )
    found = gait.Prediction(walk(), rough().planned, tried)
    assert found.objectives == (0.5, 0.7)
    assert "best of 3 starts, objectives from 0.5 to 0.7" in str(found)
    facts = found.summary()
    assert facts["objectives"] == [0.5, 0.7]
    assert [each["seed"] for each in facts["starts"]] == [-1, 0, 1]
    assert rough().objectives is None


# ---- files -------------------------------------------------------------------------------------------------------


def test_tables_in_a_folder(tmp_path):
    rough().save(tmp_path / "out")
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "stride.csv", "angles.mot", "forces.sto", "walk.npz"
    }  # fmt: skip
    again = motions.load(tmp_path / "out" / "walk.npz", walk().robot)
    np.testing.assert_allclose(again.at(0.2).q, rough().planned.at(0.2).q, atol=1e-4)
    rough().save(tmp_path / "some", tables=["mot"])
    assert [path.name for path in (tmp_path / "some").iterdir()] == ["angles.mot"]


def test_one_table(tmp_path):
    rough().save(tmp_path / "mine.csv")
    assert (tmp_path / "mine.csv").read_text().startswith("percent,t,")
    rough().save(tmp_path / "mine.npz")
    assert "q" in np.load(tmp_path / "mine.npz")
    with pytest.raises(InputError, match=r"expected a folder, or a file that ends in .csv"):
        rough().save(tmp_path / "mine.xls")
    with pytest.raises(InputError, match="there is no table 'xls'"):
        rough().save(tmp_path / "out", tables=["xls"])


@pytest.mark.slow
def test_figures_and_the_page(tmp_path):
    pytest.importorskip("matplotlib")
    assert list(rough().figures()) == ["curves", "strip"]
    rough().page(tmp_path / "walk.html")
    assert "walk of a male person" in (tmp_path / "walk.html").read_text()


def test_predictions_are_pickled():
    again = pickle.loads(pickle.dumps(rough()))
    assert again.summary() == rough().summary()


# ---- where a search begins ---------------------------------------------------------------------------------------


def test_perturbed_starts():
    """The same seed gives the same bumps; ends stay, and joints stay within what a search can mend."""
    start = walk().start()
    one, two = starts.perturbed(start, 3), starts.perturbed(start, 3)
    t = np.linspace(0.0, start.duration, 50)
    assert np.array_equal(one.at(t).q, two.at(t).q)
    assert not np.allclose(one.at(t).q, starts.perturbed(start, 4).at(t).q)
    away = np.abs(one.at(t).q - start.at(t).q)
    assert away[[0, -1]].max() < 1e-3
    assert 0.02 < away.max() < 0.5


def test_which_start_is_the_best():
    planned = rough().planned
    good = replace(planned, valid=True, status="optimal", objective=2.0)
    order = [good, replace(good, objective=3.0), replace(good, valid=False, objective=1.0), planned]
    assert sorted([order[k] for k in (2, 0, 3, 1)], key=starts.rank) == order


@pytest.mark.slow
def test_several_starts_in_turn():
    found = gait.predict(walk(), starts=2, workers=1, seed=5, **SHORT)
    assert [each.seed for each in found.starts] == [-1, 5]
    assert found.starts[0].objective == pytest.approx(rough().planned.objective)
    assert found.planned.objective == min(each.objective for each in found.starts)


@pytest.mark.slow
def test_a_walk_that_is_not_solved_is_no_start():
    """It is solved once in a process, and that it failed is told."""
    other = replace(walk(), speed=1.1)
    before = len(starts._solved)
    found = gait.predict(walk(), start=other, **SHORT)
    assert found.notes[0] == (
        "the walk at 1.1 m/s with steps of 0.6 m, to begin with, was not solved (limit); began with its own start"
    )
    assert len(starts._solved) == before + 1
    once = starts.solved_first(replace(walk(), speed=1.1), SHORT)
    assert starts.solved_first(other, SHORT) is once
    assert found.planned.objective == pytest.approx(rough().planned.objective)


@pytest.mark.slow
def test_a_motion_to_begin_with():
    found = gait.predict(walk(), start=starts.perturbed(walk().start(), 1), **SHORT)
    assert found.planned.objective != pytest.approx(rough().planned.objective, rel=1e-3)


def test_seconds_bound_all_attempts():
    """A walk that ran out of time is not tried again."""
    assert rough().planned.iterations <= 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"walk": 1.2}, "a walk is needed"),
        ({"start": 1.2}, "start must be a gait.Walk or a motion"),
        ({"starts": 0}, "starts must be a whole number from 2 to"),
        ({"starts": 3, "seed": -1}, "seed must be a whole number"),
        ({"seconds": -1.0}, "seconds must be above zero"),
    ],
)
def test_bad_input(arguments, words):
    with pytest.raises(InputError, match=words):
        gait.predict(**{"walk": walk(), **arguments})


# ---- the picture of a study --------------------------------------------------------------------------------------


def table(speeds, masses, valid=True):
    speed, mass = (x.ravel() for x in np.meshgrid(speeds, masses))
    forces = {f"peak_force.{joint}": 1.0 + 0.2 * speed + 1e-3 * mass for joint in ("hip", "knee", "ankle")}
    settings = {"gait.speed": speed, "gait.step": 0.5 * speed, "gait.start.speed": speed, "person.mass": mass}
    return {**settings, **forces, "valid": np.full(len(speed), valid)}


def test_peak_forces_over_speed_and_mass():
    """A row of axes for each setting that changes by itself; a curve for each value of the others."""
    pytest.importorskip("matplotlib")
    columns = table([1.0, 1.2, 1.4], [60.0, 90.0])
    names = ["gait.speed", "gait.step", "gait.start.speed", "person.mass"]
    axes = peak_forces(columns, names).axes
    assert len(axes) == 6
    assert [ax.get_xlabel() for ax in axes[::3]] == ["speed, m/s", "mass, kg"]
    curves = [line for line in axes[0].lines if len(line.get_xdata()) == 3 and line.get_linestyle() != "None"]
    assert len(curves) == 2
    np.testing.assert_allclose(curves[1].get_ydata(), 1.0 + 0.2 * np.array([1.0, 1.2, 1.4]) + 0.09)
    assert len(peak_forces(table([1.0, 1.2], [60.0]), names).axes) == 3
    columns = {**columns, "loads.mass": columns.pop("person.mass"), "weight": np.full(6, 700.0)}
    axes = peak_forces(columns, ["gait.speed", "loads.mass"]).axes
    assert axes[3].get_xlabel() == "load, kg"
    assert axes[0].get_title(loc="left") + axes[0].get_ylabel() == "hip: peak force, N"
    np.testing.assert_allclose(axes[0].lines[0].get_ydata(), 700.0 * (1.06 + 0.2 * np.array([1.0, 1.2, 1.4])))


def test_rows_that_failed_are_left_out():
    pytest.importorskip("matplotlib")
    columns = table([1.0, 1.2, 1.4], [60.0])
    columns["valid"] = np.array([True, None, False], dtype=object)
    for joint in ("hip", "knee", "ankle"):
        columns[f"peak_force.{joint}"][1] = np.nan
    figure = peak_forces(columns, ["gait.speed"])
    assert list(figure.axes[0].lines[0].get_xdata()) == [1.0, 1.4]
    assert "hollow: not valid" in figure.get_suptitle()


def test_what_cannot_be_drawn_is_told():
    with pytest.raises(InputError, match=r"has a result 'peak_force\.hip'"):
        peak_forces({"gait.speed": np.array([1.0])}, ["gait.speed"])
    with pytest.raises(InputError, match="nor another number changes from row to row"):
        peak_forces(table([1.0], [60.0]), ["gait.speed"])


# ---- solved ------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_walk_that_begins_with_its_neighbour():
    """It is solved, the knee's row says whether it decides, and the neighbour is solved once."""
    there = replace(walk(), speed=1.25, step=0.62)
    found = gait.predict(there, start=walk(), refine=False)
    assert found.notes[0] == "began with the walk at 1.2 m/s with steps of 0.6 m"
    facts = found.summary()
    assert facts["status"] in ("optimal", "acceptable")
    assert facts["worst_violation"] < 0.05
    assert set(facts["knee_row"]) == {"active", "multiplier"}
    assert len(facts["grf_peaks"]) == 2
    again = gait.predict(there, start=replace(walk()), refine=False)
    assert again.planned.objective == found.planned.objective
