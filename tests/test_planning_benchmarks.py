"""The benchmarks of hard and of random planning tasks: their closed forms, their referee, and a few of their tasks."""

import dataclasses
import doctest
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import neuler
from neuler import plan
from random_robots import few

BENCHMARKS = Path(__file__).resolve().parent.parent / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))

import planning_best  # noqa: E402
import planning_hard  # noqa: E402
import planning_random  # noqa: E402
import planning_rows  # noqa: E402
import planning_truths  # noqa: E402
from planning_random import ALLOWANCE, checked, ends, known_excess, path_limits, task  # noqa: E402

QUICK = ("four_bar", "cart_pole", "idle_wrist", "jumps", "ruckig", "cops", "pendulum", "slider", "barman", "weak")
DAILY, SLOW = (0, 1), range(20)


@pytest.mark.parametrize("module", [planning_best, planning_random, planning_truths], ids=lambda x: x.__name__)
def test_examples_in_docstrings(module):
    found = doctest.testmod(module)
    assert found.attempted
    assert not found.failed


# ---- closed forms --------------------------------------------------------------------------------------------------


def profile(d, v, a, j):
    """The profile of seven parts, integrated: where it ends, and the largest velocity, acceleration and jerk of it."""
    T = planning_truths.rest_to_rest(d, v, a, j)
    peak = min(v, *_peaks(d, a, j))
    top = min(a, np.sqrt(peak * j))
    rise, hold = top / j, peak / top - top / j
    cruise = T - 2 * (2 * rise + hold)
    parts = [(rise, j), (hold, 0), (rise, -j), (cruise, 0), (rise, -j), (hold, 0), (rise, j)]
    x = s = acc = 0.0
    largest = [0.0, 0.0]
    for time, jerk in parts:
        assert time > -1e-9
        x += s * time + acc * time**2 / 2 + jerk * time**3 / 6
        s += acc * time + jerk * time**2 / 2
        acc += jerk * time
        largest = [max(largest[0], abs(s)), max(largest[1], abs(acc))]
    return T, x, s, acc, largest


def _peaks(d, a, j):
    """Peak velocities without a bound on velocity: with the acceleration at its bound, and without."""
    reached = 0.5 * a * (-a / j + np.sqrt((a / j) ** 2 + 4 * d / a))
    return [reached if reached * j >= a * a else (d * d * j / 4) ** (1 / 3)]


@pytest.mark.parametrize("seed", range(40))
def test_a_profile_of_seven_parts_ends_at_its_goal_at_rest(seed):
    d, v, a, j = np.exp(np.random.default_rng(seed).uniform(-3, 3, 4))
    T, x, s, acc, (fastest, hardest) = profile(d, v, a, j)
    np.testing.assert_allclose([x, s, acc], [d, 0, 0], atol=1e-9 * (1 + d + T * v + T * a))
    assert fastest <= v * (1 + 1e-9)
    assert hardest <= a * (1 + 1e-9)


def test_less_room_takes_longer():
    """Bounds that bind: the exact time grows as any of them shrinks; those that do not change nothing."""
    whole = planning_truths.rest_to_rest(1.0, 1.0, 4.0, 30.0)
    for bounds in ((0.9, 4.0, 30.0), (1.0, 3.9, 30.0), (1.0, 4.0, 29.0)):
        assert planning_truths.rest_to_rest(1.0, *bounds) > whole + 1e-4
    assert planning_truths.rest_to_rest(1e-3, 1.0, 4.0, 30.0) == planning_truths.rest_to_rest(1e-3, 9.0, 9.0, 30.0)
    assert planning_truths.together([0, 0], [1, -1e-3], 1.0, 4.0, 30.0) == whole
    theirs = planning_truths.ruckig_duration([0.0], [1.0], [1.0], [4.0], [30.0])
    assert theirs is None or theirs == pytest.approx(whole, rel=1e-9)


def test_bang_bang_of_a_mass_is_the_closed_form():
    one = planning_truths.bang_bang(0.3, -1.4, lambda q: 2.0 + 0 * q, np.zeros_like, np.zeros_like, 10.0)
    assert one == pytest.approx(planning_truths.double_integrator(1.7, 2.0, 10.0), rel=1e-9)


