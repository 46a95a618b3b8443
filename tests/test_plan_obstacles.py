"""Obstacles as data: batched distances and their derivatives, scenes that compile nothing, pairs that come in."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

import neuler
from neuler import Transform, plan
from neuler.compiler import build
from neuler.errors import InputError
from neuler.moments.clearance import Ball, Box, Capsule, HalfSpace, Sphere, clearance, placed_center
from neuler.moments.pairs import PairTable
from neuler.motions.spline_motion import SplineMotion
from neuler.optimize.blocks import Block
from neuler.optimize.composed import ComposedBlock
from neuler.plan import refinement
from neuler.plan.guess import guessed
from neuler.plan.phase_blocks import FromClearance
from random_robots import few

ARM = neuler.robots.puma560()
FRAMES = ARM.shown_names[2:]
BALLS = [
    Ball(FRAMES[0], 0.12, (0.1, 0.0, 0.02), name="shoulder"),
    Ball(FRAMES[1], 0.08, name="elbow"),
    Ball(FRAMES[-1], 0.05, (0.0, 0.01, 0.1), name="hand"),
]
WALLS = [
    Sphere((0.4, 0.2, 0.3), 0.1),
    Capsule((0.5, -0.5, -0.2), (0.6, 0.5, 0.8), 0.07, name="post"),
    HalfSpace((0.0, 0.0, -0.6), (0.1, 0.0, 2.0), name="floor"),
    Box((-0.5, 0.3, 0.4), (0.3, 0.2, 0.5), Transform.from_rpy(rpy=(0.3, 0.2, 0.1)).rotation, name="crate"),
    Sphere((-0.4, -0.3, 0.5), 0.05),
]
ROOM = clearance(BALLS, WALLS, margin=0.02, own="all")


def placed(q):
    """Centres of the balls, (..., balls, 3)."""
    poses = {name: ARM.compile("link_poses", frame=name)(q) for name in ROOM.frames}
    centers = [np.stack(placed_center(poses[ball.frame], ball.center), axis=-1) for ball in BALLS]
    return np.stack(centers, axis=-2)


def one_by_one():
    """Distances with the numbers of every pair in the code of one function."""

    def rows(q):
        return np.array(ROOM.rows({name: ARM.compile("link_poses", frame=name)(q) for name in ROOM.frames}))

    return neuler.function(rows, {"q": 6}, "distance")


def composed(points, pairs):
    """All chosen pairs at points whose variables are positions of the arm, one behind the other."""

    def centers(q):
        poses = {name: ARM.compile("link_poses", frame=name)(q) for name in ROOM.frames}
        return [x for ball in BALLS for x in placed_center(poses[ball.frame], ball.center)]

    inner = Block.of(neuler.function(centers, {"q": 6}, "centers"), {"q": sparse.eye(6 * points)}, points)
    at = np.repeat(np.arange(points), len(pairs))
    every = np.tile(np.asarray(pairs, dtype=np.intp), points)
    none = np.full((len(at), 1), np.inf)
    return ComposedBlock(inner, PairTable.of(ROOM), at, every, -none, none)


def test_batched_distances_are_those_of_single_pairs():
    q = ARM.random_configuration(np.random.default_rng(0), 200)
    poses = {name: ARM.compile("link_poses", frame=name)(q) for name in ROOM.frames}
    expected = np.stack(ROOM.rows(poses), axis=-1)
    table = PairTable.of(ROOM)
    assert table.count == len(ROOM.labels) == expected.shape[1] == 18
    assert {each.kind for each in table.kinds} == {"Sphere", "Capsule", "HalfSpace", "Box"}
    assert np.abs(table.distances(placed(q)) - expected).max() < 1e-12
    pairs = np.random.default_rng(1).integers(0, 18, 200)
    at = table.points(placed(q))[np.arange(200), pairs]
    assert np.abs(table.values(at, pairs) - expected[np.arange(200), pairs]).max() < 1e-12


@pytest.mark.parametrize("pairs", [range(18), [3, 7], [15, 16], [2]])
def test_batched_derivatives_are_those_of_single_pairs(pairs):
    """Rows, dense in nothing but the joints that move them, and the Hessian of their weighted sum."""
    points, pairs = 6, list(pairs)
    q = ARM.random_configuration(np.random.default_rng(3), points)
    block, single = composed(points, pairs), one_by_one()
    inputs = block.inputs(q.ravel())
    assert np.abs(block.values(inputs).reshape(points, -1) - single(q)[:, pairs]).max() < 1e-12
    row, column, source, value = block.jacobian_terms()
    entries = block.jacobian_entries(inputs)
    assert len(entries) == block.jacobian_size
    J = sparse.csr_matrix((value * entries[source], (row, column)), shape=(block.count, 6 * points)).toarray()
    slopes = single.jacobian("q")(q)[:, pairs]
    for point in range(points):
        mine = J[point * len(pairs) : (point + 1) * len(pairs)]
        assert np.abs(mine[:, 6 * point : 6 * point + 6] - slopes[point]).max() < 1e-12
        assert not np.delete(mine, np.s_[6 * point : 6 * point + 6], axis=1).any()
    weights = np.random.default_rng(4).normal(size=(points, len(pairs)))
    full = np.zeros((points, 18))
    full[:, pairs] = weights
    expected = single.hessian("q")(q, weights=full)
    row, column, source, value = block.hessian_terms()
    entries = block.hessian_entries(inputs, weights.reshape(-1, 1))
    lower = sparse.csr_matrix((value * entries[source], (row, column)), shape=(6 * points,) * 2).toarray()
    H = lower + np.tril(lower, -1).T
    scale = 1.0 + np.abs(expected).max()
    for point in range(points):
        mine = slice(6 * point, 6 * point + 6)
        assert np.abs(H[mine, mine] - expected[point]).max() < 1e-11 * scale


def test_slopes_by_complex_steps():
    """Of points, with formulas of NumPy's own."""
    table, rng = PairTable.of(ROOM), np.random.default_rng(5)
    at, pairs, step = rng.uniform(-1.0, 1.0, (60, 3)), np.tile([0, 2, 15], 20), 1e-30

    def distance(x, pair):
        if pair == 2:
            n = np.array(WALLS[2].normal)
            return (x - np.array(WALLS[2].point)) @ n
        center = np.array(WALLS[0].center) if pair == 0 else np.zeros(3)  # 15: two balls
        return np.sqrt(((x - center) ** 2).sum())

    slopes = table.slopes(at, pairs)
    for k in range(3):
        expected = [distance(x + 1j * step * np.eye(3)[k], pair).imag / step for x, pair in zip(at, pairs, strict=True)]
        assert np.abs(slopes[:, k] - expected).max() < 1e-12


