"""What a plan may ask for, each looked at in the motion that comes out: phases, via points, relations, windows."""

import functools

import numpy as np
import pytest

import neuler
from neuler import math as nm
from neuler import plan
from neuler.formats.dh import from_dh

START, GOAL = (0.0, -2.0), (1.0, -1.0)
TORQUE = plan.within(plan.torque, 10.0)
POINTS = 8


@functools.cache
def arm():
    return neuler.robots.two_link()


@functools.cache
def tool():
    return arm().compile("link_poses", frame="tool")


def reach(q):
    """Of the tool, by hand."""
    one, both = q[..., 0], q[..., 0] + q[..., 1]
    return 0.4 * np.stack([np.cos(one) + np.cos(both), np.sin(one) + np.sin(both)], axis=-1)


def solved(objective=None, *, robot=None, limits=(TORQUE,), solve=None, **more):
    given = {"start": START, "goal": GOAL, "control_points": POINTS} | more
    found = plan.Plan(robot or arm(), objective, limits=limits, **given).solve(**(solve or {}))
    assert found.valid, str(found)
    assert found.optimal
    return found


def dense(found, count=4001):
    t = np.linspace(0.0, found.duration, count)
    return t, found.at(t)


def torques_hold(found, most=10.0):
    _, motion = dense(found)
    assert np.abs(found.robot.inverse_dynamics(*motion[:3])).max() <= most * (1 + 1e-6) + 1e-6


@pytest.fixture(scope="module")
def plain():
    return solved()


# ---- ends ----------------------------------------------------------------------------------------------------------


def test_velocities_at_the_ends():
    start = plan.Boundary(q=START, qd=[1.0, -2.0])
    goal = plan.Boundary(q=GOAL, qd={"joint1": 0.5})  # that of joint 2 is free
    found = solved(start=start, goal=goal)
    first, last = found.at(0.0), found.at(found.duration)
    np.testing.assert_allclose(first.q, START, atol=1e-9)
    np.testing.assert_allclose(first.qd, [1.0, -2.0], atol=1e-9)
    np.testing.assert_allclose(last.q, GOAL, atol=1e-9)
    assert last.qd[0] == pytest.approx(0.5, abs=1e-9)
    assert abs(last.qd[1]) > 0.1
    torques_hold(found)


def test_accelerations_at_the_ends():
    start = plan.Boundary(q=START, qdd=[3.0, 0.0])
    found = solved(start=start, goal=plan.Boundary(q=GOAL, qdd=0.0))
    first, last = found.at(0.0), found.at(found.duration)
    np.testing.assert_allclose(first.qdd, [3.0, 0.0], atol=1e-6)
    np.testing.assert_allclose(last.qdd, 0.0, atol=1e-8)
    np.testing.assert_allclose([first.qd, last.qd], 0.0, atol=1e-9)
    np.testing.assert_allclose([first.q, last.q], [START, GOAL], atol=1e-9)


def test_a_goal_that_is_a_place(plain):
    """Of the frame alone: the arm chooses the nearer of the two ways to stand, never slower than a given one."""
    place = reach(np.array(GOAL))
    found = solved(goal=plan.Boundary(poses={"tool": (*place, 0.0)}))
    last = found.at(found.duration)
    np.testing.assert_allclose(tool()(last.q)[:3, 3], [*place, 0.0], atol=1e-8)
    np.testing.assert_allclose(reach(last.q), place, atol=1e-8)
    np.testing.assert_allclose(last.qd, 0.0, atol=1e-9)
    assert found.duration <= plain.duration * (1 + 1e-6)


@functools.cache
def three():
    row = {"a": 0.3, "mass": 0.5, "com": (-0.15, 0, 0), "inertia": (0, 0.01, 0.01)}
    return from_dh([row, row, row], name="three", gravity=(0, 0, 0), tool=neuler.Transform())


def test_a_goal_that_is_a_pose():
    """Place and orientation; of three hinges in a plane both are needed."""
    robot = three()
    frame = robot.compile("link_poses", frame="tool")
    pose = np.asarray(frame(np.array([0.8, -0.9, 1.4])))
    found = solved(
        plan.effort(), robot=robot, limits=(), start=[0.1, -0.4, 0.6], goal={"poses": {"tool": pose}}, duration=0.6
    )
    last = found.at(found.duration)
    np.testing.assert_allclose(frame(last.q), pose, atol=1e-7)
    assert np.sum(last.q) == pytest.approx(1.3, abs=1e-7)
    np.testing.assert_allclose(last.qd, 0.0, atol=1e-9)


