"""Distances to obstacles against sampled bodies, their derivatives against differences, bad input."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

import neuler
from neuler import Transform, plan
from neuler.errors import InputError
from neuler.moments.clearance import Ball, Box, Capsule, HalfSpace, Sphere, clearance

ARM = neuler.robots.puma560()
FRAMES = ARM.shown_names[2:]
BALLS = [Ball(FRAMES[0], 0.12, (0.1, 0.0, 0.02)), Ball(FRAMES[1], 0.08), Ball(FRAMES[-1], 0.05, (0.0, 0.01, 0.1))]
WALLS = [
    Sphere((0.4, 0.2, 0.3), 0.1),
    Capsule((0.5, -0.5, -0.2), (0.6, 0.5, 0.8), 0.07, name="post"),
    HalfSpace((0.0, 0.0, -0.6), (0.1, 0.0, 2.0), name="floor"),
]
ROOM = clearance(BALLS, WALLS, margin=0.02, own=[(FRAMES[0], FRAMES[-1])])


def sampled(ball, wall, center):
    """Least distance of the ball's centre from points of the obstacle's core, minus radii."""
    if isinstance(wall, HalfSpace):
        # points of the plane, the nearest found by a solver that knows no formula
        n = np.array(wall.normal)
        side = np.linalg.svd(n[None])[2][1:]

        def square(u):
            return np.square(np.array(wall.point) + u @ side - center).sum()

        size = np.sqrt(minimize(square, [0.0, 0.0], tol=1e-14).fun)
        return np.copysign(size, (center - np.array(wall.point)) @ n) - ball.radius
    ends = (wall.center, wall.center) if isinstance(wall, Sphere) else (wall.a, wall.b)
    share = np.linspace(0.0, 1.0, 100_001)[:, None]
    core = (1 - share) * np.array(ends[0]) + share * np.array(ends[1])
    return np.linalg.norm(core - center, axis=1).min() - wall.radius - ball.radius


@pytest.mark.parametrize("seed", range(4))
def test_distances_are_those_of_sampled_bodies(seed):
    q = ARM.random_configuration(np.random.default_rng(seed))
    poses = {name: ARM.compile("link_poses", frame=name)(q) for name in ROOM.frames}
    found = ROOM.rows(poses)
    centers = [poses[ball.frame][:3, :3] @ np.array(ball.center) + poses[ball.frame][:3, 3] for ball in BALLS]
    expected = [sampled(ball, wall, at) for ball, at in zip(BALLS, centers, strict=True) for wall in WALLS]
    expected.append(np.linalg.norm(centers[0] - centers[2]) - 0.17)
    assert np.abs(np.array(found) - expected).max() < 1e-8
    assert np.abs(np.array(found) - expected)[[0, 3, 6, 9]].max() < 1e-14
    assert len(ROOM.labels) == len(found) == 10
    assert ROOM.rows([poses[name] for name in ROOM.frames]) == found  # in the order of frames


@settings(max_examples=100, deadline=None)
@given(st.lists(st.floats(-1.0, 1.0), min_size=9, max_size=9), st.floats(0.0, 0.3))
def test_capsules_against_every_point_of_their_axis(numbers, radius):
    a, b, at = np.array(numbers).reshape(3, 3)
    if np.linalg.norm(b - a) < 1e-3:
        return
    share = np.linspace(0.0, 1.0, 20_001)[:, None]
    expected = np.linalg.norm((1 - share) * a + share * b - at, axis=1).min() - radius
    found = Capsule(tuple(a), tuple(b), radius).distance(at)
    assert -1e-9 < expected - found < 1e-4 * np.linalg.norm(b - a)


def function():
    def rows(q):
        return np.array(ROOM.rows({name: ARM.compile("link_poses", frame=name)(q) for name in ROOM.frames}))

    return neuler.function(rows, {"q": 6}, "distance")


def test_derivatives_are_exact():
    f = function()
    q = ARM.random_configuration(np.random.default_rng(1), 20)
    poses = {name: ARM.compile("link_poses", frame=name)(q) for name in ROOM.frames}
    assert np.abs(f(q) - np.stack(ROOM.rows(poses), axis=-1)).max() < 1e-14  # a batch of arrays
    slope, h = f.jacobian("q")(q), 1e-6
    bend = f.hessian("q")
    weights = np.random.default_rng(2).normal(size=10)
    for k in range(6):
        step = h * np.eye(6)[k]
        assert np.abs((f(q + step) - f(q - step)) / (2 * h) - slope[..., k]).max() < 1e-9
        ahead, behind = (np.einsum("r,nrk->nk", weights, f.jacobian("q")(q + s)) for s in (step, -step))
        assert np.abs((ahead - behind) / (2 * h) - bend(q, weights=weights)[..., k]).max() < 1e-7


def test_derivatives_by_complex_steps():
    """Of points, on either side of a capsule's ends and beside its axis."""
    post = WALLS[1]
    f = neuler.function(lambda x: post.distance(x), {"x": 3}, "d")
    for at in ((0.3, 0.1, 0.2), (0.4, -0.9, -0.6), (0.9, 0.8, 1.2)):
        slope = f.jacobian("x")(at)
        for k in range(3):
            away = np.array(at, dtype=complex)
            away[k] += 1e-40j
            axis = np.array(post.b) - post.a
            share = np.clip(((away - post.a) @ axis).real / (axis @ axis), 0, 1)
            if 0 < share < 1:
                share = (away - post.a) @ axis / (axis @ axis)
            size = np.sqrt(np.sum((away - post.a - share * axis) ** 2))
            assert slope[k] == pytest.approx(size.imag / 1e-40, abs=1e-13)


