"""Consistent robots from noisy logs, against general solvers and the conditions of optimality."""

import numpy as np
import pytest
from scipy.optimize import minimize

from identify_data import noise, standard
from neuler import InputError
from neuler.identify import physical
from neuler.identify.bodies import PARTS, links_of
from neuler.identify.consistent import constrained, nearest_standard
from neuler.identify.least_squares import weighted
from neuler.identify.stacked import Stacked, Triangles, solved
from neuler.identify.stretches import joined
from neuler.identify.weight import choose_weight

pytest.importorskip("clarabel", reason="the conic solver Clarabel is not installed: pip install clarabel")

BODY = np.array([2.0, 0.2, -0.1, 0.3, 0.12, 0.15, 0.11, 0.01, -0.03, 0.02])
NAMES = [f"arm.{part}" for part in PARTS]


def log(seed=0, n=60, part=0.0):
    W = np.random.default_rng(seed).normal(size=(n, 2, 10))
    y = W @ BODY
    return W, y + (noise(y, part, seed + 1) if part else 0.0)


def robot(part, seed=0):
    """rx90 with links that have extension: the regressor, names, consistent parameters, measured forces."""
    W, names, values = standard("rx90", 400)
    keep = np.flatnonzero(np.repeat(np.arange(7), 10) > 0)[: W.shape[2]]
    W, names = W[:, :, keep], tuple(names[k] for k in keep)
    rng = np.random.default_rng(5)
    theta = rng.normal(size=(len(names) // 10, 10)) * 0.3 + [0.5, -2, -2, -2, 0, 0, 0, 0, 0, 0]
    values = physical.from_log_cholesky(theta).ravel()
    y = W @ values
    return W, names, values, y + noise(y, part, seed)


def test_without_noise_the_truth_is_found():
    W, y = log()
    found = constrained(W, y, NAMES, prior=1.1 * BODY, weight=0.0, force_sd=[1.0, 1.0])
    np.testing.assert_allclose(found.values, BODY, atol=1e-6)
    assert found.converged
    assert found.on_boundary == ()


def test_with_a_prior_it_is_ridge_regression():
    """Inside the cone the solution is that of a linear system."""
    W, y = log(1, part=0.1)
    prior = 1.2 * BODY
    found = constrained(W, y, NAMES, prior=prior, weight=0.5, force_sd=[1.0, 2.0])
    A, b = (W / [[1.0], [2.0]]).reshape(-1, 10), (y / [1.0, 2.0]).ravel()
    M = 0.5 * physical.prior_metric(prior)
    expected = np.linalg.solve(A.T @ A / len(b) + M, A.T @ b / len(b) + M @ prior)
    np.testing.assert_allclose(found.values, expected, atol=1e-6)
    classical = constrained(W, y, NAMES, prior=prior, weight=0.5, force_sd=[1.0, 2.0], covariance="classical")
    np.testing.assert_allclose(classical.covariance, np.linalg.inv(A.T @ A + len(b) * M), rtol=1e-6, atol=1e-12)


def test_negative_masses_become_consistent():
    W, names, values, y = robot(0.3)
    plain = weighted(W, y, names, undetermined="report")
    assert not physical.is_consistent(plain.values.reshape(-1, 10)).all()
    lower = {}
    for metric in ("quadratic", "entropic"):
        found = constrained(W, y, names, prior=values * 1.05, metric=metric, lower=lower)
        assert found.converged
        assert physical.is_consistent(found.values.reshape(-1, 10)).all()
        assert min(found.margins.values()) > 0
        assert found.rms.sum() < 1.05 * np.sqrt(((y - W @ values) ** 2).mean(axis=0)).sum()
        assert np.isfinite(found.sd).all()


def test_the_entropic_fit_is_that_of_log_cholesky():
    """The same minimum by unconstrained minimisation of the parameters of Rucker and Wensing."""
    W, y = log(3, n=12, part=0.5)
    prior = 0.8 * BODY
    found = constrained(W, y, NAMES, prior=prior, weight=0.05, metric="entropic", force_sd=[1.0, 1.0])

    def objective(theta):
        ten = physical.from_log_cholesky(theta)
        e = W @ ten - y
        value, gradient, _ = physical.bregman(ten, prior)
        slope = np.einsum("tjk,tj->k", W, e) / e.size + 0.05 * gradient
        return 0.5 * (e**2).mean() + 0.05 * value, slope @ physical.log_cholesky_jacobian(theta)

    other = minimize(objective, physical.to_log_cholesky(prior), jac=True, method="BFGS", options={"gtol": 1e-9})
    np.testing.assert_allclose(found.values, physical.from_log_cholesky(other.x), rtol=1e-4, atol=1e-5)


def test_on_the_boundary_no_consistent_neighbour_is_better():
    W, y = log(4, part=0.1)
    y = y - 2.5 * W[..., 0] - 0.2 * W[..., 4]  # a log that asks for a negative mass
    found = constrained(W, y, NAMES, prior=BODY, weight=1e-3, force_sd=[1.0, 1.0])
    assert found.on_boundary == ("arm",)
    assert any("boundary" in note for note in found.notes)
    M = physical.prior_metric(BODY)

    def objective(x):
        return ((W @ x - y) ** 2).mean() + 1e-3 * (x - BODY) @ M @ (x - BODY)

    rng = np.random.default_rng(0)
    for _ in range(300):
        other = found.values + rng.normal(size=10) * 10 ** rng.uniform(-5, -1)
        assert objective(physical.nearest_consistent(other, BODY, 1e-6)) >= objective(found.values) - 1e-9


def test_friction_does_not_become_negative():
    W, y = log(5)
    qd = np.random.default_rng(6).normal(size=(60, 2, 1))
    W = np.concatenate([W, qd, np.sign(qd)], axis=2)
    y = y - 0.3 * qd[..., 0]
    names = [*NAMES, "joint.viscous", "joint.coulomb"]
    prior = np.append(BODY, [np.nan, 0.1])
    found = constrained(W, y, names, prior=prior, lower={"joint.viscous": 0.0, "joint.coulomb": 0.0})
    assert -1e-6 < found.values[10] < 1e-4
    free = constrained(W, y, names, prior=prior)
    assert free.values[10] == pytest.approx(-0.3, abs=0.01)


def test_columns_without_data_and_prior_have_no_standard_deviation():
    W, y = log(7, part=0.01)
    W = np.concatenate([W, np.zeros((60, 2, 10))], axis=2)
    names = [*NAMES, *(f"hand.{part}" for part in PARTS)]
    found = constrained(W, y, names)
    assert found.undetermined == tuple(names[10:])
    assert np.isinf(found.sd[10:]).all()
    both = constrained(W, y, names, prior=np.append(BODY, 0.1 * BODY), weight=1e-3)
    assert not both.undetermined
    np.testing.assert_allclose(both.values[10:], 0.1 * BODY, rtol=1e-4)


def test_a_point_mass_as_prior_gets_some_extension():
    W, y = log(8, part=0.01)
    point = np.array([2.0, 0.2, 0, 0, 0, 0.02, 0.02, 0, 0, 0])
    found = constrained(W, y, NAMES, prior=point)
    assert found.converged
    assert any("0.05 m" in note for note in found.notes)


# ---- base to standard ----------------------------------------------------------------------------------------------


def test_base_parameters_give_the_nearest_robot():
    W, names, values, _ = robot(0.0)
    A = W.reshape(-1, W.shape[2])
    K = np.linalg.svd(A, full_matrices=False)[2][: np.linalg.matrix_rank(A, tol=1e-9 * np.linalg.norm(A))]
    prior = values * 1.1
    found = nearest_standard(K, K @ values, names, prior)
    np.testing.assert_allclose(found.error, 0.0, atol=1e-6)
    assert physical.is_consistent(found.values.reshape(-1, 10)).all()
    np.testing.assert_allclose(W @ found.values, W @ values, atol=1e-4 * np.abs(W @ values).max())
    same = nearest_standard(K, K @ values, names, values)
    np.testing.assert_allclose(same.values, values, atol=1e-6 * np.abs(values).max())
    near = nearest_standard(K, K @ values, names, prior, covariance=1e-8 * np.eye(len(K)))
    np.testing.assert_allclose(near.values, found.values, atol=1e-3 * np.abs(values).max())


def test_base_parameters_of_no_robot():
    K = np.eye(10)[:1]
    with pytest.raises(InputError, match=r"no consistent robot .*give their covariance"):
        nearest_standard(K, [-1.0], NAMES, BODY)
    found = nearest_standard(K, [-1.0], NAMES, BODY, covariance=[[0.01]])
    assert found.values[0] > 0
    assert found.error[0] > 1


# ---- input ---------------------------------------------------------------------------------------------------------


def test_links_are_found_by_the_names_of_their_columns():
    assert links_of(["a.mass", *NAMES]) == {"arm": list(range(1, 11))}
    assert links_of(["b.viscous"]) == {}


def test_bad_input_is_named():
    W, y = log(9, part=0.1)
    with pytest.raises(InputError, match="prior must be 10 numbers, NaN where there is none"):
        constrained(W, y, NAMES, prior=BODY[:9])
    with pytest.raises(InputError, match=r"prior of link 'arm' is not consistent: the mass.*nearest_consistent"):
        constrained(W, y, NAMES, prior=-BODY)
    with pytest.raises(InputError, match="'arm' has some of its ten"):
        constrained(W, y, NAMES, prior=np.append(BODY[:9], np.nan))
    with pytest.raises(InputError, match="'arm' needs ten different columns"):
        constrained(W, y, NAMES, links={"arm": range(9)})
    with pytest.raises(InputError, match="belong to another link"):
        constrained(W, y, NAMES, links={"arm": range(10), "b": range(10)})
    with pytest.raises(InputError, match="no column 'friction'"):
        constrained(W, y, NAMES, lower={"friction": 0.0})
    with pytest.raises(InputError, match="metric must be one of"):
        constrained(W, y, NAMES, metric="riemann")
    with pytest.raises(InputError, match="weight must not be negative"):
        constrained(W, y, NAMES, weight=-1)
    with pytest.raises(InputError, match="force_sd must be finite and above zero"):
        constrained(W, y, NAMES, force_sd=[0.0, 1.0])
    with pytest.raises(InputError, match=r"K \(n, p\) and b \(n,\)"):
        nearest_standard(np.eye(10), [1.0], NAMES, BODY)
    with pytest.raises(InputError, match="covariance must be symmetric and positive definite"):
        nearest_standard(np.eye(10), BODY, NAMES, BODY, covariance=-np.eye(10))


def test_a_missing_solver_is_named(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == "clarabel" else object())
    with pytest.raises(ImportError, match="solved by Clarabel: pip install scipy clarabel"):
        constrained(*log(), NAMES)


# ---- how much the prior counts -------------------------------------------------------------------------------------


def test_good_data_outweighs_a_bad_prior_and_bad_data_a_good_one():
    W, y = log(10, n=400, part=0.02)
    bad = physical.from_log_cholesky(physical.to_log_cholesky(BODY) + 0.3)
    assert choose_weight(W, y, NAMES, bad, folds=4).weight <= 1e-3
    few, noisy = log(11, n=40, part=1.0)
    found = choose_weight(few, noisy, NAMES, BODY, folds=4)
    assert found.weight >= 0.1
    assert found.errors.shape == (7, 4)
    assert found.best in found.tried


def test_gaps_are_left_out():
    W, y = log(12, n=100, part=0.1)
    spoilt = y.copy()
    spoilt[[45, 46, 47, 48, 49]] += 1e3
    apart = choose_weight(W, spoilt, NAMES, BODY, folds=2, gap=5, tried=[1e-3]).errors
    assert apart[0, 1] < 0.1 * choose_weight(W, spoilt, NAMES, BODY, folds=2, tried=[1e-3]).errors[0, 1] + 1.0
    with pytest.raises(InputError, match="too few for 5 stretches with gaps of 30; give fewer folds or a shorter gap"):
        choose_weight(W, y, NAMES, BODY, gap=30)


def test_rows_are_reduced_once_for_all_weights(monkeypatch):
    """What the others make of a stretch does not depend on the weight of the prior."""
    (W, y), calls = log(13, n=100, part=0.1), []
    combined = Triangles.combined
    monkeypatch.setattr(Triangles, "combined", lambda self, sd: calls.append(1) or combined(self, sd))
    counts = []
    for tried in ([1e-3], [1e-4, 1e-3, 1e-2]):
        calls.clear()
        choose_weight(W, y, NAMES, BODY, folds=4, tried=tried)
        counts.append(len(calls))
    assert counts[0] == counts[1]


def test_forces_that_do_not_know_every_column():
    """Zero rows and columns are left out of factorisations, which say the same."""
    rng = np.random.default_rng(0)
    W = rng.normal(size=(300, 3, 4))
    W[:, 1, 2:] = W[:, 2, :2] = 0.0
    y = W @ [1.0, -2.0, 3.0, 0.5] + rng.normal(size=(300, 3))
    every = Stacked.checked("test", W, y)
    parts = [Stacked("test", every.names, W[at], y[at]).triangles() for at in (slice(0, 7), slice(7, 7), slice(7, 300))]
    one, x, sd = joined(parts), rng.normal(size=4), np.array([1.0, 2.0, 0.5])
    np.testing.assert_allclose(one.squares(x), ((y - W @ x) ** 2).sum(axis=0))
    exact = np.linalg.lstsq((W / sd[:, None]).reshape(-1, 4), (y / sd).ravel(), rcond=None)[0]
    np.testing.assert_allclose(solved(one.combined(sd)).values, exact)
