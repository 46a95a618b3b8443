"""Derivatives of assembled programmes, for every measure and objective: against differences and complex steps."""

import functools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import legged_robots
import neuler
from complex_listings import gradient_slope, value_slopes
from neuler import math as nm
from neuler import plan
from neuler.moments.clearance import Ball, Capsule, HalfSpace, Sphere, clearance
from neuler.moments.measures import MEASURES
from neuler.moments.moving_robot import MovingRobot
from neuler.plan import objectives
from neuler.plan.guess import dependent_positions, guessed
from random_robots import few


def elastic():
    motors = [
        neuler.Motor("first", "joint1", 30, inertia=1e-4),
        neuler.Motor("second", "joint2", 50, inertia=1e-4, stiffness=100.0),
    ]
    return neuler.robots.two_link().replace(motors=motors)


ROBOTS = {
    "two_link": neuler.robots.two_link,
    "puma560": lambda: neuler.robots.puma560().without_friction(),
    "elastic": elastic,
    "floating": lambda: neuler.robots.two_link().with_free_base().replace(gravity=(0.0, 0.0, 0.0)),
    "loop": neuler.robots.five_bar,
}


@functools.cache
def robot_of(name):
    return ROBOTS[name]()


@functools.cache
def room_of(name):
    robot = robot_of(name)
    frames = [frame for frame in robot.shown_names if frame != robot.shown_names[0]]
    walls = [Sphere((0.4, 0.9, 0.3), 0.1), Capsule((-1, 1, 0), (2, 1, 1), 0.1), HalfSpace((0, 0, -2), (0, 1, 3))]
    balls = [Ball(frames[0], 0.1, (0.1, 0.0, 0.2)), Ball(frames[-1], 0.05, (0.0, 0.1, 0.0))]
    return clearance(balls, walls, own="all")


def measures_of(name):
    """Every measure there is, poses, clearance and one of a user's own."""
    robot, room = robot_of(name), room_of(name)
    tip = robot.shown_names[-1]
    own = plan.measure(lambda m: [m.qd @ m.qd + nm.sin(m.t) * m.q[0], m.duration * m.share * m.qd[-1]], "own")
    return {
        **MEASURES,
        "frame": plan.frame_position(tip),
        "clearance": plan.measure(room.rows, "clearance", labels=room.labels),
        "own": own,
    }


OBJECTIVES = {**objectives.OBJECTIVES, "at_end": lambda: plan.at_end(MEASURES["acceleration"]),
              "peak_torque": lambda: plan.peak(MEASURES["torque"]),
              "sum": lambda: 0.99 * plan.duration() + 0.01 * plan.effort()}  # fmt: skip


def programme_of(name, limits=(), objective=None, **more):
    """A small programme: a few spans, rest at both ends; and variables near a guess."""
    robot = robot_of(name)
    start = np.asarray(robot.neutral(), dtype=float)
    model = MovingRobot(robot, robot, start)
    begin = model.profiles_at(start)
    goal = dict(zip(model.names, begin + 0.2 + 0.1 * np.arange(model.profile_count), strict=True))
    task = plan.Plan(
        robot,
        objective or plan.duration(),
        start=start[: len(start) - sum(entry.elastic for entry in robot.coordinates)],
        goal=plan.Boundary(q=goal, qd=more.pop("qd", 0.0)),
        limits=limits,
        robot_limits=False,
        control_points=model.usual_degree + 3,
        **more,
    )
    return variables(task)


def variables(task):
    """Its programme, and free variables near a guess."""
    transcription = task.transcription
    profiles = transcription.profiles()
    x = guessed(transcription, profiles)
    rng = np.random.default_rng(5)
    for mine in profiles:
        x[mine.first : mine.duration] += rng.uniform(-0.1, 0.1, mine.duration - mine.first)
        x[mine.duration] = rng.uniform(0.7, 1.3)
        x[mine.first_magnitude : mine.first_force] = 3.0  # bounds of magnitudes; those of the guess may be very large
    x[profiles[-1].last :] = 3.0
    found = transcription.transcribe(profiles, x)
    x = found.x(x[found.elimination.free])
    for mine, phase in zip(profiles, transcription.phases, strict=True):
        if mine.dependent:  # torques are numbers where loops are closed
            x[mine.first_dependent : mine.first_magnitude] = dependent_positions(phase.model, mine, x).ravel()
    return found.programme, x[found.elimination.free]


def near(found, expected, tolerance):
    scale = max(1.0, float(np.abs(expected).max(initial=0.0)))
    assert np.isfinite(expected).all()
    assert np.abs(found - expected).max(initial=0.0) <= tolerance * scale


