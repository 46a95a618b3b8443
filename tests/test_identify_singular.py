"""Singular values where LAPACK's divide and conquer does not converge: estimates and diagnoses go on."""

import numpy as np
import pytest

from neuler.identify.diagnosis import excitation
from neuler.identify.instrumental import hausman, instrumental
from neuler.identify.least_squares import weighted
from neuler.identify.singular import singular, singular_values

random = np.random.default_rng(0)
W = random.normal(size=(300, 2, 4))
Y = W @ [1.0, -2.0, 0.5, 0.1] + 0.1 * random.normal(size=(300, 2))


def failing(*_, **__):
    raise np.linalg.LinAlgError("SVD did not converge")


@pytest.mark.parametrize("shape", [(7, 4), (4, 7), (5, 5)])
@pytest.mark.parametrize("full", [True, False])
def test_both_ways_agree(monkeypatch, shape, full):
    A = random.normal(size=shape)
    A[:, 1] = 0.0
    plain, values = singular(A, full), singular_values(A)
    monkeypatch.setattr(np.linalg, "svd", failing)
    found = singular(A, full)
    k = min(shape)
    assert [x.shape for x in found] == [x.shape for x in plain]
    np.testing.assert_allclose(found.s, plain.s, atol=1e-14)
    np.testing.assert_allclose(singular_values(A), values, atol=1e-14)
    np.testing.assert_allclose((found.U[:, :k] * found.s) @ found.Vt[:k], A, atol=1e-13)


def test_numbers_that_are_not_finite_are_refused():
    with pytest.raises(np.linalg.LinAlgError):
        singular(np.full((3, 3), np.nan))


def all_of_it():
    plain = weighted(W, Y)
    iv = instrumental(W, Y, W + 0.1 * np.random.default_rng(1).normal(size=W.shape), lag=plain.lag)
    return [*plain.values, *iv.values, hausman(plain, iv).statistic, *excitation(W).singular_values]


def test_estimates_and_diagnoses(monkeypatch):
    expected = all_of_it()
    monkeypatch.setattr(np.linalg, "svd", failing)
    np.testing.assert_allclose(all_of_it(), expected, rtol=1e-8)