def test_bang_bang_needs_a_motor_that_is_strong_enough():
    with pytest.raises(ValueError, match="one swing"):
        planning_truths.bang_bang(0.5, 2.6, np.ones_like, np.zeros_like, lambda q: 9.81 * np.sin(q), 5.0)


@pytest.mark.slow
@pytest.mark.parametrize("k", [0, 1])
def test_bang_bang_of_the_four_bar_is_what_a_simulation_does(k):
    """Full torque, switched once: simulated, the crank is at its goal at rest when the time is over."""
    from scipy.integrate import solve_ivp
    from scipy.optimize import brentq

    case = planning_hard.numbers()["four_bar"]["tasks"][k]
    start, goal, torque = case["start"], case["goal"], case["torque"]
    inertia, slope, gravity = planning_truths.one_joint(neuler.robots.four_bar(), start, goal + 0.5)
    T = planning_truths.bang_bang(start, goal, inertia, slope, gravity, torque)
    assert abs(T - case["bang_bang"]) < 5e-6 * T

    def rate(_, x, tau):
        return [x[1], (tau - slope(x[0]) * x[1] ** 2 - gravity(x[0])) / inertia(x[0])]

    def still(_, x, tau):
        return x[1]

    def beyond(_, x, tau):
        return x[0] - goal - 0.4

    still.terminal, still.direction, beyond.terminal = True, -1, True
    options = {"rtol": 1e-9, "atol": 1e-11}

    def run(switch):
        """Where it stands still, or is far beyond its goal, and when."""
        x = solve_ivp(rate, (0.0, switch), [start, 0.0], args=(torque,), **options).y[:, -1]
        end = solve_ivp(rate, (switch, 2 * T), x, args=(-torque,), events=[still, beyond], **options)
        return end.y[0, -1], end.t[-1]

    switch = brentq(lambda s: run(s)[0] - goal, 0.3 * T, 0.6 * T, xtol=1e-9)
    assert run(switch)[1] == pytest.approx(T, rel=2e-6)


@pytest.mark.slow
def test_the_one_joint_of_the_four_bar_is_that_of_its_forward_dynamics():
    robot = neuler.robots.four_bar()
    inertia, slope, gravity = planning_truths.one_joint(robot, 1.0, 5.0)
    q = robot.assemble(np.linspace(1.1, 4.9, 7)[:, None], continuous=True).q
    qd, tau = np.linspace(-3, 4, 7)[:, None], np.linspace(2, -5, 7)[:, None]
    expected = np.asarray(robot.forward_dynamics(q, qd, tau))[:, 0]
    crank = q[:, 0]
    found = (tau[:, 0] - slope(crank) * qd[:, 0] ** 2 - gravity(crank)) / inertia(crank)
    np.testing.assert_allclose(found, expected, rtol=1e-7)


@pytest.mark.slow
def test_the_least_effort_of_the_cart_pole_is_pontryagins():
    """From the planner's motion, as a first guess, to that of the boundary value problem; the equations are ours."""
    case = planning_hard.numbers()["cart_pole"]
    robot = planning_rows.cart_pole(case)
    q, qd = np.random.default_rng(0).normal(size=(2, 5, 2))
    u = np.linspace(-3.0, 5.0, 5)
    mine = planning_truths.cart_pole_rates(case, np.vstack([q.T, qd.T]), u)[2:].T
    np.testing.assert_allclose(mine, robot.forward_dynamics(q, qd, np.column_stack([u, 0 * u])), atol=1e-12)
    asked = {name: case[name] for name in ("start", "goal", "duration")}
    found = plan.Plan(robot, plan.effort(), control_points=30, **asked).solve()
    t = np.linspace(0.0, found.duration, 401)
    q, qd = found.evaluate(t, 1)
    optimum, force = planning_truths.least_effort(case, t, np.vstack([q.T, qd.T]), found.torques(t)[:, 0])
    assert optimum == pytest.approx(case["optimum"], rel=1e-7)
    assert force == pytest.approx(case["largest_force"], rel=1e-4)
    assert found.objective == pytest.approx(optimum, rel=1e-3)


