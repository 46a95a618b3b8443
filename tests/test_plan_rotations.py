"""Rotation vectors as profiles: against SciPy's and Pinocchio's rotations, many digits, and the robots' own verbs."""

import functools

import mpmath
import numpy as np
import pinocchio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

import neuler
from kind_robots import kind_robot
from neuler.errors import InputError
from neuler.moments import rotations

ORDER = 5
STEP = 1e-40


def robots():
    """A free base, balls and free links among other joints, two free bodies beside an arm, a ball alone."""
    from free_robots import floating, several

    return {
        "floating": floating(1, 3),
        "several": several(2),
        **{f"kinds{seed}": kind_robot(seed) for seed in (0, 3, 5)},
    }


ROBOTS = robots()
BALL = neuler.Robot(
    "ball",
    [neuler.Link("base"), neuler.Link("round", 1.0, (0, 0, 0), (1, 1, 1, 0, 0, 0))],
    [neuler.Joint("joint", "spherical", "base", "round")],
)
each = pytest.mark.parametrize("name", ROBOTS)


@functools.cache
def setting(name):
    """A robot, its coordinates, a reference, and profiles that are polynomials of time: rates by Horner."""
    robot = ROBOTS[name]
    parts = robot.coordinates.links
    rng = np.random.default_rng(11)
    reference = robot.random_configuration(rng)
    c = rng.uniform(-1.0, 1.0, (8, robot.nv)) / (1.0 + np.arange(8.0)[:, None])
    return robot, parts, reference, c


def profiles(c, t, order):
    """c(t) and its rates, (order + 1) arrays (..., nv); t may be complex."""
    t = np.asarray(t)
    found = []
    for k in range(order + 1):
        slope = np.polynomial.polynomial.polyder(c, k)
        found.append(np.moveaxis(np.polynomial.polynomial.polyval(t, slope), 0, -1))
    return found


def lifted(name, t, order):
    robot, parts, reference, c = setting(name)
    return rotations.lift(robot, parts, reference, profiles(c, t, order))


def near(found, expected, tolerance=1e-12):
    expected = np.asarray(expected)
    scale = max(np.abs(expected).max(), 1.0)
    assert np.abs(np.asarray(found) - expected).max() <= tolerance * scale


def quaternion(r):
    return np.stack(rotations.quaternions([tuple(np.moveaxis(r, -1, 0))])[0], axis=-1)


def test_it_is_the_exponential_of_scipy():
    rng = np.random.default_rng(0)
    axis = rng.normal(size=(500, 3))
    axis /= np.linalg.norm(axis, axis=1, keepdims=True)
    r = axis * np.linspace(0.0, np.pi, 500)[:, None]
    assert np.abs(quaternion(r) - Rotation.from_rotvec(r).as_quat(canonical=False)).max() < 1e-15
    assert np.abs(np.square(quaternion(r)).sum(axis=-1) - 1.0).max() < 2e-15
    beyond = 1.4 * r  # it is still right where a solver may stray on its way
    assert np.abs(quaternion(beyond) - Rotation.from_rotvec(beyond).as_quat(canonical=False)).max() < 5e-15


@pytest.mark.parametrize("angle", [0.0, 1e-9, 1e-4, 0.3, 1.5, 2.9, 3.14159])
def test_functions_have_all_digits(angle):
    """sin(h) / h and cos(h) of h(t) = (angle + t) / 2 with five rates, by mpmath's series."""
    with mpmath.workdps(60):
        x = [mpmath.mpf(0)] * (ORDER + 1)
        x[0], x[1], x[2] = mpmath.mpf(angle) ** 2 / 4, mpmath.mpf(angle) / 2, mpmath.mpf(1) / 2

        def sinc(t):
            h = (mpmath.mpf(angle) + t) / 2
            return mpmath.sin(h) / h if h else mpmath.mpf(1)

        sines = mpmath.taylor(sinc, mpmath.mpf(10) ** -50, ORDER)
        cosines = [mpmath.diff(lambda t: mpmath.cos((angle + t) / 2), 0, k) for k in range(ORDER + 1)]
        sines = [float(s * mpmath.factorial(k)) for k, s in enumerate(sines)]
    found = rotations._functions([float(k) for k in x], ORDER)
    assert np.abs(np.array(found[0]) - sines).max() < 2e-15
    assert np.abs(np.array(found[1]) - np.array([float(c) for c in cosines])).max() < 2e-15


