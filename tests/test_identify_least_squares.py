"""Least squares against closed forms, coverage of its intervals, outliers, and what it refuses."""

import tracemalloc

import numpy as np
import pytest

from identify_data import base, low_pass, noise, standard
from neuler import InputError
from neuler.identify import least_squares
from neuler.identify.correlation import automatic_lag, equivalent_freedom, ljung_box, moving_sums
from neuler.identify.least_squares import ordinary, reweighted, weighted
from neuler.identify.stacked import Stacked, solved


def data(seed=0, n=300, nu=2, p=4):
    rng = np.random.default_rng(seed)
    W = rng.normal(size=(n, nu, p)) * [1.0, 100.0, 0.01, 1.0]
    x = np.array([1.0, -0.02, 30.0, 0.5])
    return W, W @ x + rng.normal(size=(n, nu)) * np.linspace(0.1, 1.0, nu), x


def test_ordinary_is_the_textbook_formula():
    W, y, _ = data()
    A, b = W.reshape(-1, 4), y.ravel()
    found = ordinary(W, y, covariance="classical")
    np.testing.assert_allclose(found.values, np.linalg.lstsq(A, b, rcond=None)[0], rtol=1e-12)
    e = b - A @ found.values
    s2 = e @ e / (len(b) - 4)
    np.testing.assert_allclose(found.covariance, s2 * np.linalg.inv(A.T @ A), rtol=1e-9)
    np.testing.assert_allclose(found.rms, np.sqrt(((y - W @ found.values) ** 2).mean(axis=0)), rtol=1e-12)
    assert found.condition == pytest.approx(np.linalg.cond(A), rel=1e-9)
    assert found.scaled_condition == pytest.approx(np.linalg.cond(A / np.linalg.norm(A, axis=0)), rel=1e-9)
    np.testing.assert_allclose(found.relative_sd, 100 * found.sd / np.abs(found.values))
    assert found.rank == 4
    assert "x3" in str(found)


def test_weights_are_those_of_a_scaled_problem():
    W, y, _ = data(1)
    w = np.random.default_rng(2).uniform(0, 2, size=y.shape)
    w[:40] = 0.0
    found = ordinary(W, y, weights=w)
    root = np.sqrt(w).ravel()
    expected = np.linalg.lstsq(W.reshape(-1, 4) * root[:, None], y.ravel() * root, rcond=None)[0]
    np.testing.assert_allclose(found.values, expected, rtol=1e-12)
    np.testing.assert_allclose(
        ordinary(W, y, weights=np.append(np.zeros(40), np.ones(260))).values,
        ordinary(W[40:], y[40:]).values,
        rtol=1e-12,
    )


def test_weighted_is_its_own_fixed_point():
    W, y, x = data(3)
    found = weighted(W, y)
    assert found.converged
    scaled = np.linalg.lstsq((W / found.force_sd[:, None]).reshape(-1, 4), (y / found.force_sd).ravel(), rcond=None)[0]
    np.testing.assert_allclose(found.values, scaled, rtol=1e-9)
    np.testing.assert_allclose(found.force_sd, [0.1, 1.0], rtol=0.1)
    assert (np.abs(found.values - x) < 5 * found.sd).all()
    better = np.linalg.norm((weighted(W, y).values - x) / x) < np.linalg.norm((ordinary(W, y).values - x) / x)
    assert better