def test_what_is_paid_at_the_end():
    """The farthest that the tool gets in x is the stretched arm."""
    far = -1.0 * plan.at_end(plan.measure(lambda m: m.pose("tool")[0, 3], "x"))
    found = solved(far, goal=None, duration=0.6, start=[0.3, -1.0])
    last = found.at(found.duration)
    assert found.objective == pytest.approx(-0.8, abs=1e-7)
    np.testing.assert_allclose(last.q, 0.0, atol=1e-3)
    torques_hold(found)


# ---- on the way ----------------------------------------------------------------------------------------------------


def test_a_via_point_with_a_time(plain):
    via = plan.Via(at=0.4, q=(0.9, -2.2))
    found = solved(via=[via])
    np.testing.assert_allclose(found.at(0.4 * found.duration).q, (0.9, -2.2), atol=1e-9)
    assert found.duration > plain.duration
    torques_hold(found)


def test_a_via_pose_and_velocity_with_a_time():
    via = [plan.Via(at=0.3, poses={"tool": (0.3, -0.1, 0.0)}), plan.Via(at=0.7, qd={"joint2": 0.0})]
    found = solved(via=via, control_points=10)
    np.testing.assert_allclose(reach(found.at(0.3 * found.duration).q), (0.3, -0.1), atol=1e-8)
    assert found.at(0.7 * found.duration).qd[1] == pytest.approx(0.0, abs=1e-9)
    torques_hold(found)


def continuous(found):
    """Positions, velocities and accelerations just before and after every break."""
    assert len(found.motion.breaks) > 2
    for at in found.motion.breaks[1:-1]:
        before, after = found.at(at * (1 - 1e-15)), found.at(at)
        left = found.motion.shares(np.array([at * (1 - 1e-15)]))[0]
        right = found.motion.shares(np.array([at]))[0]
        assert left + 1 == right
        for one, other in zip(before[:3], after[:3], strict=True):
            np.testing.assert_allclose(one, other, atol=1e-8 * (1 + np.abs(other).max()))


def test_a_via_point_whose_time_is_found():
    timed = solved(via=[plan.Via(at=0.4, q=(0.9, -2.2))], control_points=2 * POINTS - 3)
    found = solved(via=[plan.Via(q=(0.9, -2.2))])
    np.testing.assert_allclose(found.at(found.motion.breaks[1]).q, (0.9, -2.2), atol=1e-9)
    continuous(found)
    torques_hold(found)
    assert 0.39185 < found.duration < timed.duration * 1.02
    assert found.duration == pytest.approx(np.diff(found.motion.breaks).sum(), rel=1e-12)


def test_phases_have_limits_and_durations_of_their_own():
    slow = plan.within(plan.velocity, 2.0)
    phases = [
        plan.Phase(duration=(0.12, 0.3), end=plan.Boundary(q={"joint1": 0.3}, qd=None), name="out"),
        plan.Phase(end=plan.Boundary(q={"joint1": 0.8}, qd=None), limits=[slow], name="slow"),
        plan.Phase(duration=0.25, name="in"),
    ]
    found = solved(phases=phases)
    continuous(found)
    torques_hold(found)
    spans = np.diff(found.motion.breaks)
    assert 0.12 - 1e-9 <= spans[0] <= 0.3 + 1e-9
    assert spans[2] == pytest.approx(0.25, abs=1e-12)
    first, last = found.motion.breaks[1:3]
    assert found.at(last).q[0] == pytest.approx(0.8, abs=1e-9)
    _, motion = dense(found)
    assert np.abs(found.at(np.linspace(first, last, 2001)).qd).max() <= 2.0 * (1 + 1e-6) + 1e-6
    assert np.abs(motion.qd).max() > 2.5
    assert found.phases == ("phase out", "phase slow", "phase in")
    np.testing.assert_allclose(motion.q[[0, -1]], [START, GOAL], atol=1e-9)
    np.testing.assert_allclose(motion.qd[[0, -1]], 0.0, atol=1e-9)


