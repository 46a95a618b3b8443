"""Derivatives of functions of JAX, in both modes, of any order, through a scan."""

import numpy as np
import pytest

import neuler

pytestmark = pytest.mark.exports
jax = pytest.importorskip("jax")

from jax.test_util import check_grads  # noqa: E402

import neuler.jax  # noqa: E402
from jax_calls import MODES, arm, puma, same, states  # noqa: E402


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("quantity", ["inverse_dynamics", "forward_dynamics"])
def test_gradients_to_second_order(mode, quantity):
    f = neuler.jax.wrap(arm().compile(quantity), mode=mode)
    q, qd, x = states(arm(), 4)
    check_grads(jax.jit(f), (q[0], qd[0], x[0]), order=2, modes=MODES[mode])
    check_grads(jax.jit(f), (q, qd[0], x[:1]), order=2, modes=MODES[mode])  # rows share some arguments
    check_grads(jax.jit(jax.vmap(f, (0, None, 0))), (q, qd[0], x), order=1, modes=MODES[mode])


@pytest.mark.parametrize("mode", MODES)
def test_jacobians_are_our_sensitivities(mode):
    f = neuler.jax.wrap(puma().inverse_dynamics, mode=mode)
    x = states(puma(), 9)
    expected = puma().inverse_dynamics_sensitivities(*x)
    for found, ours in zip(jax.vmap(jax.jacrev(f, (0, 1, 2)))(*x), expected, strict=True):
        np.testing.assert_allclose(found, ours, rtol=1e-12, atol=1e-12)
    if mode == "both":
        for found, ours in zip(jax.jit(jax.vmap(jax.jacfwd(f, (0, 1, 2))))(*x), expected, strict=True):
            np.testing.assert_allclose(found, ours, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("mode", MODES)
def test_hessians(mode):
    kernel = puma().inverse_dynamics
    f = neuler.jax.wrap(kernel, mode=mode)
    q, qd, qdd = states(puma())
    weights = np.arange(1.0, 7.0)
    ours = neuler.function(kernel).hessian("q")(q, qd, qdd, weights=weights)

    def energy(q):
        return weights @ f(q, qd, qdd)

    for found in (jax.hessian(energy)(q), jax.jit(jax.jacrev(jax.jacrev(energy)))(q)):
        np.testing.assert_allclose(found, ours, rtol=1e-11, atol=1e-11)
    if mode == "both":
        np.testing.assert_allclose(jax.jacfwd(jax.jacfwd(energy))(q), ours, rtol=1e-11, atol=1e-11)
    third = jax.jvp(jax.hessian(energy), (q,), (qd,))[1]
    h = 1e-4
    np.testing.assert_allclose(
        third, (jax.hessian(energy)(q + h * qd) - jax.hessian(energy)(q - h * qd)) / (2 * h), atol=1e-5
    )


def test_reverse_mode_refuses_forward_mode():
    f = neuler.jax.wrap(arm().gravity_force, mode="reverse")
    with pytest.raises(TypeError, match="custom_vjp"):
        jax.jvp(f, (np.ones(2),), (np.ones(2),))


@pytest.mark.parametrize("mode", MODES)
def test_only_what_is_differentiated_is_compiled(mode):
    """With respect to q alone, of outputs that depend on it alone."""
    f = neuler.function(lambda x, y: (x[0] * y, x[1] * x, y * 2.0), {"x": 2, "y": 3}, ("a", "b", "c"), "only_some")
    g = neuler.jax.wrap(f, mode=mode)
    x, y = np.array([2.0, 3.0]), np.array([5.0, 7.0, 11.0])
    text = str(jax.make_jaxpr(jax.grad(lambda x: g(x, y).b.sum()))(x))
    assert "f64[2,2]" in text if mode == "both" else "f64[2]" in text
    assert "f64[3,2]" not in text or mode == "both"
    assert not any(shape in text for shape in ("f64[2,5]", "f64[3,3]", "f64[3,5]"))
    same(jax.jacrev(lambda y: g(x, y).c)(y), 2.0 * np.eye(3))
    same(jax.jacrev(lambda x: g(x, y).c)(x), np.zeros((3, 2)))  # depends on nothing that moves
    same(jax.jacrev(g, 1)(x, y).b, np.zeros((2, 3)))
    same(jax.grad(lambda x: g(x, x[0] * y).a.sum())(x), np.array([2 * 2.0 * 23.0, 0.0]))


def test_linear_functions_have_no_second_derivatives():
    f = neuler.function(lambda x: [x[0] + 2.0 * x[1], 3.0], {"x": 2}, "y")
    for mode in MODES:
        g = neuler.jax.wrap(f, mode=mode)
        same(jax.jacrev(g)(np.ones(2)), np.array([[1.0, 2.0], [0.0, 0.0]]))
        same(jax.hessian(lambda x, g=g: g(x)[0])(np.ones(2)), np.zeros((2, 2)))


@pytest.mark.parametrize("mode", MODES)
def test_gradient_through_a_scan(mode):
    """Against sensitivities that are carried along by our own Jacobian of one step."""
    robot, dt, steps = arm(), 0.01, 60
    forward = neuler.jax.wrap(robot.forward_dynamics, mode=mode)
    q0, qd0, _ = states(robot)
    forces = np.random.default_rng(2).uniform(-1.0, 1.0, (steps, 2))

    def final(start, forces):
        def step(state, tau):
            q, qd = state
            qd = qd + dt * forward(q, qd, tau)
            return (q + dt * qd, qd), None

        (q, qd), _ = jax.lax.scan(step, start, forces)
        return q @ q + qd[0]

    def one(q, qd, tau):
        qd = qd + dt * robot.forward_dynamics(q, qd, tau)
        return np.concatenate([q + dt * qd, qd])

    step = neuler.function(one, {"q": 2, "qd": 2, "tau": 2}, "next")
    slope = step.jacobian(["q", "qd", "tau"])
    z, slopes = np.concatenate([q0, qd0]), []
    for tau in forces:
        slopes.append(slope(z[:2], z[2:], tau))
        z = step(z[:2], z[2:], tau)
    adjoint, expected = np.array([2 * z[0], 2 * z[1], 1.0, 0.0]), []
    for each in reversed(slopes):
        expected.append(adjoint @ each[:, 4:])
        adjoint = adjoint @ each[:, :4]
    gradient = jax.jit(jax.grad(final, (0, 1)))
    (dq, dqd), dforces = gradient((q0, qd0), forces)
    np.testing.assert_allclose(dforces, expected[::-1], rtol=1e-9, atol=1e-13)
    np.testing.assert_allclose(np.concatenate([dq, dqd]), adjoint, rtol=1e-9, atol=1e-13)
    batch = jax.vmap(lambda scale: gradient((q0, qd0), scale * forces)[1])(np.array([0.5, 1.0]))
    np.testing.assert_allclose(batch[1], dforces, rtol=1e-12)
