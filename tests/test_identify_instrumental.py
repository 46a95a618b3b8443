"""Instrumental variables where least squares is biased, the test that tells, and the bootstrap."""

import numpy as np
import pytest
from scipy.linalg import qr

from identify_data import base, fourier, kernel, low_pass, noise
from neuler import InputError
from neuler.identify.bootstrap import bootstrap
from neuler.identify.instrumental import hausman, instrumental
from neuler.identify.least_squares import ordinary, weighted

RUNS = [pytest.param(20, id="few"), pytest.param(200, id="all", marks=pytest.mark.slow)]


def simple(seed, spoilt=0.5, n=500):
    """Noise in the regressor that least squares takes for signal: its estimates come out too small."""
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, 2, 3))
    x = np.array([1.0, -2.0, 3.0])
    y = Z @ x + 0.1 * rng.normal(size=(n, 2))
    return Z + spoilt * rng.normal(size=Z.shape) * [1.0, 1.0, 0.0], y, Z, x


def test_the_formula():
    W, y, Z, _ = simple(0)
    found = instrumental(W, y, Z, force_sd=[1.0, 1.0])
    A, B = W.reshape(-1, 3), Z.reshape(-1, 3)
    np.testing.assert_allclose(found.values, np.linalg.solve(B.T @ A, B.T @ y.ravel()), rtol=1e-10)
    more = np.concatenate([Z, Z**3], axis=2)
    B = more.reshape(-1, 6)
    projected = B @ np.linalg.lstsq(B, A, rcond=None)[0]
    expected = np.linalg.lstsq(projected, y.ravel(), rcond=None)[0]
    np.testing.assert_allclose(instrumental(W, y, more, force_sd=[1.0, 1.0]).values, expected, rtol=1e-10)


def test_instruments_that_are_the_regressor_give_least_squares():
    W, y, _, _ = simple(1)
    least = weighted(W, y)
    iv = instrumental(W, y, W, lag=least.lag)
    np.testing.assert_allclose(iv.values, least.values, rtol=1e-3)
    np.testing.assert_allclose(iv.sd, least.sd, rtol=0.05)
    assert not hausman(least, iv).biased


@pytest.mark.parametrize("runs", RUNS)
def test_no_bias_where_least_squares_has_one(runs):
    least, iv, hits, told = [], [], [], []
    for seed in range(runs):
        W, y, Z, x = simple(seed)
        first = weighted(W, y)
        second = instrumental(W, y, Z, lag=first.lag)
        low, high = second.interval().T
        least.append(first.values - x)
        iv.append(second.values - x)
        hits.append((low <= x) & (x <= high))
        told.append(hausman(first, second).biased)
    spread = np.std(iv, axis=0) / np.sqrt(runs)
    assert (np.abs(np.mean(iv, axis=0)) < 4 * spread).all()
    assert (np.abs(np.mean(least, axis=0))[:2] > 10 * spread[:2]).all()
    assert np.mean(told) > 0.95
    low, high = (0.92, 0.98) if runs >= 100 else (0.86, 1.0)
    assert low <= np.mean(hits) <= high


@pytest.mark.parametrize("runs", RUNS)
def test_no_alarm_where_there_is_no_bias(runs):
    alarms = 0
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        W = rng.normal(size=(400, 2, 3))
        Z = W + rng.normal(size=W.shape)
        y = W @ [1.0, 2.0, 3.0] + rng.normal(size=(400, 2))
        least = weighted(W, y)
        alarms += hausman(least, instrumental(W, y, Z, lag=least.lag)).biased
    assert alarms <= (0.09 if runs >= 100 else 0.2) * runs


def spoilt_robot(seed):
    """two_link with noise that differentiation has multiplied, relative 0.002, 0.02 and 0.3: base columns with and
    without it."""
    robot, jacobian = kernel("two_link")
    motion = fourier(robot.nv, 800)
    values = np.zeros(10 * len(robot.shown_names))
    clean = jacobian(*motion, values)
    rng = np.random.default_rng(seed)
    sizes = zip(motion, (0.002, 0.02, 0.3), strict=True)
    noisy = jacobian(*(x + size * np.sqrt((x**2).mean()) * rng.normal(size=x.shape) for x, size in sizes), values)
    A = clean.reshape(-1, clean.shape[2])
    norms = np.linalg.norm(A, axis=0)
    _, R, order = qr(A / np.where(norms > 0, norms, 1.0), mode="economic", pivoting=True)
    at = np.sort(order[: np.count_nonzero(np.abs(np.diag(R)) > 1e-9 * abs(R[0, 0]))])
    own = np.array([x for link in robot.links for x in (link.mass, *link.first_moment, *link.inertia)])[-len(values) :]
    y = A @ own
    x = np.linalg.lstsq(A[:, at], y, rcond=None)[0]
    y = y.reshape(clean.shape[:2])
    return noisy[:, :, at], y + noise(y, 0.02, seed + 1), clean[:, :, at], x


