"""Compiled scans beside plain loops."""

import pickle

import numpy as np
import pytest

import neuler
from neuler import math as nm
from neuler.errors import InputError
from neuler.functions.scan import scan

rng = np.random.default_rng(11)


def filter_step(x, A, u, k):
    after = k * (A @ x) + u
    return after, after @ after, nm.maximum(after[0], 0.0)


@pytest.fixture(scope="module")
def filtering():
    return scan(filter_step, {"x": 2}, {"A": (2, 2), "u": 2}, ("size", "top"), {"k": ()}, name="filtering")


def by_hand(x, A, u, k):
    sizes, tops = [], []
    for A_i, u_i in zip(A, u, strict=True):
        x = k * (A_i @ x) + u_i
        sizes.append(x @ x)
        tops.append(max(x[0], 0.0))
    return x, sizes, tops


@pytest.mark.parametrize("rows", [1, 3, 8, 16, 19])
def test_a_batch_is_what_a_python_loop_gives(filtering, rows):
    x, A, u, k = rng.normal(size=(rows, 2)), rng.normal(size=(rows, 30, 2, 2)), rng.normal(size=(rows, 30, 2)), 0.4
    found = filtering(x, A, u, k)
    for i in range(rows):
        last, sizes, tops = by_hand(x[i], A[i], u[i], k)
        np.testing.assert_allclose(found.x[i], last, rtol=1e-12)
        np.testing.assert_allclose(found.size[i], sizes, rtol=1e-12)
        np.testing.assert_allclose(found.top[i], tops, rtol=1e-12, atol=1e-14)


def test_no_batch_axes_and_a_single_step(filtering):
    x, A, u = rng.normal(size=2), rng.normal(size=(1, 2, 2)), rng.normal(size=(1, 2))
    found = filtering(x, A, u, k=1.0)
    assert (found.x.shape, found.size.shape) == ((2,), (1,))
    np.testing.assert_allclose(found.x, A[0] @ x + u[0], rtol=1e-14)


def test_reverse_starts_at_the_last_row_and_keeps_places(filtering):
    x, A, u = rng.normal(size=(5, 2)), rng.normal(size=(5, 12, 2, 2)), rng.normal(size=(5, 12, 2))
    back = filtering(x, A, u, 0.3, reverse=True)
    turned = filtering(x, A[:, ::-1], u[:, ::-1], 0.3)
    np.testing.assert_array_equal(back.x, turned.x)
    np.testing.assert_array_equal(back.size, turned.size[:, ::-1])


def test_one_row_is_held_and_batches_broadcast(filtering):
    A, u = rng.normal(size=(1, 2, 2)), rng.normal(size=(4, 1, 20, 2))
    found = filtering(np.ones(2), A, u, np.array([0.1, 0.5, 0.9]))
    assert found.size.shape == (4, 3, 20)
    for i in range(4):
        for j, k in enumerate((0.1, 0.5, 0.9)):
            last, _, _ = by_hand(np.ones(2), np.repeat(A, 20, axis=0), u[i, 0], k)
            np.testing.assert_allclose(found.x[i, j], last, rtol=1e-12)


def test_strided_views_and_whole_numbers(filtering):
    A, u = rng.normal(size=(20, 2, 2, 3))[..., 1], rng.normal(size=(40, 4))[::2, ::2]
    found = filtering([1, 2], A, u, 1)
    np.testing.assert_allclose(found.size, by_hand(np.array([1.0, 2.0]), A, u, 1.0)[1], rtol=1e-12)


def test_threads_give_the_same(filtering):
    x, A, u = rng.normal(size=(3000, 2)), rng.normal(size=(3000, 200, 2, 2)), rng.normal(size=(3000, 200, 2))
    one, two = (filtering(x, A, u, 0.4, threads=count) for count in (1, 2))
    np.testing.assert_array_equal(one.size, two.size)


def test_a_robot_inside():
    """Explicit Euler of a robot: what ``rollout`` does."""
    arm = neuler.robots.two_link()

    def step(q, qd, tau, dt):
        qdd = arm.forward_dynamics(q, qd, tau)
        return q + dt * qd, qd + dt * qdd, q + dt * qd

    loop = scan(step, {"q": 2, "qd": 2}, {"tau": 2}, "way", {"dt": ()})
    q, tau = rng.uniform(-1, 1, (6, 2)), rng.normal(size=(6, 50, 2))
    way = loop(q, np.zeros(2), tau, 1e-3).way
    v, x = np.zeros((6, 2)), q
    for k in range(50):
        v, x = v + 1e-3 * arm.forward_dynamics(x, v, tau[:, k]), x + 1e-3 * v
        np.testing.assert_allclose(way[:, k], x, rtol=1e-11, atol=1e-13)


def test_nan_stays_in_its_row(filtering):
    u = rng.normal(size=(9, 10, 2))
    clean = filtering(np.ones(2), np.eye(2)[None], u, 0.5)
    u[4, 5, 0] = np.nan
    found = filtering(np.ones(2), np.eye(2)[None], u, 0.5)
    np.testing.assert_array_equal(np.isnan(found.size[4]), np.arange(10) >= 5)
    others = np.arange(9) != 4
    np.testing.assert_array_equal(found.size[others], clean.size[others])


