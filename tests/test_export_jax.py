"""Functions of JAX: bits of the kernel through every transformation, derivatives, refusals, callbacks."""

import functools
import os
import pickle
import re
import subprocess
import sys
import threading
import warnings

import numpy as np
import pytest

import neuler

pytestmark = pytest.mark.exports
jax = pytest.importorskip("jax")

import jax.numpy as jnp  # noqa: E402
from jax.test_util import check_grads  # noqa: E402

import neuler.jax  # noqa: E402
from neuler.export import jax_functions, xla_ffi  # noqa: E402
from neuler.export.objects import _all_targets  # noqa: E402
from neuler.export.xla_handler import answer  # noqa: E402

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


@pytest.fixture
def unsaid(monkeypatch):
    """Warnings that were given once are given again."""
    monkeypatch.setattr(jax_functions, "_told", set())


# ---- values --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
def test_bits_of_the_kernel_through_every_transformation(mode):
    kernel = puma().inverse_dynamics
    f = neuler.jax.wrap(kernel, mode=mode)
    q, qd, qdd = states(puma(), 37)
    expected = kernel(q, qd, qdd)
    same(f(q, qd, qdd), expected)
    same(f(q[0], qd[0], qdd=qdd[0]), expected[0])
    same(jax.jit(f)(q, qd, qdd), expected)
    same(jax.vmap(f)(q, qd, qdd), expected)
    same(jax.jit(jax.vmap(f))(q, qd, qdd), expected)
    same(jax.vmap(f, in_axes=(0, None, 0))(q, qd[3], qdd), kernel(q, qd[3], qdd))
    same(jax.vmap(f, in_axes=(1, 0, 0))(q.T, qd, qdd), expected)
    same(jax.lax.map(lambda row: f(*row), (q, qd, qdd)), expected)
    _, scanned = jax.lax.scan(lambda carry, row: (carry, f(*row)), 0.0, (q, qd, qdd))
    same(scanned, expected)
    same(jax.checkpoint(f)(q, qd, qdd), expected)
    same(jax.lax.cond(q[0, 0] < 2.0, f, lambda *_: jnp.zeros((37, 6)), q, qd, qdd), expected)


def test_batch_axes_of_length_one_anywhere():
    """Each subset of axes that are 1, with lengths by which axes merge, the longest is inside, or none is left."""
    kernel = arm().inverse_dynamics
    f = jax.jit(neuler.jax.wrap(kernel))
    rng = np.random.default_rng(1)
    for _ in range(40):
        batch = rng.choice([1, 1, 2, 3, 9, 17], size=rng.integers(0, 5))
        arrays = []
        for _ in range(3):
            mine = [1 if rng.random() < 0.4 else n for n in batch][
                rng.integers(0, 2) * rng.integers(0, len(batch) + 1) :
            ]
            arrays.append(rng.uniform(-1.0, 1.0, (*mine, 2)))
        same(f(*arrays), kernel(*arrays))


def test_nested_vmap_without_copies():
    kernel = arm().inverse_dynamics
    f = neuler.jax.wrap(kernel)
    q, qd, qdd = states(arm(), 50)
    nested = jax.vmap(jax.vmap(jax.vmap(f, (None, 0, None)), (0, None, None)), (None, None, 0))
    expected = kernel(q[:7, None], qd, qdd[:3, None, None])
    same(nested(q[:7], qd, qdd[:3]), expected)
    compiled = jax.jit(nested).lower(q[:7], qd, qdd[:3]).compile().as_text()
    (takes,) = re.findall(r"operand_layout_constraints=\{(.*?)\}, api_version", compiled)
    assert re.findall(r"\[[\d,]+\]", takes) == ["[1,7,1,2]", "[1,1,50,2]", "[3,1,1,2]"]


def test_empty_batches():
    f = neuler.jax.wrap(arm().inverse_dynamics)
    for shape in ((0, 2), (3, 0, 2)):
        x = np.zeros(shape)
        assert jax.jit(f)(x, x, x).shape == f(x, x, np.zeros(2)).shape == shape
        assert jax.vmap(f)(x, x, x).shape == shape


def test_several_outputs_come_by_name():
    kernel = puma().energy
    q, qd, _ = states(puma(), 5)
    found, expected = jax.jit(neuler.jax.wrap(kernel))(q, qd), kernel(q, qd)
    assert type(found) is type(expected)
    for name in expected._fields:
        same(getattr(found, name), getattr(expected, name))
    power = jax.vmap(jax.grad(lambda q, qd: neuler.jax.wrap(kernel)(q, qd).potential))(q, qd)
    np.testing.assert_allclose(power, puma().gravity_force(q), atol=1e-12)


