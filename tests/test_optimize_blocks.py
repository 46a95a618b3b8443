"""Programmes put together from functions at many points, against the same by loops over points with full matrices."""

import dataclasses
import functools

import numpy as np
import pytest
from scipy import sparse
from scipy.interpolate import BSpline

import neuler
from neuler import math as nm
from neuler.errors import InputError
from neuler.functions import derivatives as derived_by
from neuler.functions.derivatives import Derivatives, HessianByProducts, JacobianByProducts
from neuler.motions import splines as bspline
from neuler.motions.profiles import Profiles
from neuler.optimize.block_programme import BlockProgramme
from neuler.optimize.blocks import Block, Total

TIGHT = {"rtol": 1e-12, "atol": 1e-12}


# ---- functions -----------------------------------------------------------------------------------------------------


def mixed(c, d, T, share):
    """Products of all inputs, some rows of few of them, one of none that is known."""
    return [
        nm.sin(c[0]) * T + d[1] ** 2,
        share * c[1] * d[0] / T,
        T**2 + c[0] * c[1] * d[0],
        c[2] - 2.0 * d[1],
        nm.sqrt(1.0 + c[2] ** 2 + share),
    ]


def torques(c, d, T, share):
    arm = neuler.robots.two_link()
    return arm.inverse_dynamics(c[:2], d / T, np.array([c[2], share * c[0]]) / T**2)


def linear(c, d, T, share):
    return [c[0] + 3.0 * d[1] - T, d[0] + share]


INPUTS = {"c": 3, "d": 2, "T": (), "share": ()}
FUNCTIONS = {f.__name__: f for f in (mixed, torques, linear)}
WRT = ["c", "d", "T"]
WIDTH = 6


@pytest.fixture(scope="module")
def functions():
    return {name: neuler.function(f, INPUTS, "rows", name) for name, f in FUNCTIONS.items()}


@pytest.fixture(params=["matrices", "products"])
def way(request, monkeypatch):
    """Derivatives written out, or by products with unit vectors, as of large functions."""
    derivatives = functools.partial(Derivatives, budget=10**9 if request.param == "matrices" else -1)
    monkeypatch.setattr(derived_by, "Derivatives", derivatives)
    return request.param


# ---- programmes ----------------------------------------------------------------------------------------------------

N = 9


def group(function, rng, points, weighted):
    """A function at points: variables shared between inputs and between points, bounds and weights here and there."""
    derived = derived_by.Derivatives(function, WRT)
    rows = derived.rows
    dense = rng.normal(size=(points * WIDTH, N)) * (rng.random((points * WIDTH, N)) < 0.4)
    shift = rng.normal(size=points * WIDTH)
    dense[5::WIDTH] = 0.0
    dense[5::WIDTH, 0] = 1.0  # T is a variable of its own
    shift[5::WIDTH] = 0.0
    lower = np.where(rng.random((points, rows)) < 0.4, rng.normal(size=(points, rows)), -np.inf)
    upper = np.where(rng.random((points, rows)) < 0.4, 3.0 + rng.random((points, rows)), np.inf)
    weights = rng.normal(size=(points, rows)) * (rng.random((points, rows)) < 0.5) * weighted
    known = {"share": rng.random(points)}
    return Block(
        derived, sparse.csr_matrix(dense), shift, known, lower, upper, weights, rng.uniform(0.5, 3.0, size=rows)
    )


@pytest.fixture
def programme(functions, way):
    rng = np.random.default_rng(7)
    groups = [
        group(functions["mixed"], rng, 4, True),
        group(functions["linear"], rng, 3, True),
        group(functions["torques"], rng, 5, False),
        group(functions["mixed"], rng, 1, False),
    ]
    for each in groups:
        assert each.derivatives.by_products == (way == "products")
    A = sparse.random(3, N, 0.5, random_state=3, format="csr")
    bounds = np.full(N, -np.inf), np.full(N, np.inf)
    made = BlockProgramme(rng.normal(size=N), groups, bounds, (A, -np.ones(3), np.ones(3)), rng.normal(size=N))
    made.offset = 0.25
    return made