def test_blocks_change_nothing_and_memory_stays_bounded():
    rng = np.random.default_rng(4)
    W = rng.normal(size=(20000, 6, 20))
    W[:, 1, :5] = 0.0
    y = W @ np.arange(20.0) + rng.normal(size=(20000, 6))
    tracemalloc.start()
    found = weighted(W, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < W.nbytes
    A = (W / found.force_sd[:, None]).reshape(-1, 20)
    np.testing.assert_allclose(
        found.values, np.linalg.lstsq(A, (y / found.force_sd).ravel(), rcond=None)[0], rtol=1e-10
    )


def test_ill_conditioned_columns_are_not_squared():
    rng = np.random.default_rng(5)
    W = rng.normal(size=(200, 1, 3))
    W[..., 2] = W[..., 0] + 1e-7 * W[..., 2]
    found = ordinary(W, W @ [1.0, 2.0, 3.0])
    np.testing.assert_allclose(found.values, [1.0, 2.0, 3.0], rtol=1e-7)
    assert any("excites badly" in note for note in found.notes)


# ---- robots --------------------------------------------------------------------------------------------------------


def test_a_robot_is_found_again():
    W, names, x = base("rx90")
    found = weighted(W, W @ x, names)
    np.testing.assert_allclose(W @ found.values, W @ x, atol=1e-9 * np.abs(W @ x).max())
    assert found.rank == len(names)


def test_columns_that_are_not_determined_are_named():
    W, names, x = standard("two_link")
    y = W @ x + noise(W @ x, 0.01, 0)
    with pytest.raises(InputError, match=r"without any effect: .*only in combination.*base parameters"):
        ordinary(W, y, names)
    found = ordinary(W, y, names, undetermined="report")
    assert found.rank == base("two_link")[0].shape[2]
    assert found.undetermined
    at = [found.index(name) for name in found.undetermined]
    assert np.isinf(found.sd[at]).all()
    kept = [k for k in range(len(names)) if k not in at]
    assert np.isfinite(found.sd[kept]).all()
    reduced = ordinary(base("two_link")[0], y)
    np.testing.assert_allclose(W @ found.values, base("two_link")[0] @ reduced.values, atol=1e-8 * np.abs(y).max())


# ---- coverage ------------------------------------------------------------------------------------------------------


def coverage(method, kind, runs, **options):
    W, names, x = base("rx90")
    y, hits = W @ x, []
    used = low_pass(W)[20:-20] if kind == "filtered" else W
    for run in range(runs):
        noisy = y + noise(y, 0.02, run)
        fitted = low_pass(noisy)[20:-20] if kind == "filtered" else noisy
        low, high = method(used, fitted, names, **options).interval().T
        hits.append((low <= x) & (x <= high))
    return np.mean(hits)


RUNS = [pytest.param(15, id="few"), pytest.param(200, id="all", marks=pytest.mark.slow)]


@pytest.mark.parametrize("runs", RUNS)
@pytest.mark.parametrize("kind", ["white", "filtered"])
@pytest.mark.parametrize("method", [ordinary, weighted])
def test_intervals_cover_the_truth(method, kind, runs):
    """95 % intervals of 36 parameters; runs of one log are correlated, so that few of them say less."""
    low, high = (0.92, 0.98) if runs >= 100 else (0.90, 0.99)
    assert low <= coverage(method, kind, runs) <= high


def test_classical_intervals_are_too_narrow_after_filtering():
    assert coverage(weighted, "filtered", 5, covariance="classical") < 0.75
    assert 0.9 < coverage(weighted, "white", 10, covariance="classical") < 0.99


def test_correlated_residuals_are_mentioned():
    W, names, x = base("rx90")
    y = W @ x
    fitted = low_pass(y + noise(y, 0.02, 0))[20:-20]
    found = weighted(low_pass(W)[20:-20], fitted, names, covariance="classical")
    assert found.correlation.correlated
    assert any('covariance="robust"' in note for note in found.notes)
    assert not weighted(W, y + noise(y, 0.02, 0), names).correlation.correlated


def test_covariance_without_leverages_is_that_of_newey_and_west():
    psi = np.random.default_rng(0).normal(size=(60, 3)).cumsum(axis=0)
    lag, S = 5, psi.T @ psi
    for k in range(1, lag):
        cross = psi[k:].T @ psi[:-k]
        S = S + (1 - k / lag) * (cross + cross.T)
    sums = moving_sums(psi, np.zeros((60, 3, 3)), 1, lag)
    np.testing.assert_allclose(sums.T @ sums, S, rtol=1e-10)


def test_leverages_correct_residuals_of_white_noise_exactly():
    """With windows of one sample and one force the mean of the covariance over all noise is that of the estimate."""
    rng = np.random.default_rng(1)
    W = rng.normal(size=(8, 1, 2))
    Q = np.linalg.qr(W[:, 0])[0]
    M = np.eye(8) - Q @ Q.T
    total = np.zeros((2, 2))
    for column in M.T:  # residuals of unit errors
        sums = moving_sums(Q * column[:, None], np.einsum("ti,tj->tij", Q, Q), 1, 1)
        total += sums.T @ sums
    np.testing.assert_allclose(total, np.eye(2), atol=1e-3)


def test_lags_follow_the_correlation():
    e = np.random.default_rng(2).normal(size=(4000, 2))
    assert automatic_lag(e) < 10 < automatic_lag(low_pass(e, 0.05))
    assert automatic_lag(np.zeros((100, 2))) == 1
    assert ljung_box(np.zeros((100, 1))).p_value == pytest.approx(1.0)


# ---- outliers ------------------------------------------------------------------------------------------------------


def test_outliers_hardly_move_hubers_estimate():
    W, y, x = data(6, n=1000)
    rng = np.random.default_rng(7)
    hit = rng.uniform(size=y.shape) < 0.03
    y = y + hit * rng.uniform(5, 30, size=y.shape)
    plain, robust = weighted(W, y), reweighted(W, y)
    assert robust.converged
    assert (np.abs(robust.values - x) < 5 * robust.sd).all()
    assert np.abs((robust.values - x) / x).max() < 0.3 * np.abs((plain.values - x) / x).max()
    np.testing.assert_allclose(robust.force_sd, [0.1, 1.0], rtol=0.15)


def test_hubers_estimate_solves_its_equation():
    W, y, _ = data(8)
    found = reweighted(W, y)
    e = (y - W @ found.values) / found.force_sd
    score = np.einsum("tjk,tj->k", W / found.force_sd[:, None], np.clip(e, -1.345, 1.345))
    assert (np.abs(score) < 2e-3 / found.sd).all()


@pytest.mark.parametrize("runs", RUNS)
def test_intervals_of_hubers_estimate_cover(runs):
    hits = []
    for seed in range(4 * runs):
        rng = np.random.default_rng(seed)
        W = rng.normal(size=(400, 2, 3))
        y = W @ [1.0, 2.0, 3.0] + rng.standard_t(3, size=(400, 2)) * [0.1, 1.0]
        low, high = reweighted(W, y).interval().T
        hits.append((low <= [1.0, 2.0, 3.0]) & (high >= [1.0, 2.0, 3.0]))
    low, high = (0.92, 0.98) if runs >= 100 else (0.89, 0.99)
    assert low <= np.mean(hits) <= high


# ---- input ---------------------------------------------------------------------------------------------------------


def broken(what):
    W, y, _ = data(9)
    names = ["a", "b", "c", "d"]
    options = {}
    match what:
        case "nan in y":
            y[7, 1] = np.nan
        case "inf in W":
            W[5, 1, 2] = np.inf
        case "two axes":
            W = W[:, 0]
        case "shapes":
            y = y[:-1]
        case "few rows":
            W, y = W[:2], y[:2]
        case "names":
            names = names[:3]
        case "twice":
            names[3] = "a"
        case "zero column":
            W[:, :, 1] = 0.0
        case "negative weights":
            options["weights"] = -np.ones(len(W))
        case "weights shape":
            options["weights"] = np.ones(3)
        case "all weights zero":
            options["weights"] = np.zeros(len(W))
        case "text":
            y = [["a"]]
        case "covariance":
            options["covariance"] = "robuste"
    return W, y, names, options


REFUSED = {
    "nan in y": r"y has 1 values that are not finite, first at sample 7, force 1; drop or interpolate",
    "inf in W": r"W is not finite at sample 5, force 1, column 2; drop this sample",
    "two axes": r"W must have shape \(N, nu, p\).*of one force give W\[:, None, :\]",
    "shapes": r"y must have shape \(N, nu\) = \(300, 2\)",
    "few rows": r"4 rows .* cannot determine 4 columns.*give more samples or fewer columns",
    "names": r"W has 4 columns, got 3 names; give one name for each",
    "twice": r"names must differ, \['a'\] occur more than once; rename",
    "zero column": r"without any effect: 'b'.*Drop or group",
    "negative weights": r"weights must be finite and not negative; zero leaves a row out",
    "weights shape": r"weights must have shape \(300,\)",
    "all weights zero": r"0 rows",
    "text": r"y must be real numbers",
    "covariance": r"did you mean 'robust'",
}


@pytest.mark.parametrize("what", REFUSED)
@pytest.mark.parametrize("method", [ordinary, weighted, reweighted])
def test_bad_input_is_named(method, what):
    W, y, names, options = broken(what)
    with pytest.raises(InputError, match=REFUSED[what]) as caught:
        method(W, y, names, **options)
    assert str(caught.value).startswith(method.__name__)


def test_levels_are_checked():
    W, y, _ = data()
    with pytest.raises(InputError, match="level must be below 1"):
        ordinary(W, y).interval(95)
    with pytest.raises(InputError, match="no column 'nothing'"):
        ordinary(W, y).index("nothing")


def test_a_perfect_fit_is_none_of_the_matter():
    W, _, x = data()
    for method in (ordinary, weighted, reweighted):
        found = method(W, W @ x)
        np.testing.assert_allclose(found.values, x, rtol=1e-9)
        assert np.isfinite(found.sd).all()


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ImportError, match="pip install scipy clarabel"):
        Stacked.checked("weighted", *data()[:2])
    assert least_squares.BADLY == 100