def cart():
    body = neuler.Link.from_com("cart", mass=2.0, com=(0, 0, 0), inertia=(1, 1, 1))
    return neuler.Robot(
        "cart", [neuler.Link("base"), body], [neuler.Joint("x", "prismatic", "base", "cart", axis=(1, 0, 0))]
    )


@pytest.mark.parametrize("half", [plan.Boundary(q=[0.35], qd=None), None], ids=["given", "free"])
def test_phases_go_on_as_far_as_they_are_asked_to(half):
    """With velocities alone joined, accelerations may jump, and full torques reverse at once: bang-bang is exact."""
    phases = [plan.Phase(end=half, continuity=1), plan.Phase()]
    limits = [plan.within(plan.torque, 5.0)]
    found = solved(robot=cart(), start=[0.0], goal=[0.7], limits=limits, phases=phases, control_points=4)
    assert found.duration == pytest.approx(2 * np.sqrt(2.0 * 0.7 / 5.0), rel=1e-6)
    at = found.motion.breaks[1]
    assert found.at(at * (1 - 1e-15)).qdd[0] == pytest.approx(2.5, rel=1e-4)
    assert found.at(at).qdd[0] == pytest.approx(-2.5, rel=1e-4)
    assert found.at(at * (1 - 1e-15)).qd[0] == pytest.approx(found.at(at).qd[0], abs=1e-8)


# ---- relations -----------------------------------------------------------------------------------------------------


def both_ends(found):
    return found.at(0.0), found.at(found.duration)


def test_profiles_that_repeat():
    relations = [*plan.repeats("joint1", shift=0.5), *plan.repeats("joint2")]
    via = [plan.Via(at=0.5, q={"joint2": -1.0})]
    start = plan.Boundary(q={"joint1": 0.0, "joint2": -2.0}, qd=None)
    found = solved(plan.effort(), start=start, goal=None, via=via, relations=relations, duration=0.8)
    first, last = both_ends(found)
    np.testing.assert_allclose(last.q - first.q, [0.5, 0.0], atol=1e-9)
    np.testing.assert_allclose(last.qd, first.qd, atol=1e-8)
    np.testing.assert_allclose(last.qdd, first.qdd, atol=1e-7)
    assert np.abs(first.qd).max() > 0.1


def test_profiles_that_mirror_each_other():
    start = plan.Boundary(q={"joint1": 0.3}, qd=None)
    via = [plan.Via(at=0.25, q={"joint1": -0.2})]
    relations = plan.mirrors("joint1", "joint2", sign=-1.0)
    found = solved(plan.effort(), start=start, goal=None, via=via, relations=relations, duration=1.6, control_points=11)
    t = np.linspace(0.0, 1.6, 33)
    left, right = found.at(t), found.at(np.mod(t + 0.8, 1.6))
    np.testing.assert_allclose(left.q[:, 0], -right.q[:, 1], atol=1e-9)
    np.testing.assert_allclose(left.qdd[:, 0], -right.qdd[:, 1], atol=1e-6)
    assert np.ptp(left.q[:, 0]) > 0.4
    with pytest.raises(neuler.InputError, match="do not fall on breaks"):
        solved(plan.effort(), start=start, goal=None, relations=relations, duration=1.6, control_points=10)


def test_profiles_that_change_places():
    relations = plan.exchanges("joint1", "joint2", sign=-1.0)
    start = plan.Boundary(q={"joint1": 0.3}, qd=None)
    via = [plan.Via(at=0.5, q={"joint1": 0.9})]
    found = solved(plan.effort(), start=start, goal=None, via=via, relations=relations, duration=0.8)
    first, last = both_ends(found)
    for one, other, digits in zip(first[:3], last[:3], (1e-9, 1e-8, 1e-7), strict=True):
        np.testing.assert_allclose(other, -one[::-1], atol=digits)
    assert last.q[1] == pytest.approx(-0.3, abs=1e-9)
    assert np.abs(first.qd).max() > 0.01


# ---- limits --------------------------------------------------------------------------------------------------------