# ---- scenes ---------------------------------------------------------------------------------------------------------

TWO = neuler.robots.two_link().with_gravity((0.375, 0.25, 0.125))


def reach(walls, balls=None, robot=TWO, own=(), **more):
    balls = balls or [plan.Ball("tool", 0.03), plan.Ball("tool", 0.02, (-0.2, 0.0, 0.0)), plan.Ball("link1", 0.01)]
    limits = [plan.clear_of(balls, walls, margin=0.01, own=own), plan.within(plan.velocity, 3.0)]
    given = {"start": [-0.9, 0.8], "goal": [0.3, 0.8], "control_points": 10, **more}
    return plan.Plan(robot, plan.duration(), limits=[*limits, plan.within(plan.acceleration, 20.0)], **given)


def test_a_second_scene_compiles_nothing(monkeypatch):
    made = []
    compile_recipe = build.compile_recipe
    monkeypatch.setattr(build, "compile_recipe", lambda *a, **b: made.append(a[1]) or compile_recipe(*a, **b))
    walls = [
        plan.Sphere((0.77, 0.08, 0.0), 0.05),
        plan.Box((0.2, -0.8, 0.0), (0.1, 0.1, 0.4)),
        plan.Capsule((0.2, 0.8, -0.1), (0.2, 0.8, 0.1), 0.05),
        plan.HalfSpace((-0.8, 0.0, 0.0), (1.0, 0.0, 0.0)),
    ]
    assert reach(walls).solve().valid
    assert made  # of this robot there was nothing
    made.clear()
    other = [
        plan.Sphere((0.7, 0.5, 0.0), 0.02),
        plan.Sphere((0.78, 0.02, 0.0), 0.06),
        plan.Box((0.25, -0.85, 0.0), (0.1, 0.2, 0.4), Transform.rot_z(0.3).rotation),
        plan.Capsule((0.3, 0.8, -0.1), (0.2, 0.9, 0.3), 0.04),
        plan.HalfSpace((-0.7, 0.0, 0.0), (1.0, 0.1, 0.0), name="wall"),
    ]
    balls = [plan.Ball("tool", 0.02), plan.Ball("tool", 0.03, (-0.1, 0.01, 0.0)), plan.Ball("link1", 0.02, (0.1, 0, 0))]
    found = reach(other, balls).solve()
    assert found.valid
    assert not made


