"""Positions: neutral and random ones, the way between two, and quaternions that are no rotation."""

import math
import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import neuler
from free_robots import floating, several
from neuler import InputError, Joint, Limits, Link, Robot, robots
from neuler.algebra import pose
from neuler.diagnose.watch import Watch
from neuler.robot import configuration
from neuler.robot.kinds.quaternions import rotated
from random_robots import close, random_robot

HUGE = 1e150
quietly = pytest.mark.filterwarnings("ignore:(invalid value|divide by zero) encountered:RuntimeWarning")
"""NumPy's own words on what a kernel computes with such a quaternion."""


def aligned(robot, q, like):
    """q with every quaternion on the side of the one in ``like``: both signs are one rotation."""
    q = np.array(q)
    for _, first in configuration.quaternions(robot):
        turn = q[..., first : first + 4]
        turn *= np.where((turn * like[..., first : first + 4]).sum(axis=-1, keepdims=True) < 0, -1.0, 1.0)
    return q


# ---- neutral and random ---------------------------------------------------------------------------------


def limited():
    bounds = [(0.5, 2.0), (-3.0, -0.25), (2.0, -2.0), (-9.0, 9.0)]
    links = [Link("base")] + [Link.from_com(f"l{k}", mass=1.0) for k in range(4)]
    joints = [
        Joint(f"j{k}", "prismatic" if k == 1 else "revolute", links[k].name, links[k + 1].name, limits=Limits(*pair))
        for k, pair in enumerate(bounds)
    ]
    return Robot("limited", links, joints).with_free_base()


def test_neutral_is_within_the_limits():
    np.testing.assert_array_equal(limited().neutral(), [0, 0, 0, 0, 0, 0, 1, 0.5, -0.25, 0.0, 0.0])
    np.testing.assert_array_equal(robots.puma560().neutral(), np.zeros(6))


def test_random_configurations_are_within_the_limits_and_seeded():
    robot = limited()
    q = robot.random_configuration(3, (50, 40))
    assert q.shape == (50, 40, 11)
    np.testing.assert_allclose(np.linalg.norm(q[..., 3:7], axis=-1), 1.0, atol=1e-15)
    for k, (low, high) in enumerate([(0.5, 2.0), (-1.0, -0.25), (-math.pi, math.pi), (-math.pi, math.pi)]):
        assert low <= q[..., 7 + k].min() < low + 0.01 * (high - low)
        assert high - 0.01 * (high - low) < q[..., 7 + k].max() <= high
    assert np.array_equal(q, robot.random_configuration(np.random.default_rng(3), (50, 40)))
    assert not np.array_equal(robot.random_configuration(), robot.random_configuration())
    assert robot.random_configuration(0).shape == (11,)
    for bad in ({"seed": "x"}, {"seed": -1}, {"shape": (2, -1)}, {"shape": 1.5}):
        with pytest.raises(InputError, match="random_configuration: "):
            robot.random_configuration(**bad)


def test_random_rotations_are_uniform():
    """Of a uniform rotation every column has mean zero and second moment 1/3, and w^2 the mean 1/4."""
    q = random_robot(1).with_free_base().random_configuration(0, 200_000)
    x = rotated(q[:, 3:7], np.array([1.0, 0.0, 0.0]))
    assert np.abs(x.mean(axis=0)).max() < 0.01
    assert np.abs(x.T @ x / len(x) - np.eye(3) / 3).max() < 0.01
    assert np.abs(np.square(q[:, 3:7]).mean(axis=0) - 0.25).max() < 0.005


# ---- the way from one to another ------------------------------------------------------------------------

ANGLES = [0.0, 1e-300, 1e-160, 1e-12, 1e-8, 1e-6, 1e-4, 1e-2, 1.0, 3.0, math.pi - 1e-4, math.pi - 1e-8]


