"""Angles that are rounded in a robot's file: columns that they alone make independent are taken as one."""

import numpy as np
import pytest

import neuler
from identify_data import fourier
from neuler import identify
from neuler.identify.wanted import wanted_base

pytest.importorskip("clarabel")
COLUMNS = ("links", "friction", "rotors")


def arm(angle):
    """Two hinges, the first upright, the second level but for how the angle between them is written."""
    rows = [
        {"alpha": angle, "mass": 3.0, "com": (0.01, 0.02, 0.1), "inertia": (0.02, 0.03, 0.04)},
        {"mass": 2.0, "com": (0.15, 0.02, 0.01), "inertia": (0.01, 0.02, 0.02)},
    ]
    friction = {f"joint{k}.{part}": 0.5 for k in (1, 2) for part in ("viscous", "coulomb", "rotor_inertia")}
    return neuler.from_dh(rows, name="arm").with_parameters(friction)


@pytest.mark.parametrize("angle", [1.5708, 1.571, 1.57])
def test_rounded_angles(angle):
    exact, rounded = arm(np.pi / 2), arm(angle)
    assert len(rounded.base_parameters(COLUMNS)) == len(exact.base_parameters(COLUMNS)) + 1
    q, qd, qdd = fourier(2, samples=1500)
    tau = exact.inverse_dynamics(q, qd, qdd)
    tau = tau + 0.01 * tau.std(axis=0) * np.random.default_rng(1).normal(size=tau.shape)
    found, best = (identify.fit(identify.Log(robot, 0.01 * np.arange(1500), q, tau)) for robot in (rounded, exact))
    (note,) = (note for note in found.notes if "are taken as one" in note)
    assert "'joint2.rotor_inertia' with 'link2.zz'; 'joint2' is turned by right angles but for" in note
    assert not any("are taken as one" in note for note in best.notes)
    assert found.base.names == best.base.names
    assert found.excitation.scaled_condition == pytest.approx(best.excitation.scaled_condition, rel=0.01)
    np.testing.assert_allclose(found.estimate.values, best.estimate.values, atol=0.01)
    assert len(found.base.groups["link2.zz"]) == 2


@pytest.mark.parametrize("angle", [np.pi / 2, 1.56, 1.0])
def test_geometry_that_tells_columns_apart(angle):
    """An angle that is a right one with all its digits, or far from one, is taken as it is."""
    robot = arm(angle)
    base = wanted_base("fit", robot, COLUMNS)
    np.testing.assert_array_equal(base.grouping, robot.base_parameters(COLUMNS).grouping)


@pytest.mark.parametrize("name", ["puma560", "stanford", "sr400", "four_bar"])
def test_robots_with_all_their_digits(name):
    robot = getattr(neuler.robots, name)()
    assert wanted_base("fit", robot, COLUMNS).names == robot.base_parameters(COLUMNS).names
