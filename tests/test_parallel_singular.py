"""Singular poses of parallel robots: NaN there with a warning that says why, and nowhere else."""

import dataclasses
import warnings

import numpy as np
import pytest

from neuler import Link, parallel_robot
from neuler.robots.platforms import _BASE, _PLATE
from parallel_machines import (
    NAMES,
    by_motors,
    hexapod_legs,
    hexapod_position,
    machine,
    motor_numbers,
    place,
    quaternion,
    states,
)
from random_robots import close

SIX, THREE = np.zeros(6), np.zeros(3)


def marked(robot, quantity, q, *others):
    """A quantity of a batch, and the rows that are NaN: all of each, and named by the only warning if there are any."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        found = getattr(robot, quantity)(q, *others)
    rows = np.isnan(found.reshape(len(q), -1))
    bad = rows.all(axis=-1)
    np.testing.assert_array_equal(rows.any(axis=-1), bad)
    numbers = np.flatnonzero(bad)
    where = f"the pose is singular in {len(numbers)} of {len(q)} rows: {', '.join(map(str, numbers))}; "
    expected = [f"{quantity} of {robot.name!r}: {where}the result is NaN there"] if len(numbers) else []
    assert [str(one.message) for one in told] == expected
    return found, bad


# ---- the legs lose a freedom ---------------------------------------------------------------------------------


def stretched_delta(height):
    """All legs of the Delta alike, the platform at (0, 0, height), by the triangle of motor, knee and seat."""
    out, down = 0.2 - 0.06, -height
    away = np.hypot(out, down)
    inner = np.arccos(np.clip((0.2**2 + away**2 - 0.5**2) / (0.4 * away), -1, 1))
    arm = np.arctan2(down, -out) - inner
    knee = np.array([0.2 + 0.2 * np.cos(arm), -0.2 * np.sin(arm)])
    forearm = np.arctan2(-(height - knee[1]), 0.06 - knee[0])
    return np.array([0, 0, height, *[arm, forearm - arm, 0.0] * 3])


def test_a_stretched_delta():
    """Arm and forearm in one line, 0.7 m: the legs cannot lower the platform."""
    robot = machine("delta")
    lowest = -np.sqrt(0.7**2 - 0.14**2)
    q = np.array([stretched_delta(lowest + gap) for gap in (0.2, 1e-2, 1e-4, 1e-6, 0.0)])
    assert np.abs(robot.closure(q)[0]).max() < 1e-12
    joints, motors = robot.singularity(q)
    assert (np.diff(joints) < 0).all()
    np.testing.assert_allclose(joints[1:4] / np.sqrt([1e-2, 1e-4, 1e-6]), joints[2] / 1e-2, rtol=0.1)
    assert joints[-1] < 1e-7 < 1e-4 < joints[-2]  # the root of rounding
    assert motors.min() > 1e-3
    last = np.arange(5) == 4
    for quantity, given in (
        ("inverse_dynamics", (THREE, THREE)), ("generalized_force", (THREE, THREE)),
        ("forward_dynamics", (THREE, THREE)), ("bias_force", (THREE,)), ("mass_matrix", ()),
        ("platform_jacobian", ()), ("actuation_matrix", ()),
    ):  # fmt: skip
        found, bad = marked(robot, quantity, q, *given)
        np.testing.assert_array_equal(bad, last)
        np.testing.assert_array_equal(found[0], getattr(robot, quantity)(q[0], *given))


@pytest.mark.slow
def test_a_stretched_delta_by_its_motors():
    """What the platform's velocities do not decide there the motors' do: the arms can still be turned and held."""
    robot = by_motors(machine("delta"))
    q = np.array([stretched_delta(-np.sqrt(0.7**2 - 0.14**2) + gap) for gap in (1e-2, 1e-4, 1e-6, 1e-8, 0.0)])
    assert robot.singularity(q).joints.min() > 0.1
    tau, bad = marked(robot, "inverse_dynamics", q, THREE, THREE)
    assert not bad.any()
    np.testing.assert_allclose(tau[-2], tau[-1], atol=1e-3)
    assert np.abs(marked(robot, "forward_dynamics", q, THREE, tau)[0]).max() < 1e-10
    # at the end of its way down the arms' speed does not move the platform: it turns back
    rates = robot.tree_motion(q[-1], [1.0, 1.0, 1.0], [0.0, 0.0, 0.0])[0]
    np.testing.assert_allclose(rates[:3], 0.0, atol=1e-7)


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
    return np.array([x, y, turn, *angles])


def test_a_stretched_leg_of_the_planar_machine():
    robot = machine("planar_3rrr")
    q = np.array([planar(-0.2 + gap, 0.0, 0.0) for gap in (0.2, 1e-2, 1e-4, 1e-6, 0.0)])
    assert np.abs(robot.closure(q)[0]).max() < 1e-12
    here = np.array(robot.mobility.reference)[3:]
    np.testing.assert_allclose(np.exp(1j * q[0, 3:]), np.exp(1j * here), atol=1e-12)  # this branch is the machine's
    joints, motors = robot.singularity(q)
    assert (np.diff(joints) < 0).all()
    assert joints[-1] < 1e-7 < 1e-4 < joints[-2]
    assert motors[:-1].min() > 0.05
    np.testing.assert_array_equal(marked(robot, "inverse_dynamics", q, THREE, THREE)[1], [False] * 4 + [True])


def test_a_leg_along_the_axis_of_its_first_joint():
    """At swing 90 degrees the first joint of a hexapod's leg turns it about itself: its column is zero, not skew."""
    robot = machine("gough_stewart")
    margins = []
    for lift in (0.4, 1e-2, 1e-4, 1e-6, 0.0):
        foot, seat = np.array([*_BASE[0], 0.0]), np.array([*_PLATE[0], 0.0])
        pose = [*(foot + [0.8, 0.0, lift] - seat), 0.0, 0.0, 0.0, 1.0]
        q = hexapod_position(_BASE, _PLATE, pose)
        assert np.abs(robot.closure(q)[0]).max() < 1e-12
        margins.append(float(robot.singularity(q).joints))
    assert (np.diff(margins) < 0).all()
    assert margins[3] == pytest.approx(margins[2] / 100, rel=0.05)  # a column is short below 1e-3 of the others
    assert margins[4] < 1e-9
    with pytest.warns(RuntimeWarning, match="inverse_dynamics of 'gough_stewart': the pose is singular; the result is"):
        assert np.isnan(robot.inverse_dynamics(q, SIX, SIX)).all()


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
        return np.array([0, 0, angle, *[first, knee] * 3])

    q = np.array([at(off) for off in (-0.3, -1e-4, -1e-6, 0.0, 1e-6, 1e-4)])
    assert np.abs(robot.closure(q)[0]).max() < 1e-12
    joints, motors = robot.singularity(q)
    assert joints.min() > 0.1
    assert (np.diff(motors[:4]) < 0).all()
    np.testing.assert_allclose(motors[[2, 4]], motors[[1, 5]] / 100, rtol=0.05)
    assert motors[3] < 1e-9
    bad = np.arange(6) == 3
    for quantity, given in (("inverse_dynamics", (THREE, THREE)), ("platform_jacobian", ())):
        np.testing.assert_array_equal(marked(robot, quantity, q, *given)[1], bad)
    # what the motors do not hold moves all the same: the platform's acceleration is decided
    fall = marked(robot, "forward_dynamics", q, THREE, THREE)[0]
    assert np.isfinite(fall).all()
    close(robot.inverse_dynamics(q[~bad], THREE, fall[~bad]), np.zeros((5, 3)), 1e-8, scale=10.0)
    for quantity, given in (("actuation_matrix", ()), ("generalized_force", (THREE, THREE)), ("mass_matrix", ())):
        assert not marked(robot, quantity, q, *given)[1].any()
    # by the motors' velocities nothing is decided there
    turning = by_motors(robot)
    np.testing.assert_array_equal(turning.singularity(q).joints < 1e-9, bad)
    for quantity in ("inverse_dynamics", "forward_dynamics"):
        np.testing.assert_array_equal(marked(turning, quantity, q, THREE, THREE)[1], bad)


