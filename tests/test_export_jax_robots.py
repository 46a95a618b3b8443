"""Functions of JAX of robots with loops, of free bases, and sparse ones."""

import warnings

import numpy as np
import pytest

import neuler

pytestmark = pytest.mark.exports
jax = pytest.importorskip("jax")

from jax.test_util import check_grads  # noqa: E402

import neuler.jax  # noqa: E402
from jax_calls import MODES, same  # noqa: E402


@pytest.mark.parametrize("mode", MODES)
def test_a_robot_with_loops(mode):
    robot = neuler.robots.get("four_bar")
    kernel = robot.forward_dynamics
    rng = np.random.default_rng(0)
    q = robot.random_configuration(0, 8)
    qd, tau = (rng.uniform(-1.0, 1.0, (8, operand.size)) for operand in kernel.inputs[1:])
    q[5] += 0.1  # open
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = kernel(q, qd, tau)
    assert np.isnan(expected[5]).all()
    assert np.isfinite(expected[:5]).all()
    f = neuler.jax.wrap(kernel, mode=mode)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        same(jax.jit(f)(q, qd, tau), expected)
    slopes = neuler.function(kernel).jacobian("q")(q[:5], qd[:5], tau[:5])
    np.testing.assert_allclose(jax.vmap(jax.jacrev(f))(q[:5], qd[:5], tau[:5]), slopes, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("mode", MODES)
def test_a_free_base(mode):
    """A quaternion whose length is not one gives NaN, where a call of the kernel with one state raises an error."""
    robot = neuler.robots.get("eel")
    kernel = robot.gravity_force if "free" in {joint.kind for joint in robot.joints} else None
    assert kernel is not None
    q = robot.random_configuration(1, 6)
    f = neuler.jax.wrap(kernel, mode=mode)
    same(jax.vmap(f)(q), kernel(q))
    slopes = neuler.function(kernel).jacobian("q")(q)
    np.testing.assert_allclose(jax.vmap(jax.jacrev(f))(q), slopes, rtol=1e-9, atol=1e-9)
    entry = next(entry for entry in robot.coordinates if entry.quaternion is not None)
    q[2, entry.quaternion] *= 1.5
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = kernel(q)
    same(jax.vmap(f)(q), expected)
    same(f(q[2]), expected[2])


def test_sparse_outputs_come_as_entries():
    step = neuler.function(lambda x, y: [x[0] * y, np.sin(x[1])], {"x": 2, "y": ()}, "z").jacobian(sparse=True)
    f = neuler.jax.wrap(step)
    x, y = np.array([0.3, 0.7]), 2.0
    same(f(x, y), step(x, y))
    assert {name: [axis.tolist() for axis in axes] for name, axes in f.structure.items()} == {
        name: [axis.tolist() for axis in axes] for name, axes in step.structure.items()
    }
    check_grads(f, (x, y), order=1)
