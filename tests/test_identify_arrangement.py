"""Columns of the wrong joint, of the wrong sign, too late: found from geometry, whatever the given robot weighs."""

import dataclasses
import functools
import re

import numpy as np
import pytest

import neuler
from neuler import identify
from random_robots import few
from test_identify_fit import log, puma
from test_identify_reference_logs import kr300_logs, needs_kr300

pytest.importorskip("clarabel")
WORDS = ("named rightly", "driving it", "best parameters")
QUIET = (*WORDS, "bursts of bad torques", "constant offsets")


@functools.cache
def weightless():
    """The PUMA that was measured, and one with arbitrary parameters: only its geometry is known."""
    true = puma()[0]
    some = np.random.default_rng(9).uniform(0.1, 1.0, len(true.regressor.column_names))
    return true, true.with_parameters(dict(zip(true.regressor.column_names, some.tolist(), strict=True)))


@functools.cache
def measured(given, seed=1):
    return log(puma()[0], weightless()[1] if given == "any" else puma()[1], seed)


def changed(whole, **fields):
    return dataclasses.replace(whole, **fields).prepare(check=False)


def said(ready, **options):
    """Notes of a fit on columns that are named wrongly."""
    return [note for note in identify.fit(ready, **options).notes if any(word in note for word in WORDS)]


def swapped(values, a, b):
    order = list(range(values.shape[1]))
    order[a], order[b] = b, a
    return values[:, order]


@pytest.mark.parametrize("given", ["near", "any"])
@pytest.mark.parametrize("seed", few(range(1, 9), 2))
def test_columns_that_are_right_are_not_doubted(given, seed):
    notes = identify.fit(measured(given, seed).prepare(check=False)).notes
    assert not [note for note in notes if any(word in note for word in QUIET)]


@pytest.mark.parametrize("pair", few([(1, 2), (0, 5), (0, 1), (2, 3), (3, 4), (4, 5)], 2))
def test_torques_interchanged(pair):
    (a, b), whole = pair, measured("any")
    (note,) = said(changed(whole, tau=swapped(whole.tau, a, b)))
    assert re.search(rf"(tau|q)_joint{a + 1} and (tau|q)_joint{b + 1} interchanged", note)


@pytest.mark.parametrize("pair", few([(1, 2), (3, 5), (0, 1), (0, 3), (2, 4)], 2))
def test_positions_interchanged(pair):
    (a, b), whole = pair, measured("any")
    (note,) = said(changed(whole, q=swapped(whole.q, a, b)))
    assert re.search(rf"(tau|q)_joint{a + 1} and (tau|q)_joint{b + 1} interchanged", note)


@pytest.mark.parametrize("joint", few([1, 5, 0, 2, 3, 4], 2))
@pytest.mark.parametrize("what", ["tau", "q"])
def test_signs(what, joint):
    """By what the other joints say, or by friction that drives."""
    whole = measured("any")
    values = getattr(whole, what).copy()
    values[:, joint] *= -1.0
    notes = said(changed(whole, **{what: values}))
    assert notes
    assert all(f"joint{joint + 1}" in note for note in notes)


@pytest.mark.parametrize("samples", few([3, -5, 2, 12, 30], 2))
def test_delays_of_all_torques(samples):
    whole = measured("any")
    (note,) = said(changed(whole, tau=np.roll(whole.tau, samples, axis=0)))
    assert ("later" if samples > 0 else "earlier") in note
    assert note.count("tau_joint") == 6
    assert abs(float(re.search(r": ([0-9.]+) samples", note)[1]) - abs(samples)) < 1.0


def test_the_delay_of_one_torque():
    whole = measured("any")
    tau = whole.tau.copy()
    tau[:, 1] = np.roll(tau[:, 1], 4)
    (note,) = said(changed(whole, tau=tau))
    assert note.startswith("column 'tau_joint2': ")
    assert abs(float(note.partition(": ")[2].partition(" samples")[0]) - 4.0) < 0.6


def test_a_delay_that_the_given_robot_alone_makes_is_not_told():
    """Beside a robot without rotors the torque seems early; beside the best parameters it is in time."""
    true, t = neuler.robots.two_link(), np.arange(2000) / 200.0
    q = np.stack([np.sin(2.1 * t) + 0.5 * np.sin(5.2 * t), np.cos(3.3 * t) + 0.3 * np.sin(1.7 * t)], axis=-1)
    qd, qdd = np.gradient(q, t, axis=0), np.gradient(np.gradient(q, t, axis=0), t, axis=0)
    spring = 60.0 * qd  # far more viscous than any arm, and not a part of the given robot's torque
    ready = identify.Log(true, t, q, true.inverse_dynamics(q, qd, qdd) + spring).prepare(check=False)
    late = dataclasses.replace(ready, delays=("columns seem late",), notes=(*ready.notes, "columns seem late"))
    found = identify.fit(late, columns=("links", "friction"))
    assert not any("seem late" in note for note in found.notes)
    assert not any("best parameters" in note for note in found.notes)