def test_every_sort_of_limit_at_once():
    """Each by the robot's verbs on a fine grid; most of them are met."""
    bounds = {
        plan.velocity: 3.0, plan.acceleration: 45.0, plan.jerk: 2000.0, plan.torque_rate: 150.0, plan.power: 12.0,
        plan.joint_force: 12.0,
    }  # fmt: skip
    limits = [TORQUE, *(plan.within(measure, most) for measure, most in bounds.items())]
    found = solved(limits=limits, control_points=12)
    robot = arm()
    t, motion = dense(found, 8001)
    rates = robot.inverse_dynamics_rate(*motion)
    wrench = np.asarray(robot.reaction_wrenches(*motion[:3]))[:, -2:, :3]
    seen = {
        plan.velocity: motion.qd,
        plan.acceleration: motion.qdd,
        plan.jerk: motion.qddd,
        plan.torque_rate: rates.tau_rate,
        plan.power: rates.tau * motion.qd,
        plan.joint_force: np.linalg.norm(wrench, axis=-1),
    }
    used = {}
    for measure, most in bounds.items():
        worst = np.abs(seen[measure]).max()
        assert worst <= most * (1 + 1e-6) + 1e-6, measure.name
        used[measure.name] = worst / most
        np.testing.assert_allclose(found.measure(measure, t[::50]), seen[measure][::50], rtol=1e-6, atol=1e-6)
    assert sum(share > 0.99 for share in used.values()) >= 3, used
    torques_hold(found)


def test_limits_of_some_joints_and_sides():
    limits = [
        plan.limit(plan.torque, {"joint2": -4.0}, {"joint1": 6.0}),
        plan.limit(plan.velocity, -0.5, joints="joint2"),
    ]
    found = solved(limits=limits)
    _, motion = dense(found)
    tau = arm().inverse_dynamics(*motion[:3])
    assert tau[:, 0].max() <= 6.0 + 7e-6
    assert tau[:, 1].min() >= -4.0 - 5e-6
    assert motion.qd[:, 1].min() >= -0.5 - 2e-6
    assert np.abs(tau).max() <= 10.0 + 1.1e-5  # the robot's own hold where nothing else is said
    assert max(tau[:, 0].max() / 6.0, -tau[:, 1].min() / 4.0) > 0.999


def test_limits_in_a_window(plain):
    window = (0.35, 0.6)
    found = solved(limits=[TORQUE, plan.within(plan.velocity, 2.5, when=window)], control_points=12)
    t, motion = dense(found)
    inside = (t >= window[0] * found.duration) & (t <= window[1] * found.duration)
    assert np.abs(motion.qd[inside]).max() <= 2.5 * (1 + 1e-6) + 1e-6
    assert np.abs(motion.qd[~inside]).max() > 3.0
    assert found.duration > 0.393
    torques_hold(found)


@pytest.mark.slow
def test_positions_in_a_window():
    """Not by bounds of control points: these reach beyond the window."""
    window = plan.limit(plan.position, {"joint2": -1.5}, when=(0.5, 1.0))
    found = solved(limits=[TORQUE, window], control_points=10)
    t, motion = dense(found)
    assert motion.q[t >= 0.5 * found.duration, 1].min() >= -1.5 - 2.5e-6
    assert motion.q[t < 0.5 * found.duration, 1].min() < -1.9


def test_a_lazy_limit_gives_the_same():
    met = [plan.within(plan.velocity, 3.0, lazy=lazy) for lazy in (False, True)]
    eager, lazy = (solved(limits=[TORQUE, limit]) for limit in met)
    assert lazy.duration == pytest.approx(eager.duration, rel=3e-4)  # bounds are drawn in on grids that differ
    _, motion = dense(lazy)
    assert np.abs(motion.qd).max() <= 3.0 * (1 + 1e-6) + 1e-6


def test_a_lazy_limit_that_is_never_met_costs_nothing(plain):
    far = solved(limits=[TORQUE, plan.within(plan.velocity, 300.0, lazy=True)])
    assert far.duration == pytest.approx(plain.duration, rel=1e-7)


def test_obstacles_are_kept_clear_of():
    """Balls on the tool and along the arm, from a post and a wall; distances by hand."""
    post, wall = plan.Sphere((0.63, 0.03, 0.0), 0.05), plan.HalfSpace((-0.1, 0.0, 0.0), (1.0, 0.0, 0.0))
    balls = [plan.Ball("tool", 0.03), plan.Ball("link2", 0.04, (0.2, 0.0, 0.0))]
    start, goal = (-0.5, 0.6), (0.4, 0.2)
    free = solved(start=start, goal=goal)
    found = solved(limits=[TORQUE, plan.clear_of(balls, [post, wall], margin=0.01)], start=start, goal=goal)
    assert distances(free).min() < 0.0  # it is in the way
    assert distances(found).min() >= 0.01 - 1.01e-6
    assert distances(found).min() <= 0.01 + 1e-4
    assert found.duration > free.duration
    torques_hold(found)


