"""The two plans of Barman, chapter 4, against their exact solutions, which are found here without the package."""

import functools
import itertools

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import root

import neuler
from neuler import plan

EXACT = 0.39185454
SWITCHES = [0.04570932, 0.19592727, 0.23530043]
"""Of torque 2 from - to +, of torque 1 from + to -, of torque 2 from + to -."""
START, GOAL = (0.0, -2.0), (1.0, -1.0)
SIGNS = ((1, -1), (1, 1), (-1, 1), (-1, -1))
"""Of both torques between the switches."""
LENGTH, CENTRE, MASS, INERTIA, MOST = 0.4, 0.2, 0.5, 0.1, 10.0


# ---- the arm of 4.1 by hand ----------------------------------------------------------------------------------------


def by_hand(x, tau):
    """d/dt (q1, q2, w1, w2) of Table 4.2's arm, written out."""
    _, q2, w1, w2 = x
    side = MASS * LENGTH * CENTRE
    m22 = INERTIA + MASS * CENTRE**2
    m12 = m22 + side * np.cos(q2)
    m11 = 2 * m22 + MASS * LENGTH**2 + 2 * side * np.cos(q2)
    first = tau[0] + side * np.sin(q2) * w2 * (2 * w1 + w2)
    second = tau[1] - side * np.sin(q2) * w1**2
    det = m11 * m22 - m12**2
    return np.array(
        [w1 + 0 * det, w2 + 0 * det, (m22 * first - m12 * second) / det, (m11 * second - m12 * first) / det]
    )


def forces_by_hand(x, tau):
    """Norms of the forces in both joints: of the mass times acceleration of all that hangs on them."""
    q1, q2, w1, w2 = x
    *_, b1, b2 = by_hand(x, tau)
    one = CENTRE * np.array([-np.sin(q1) * b1 - np.cos(q1) * w1**2, np.cos(q1) * b1 - np.sin(q1) * w1**2])
    angle, speed, rate = q1 + q2, w1 + w2, b1 + b2
    two = 2 * one + CENTRE * np.array(
        [-np.sin(angle) * rate - np.cos(angle) * speed**2, np.cos(angle) * rate - np.sin(angle) * speed**2]
    )
    return MASS * np.array([np.hypot(*(one + two)), np.hypot(*two)])


def slopes_by_hand(x, tau):
    """d/dx and d/dtau of it, by complex steps."""
    step = 1e-30j
    of_x = by_hand(x[:, None] + step * np.eye(4), tau[:, None]).imag / 1e-30
    return of_x, by_hand(x[:, None] + np.zeros(2), tau[:, None] + step * np.eye(2)).imag / 1e-30


def driven(times, end, slopes=False):
    """The state at the end under full torques with these switches, and the parts of the motion; dx/dx0 behind it."""
    x, before, parts = np.array([*START, 0.0, 0.0]), 0.0, []
    x = np.concatenate([x, np.eye(4).ravel()]) if slopes else x
    for until, signs in zip([*times, end], SIGNS, strict=True):
        tau = MOST * np.array(signs, dtype=float)

        def rate(t, both, tau=tau):
            found = by_hand(both[:4], tau)
            if not slopes:
                return found
            return np.concatenate([found, (slopes_by_hand(both[:4], tau)[0] @ both[4:].reshape(4, 4)).ravel()])

        part = solve_ivp(rate, (before, until), x, method="DOP853", rtol=1e-12, atol=1e-13, dense_output=True)
        parts.append((before, until, tau, part.sol))
        x, before = part.y[:, -1], until
    return x[:4], parts


@functools.cache
def exact():
    """Switches and duration with which full torques end at the goal, at rest."""
    guess = np.array([*SWITCHES, EXACT])
    goal = np.array([*GOAL, 0.0, 0.0])
    found = root(lambda at: driven(at[:3], at[3])[0] - goal, guess, tol=1e-13)
    assert np.abs(found.fun).max() < 1e-11
    return found.x


def test_the_reference_reaches_the_goal():
    end, _ = driven(SWITCHES, EXACT)
    assert np.abs(end - [*GOAL, 0.0, 0.0]).max() < 2e-7
    assert np.abs(exact() - [*SWITCHES, EXACT]).max() < 2e-8


