"""Derivatives of kernels in PyTorch: both modes, of any order, by torch.func, never silently zero."""

import numpy as np
import pytest

import neuler
import neuler.torch

pytestmark = pytest.mark.exports
torch = pytest.importorskip("torch")

from torch.autograd import forward_ad  # noqa: E402

from torch_calls import compiled, equal, numbers, rand, state  # noqa: E402


@pytest.fixture(scope="module")
def arm():
    return neuler.robots.puma560()


@pytest.fixture(params=[False, True], ids=["operator", "functional"])
def wrap(request):
    """As an operator, and as a Function."""
    return lambda kernel: neuler.torch.wrap(kernel, functional=request.param)


def test_gradcheck(wrap):
    arm = neuler.robots.two_link()
    f, given = wrap(arm.inverse_dynamics), state(arm, 3, grad=True)
    every = {"check_forward_ad": True, "check_batched_grad": True, "check_batched_forward_grad": True}
    assert torch.autograd.gradcheck(f, given, **every)
    assert torch.autograd.gradgradcheck(f, given, check_fwd_over_rev=True, check_rev_over_rev=True)
    spread = (rand(3, 1, 2, grad=True), rand(2, 2, grad=True), rand(2, grad=True))
    assert torch.autograd.gradcheck(f, spread, **every)
    energy = wrap(arm.energy)
    assert torch.autograd.gradcheck(lambda *a: tuple(energy(*a)), given[:2], **every)
    assert torch.autograd.gradcheck(lambda *a: energy(*a).kinetic, given[:2], **every)


def test_gradients_are_those_of_the_sensitivities(arm, wrap):
    given, weights = state(arm, 8, grad=True), rand(8, 6, seed=9)
    (wrap(arm.inverse_dynamics)(*given) * weights).sum().backward()
    for x, matrix in zip(given, arm.inverse_dynamics_sensitivities(*numbers(*given)), strict=True):
        equal(x.grad, np.einsum("bi,bij->bj", weights, matrix))


def test_gradients_of_some_inputs_alone(arm, wrap):
    q, qd, qdd = state(arm, 8)
    qdd.requires_grad_()
    wrap(arm.inverse_dynamics)(q, qd, qdd).sum().backward()
    assert q.grad is None
    equal(qdd.grad, arm.mass_matrix(q.numpy()).sum(axis=-2))


def test_empty_batches_have_gradients(arm, wrap):
    q, qd = rand(0, 6, grad=True), rand(6, grad=True)
    wrap(arm.inverse_dynamics)(q, qd, rand(6)).sum().backward()
    assert q.grad.shape == (0, 6)
    assert torch.equal(qd.grad, torch.zeros(6))


def test_gradients_with_respect_to_a_mass(wrap):
    arm = neuler.robots.puma560()
    f = wrap(arm.compile("inverse_dynamics", parameters=["link3.mass", "joint2.viscous"]))
    values = torch.tensor(f.kernel.parameter_values, requires_grad=True)
    given = state(arm, 6)
    loss = f(*given, values).square().sum()
    loss.backward()
    step = 1e-6
    for k in range(2):
        moved = [values.detach() + step * sign * torch.eye(2, dtype=torch.float64)[k] for sign in (1, -1)]
        up, down = (f(*given, parameters=x).square().sum().item() for x in moved)
        assert values.grad[k].item() == pytest.approx((up - down) / (2 * step), rel=1e-5, abs=1e-6)


def tangents_by(way, f, given, rates):
    if way == "jvp":
        return torch.func.jvp(f, tuple(given), tuple(rates))[1]
    if way == "vmap(jvp)":
        return torch.vmap(lambda *a: torch.func.jvp(f, a[:3], a[3:])[1])(*given, *rates)
    if way == "composition":
        return torch.func.jvp(lambda *a: f(*(x.sin().asin() for x in a)) * 1.0, tuple(given), tuple(rates))[1]
    with forward_ad.dual_level():
        found = f(*(forward_ad.make_dual(x, v) for x, v in zip(given, rates, strict=True)))
        return forward_ad.unpack_dual(found).tangent


WAYS = ["jvp", "vmap(jvp)", "composition", "dual"]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("within", ["eager", "compile", "requires_grad", "bare operator"])
def test_forward_mode_is_never_silently_zero(wrap, way, within):
    arm = neuler.robots.two_link()
    f, given, rates = wrap(arm.inverse_dynamics), state(arm, 5), [rand(5, 2, seed=7 + k) for k in range(3)]
    wanted = neuler.function(arm.inverse_dynamics).jvp()(*numbers(*given, *rates))
    if within == "compile":
        found = compiled(lambda *a: tangents_by(way, f, a[:3], a[3:]))(*given, *rates)
    elif within == "requires_grad":
        for x in given:
            x.requires_grad_()
        found = tangents_by(way, f, given, rates)
        again = neuler.torch.wrap(neuler.function(arm.inverse_dynamics).jvp())(*given, *rates)
        slopes = [torch.autograd.grad(x.sum(), given) for x in (found, again)]
        for x, y in zip(*slopes, strict=True):  # it is differentiable itself
            equal(x, y)
    else:
        found = tangents_by(way, f.operator if within == "bare operator" else f, given, rates)
    equal(found, wanted)


