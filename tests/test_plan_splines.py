"""B-splines against SciPy's, against complex steps, and against what they must keep."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.interpolate import BSpline

from neuler.errors import InputError
from neuler.plan import splines as bs
from neuler.plan import splines as sy

RNG = np.random.default_rng(7)
quick = settings(max_examples=40, deadline=None)


@st.composite
def splines(draw):
    """A degree, and knots on random breaks, some repeated."""
    degree = draw(st.integers(1, 7))
    spans = draw(st.lists(st.sampled_from([0.0, 0.1, 0.3, 1.0, 2.0]), min_size=0, max_size=8))
    steps = np.array([0.7, *spans, 0.4])
    breaks = np.cumsum([0.0, *steps]) / steps.sum()
    breaks[-1] = 1.0
    _, counts = np.unique(breaks, return_counts=True)
    if counts.max() > degree:
        breaks = np.unique(breaks)
    return degree, bs.clamped(len(breaks) - 1 + degree, degree, breaks)


def control_points(knots, degree, seed=0):
    return np.random.default_rng(seed).normal(size=len(knots) - degree - 1)


def points(knots, count=200):
    """Also at knots."""
    return np.unique(np.concatenate([np.linspace(0.0, 1.0, count), knots[(knots >= 0) & (knots <= 1)]]))


def near(found, expected, tolerance=1e-12):
    scale = max(np.abs(expected).max(), 1e-300)
    assert np.abs(np.asarray(found) - expected).max() <= tolerance * scale


@quick
@given(splines())
def test_values_and_derivatives_are_those_of_scipy(spline):
    degree, knots = spline
    c, s = control_points(knots, degree), points(knots)
    known = BSpline(knots, c, degree)
    for order in range(degree + 1):
        near(bs.operator(knots, degree, s, order) @ c, known(s, nu=order), 2e-12)


@quick
@given(splines())
def test_they_add_up_to_one(spline):
    degree, knots = spline
    first, values = bs.basis(knots, degree, points(knots), order=degree + 2)
    assert np.abs(values[0].sum(axis=-1) - 1.0).max() < 1e-14
    assert values[0].min() >= 0.0
    for order in range(1, degree + 1):
        assert np.abs(values[order].sum(axis=-1)).max() <= 1e-12 * np.abs(values[order]).max()
    assert not values[degree + 1 :].any()
    assert first.min() == 0
    assert first.max() == len(knots) - 2 * degree - 2


@pytest.mark.parametrize("degree", [1, 2, 3, 5])
def test_sides_at_knots(degree):
    breaks = np.array([0.0, 0.3, 0.3, 0.8, 1.0]) if degree > 1 else np.array([0.0, 0.3, 0.8, 1.0])
    knots = bs.clamped(len(breaks) - 1 + degree, degree, breaks)
    c = control_points(knots, degree)
    inner = np.array([0.3, 0.8])
    piece = 1e-3
    for order in range(degree + 1):
        for side, way in (("left", -1.0), ("right", 1.0)):
            found = bs.operator(knots, degree, inner, order, side) @ c
            # the polynomial piece on that side, continued to the knot by its Taylor series
            near_by = inner + way * piece
            series = sum(
                (bs.operator(knots, degree, near_by, order + k) @ c) * (-way * piece) ** k / math.factorial(k)
                for k in range(degree - order + 1)
            )
            near(found, series, 1e-11)
    jump = (
        bs.operator(knots, degree, [0.8], degree, "right") @ c - bs.operator(knots, degree, [0.8], degree, "left") @ c
    )
    assert abs(jump[0]) > 1.0
    for side in ("left", "right"):  # at the ends there is one side only
        near((bs.operator(knots, degree, [0.0, 1.0], 0, side) @ c), c[[0, -1]])


def test_greville_points_are_the_line():
    for degree in range(1, 8):
        knots = bs.clamped(12, degree)
        s = points(knots)
        near(bs.operator(knots, degree, s) @ bs.greville(knots, degree), s, 1e-14)
        near(bs.operator(knots, degree, s, 1) @ bs.greville(knots, degree), np.ones_like(s), 1e-12)


@pytest.mark.parametrize("degrees", [(3, 3), (3, 5), (5, 3), (1, 3)])
@pytest.mark.parametrize("sizes", [(8, 20), (20, 80), (20, 8)])
def test_fitted_keeps_the_ends(degrees, sizes):
    (p, d), (m, n) = degrees, sizes
    old, new = bs.clamped(m, p), bs.clamped(n, d)
    c = control_points(old, p)
    matrix = bs.fitted(old, p, new, d)
    assert matrix.shape == (n, m)
    for order in (0, 1):
        near(bs.operator(new, d, [0, 1], order) @ (matrix @ c), bs.operator(old, p, [0, 1], order) @ c, 1e-11)
    # least squares: no free direction has anything left to gain
    s, w = bs.gauss(np.concatenate([old, new]), 7)
    rest = bs.operator(new, d, s) @ (matrix @ c) - bs.operator(old, p, s) @ c
    slope = bs.operator(new, d, s).T @ (w * rest)
    assert np.abs(slope[2:-2]).max() < 1e-13
    assert np.abs(slope[:2]).max() > 1e-10 or np.abs(rest).max() < 1e-10


def test_fitted_is_exact_where_spaces_are_nested():
    old, new = bs.clamped(13, 3), bs.clamped(23, 3)
    c = control_points(old, 3)
    s = np.linspace(0, 1, 300)
    near(bs.operator(new, 3, s, 2) @ (bs.fitted(old, 3, new, ends=2) @ c), bs.operator(old, 3, s, 2) @ c, 1e-10)
    raised = bs.clamped(
        10 + 5 + 2 * 9, 5, np.sort(np.concatenate([np.linspace(0, 1, 11)] + 2 * [np.linspace(0, 1, 11)[1:-1]]))
    )
    near(bs.operator(raised, 5, s, 2) @ (bs.fitted(old, 3, raised, 5) @ c), bs.operator(old, 3, s, 2) @ c, 1e-9)


def test_fitted_refuses_what_it_cannot_keep():
    with pytest.raises(InputError, match="cannot keep 1 derivatives"):
        bs.fitted(bs.clamped(8, 3), 3, bs.clamped(3, 2), 2)
    with pytest.raises(InputError, match="cannot keep 2 derivatives"):
        bs.fitted(bs.clamped(8, 3), 3, bs.clamped(20, 1), 1, ends=2)


@pytest.mark.parametrize("degree", [1, 3, 4])
def test_gauss_points_integrate_exactly(degree):
    knots = bs.clamped(9, degree)
    c = control_points(knots, degree)
    s, w = bs.gauss(knots, degree + 1)
    near(w @ (bs.operator(knots, degree, s) @ c) ** 2, _square_integral(knots, degree, c), 1e-12)
    assert len(s) == (degree + 1) * (9 - degree)


def _square_integral(knots, degree, c):
    from scipy.interpolate import PPoly

    piece = PPoly.from_spline(BSpline(knots, c, degree))
    total = 0.0
    for k, (a, b) in enumerate(itertools.pairwise(piece.x)):
        square = np.polymul(piece.c[:, k], piece.c[:, k])
        total += np.polyval(np.polyint(square), b - a)
    return total


@quick
@given(st.integers(1, 7), st.integers(1, 9), st.integers(0, 10_000))
def test_the_recursion_over_any_scalar_is_the_basis(degree, spans, seed):
    rng = np.random.default_rng(seed)
    breaks = np.cumsum([0.0, *rng.uniform(0.2, 1.0, spans)])
    breaks = breaks / breaks[-1]
    knots = bs.clamped(spans + degree, degree, breaks)
    span, share = int(rng.integers(spans)), float(rng.choice([0.0, rng.uniform(), 1.0]))
    at = breaks[span + 1] if share == 1 else breaks[span] + share * (breaks[span + 1] - breaks[span])
    first, values = bs.basis(knots, degree, [at], degree + 1, side="left" if share == 1 else "right")
    around = knots[span + 1 : span + 1 + 2 * degree]
    assert first[0] == span
    near(np.array(bs.derivatives(around, degree, at, degree)), values[:-1, 0], 1e-12)
    scaled = np.array(bs.derivatives(2.5 * around, degree, 2.5 * at, degree))  # knots in seconds: rates by time
    near(scaled, values[:-1, 0] / 2.5 ** np.arange(degree + 1)[:, None], 1e-12)


@pytest.mark.parametrize("degree", [1, 3, 5])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_mirrored_profiles(degree, sign):
    knots = bs.clamped(8 + degree, degree)
    m = len(knots) - degree - 1
    rows = sy.mirrored(knots, degree, sign).toarray()
    assert rows.shape == (m + degree, 2 * m)
    assert np.linalg.matrix_rank(rows) == m + degree
    _, sizes, basis = np.linalg.svd(rows)
    pair = basis[len(sizes) :].T @ RNG.normal(size=2 * m - len(rows))
    left, right = pair[:m], pair[m:]
    s = np.linspace(0.0, 1.0, 200)[1:-1]
    for order in range(degree + 1):
        shifted = bs.operator(knots, degree, np.mod(s + 0.5, 1.0), order) @ right
        near(bs.operator(knots, degree, s, order) @ left, sign * shifted, 1e-9)
    again = sy.closed(knots, degree).toarray()
    cycle = np.linalg.svd(again)[2][len(again) :].T @ RNG.normal(size=m - degree)  # any periodic right has its left
    mate = np.linalg.lstsq(rows[:, :m], -rows[:, m:] @ cycle, rcond=None)[0]
    assert np.abs(rows @ np.concatenate([mate, cycle])).max() < 1e-12


def test_mirrored_needs_breaks_that_repeat():
    with pytest.raises(InputError, match="do not fall on breaks"):
        sy.mirrored(bs.clamped(8, 3), 3)  # five spans
    with pytest.raises(InputError, match="shift must be a finite"):
        sy.mirrored(bs.clamped(7, 3), 3, shift=np.nan)
    uneven = bs.clamped(7, 3, [0.0, 0.1, 0.5, 0.6, 1.0])
    assert sy.mirrored(uneven, 3).shape == (10, 14)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: bs.clamped(3, 3), "degree 3 needs at least 4 control points, got 3"),
        (lambda: bs.clamped(5, 0), "degree must be a whole number from 1"),
        (lambda: bs.clamped(5, True), "degree must be a whole number"),
        (lambda: bs.clamped(5.0, 3), "control_points must be a whole number"),
        (lambda: bs.clamped(5, 3, [0.0, 0.7, 0.9]), "breaks must be 3 increasing numbers from 0 to 1"),
        (lambda: bs.clamped(6, 3, [0.0, 0.7, 0.6, 1.0]), "breaks must be 4 increasing"),
        (lambda: bs.clamped(5, 3, [0.0, np.nan, 1.0]), "breaks must be a list of finite numbers"),
        (lambda: bs.clamped(6, 1, [0, 0.5, 0.5, 0.5, 0.75, 1]), "may stand 2 times at most, 0.5 stands 3 times"),
        (lambda: bs.basis(bs.clamped(5, 3), 3, [0.5, 1.0 + 1e-9]), "shares from 0 to 1"),
        (lambda: bs.basis(bs.clamped(5, 3), 3, [-0.1]), "shares from 0 to 1"),
        (lambda: bs.basis(bs.clamped(5, 3), 3, [np.nan]), "points must be a list of finite numbers"),
        (lambda: bs.basis(bs.clamped(5, 3), 3, [[0.1]]), "points must be a list"),
        (lambda: bs.basis(bs.clamped(5, 3), 3, [0.5], order=-1), "order must be a whole number, 0 or more"),
        (lambda: bs.basis(bs.clamped(5, 3), 3, [0.5], side="both"), "side must be 'left' or 'right'"),
        (lambda: bs.basis([0, 0, 0.6, 0.5, 1, 1], 1, [0.5]), "must not decrease, got 0.6 before 0.5"),
        (lambda: bs.basis([0, 0, 1], 1, [0.5]), "needs at least 4 knots, got 3"),
        (lambda: bs.basis([0, 0, 0, 1, 1, 1], 1, [0.5]), "may stand 2 times at most, 0 stands 3 times"),
        (lambda: bs.basis([0, 0, 2, 2], 1, [0.5]), "knots must span 0 to 1"),
        (lambda: bs.gauss(bs.clamped(5, 3), 0), "count must be a whole number, 1 or more"),
    ],
)  # fmt: skip
def test_bad_input_is_refused_by_name(call, message):
    with pytest.raises(InputError, match=message):
        call()


def test_one_number_is_a_point():
    first, values = bs.basis(bs.clamped(5, 3), 3, 0.5)
    assert first.tolist() == [1]
    assert values.shape == (1, 1, 4)