# ---- degrees of freedom, and the arithmetic behind them ------------------------------------------------------------


def test_degrees_of_freedom_are_those_of_the_estimated_variance():
    """Variances from windows of independent chunks spread as a chi-squared with these degrees of freedom does."""
    rng = np.random.default_rng(0)
    sizes = np.stack([np.ones(60), np.exp(2.0 * rng.normal(size=60)), np.arange(60) < 12], axis=1)
    for wide in (1, 4, 9):
        drawn = rng.normal(size=(4000, 60, 1)) * sizes
        padded = np.pad(drawn, ((0, 0), (wide - 1, wide - 1), (0, 0)))
        windows = np.lib.stride_tricks.sliding_window_view(padded, wide, axis=1).sum(axis=-1)
        variances = (windows**2).sum(axis=1)
        found = equivalent_freedom(sizes**2, wide)
        np.testing.assert_allclose(found, 2 * variances.mean(axis=0) ** 2 / variances.var(axis=0), rtol=0.12)
    assert (equivalent_freedom(np.zeros((5, 2)), 2) == 1.0).all()


def test_a_value_that_few_samples_decide_is_less_certain():
    """A column that is there in a twentieth of the log: the interval is wider than the others by more than its sd."""
    rng = np.random.default_rng(1)
    W = rng.normal(size=(2000, 1, 2))
    W[100:, 0, 1] = 0.0
    found = weighted(W, W @ [1.0, 1.0] + 0.1 * rng.normal(size=(2000, 1)), lag=20)
    assert found.freedom[1] < 0.1 * found.freedom[0]
    low, high = found.interval().T
    half = 0.5 * (high - low) / found.sd
    assert half[1] > 1.05 * half[0] > 1.05 * 1.95