def test_centres_that_meet_have_derivatives():
    wall = Sphere((0.1, 0.2, 0.3), 0.05)
    f = neuler.function(lambda x: wall.distance(x), {"x": 3}, "d")
    assert f(wall.center) == pytest.approx(-0.05, abs=1e-9)
    assert np.isfinite(f.jacobian("x")(wall.center)).all()
    assert np.isfinite(f.hessian("x")(wall.center)).all()


# ---- boxes -----------------------------------------------------------------------------------------------

TURN = np.array(Transform.from_rpy(rpy=(0.3, -0.5, 0.8)).rotation)
CRATE = Box((0.1, 0.2, 0.3), (1.0, 0.6, 0.4), TURN, name="crate")
HALF = np.array(CRATE.size) / 2


@pytest.mark.parametrize(
    ("at", "expected"),
    [
        ((0.0, 0.0, 0.0), -0.2),  # the centre
        ((0.4, 0.1, 0.05), -0.1),  # inside, nearest to a face
        ((0.5, 0.0, 0.0), 0.0),  # on a face
        ((0.5, 0.3, 0.0), 0.0),  # on an edge
        ((-0.5, 0.3, -0.2), 0.0),  # a corner
        ((0.75, 0.1, -0.1), 0.25),  # beside a face
        ((0.8, 0.7, 0.1), 0.5),  # beside an edge
        ((0.6, -0.5, 0.4), 0.3),  # beside a corner
    ],
)
def test_distances_from_a_box(at, expected):
    assert CRATE.distance(TURN @ np.array(at) + CRATE.center) == pytest.approx(expected, abs=1e-15)
    straight = Box(CRATE.center, CRATE.size)
    assert straight.distance(np.array(at) + CRATE.center) == pytest.approx(expected, abs=1e-15)


def surface(box, n):
    """Points all over the surface, in the box's axes."""
    u = np.linspace(-1.0, 1.0, n)
    flat = np.stack(np.meshgrid(u, u), axis=-1).reshape(-1, 2)
    return np.concatenate([np.insert(flat, axis, side, axis=1) for axis in range(3) for side in (-1, 1)]) * HALF


SURFACE = surface(CRATE, 201)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.floats(-1.0, 1.0), min_size=3, max_size=3))
def test_boxes_against_every_point_of_their_surface(numbers):
    at = np.array(numbers)
    size = np.linalg.norm(SURFACE - at, axis=1).min()
    found = CRATE.distance(TURN @ at + CRATE.center)
    assert (found < 0) == (np.abs(at) < HALF).all() or abs(found) < 1e-12
    assert -1e-9 < size - abs(found) < 6e-3  # the points lie 5 mm apart at most
    if found > 0:  # exact outside: the nearest point of the box
        assert found == pytest.approx(np.linalg.norm(at - np.clip(at, -HALF, HALF)), abs=1e-9)


def test_derivatives_of_a_box_by_complex_steps():
    """Of points beside faces, edges and corners, and inside: the same formula in each region, over complex numbers."""
    f = neuler.function(lambda x: CRATE.distance(x), {"x": 3}, "d")
    rng = np.random.default_rng(4)
    for at in rng.uniform(-0.9, 0.9, (60, 3)):
        spot = TURN @ at + CRATE.center
        slope, bend = f.jacobian("x")(spot), f.hessian("x")(spot)
        for k in range(3):
            away = spot.astype(complex)
            away[k] += 1e-40j
            assert slope[k] == pytest.approx(by_region(away).imag / 1e-40, abs=1e-12)
        assert np.linalg.norm(slope) == pytest.approx(1.0, abs=1e-12)
        h = 1e-6
        for k in range(3):
            step = h * np.eye(3)[k]
            ahead, behind = f.jacobian("x")(spot + step), f.jacobian("x")(spot - step)
            assert np.abs((ahead - behind) / (2 * h) - bend[..., k]).max() < 1e-6