@pytest.mark.parametrize("angle", [*ANGLES, math.pi - 1e-12, math.pi])
@pytest.mark.parametrize("robot", [floating(3), several(0)], ids=["floating", "several"])
def test_there_and_back(robot, angle):
    rng = np.random.default_rng(1)
    q0 = robot.random_configuration(rng, 200)
    v = rng.uniform(-2, 2, (200, robot.nv))
    for k, turn in enumerate(configuration.quaternions(robot)):
        first = turn[1] - k  # a free joint has a velocity less than it has positions
        w = v[:, first : first + 3]
        w *= angle / np.linalg.norm(w, axis=1, keepdims=True)
    q1 = robot.integrate(q0, v, 1.0)
    found = robot.difference(q0, q1)
    if angle < math.pi - 1e-9:
        close(found, v, 1e-12, scale=1.0)
    again = robot.integrate(q0, found, 1.0)
    close(aligned(robot, again, q1), q1, 1e-12, scale=1.0)
    close(robot.integrate(q1, -found, 1.0), aligned(robot, q0, robot.integrate(q1, -found, 1.0)), 1e-12, scale=1.0)


numbers = st.floats(-3.0, 3.0, allow_subnormal=False)
quaternions = st.tuples(*[st.floats(-1, 1)] * 4).filter(lambda x: np.linalg.norm(x) > 1e-3)
places = st.tuples(st.tuples(*[st.floats(-100, 100)] * 3), quaternions, st.tuples(*[numbers] * 2))


def placed(robot, drawn):
    position, turn, angles = drawn
    return robot.normalize([*position, *turn, *angles])


TWO = robots.two_link().with_free_base()


@settings(max_examples=100, deadline=None)
@given(places, places, st.booleans())
def test_integrate_undoes_difference(start, end, other_side):
    q0, q1 = placed(TWO, start), placed(TWO, end)
    if other_side:
        q1[3:7] *= -1  # the same rotation
    v = TWO.difference(q0, q1)
    assert np.linalg.norm(v[3:6]) <= math.pi + 1e-12
    close(aligned(TWO, TWO.integrate(q0, v, 1.0), q1), q1, 1e-12, scale=1.0 + np.abs(q0).max() + np.abs(q1).max())
    close(TWO.difference(q0, q0), np.zeros(8), 1e-15, scale=1.0)


@settings(max_examples=80, deadline=None)
@given(places, st.tuples(*[numbers] * 8), st.floats(-2.0, 2.0), st.floats(-2.0, 2.0))
def test_time_adds_up(start, velocity, first, second):
    """exp(v a) exp(v b) = exp(v (a + b)): a constant velocity leads the same way in one step or two."""
    q, v = placed(TWO, start), np.array(velocity)
    once = TWO.integrate(q, v, first + second)
    twice = TWO.integrate(TWO.integrate(q, v, first), v, second)
    close(aligned(TWO, twice, once), once, 1e-12, scale=1.0 + np.abs(once).max() + np.abs(v).max())
    assert abs(np.linalg.norm(twice[3:7]) - 1) < 1e-15


def test_difference_broadcasts():
    q = TWO.random_configuration(0, (4, 3))
    found = TWO.difference(q[:, :1], q[0])
    assert found.shape == (4, 3, 8)
    close(found[2, 1], TWO.difference(q[2, 0], q[0, 1]), 1e-15)
    np.testing.assert_array_equal(robots.puma560().difference(np.ones(6), np.full(6, 3.0)), np.full(6, 2.0))
    with pytest.raises(InputError, match=r"do not broadcast: q0 \(4, 3, 9\), q1 \(2, 9\)"):
        TWO.difference(q, q[0, :2])


def test_integrate_moves_as_the_velocity_says():
    """dq/dt of the poses is the velocity that link_velocities has: central differences."""
    robot, h = several(1), 1e-5
    q, v = robot.random_configuration(0), np.random.default_rng(1).uniform(-1, 1, robot.nv)
    rate = (robot.link_poses(robot.integrate(q, v, h)) - robot.link_poses(robot.integrate(q, v, -h))) / (2 * h)
    poses, screws = robot.link_poses(q), robot.link_velocities(q, v)
    close(rate[:, :3, 3], np.einsum("kij,kj->ki", poses[:, :3, :3], screws[:, :3]), 1e-9, scale=1.0)
    spin = np.einsum("kji,kjl->kil", poses[:, :3, :3], rate[:, :3, :3])
    close(np.stack([spin[:, 2, 1], spin[:, 0, 2], spin[:, 1, 0]], axis=1), screws[:, 3:], 1e-9, scale=1.0)