def test_matrices_and_lone_numbers():
    mass = arm().mass_matrix
    q = states(arm(), 6)[0]
    same(jax.vmap(neuler.jax.wrap(mass))(q), mass(q))
    f = neuler.function(lambda x, A, u: (np.sin(x) @ A * u, u * u), {"x": 2, "A": (2, 2), "u": ()}, ("y", "v"))
    g = neuler.jax.wrap(f)
    x, A, u = q, np.arange(24.0).reshape(6, 2, 2), np.arange(6.0)
    for found in (g(x, A, u), jax.vmap(g)(x, A, u), jax.jit(g)(u=u, x=x, A=A)):
        same(found.y, f(x, A, u).y)
        same(found.v, f(x, A, u).v)
    assert g(x[0], A[0], 2.0).v.shape == ()
    check_grads(jax.jit(g), (x[0], A[0], 2.0), order=1)
    same(jax.grad(lambda u: g(x[0], A[0], u).v)(3.0), np.float64(6.0))


def test_a_function_of_one_number():
    f = neuler.jax.wrap(neuler.function(lambda u: u**3, {"u": ()}, "y"))
    assert float(f(2.0)) == 8.0
    assert float(jax.grad(f)(2.0)) == 12.0
    assert float(jax.grad(jax.grad(jax.grad(f)))(2.0)) == 6.0
    same(jax.vmap(jax.grad(f))(np.arange(3.0)), np.array([0.0, 3.0, 12.0]))


def test_single_precision():
    kernel = puma().compile("inverse_dynamics", dtype="float32")
    x = [part.astype(np.float32) for part in states(puma(), 20)]
    f = neuler.jax.wrap(kernel)
    same(jax.jit(f)(*x), kernel(*x))
    same(jax.vmap(f, (0, None, 0))(x[0], x[1][0], x[2]), kernel(x[0], x[1][0], x[2]))
    exact = puma().inverse_dynamics_sensitivities(*states(puma(), 20))[0]
    for mode in MODES:
        slope = jax.vmap(jax.jacrev(neuler.jax.wrap(kernel, mode=mode)))(*x)
        assert slope.dtype == np.float32
        np.testing.assert_allclose(slope, exact, rtol=1e-4, atol=1e-4)


def test_subnormal_numbers_are_numbers():
    """XLA's threads take them for zero; our code computes as where NumPy calls it."""
    f = neuler.function(lambda x: x * 0.5, {"x": 3})
    x = np.array([[1e-310, 3e-320, 1.0]] * 9)
    assert (f(x)[:, :2] > 0).all()
    same(jax.jit(neuler.jax.wrap(f))(x), f(x))
    same(neuler.jax.wrap(f)(x[0]), f(x[0]))


def test_nan_where_the_kernel_has_it():
    kernel = arm().forward_dynamics
    q, qd, tau = states(arm(), 11)
    q[4, 1] = np.nan
    tau[7, 0] = np.inf
    expected = kernel(q, qd, tau)
    assert np.isnan(expected[4]).any()
    same(jax.jit(neuler.jax.wrap(kernel))(q, qd, tau), expected)


# ---- derivatives ---------------------------------------------------------------------------------------------------


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


# ---- robots of other kinds -----------------------------------------------------------------------------------------


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


@pytest.mark.parametrize("mode", MODES)
def test_gradients_to_parameters(mode):
    """A mass as an input; torques are linear in it."""
    kernel = arm().compile("inverse_dynamics", parameters=["link2.mass", "link1.mx", "gravity"])
    q, qd, qdd = states(arm(), 5)
    values = kernel.parameter_values
    f = neuler.jax.wrap(kernel, mode=mode)
    same(f(q, qd, qdd, values), kernel(q, qd, qdd, values))
    by_name = dict(zip(kernel.parameter_names, values, strict=True))
    same(jax.jit(f)(q, qd, qdd, parameters=by_name), kernel(q, qd, qdd, values))
    slopes = jax.jacrev(lambda p: f(q, qd, qdd, p))(values)
    for k in range(2):
        unit = np.eye(len(values))[k]
        np.testing.assert_allclose(
            slopes[..., k], kernel(q, qd, qdd, values + unit) - kernel(q, qd, qdd, values), atol=1e-12
        )
    mass = jax.grad(lambda m: f(q, qd, qdd, parameters={**by_name, "link2.mass": m}).sum())(1.0)
    np.testing.assert_allclose(mass, slopes[..., 0].sum(), rtol=1e-12)
    assert jax.vmap(lambda p: f(q[0], qd[0], qdd[0], p))(np.tile(values, (3, 1))).shape == (3, 2)
    with pytest.raises(neuler.InputError, match=r"this kernel has the parameters 'link2\.mass'"):
        f(q, qd, qdd, parameters={"link2.mas": 1.0})
    with pytest.raises(neuler.InputError, match="this kernel has no parameters"):
        neuler.jax.wrap(arm().gravity_force)({"q": 1.0})


