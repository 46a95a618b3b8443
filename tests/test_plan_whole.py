"""Rows over two times and over all times, and blocks, objectives of one's own: each in a few lines, by public names."""

import numpy as np
import pytest

import neuler
from neuler import plan
from neuler.errors import InputError
from neuler.optimize.blocks import Block

ARM = neuler.robots.two_link()
TIP = ARM.shown_names[-1]
LIMITS = [plan.within(plan.torque, 25.0), plan.within(plan.velocity, 6.0)]


def task(objective=None, **more):
    given = {"start": [0.0, -2.0], "goal": [1.0, -1.0], "limits": LIMITS, "control_points": 12, **more}
    return plan.Plan(ARM, objective, **given)


# ---- over all times ------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_limit_of_the_whole_motion():
    free = task().solve()
    spent = effort(free)
    found = task(limits=[*LIMITS, plan.total(plan.effort(), upper=0.5 * spent)]).solve()
    assert found.valid
    assert effort(found) == pytest.approx(0.5 * spent, rel=1e-4)
    assert found.duration > free.duration
    both = plan.total(plan.duration() + 0.001 * plan.effort(), lower=2.0)
    slow = task(limits=[*LIMITS, both]).solve()
    assert slow.valid
    assert slow.duration + 0.001 * effort(slow) >= 2.0 - 1e-5


def effort(found):
    t = np.linspace(0.0, found.duration, 8001)
    return np.trapezoid((found.torques(t) ** 2).sum(axis=1), t)


def test_a_limit_of_the_whole_motion_over_phases():
    phases = [plan.Phase(end=plan.Boundary([0.5, -1.5], None)), plan.Phase(end=[1.0, -1.0])]
    free = task(goal=None, phases=phases).solve()
    bound = 0.6 * effort(free)
    found = task(goal=None, phases=phases, limits=[*LIMITS, plan.total(plan.effort(), upper=bound)]).solve()
    assert found.valid
    assert effort(found) == pytest.approx(bound, rel=1e-3)


@pytest.mark.slow
def test_what_cannot_be_is_told():
    """At most so much work where even the slowest way takes more."""
    least = task(plan.effort(), duration=1.0).solve().objective
    found = task(duration=1.0, limits=[*LIMITS, plan.total(plan.effort(), upper=0.5 * least)]).solve()
    assert not found.valid
    assert any(each.name.startswith("total of") for each in found.violations)


def test_bad_totals():
    for bad in (
        lambda: plan.total(plan.peak(plan.torque), upper=1.0),
        lambda: plan.total(plan.torque, upper=1.0),
        lambda: plan.total(plan.effort()),
        lambda: plan.total(plan.effort(), 2.0, 1.0),
        lambda: plan.total(plan.effort(), upper=np.nan),
        lambda: plan.overall(3.0, plan.torque),
        lambda: plan.overall(lambda total: total, "torque"),
    ):
        with pytest.raises(InputError):
            bad()
    with pytest.raises(InputError, match="one number"):
        task(plan.overall(lambda total: total, plan.velocity)).solve()


def test_an_objective_over_the_whole_motion():
    """log det of the information of an experiment: the integral of Y^T Y, Y the regressor of a payload's mass."""
    Y = neuler.function(ARM.compile("inverse_dynamics", parameters=("link2.mass", "joint1.viscous")))
    regressor = Y.jacobian("parameters")

    def squares(moment):
        rows = regressor(moment.q, moment.qd, moment.qdd, np.zeros(2))
        M = rows.T @ rows
        return [M[0, 0], M[0, 1], M[1, 1]]

    information = plan.measure(squares, "information")

    def log_det(total):
        return -np.log(total[0] * total[2] - total[1] * total[1])

    given = {"duration": 1.5, "start": plan.Boundary([0.0, -1.0]), "goal": plan.Boundary([0.0, -1.0])}
    rest = task(plan.acceleration_effort(), **given).solve()
    found = task(plan.overall(log_det, information), **given).solve(seed=1)
    assert found.valid
    assert measured_log_det(found, information) == pytest.approx(found.objective, rel=1e-4)
    assert found.objective < measured_log_det(rest, information, 1e-9) - 1.0


def measured_log_det(found, information, least=0.0):
    t = np.linspace(0.0, found.duration, 4001)
    a, b, c = np.trapezoid(found.measure(information, t), t, axis=0)
    return -np.log(max(a * c - b * b, least))


# ---- over two times ------------------------------------------------------------------------------------------------


