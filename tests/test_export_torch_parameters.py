"""Parameters of robots in PyTorch: by names as kernels take them, with derivatives, batched and compiled."""

import numpy as np
import pytest

import neuler
import neuler.torch

pytestmark = pytest.mark.exports
torch = pytest.importorskip("torch")

from torch_calls import compiled, equal, numbers, rand, state  # noqa: E402

NAMES = ["payload:link2", "link1", "gravity", "joint1.placement", "link2.mass", "joint2.viscous"]


@pytest.fixture(scope="module")
def arm():
    return neuler.robots.two_link()


@pytest.fixture(params=[False, True], ids=["operator", "functional"])
def wrap(request):
    """As an operator, and as a Function."""
    return lambda kernel: neuler.torch.wrap(kernel, functional=request.param)


def values_of(arm, names, *batch, grad=False):
    found = {}
    for k, name in enumerate(names):
        size = len(arm.compile("inverse_dynamics", parameters=name).parameter_names)
        found[name] = rand(*batch, *([size] if size > 1 else []), seed=k + 1, grad=grad)
    return found


def plain(values):
    return {name: value.detach().numpy() for name, value in values.items()}


def test_parameters_are_given_as_to_the_kernel(arm, wrap):
    kernel = arm.compile("inverse_dynamics", parameters=NAMES)
    f, every = wrap(kernel), wrap(arm.inverse_dynamics)
    given, values = state(arm, 5), values_of(arm, NAMES[::-1], 5, grad=True)
    expected = kernel(*numbers(*given), parameters=plain(values))
    for found in (f(*given, values), f(*given, parameters=values), every(*given, parameters=values)):
        equal(found, expected)
    single = {name: x[0].detach().requires_grad_() for name, x in values.items()}
    assert torch.autograd.gradcheck(
        lambda *x: f(*given, parameters=dict(zip(single, x, strict=True))), (*single.values(),), check_forward_ad=True
    )
    slopes = torch.func.jacrev(lambda x: every(*given, parameters=x))({name: x.detach() for name, x in single.items()})
    wanted = torch.func.jacfwd(lambda x: f(*given, parameters=x))({name: x.detach() for name, x in single.items()})
    for name in single:
        equal(slopes[name], wanted[name], rtol=1e-8)
    found = torch.vmap(lambda q, qd, qdd, x: f(q, qd, qdd, parameters=x))(*given, values)
    equal(found, expected)


def test_names_of_single_numbers_and_of_groups(arm, wrap):
    kernel = arm.compile("inverse_dynamics", parameters=["link2.yy", "gravity", "link2.xx", "link2.zz"])
    f, given, values = wrap(kernel), state(arm, 3), kernel.parameter_values + 0.5
    single = dict(zip(kernel.parameter_names, values.tolist(), strict=True))
    equal(f(*given, parameters=single), kernel(*numbers(*given), values))
    with pytest.raises(neuler.InputError, match=r"has the parameters 'link2\.yy', 'gravity', .*; got 'link2\.inertia'"):
        f(*given, parameters={"link2.inertia": np.ones(6), "gravity": np.ones(3)})


def test_values_of_any_kind_take_the_precision_of_the_tensors(arm, wrap):
    f, given = wrap(arm.inverse_dynamics), state(arm, 3)
    for value in (0.1, np.float64(0.1), [0.1], np.array([0.1] * 3), torch.tensor(0.1, dtype=torch.float64)):
        found = f(*given, parameters={"link2.mass": value})
        equal(found, arm.inverse_dynamics(*numbers(*given), parameters={"link2.mass": 0.1}), rtol=1e-14)
        assert found.dtype == torch.float64
    assert f(*(x.float() for x in given), parameters={"link2.mass": 0.1}).dtype == torch.float32
    equal(f(*given, parameters={}), arm.inverse_dynamics(*numbers(*given)))


def test_by_name_in_one_graph(arm, wrap):
    kernel = arm.compile("inverse_dynamics", parameters=["payload:link2", "gravity"])
    given = state(arm, 4)
    payload, gravity = rand(4, 10, seed=5, grad=True), rand(3, seed=6, grad=True)
    for f in (wrap(kernel), wrap(arm.inverse_dynamics)):

        def loss(payload, gravity, f=f):
            tau = f(*given, parameters={"gravity": gravity, "payload:link2": payload})
            return (tau * f(*given, parameters={"payload:link2": payload, "gravity": gravity[..., :3]})).sum()

        found = torch.autograd.grad(compiled(loss)(payload, gravity), (payload, gravity))
        for x, y in zip(found, torch.autograd.grad(loss(payload, gravity), (payload, gravity)), strict=True):
            equal(x, y)


@pytest.mark.parametrize("own", [("link2.mass", "gravity"), ()])
@pytest.mark.parametrize(
    "values",
    [
        {"link2.mas": 1.0},
        {"link2.mass": 1.0, "gravity": (0.0, 0.0, -9.81), "link9.mass": 2.0},
        {"link2.mass": 1.0, "gravity.x": 0.0, "gravity.y": 0.0},
        {"link2.mass": 1.0, "gravity": np.zeros(2)},
        {"link2.mass": np.zeros(2), "gravity": np.zeros((3, 3))},
    ],
)
def test_what_is_refused_in_the_words_of_the_kernel(arm, wrap, own, values):
    given = state(arm, 2)
    kernel = arm.compile("inverse_dynamics", parameters=own) if own else arm.inverse_dynamics
    with pytest.raises((neuler.InputError, neuler.RobotError)) as said:
        kernel(*numbers(*given), parameters=values)
    with pytest.raises(type(said.value)) as found:
        wrap(kernel)(*given, parameters=values)
    assert str(found.value) == str(said.value)


def test_calls_with_options_are_refused(arm, wrap):
    f, given = wrap(arm.inverse_dynamics), state(arm)
    with pytest.raises(neuler.InputError, match=r"'loads' is an option; options are given to robot\.compile"):
        f(*given, loads={"link2": np.zeros(6)})
    with pytest.raises(neuler.InputError, match="given twice"):
        wrap(arm.compile("gravity_force", parameters="gravity"))(
            given[0], {"gravity": np.zeros(3)}, parameters={"gravity": np.zeros(3)}
        )
    with pytest.raises(neuler.InputError, match=r"parameters\['gravity'\] is torch\.complex64"):
        f(*given, parameters={"gravity": torch.zeros(3, dtype=torch.complex64)})
    with pytest.raises(neuler.InputError, match=r"parameters\['gravity'\] must be real numbers"):
        f(*given, parameters={"gravity": "down"})