def by_region(at):
    """The distance from the crate, by cases."""
    local = TURN.T @ (at - np.array(CRATE.center))
    local = np.where(local.real < 0, -local, local)
    beyond = local - HALF
    if (beyond.real <= 0).all():
        return beyond[np.argmax(beyond.real)]
    out = np.where(beyond.real > 0, beyond, 0)
    return np.sqrt(np.sum(out**2))


def test_derivatives_of_a_box_are_finite_everywhere():
    f = neuler.function(lambda x: CRATE.distance(x), {"x": 3}, "d")
    for shift in (0.0, 1e-16, 1e-13, 1e-10, -1e-13):
        for at in np.stack(np.meshgrid(*[np.array([-1.0, 0.0, 1.0]) * (1 + shift)] * 3), axis=-1).reshape(-1, 3):
            spot = TURN @ (at * HALF) + CRATE.center
            slope = f.jacobian("x")(spot)
            assert np.isfinite(f.hessian("x")(spot)).all()
            assert 0.5 < np.linalg.norm(slope) < 1.5  # a way out, from the centre too
    assert np.isnan(f(np.full(3, np.nan)))


def test_a_box_among_others():
    room = clearance(BALLS, [*WALLS, CRATE, Box((1, 1, 1), (0.1, 0.1, 0.1))])
    assert room.labels[3:5] == (f"{FRAMES[0]}.crate", f"{FRAMES[0]}.box5")
    assert Box((0, 0, 0), (1, 1, 1), np.eye(3)) == Box((0, 0, 0), (1, 1, 1), np.eye(3).tolist())
    assert hash(CRATE) == hash(Box(CRATE.center, CRATE.size, TURN, name="crate"))
    poses = np.tile(np.eye(4), (5, 1, 1))
    assert np.shape(clearance([Ball("tool", 0.1)], [CRATE]).rows({"tool": poses})) == (1, 5)


def test_a_plan_around_a_box():
    """Checked against points of the box at many moments, which know nothing of the formula."""
    arm = neuler.robots.two_link()
    wall = plan.Box((0.77, 0.08, 0.0), (0.2, 0.15, 0.4), Transform.rot_z(0.2).rotation)
    start, goal = [-0.9, 0.8], [0.3, 0.8]
    kept = [plan.clear_of([plan.Ball("tool", 0.03)], [wall], margin=0.01), plan.within(plan.velocity, 3.0)]
    limits = [*kept, plan.within(plan.acceleration, 20.0)]
    found = plan.Plan(arm, plan.duration(), start=start, goal=goal, limits=limits, control_points=12).solve()
    assert found.valid
    q = found.at(np.linspace(0.0, found.duration, 1500)).q
    tool = arm.compile("link_poses", frame="tool")(q)[:, :3, 3]
    local = (tool - wall.center) @ np.array(wall.rotation)
    nearest = np.clip(local, -np.array(wall.size) / 2, np.array(wall.size) / 2)
    away = np.linalg.norm(local - nearest, axis=1)
    assert 0.04 - 1e-5 < away.min() < 0.05  # it goes as near as it may
    straight = np.linspace(start, goal, 200)
    through = arm.compile("link_poses", frame="tool")(straight)[:, :3, 3]
    assert min(wall.distance(x) for x in through) < 0.0


def test_a_moment_knows_its_poses():
    q = ARM.neutral()

    class Moment:
        def pose(self, name):
            return ARM.compile("link_poses", frame=name)(q)

    poses = {name: Moment().pose(name) for name in ROOM.frames}
    assert ROOM.rows(Moment()) == ROOM.rows(poses)