def test_single_precision_integrates():
    single = TWO.compile("integrate", dtype="float32")
    np.testing.assert_array_equal(single(TWO.neutral(), np.zeros(8), 1.0), TWO.neutral())
    q, v = TWO.random_configuration(0, 50), np.random.default_rng(0).normal(size=(50, 8))
    close(single(q, v, 0.3), TWO.integrate(q, v, 0.3), 1e-5)


# ---- bad positions --------------------------------------------------------------------------------------


def test_normalize():
    q = TWO.random_configuration(0, 5)
    for factor in (1.0, -3.0, 1e-200, HUGE):
        scaled = q.copy()
        scaled[:, 3:7] *= factor
        found = TWO.normalize(scaled)
        close(aligned(TWO, found, q), q, 1e-15)
        np.testing.assert_allclose(np.linalg.norm(found[:, 3:7], axis=1), 1.0, atol=1e-15)
    np.testing.assert_array_equal(robots.puma560().normalize(range(6)), np.arange(6.0))


def rows_with(values, *rows):
    q = np.tile(TWO.neutral(), (9, 1))
    q[list(rows), 3:7] = values
    return q


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: TWO.normalize(rows_with(0.0, 2, 7)), "'root_joint' is zero in 2 of 9 rows: 2, 7;"),
        (lambda: TWO.normalize(rows_with(math.nan, 3)), "q is not finite in 1 of 9 rows: 3$"),
        (lambda: TWO.normalize(np.zeros(9)), "'root_joint' is zero; that is no rotation"),
        (lambda: TWO.normalize(np.zeros((3, 8))), r"expected q with last axis 9, got shape \(3, 8\)"),
        (lambda: TWO.normalize(1.0), r"got shape \(\)"),
        (lambda: TWO.normalize(["x"] * 9), "must be real numbers"),
        (lambda: TWO.normalize([[0.0], [0.0, 1.0]]), "not a regular array"),
        (lambda: TWO.difference(TWO.neutral(), rows_with(1.0, 4)), "q1: .* length 2 instead of 1 in 1 of 9 rows: 4;"),
        (lambda: TWO.difference(np.zeros(9), TWO.neutral()), "q0: .* length 0 instead of 1; .*robot.neutral"),
        (lambda: TWO.difference(np.full(9, math.inf), TWO.neutral()), "q0 is not finite"),
        (lambda: TWO.difference(rows_with(2.0, *range(9)).reshape(3, 3, 9), TWO.neutral()),
         r"in 9 of 9 rows: \(0, 0\), \(0, 1\), \(0, 2\), \(1, 0\), \(1, 1\), \.\.\."),
    ],
)  # fmt: skip
def test_bad_positions_are_refused(call, message):
    with pytest.raises(InputError, match=message):
        call()


# ---- quaternions that are no rotation, in kernels -------------------------------------------------------

PUMA = robots.puma560().with_free_base()
WITH_QUATERNION = [
    "inverse_dynamics", "forward_dynamics", "bias_force", "gravity_force", "hybrid_dynamics", "link_poses", "energy",
    "momentum", "integrate", "center_of_mass", "center_of_mass_jacobian", "centroidal_momentum",
    "centroidal_momentum_rate", "centroidal_matrix", "inverse_dynamics_sensitivities",
]  # fmt: skip
WITHOUT = ["mass_matrix", "coriolis_matrix", "link_velocities"]


def arguments(robot, kernel, count=None):
    shape = () if count is None else (count,)
    rng = np.random.default_rng(0)
    return [
        robot.random_configuration(rng, shape) if operand.name == "q" else rng.uniform(-1, 1, shape + operand.shape)
        for operand in kernel.inputs
    ]


def outputs(found):
    return found if isinstance(found, tuple) else (found,)


def test_the_bound_is_that_of_the_kernels():
    assert configuration.UNIT == pose.UNIT


