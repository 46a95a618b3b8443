"""Causes of what parameters do not explain: the right one is named, with what it explains, or none."""

import dataclasses
import functools
import re

import numpy as np
import pytest

import neuler
from neuler import identify
from neuler.identify.causes import Bench, Cause, falls, said
from random_robots import few
from test_identify_fit import log, puma

pytest.importorskip("clarabel")
ANY = ("whatever the robot weighs", "does not explain", "driving it", "bursts of bad")


@functools.cache
def measured(name="puma560", seed=1, duration=10.0):
    true = getattr(neuler.robots, name)()
    return log(true, true, seed, duration=duration)


def notes(*logs, **options):
    found = identify.fit([each.prepare(check=False) for each in logs], **options)
    return [note for note in found.notes if any(word in note for word in ANY)]


def changed(whole, **columns):
    """A log with some columns of q or tau changed by functions of a column: tau2=..."""
    found = {"q": whole.q.copy(), "tau": whole.tau.copy()}
    for key, function in columns.items():
        values, k = found[key.rstrip("0123456789")], int(key.lstrip("qtau")) - 1
        values[:, k] = function(values[:, k])
    return dataclasses.replace(whole, **found)


def later(samples):
    return lambda x: np.concatenate([np.repeat(x[:1], samples), x[:-samples]])


@pytest.mark.parametrize("name", ["puma560", "two_link"])
def test_clean_logs_have_no_cause(name):
    assert notes(measured(name)) == []
    exact = measured(name)
    exact = dataclasses.replace(exact, tau=exact.robot.inverse_dynamics(*motion_of(exact)))
    assert notes(exact) == []


def motion_of(whole):
    qd = np.gradient(whole.q, whole.t, axis=0)
    return whole.q, qd, np.gradient(qd, whole.t, axis=0)


@pytest.mark.parametrize("case", few([(2, 1.1), (2, 2.0), (3, 0.5)], 1))
def test_a_torque_of_another_size(case):
    joint, factor = case
    (note,) = notes(changed(measured(), **{f"tau{joint}": lambda x: factor * x}))
    size = re.match(rf"with tau_joint{joint} divided by ([0-9.]+), beside the other torques, what is left", note)
    assert float(size[1]) == pytest.approx(factor, rel=0.03)
    assert "torque_constants=, ratios=" in note


def test_a_factor_of_all_torques_is_a_heavier_robot():
    whole = measured()
    assert notes(dataclasses.replace(whole, tau=2.0 * whole.tau)) == []


@pytest.mark.slow
def test_a_long_delay_of_one_torque():
    (note,) = notes(changed(measured(), tau2=later(15)))
    assert note.startswith("column 'tau_joint2': ")
    assert float(re.search(r": ([0-9.]+) samples", note)[1]) == pytest.approx(15.0, abs=1.0)
    assert re.search(r"what is left of the torques then is 1/[0-9.]+ \(joint2\) of what it is", note)


def test_what_no_cause_explains_is_said_without_one():
    whole = measured()
    (note,) = notes(dataclasses.replace(whole, tau=np.abs(whole.tau)))
    assert note.startswith("the model does not explain tau_joint1 (")
    assert "times its noise), " in note
    assert "the cause is not known" in note
    assert "compare_friction" in note
    assert "own=" in note


def test_columns_that_are_not_looked_for_are_said():
    """Links of the given robot that are wrong by far."""
    (note,) = notes(log(*puma(), 1), columns="friction")
    assert note.startswith("the model does not explain tau_joint")
    assert "look for all links and friction, too" in note


@pytest.mark.slow
def test_the_position_of_a_joint_reversed():
    (note,) = notes(changed(measured(), q2=np.negative))
    assert note.startswith("with the position q_joint2 reversed, what is left of the torques is ")


@pytest.mark.parametrize("gravity", few([(0.86, 0.0, -9.77), (0.0, 0.0, 9.81)], 1))
def test_another_direction_of_gravity(gravity):
    true = neuler.robots.puma560()
    whole = log(true.with_gravity(gravity), true, 1)
    (note,) = notes(whole)
    g = [float(x) for x in re.search(r"gravity along \((.*?)\)", note)[1].split(", ")]
    np.testing.assert_allclose(g, gravity, atol=0.1)