def test_names():
    assert ROOM.frames == (FRAMES[0], FRAMES[1], FRAMES[-1])
    assert ROOM.labels[:3] == tuple(f"{FRAMES[0]}.{wall}" for wall in ("sphere1", "post", "floor"))
    assert ROOM.labels[-1] == f"{FRAMES[0]}.{FRAMES[-1]}"
    two = [Ball("a", 0.1), Ball("a", 0.2, (0, 0, 1)), Ball("b", 0.1, name="fist")]
    assert clearance(two, own="all").labels == ("a.1.fist", "a.2.fist")
    assert clearance(two, own=[("b", "a"), ("a", "b")]).own == ((0, 2), (1, 2))
    assert HalfSpace((0, 0, 0), (0, 0, 2e-200)).normal == (0.0, 0.0, 1.0)
    assert clearance(two, [Sphere((0, 0, 0), 1)]) == clearance(two, [Sphere((0, 0, 0), 1)])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Ball("tool", -0.1), r"ball on 'tool': radius must not be negative \(m\), got -0.1"),
        (lambda: Ball("tool", np.nan), "ball on 'tool': radius must be finite, got nan"),
        (lambda: Ball("", 0.1), "name of a link or frame is needed"),
        (lambda: Ball("tool", 0.1, (0.0, 1.0)), r"ball on 'tool': center must be 3 numbers, got shape \(2,\)"),
        (lambda: Sphere((0, 0, np.inf), 0.1), "sphere: center must be finite, got .*inf"),
        (lambda: Sphere((0, 0, 0), "wide"), "sphere: radius must be a number, got 'wide'"),
        (lambda: Sphere((0, 0, 0), 0.1, name=3), "sphere: name must be text"),
        (lambda: Capsule((0, 0, 1), (0, 0, 1), 0.1), "capsule: a and b must differ"),
        (lambda: Capsule((0, 0, 1), (0, 0, 2), -1), "capsule: radius must not be negative"),
        (lambda: HalfSpace((0, 0, 0), (0, 0, 0)), "half-space: normal must not be zero"),
        (lambda: HalfSpace((0, 0, np.nan), (0, 0, 1)), "half-space: point must be finite, got .*nan"),
        (lambda: Box((0, 0, 0), (1, 0, 1)), "box: size must be three edges above zero"),
        (lambda: Box((0, 0, 0), (1, -1, 1)), "box: size must be three edges above zero"),
        (lambda: Box((0, 0, 0), (1, 1)), r"box: size must be 3 numbers, got shape \(2,\)"),
        (lambda: Box((0, 0, np.nan), (1, 1, 1)), "box: center must be finite"),
        (lambda: Box((0, 0, 0), (1, 1, 1), (0.1, 0.2, 0.3)), r"box: rotation must be a 3x3 matrix, got shape \(3,\)"),
        (lambda: Box((0, 0, 0), (1, 1, 1), "up"), "box: rotation must be a 3x3 matrix, got 'up'"),
        (lambda: Box((0, 0, 0), (1, 1, 1), 2 * np.eye(3)), "box: rotation: .* not a rotation matrix"),
        (lambda: Box((0, 0, 0), (1, 1, 1), -np.eye(3)), "box: rotation: .* a reflection"),
        (lambda: Box((0, 0, 0), (1, 1, 1), np.full((3, 3), np.nan)), "box: rotation: .* not finite"),
        (lambda: Box((0, 0, 0), (1, 1, 1), name=3), "box: name must be text"),
        (lambda: clearance([], WALLS), "without balls touches nothing"),
        (lambda: clearance(BALLS), "nothing to keep clear of"),
        (lambda: clearance([WALLS[0]], WALLS), "balls must be Ball"),
        (lambda: clearance(BALLS, BALLS), "obstacles are Sphere, Capsule, Box and HalfSpace"),
        (lambda: clearance(BALLS, WALLS, margin=np.nan), "clearance: margin must be finite, got nan"),
        (lambda: clearance(BALLS, WALLS, own="some"), "pairs of frames or 'all', got 'some'"),
        (lambda: clearance(BALLS, WALLS, own=[("tool",)]), "own must be pairs of frames"),
        (lambda: clearance(BALLS, WALLS, own=[(FRAMES[0], "hnd")]), "there is no ball on 'hnd'"),
        (lambda: clearance(BALLS, WALLS, own=[(FRAMES[0],) * 2]), "never move against each other"),
        (
            lambda: clearance(BALLS, [Sphere((0, 0, 0), 1, "x"), Sphere((0, 0, 1), 1, "x")]),
            "two obstacles are named 'x'",
        ),
        (lambda: clearance([Ball("a", 1, name="x"), Ball("b", 1, name="x")], WALLS), "two balls are named 'x'"),
        (lambda: ROOM.rows({}), "pose of .* is missing"),
        (lambda: ROOM.rows([np.eye(4)]), "poses of .* are needed, got 1"),
        (lambda: ROOM.rows([np.eye(3)] * 3), r"homogeneous matrix \(4, 4\)"),
    ],
)
def test_bad_input_is_refused_by_name(call, message):
    with pytest.raises(InputError, match=message):
        call()
