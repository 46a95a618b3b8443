"""The emitted sine and cosine against a multiple-precision truth, on every CPU level that this machine has."""

from __future__ import annotations

import functools

import mpmath
import numpy as np
import pytest

from neuler.compiler.build import compile_recipe
from neuler.compiler.target import available_levels, host, level
from neuler.trace.graph import cos, sin
from neuler.trace.recipe import Operand, Recipe
from random_robots import few

pytestmark = pytest.mark.usefixtures("shipped")
LEVELS = few([None, *available_levels()], 2)


def _sincos(name, dtype="float64"):
    recipe = Recipe(
        (Operand("x", (1,)),), (Operand("y", (2,)),), lambda values: [[sin(values["x"][0]), cos(values["x"][0])]]
    )
    target = host() if name is None else level(name)
    return compile_recipe(recipe, "sincos", "", dtype, "sincos of one number", target).ufunc


def _truth(x):
    with mpmath.workprec(1200):
        exact = [(mpmath.sin(mpmath.mpf(float(v))), mpmath.cos(mpmath.mpf(float(v)))) for v in x]
        rounded = np.array([[float(s), float(c)] for s, c in exact])
        return exact, rounded


def _ulps(found, exact, rounded):
    with mpmath.workprec(1200):
        errors = [
            abs((mpmath.mpf(float(f)) - e) / mpmath.mpf(float(np.spacing(abs(r)))))
            for row, true, near in zip(found, exact, rounded, strict=True)
            for f, e, r in zip(row, true, near, strict=True)
        ]
        return float(max(errors))


def _hard_cases(largest, rng):
    """Doubles that lie next to multiples of pi/2, where a poor reduction loses every digit."""
    multiples = np.unique(rng.integers(1, int(largest / (np.pi / 2)), 500))
    with mpmath.workprec(200):
        nearest = np.array([float(mpmath.pi / 2 * int(k)) for k in multiples])
    return np.concatenate([nearest, np.nextafter(nearest, np.inf), np.nextafter(nearest, -np.inf)])


@functools.cache
def _up_to_a_million():
    """Numbers, and their sines and cosines: many digits take longer than all levels together."""
    rng = np.random.default_rng(1)
    x = np.concatenate(
        [rng.uniform(-10, 10, 500), rng.uniform(-1e6, 1e6, 500), np.exp(rng.uniform(-40, 13.8, 500)),
         _hard_cases(1e6, rng), [0.0, -0.0, 1e6, -1e6, 5e-324, np.pi / 4, -np.pi / 4]]
    )  # fmt: skip
    return x, *_truth(x)


@pytest.mark.parametrize("name", LEVELS)
def test_two_ulp_up_to_a_million(name):
    x, exact, rounded = _up_to_a_million()
    assert _ulps(_sincos(name)(x[:, None]), exact, rounded) <= 2.0


@functools.cache
def _finite():
    rng = np.random.default_rng(2)
    x = np.concatenate(
        [10 ** rng.uniform(6, 15, 1000), -(10 ** rng.uniform(6, 15, 500)), _hard_cases(1e15, rng),
         10.0 ** rng.uniform(15, 308, 500), -(10.0 ** rng.uniform(15, 308, 99)), [1e15, 2.0**1023, np.finfo(float).max]]
    )  # fmt: skip
    return x, _truth(x)[1]


@pytest.mark.parametrize("name", LEVELS)
def test_right_for_every_finite_number(name):
    x, rounded = _finite()
    assert np.abs(_sincos(name)(x[:, None]) - rounded).max() <= 1e-12


@pytest.mark.parametrize("name", LEVELS)
def test_signed_zero_infinity_and_nan(name):
    f = _sincos(name)
    with np.errstate(invalid="ignore"):
        found = f(np.array([[np.inf], [-np.inf], [np.nan], [0.0], [1e300]]))
    assert np.isnan(found[:3]).all()
    np.testing.assert_array_equal(found[3], [0.0, 1.0])
    assert np.isfinite(found[4]).all()
    lanes = np.array([[0.5], [1e200], [np.nan], [3.0]])
    np.testing.assert_array_equal(f(lanes)[[0, 3]], f(lanes[[0, 3]]))


def test_no_spurious_floating_point_flags():
    with np.errstate(all="raise", under="ignore"):
        _sincos(None)(np.array([[1e300], [1.0], [1e16], [-5e15], [0.0], [np.nan]]))


def test_single_precision():
    x = np.random.default_rng(3).uniform(-1e4, 1e4, (1000, 1)).astype(np.float32)
    found = _sincos(None, "float32")(x)
    assert found.dtype == np.float32
    truth = np.concatenate([np.sin(x.astype(float)), np.cos(x.astype(float))], axis=1)
    assert np.abs(found - truth).max() < 1e-7