def test_sparse_outputs_come_as_entries():
    step = neuler.function(lambda x, y: [x[0] * y, np.sin(x[1])], {"x": 2, "y": ()}, "z").jacobian(sparse=True)
    f = neuler.jax.wrap(step)
    x, y = np.array([0.3, 0.7]), 2.0
    same(f(x, y), step(x, y))
    assert {name: [axis.tolist() for axis in axes] for name, axes in f.structure.items()} == {
        name: [axis.tolist() for axis in axes] for name, axes in step.structure.items()
    }
    check_grads(f, (x, y), order=1)


# ---- what is refused -----------------------------------------------------------------------------------------------


def test_arguments():
    kernel = arm().inverse_dynamics
    f = neuler.jax.wrap(kernel)
    q, qd, qdd = states(arm(), 3)
    same(f([1, 2], jnp.array([True, False]), np.float32([0.5, 0.25])), kernel([1, 2], [1.0, 0.0], [0.5, 0.25]))
    assert jax.grad(lambda x: f(x, q[0], q[0]).sum())(np.float32([1, 2])).dtype == np.float32
    bad = {
        "must be real numbers, got complex128": (q + 1j, qd, qdd),
        "must be real numbers, got str": ("q", qd, qdd),
        r"expected q with last axis 2.*got shape \(3, 3\)": (np.zeros((3, 3)), qd, qdd),
        r"expected qd with last axis 2.*got shape \(\)": (q, 1.0, qdd),
        "batch axes do not broadcast": (q, qd[:2], qdd),
        "takes 3 arrays": (q, qd),
    }
    for message, arrays in bad.items():
        with pytest.raises(neuler.InputError, match=message):
            f(*arrays)
    with pytest.raises(neuler.InputError, match="batch axes do not broadcast"):
        jax.jit(f)(q, qd[:2], qdd)
    with pytest.raises(neuler.InputError, match="there is no input or option 'qddd'"):
        f(q, qd, qddd=qdd)
    with pytest.raises(neuler.InputError, match="given twice"):
        f(q, qd, qdd, q=q)
    with pytest.raises(neuler.InputError, match="mode must be one of 'both', 'reverse'"):
        neuler.jax.wrap(kernel, mode="forward")
    with pytest.raises(neuler.InputError, match=r"a kernel .* is needed, got Robot"):
        neuler.jax.wrap(arm())


def test_double_precision_must_be_enabled():
    f, single = (neuler.jax.wrap(arm().compile("gravity_force", dtype=dtype)) for dtype in ("float64", "float32"))
    jax.config.update("jax_enable_x64", False)
    try:
        with pytest.raises(neuler.InputError, match=r'jax_enable_x64", True.*dtype="float32"'):
            f(np.zeros(2))
        with pytest.raises(neuler.InputError, match="jax_enable_x64"):
            jax.jit(f)(np.zeros(2))
        assert single(np.zeros(2)).dtype == np.float32
        assert jax.jacfwd(single)(np.zeros(2)).dtype == np.float32
    finally:
        jax.config.update("jax_enable_x64", True)
    same(f(np.zeros(2)), arm().gravity_force(np.zeros(2)))


def target(kernel):
    """The name by which a kernel is registered."""
    f = neuler.jax.wrap(kernel)
    f(*(np.zeros(operand.shape) for operand in kernel.inputs))
    return f._source.name


def directly(name, *arrays, shape=(4, 2), dtype=np.float64, **options):
    call = jax.ffi.ffi_call(name, jax.ShapeDtypeStruct(shape, dtype), **options)
    return jax.block_until_ready(jax.jit(call)(*arrays))