def check(programme, y, seed=0, directions=3):
    """All derivatives along some directions: complex steps to 1e-12, differences to 1e-6."""
    rng = np.random.default_rng(seed)
    weight, multipliers = 0.7, rng.normal(size=programme.m)
    J = sparse.csr_matrix((programme.jacobian(y), programme.jacobian_at), shape=(programme.m, programme.n))
    slope = programme.gradient(y)
    lower = sparse.coo_matrix(
        (programme.hessian(y, weight, multipliers), programme.hessian_at), shape=(programme.n, programme.n)
    ).tocsr()
    assert (programme.hessian_at[0] >= programme.hessian_at[1]).all()
    H = lower + lower.T - sparse.diags(lower.diagonal())
    for _ in range(directions):
        d = rng.normal(size=programme.n)
        objective, rows = value_slopes(programme, y, d)
        near(slope @ d, np.array(objective), 1e-12)
        near(J @ d, rows, 1e-12)
        near(H @ d, gradient_slope(programme, y, d, weight, multipliers), 1e-12)
        near(J @ d, difference(programme.rows, y, d), 1e-6)
        near(slope @ d, np.array(difference(programme.objective, y, d)), 1e-6)
        near(H @ d, difference(lambda at: lagrangian(programme, at, weight, multipliers), y, d), 1e-6)


def difference(f, y, d, h=3e-5):
    """Along d, right to the fourth order."""
    one, two = (f(y + k * h * d) - f(y - k * h * d) for k in (1, 2))
    return (8 * one - two) / (12 * h)


def lagrangian(programme, y, weight, multipliers):
    """The gradient of weight f + multipliers . g."""
    J = sparse.csr_matrix((programme.jacobian(y), programme.jacobian_at), shape=(programme.m, programme.n))
    return weight * programme.gradient(y) + J.T @ multipliers


NAMES = [*MEASURES, "frame", "clearance", "own"]


@pytest.mark.parametrize("name", NAMES)
def test_every_measure_of_a_small_arm(name):
    programme, y = programme_of("two_link", [plan.limit(measures_of("two_link")[name], -1e3, 1e3)])
    assert programme.m > 0 or name == "position"  # limits of positions are bounds of control points
    check(programme, y)


@pytest.mark.parametrize("name", OBJECTIVES)
def test_every_objective_of_a_small_arm(name):
    programme, y = programme_of("two_link", objective=OBJECTIVES[name]())
    check(programme, y)
    assert np.abs(programme.gradient(y)).max() > 0.0


GROUPS = {
    "motion": ("velocity", "acceleration", "jerk", "frame", "clearance", "own"),
    "torque": ("torque", "power"),
    "torque_rate": ("torque_rate",),
    "force": ("joint_force", "joint_moment"),
}


HEAVY = {("floating", name) for name in ("motion", "torque", "torque_rate", "force", "objectives")}
HEAVY |= {("puma560", name) for name in ("torque_rate", "force", "objectives")} | {("loop", "torque_rate")}
HEAVY |= {("loop", "force"), ("elastic", "torque_rate")}
"""Seconds of compilation each: their like is tested on other robots too."""


def cases(groups):
    found = []
    for robot in (name for name in ROBOTS if name != "two_link"):
        for group in groups:
            marks = pytest.mark.slow if (robot, group) in HEAVY else ()
            found.append(pytest.param(robot, group, marks=marks, id=f"{robot}-{group}"))
    return found


@pytest.mark.parametrize(("robot", "group"), cases(GROUPS))
def test_measures_of_every_sort_of_robot(robot, group):
    known = measures_of(robot)
    limits = [plan.limit(known[name], -1e3, 1e3) for name in GROUPS[group]]
    programme, y = programme_of(robot, limits, objective=plan.duration())
    check(programme, y, directions=2)


@pytest.mark.parametrize(("robot", "group"), cases(["objectives"]))
def test_objectives_of_every_sort_of_robot(robot, group):
    objective = plan.duration() + 0.1 * plan.effort() + 0.2 * plan.energy()
    objective = objective + 1e-3 * plan.jerk_effort() + plan.peak(MEASURES["torque"])
    programme, y = programme_of(robot, objective=objective)
    check(programme, y, directions=2)