def test_tangents_of_some_inputs_alone(wrap):
    arm = neuler.robots.two_link()
    f, (q, qd, qdd), rate = wrap(arm.inverse_dynamics), state(arm, 5), rand(5, 2, seed=8)
    found = torch.func.jvp(lambda qdd: f(q, qd, qdd), (qdd,), (rate,))[1]
    equal(found, np.einsum("bij,bj->bi", arm.mass_matrix(q.numpy()), rate))


def test_func_transformations(wrap):
    arm = neuler.robots.two_link()
    f, given = wrap(arm.inverse_dynamics), state(arm, 5)
    wanted = arm.inverse_dynamics_sensitivities(*numbers(*given))
    for way in (torch.func.jacrev, torch.func.jacfwd):
        for matrix, right in zip(torch.vmap(way(f, argnums=(0, 1, 2)))(*given), wanted, strict=True):
            equal(matrix, right)

    def loss(q):
        return f(q, given[1][0], given[2][0]).square().sum()

    square = neuler.function(
        lambda q, qd, qdd: (arm.inverse_dynamics(q, qd, qdd) ** 2).sum(), {"q": 2, "qd": 2, "qdd": 2}
    )
    q = given[0][0]
    right = square.hessian("q")(q.numpy(), given[1][0].numpy(), given[2][0].numpy())
    ways = (torch.func.jacrev, torch.func.jacfwd)
    for outer in ways:
        for inner in ways:
            equal(outer(inner(loss))(q), right)
    third = [torch.func.jacfwd(torch.func.hessian(loss))(q), torch.func.jacrev(torch.func.hessian(loss))(q)]
    equal(third[0], third[1])
    assert third[0].abs().max() > 1e-3
    for options in ({}, {"vectorize": True}, {"vectorize": True, "outer_jacobian_strategy": "forward-mode"}):
        equal(torch.autograd.functional.hessian(loss, q, **options), right)


def test_the_function_needs_no_internals(monkeypatch):
    """What the rules of the operator stand on may change; the Function goes on."""

    def gone():
        raise ImportError("gone")

    arm = neuler.robots.two_link()
    function, given = neuler.torch.wrap(arm.inverse_dynamics, functional=True), state(arm, 5, grad=True)
    operator, plain = neuler.torch.wrap(arm.inverse_dynamics), [x.detach() for x in given]
    slopes, matrix = torch.autograd.grad(operator(*given).sum(), given), torch.vmap(torch.func.jacfwd(operator))(*plain)
    monkeypatch.setattr("torch._functorch.utils.enable_single_level_autograd_function", gone)
    with pytest.raises(ImportError, match="gone"):
        operator(*given)
    for x, y in zip(torch.autograd.grad(function(*given).sum(), given), slopes, strict=True):
        equal(x, y)
    equal(torch.vmap(torch.func.jacfwd(function))(*plain), matrix)
    equal(torch.vmap(torch.func.jacrev(function))(*plain), matrix)


def test_vmap_over_any_axis(arm, wrap):
    f, (q, qd, qdd) = wrap(arm.inverse_dynamics), state(arm, 4)
    right = f(q, qd, qdd)
    equal(torch.vmap(f, in_dims=(1, 0, None))(q.T.contiguous(), qd, qdd[0]), f(q, qd, qdd[0]))
    equal(torch.vmap(f, in_dims=(0, None, None), out_dims=1)(q, qd, qdd), f(q[:, None], qd, qdd).transpose(0, 1))
    equal(torch.vmap(torch.vmap(f, in_dims=(0, None, None)), in_dims=(None, 0, None))(q, qd, qdd[0]),
          f(q, qd[:, None], qdd[0]))  # fmt: skip
    equal(torch.vmap(lambda q: wrap(arm.energy)(q, qd[0]).kinetic)(q), arm.energy(q.numpy(), qd[0].numpy())[0])
    equal(torch.vmap(f, chunk_size=2)(q, qd, qdd), right)


def test_batched_gradients(arm, wrap):
    f, (q, qd, qdd) = wrap(arm.inverse_dynamics), state(arm, 4)
    qd.requires_grad_()
    weights = rand(5, 4, 6, seed=4)
    (found,) = torch.autograd.grad(f(q, qd, qdd), qd, weights, is_grads_batched=True)
    for k, weight in enumerate(weights):
        equal(found[k], torch.autograd.grad(f(q, qd, qdd), qd, weight)[0])