def test_the_reference_is_an_extremal():
    """Pontryagin: costates exist that vanish with each torque's switch and have the other sign everywhere else."""
    *switches, end = exact()
    _, parts = driven(switches, end, slopes=True)

    def switching(part, t):
        """Of both torques, for every initial costate (4)."""
        _, _, tau, motion = part
        both = motion(t)
        _, B = slopes_by_hand(both[:4], tau)
        return np.linalg.solve(both[4:].reshape(4, 4), B)  # costates times dx/dx0 are constant

    at_switches = [switching(part, at)[:, j] for part, at, j in zip(parts, switches, (1, 0, 1), strict=False)]
    _, sizes, rows = np.linalg.svd(np.array(at_switches))
    assert sizes[-1] > 1e-3 * sizes[0]
    costate = rows[-1]
    signs = np.array(
        [
            -np.sign(costate @ switching(part, t)) * part[2]
            for part in parts
            for t in np.linspace(part[0], part[1], 12)[1:-1]
        ]
    )
    assert (signs == signs[0, 0]).all()


def test_the_arm_is_that_of_the_tables():
    arm = neuler.robots.two_link()
    rng = np.random.default_rng(1)
    x, tau = rng.normal(size=(4, 20)), rng.normal(size=(2, 20))
    qdd = by_hand(x, tau)[2:]
    np.testing.assert_allclose(arm.inverse_dynamics(x[:2].T, x[2:].T, qdd.T), tau.T, atol=1e-13)


# ---- 4.1 -----------------------------------------------------------------------------------------------------------


def two_link(**more):
    limits = [plan.within(plan.torque, MOST)]
    return plan.Plan(neuler.robots.two_link(), plan.duration(), start=START, goal=GOAL, limits=limits, **more)


@pytest.fixture(scope="module")
def twenty():
    return two_link(control_points=20).solve()


@pytest.fixture(scope="module")
def eighty():
    return two_link(control_points=80).solve()


@pytest.fixture(params=["twenty", "eighty"])
def found(request):
    return request.getfixturevalue(request.param)


def test_minimum_time(twenty, eighty):
    for found, most in ((twenty, 0.3931), (eighty, 0.3920)):
        assert found.valid
        assert found.optimal
        assert found.objective == pytest.approx(found.duration, abs=1e-12)
        assert EXACT - 1e-8 <= exact()[-1] <= found.duration <= most
    assert eighty.duration < twenty.duration


def test_torques_hold_everywhere(found):
    """On a grid ten times finer than the solver's, and on one that has nothing to do with it."""
    segment = found.motion.profiles[0]
    fine = np.concatenate([np.linspace(a, b, 10, endpoint=False) for a, b in itertools.pairwise(segment.grid)])
    for t in (np.append(fine, 1.0) * found.duration, np.linspace(0.0, found.duration, 5000)):
        motion = found.at(t)
        tau = found.robot.inverse_dynamics(motion.q, motion.qd, motion.qdd)
        assert np.abs(tau).max() <= MOST + 1e-6 * (1.0 + MOST)
        assert np.abs(tau).max() >= MOST * (1.0 - 1e-4)  # and the limits are used
        np.testing.assert_allclose(found.torques(t), tau, atol=1e-10)
        np.testing.assert_allclose(torques_by_hand(*motion[:3]).T, tau, atol=1e-10)


def test_ends(found):
    motion = found.at(np.array([0.0, found.duration]))
    np.testing.assert_allclose(motion.q, [START, GOAL], atol=1e-12)
    np.testing.assert_allclose(motion.qd, 0.0, atol=1e-11)


def test_switches(found):
    t = np.linspace(0.0, found.duration, 5001)
    motion = found.at(t)
    tau = torques_by_hand(*motion[:3])
    for j, (expected, begins) in enumerate(((SWITCHES[1::2], 1.0), (SWITCHES[0::2], -1.0))):
        at = np.flatnonzero(tau[j, :-1] * tau[j, 1:] < 0.0)
        assert np.sign(tau[j, 0]) == begins
        assert len(at) == len(expected)
        np.testing.assert_allclose(t[at], expected, rtol=0.02)


def torques_by_hand(q, qd, qdd):
    """Of the arm by hand, (2, N): its accelerations are linear in them."""
    x = np.concatenate([q, qd], axis=1).T
    free, one, two = (by_hand(x, np.array(tau))[2:] for tau in ((0.0, 0.0), (1.0, 0.0), (0.0, 1.0)))
    return np.linalg.solve(np.stack([one - free, two - free], axis=1).T.swapaxes(1, 2), (qdd.T - free).T[:, :, None])[
        ..., 0
    ].T