def test_whoever_calls_a_target_with_other_buffers_gets_an_error():
    name, x = target(arm().inverse_dynamics), np.ones((4, 2))
    same(directly(name, x, x, x), arm().inverse_dynamics(x, x, x))
    same(directly(name, x, x[:1], x), arm().inverse_dynamics(x, x[:1], x))
    wrong = [
        ((x.astype(np.float32), x, x), {}, "q must be a buffer of float64"),
        ((x, x, x.astype(int)), {}, "qdd must be a buffer of float64"),
        ((x, np.ones((4, 3)), x), {}, r"qd must be .* last axes are \(2,\)"),
        ((x, x, x[0]), {}, "qdd must be"),
        ((x, x, x[None]), {}, "qdd must be"),
        ((x, np.float64(1.0), x), {}, "qd must be"),
        ((x, x[:3], x), {}, "its batch axes are those of the results, or 1"),
        ((x, x, x), {"dtype": np.float32}, "tau must be a buffer of float64"),
        ((x, x, x), {"shape": (4, 3)}, "tau must be"),
        ((x, x, x), {"shape": (1, 2)}, "q must be"),
        ((x, x, x), {"shape": ()}, "tau must be"),
        ((x, x), {}, "takes 3 buffers and gives 1"),
        ((x, x, x, x), {}, "takes 3 buffers and gives 1"),
    ]
    for arrays, options, message in wrong:
        with pytest.raises(Exception, match=f"(?s)INVALID_ARGUMENT.*{message}"):
            directly(name, *arrays, **options)
    two = jax.ffi.ffi_call(name, [jax.ShapeDtypeStruct((4, 2), np.float64)] * 2)
    with pytest.raises(Exception, match="INVALID_ARGUMENT"):
        jax.block_until_ready(two(x, x, x))
    for axes in (62, 63, 64, 65):
        shape = (*[1] * (axes - 1), 4, 2)
        call = jax.ffi.ffi_call(name, jax.ShapeDtypeStruct(shape, np.float64))
        call = jax.jit(lambda x, call=call, shape=shape: call(*[x.reshape(shape)] * 3).reshape(4, 2))
        if axes <= 64:
            same(call(x), arm().inverse_dynamics(x, x, x))
        else:
            with pytest.raises(Exception, match=r"(?s)INVALID_ARGUMENT.*tau must be"):
                jax.block_until_ready(call(x))


def test_results_that_overlap_arguments_are_refused():
    name, x = target(arm().inverse_dynamics), jnp.ones((4, 2))
    with pytest.raises(Exception, match=r"(?s)INVALID_ARGUMENT.*must not overlap"):
        directly(name, x, x + 1.0, x + 2.0, input_output_aliases={1: 0})


# ---- what is registered --------------------------------------------------------------------------------------------


def test_a_kernel_is_registered_once():
    name = target(arm().inverse_dynamics)
    count = len(xla_ffi._registered)
    again = neuler.robots.two_link().compile("inverse_dynamics")
    assert target(again) == name
    assert target(arm().inverse_dynamics) == name
    assert len(xla_ffi._registered) == count
    other = neuler.robots.two_link().with_payload("link2", mass=1.0) if hasattr(arm(), "with_payload") else puma()
    assert target(other.inverse_dynamics) != name
    code = "import neuler, neuler.jax; print(neuler.jax._Source(neuler.robots.two_link().inverse_dynamics).name)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == name  # what JAX has cached on disk finds it again


def test_code_stays_when_nobody_holds_the_kernel():
    def made(k):
        f = neuler.jax.wrap(neuler.function(lambda x: x * float(k) + 1.0, {"x": 2}, name="gone"))
        return jax.jit(f).lower(np.ones(2)).compile()

    import gc

    functions = [made(k) for k in range(5)]
    gc.collect()
    for k, f in enumerate(functions):
        same(f(np.ones(2)), np.full(2, k + 1.0))


def test_functions_are_pickled():
    f = pickle.loads(pickle.dumps(neuler.jax.wrap(arm().gravity_force, mode="reverse")))
    same(f(np.ones(2)), arm().gravity_force(np.ones(2)))
    assert f.mode == "reverse"


def test_import_brings_no_jax():
    code = "import sys, neuler, neuler.jax; print('jax' in sys.modules, neuler.jax.wrap.__name__)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["False", "wrap"]


def test_without_jax_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ImportError, match="pip install jax"):
        neuler.jax.wrap(arm().gravity_force)