def test_a_plan_among_twenty_spheres():
    """Every pair at many times, by plain NumPy; some balls go as near as they may."""
    rng = np.random.default_rng(11)
    start, goal = np.array([-0.6, -0.4, 2.6, 0.2, 0.5, 0.0]), np.array([0.9, -0.2, 2.4, -0.3, 0.7, 0.3])
    balls = [*BALLS[1:], Ball(FRAMES[-2], 0.06, (0.0, 0.0, 0.05), name="wrist")]
    poses = {name: ARM.compile("link_poses", frame=name) for name in {ball.frame for ball in balls}}

    def centers(q):
        q = np.atleast_2d(q)
        parts = [poses[b.frame](q)[:, :3, :3] @ np.array(b.center) + poses[b.frame](q)[:, :3, 3] for b in balls]
        return np.stack(parts, axis=1)

    radii = np.array([ball.radius for ball in balls])
    hand = centers(start + 0.5 * (goal - start))[0, 1]
    walls = [plan.Sphere(tuple(hand + [0.03, 0.0, -0.04]), 0.06, name="in the way")]
    while len(walls) < 20:
        wall = plan.Sphere(tuple(rng.uniform(-0.9, 0.9, 3)), 0.07, name=f"s{len(walls)}")
        ends = centers(np.array([start, goal]))
        if (np.linalg.norm(ends - np.array(wall.center), axis=-1) - radii - wall.radius).min() > 0.03:
            walls.append(wall)
    limits = [plan.clear_of(balls, walls, margin=0.01), plan.within(plan.velocity, 2.0)]
    limits.append(plan.within(plan.acceleration, 15.0))
    found = plan.Plan(ARM, plan.duration(), start=start, goal=goal, limits=limits, control_points=12).solve()
    assert found.valid
    at = centers(found.at(np.linspace(0.0, found.duration, 4001)).q)
    middles, sizes = np.array([wall.center for wall in walls]), np.array([wall.radius for wall in walls])
    away = np.linalg.norm(at[:, :, None] - middles, axis=-1) - radii[:, None] - sizes
    assert away.min() > 0.01 - 2e-6
    assert away.min() < 0.02
    straight = centers(np.linspace(start, goal, 300))
    through = np.linalg.norm(straight[:, :, None] - middles, axis=-1) - radii[:, None] - sizes
    assert through.min() < 0.0
    near = next(each for each in found.bounds if each.name == "clearance")
    assert near.labels[0] == "elbow.in the way"
    assert len(near.labels) == 60
    assert [each.name for each in found.scenery] == [each.name for each in walls]


