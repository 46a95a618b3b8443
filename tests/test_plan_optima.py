"""Plans whose optima are known: closed forms that splines hold exactly, or come near to from above."""

import numpy as np
import pytest

import neuler
from neuler import Joint, Link, Robot, plan

WAY, MASS, FORCE = 0.7, 2.0, 5.0


def cart():
    """A mass on a rail."""
    body = Link.from_com("cart", mass=MASS, com=(0.0, 0.0, 0.0), inertia=(0.1, 0.1, 0.1))
    return Robot("cart", [Link("base"), body], [Joint("x", "prismatic", "base", "cart", axis=(1, 0, 0))])


def moved(objective=None, degree=None, goal=(WAY,), start=(0.0,), **more):
    found = plan.Plan(cart(), objective, start=start, goal=goal, degree=degree, **more).solve()
    assert found.valid
    assert found.optimal
    return found


def still(q):
    """At rest, without acceleration."""
    return plan.Boundary(q=[q], qd=0.0, qdd=0.0)


def on(found, count=501):
    t = np.linspace(0.0, found.duration, count)
    return t / found.duration, found.at(t)


# ---- polynomials ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("points", [4, 9])
def test_least_acceleration_is_the_cubic(points):
    found = moved(plan.acceleration_effort(), duration=0.8, control_points=points)
    s, motion = on(found)
    np.testing.assert_allclose(motion.q[:, 0], WAY * (3 * s**2 - 2 * s**3), atol=1e-9)
    np.testing.assert_allclose(motion.qd[:, 0], WAY * (6 * s - 6 * s**2) / 0.8, atol=1e-8)
    assert found.objective == pytest.approx(12.0 * WAY**2 / 0.8**3, rel=1e-9)


@pytest.mark.parametrize("points", [6, 11])
def test_least_jerk_is_the_quintic(points):
    found = moved(plan.jerk_effort(), 5, still(WAY), still(0.0), duration=0.8, control_points=points)
    s, motion = on(found)
    np.testing.assert_allclose(motion.q[:, 0], WAY * s**3 * (10 - 15 * s + 6 * s**2), atol=1e-9)
    np.testing.assert_allclose(motion.qddd[:, 0], WAY * (60 - 360 * s + 360 * s**2) / 0.8**3, atol=1e-5)
    assert found.objective == pytest.approx(720.0 * WAY**2 / 0.8**5, rel=1e-9)


def test_least_effort_and_time_together():
    """min T + w int tau^2: the cubic in the time at which 1 = 36 w m^2 d^2 / T^4."""
    weight = 0.03
    found = moved(plan.duration() + weight * plan.effort(), control_points=6)
    T = (36 * weight * (MASS * WAY) ** 2) ** 0.25
    assert found.duration == pytest.approx(T, rel=1e-7)
    assert found.objective == pytest.approx(T + 12 * weight * (MASS * WAY) ** 2 / T**3, rel=1e-9)
    s, motion = on(found)
    np.testing.assert_allclose(motion.q[:, 0], WAY * (3 * s**2 - 2 * s**3), atol=1e-7)


def test_least_torque_rate_is_least_jerk():
    """Free accelerations at the ends: then the jerk, a parabola, is zero there, and the fifth degree is least."""
    found = moved(plan.torque_rate_effort(), 5, duration=0.8, control_points=8)
    s, motion = on(found)
    # sixth derivative zero, q = q' = 0 and q'' free (q''' = 0) at both ends
    rows = [[0.0**k for k in range(6)], [float(k == 1) for k in range(6)], [6.0 * (k == 3) for k in range(6)]]
    rows += [[1.0] * 6, [float(k) for k in range(6)], [k * (k - 1.0) * (k - 2.0) for k in range(6)]]
    c = np.linalg.solve(rows, [0, 0, 0, WAY, 0, 0])
    np.testing.assert_allclose(motion.q[:, 0], np.polynomial.Polynomial(c)(s), atol=1e-9)


# ---- bounds that are met -------------------------------------------------------------------------------------------


def test_bang_bang_from_above():
    """T = 2 sqrt(m d / F): steps of force are not splines, so it is never reached, but approached with few knots."""
    exact = 2.0 * np.sqrt(MASS * WAY / FORCE)
    found = [moved(limits=[plan.within(plan.torque, FORCE)], control_points=n) for n in (6, 12, 40)]
    T = [each.duration for each in found]
    assert min(T) > exact
    assert max(T) < 1.0003 * exact
    evenly = moved(limits=[plan.within(plan.torque, FORCE)], knots=np.linspace(0.0, 1.0, 10))
    assert evenly.duration > 1.002 * exact
    for each in found:
        _, motion = on(each, 5000)
        assert np.abs(MASS * motion.qdd).max() <= FORCE * (1 + 1e-6)


