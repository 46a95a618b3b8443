"""Random trees with states, and how closely physics must hold on them."""

import functools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuler.quantities.catalogue import recipe
from neuler.trace.recipe import evaluate
from random_robots import (
    few,
    random_robot,
    random_states,
)

EXACT = 1e-12
QUOTIENT = 1e-9
"""For central differences of sixth order with a step of 1e-3: rounding 1e-13, truncation below 1e-10."""

SEEDS = (5, 12, 29, 0, 2, 6, 20, 32)
EVERYDAY = 3
"""So many of them have all that random trees may have (``test_the_seeds_cover_what_others_forget``)."""
each = pytest.mark.parametrize("seed", few(SEEDS, EVERYDAY))
one = pytest.mark.parametrize("seed", few(SEEDS, 1))
"""Where much is compiled, all others with the slow tests."""
trees = given(st.integers(100, 1_000_000))
often = settings(max_examples=40, derandomize=True, deadline=None, database=None)


@functools.cache
def case(seed, count=25):
    """A robot with a batch of states."""
    robot = random_robot(seed)
    return robot, *random_states(robot, count, seed)


def on_floats(robot, quantity, values, **options):
    """A quantity by its recursion on plain numbers: no compiler."""
    found = evaluate(recipe(robot, quantity, **options), values)
    return found[0] if len(found) == 1 else found
