"""Compiled loops that go on until a row says that it is done, beside plain loops."""

import numpy as np
import pytest

from neuler.functions.repeat import BUSY, Repeat
from neuler.trace.listing import Listing
from neuler.trace.recipe import Operand, Recipe
from neuler.trace.scalars import absolute, less, where


def _roots():
    """Newton's method for square roots: (x, count, busy; a)."""

    def step(values):
        (x,), (count,), (busy,), (a,) = (values[name] for name in ("x", "count", BUSY, "a"))
        after = 0.5 * (x + a / x)
        going = busy * less(1e-15 * absolute(after), absolute(after - x))
        return [[where(busy, after, x)], [count + busy], [going]]

    inputs = tuple(Operand(name, (1,)) for name in ("x", "count", BUSY, "a"))
    outputs = tuple(Operand(f"next_{x.name}", x.shape) for x in inputs[:3])
    return Repeat(Listing.of(Recipe(inputs, outputs, step)), 3, "roots")


ROOTS = _roots()


def by_hand(a):
    x, count = 1.0, 0
    while True:
        after, count = 0.5 * (x + a / x), count + 1
        if not abs(after - x) > 1e-15 * abs(after):
            return after, count
        x = after


def started(a):
    ones = np.ones((len(a), 1))
    return [ones, 0 * ones, ones.copy()], (a[:, None],)


@pytest.mark.parametrize("rows", [1, 2, 5, 8, 17, 100])
def test_every_row_ends_when_it_is_done(rows):
    a = np.exp(np.random.default_rng(rows).uniform(-20, 20, rows))
    x, count, busy = ROOTS(*started(a))
    wanted = np.array([by_hand(each) for each in a])
    np.testing.assert_allclose(x[:, 0], np.sqrt(a), rtol=1e-15)
    np.testing.assert_array_equal(count[:, 0], wanted[:, 1])  # not one step more than it takes alone
    assert not busy.any()


def test_rows_do_not_depend_on_their_neighbours():
    a = np.exp(np.random.default_rng(0).uniform(-20, 20, 40))
    together = ROOTS(*started(a))
    for k in range(40):
        alone = ROOTS(*started(a[k : k + 1]))
        for whole, one in zip(together, alone, strict=True):
            np.testing.assert_array_equal(whole[k], one[0])


def test_rows_that_are_done_are_left_alone():
    (x, count, busy), held = started(np.array([4.0, 9.0, 16.0]))
    busy[1] = 0.0
    found = ROOTS([x, count, busy], held)
    assert found[0][1] == 1.0
    assert found[1][1] == 0.0
    np.testing.assert_allclose(found[0][[0, 2], 0], [2.0, 4.0])


def test_what_is_not_finite_ends():
    x, _, busy = ROOTS(*started(np.array([np.nan, 4.0, np.inf])))
    assert not np.isfinite(x[[0, 2]]).any()
    assert x[1, 0] == 2.0
    assert not busy.any()


def test_many_rows_in_threads():
    a = np.exp(np.random.default_rng(1).uniform(-20, 20, 300_000))
    np.testing.assert_allclose(ROOTS(*started(a), rounds=100)[0][:, 0], np.sqrt(a), rtol=1e-15)


def test_no_rows():
    assert [x.shape for x in ROOTS(*started(np.zeros(0)))] == [(0, 1)] * 3
