"""Parameters of robots in JAX: by names as kernels take them, traced, batched and differentiated."""

import re

import numpy as np
import pytest

import neuler

pytestmark = pytest.mark.exports
jax = pytest.importorskip("jax")


import neuler.jax  # noqa: E402
from jax_calls import MODES, arm, same, states  # noqa: E402


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


NAMES = ["payload:link2", "link1", "gravity", "joint1.placement", "link2.mass", "joint2.viscous"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("names", [NAMES, ["links"], "gravity", ["payload:link2.mass", "link2.inertia", "link1.mx"]])
def test_parameters_are_given_as_to_the_kernel(mode, names):
    """By whole names in any order, batched, to a kernel that has them and to one that has none."""
    kernel, rng = arm().compile("inverse_dynamics", parameters=names), np.random.default_rng(3)
    plain, f = neuler.jax.wrap(arm().inverse_dynamics, mode=mode), neuler.jax.wrap(kernel, mode=mode)
    x, values, own = states(arm(), 5), {}, [names] if isinstance(names, str) else names
    for name in own[::-1]:
        size = len(arm().compile("inverse_dynamics", parameters=name).parameter_names)
        values[name] = rng.uniform(0.1, 1.0, (5, *([size] if size > 1 else [])))
    expected = kernel(*x, parameters=values)
    same(f(*x, parameters=values), expected)
    same(f(*x, values), expected)
    same(jax.jit(f)(*x, parameters=values), expected)
    same(jax.vmap(f)(*x, values), expected)
    same(plain(*x, parameters=values), arm().inverse_dynamics(*x, parameters=values))
    np.testing.assert_allclose(jax.jit(plain)(*x, parameters=values), expected, atol=1e-12)
    np.testing.assert_allclose(jax.vmap(plain)(*x, values), expected, atol=1e-12)
    one = {name: value[0] for name, value in values.items()}
    same(f(*x, parameters=one), kernel(*x, parameters=one))
    slopes = jax.jacrev(lambda given: f(*x, given))(one)
    h = 1e-6
    for name, value in one.items():
        for k in np.ndindex(np.shape(value)):
            up, down = ({**one, name: value + sign * h * (np.eye(value.size)[k] if k else 1.0)} for sign in (1, -1))
            slope = (kernel(*x, parameters=up) - kernel(*x, parameters=down)) / (2 * h)
            np.testing.assert_allclose(slopes[name][..., *k], slope, rtol=1e-6, atol=1e-7)


def test_names_of_single_numbers_and_of_groups():
    """A kernel that was compiled with a group takes its numbers one by one, and the other way round."""
    x = states(arm(), 4)
    kernel = arm().compile("inverse_dynamics", parameters=["gravity", "link2"])
    f, values = neuler.jax.wrap(kernel), kernel.parameter_values + 0.25
    expected = kernel(*x, values)
    single = dict(zip(kernel.parameter_names, values, strict=True))
    ten = {f"link2.{part}": value for part, value in zip(("mass", "first_moment", "inertia"),
                                                         np.split(values[3:], [1, 4]), strict=True)}  # fmt: skip
    for given in (single, {"gravity": values[:3], **ten}, {**ten, **dict(list(single.items())[2::-1])}):
        for call in (kernel, f, jax.jit(f)):
            same(call(*x, parameters=given), expected)
    mixed = arm().compile("inverse_dynamics", parameters=["link2.yy", "link2.xx", "link2.zz", "link2.xy", "link2.yz",
                                                          "link2.xz"])  # fmt: skip
    six = np.arange(1.0, 7.0)
    given = {"link2.inertia": six}
    expected = mixed(*x, six[[1, 0, 2, 3, 5, 4]])
    same(mixed(*x, parameters=given), expected)
    same(neuler.jax.wrap(mixed)(*x, parameters=given), expected)


def test_a_length_of_one_is_no_batch():
    x = [part[0] for part in states(arm(), 1)]
    for shape in ((), (1,), (3,), (3, 1), (1, 3)):
        given = {"link2.mass": np.full(shape, 2.0)}
        expected = arm().inverse_dynamics(*x, parameters=given)
        same(neuler.jax.wrap(arm().inverse_dynamics)(*x, parameters=given), expected)


def test_the_robots_own_values_where_nothing_is_given():
    x = states(arm(), 3)
    f = neuler.jax.wrap(arm().inverse_dynamics)
    same(f(*x, parameters={}), arm().inverse_dynamics(*x))
    kernel = arm().compile("gravity_force", parameters="gravity")
    same(neuler.jax.wrap(kernel)(x[0], kernel.parameter_values), kernel(x[0], kernel.parameter_values))


@pytest.mark.parametrize("own", [("link2.mass", "gravity"), ()])
@pytest.mark.parametrize(
    "values",
    [
        {"link2.mas": 1.0},
        {"link2.mass": 1.0},
        {},
        {"link2.mass": 1.0, "gravity": (0.0, 0.0, -9.81), "link1.mass": 2.0},
        {"link2.mass": 1.0, "gravity.x": 0.0, "gravity.y": 0.0},
        {"link2.mass": 1.0, "gravity": np.zeros(3), "gravity.x": 0.0},
        {"link2.mass": 1.0, "gravity": np.zeros(2)},
        {"link2.mass": np.zeros(2), "gravity": np.zeros((3, 3))},
        {"link2.mass": [[1.0], [1.0, 2.0]], "gravity": np.zeros(3)},
    ],
)
def test_what_is_refused_in_the_words_of_the_kernel(own, values):
    x = states(arm(), 2)
    kernel = arm().compile("inverse_dynamics", parameters=own) if own else arm().inverse_dynamics
    try:
        expected = kernel(*x, parameters=values)
    except neuler.InputError as error:
        said = str(error)
    else:
        said = ""
    if said:
        with pytest.raises(neuler.InputError, match=re.escape(said)):
            neuler.jax.wrap(kernel)(*x, parameters=values)
    else:
        assert not own
        same(neuler.jax.wrap(kernel)(*x, parameters=values), expected)


def test_calls_with_options_are_refused():
    f, x = neuler.jax.wrap(arm().inverse_dynamics), states(arm())
    with pytest.raises(neuler.InputError, match=r"'loads' is an option; options are given to robot\.compile"):
        f(*x, loads={"link2": np.zeros(6)})
    with pytest.raises(neuler.InputError, match=r"'parameters' is an option"):
        f(*x, parameters=np.zeros(3))
    kernel = arm().compile("inverse_dynamics", parameters="gravity")
    with pytest.raises(neuler.InputError, match="given twice"):
        neuler.jax.wrap(kernel)(*x, {"gravity": np.zeros(3)}, parameters={"gravity": np.zeros(3)})
    with pytest.raises(neuler.InputError, match="maps names to values"):
        f(*x, parameters={2: 1.0})
    with pytest.raises(neuler.InputError, match="q must be real numbers, got values of type dict"):
        neuler.jax.wrap(arm().gravity_force)({"q": 1.0})
    with pytest.raises(neuler.InputError, match="there is no input 'parameters'"):
        neuler.jax.wrap(neuler.function(lambda x: x, {"x": 2}))(np.zeros(2), parameters={"x": 1.0})