def test_least_time_by_bounded_jerk_is_exact():
    """Of jerks +, -, -, + in quarters: T = (32 d / J)^(1/3), a cubic spline with knots at the quarters."""
    most = 40.0
    exact = (32.0 * WAY / most) ** (1 / 3)
    found = moved(limits=[plan.within(plan.jerk, most)], start=still(0.0), goal=still(WAY), control_points=7)
    assert found.duration == pytest.approx(exact, rel=1e-6)
    assert found.duration >= exact * (1 - 1e-6)
    s, motion = on(found, 400)
    expected = most * np.where((s < 0.25) | (s > 0.75), 1.0, -1.0)
    np.testing.assert_allclose(motion.qddd[:, 0], expected, rtol=1e-4)


def test_a_rail_with_a_speed_limit():
    """Trapezium: T = d / v + v m / F."""
    speed = 0.9
    exact = WAY / speed + speed * MASS / FORCE
    limits = [plan.within(plan.torque, FORCE), plan.within(plan.velocity, speed)]
    found = moved(limits=limits, control_points=30)
    assert exact < found.duration < 1.005 * exact
    _, motion = on(found, 5000)
    assert motion.qd.max() <= speed * (1 + 1e-6)
    assert motion.qd.max() >= speed * (1 - 1e-4)


def test_the_least_peak_of_torque_is_that_of_the_fastest():
    """In a given time the least bound is the one whose least time that is: F = 4 m d / T^2, from above."""
    found = moved(plan.peak(plan.torque), duration=0.8, control_points=24)
    exact = 4 * MASS * WAY / 0.8**2
    _, motion = on(found, 5001)
    assert exact < found.objective < 1.01 * exact
    assert np.abs(MASS * motion.qdd).max() == pytest.approx(found.objective, rel=1e-5)


def test_gravity_makes_no_difference_to_the_cubic():
    """Lifted: effort is int (m (a + g))^2, the same motion, more to pay: m^2 (12 d^2 / T^3 + g^2 T)."""
    hoist = cart().replace(gravity=(-9.81, 0.0, 0.0))
    found = plan.Plan(hoist, plan.effort(), start=[0.0], goal=[WAY], duration=0.8, control_points=6).solve()
    s, motion = on(found)
    np.testing.assert_allclose(motion.q[:, 0], WAY * (3 * s**2 - 2 * s**3), atol=1e-9)
    assert found.objective == pytest.approx(MASS**2 * (12 * WAY**2 / 0.8**3 + 9.81**2 * 0.8), rel=1e-9)


def test_least_energy_is_twice_the_kinetic_one_at_constant_speed():
    """Braking costs as driving: int |F v| = m v_max^2, least (d / T)^2 for steps of speed; from above here."""
    found = moved(plan.energy(), duration=0.8, control_points=16)
    exact = MASS * (WAY / 0.8) ** 2
    _, motion = on(found, 4001)
    peak = motion.qd.max()
    assert found.objective == pytest.approx(MASS * peak**2, rel=1e-3)
    assert exact < found.objective < 1.5 * exact


# ---- integrals are those of the motion -----------------------------------------------------------------------------

INTEGRALS = {
    "effort": (plan.effort, lambda robot, m: (robot.inverse_dynamics(m.q, m.qd, m.qdd) ** 2).sum(axis=1)),
    "energy": (plan.energy, lambda robot, m: np.abs(robot.inverse_dynamics(m.q, m.qd, m.qdd) * m.qd).sum(axis=1)),
    "acceleration": (plan.acceleration_effort, lambda robot, m: (m.qdd**2).sum(axis=1)),
    "own": (
        lambda: plan.integral(plan.measure(lambda m: [m.qd[0] ** 2 * m.t, m.q[1] ** 2 / m.duration], "own")),
        lambda robot, m: m.qd[:, 0] ** 2 * np.linspace(0, 0.7, len(m.q)) + m.q[:, 1] ** 2 / 0.7,
    ),
}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name == "energy" else name for name in INTEGRALS]
)
def test_objectives_are_integrals_of_the_motion(name):
    make, integrand = INTEGRALS[name]
    robot = neuler.robots.two_link()
    task = plan.Plan(robot, make(), start=[0.0, -2.0], goal=[1.0, -1.0], duration=0.7, control_points=9)
    found = task.solve()
    assert found.valid
    t = np.linspace(0.0, found.duration, 20001)
    assert found.objective == pytest.approx(np.trapezoid(integrand(robot, found.at(t)), t), rel=1e-4)