def test_turns_are_those_of_pinocchio():
    rng = np.random.default_rng(3)
    for _ in range(20):
        r, rd = rng.normal(size=(2, 3))
        e = rotations.quaternions([tuple(r), tuple(rd)])
        (w,) = rotations.angular_velocities(e)
        near(w, pinocchio.Jexp3(r) @ rd, 1e-14)
        near(Rotation.from_quat(e[0]).as_matrix(), pinocchio.exp3(r), 1e-14)


@each
def test_velocities_are_the_rates_of_positions(name):
    """dq/dt by a complex step, and by the joints' own rule from q and qd."""
    robot, *_ = setting(name)
    for t in (0.0, 0.4, 0.9):
        q, qd = lifted(name, t, 1)
        slope = lifted(name, t + STEP * 1j, 0)[0].imag / STEP
        rates, at, first = [], 0, 0
        for joint in robot.moving_joints:
            rates += joint.type.rates(list(q[at : at + joint.nq]), list(qd[first : first + joint.nv]))
            at, first = at + joint.nq, first + joint.nv
        near(np.array(rates, dtype=float), slope, 1e-13)


@each
def test_each_rate_is_that_of_the_one_before(name):
    """By complex steps to the fifth rate; a batch of times at once."""
    t = np.linspace(0.0, 1.0, 7)
    found = lifted(name, t, ORDER)
    ahead = lifted(name, t + STEP * 1j, ORDER)
    assert [x.shape for x in found[1:]] == [(7, ROBOTS[name].nv)] * ORDER
    for k in range(1, ORDER):
        near(ahead[k].imag / STEP, found[k + 1], 1e-12)
    near(lifted(name, 0.4, 3)[3], lifted(name, np.array([0.4]), 3)[3][0], 1e-15)


@each
def test_motion_is_that_of_the_robot(name):
    """Steps of ``integrate`` along qd and qdd, and the power of inverse dynamics is the rate of energy."""
    robot = ROBOTS[name].without_friction()
    h = 1e-4
    q, qd, qdd = lifted(name, 0.3, 2)
    after, before = lifted(name, 0.3 + h, 1), lifted(name, 0.3 - h, 1)
    middle = robot.integrate(before[0], lifted(name, 0.3, 1)[1], 2 * h)
    near(robot.difference(middle, after[0]), 0.0, 20 * h**3)
    energy = [sum(robot.energy(*state)) for state in (before, after)]
    power = robot.inverse_dynamics(q, qd, qdd) @ qd
    near((energy[1] - energy[0]) / (2 * h), power, 1e-5)


@each
def test_compiled_it_is_the_same_with_exact_derivatives(name):
    robot, parts, reference, c = setting(name)
    inputs = {f"c{k}": robot.nv for k in range(4)}
    f = neuler.function(
        lambda *motion: np.concatenate(rotations.lift(robot, parts, reference, motion)), inputs, "motion"
    )
    motion = profiles(c, 0.4, 3)
    near(f(*motion), np.concatenate(lifted(name, 0.4, 3)), 1e-14)
    slope = f.jacobian("c0")(*motion)
    for k in range(robot.nv):
        shifted = motion[0].astype(complex)
        shifted[k] += STEP * 1j
        column = np.concatenate(rotations.lift(robot, parts, reference, [shifted, *motion[1:]])).imag / STEP
        near(slope[:, k], column, 1e-12)