def distances(found):
    _, motion = dense(found)
    tip, one = reach(motion.q), 0.4 * np.stack([np.cos(motion.q[:, 0]), np.sin(motion.q[:, 0])], axis=-1)
    middle = 0.5 * (tip + one)
    post = np.array([0.63, 0.03])
    return np.stack(
        [
            np.linalg.norm(tip - post, axis=1) - 0.08,
            np.linalg.norm(middle - post, axis=1) - 0.09,
            tip[:, 0] + 0.1 - 0.03,
            middle[:, 0] + 0.1 - 0.04,
        ]
    )


# ---- objectives and durations --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["torque", "joint_force"])
def test_a_peak_is_the_largest_along_the_motion(name):
    measure = {"torque": plan.torque, "joint_force": plan.joint_force}[name]
    found = solved(plan.peak(measure), duration=0.6)
    _, motion = dense(found, 20001)
    if name == "torque":
        largest = np.abs(arm().inverse_dynamics(*motion[:3])).max()
    else:
        largest = np.linalg.norm(np.asarray(arm().reaction_wrenches(*motion[:3]))[:, -2:, :3], axis=-1).max()
    assert found.objective == pytest.approx(largest, rel=3e-6)
    assert largest <= found.objective * (1 + 3e-6)
    other = solved(plan.effort(), duration=0.6)
    assert found.objective < np.abs(other.measure(measure, np.linspace(0, 0.6, 2001))).max()


def test_a_duration_that_is_given():
    found = solved(plan.effort(), duration=0.55)
    assert found.duration == 0.55
    torques_hold(found)


def test_a_duration_between_bounds(plain):
    least = solved(duration=(0.6, 2.0))
    assert least.duration == pytest.approx(0.6, rel=1e-6)
    free = solved(duration=(0.1, 2.0))
    assert free.duration == pytest.approx(plain.duration, rel=1e-6)
    longest = solved(plan.effort(), duration=(0.1, 0.9))
    assert longest.duration == pytest.approx(0.9, rel=1e-6)


# ---- meshes --------------------------------------------------------------------------------------------------------


def test_from_coarse_to_fine_is_the_same_optimum():
    at_once = solved(control_points=20)
    by_steps = solved(control_points=20, solve={"mesh": (8, 20)})
    assert all(24 < len(each.motion.profiles[0].knots) <= 34 for each in (by_steps, at_once))  # knots at switches
    assert by_steps.duration == pytest.approx(at_once.duration, rel=1e-4)
    assert at_once.duration <= 0.3923
    torques_hold(by_steps)


def test_knots_that_are_given():
    breaks = np.array([0.0, 0.1, 0.13, 0.48, 0.52, 0.58, 0.62, 1.0])
    found = solved(knots=breaks, control_points=None)
    np.testing.assert_allclose(found.motion.knots / found.duration, breaks, atol=1e-12)
    assert 0.39185 < found.duration < 0.41
    torques_hold(found)


def test_a_higher_degree():
    found = solved(degree=5, control_points=None, knots=np.linspace(0.0, 1.0, 6))
    t, motion = dense(found)
    assert found.duration > 0.39185
    slope = np.gradient(motion.qdd, t, axis=0, edge_order=2)
    np.testing.assert_allclose(slope[5:-5], motion.qddd[5:-5], atol=1e-3 * np.abs(motion.qddd).max())
    jumps = np.abs(np.diff(motion.qddd, axis=0)).max()
    assert jumps < 0.02 * np.ptp(motion.qddd)  # the jerk is continuous
    torques_hold(found)


