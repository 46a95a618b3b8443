"""Singular poses of parallel robots, and motions that legs do not allow: NaN there, and nowhere else."""

import dataclasses

import numpy as np
import pytest

from neuler import Link, ParallelRobot
from neuler.robots.parallel import _BASE, _PLATE
from parallel_machines import (
    NAMES,
    hexapod_legs,
    hexapod_position,
    machine,
    quaternion,
    screws,
    states,
)
from random_robots import close

pytestmark = pytest.mark.filterwarnings("ignore:invalid value encountered:RuntimeWarning")
STILL = np.zeros(6)

# ---- the legs lose a freedom ---------------------------------------------------------------------------------


def stretched_delta(height):
    """All legs of the Delta alike, the platform at (0, 0, height), by the triangle of motor, knee and seat."""
    out, down = 0.2 - 0.06, -height
    away = np.hypot(out, down)
    inner = np.arccos(np.clip((0.2**2 + away**2 - 0.5**2) / (0.4 * away), -1, 1))
    arm = np.arctan2(down, -out) - inner
    knee = np.array([0.2 + 0.2 * np.cos(arm), -0.2 * np.sin(arm)])
    forearm = np.arctan2(-(height - knee[1]), 0.06 - knee[0])
    return np.array([0, 0, height, 0, 0, 0, 1, *[arm, forearm - arm, 0.0] * 3])


def test_a_stretched_delta():
    """Arm and forearm in one line, 0.7 m: the legs cannot lower the platform."""
    robot = machine("delta")
    lowest = -np.sqrt(0.7**2 - 0.14**2)
    q = np.array([stretched_delta(lowest + gap) for gap in (0.2, 1e-2, 1e-4, 1e-6, 0.0)])
    assert np.abs(robot.mechanism.closure(q)[0]).max() < 1e-12
    legs, platform = robot.singularity(q)
    assert (np.diff(legs) < 0).all()
    np.testing.assert_allclose(legs[1:4] / np.sqrt([1e-2, 1e-4, 1e-6]), legs[2] / 1e-2, rtol=0.1)
    assert legs[-1] < 1e-7 < 1e-4 < legs[-2]  # the root of rounding
    assert platform.min() > 1e-3
    for quantity in ("inverse_dynamics", "cartesian_force", "forward_dynamics"):
        given = STILL if quantity != "forward_dynamics" else np.zeros(3)
        found = getattr(robot, quantity)(q, STILL, given)
        np.testing.assert_array_equal(np.isnan(found).all(axis=-1), [False] * 4 + [True])
        np.testing.assert_array_equal(found[0], getattr(robot, quantity)(q[0], STILL, given))
    assert np.isnan(robot.jacobian(q)[-1]).all()
    assert np.isnan(robot.inverse_jacobian(q)[-1]).all()
    assert np.isnan(robot.cartesian_mass_matrix(q)[-1]).all()
    assert np.isfinite(robot.jacobian(q)[:-1]).all()


def two_bars(foot, seat, first, second):
    """Angles of a crank and of the rod on it, the crank to the right of the way (seen along -z)."""
    way = seat - foot
    away = np.linalg.norm(way)
    bend = np.arccos(np.clip((first**2 + away**2 - second**2) / (2 * first * away), -1, 1))
    crank = np.arctan2(way[1], way[0]) - bend
    knee = foot + first * np.array([np.cos(crank), np.sin(crank)])
    return crank, np.arctan2(*(seat - knee)[::-1]) - crank


def planar(x, y, turn):
    """q of the planar machine by geometry."""
    angles = []
    for k in range(3):
        at = 2 * np.pi * k / 3
        seat = np.array([x, y]) + 0.15 * np.array([np.cos(turn + at), np.sin(turn + at)])
        foot = 0.65 * np.array([np.cos(at), np.sin(at)])
        crank, knee = two_bars(foot, seat, 0.3, 0.4)
        angles += [crank - at, knee]
    return np.array([x, y, 0, 0, 0, np.sin(turn / 2), np.cos(turn / 2), *angles])


def test_a_stretched_leg_of_the_planar_machine():
    robot = machine("planar_3rrr")
    q = np.array([planar(-0.2 + gap, 0.0, 0.0) for gap in (0.2, 1e-2, 1e-4, 1e-6, 0.0)])
    assert np.abs(robot.mechanism.closure(q)[0]).max() < 1e-12
    np.testing.assert_allclose(
        np.exp(1j * q[0, 7:]), np.exp(1j * np.array(robot.mechanism.mobility.reference)[7:]), atol=1e-12
    )  # this branch is the machine's
    legs, platform = robot.singularity(q)
    assert (np.diff(legs) < 0).all()
    assert legs[-1] < 1e-7 < 1e-4 < legs[-2]
    assert platform.min() > 0.05
    np.testing.assert_array_equal(np.isnan(robot.inverse_dynamics(q, STILL, STILL)).all(axis=-1), [False] * 4 + [True])