def test_a_long_log_is_not_late():
    """Rounded by the filter, Coulomb's jumps in the torques resembled a delay beside columns that were not filtered."""
    true, given = puma()
    whole = log(true, given, 4, duration=100.0, period=10.0)
    assert said(whole.prepare(check=False)) == []


def test_known_friction_that_is_wrong_makes_no_delay():
    assert said(measured("near").prepare(check=False), columns="links") == []


@pytest.mark.parametrize("method", ["weighted", "reweighted"])
@pytest.mark.parametrize("seed", few(range(6), 2))
def test_bursts_of_bad_torques(method, seed):
    """Twelve samples, three times a torque, of five times its size."""
    whole, random = measured("near"), np.random.default_rng(seed)
    tau, size = whole.tau.copy(), np.sqrt((whole.tau**2).mean(axis=0))
    for j in range(6):
        for k in random.integers(50, len(tau) - 100, 3):
            tau[k : k + 12, j] = tau[k, j] + 5.0 * size[j]
    ready = changed(whole, tau=tau)
    assert said(ready, method=method) == []
    notes = [note for note in identify.fit(ready, method=method).notes if "bursts of bad torques" in note]
    assert len(notes) == (method == "weighted")
    assert all("use method='reweighted'" in note for note in notes)


def test_torques_that_resemble_others_of_the_given_robot_alone_are_not_told():
    """A fit with what the robot really weighs decides, as it does of delays."""
    ready, seem = measured("near").prepare(check=False), "columns look swapped"
    doubted = dataclasses.replace(ready, swaps=(seem,), notes=(*ready.notes, seem))
    assert not any(seem in note for note in identify.fit(doubted).notes)
    wrong = changed(measured("near"), tau=swapped(measured("near").tau, 1, 2))
    wrong = dataclasses.replace(wrong, swaps=(seem,), notes=(*wrong.notes, seem))
    assert any(note == f"log: {seem}" for note in identify.fit(wrong).notes)


def test_several_logs_and_other_methods():
    runs = [measured("near", seed) for seed in (1, 2)]
    ready = [changed(each, tau=swapped(each.tau, 1, 2), name=f"run{k}") for k, each in enumerate(runs)]
    (note,) = said(ready, method="consistent")
    assert "with the torques tau_joint2 and tau_joint3 interchanged" in note


def test_robots_that_are_not_looked_at():
    """Of loops and one joint alone nothing is said."""
    robot, t = neuler.robots.two_link().with_fixed({"joint2": 0.3}), np.arange(500) / 100.0
    q = (np.sin(2 * t) + 0.4 * np.sin(5 * t))[:, None]
    qd, qdd = np.gradient(q, t, axis=0), np.gradient(np.gradient(q, t, axis=0), t, axis=0)
    found = identify.fit(
        identify.Log(robot, t, q, -robot.inverse_dynamics(q, qd, qdd)).prepare(check=False), columns="links"
    )
    assert not [note for note in found.notes if "named rightly" in note]


@pytest.mark.slow
@needs_kr300
@pytest.mark.parametrize("motion", ["A", "B"])
def test_a_real_robot(motion):
    """A KUKA KR300 whose second and third torque resemble each other."""
    logs, _, spring = kr300_logs()
    whole, options = logs[motion], {"own": {"spring": spring}}
    assert said(whole.prepare(check=False), **options) == []
    for a, b in ((1, 2), (0, 1), (3, 4), (4, 5), (2, 3), (0, 5)):
        (note,) = said(changed(whole, tau=swapped(whole.tau, a, b)), **options)
        assert re.search(rf"(tau|q)_joint{a + 1} and (tau|q)_joint{b + 1} interchanged", note)
    for joint in range(6):
        tau = whole.tau * np.where(np.arange(6) == joint, -1.0, 1.0)
        assert any(f"joint{joint + 1}" in note for note in said(changed(whole, tau=tau), **options))
    late = np.concatenate([np.repeat(whole.tau[:1], 4, axis=0), whole.tau[:-4]])
    (note,) = said(changed(whole, tau=late), **options)
    assert re.search(r"6': (3\.[5-9]|4\.[0-5]) samples \(1[4-8]\.?[0-9]* ms\) later", note)