CACHED = """
import jax, numpy as np, neuler, neuler.jax
jax.config.update("jax_enable_x64", True)
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
for robot in (neuler.robots.two_link(), neuler.robots.puma560()):
    q = np.linspace(0.0, 1.0, robot.nv)
    found = jax.jit(jax.grad(lambda q: neuler.jax.wrap(robot.gravity_force)(q).sum()))(q)
    expected = neuler.function(robot.gravity_force).vjp()(q, weights=np.ones(robot.nv))
    print(np.abs(np.asarray(found) - expected).max() < 1e-12)
"""


def test_programmes_that_jax_has_cached_on_disk(tmp_path):
    """Another process finds its own code by the same names."""
    for _ in range(2):
        environment = {**os.environ, "JAX_COMPILATION_CACHE_DIR": str(tmp_path)}
        run = subprocess.run(
            [sys.executable, "-c", CACHED], capture_output=True, text=True, check=True, env=environment
        )
        assert run.stdout.split() == ["True", "True"]
        assert list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "triple", ["aarch64-unknown-linux-gnu", "arm64-apple-macosx11.0.0", "x86_64-pc-windows-msvc-elf"]
)
def test_handlers_of_other_machines_are_valid_code(triple):
    """They are compiled here; what runs is the handler of this machine."""
    llvm = _all_targets()
    module = llvm.parse_assembly(answer(triple, (0, 1)))
    module.verify()
    assert llvm.Target.from_triple(triple).create_target_machine(opt=2).emit_object(module)


def test_many_threads_at_once():
    """A kernel whose scratch comes from a pool, called by more threads than there are cores, and from XLA's own."""
    kernel = neuler.robots.get("human").inverse_dynamics
    assert kernel._compiled.code.pool
    f = jax.jit(neuler.jax.wrap(kernel))
    q = kernel.robot.random_configuration(0, 40)
    rng = np.random.default_rng(0)
    inputs = [(q, *rng.uniform(-1.0, 1.0, (2, 40, kernel.robot.nv))) for _ in range(8)]
    expected = [kernel(*x) for x in inputs]
    wrong = []

    def work(k):
        for _ in range(60):
            for j in range(len(inputs)):
                found = f(*inputs[(j + k) % 8])
                if not np.array_equal(found, expected[(j + k) % 8]):
                    wrong.append((k, j))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    both = jax.jit(lambda a, b: (f(*a), f(*b)))(inputs[0], inputs[1])  # independent calls of one programme
    same(both[0], expected[0])
    same(both[1], expected[1])


# ---- where XLA does not call machine code --------------------------------------------------------------------------


def checked_in_every_way(f, kernel, mode):
    q, qd, qdd = states(arm(), 6)
    same(f(q, qd, qdd), kernel(q, qd, qdd))
    same(jax.jit(jax.vmap(f, (0, None, 0)))(q, qd[0], qdd), kernel(q, qd[0], qdd))
    nested = jax.vmap(jax.vmap(f, (None, 0, None)), (0, None, None))
    same(nested(q, qd, qdd[0]), kernel(q[:, None], qd, qdd[0]))
    check_grads(jax.jit(f), (q[0], qd[0], qdd[0]), order=2, modes=MODES[mode])
    slope = jax.vmap(jax.jacrev(f))(q, qd, qdd)
    np.testing.assert_allclose(slope, arm().inverse_dynamics_sensitivities(q, qd, qdd)[0], atol=1e-12)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("reason", ["version", "platform", "jax"])
def test_callbacks_where_xla_cannot_call(mode, reason, monkeypatch, unsaid):
    """XLA really refuses a handler of version 9; the others are told to be so."""
    monkeypatch.setattr(xla_ffi, "_registered", {})
    monkeypatch.setattr(jax_functions, "_wrapped", {})
    said = {"version": "API version", "platform": "platform 'rocm'", "jax": "jax is 0.4.30"}[reason]
    if reason == "version":
        monkeypatch.setattr(xla_ffi, "VERSIONS", ((9, 0),))
    elif reason == "platform":
        monkeypatch.setattr(jax, "default_backend", lambda: "rocm")
    else:
        monkeypatch.setattr(jax, "__version_info__", (0, 4, 30))
        monkeypatch.setattr(jax, "__version__", "0.4.30")
    kernel = arm().inverse_dynamics
    f = neuler.jax.wrap(kernel, mode=mode)
    with pytest.warns(UserWarning, match=f"called back in Python.*{said}") as caught:
        checked_in_every_way(f, kernel, mode)
    assert len([each for each in caught if "called back" in str(each.message)]) == 1