def test_a_leg_along_the_axis_of_its_first_joint():
    """At swing 90 degrees the first joint of a hexapod's leg turns it about itself: its column is zero, not skew."""
    robot = machine("gough_stewart")
    margins = []
    for lift in (0.4, 1e-2, 1e-4, 0.0):
        foot, seat = np.array([*_BASE[0], 0.0]), np.array([*_PLATE[0], 0.0])
        pose = [*(foot + [0.8, 0.0, lift] - seat), 0.0, 0.0, 0.0, 1.0]
        q = hexapod_position(_BASE, _PLATE, pose)
        assert np.abs(robot.mechanism.closure(q)[0]).max() < 1e-12
        margins.append(float(robot.singularity(q)[0]))
    assert (np.diff(margins) < 0).all()
    assert margins[2] == pytest.approx(margins[1] / 100, rel=0.05)
    assert margins[3] < 1e-9
    assert np.isnan(robot.inverse_dynamics(q, STILL, STILL)).all()


# ---- the platform gains one ----------------------------------------------------------------------------------


def test_rods_that_meet_in_a_point():
    """The platform can turn about it whatever the cranks do. All three rods alike: no other sign of it than zero."""
    robot = machine("planar_3rrr")
    crank = np.arccos((0.55**2 - 0.65**2 - 0.3**2) / (2 * 0.65 * 0.3))
    turn = np.arctan2(0.3 * np.sin(crank), 0.65 + 0.3 * np.cos(crank))

    def at(off):
        angle = turn + off
        seat = 0.15 * np.array([np.cos(angle), np.sin(angle)])
        first, knee = two_bars(np.array([0.65, 0.0]), seat, 0.3, 0.4)
        if abs(np.angle(np.exp(1j * (first - crank)))) > 0.3:  # the branch with this crank
            knee = -knee
            first = 2 * np.arctan2(seat[1], seat[0] - 0.65) - first
        return np.array([0, 0, 0, 0, 0, np.sin(angle / 2), np.cos(angle / 2), *[first, knee] * 3])

    q = np.array([at(off) for off in (-0.3, -1e-2, -1e-4, 0.0, 1e-4, 1e-2)])
    assert np.abs(robot.mechanism.closure(q)[0]).max() < 1e-12
    legs, platform = robot.singularity(q)
    assert legs.min() > 0.1
    assert (np.diff(platform[:4]) < 0).all()
    np.testing.assert_allclose(platform[[2, 4]], platform[[1, 5]] / 100, rtol=0.05)
    assert platform[3] < 1e-9
    bad = np.arange(6) == 3
    for quantity, given in (("inverse_dynamics", STILL), ("forward_dynamics", np.zeros(3))):
        found = getattr(robot, quantity)(q, STILL, given)
        np.testing.assert_array_equal(np.isnan(found).all(axis=-1), bad)
    np.testing.assert_array_equal(np.isnan(robot.jacobian(q)).all(axis=(-1, -2)), bad)
    assert np.isfinite(robot.inverse_jacobian(q)).all()
    assert np.isfinite(robot.cartesian_force(q, STILL, STILL)).all()


def corners(radius, half):
    """Three pairs on a circle, at 120 degrees, each pair ``half`` to both sides."""
    angles = [2 * np.pi * k / 3 + side * half for k in range(3) for side in (-1, 1)]
    return radius * np.stack([np.cos(angles), np.sin(angles)], axis=-1)


def test_a_hexapod_turned_by_a_quarter():
    """Three pairs of joints on circles: singular when the platform is turned by 90 degrees, at any height (Fichter)."""
    base, plate = corners(1.0, 0.2), corners(0.6, 0.85)
    body = Link.from_com("platform", mass=3.0, com=(0.02, 0.01, 0.05), inertia=(0.2, 0.3, 0.4))
    legs = hexapod_legs(base, plate, np.random.default_rng(5))
    robot = ParallelRobot("hexapod", body, legs, reference=[0, 0, 1.0, *quaternion(np.array([0, 0, 1.0]))])
    angles = [0.5, 1.0, 1.5, np.pi / 2 - 1e-3, np.pi / 2, 1.7, 2.0]
    q = np.array(
        [hexapod_position(base, plate, [0, 0, 0.9 + 0.1 * a, *quaternion(np.array([0, 0, a]))]) for a in angles]
    )
    legs, platform = robot.singularity(q)
    assert legs.min() > 0.1
    assert platform[4] < 1e-9 < 1e-6 < platform[3] < platform[2] < platform[1]
    assert platform[5] < platform[6]
    tau = robot.inverse_dynamics(q, STILL, STILL)
    bad = np.arange(len(angles)) == 4
    np.testing.assert_array_equal(np.isnan(tau).all(axis=-1), bad)
    for k in np.flatnonzero(~bad):
        np.testing.assert_array_equal(tau[k], robot.inverse_dynamics(q[k], STILL, STILL))
    assert np.abs(tau[3]).max() > 100 * np.abs(tau[0]).max()  # forces grow without bound
    # six freedoms: without motors that could hold it, the platform's acceleration is still decided
    fall = robot.forward_dynamics(q, STILL, STILL)
    assert np.isfinite(fall).all()
    close(robot.inverse_dynamics(q[~bad], STILL, fall[~bad]), np.zeros((6, 6)), 1e-8, scale=10.0)
    assert np.isfinite(robot.inverse_jacobian(q)).all()