def corners(radius, half):
    """Three pairs on a circle, at 120 degrees, each pair ``half`` to both sides."""
    angles = [2 * np.pi * k / 3 + side * half for k in range(3) for side in (-1, 1)]
    return radius * np.stack([np.cos(angles), np.sin(angles)], axis=-1)


@pytest.mark.slow
def test_a_hexapod_turned_by_a_quarter():
    """Three pairs of joints on circles: singular when the platform is turned by 90 degrees, at any height (Fichter)."""
    base, plate = corners(1.0, 0.2), corners(0.6, 0.85)
    body = Link.from_com("platform", mass=3.0, com=(0.02, 0.01, 0.05), inertia=(0.2, 0.3, 0.4))
    legs = hexapod_legs(base, plate, np.random.default_rng(5))
    robot = parallel_robot("hexapod", body, legs, reference=[0, 0, 1.0, *quaternion(np.array([0, 0, 1.0]))])
    angles = [0.5, 1.0, 1.5, np.pi / 2 - 1e-3, np.pi / 2, 1.7, 2.0]
    q = np.array(
        [hexapod_position(base, plate, [0, 0, 0.9 + 0.1 * a, *quaternion(np.array([0, 0, a]))]) for a in angles]
    )
    joints, motors = robot.singularity(q)
    assert joints.min() > 0.1
    assert motors[4] < 1e-9 < 1e-6 < motors[3] < motors[2] < motors[1]
    assert motors[5] < motors[6]
    tau, bad = marked(robot, "inverse_dynamics", q, SIX, SIX)
    np.testing.assert_array_equal(bad, np.arange(len(angles)) == 4)
    for k in np.flatnonzero(~bad):
        np.testing.assert_array_equal(tau[k], robot.inverse_dynamics(q[k], SIX, SIX))
    assert np.abs(tau[3]).max() > 100 * np.abs(tau[0]).max()  # forces grow without bound
    # without motors that could hold it, the platform's acceleration is still decided
    fall, lost = marked(robot, "forward_dynamics", q, SIX, SIX)
    assert not lost.any()
    close(robot.inverse_dynamics(q[~bad], SIX, fall[~bad]), np.zeros((6, 6)), 1e-8, scale=10.0)
    assert np.isfinite(robot.actuation_matrix(q)).all()