@pytest.mark.parametrize("seed", few(range(3), 1))
@pytest.mark.parametrize("near", [0.1, 1e9, -1e9], ids=["near", "all", "none"])
def test_no_pair_is_lost(monkeypatch, seed, near):
    """However many pairs are posed at first, all of them hold in the end."""
    monkeypatch.setattr(refinement, "NEAR", near)
    rng = np.random.default_rng(seed)
    walls = [plan.Sphere((0.77, 0.05 + 0.05 * seed, 0.0), 0.05)]
    walls += [plan.Sphere((*rng.uniform(-1.0, 1.0, 2), rng.uniform(-0.2, 0.2)), 0.04) for _ in range(6)]
    balls = [plan.Ball("tool", 0.03), plan.Ball("tool", 0.02, (-0.2, 0.0, 0.0))]
    pose = TWO.compile("link_poses", frame="tool")

    def least(q):
        T = pose(q)
        centers = [T[..., :3, 3], T[..., :3, 3] - 0.2 * T[..., :3, 0]]
        gaps = [
            np.linalg.norm(at - np.array(wall.center), axis=-1) - ball.radius - wall.radius
            for ball, at in zip(balls, centers, strict=True)
            for wall in walls
        ]
        return np.min(gaps)

    walls = [wall for wall in walls if min(np.linalg.norm(pose(q)[:3, 3] - wall.center) for q in ENDS) > 0.3]
    found = reach(walls, balls).solve()
    assert found.valid
    assert least(found.at(np.linspace(0.0, found.duration, 3001)).q) > 0.01 - 2e-6


ENDS = ([-0.9, 0.8], [0.3, 0.8])


def test_only_pairs_that_are_near_are_rows():
    far = [plan.Sphere((5.0, float(k), 0.0), 0.1) for k in range(30)]
    near = plan.Sphere((0.77, 0.08, 0.0), 0.05)
    task = reach([*far, near])
    transcription = task.transcription
    state = refinement.Refinement(transcription.phases[0])
    profiles = transcription.profiles()
    x = guessed(transcription, profiles)
    state.look(SplineMotion([transcription.phases[0].model], profiles, x), 0)
    out = state.left_out(profiles[0].grid)
    posed = ~out[:, state.first :]
    assert posed.any(axis=0).sum() <= 3  # three balls and one sphere
    assert posed[:, 30].any()
    every = transcription.transcribe(profiles, x)
    few = transcription.transcribe(profiles, x, left_out=[out])
    assert every.programme.m - few.programme.m == (~posed).sum()


def test_a_check_poses_the_violated_limit_alone():
    """At a point that is added, the rows of other limits are left out."""
    task = reach([plan.Sphere((0.77, 0.08, 0.0), 0.05)])
    phase = task.transcription.phases[0]
    state = refinement.Refinement(phase)
    state.posed[0.123] = {1, state.first}
    grid = np.array([0.0, 0.123, 1.0])
    state.near |= {0.0: np.zeros(3, dtype=bool), 1.0: np.array([False, True, False])}
    posed = ~state.left_out(grid)
    assert np.flatnonzero(posed[1]).tolist() == [1, state.first]
    assert posed[0, : state.first].all()
    assert np.flatnonzero(posed[2, state.first :]).tolist() == [1]


def test_bounds_are_tightened_about_a_violation_alone():
    task = reach([plan.Sphere((0.77, 0.08, 0.0), 0.05)])
    state = refinement.Refinement(task.transcription.phases[0])
    state.tighter.append((0, 0.5, 0.1, 0.02))
    margins = state.margins(np.array([0.3, 0.45, 0.5, 0.7]))
    assert margins[:, 0] == pytest.approx([0.0, 0.01, 0.02, 0.0])
    assert not margins[:, 1:].any()


def test_windows_and_lazy_limits():
    """A limit in a window has rows there alone; a lazy one has none until it is violated."""
    wall = plan.Sphere((0.77, 0.08, 0.0), 0.05)
    task = reach([wall])
    limits = [
        replace(task.transcription.phases[0].limits[0], when=(0.4, 0.6)),
        *task.transcription.phases[0].limits[1:],
    ]
    windowed = plan.Plan(TWO, plan.duration(), start=ENDS[0], goal=ENDS[1], limits=limits, control_points=10)
    transcription = windowed.transcription
    profiles = transcription.profiles()
    found = transcription.transcribe(profiles, np.ones(transcription.size(profiles)))
    (shares,) = [origin.shares for origin in found.origins if isinstance(origin, FromClearance)]
    assert shares.min() == pytest.approx(0.4)
    assert shares.max() == pytest.approx(0.6)
    lazy = [replace(limits[0], when=(0.0, 1.0), lazy=True), *limits[1:]]
    solved = plan.Plan(TWO, plan.duration(), start=ENDS[0], goal=ENDS[1], limits=lazy, control_points=10).solve()
    assert solved.valid