def test_a_singular_reference_does_not_condemn_the_robot():
    """At the reference the motors leave a freedom undecided; elsewhere they do not."""
    base, plate = corners(1.0, 0.2), corners(0.6, 0.85)
    turned = [0, 0, 1.0, *quaternion(np.array([0, 0, np.pi / 2]))]
    guesses = hexapod_position(base, plate, turned)[7:].reshape(6, 3)
    legs = [
        dataclasses.replace(leg, reference=guess)
        for leg, guess in zip(hexapod_legs(base, plate, np.random.default_rng(5)), guesses, strict=True)
    ]
    robot = ParallelRobot("hexapod", Link.from_com("p", mass=1.0, inertia=(1, 1, 1)), legs, reference=turned)
    q, still = np.array(robot.mechanism.mobility.reference), np.zeros(6)
    with pytest.warns(RuntimeWarning, match="inverse_dynamics of 'hexapod': the pose is singular"):
        assert np.isnan(robot.inverse_dynamics(q, still, still)).all()
    straight = [0, 0, 1.0, *quaternion(np.array([0, 0, 0.3]))]
    away = robot.inverse_kinematics(straight).q
    tau = robot.inverse_dynamics(away, still, still)
    np.testing.assert_allclose(robot.forward_dynamics(away, still, tau), still, atol=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_near_a_regular_pose_the_measures_stay(name):
    """Between 0 and 1, and continuous: no false alarm in the workspace."""
    robot = machine(name)
    q = states(name, 300)[0]
    for values in robot.singularity(q):
        assert values.min() > 1e-3
        assert values.max() <= 1.0 + 1e-12
    path = np.linspace(q[0, :7], q[1, :7], 200)
    path[:, 3:] /= np.linalg.norm(path[:, 3:], axis=-1, keepdims=True)
    here = robot.inverse_kinematics(path, q[0]).q
    for values in robot.singularity(here):
        assert np.abs(np.diff(values)).max() < 0.05


# ---- motions that the legs do not allow ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "held"), [("delta", (3, 4, 5)), ("orthoglide", (3, 4, 5)), ("planar_3rrr", (2, 3, 4))]
)
def test_motions_that_the_legs_do_not_allow(name, held):
    robot = machine(name)
    q, v, vd = states(name, 6)
    tau = robot.inverse_dynamics(q, v, vd)
    for k in held:
        ill = v.copy()
        ill[2, k] = 0.01
        for quantity in ("inverse_dynamics", "cartesian_force"):
            found, well = getattr(robot, quantity)(q, ill, vd), getattr(robot, quantity)(q, v, vd)
            assert np.isnan(found[2]).all()
            others = np.arange(6) != 2
            np.testing.assert_array_equal(found[others], well[others])
            swapped = vd.copy()
            swapped[4, k] = 0.01
            found = getattr(robot, quantity)(q, v, swapped)
            np.testing.assert_array_equal(np.isnan(found).all(axis=-1), np.arange(6) == 4)
        assert np.isnan(robot.leg_motion(q, ill, vd)[1][2]).all()
        np.testing.assert_array_equal(np.isnan(robot.forward_dynamics(q, ill, tau)).all(axis=-1), np.arange(6) == 2)
    rounded = v + 1e-9 * screws("gough_stewart", 6)
    close(robot.inverse_dynamics(q, rounded, vd), tau, 1e-6)


def test_the_motors_give_motions_that_are_allowed():
    """What ``tree_motion`` of the mechanism begins with is a v and a vd of the platform."""
    robot = machine("planar_3rrr")
    q, v, _ = states("planar_3rrr", 3)
    qd = np.einsum("nij,nj->ni", robot.inverse_jacobian(q), v)
    rates, accelerations = robot.mechanism.tree_motion(q, qd, np.ones_like(qd))
    close(rates[:, :6], v, 1e-12)
    found = robot.inverse_dynamics(q, rates[:, :6], accelerations[:, :6])
    close(found, robot.mechanism.inverse_dynamics(q, qd, np.ones_like(qd)), 1e-12)