def parts(programme, x):
    """By group and point: L, dense; z; values of the plain Python function; Jacobian by complex steps."""
    for each in programme.blocks:
        f = FUNCTIONS[each.derivatives.function.name]
        L = each.map.toarray().reshape(each.points, WIDTH, N)
        l = each.offset.reshape(each.points, WIDTH)
        for i in range(each.points):
            z = L[i] @ x + l[i]
            share = each.constants["share"][i]
            values = np.array(f(z[:3], z[3:5], z[5], share))
            if f is torques:  # verbs take no complex numbers
                J = np.asarray(each.derivatives.function.jacobian(WRT)(c=z[:3], d=z[3:5], T=z[5], share=share))
            else:
                steps = z + 1e-30j * np.eye(WIDTH)
                J = np.stack([np.array(f(w[:3], w[3:5], w[5], share)).imag / 1e-30 for w in steps], axis=1)
            yield each, i, L[i], z, values, J


def assembled(programme, x, weight, multipliers):
    """Objective, gradient, rows, Jacobian and Hessian, all dense, point by point."""
    total, slope = programme.cost @ x + programme.offset, programme.cost.copy()
    rows, J, H = [], [], np.zeros((N, N))
    rest = iter(multipliers)
    for each, i, L, z, values, dz in parts(programme, x):
        total += each.weights[i] @ values
        slope += L.T @ dz.T @ each.weights[i]
        factor = weight * each.weights[i]
        for row in range(len(values)):
            if np.isfinite(each.lower[i, row]) or np.isfinite(each.upper[i, row]):
                rows.append(values[row] / each.scale[row])
                J.append(dz[row] @ L / each.scale[row])
                factor[row] += next(rest) / each.scale[row]
        if each.derivatives.function.name != "linear":
            bend = each.derivatives.function.hessian(WRT)
            at = {"c": z[:3], "d": z[3:5], "T": z[5], "share": each.constants["share"][i]}
            H += L.T @ np.asarray(bend(**at, weights=factor)) @ L
    return total, slope, np.append(rows, programme.A @ x), np.vstack([*J, programme.A.toarray()]), H


def test_programmes_are_the_sums_over_points(programme):
    rng = np.random.default_rng(11)
    for _ in range(3):
        x, weight = rng.normal(size=N), rng.normal()
        x[0] = rng.uniform(0.5, 2.0)
        multipliers = rng.normal(size=programme.m)
        total, slope, rows, J, H = assembled(programme, x, weight, multipliers)
        assert programme.objective(x) == pytest.approx(total, rel=1e-12, abs=1e-12)
        size = np.abs(J).max()
        np.testing.assert_allclose(programme.gradient(x), slope, rtol=1e-12, atol=1e-12 * np.abs(slope).max())
        np.testing.assert_allclose(programme.rows(x), rows, rtol=1e-12, atol=1e-12 * np.abs(rows).max())
        found = np.zeros_like(J)
        found[programme.jacobian_at] = programme.jacobian(x)
        np.testing.assert_allclose(found, J, rtol=1e-12, atol=1e-12 * size)
        lower = np.zeros((N, N))
        lower[programme.hessian_at] = programme.hessian(x, weight, multipliers)
        np.testing.assert_allclose(lower, np.tril(H), rtol=1e-12, atol=1e-12 * np.abs(H).max())


def test_places_stand_once_and_in_order(programme):
    rows, columns = programme.jacobian_at
    assert (np.diff(rows * N + columns) > 0).all()
    assert rows.max() < programme.m
    rows, columns = programme.hessian_at
    assert (np.diff(rows * N + columns) > 0).all()
    assert (rows >= columns).all()