def test_periodic_over_phases():
    """Two phases of different lengths repeat with velocities and accelerations, though their shares of time differ."""
    phases = [
        plan.Phase(end=plan.Boundary([1.0, -1.0], None), duration=0.7),
        plan.Phase(end=plan.Boundary(None, None), duration=0.5),
    ]
    found = plan.Plan(ARM, plan.effort(), start=plan.Boundary([0.0, -2.0], None), phases=phases,
                      relations=plan.repeats("joint1", "joint2"), control_points=10).solve()  # fmt: skip
    assert found.valid
    begin, end = found.at(0.0), found.at(found.duration)
    np.testing.assert_allclose(end.q, begin.q, atol=1e-7)
    np.testing.assert_allclose(end.qd, begin.qd, atol=1e-6)
    np.testing.assert_allclose(end.qdd, begin.qdd, atol=1e-5)
    assert np.abs(begin.qd).max() > 0.1


@pytest.mark.slow
def test_a_function_of_two_moments():
    def step(a, b):
        return b.pose(TIP)[:2, 3] - a.pose(TIP)[:2, 3]

    forward = plan.relate(step, "step", lower=[0.3, -0.05], upper=[0.3, 0.05], labels=("x", "y"))
    found = plan.Plan(ARM, start=plan.Boundary({"joint2": -1.0}), goal=plan.Boundary(None), limits=LIMITS,
                      relations=forward, control_points=10).solve()  # fmt: skip
    assert found.valid
    poses = ARM.link_poses(found.at([0.0, found.duration]).q, frame=TIP)[:, :2, 3]
    way = poses[1] - poses[0]
    assert way[0] == pytest.approx(0.3, abs=1e-6)
    assert abs(way[1]) <= 0.05 + 1e-6
    far = plan.relate(step, "step", lower=[9.0, 0.0], upper=[9.0, 1.0], labels=("x", "y"))
    lost = plan.Plan(ARM, start=[0.0, -1.0], goal=plan.Boundary(None), limits=LIMITS, relations=far).solve()
    assert not lost.valid
    assert any(each.name == "step" and each.label == "x" for each in lost.violations)


def test_bad_relations():
    for bad in (
        lambda: plan.relate(3, "x"),
        lambda: plan.relate(lambda a, b: [], ""),
        lambda: plan.relate(lambda a, b: a.q, "x", lower="low"),
        lambda: plan.relate(lambda a, b: a.q, "x", first=(0, 2.0)),
        lambda: task(relations=plan.relate(lambda a, b: a.q, "x", first=(5, 0.0))),
        lambda: task(relations=plan.relate(lambda a, b: a.q, "x", lower=[0, 0, 0], upper=[0, 0, 0])).solve(),
        lambda: task(relations=plan.relate(lambda a, b: None, "x")).solve(),
        lambda: task(relations=plan.relate(lambda a: a.q, "x")).solve(),
        lambda: task(relations=[3]),
    ):
        with pytest.raises(InputError):
            bad()


# ---- of one's own --------------------------------------------------------------------------------------------------


def test_a_block_of_ones_own():
    """The middle of the motion in joint 1 lies above a bound: one function, one matrix, in a few lines."""
    high = neuler.function(lambda c0: [c0[0] - 0.5 * c0[1]], {"c0": 2}, "rows", "above")

    def above(profiles, n):
        return Block.of(high, profiles[0].inputs(["c0"], [0.5], n), 1, lower=2.2, name="above")

    free, held = task().solve(), task(blocks=above).solve()
    assert held.valid
    q = held.at(0.5 * held.duration).q
    assert q[0] - 0.5 * q[1] >= 2.2 - 1e-6
    q = free.at(0.5 * free.duration).q
    assert q[0] - 0.5 * q[1] < 2.0
    assert held.duration > free.duration
    cannot = task(
        blocks=lambda profiles, n: Block.of(high, profiles[0].inputs(["c0"], [0.0], n), 1, lower=9.0, name="no")
    )
    assert not cannot.solve().valid
    for bad in (3, [3], lambda profiles, n: 3, lambda profiles, n: Block.of(high, {}, 1)):
        with pytest.raises((InputError, TypeError)):
            task(blocks=bad).solve()


def test_an_objective_of_ones_own():
    """The work that friction would take, were there any: an integral of a measure, in two lines."""
    speed = plan.measure(lambda moment: moment.qd @ moment.qd, "squared speed")
    found = task(plan.integral(speed), duration=1.0).solve()
    t = np.linspace(0.0, 1.0, 2001)
    assert found.objective == pytest.approx(np.trapezoid(found.measure(speed, t)[:, 0], t), rel=1e-5)
    q = found.at(t).q  # the least is a straight line at constant speed, but for its ends at rest
    assert np.abs(q - (q[0] + t[:, None] * (q[-1] - q[0]))).max() < 0.1
