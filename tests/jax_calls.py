"""Robots and comparisons that the tests of JAX share. Importing it sets JAX to float64."""

import functools

import jax
import numpy as np

import neuler

jax.config.update("jax_enable_x64", True)

MODES = {"both": ("fwd", "rev"), "reverse": ("rev",)}


def same(found, expected):
    """Equal bit by bit, NaN where there is NaN."""
    found, expected = np.asarray(found), np.asarray(expected)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected, strict=True)


@functools.cache
def arm():
    return neuler.robots.two_link()


@functools.cache
def puma():
    return neuler.robots.puma560()


def states(robot, *batch, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.uniform(-1.0, 1.0, (*batch, robot.nv)) for _ in range(3)]