def test_bounds_are_scaled_and_in_order(programme):
    low, high = [], []
    for each in programme.blocks:
        for i in range(each.points):
            for row in range(each.derivatives.rows):
                if np.isfinite(each.lower[i, row]) or np.isfinite(each.upper[i, row]):
                    low.append(each.lower[i, row] / each.scale[row])
                    high.append(each.upper[i, row] / each.scale[row])
    np.testing.assert_allclose(programme.row_lower, [*low, -1, -1, -1], rtol=1e-15)
    np.testing.assert_allclose(programme.row_upper, [*high, 1, 1, 1], rtol=1e-15)
    assert programme.m == len(programme.row_lower) == len(low) + 3


def test_what_is_kept_of_a_point_is_not_kept_of_another(programme):
    """Values are held until x changes, in place or not; every order of calls gives the same."""
    rng = np.random.default_rng(2)
    x, multipliers = np.abs(rng.normal(size=N)) + 0.5, rng.normal(size=programme.m)
    other = x + 0.1
    calls = {
        "objective": lambda at: programme.objective(at),
        "gradient": lambda at: programme.gradient(at),
        "rows": lambda at: programme.rows(at),
        "jacobian": lambda at: programme.jacobian(at),
        "hessian": lambda at: programme.hessian(at, 0.3, multipliers),
    }
    first = {name: np.copy(call(x)) for name, call in calls.items()}
    moved = other.copy()
    second = {name: np.copy(call(moved)) for name, call in reversed(calls.items())}
    moved[:] = x  # the solver's own array, written over
    for name, call in calls.items():
        np.testing.assert_array_equal(call(moved), first[name])
        np.testing.assert_array_equal(call(other), second[name])
        assert not np.array_equal(first[name], second[name])


def test_results_are_the_solver_s_own(programme):
    """Writing into what was given does not change what comes next."""
    x = np.linspace(0.5, 1.5, N)
    for call in (programme.gradient, programme.rows, programme.jacobian):
        first = call(x)
        kept = first.copy()
        first[:] = np.nan
        np.testing.assert_array_equal(call(x), kept)


def test_weights_without_rows_and_rows_without_weights(functions, way):
    rng = np.random.default_rng(0)
    only = group(functions["mixed"], rng, 3, True)
    only = dataclasses.replace(only, lower=np.full_like(only.lower, -np.inf), upper=np.full_like(only.upper, np.inf))
    none = sparse.csr_matrix((0, N)), np.zeros(0), np.zeros(0)
    bounds = np.full(N, -np.inf), np.full(N, np.inf)
    made = BlockProgramme(np.zeros(N), [only], bounds, none, np.zeros(N))
    x = np.linspace(0.5, 1.5, N)
    assert made.m == 0
    assert len(made.rows(x)) == len(made.jacobian(x)) == 0
    total, slope, _, _, H = assembled(made, x, 1.0, np.zeros(0))
    assert made.objective(x) == pytest.approx(total, rel=1e-12)
    np.testing.assert_allclose(made.gradient(x), slope, **TIGHT)
    lower = np.zeros((N, N))
    lower[made.hessian_at] = made.hessian(x, 1.0, np.zeros(0))
    np.testing.assert_allclose(lower, np.tril(H), **TIGHT)
    empty = BlockProgramme(np.ones(N), [], bounds, none, np.zeros(N))
    assert empty.objective(x) == pytest.approx(x.sum())
    assert len(empty.hessian(x, 1.0, np.zeros(0))) == 0


# ---- products against matrices -------------------------------------------------------------------------------------


def one_row(c, d, T, share):
    return [c[0] * d[1] * T + share * c[2] ** 3]


def choice(c, d, T, share):
    return [
        nm.where(nm.greater(c[0], 0.0), c[0] * T, d[0] ** 2),
        nm.maximum(c[1], d[1]) * T,
        nm.absolute(c[2]) * share,
        1.0,
    ]