def test_internal_forces_have_two_peaks(eighty):
    """Figure 4.3: high where the torques are against each other, link 1 above link 2, both alike in the end."""
    t = np.linspace(0.0, eighty.duration, 2001)
    forces = eighty.forces(t)
    first, second, third = SWITCHES
    high = forces > 0.5 * forces.max(axis=0)
    for j in (0, 1):
        edges = t[np.flatnonzero(np.diff(high[:, j].astype(int)))]
        assert high[0, j]
        np.testing.assert_allclose(edges, [first, second, third], atol=0.01 * eighty.duration)
    both = high.all(axis=1)
    assert both.mean() > 0.2
    assert (forces[both, 0] > 1.3 * forces[both, 1]).all()
    assert abs(forces[-1, 0] / forces[-1, 1] - 1.0) < 0.05


def test_internal_forces_are_those_of_the_exact_solution(eighty):
    *switches, end = exact()
    _, parts = driven(switches, end)
    for begin, until, tau, motion in parts:
        inside = np.linspace(begin, until, 30)
        inside = inside[(inside > begin + 0.01) & (inside < until - 0.01)]  # spans are 0.005 s wide
        expected = np.array([forces_by_hand(motion(t)[:4], tau) for t in inside])
        np.testing.assert_allclose(eighty.forces(inside), expected, rtol=0.05, atol=0.3)


def test_the_replay_ends_at_the_goal(twenty):
    run = twenty.replay()
    assert run.t[-1] == pytest.approx(twenty.duration, abs=1e-9)
    assert np.abs(run.q[-1] - GOAL).max() < 1e-4
    assert np.abs(run.error[-1]).max() < 1e-4


def test_the_robot_s_own_limits_are_the_same(twenty):
    own = plan.Plan(neuler.robots.two_link(), start=START, goal=GOAL).solve()
    assert own.valid
    assert own.duration == pytest.approx(twenty.duration, rel=1e-6)


# ---- 4.2 -----------------------------------------------------------------------------------------------------------

READINGS = {np.pi / 2: (0.6463, 0.8531, 0.5194), 0.0: (0.5858, 0.7733, 0.4728)}
"""theta_2 at q_2 = 0: T and objective with u = 0.01, T with u = 0."""
BEGIN, END = (0.1, 0.6), (np.pi / 4, -np.pi / 4)


def slide(theta, u):
    limits = [plan.within(plan.torque, MOST)]
    objective = (1.0 - u) * plan.duration() + u * plan.effort()
    robot = neuler.robots.prismatic_revolute(theta)
    return plan.Plan(robot, objective, start=BEGIN, goal=END, limits=limits).solve()


def slide_by_hand(theta, q, qd, qdd):
    """Force and torque: the slide along z carries a rod whose angle to y is theta + q2, no gravity."""
    angle = theta + q[:, 1]
    # link 1 slides along z0; link 2 turns about x of the base (alpha = pi/2), its rod in the y-z plane
    z = CENTRE * np.sin(angle)
    dz = CENTRE * np.cos(angle)
    force = 2 * MASS * qdd[:, 0] + MASS * (dz * qdd[:, 1] - z * qd[:, 1] ** 2)
    torque = (INERTIA + MASS * CENTRE**2) * qdd[:, 1] + MASS * dz * qdd[:, 0]
    return np.stack([force, torque], axis=1)


@pytest.mark.parametrize("theta", READINGS, ids=["offset", "none"])
def test_both_readings(theta):
    T, objective, _ = READINGS[theta]
    found = slide(theta, 0.01)
    assert found.valid
    assert found.optimal
    assert found.duration == pytest.approx(T, rel=0.002)
    assert found.objective == pytest.approx(objective, rel=0.002)
    t = np.linspace(0.0, found.duration, 5001)
    motion = found.at(t)
    tau = found.robot.inverse_dynamics(*motion[:3])
    np.testing.assert_allclose(tau, slide_by_hand(theta, *motion[:3]), atol=1e-10)
    assert np.abs(tau).max() <= MOST * (1.0 + 1e-6)
    paid = np.trapezoid(0.99 + 0.01 * (tau**2).sum(axis=1), t)  # (4.18) itself
    assert found.objective == pytest.approx(paid, rel=1e-5)
    np.testing.assert_allclose(motion.q[[0, -1]], [BEGIN, END], atol=1e-12)


@pytest.mark.parametrize("theta", READINGS, ids=["offset", "none"])
def test_both_readings_in_least_time(theta):
    found = slide(theta, 0.0)
    assert found.valid
    assert found.duration == pytest.approx(READINGS[theta][2], rel=0.003)
    motion = found.at(np.linspace(0.0, found.duration, 5000))
    assert np.abs(slide_by_hand(theta, *motion[:3])).max() <= MOST * (1.0 + 1e-6)