def test_multipliers_are_carried_by_share_and_pair():
    before = FromClearance(0, 0, np.array([0.0, 0.0, 0.5]), np.array([1, 3, 2]))
    after = FromClearance(0, 0, np.array([0.0, 0.25, 0.5, 0.5]), np.array([3, 3, 1, 2]))
    assert after.carried(before, np.array([1.0, 2.0, 3.0])).tolist() == [2.0, 0.0, 0.0, 3.0]


def test_violations_name_ball_and_obstacle():
    wall = plan.Sphere((0.77, 0.08, 0.0), 0.05, name="pillar")
    pose = TWO.compile("link_poses", frame="tool")([0.3, 0.8])[:3, 3]
    blocked = reach([wall, plan.Sphere(tuple(pose), 0.05, name="goal post")])
    found = blocked.solve(iterations=60)
    assert not found.valid
    worst = next(each for each in found.violations if each.name == "clearance")
    assert worst.label == "tool.1.goal post"
    assert worst.value < 0.0


def test_balls_keep_clear_of_each_other():
    """An arm that folds: own pairs alone, without any obstacle."""
    balls = [plan.Ball("tool", 0.05), plan.Ball("link1", 0.05, (0.05, 0.0, 0.0))]
    task = reach((), balls, own="all", start=[0.0, 2.0], goal=[0.0, -2.0])
    found = task.solve()
    q = found.at(np.linspace(0.0, found.duration, 2001)).q
    tool, base = (TWO.compile("link_poses", frame=name)(q) for name in ("tool", "link1"))
    apart = np.linalg.norm(tool[:, :3, 3] - (base[:, :3, 3] + 0.05 * base[:, :3, 0]), axis=1) - 0.1
    assert found.valid
    assert apart.min() > 0.01 - 2e-6
    assert next(each for each in found.bounds if each.name == "clearance").labels == ("tool.link1",)


def test_robots_with_loops():
    """Distances depend on positions that loops decide, which are variables at the points of the grid."""
    robot = neuler.robots.four_bar()
    frame = robot.shown_names[-1]
    limits = [plan.clear_of([plan.Ball(frame, 0.01, (0.1, 0.02, 0.0))], [plan.Sphere((5.0, 5.0, 0.0), 0.1)])]
    start = float(np.asarray(robot.neutral())[0])
    task = plan.Plan(
        robot, plan.effort(), start=[start], goal=[start + 0.3], duration=1.0, limits=limits, control_points=8
    )
    transcription = task.transcription
    profiles = transcription.profiles()
    found = transcription.transcribe(profiles, guessed(transcription, profiles))
    programme, y = found.programme, found.programme.start
    (number,) = [k for k, origin in enumerate(found.origins) if isinstance(origin, FromClearance)]
    block = programme.blocks[number]
    assert block.count == len(profiles[0].grid)
    J = sparse.csr_matrix((programme.jacobian(y), programme.jacobian_at), shape=(programme.m, programme.n))
    direction = np.random.default_rng(0).normal(size=programme.n)
    h = 1e-6
    slope = (programme.rows(y + h * direction) - programme.rows(y - h * direction)) / (2 * h)
    assert np.abs(J @ direction - slope).max() < 1e-6 * np.abs(slope).max()
    first = sum(each.count + len(each.totals) for each in programme.blocks[:number])
    assert np.abs((J @ direction)[first : first + block.count]).min() > 0.0
    solved = task.solve()
    assert solved.valid


def test_balls_that_do_not_move_are_refused():
    with pytest.raises(InputError, match=r"clearance: nothing moves .*put balls on links that move"):
        reach([plan.Sphere((0.77, 0.08, 0.0), 0.05)], [plan.Ball(TWO.shown_names[0], 0.1)])