def test_solvers_agree(plain):
    evenly = {"control_points": None, "knots": np.linspace(0.0, 1.0, POINTS - 2)}
    ipopt, scipy = (solved(solve={"solver": name}, **evenly) for name in ("ipopt", "scipy"))
    assert scipy.duration == pytest.approx(ipopt.duration, rel=1e-5)
    assert scipy.solver != ipopt.solver
    inserted = solved(solve={"solver": "scipy"})  # each has multipliers of its own, that say where knots go
    assert inserted.duration == pytest.approx(plain.duration, rel=2e-4)
    assert inserted.duration < 0.998 * scipy.duration


def test_an_objective_that_is_not_finite_at_rest_is_told():
    """Information has no logarithm where nothing moves: the words say so, and where to begin instead."""
    arm = neuler.robots.two_link()
    speed = plan.measure(lambda moment: [moment.qd @ moment.qd], "speed")
    gain = plan.overall(lambda total: -nm.log(total[0]), speed, "gain")
    still = plan.Plan(arm, gain, duration=2.0, limits=[plan.within(plan.velocity, 1.0)], control_points=6,
                      relations=plan.repeats(*arm.joint_names))  # fmt: skip
    found = still.solve()
    assert found.status == "failed"
    assert not found.optimal
    assert "objective not finite" in str(found)
    assert "not finite: objective" in str(found)
    assert any("gain: not finite" in note and "seed=1" in note for note in found.notes)
    moving = still.solve(seed=1)
    assert moving.valid
    assert np.isfinite(moving.objective)
    assert moving.notes == ()


def log_det(total):
    """log det of a symmetric matrix by its lower triangle, row by row."""
    size = int(np.sqrt(2 * len(total)))
    M, L, found = iter(total), np.zeros((size, size), dtype=object), 0.0
    for i in range(size):
        for j in range(i + 1):
            left = next(M) - L[i, :j] @ L[j, :j]
            L[i, j] = nm.sqrt(left) if i == j else left / L[j, j]
            found = found + nm.log(left) if i == j else found
    return found


def test_an_experiment_gives_the_most_information():
    """log det of the integral of Y^T Y, Y being the regressor of the base parameters: an objective of all times."""
    base = [16, 21, 22, 26]  # columns of Y that are independent
    Y = neuler.function(arm().compile("inverse_dynamics", parameters="links")).jacobian("parameters")
    lower = np.tril_indices(len(base))

    def products(moment):
        y = Y(moment.q, moment.qd, moment.qdd, np.zeros(30))[:, base]
        return (y.T @ y)[lower]

    gain = plan.overall(lambda total: -log_det(total), plan.measure(products, "information"))
    limits = [plan.within(plan.position, 1.5), plan.within(plan.velocity, 3.0), plan.within(plan.torque, 60.0)]
    task = plan.Plan(arm(), gain, duration=4.0, control_points=12, limits=limits,
                     relations=plan.repeats(*arm().joint_names))  # fmt: skip
    found = task.solve(seed=1)
    assert found.valid
    assert found.optimal
    t = np.linspace(0.0, 4.0, 8001)
    y = Y(*found.at(t)[:3], np.zeros((len(t), 30)))[..., base]
    weights = np.full(len(t), t[1])
    weights[[0, -1]] /= 2
    information = np.einsum("t,tri,trj->ij", weights, y, y)
    assert found.objective == pytest.approx(-np.linalg.slogdet(information)[1], abs=1e-4)
    assert np.linalg.cond(information) < 100.0


def test_a_limit_says_what_its_rows_are_divided_by():
    """The solver sees other numbers, the optimum is the same."""
    arm = neuler.robots.two_link()
    near = plan.measure(lambda moment: [moment.q[0] - moment.q[1] - 2.0], "apart", labels=["both"])
    found = {}
    for scale in (None, 0.5):
        band = plan.limit(near, -0.01, 0.01, scale=scale, when=(0.3, 0.7))
        task = plan.Plan(arm, plan.effort(), start=[0.0, -2.0], goal=[1.0, -1.0], duration=1.0, limits=[band])
        path = task.transcription.phases[0].path
        family = next(each for each in path.families if each.name == "apart")
        assert path.scales()[family.rows].tolist() == [0.01 if scale is None else 0.5]
        found[scale] = task.solve()
        assert found[scale].valid
    assert found[None].objective == pytest.approx(found[0.5].objective, rel=1e-7)
    with pytest.raises(neuler.InputError, match="scale must be above zero"):
        plan.limit(near, -0.01, 0.01, scale=0.0)