@pytest.mark.slow
def test_torques_without_gravity():
    whole = measured()
    rest = whole.robot.inverse_dynamics(whole.q, 0.0 * whole.q, 0.0 * whole.q)
    (note,) = notes(dataclasses.replace(whole, tau=whole.tau - rest))
    assert note.startswith("without gravity, what is left")


def test_the_zero_of_a_position():
    (note,) = notes(changed(measured("stanford"), q2=lambda x: x + 0.2))
    found = re.match(r"with an offset added, of (-[0-9.]+) rad to q_joint2, what is left", note)
    assert float(found[1]) == pytest.approx(-0.2, abs=0.01)


def runs(name="two_link"):
    return [dataclasses.replace(measured(name, seed), name=run) for seed, run in ((1, "a"), (2, "b"))]


def test_an_offset_in_one_run():
    a, b = runs()
    (note,) = notes(a, changed(b, tau2=lambda x: x + 1.0))
    assert note.startswith("without constant offsets of the torques of run 'b', tau_joint2 1 N m, what is left")
    assert notes(a, b) == []


@pytest.mark.slow
def test_offsets_that_two_runs_tell_alone_from_each_other():
    a, b = runs("puma560")
    (note,) = notes(a, changed(b, tau2=lambda x: x + 5.0))
    assert "of run 'b', tau_joint2 5" in note
    assert "of run 'a', tau_joint2 -5" in note
    assert ", or as well without" in note


def test_a_delay_in_one_run():
    a, b = runs()
    (note,) = notes(a, changed(b, tau1=later(6), tau2=later(6)))
    assert note.startswith("run 'b': columns 'tau_joint1', 'tau_joint2': 6.0 samples (30 ms) later than")


def test_torques_interchanged_in_one_run():
    a, b = runs()
    (note,) = notes(a, dataclasses.replace(b, tau=b.tau[:, ::-1]))
    assert note.startswith("b: with the torques tau_joint1 and tau_joint2 interchanged, ")


# ---- how causes are judged ------------------------------------------------------------------------------------------


def bench(now):
    return Bench(np.array(now, dtype=float), np.ones(len(now)), np.full(len(now), 500.0), 8.0)


def cause(left, own=None, **options):
    left = np.array(left, dtype=float)
    return Cause("so", "do so", left, left if own is None else np.array(own, dtype=float), **options)


@pytest.mark.parametrize(
    ("now", "left", "own", "named"),
    [
        ([100, 100], [2, 5], [2, 5], True),  # near the noise
        ([100, 100], [90, 95], [1, 1], False),  # hardly anything
        ([100, 100], [1, 90], [1, 1], False),  # the other torque is as bad as it was
        ([100, 8], [1, 8], [1, 8], True),  # of the other nothing could be explained
        ([100, 100], [30, 30], [30, 30], False),  # far from the noise, and not far less
        ([300, 300], [20, 25], [20, 25], True),  # far less
        ([4.0, 4.0], [4.0, 3.99], [1, 1], False),  # nothing
    ],
)
def test_what_explains(now, left, own, named):
    assert bool(bench(now).named([cause(left, own)])) is named


def test_the_best_is_named_with_those_that_are_as_good():
    table, good, best = bench([100, 100]), cause([5, 5]), cause([2, 2])
    assert table.named([good, best]) == [best]
    twin = cause([2.1, 2.1])
    assert table.named([twin, good, best]) == [best, twin]
    assert table.named([twin, best, cause([2, 2]), cause([2, 2])]) == []


def test_words():
    now = np.array([100.0, 8.0])
    assert falls(["a", "b"], now, np.array([10.0, 8.0])) == "1/10 (a)"
    words = said([cause([10, 8])], ["a", "b"], now)
    assert words == "so, what is left of the torques is 1/10 (a) of what it is, whatever the robot weighs: do so"