@pytest.mark.parametrize("quantity", WITH_QUATERNION)
@quietly
def test_one_state_is_an_error(quantity):
    kernel = getattr(PUMA, quantity)
    q, *others = arguments(PUMA, kernel)
    kernel(q, *others)
    q[3:7] *= 1.02
    message = rf"{quantity}: the quaternion of joint 'root_joint', q\[3:7\], has the length 1.02 instead of 1"
    with pytest.raises(InputError, match=message):
        kernel(q, *others)
    with pytest.raises(InputError, match=message):
        kernel(q.tolist(), *others)
    with pytest.raises(InputError, match=message):
        kernel(q, *others, out=tuple(np.empty(o.shape) for o in kernel.outputs))
    kernel(PUMA.normalize(q), *others)


@pytest.mark.parametrize("quantity", WITH_QUATERNION)
@quietly
def test_a_batch_is_warned_of_and_the_others_are_right(quantity):
    kernel = getattr(PUMA, quantity)
    q, *others = arguments(PUMA, kernel, 300)
    expected = outputs(kernel(q, *others))
    q[[7, 130, 131], 3:7] *= [[0.0], [-1.01], [30.0]]
    text = r"'root_joint' has the length 0 instead of 1 in 3 of 300 rows: 7, 130, 131 \(.*\); the result is NaN there"
    good = np.setdiff1d(np.arange(300), [7, 130, 131])
    for out in (None, tuple(np.empty_like(x) for x in expected)):
        with pytest.warns(RuntimeWarning, match=text) as caught:
            found = outputs(kernel(q, *others, out=out))
        (only,) = caught
        assert only.filename == __file__
        assert any(np.isnan(x[7]).any() and np.isnan(x[131]).any() for x in found)
        for mine, theirs in zip(found, expected, strict=True):
            np.testing.assert_array_equal(mine[good], theirs[good])


@pytest.mark.parametrize("quantity", WITHOUT)
def test_what_does_not_depend_on_a_quaternion_does_not_see_it(quantity):
    kernel = getattr(PUMA, quantity)
    q, *others = arguments(PUMA, kernel, 10)
    expected = kernel(q, *others)
    q[:, 3:7] = 5.0
    np.testing.assert_array_equal(kernel(q, *others), expected)


@quietly
def test_every_free_joint_is_watched():
    robot = several(2)
    q, v, a = arguments(robot, robot.inverse_dynamics, 50)
    q[3, 4:8] = 1.0
    q[9, 11:15] = 0.5001 * np.sqrt([1.1, 1.1, 1.1, 1.1])
    with pytest.warns(RuntimeWarning) as caught:
        robot.inverse_dynamics(q, v, a)
    text = " ".join(str(w.message) for w in caught)
    assert (
        "joint 'fly1' has the length 2 instead of 1 in 1 of 50 rows: 3 (robot.normalize(q) gives it that length);"
        in text
    )
    assert "joint 'fly2' has the length 1.04" in text
    assert "rows: 9 (" in text
    with pytest.raises(InputError, match=r"joint 'fly2', q\[11:15\]"):
        robot.inverse_dynamics(q[9], v[9], a[9])


def test_what_is_no_number_anyway_is_not_what_is_looked_at():
    """A result that is NaN with good quaternions too (a singular robot at its neutral position) tells nothing."""
    inputs, outputs = PUMA.inverse_dynamics.inputs, PUMA.inverse_dynamics.outputs

    def computed(q, qd, qdd):
        found = np.zeros(12)
        found[2], found[7] = np.nan, np.sqrt(2.0 - q[3:7] @ q[3:7])
        return found

    watch = Watch(PUMA, "inverse_dynamics", inputs, outputs).find(computed, np.float64)
    assert [spot.index for spot in watch.spots] == [(7,)]


def test_no_number_in_no_number_out_without_a_word():
    q, v, a = arguments(PUMA, PUMA.inverse_dynamics, 20)
    q[4] = math.nan
    v[5] = math.nan
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*quaternion.*")
        found = PUMA.inverse_dynamics(q, v, a)
        assert np.isnan(PUMA.inverse_dynamics(q[4], v[4], a[4])).any()
    assert np.flatnonzero(np.isnan(found).any(axis=1)).tolist() == [4, 5]