def free_arm(c, d, T, share):
    """Velocities, quaternions and a base that floats."""
    arm = neuler.robots.two_link().with_free_base()
    q = np.concatenate([c, [1.0, 0.1, 0.2, 0.3], d])
    return arm.inverse_dynamics(q, np.array([*c, *d, T, share, 1.0]), np.array([T, *d, *c, share, share]))


PRODUCTS = {f.__name__: f for f in (mixed, torques, one_row, choice, free_arm)}


@pytest.mark.parametrize("by", ["rows", "columns", None])
@pytest.mark.parametrize("wrt", [WRT, ["T", "c"]], ids="-".join)
@pytest.mark.parametrize("name", PRODUCTS)
def test_products_are_matrices(name, wrt, by):
    f = neuler.function(PRODUCTS[name], INPUTS, "rows", name)
    rng = np.random.default_rng(4)
    inputs = {"c": rng.normal(size=(6, 3)), "d": rng.normal(size=(6, 2)), "T": 1.0 + rng.random(6)}
    inputs["share"] = rng.random(6)
    rows = f.outputs[0].size
    weights = rng.normal(size=(6, rows))
    width = sum({"c": 3, "d": 2, "T": 1}[each] for each in wrt)
    slopes, written = JacobianByProducts(f, wrt, by), f.jacobian(wrt, sparse=True)
    assert by is None or slopes.by == by
    by_product, by_matrix = np.zeros((2, 6, rows, width))
    by_product[:, slopes.places[0], slopes.places[1]] = slopes(**inputs)
    (places,) = written.structure.values()
    by_matrix[:, places[0], places[1]] = written(**inputs)
    np.testing.assert_allclose(by_product, by_matrix, rtol=1e-12, atol=1e-12 * np.abs(by_matrix).max())
    np.testing.assert_allclose(by_matrix, f.jacobian(wrt)(**inputs), **TIGHT)
    bends, bent = HessianByProducts(f, wrt), f.hessian(wrt, sparse="lower")
    assert (bends.places[0] >= bends.places[1]).all()
    by_product, by_matrix = np.zeros((2, 6, width, width))
    by_product[:, bends.places[0], bends.places[1]] = bends(**inputs, weights=weights)
    (places,) = bent.structure.values()
    by_matrix[:, places[0], places[1]] = bent(**inputs, weights=weights)
    np.testing.assert_allclose(by_product, by_matrix, rtol=1e-12, atol=1e-12 * np.abs(by_matrix).max())
    whole = np.asarray(f.hessian(wrt)(**inputs, weights=weights))
    np.testing.assert_allclose(by_matrix, np.tril(whole), rtol=1e-12, atol=1e-12 * np.abs(whole).max())


def test_the_lower_triangle_is_half_of_both(functions):
    f = functions["mixed"]
    both, lower = f.hessian(WRT, sparse=True), f.hessian(WRT, sparse="lower")
    (all_places,), (places,) = both.structure.values(), lower.structure.values()
    pairs = set(zip(*all_places, strict=True))
    assert pairs == {(j, i) for i, j in pairs}
    assert set(zip(*places, strict=True)) == {(i, j) for i, j in pairs if i >= j}
    at = {"c": [0.1, 0.2, 0.3], "d": [0.4, 0.5], "T": 1.5, "share": 0.5, "weights": np.arange(1.0, 6.0)}
    values = dict(zip(zip(*all_places, strict=True), np.asarray(both(**at)), strict=True))
    for i, j, value in zip(*places, np.asarray(lower(**at)), strict=True):
        assert value == pytest.approx(values[i, j], rel=1e-14)
        assert value == pytest.approx(values[j, i], rel=1e-14)


