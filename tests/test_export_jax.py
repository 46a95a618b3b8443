"""Functions of JAX: bits of the kernel through every transformation; arguments that are refused."""

import re

import numpy as np
import pytest

import neuler

pytestmark = pytest.mark.exports
jax = pytest.importorskip("jax")

import jax.numpy as jnp  # noqa: E402
from jax.test_util import check_grads  # noqa: E402

import neuler.jax  # noqa: E402
from jax_calls import MODES, arm, puma, same, states  # noqa: E402


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


def test_arguments():
    kernel = arm().inverse_dynamics
    f = neuler.jax.wrap(kernel)
    q, qd, qdd = states(arm(), 3)
    same(f([1, 2], jnp.array([True, False]), np.float32([0.5, 0.25])), kernel([1, 2], [1.0, 0.0], [0.5, 0.25]))
    assert jax.grad(lambda x: f(x, q[0], q[0]).sum())(np.float32([1, 2])).dtype == np.float32
    bad = {
        "q must be real numbers, got complex numbers": (q + 1j, qd, qdd),
        "q must be real numbers, got complex128": (jnp.asarray(q + 1j), qd, qdd),
        "q must be real numbers, got values of type <U1": ("q", qd, qdd),
        "qd must be real numbers, got values of type NoneType": (q, None, qdd),
        "qdd must be real numbers, got values of type datetime64": (q, qd, np.zeros(2, "M8[s]")),
        "q is not a regular array of numbers": ([[1.0], [1.0, 2.0]], qd, qdd),
        "q is a masked array": (np.ma.masked_array(q, q > 0.0), qd, qdd),
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


def test_arrays_of_any_kind():
    """As the kernel takes them: columns of tables by their names, foreign byte order, whole numbers of any size."""
    kernel, (q, qd, qdd) = arm().inverse_dynamics, states(arm(), 3)
    f = neuler.jax.wrap(kernel)
    for x in (q.astype(">f8"), q[::-1, ::-1], np.asfortranarray(q), q.astype(np.float16), [10**30, 1], q > 0.0):
        same(f(x, qd, qdd), kernel(x, qd, qdd))
    small = jnp.asarray(q, jnp.bfloat16)
    same(f(np.asarray(small), qd, qdd), kernel(np.asarray(small.astype(float)), qd, qdd))
    same(jax.jit(lambda x: f([x[0, 0], 0.5], (x[0, 1], x[1, 1]), [1, 2]))(q), kernel([q[0, 0], 0.5], q[:2, 1], [1, 2]))

    class Variable:
        def __jax_array__(self):
            return jnp.asarray(q)

    same(f(Variable(), qd, qdd), kernel(q, qd, qdd))
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(q[:, ::-1], columns=["joint2", "joint1"])
    same(f(table, qd, qdd), kernel(q, qd, qdd))
    with pytest.raises(neuler.InputError, match="has no column 'joint1'"):
        f(table.rename(columns={"joint1": "elbow"}), qd, qdd)


def test_tensors_that_require_gradients_are_refused():
    torch = pytest.importorskip("torch")
    f, q = neuler.jax.wrap(arm().gravity_force), torch.ones(2, dtype=torch.float64)
    same(f(q), arm().gravity_force(np.ones(2)))
    with pytest.raises(neuler.InputError, match="requires gradients"):
        f(q.requires_grad_())


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