def test_phases_and_conditions_that_are_not_linear():
    """Two phases joined, a via point with a pose, a velocity and an acceleration that are given."""
    arm = robot_of("two_link")
    tip = arm.shown_names[-1]
    pose = np.array(arm.compile("link_poses", frame=tip)([0.5, 0.3]))
    limits = [plan.limit(plan.torque, -50.0, 50.0)]
    first = plan.Phase(end=plan.Boundary(qd=None, poses={tip: pose}), limits=[plan.limit(plan.velocity, -5.0, 5.0)])
    second = plan.Phase(end=plan.Boundary(q=[1.0, 0.4], qd=[0.1, -0.2], qdd=[0.3, 0.0]), limits=[])
    task = plan.Plan(arm, plan.duration() + 0.1 * plan.effort(), start=[0.0, 0.0], phases=[first, second],
                     limits=limits, control_points=7)  # fmt: skip
    programme, y = variables(task)
    assert len(programme.blocks) >= 4
    check(programme, y)


@pytest.mark.slow
def test_a_base_that_is_thrown():
    """A free base with a turning velocity that is given: rows, for it is not linear in rotation vectors."""
    floating = robot_of("floating")
    model = MovingRobot(floating, floating, np.asarray(floating.neutral(), dtype=float))
    qd = {name: 0.1 * k for k, name in enumerate(model.names, start=1)}
    programme, y = programme_of("floating", [plan.limit(plan.torque, -50.0, 50.0)], qd=qd)
    check(programme, y)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.floats(0.05, 3.0))
def test_everywhere(seed, spread):
    """A sum of objectives with limits of torques and clearance, at variables far from any guess."""
    programme, y = _mixed()
    rng = np.random.default_rng(seed)
    far = y + spread * rng.normal(size=len(y))
    far[-1] = rng.uniform(0.3, 3.0)  # the duration is the last one
    check(programme, far, seed, directions=1)


@functools.cache
def _mixed():
    known = measures_of("two_link")
    limits = [plan.limit(known["torque"], -10, 10), plan.limit(known["clearance"], 0.02)]
    return programme_of("two_link", limits, plan.duration() + 0.01 * plan.effort())


def test_rows_over_two_times_and_over_all_times():
    """Two phases that repeat, a function of two moments, a limit of energy, and a function of integrals."""
    arm = robot_of("two_link")
    tip = arm.shown_names[-1]
    moved = plan.relate(lambda a, b: b.pose(tip)[:2, 3] - a.pose(tip)[:2, 3], "step", lower=-1.0, upper=1.0)
    net = plan.overall(lambda total: total[0] * total[1] + total[1] ** 2, plan.velocity)
    task = plan.Plan(arm, plan.duration() + 0.1 * net, start=plan.Boundary(q={"joint1": 0.0}, qd=None),
                     phases=[plan.Phase(), plan.Phase(end={"joint2": 0.3})], limits=[plan.total(plan.effort(), 0, 9)],
                     relations=[*plan.repeats("joint1"), *moved], control_points=7)  # fmt: skip
    programme, y = variables(task)
    assert sum(len(block.totals) for block in programme.blocks) == 2  # effort of both phases
    assert [len(term.sums) for term in programme.overall] == [2]
    check(programme, y)


@pytest.mark.parametrize("name", few(["two_link", "puma560"], 1))
def test_payloads_are_inputs(name):
    tip = robot_of(name).shown_names[-1]
    load = plan.Payload(tip, 2.0, (0.1, 0.0, 0.2), (0.01, 0.02, 0.03))
    programme, y = programme_of(name, [plan.within(plan.torque, 100.0)], plan.effort(), payload=load)
    check(programme, y, directions=1)


@pytest.mark.parametrize("split", few(["line", "free"], 1))
def test_contacts(split):
    """Forces of the ground, held points, impacts, the distance from a guess, in every derivative."""
    robot = legged_robots.biped()
    ways = plan.effort() + plan.integral(plan.torque_rate) + plan.integral(plan.joint_force) + plan.energy()
    programme, y = variables(legged_robots.step(robot, 1e-3 * ways, split=split, points=(6, 6), grid=2, clear=False))
    check(programme, y, directions=1)


def test_an_impact_and_a_distance():
    hop = legged_robots.hop(legged_robots.hopper(), plan.effort(), impact=True)
    transcription = hop.transcription
    profiles = transcription.profiles(8)
    x = guessed(transcription, profiles)
    found = transcription.transcribe(profiles, x + 0.05 * np.random.default_rng(1).normal(size=len(x)))
    check(found.programme, found.programme.start, directions=1)
    near_guess = transcription.transcribe(profiles, x, proximal=0.3)
    check(near_guess.programme, near_guess.programme.start + 0.02, directions=1)