def test_a_robot_with_noisy_positions():
    least, iv, told = [], [], []
    for seed in range(15):
        W, y, Z, x = spoilt_robot(seed)
        first = weighted(W, y)
        second = instrumental(W, y, Z, lag=first.lag)
        least.append((first.values - x) / second.sd)
        iv.append((second.values - x) / second.sd)
        told.append(hausman(first, second).biased)
    assert np.abs(np.mean(iv, axis=0)).max() < 1.2
    assert np.abs(np.mean(least, axis=0)).max() > 3
    assert np.mean(told) > 0.9


def test_instruments_from_the_last_estimate():
    W, y, Z, x = simple(5)
    asked = []

    def simulated(values):
        asked.append(values)
        return Z * (1 + 0.1 * np.abs(values - x).sum())

    found = instrumental(W, y, simulated)
    assert found.converged
    assert len(asked) == found.iterations > 1
    np.testing.assert_allclose(found.values, instrumental(W, y, Z).values, rtol=0.01)
    slow = instrumental(W, y, lambda x: np.random.default_rng(len(asked)).normal(size=Z.shape) + Z, passes=1)
    assert not slow.converged
    assert any("did not converge" in note for note in slow.notes)


def test_weak_instruments_are_mentioned():
    W, y, _, _ = simple(6)
    Z = np.random.default_rng(7).normal(size=W.shape)
    assert any("weak" in note for note in instrumental(W, y, Z).notes)


def test_short_logs_are_tested_column_by_column():
    W, y, Z, _ = simple(8, n=60)
    least = weighted(W, y, lag=15)
    found = hausman(least, instrumental(W, y, Z, lag=least.lag))
    assert found.biased
    assert found.columns


def test_bad_instruments_are_named():
    W, y, Z, _ = simple(9)
    with pytest.raises(InputError, match=r"Z must have shape \(500, 2, 3\) or more columns"):
        instrumental(W, y, Z[:-1])
    with pytest.raises(InputError, match=r"Z must have shape"):
        instrumental(W, y, Z[:, :, :2])
    Z[3, 0, 1] = np.nan
    with pytest.raises(InputError, match="Z is not finite at sample 3, force 0, column 1"):
        instrumental(W, y, Z)
    with pytest.raises(InputError, match="force_sd must be 2 standard deviations above zero"):
        instrumental(W, y, W, force_sd=[1.0, 0.0])
    with pytest.raises(InputError, match=r"determines 2 of 3 columns"):
        instrumental(W, y, W * [1.0, 1.0, 0.0])
    least = weighted(W, y)
    with pytest.raises(InputError, match=rf"instrumental\(..., lag={least.lag}\)"):
        hausman(least, instrumental(W, y, W, covariance="classical"))
    with pytest.raises(InputError, match="same columns and samples"):
        hausman(least, weighted(W[:400], y[:400]))


# ---- bootstrap -----------------------------------------------------------------------------------------------------


def test_bootstrap_of_white_noise_is_least_squares():
    W, names, x = base("rx90")
    y = W @ x + noise(W @ x, 0.02, 0)
    found, least = bootstrap(W, y, names), weighted(W, y, names)
    np.testing.assert_allclose(found.values, least.values)
    np.testing.assert_allclose(found.sd, least.sd, rtol=0.35)
    assert found.resamples.shape == (1000, len(names))
    np.testing.assert_array_equal(found.resamples, bootstrap(W, y, names).resamples)
    assert not np.array_equal(found.resamples, bootstrap(W, y, names, seed=1).resamples)


def test_a_resample_is_least_squares_of_its_blocks():
    """Resamples of blocks of one sample, each as often as it was drawn, which the same generator tells."""
    rng = np.random.default_rng(1)
    W = rng.normal(size=(40, 1, 2))
    y = W @ [1.0, 2.0] + rng.normal(size=(40, 1))
    found = bootstrap(W, y, block=1, resamples=10, seed=3)
    moved = found.values + (found.resamples - found.values) * np.sqrt(39 / 40)
    drawn = np.random.default_rng(3).integers(0, 40, size=(10, 40))
    for at, values in zip(drawn, moved, strict=True):
        np.testing.assert_allclose(values, np.linalg.lstsq(W[at, 0], y[at, 0], rcond=None)[0], rtol=1e-8)


@pytest.mark.parametrize("runs", RUNS)
def test_intervals_of_the_bootstrap_cover(runs):
    W, names, x = base("two_link", 2000)
    y, used, hits = W @ x, low_pass(W)[20:-20], []
    for run in range(runs):
        fitted = low_pass(y + noise(y, 0.02, run))[20:-20]
        low, high = bootstrap(used, fitted, names, resamples=400, seed=run).interval().T
        hits.append((low <= x) & (x <= high))
    low, high = (0.92, 0.98) if runs >= 100 else (0.85, 1.0)
    assert low <= np.mean(hits) <= high


def test_bootstrap_refuses_what_it_cannot_do():
    W, y, _, _ = simple(0)
    with pytest.raises(InputError, match="less than ten blocks of 500 samples; shorten it"):
        bootstrap(W, y, block=100)
    with pytest.raises(InputError, match="determines 2 of 3"):
        bootstrap(W * [1.0, 0.0, 1.0], y)
    with pytest.raises(InputError, match="level must be below 1"):
        bootstrap(W, y).interval(95)
    assert ordinary(W, y).values.shape == (3,)