@pytest.mark.parametrize("runs", [40, pytest.param(200, marks=pytest.mark.slow)])
def test_intervals_cover_where_few_samples_decide(runs):
    """With one number of degrees of freedom for all, 1.5 n / lag, the second column is covered in 86 % of the runs."""
    hits = []
    for run in range(runs):
        rng = np.random.default_rng(run)
        W = low_pass(rng.normal(size=(1000, 1, 2)))
        W[100:, 0, 1] = 0.0
        y = W @ [1.0, 1.0] + 0.1 * low_pass(rng.normal(size=(1000, 1)))
        low, high = weighted(W, y).interval().T
        hits.append((low <= 1.0) & (high >= 1.0))
    low, high = (0.91, 0.99) if runs >= 100 else (0.85, 1.0)
    assert ((low <= np.mean(hits, axis=0)) & (np.mean(hits, axis=0) <= high)).all()


def test_leverages_of_columns_that_are_nearly_alike():
    """Products of columns lose what orthonormal ones keep: both ways agree where both are right, and sum to one."""
    rng = np.random.default_rng(2)
    W = rng.normal(size=(600, 2, 4))
    sd = np.array([1.0, 3.0])
    for near in (1.0, 1e-3, 1e-7):
        W[:, :, 3] = W[:, :, 2] + near * rng.normal(size=(600, 2))
        data = Stacked.checked("test", W, rng.normal(size=(600, 2)), weights=rng.uniform(0.5, 1.0, size=(600, 2)))
        root = solved(data.triangles().combined(sd)).root
        found = data.leverages(W, root, sd, 7)
        Q = (W @ root) * data.rows_scale(sd)[:, :, None]
        expected = [np.einsum("tjk,tjl->kl", Q[k : k + 7], Q[k : k + 7]) for k in range(0, 600, 7)]
        np.testing.assert_allclose(found, expected, atol=1e-7)
        np.testing.assert_allclose(found.sum(axis=0), np.eye(4), atol=1e-7)


def test_the_classical_covariance_is_there_in_any_case():
    W, y = np.random.default_rng(3).normal(size=(300, 2, 3)), np.random.default_rng(4).normal(size=(300, 2))
    robust = weighted(W, y)
    np.testing.assert_allclose(robust.classical, weighted(W, y, covariance="classical").covariance, rtol=1e-12)
    assert not np.allclose(robust.classical, robust.covariance)