def test_a_pickle_computes_the_same(filtering):
    again = pickle.loads(pickle.dumps(filtering))
    A, u = rng.normal(size=(5, 2, 2)), rng.normal(size=(5, 2))
    np.testing.assert_array_equal(again(np.ones(2), A, u, 0.5).size, filtering(np.ones(2), A, u, 0.5).size)
    assert repr(again).startswith("<scan filtering: carry x (2,)")


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: scan(lambda x, u: (u, x), {"x": 2}, {"u": 3}, "y"), r"gives x back with shape \(3,\)"),
        (lambda: scan(lambda x, u: (x, u), {"x": 2}, {"x": 2}, "y"), "named twice"),
        (lambda: scan(lambda x, u: (x, u), {"x": 2}, {}, "y"), "must map names to shapes"),
        (lambda: scan(lambda event, u: (event, u), {"event": 2}, {"u": 2}, "y"), "'event'"),
        (lambda: scan(lambda x, u: x, {"x": 2}, {"u": 2}, "y"), "gave 1 results"),
    ],
)
def test_a_bad_step_is_refused(make, words):
    with pytest.raises(InputError, match=words):
        make()


@pytest.mark.parametrize(
    ("given", "named", "words"),
    [
        ((np.ones(3), np.ones((4, 2, 2)), np.ones((4, 2)), 1.0), {}, r"expected x with axes \(..., 2\)"),
        ((np.ones(2), np.ones((4, 2, 2)), np.ones((5, 2)), 1.0), {}, "as many steps"),
        ((np.ones(2), np.ones((2, 2)), np.ones((5, 2)), 1.0), {}, r"expected A with axes \(..., steps, 2, 2\)"),
        ((np.ones(2), np.ones((0, 2, 2)), np.ones((0, 2)), 1.0), {}, "as many steps"),
        ((np.ones((3, 2)), np.ones((4, 5, 2, 2)), np.ones((5, 2)), 1.0), {}, "do not broadcast"),
        ((np.ones(2), np.ones((4, 2, 2)), np.ones((4, 2))), {}, "'k' is not given"),
        ((np.ones(2), np.ones((4, 2, 2)), np.ones((4, 2)), 1.0), {"x": 1}, "given twice"),
        ((np.ones(2), np.ones((4, 2, 2)), np.ones((4, 2))), {"kk": 1}, "no input 'kk'"),
        ((np.ones(2), np.ones((4, 2, 2)), np.ones((4, 2)), "a"), {}, "real numbers"),
        ((np.ones(2), np.ones((4, 2, 2)), np.ones((4, 2)), 1.0), {"threads": 0}, "threads"),
        ((1, 2, 3, 4, 5), {}, "takes 4 arrays"),
    ],
)
def test_bad_arguments_are_named(filtering, given, named, words):
    with pytest.raises(InputError, match=words):
        filtering(*given, **named)


# ---- tables -------------------------------------------------------------------------------------------------------


def walk():
    """A line says which one is next, and what to add."""
    tables = {"line": (2, "k")}
    return scan(
        lambda k, total, line: (line[0], total + line[1], total), {"k": (), "total": ()}, {}, "y", tables=tables
    )


@pytest.mark.parametrize("batch", [(), (3,), (2, 11)])
def test_a_step_looks_up_the_line_that_the_carry_says(batch):
    rng = np.random.default_rng(0)
    lines = np.stack([rng.uniform(-3.0, 43.0, (*batch, 40)), rng.normal(size=(*batch, 40))], axis=-1)
    start = rng.uniform(0, 40, batch)
    for loop in (walk(), pickle.loads(pickle.dumps(walk()))):
        found = loop(start, 0.0, lines, steps=50)
        assert found.y.shape == (*batch, 50)
        for where in np.ndindex(batch):
            k, total = start[where], 0.0
            for step in range(50):
                assert found.y[(*where, step)] == pytest.approx(total, abs=1e-12)
                k, more = lines[(*where, int(np.clip(k, 0, 39)))]
                total += more


def test_lines_outside_a_table_and_nan_are_the_nearest_and_the_first():
    lines = np.array([[1e300, 1.0], [np.nan, 10.0], [-1e300, 100.0]])
    np.testing.assert_array_equal(walk()(0.0, 0.0, lines, steps=4).y, [0.0, 1.0, 101.0, 102.0])
    np.testing.assert_array_equal(walk()(1.0, 0.0, lines, steps=3).y, [0.0, 10.0, 11.0])
    np.testing.assert_array_equal(walk()(np.nan, 0.0, lines, steps=2).y, [0.0, 1.0])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: walk()(0.0, 0.0, np.zeros((3, 2))), "how many steps"),
        (lambda: walk()(0.0, 0.0, np.zeros((0, 2)), steps=3), "has no lines"),
        (lambda: walk()(0.0, 0.0, np.zeros((3, 4)), steps=3), "expected line with axes"),
        (lambda: scan(lambda x, t: (x, x), {"x": 2}, {}, "y", tables={"t": (1, "x")}), "must be a number of the carry"),
    ],
)
def test_bad_tables_are_named(call, words):
    with pytest.raises(InputError, match=words):
        call()