def test_derivatives_at_the_reference_are_finite():
    """At r = 0, where |r| has none: the second derivatives of w.p. to r are those of its Taylor series."""
    ball = BALL
    parts = ball.coordinates.links
    reference = ball.random_configuration(np.random.default_rng(0))

    def velocity(r, rd):
        return rotations.lift(ball, parts, reference, [r, rd])[1]

    f = neuler.function(velocity, {"r": 3, "rd": 3}, "w")
    zero, rd = np.zeros(3), np.array([0.3, -0.5, 0.7])
    near(f.jacobian("r")(zero, rd), 0.5 * np.array([[0, -rd[2], rd[1]], [rd[2], 0, -rd[0]], [-rd[1], rd[0], 0]]), 1e-15)
    weights = np.array([1.0, 2.0, -1.0])
    # w = rd - r x rd / 2 + r x (r x rd) / 6 + ...: d2(p . r x (r x rd)) / 6 = d2((r . rd)(p . r) - (r . r)(p . rd)) / 6
    bend = (np.outer(rd, weights) + np.outer(weights, rd) - 2.0 * (weights @ rd) * np.eye(3)) / 6.0
    near(f.hessian("r")(zero, rd, weights=weights), bend, 1e-15)


@each
def test_charts_there_and_back(name):
    robot, parts, reference, c = setting(name)
    t = np.linspace(0.0, 1.0, 5)
    motion = profiles(c, t, 4)
    joints = {joint.name: joint for joint in robot.moving_joints}
    for joint, rows in rotations.turn_rows(parts):
        assert joints[joint].type.quaternion is not None
        size = np.linalg.norm(motion[0][:, rows], axis=1)
        assert size.max() < rotations.WIDEST
    whole = rotations.lift(robot, parts, reference, motion)
    near(rotations.profiles_of(robot, parts, reference, whole[0]), motion[0], 1e-13)
    flipped = np.array(whole[0])
    at = 0
    for joint in robot.moving_joints:  # a quaternion and its negative are one rotation
        if joint.type.quaternion is not None:
            flipped[:, at + joint.type.quaternion : at + joint.nq] *= -1.0
        at += joint.nq
    near(rotations.profiles_of(robot, parts, reference, flipped), motion[0], 1e-13)


@settings(max_examples=50, deadline=None)
@given(st.floats(0.0, 0.999), st.integers(0, 1000))
def test_rotation_vectors_are_those_of_scipy(share, seed):
    ball = BALL
    rng = np.random.default_rng(seed)
    reference = ball.random_configuration(rng)
    axis = rng.normal(size=3)
    r = share * rotations.WIDEST * axis / np.linalg.norm(axis)
    q = (Rotation.from_quat(reference) * Rotation.from_rotvec(r)).as_quat()
    near(rotations.profiles_of(ball, ball.coordinates.links, reference, q), r, 1e-13)


def test_refused_near_a_half_turn():
    robot = neuler.robots.two_link().with_free_base()
    parts = robot.coordinates.links
    q = np.array(robot.neutral())
    q[3:7] = Rotation.from_rotvec([0.0, 0.96 * np.pi, 0.0]).as_quat()
    with pytest.raises(InputError, match=r"joint 'root_joint' is 172\.8 degrees from its reference orientation"):
        rotations.profiles_of(robot, parts, robot.neutral(), q)
    q[3:7] = Rotation.from_rotvec([0.0, 0.94 * np.pi, 0.0]).as_quat()
    assert rotations.profiles_of(robot, parts, robot.neutral(), q)[4] == pytest.approx(0.94 * np.pi, abs=1e-14)


def test_bad_positions_are_refused_by_name():
    robot = neuler.robots.two_link().with_free_base()
    parts = robot.coordinates.links
    here = robot.neutral()
    with pytest.raises(InputError, match=r"reference position of robot '.*' must be 9 finite numbers"):
        rotations.lift(robot, parts, here[:-1], [np.zeros(8)])
    with pytest.raises(InputError, match=r"position of robot '.*' must be 9 finite numbers"):
        rotations.profiles_of(robot, parts, here, np.full(9, np.nan))
    off = np.array(here)
    off[6] = 2.0
    with pytest.raises(InputError, match=r"joint 'root_joint' of robot '.*': the quaternion .* must have length one"):
        rotations.profiles_of(robot, parts, here, off)
    with pytest.raises(InputError, match=r"'root_joint'.* must have length one"):
        rotations.lift(robot, parts, off, [np.zeros(8)])