def test_which_triangles_there_are(functions):
    with pytest.raises(InputError, match="sparse must be"):
        functions["mixed"].hessian(WRT, sparse="upper")
    with pytest.raises(InputError, match="sparse must be"):
        functions["mixed"].jacobian(WRT, sparse="lower")
    with pytest.raises(InputError, match="linear in c, d, T"):
        functions["linear"].hessian(WRT, sparse="lower")


def test_linear_functions_have_no_second_derivatives(functions, way):
    derived = derived_by.Derivatives(functions["linear"], WRT)
    assert derived.hessian is None
    derived.compile()


# ---- what functions take: splines of the variables -----------------------------------------------------------------


def splines(knots, degree, P, at, k):
    """Derivative k by another's hand; at the last knot from the left."""
    return BSpline(knots, P, degree).derivative(k)(at) if k else BSpline(knots, P, degree)(at)


@pytest.mark.parametrize("degree", [3, 5])
def test_operators_are_splines(degree):
    rng = np.random.default_rng(degree)
    breaks = np.sort(np.concatenate([[0.0, 1.0], rng.random(5)]))
    knots = bspline.clamped(6 + degree, degree, breaks)
    segment = Profiles(2, degree, knots, np.linspace(0, 1, 9), np.ones(9), 4, 3)
    n = segment.last + 2
    x = rng.normal(size=n)
    at = np.array([0.0, 0.1, 0.37, 0.9, 1.0])
    names = ["c2", "slack", "c0", "T", "dependent", "c1"]
    found = (segment.input_matrix(names, at, n, [0, 1, 2, 3, 8], {"slack": n - 1}) @ x).reshape(5, -1)
    P = segment.control_points(x)
    np.testing.assert_array_equal(P, x[4 : 4 + 2 * segment.control_point_count].reshape(-1, 2))
    parts = [
        splines(knots, degree, P, at, 2),
        np.full((5, 1), x[-1]),
        splines(knots, degree, P, at, 0),
        np.full((5, 1), x[segment.duration]),
        segment.dependent_positions(x)[[0, 1, 2, 3, 8]],
        splines(knots, degree, P, at, 1),
    ]
    expected = np.concatenate(parts, axis=1)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12 * np.abs(expected).max())
    for share in at:
        for k in range(3):
            terms = segment.coefficients(share, k, 1)
            value = sum(x[place] * factor for place, factor in terms.items())
            assert value == pytest.approx(splines(knots, degree, P, share, k)[1], rel=1e-11, abs=1e-10)


def test_totals_may_be_sparse_or_not():
    """Rows over all points: weights as an array or a sparse matrix give the same rows and derivatives."""
    f = neuler.function(lambda x: [x[0] * x[1], x[0] ** 2, nm.sin(x[1])], {"x": 2})
    random = np.random.default_rng(3)
    weights = random.normal(size=(2, 4, 3)) * (random.random((2, 4, 3)) < 0.4)
    x, multipliers = random.normal(size=8), random.normal(size=2)
    programmes = []
    for made in (np.asarray, sparse.csr_matrix):
        totals = [Total(made(each), -1.0, 1.0, {3: 2.0, 5: -1.0}) for each in weights]
        block = Block.of(f, {"x": sparse.eye(8)}, 4, totals=totals)
        programmes.append(BlockProgramme(np.zeros(8), [block], (np.full(8, -9.0), np.full(8, 9.0))))
    one, other = programmes
    values = f(x.reshape(4, 2))
    want = np.tensordot(weights, values, 2) + 2.0 * x[3] - x[5]
    for each in programmes:
        assert each.rows(x) == pytest.approx(want)
        step = 1e-6 * np.eye(8)
        slopes = np.array([(each.rows(x + d) - each.rows(x - d)) / 2e-6 for d in step]).T
        found = np.zeros((2, 8))
        found[each.jacobian_at] = each.jacobian(x)
        assert found == pytest.approx(slopes, abs=1e-8)
    assert np.array_equal(one.hessian(x, 1.0, multipliers), other.hessian(x, 1.0, multipliers))