def test_a_singular_reference_does_not_condemn_the_robot():
    """At the reference the motors leave a freedom undecided; elsewhere they do not."""
    base, plate = corners(1.0, 0.2), corners(0.6, 0.85)
    turned = [0, 0, 1.0, *quaternion(np.array([0, 0, np.pi / 2]))]
    guesses = hexapod_position(base, plate, turned)[7:].reshape(6, 3)
    legs = [
        dataclasses.replace(leg, reference=guess)
        for leg, guess in zip(hexapod_legs(base, plate, np.random.default_rng(5)), guesses, strict=True)
    ]
    robot = parallel_robot("hexapod", Link.from_com("p", mass=1.0, inertia=(1, 1, 1)), legs, reference=turned)
    assert robot.independent == ("platform",)
    q = np.array(robot.mobility.reference)
    with pytest.warns(RuntimeWarning, match="inverse_dynamics of 'hexapod': the pose is singular"):
        assert np.isnan(robot.inverse_dynamics(q, SIX, SIX)).all()
    straight = [0, 0, 1.0, *quaternion(np.array([0, 0, 0.3]))]
    away = robot.inverse_kinematics(straight).q
    tau = robot.inverse_dynamics(away, SIX, SIX)
    np.testing.assert_allclose(robot.forward_dynamics(away, SIX, tau), SIX, atol=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_near_a_regular_pose_the_measures_stay(name):
    """Between 0 and 1, and continuous: no false alarm in the workspace."""
    robot = machine(name)
    q = states(name, 300)[0]
    for values in robot.singularity(q):
        assert values.min() > 1e-3
        assert values.max() <= 1.0 + 1e-12
    ends = place(robot, q[:2])
    path = np.linspace(*ends, 200)
    if name == "gough_stewart":
        path[:, 3:] /= np.linalg.norm(path[:, 3:], axis=-1, keepdims=True)
    here = robot.inverse_kinematics(path, q[0]).q
    for values in robot.singularity(here):
        assert np.abs(np.diff(values)).max() < 0.05


def test_the_motors_give_motions_that_are_allowed():
    """What ``tree_motion`` by the motors begins with is a qd and a qdd of the platform."""
    robot, motors = machine("planar_3rrr"), by_motors(machine("planar_3rrr"))
    q, speed, _ = states("planar_3rrr", 3)
    qd = np.einsum("nij,nj->ni", robot.actuation_matrix(q), speed)
    rates, accelerations = motors.tree_motion(q, qd, np.ones_like(qd))
    close(rates[:, :3], speed, 1e-12)
    close(rates[:, motor_numbers(robot)], qd, 1e-15)
    found = robot.inverse_dynamics(q, rates[:, :3], accelerations[:, :3])
    close(found, motors.inverse_dynamics(q, qd, np.ones_like(qd)), 1e-12)
