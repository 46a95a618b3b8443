"""Random trees with states, and how closely physics must hold on them."""

import functools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuler.quantities.catalogue import recipe
from neuler.trace.recipe import evaluate
from random_robots import (
    random_robot,
    random_states,
)

EXACT = 1e-12
QUOTIENT = 1e-9
"""For central differences of sixth order with a step of 1e-3: rounding 1e-13, truncation below 1e-10."""

SEEDS = (0, 2, 5, 6, 12, 20, 29, 32)
each = pytest.mark.parametrize("seed", SEEDS)
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