@quietly
def test_large_batches_single_precision_and_pickled_kernels_are_watched_too():
    kernel = pickle.loads(pickle.dumps(PUMA.compile("inverse_dynamics")))
    kernel.threads = 2
    kernel(*arguments(PUMA, kernel, 1))
    rows = 2 * kernel._rows_per_thread + 10
    q, v, a = arguments(PUMA, kernel, rows)
    q[rows - 3, 3:7] *= 1.1
    with pytest.warns(RuntimeWarning, match=f"in 1 of {rows} rows: {rows - 3} "):
        kernel(q, v, a)
    single = PUMA.compile("inverse_dynamics", dtype="float32")
    with pytest.warns(RuntimeWarning, match="in 1 of 10 rows: 7 "):
        single(q[-10:], v[-10:], a[-10:])
    with pytest.warns(RuntimeWarning, match=r"in 2 of 4 rows: \(0, 1\), \(1, 1\)"):
        PUMA.inverse_dynamics(q[[0, rows - 3]], v[:2, None], a[0])


@quietly
@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("quantity", ["inverse_dynamics", "energy", "inverse_dynamics_sensitivities"])
def test_results_without_nan_are_not_looked_at(monkeypatch, quantity, count):
    """The code itself tells: batches of any size, with and without out, with several results."""
    kernel = PUMA.compile(quantity)
    kernel.threads = count
    kernel(*arguments(PUMA, kernel, 1))
    asked = []
    monkeypatch.setattr(kernel._watch, "named", lambda found, arrays: (asked.append(arrays), found)[1])
    for rows in (3, 2 * kernel._rows_per_thread + 10):
        given = arguments(PUMA, kernel, rows)
        out = tuple(np.empty((rows, *operand.shape)) for operand in kernel.outputs)
        found = kernel(*given)
        kernel(*given, out=out if len(out) > 1 else out[0])
        assert asked == []
        for x, y in zip(out, found if isinstance(found, tuple) else (found,), strict=True):
            np.testing.assert_array_equal(x, y)
        given[0][rows - 2, 3:7] = 1.0
        kernel(*given)
        kernel(*given, out=out if len(out) > 1 else out[0])
        assert len(asked) == 2
        asked.clear()


@quietly
def test_positions_that_are_written_over_are_watched_too():
    q, v = PUMA.random_configuration(0, 6), np.ones((6, 12))
    expected = PUMA.integrate(q, v, 0.1)
    PUMA.integrate(q, v, 0.1, out=q)
    np.testing.assert_array_equal(q, expected)
    q[2, 3:7] *= 2
    with pytest.warns(RuntimeWarning, match="in 1 of 6 rows: 2 "):
        PUMA.integrate(q, v, 0.1, out=q)
    with pytest.raises(InputError, match="takes 3 arrays"):
        PUMA.integrate(q, v, out=q)


def test_rounding_of_the_length_is_taken_out():
    q, v, a = arguments(PUMA, PUMA.inverse_dynamics)
    tau = PUMA.inverse_dynamics(q, v, a)
    q[3:7] *= 1.0004
    close(PUMA.inverse_dynamics(q, v, a), tau, 1e-14)


def test_methods_that_know_no_free_joints_say_so():
    with pytest.raises(
        InputError,
        match="'nasser' knows revolute and prismatic joints, and robot 'puma560' has 'root_joint', which is free; use",
    ):
        PUMA.compile("forward_dynamics", method="nasser")
    with pytest.raises(InputError, match="free joint"):
        PUMA.compile("inverse_dynamics_hessian")
    assert neuler.Kernel(robots.puma560(), "forward_dynamics", method="nasser")


@quietly
def test_warnings_of_open_loops_point_at_the_caller():
    machine = robots.four_bar()
    q = np.tile(machine.neutral(), (4, 1))
    q[2] += 0.5
    for kernel in (machine.mass_matrix, machine.compile("gravity_force"), machine.coupling_matrix):
        with pytest.warns(RuntimeWarning, match="the loops are open at this q") as caught:
            kernel(q)
        (only,) = caught
        assert only.filename == __file__