# ---- hard tasks ----------------------------------------------------------------------------------------------------


def test_best_known_durations_are_those_of_the_file():
    for each in planning_hard.numbers()["weak_two_link"]["tasks"]:
        assert each["solves"] >= 20
        assert 0.0 < each["best"] <= each["best_20"]


@pytest.fixture(scope="module")
def quick():
    run = subprocess.run(
        [sys.executable, str(BENCHMARKS / "planning_hard.py"), "--quick", "--rows", *QUICK],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    return run.stdout


@pytest.mark.slow
def test_the_table_of_hard_tasks(quick):
    lines = quick.strip().splitlines()
    assert lines[:2] == planning_hard.HEAD
    cells = lines[0].count("|")
    assert all(line.count("|") == cells for line in lines)
    for word in ("two links", "four_bar", "cart-pole", "idle wrist", "jerk bounded", "COPS", "pendulum", "Barman"):
        assert any(word in line for line in lines[2:]), word


@pytest.mark.slow
@pytest.mark.parametrize("label", ["slider", "COPS", "Barman", "jerk bounded, 2"])
def test_no_valid_plan_is_faster_than_the_truth(quick, label):
    line = next(line for line in quick.splitlines() if label in line)
    valid, value = (cell.strip() for cell in line.split("|")[2:4])
    assert valid == "yes"
    percent = float(value.split("(")[1].split("%")[0])
    assert -1e-3 < percent < 2.0


# ---- the referee ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", few(range(20), 2))
def test_tasks_are_feasible_by_construction(seed):
    excess, where = known_excess(task(seed))
    assert excess <= 1e-3, where


@pytest.mark.parametrize("seed", few(range(20), 2))
def test_known_motions_are_motions(seed):
    """Velocities are the rates of positions and accelerations those of velocities; what has no motor needs none."""
    given = task(seed)
    known = given.known
    for k, (first, last) in enumerate(known.ends()):
        part = slice(first, last + 1)
        t, q, qd, qdd = (x[part] for x in (known.t, known.q, known.qd, known.qdd))
        step = np.diff(t)[:, None]
        way = np.asarray(given.robot.difference(q[:-1], q[1:])) / step
        for slope, middle, rate in ((way, 0.5 * (qd[1:] + qd[:-1]), qd), (np.diff(qd, axis=0) / step, None, qdd)):
            expected = 0.5 * (rate[1:] + rate[:-1]) if middle is None else middle
            np.testing.assert_allclose(slope, expected, atol=2e-4 * (1.0 + np.abs(rate).max()))
        idle = given.referee.idle(k, q, qd, qdd)
        assert np.abs(idle).max(initial=0.0) < 1e-4 * np.abs(given.referee.driven(k, q, qd, qdd)).max()


@pytest.mark.parametrize("name", ["Panda", "UR5", "PUMA with friction", "two_link"])
def test_torques_of_the_check_are_those_of_the_robot_with_its_payload(name):
    """Pinocchio's, with the payload appended and friction added, beside neuler's."""
    from planning_arms import ARMS, arm_robot
    from planning_tasks import MACHINES, urdf
    from planning_torques import Pinocchio

    robot, arm = arm_robot(name), ARMS[name]
    load = {"frame": arm.flange, "mass": 1.3, "com": (0.01, 0.02, 0.05), "inertia": (1e-3, 2e-3, 3e-3)}
    machine = MACHINES.get(arm.urdf)
    referee = Pinocchio(
        robot, [None, load], str(urdf(arm.urdf)) if machine else None, machine.locked if machine else ()
    )
    q, qd, qdd = np.random.default_rng(3).uniform(-1, 1, (3, 50, robot.nq)) * [[[1.0]], [[0.2]], [[5.0]]]
    carried = robot.with_payload(load["frame"], load["mass"], load["com"], load["inertia"])
    for phase, mine in enumerate((robot, carried)):
        expected = np.asarray(mine.inverse_dynamics(q, qd, qdd))
        np.testing.assert_allclose(referee.driven(phase, q, qd, qdd), expected, atol=1e-9 * np.abs(expected).max())
    places = np.asarray(robot.compile("link_poses", frame=arm.flange)(q))
    np.testing.assert_allclose(referee.poses(arm.flange, q), places, atol=1e-12)


def test_tasks_are_those_of_their_seeds():
    one, other, next_one = task(7), task(7), task(27)
    np.testing.assert_array_equal(one.known.q, other.known.q)
    np.testing.assert_array_equal(one.limits["torque"], other.limits["torque"])
    assert one.known.q.shape != next_one.known.q.shape or np.abs(one.known.q - next_one.known.q).max() > 0.0


@pytest.fixture(scope="module")
def arm():
    given = task(0)
    found = given.statement().solve()
    assert found.valid
    return given, found


def test_the_check_agrees_with_a_valid_plan(arm):
    excess, where = checked(*arm)
    assert excess <= ALLOWANCE, where


@pytest.mark.parametrize("side", ["low", "high"])
@pytest.mark.parametrize("name", ["torque", "velocity", "position"])
def test_the_check_finds_what_is_violated(arm, name, side):
    """The same plan, against bounds a little tighter than what it uses, on either side."""
    given, found = arm
    q, qd, qdd = found.evaluate(np.linspace(0.0, found.duration, 2001), 2)
    used = {"torque": given.referee.driven(0, q, qd, qdd), "velocity": qd, "position": q}[name]
    low, high = used.min(axis=0) - 1.0, used.max(axis=0) + 1.0
    if side == "low":
        low += 1.0 + 1e-4 * (high - low)
    else:
        high -= 1.0 + 1e-4 * (high - low)
    excess, where = checked(dataclasses.replace(given, limits={**given.limits, name: (low, high)}), found)
    assert ALLOWANCE < excess < 1e4
    assert where.startswith(name)


def test_the_check_finds_forces_that_nothing_gives():
    """Joints that no motor drives, moved as if one did."""
    given = task(18)
    known = given.known
    pushed = known.qdd + 1e-3
    names = {name.split(" at ")[0]: excess for excess, name in path_limits(given, 0, known.q, known.qd, pushed)}
    assert names["force without a motor 1"] > ALLOWANCE
    names = {name.split(" at ")[0]: excess for excess, name in path_limits(given, 0, known.q, known.qd, known.qdd)}
    assert names["force without a motor 1"] < ALLOWANCE


@pytest.mark.parametrize("seed", [4, 15])
def test_the_check_finds_a_pose_that_is_missed(seed):
    given = task(seed)
    q = given.known.q[-1]
    here = dict(map(reversed, ends(given, given.ends[0], q, 0 * q, 0 * q, "here")))
    there = dict(map(reversed, ends(given, given.ends[0], q + 1e-4, 0 * q, 0 * q, "here")))
    missed = {name.split(" of ")[0] for name, excess in there.items() if excess > ALLOWANCE}
    asked = np.asarray(next(iter(given.ends[0].poses.values()))).shape
    assert missed == ({"place", "turn"} if asked == (4, 4) else {"place"})
    assert max(here.values()) < ALLOWANCE


def test_the_check_finds_missed_ends(arm):
    given, found = arm
    for missed, word in (
        ({"start": plan.Boundary(q=np.asarray(given.start.q) + 1e-5)}, "position at the start"),
        ({"ends": [plan.Boundary(q=given.ends[0].q, qd=1e-4)]}, "velocity at the end"),
    ):
        excess, where = checked(dataclasses.replace(given, **missed), found)
        assert excess > ALLOWANCE
        assert where.startswith(word)


@pytest.mark.parametrize(("order", "word"), [(1, "velocity"), (2, "acceleration")])
def test_the_check_finds_derivatives_that_are_not_those_of_the_positions(arm, order, word):
    """A motion that tells rates smaller than they are, which would keep every limit."""
    given, found = arm

    class Wrong:
        breaks = found.breaks

        def evaluate(self, t, highest):
            states = found.evaluate(t, highest)
            states[order] = 0.9 * states[order]
            return states

    loose = {name: (10 * low - 10, 10 * high + 10) for name, (low, high) in given.limits.items()}
    excess, where = checked(dataclasses.replace(given, limits=loose), Wrong())
    assert excess > ALLOWANCE
    assert where == f"{word} beside differences" or order == 1


@pytest.mark.slow
def test_the_check_finds_an_obstacle_in_the_way():
    """A plan that knows of no obstacle, through one."""
    given = task(8)
    blind = dataclasses.replace(given, scene=None)
    found = blind.statement().solve()
    frame, radius = given.scene.balls[0]
    place = given.referee.poses(frame, np.asarray(found.at(0.5 * found.duration).q)[None])[0, :3, 3]
    scene = dataclasses.replace(given.scene, obstacles=[("sphere", {"center": place, "radius": 0.01})])
    assert checked(blind, found)[0] <= ALLOWANCE
    excess, where = checked(dataclasses.replace(given, scene=scene), found)
    assert where.startswith("clearance")
    assert excess == pytest.approx((radius + 0.01 + scene.margin) / (1e-6 * (1 + scene.margin)), rel=1e-3)


def test_distances_are_those_of_the_planner():
    """NumPy's distances of the check beside the planner's own measure."""
    rng = np.random.default_rng(5)
    at = rng.uniform(-1, 1, (200, 3))
    turn, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    turn[:, 0] *= np.linalg.det(turn)
    from planning_scenes import box, capsule, half_space, sphere

    normal = np.array([0.6, 0.0, 0.8])
    pairs = (
        (sphere(at, np.ones(3) / 3, 0.2), plan.Sphere((1 / 3,) * 3, 0.2)),
        (capsule(at, np.zeros(3), np.ones(3) / 2, 0.1), plan.Capsule((0, 0, 0), (0.5,) * 3, 0.1)),
        (box(at, np.full(3, 0.1), np.array([0.3, 0.5, 0.9]), turn), plan.Box((0.1,) * 3, (0.3, 0.5, 0.9), turn)),
        (half_space(at, np.full(3, 0.2), normal), plan.HalfSpace((0.2,) * 3, normal)),
    )
    for ours, theirs in pairs:
        np.testing.assert_allclose(ours, [float(theirs.distance(point)) for point in at], atol=1e-9)


@pytest.mark.slow
def test_the_check_finds_jumps_between_phases():
    given = task(2)
    assert given.kind == "phases"
    found = given.statement(continuity=0).solve()
    excess, where = checked(given, found)
    assert excess > ALLOWANCE
    assert "beyond break" in where


# ---- random tasks --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", DAILY)
def test_random_tasks(seed):
    found = planning_random.run(seed)
    assert found.valid, planning_random.told(found)
    assert found.right, planning_random.told(found)


@pytest.mark.slow
def test_more_random_tasks():
    """No plan is falsely valid, and nearly all are valid."""
    found = planning_random.run_all(SLOW)
    assert not [planning_random.told(each) for each in found if each.falsely_valid]
    assert sum(each.valid for each in found) >= 18, [planning_random.told(each) for each in found if not each.valid]
    assert any(line.startswith("| all | 20 |") for line in planning_random.table(found))


def test_a_planner_that_raises_is_a_failure_not_the_end(monkeypatch):
    def solve(self, **options):
        raise neuler.InputError("no such luck")

    monkeypatch.setattr(plan.Plan, "solve", solve)
    found = planning_random.run(0)
    assert not found.valid
    assert not found.falsely_valid
    assert found.line == "raised InputError: no such luck"
    assert any(line.startswith("| arm | 1 | 0 | 0 |") for line in planning_random.table([found]))
    (row,) = planning_hard.rows(["slider"])
    assert (row.valid, row.note) == ("no", "raised InputError: no such luck")


@pytest.mark.slow
def test_the_command_of_random_tasks(tmp_path):
    path = tmp_path / "outcomes.json"
    run = subprocess.run(
        [sys.executable, str(BENCHMARKS / "planning_random.py"), "--seeds", "0", "--json", str(path)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    assert "| arm | 1 | 1 | 0 | 1 | 1 |" in run.stdout
    (outcome,) = json.loads(path.read_text())
    assert outcome["seed"] == 0
    assert outcome["valid"]
    assert outcome["right"]
