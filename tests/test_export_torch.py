"""Kernels and functions in PyTorch: numbers, derivatives of all kinds, transformations, what is refused."""

import copy
import dataclasses
import gc
import pickle
import subprocess
import sys
import threading
import warnings

import numpy as np
import pytest

import neuler
import neuler.torch

pytestmark = pytest.mark.exports
torch = pytest.importorskip("torch")

from torch.autograd import forward_ad  # noqa: E402

from neuler.export.torch_operators import as_array  # noqa: E402


@pytest.fixture(scope="module")
def arm():
    return neuler.robots.puma560()


@pytest.fixture(params=[False, True], ids=["operator", "functional"])
def wrap(request):
    """As an operator, and as a Function."""
    return lambda kernel: neuler.torch.wrap(kernel, functional=request.param)


def rand(*shape, seed=0, dtype=torch.float64, grad=False):
    values = torch.rand(*shape, dtype=dtype, generator=torch.Generator().manual_seed(seed)) * 2.0 - 1.0
    return values.requires_grad_(grad)


def state(robot, *batch, grad=False, dtype=torch.float64):
    return [rand(*batch, robot.nv, seed=k, grad=grad, dtype=dtype) for k in range(3)]


def numbers(*tensors):
    return [x.detach().numpy() for x in tensors]


def equal(found, wanted, rtol=1e-10):
    right = wanted.detach() if isinstance(wanted, torch.Tensor) else wanted
    np.testing.assert_allclose(found.detach().numpy(), np.asarray(right), rtol=rtol, atol=1e-12)


def compiled(f):
    torch._dynamo.reset()
    return torch.compile(f, fullgraph=True, backend="aot_eager")


# ---- numbers -----------------------------------------------------------------------------------------------------


def test_bits_are_the_kernels(arm, wrap):
    for batch in ((), (5,), (2, 3), (0,)):
        given = state(arm, *batch)
        found = wrap(arm.inverse_dynamics)(*given)
        np.testing.assert_array_equal(found.numpy(), arm.inverse_dynamics(*numbers(*given)))
        assert found.dtype == torch.float64


def test_batch_axes_broadcast(arm, wrap):
    q, qd, qdd = rand(4, 1, 6), rand(3, 6), rand(6)
    equal(wrap(arm.inverse_dynamics)(q, qd, qdd), arm.inverse_dynamics(*numbers(q, qd, qdd)))


def test_several_results_have_names(arm, wrap):
    q, qd, _ = state(arm, 3)
    kinetic, potential = arm.energy(*numbers(q, qd))
    found = wrap(arm.energy)(q, qd)
    equal(found.kinetic, kinetic)
    equal(found[1], potential)
    by_name = wrap(arm.energy)(q, qd=qd)
    assert torch.equal(by_name.potential, found.potential)


def test_single_precision(arm, wrap):
    f, given = wrap(arm.inverse_dynamics), state(arm, 5, dtype=torch.float32)
    found = f(*given)
    assert found.dtype == torch.float32
    single = arm.compile("inverse_dynamics", dtype="float32")
    np.testing.assert_array_equal(found.numpy(), single(*numbers(*given)))
    given[0].requires_grad_()
    f(*given).sum().backward()
    assert given[0].grad.dtype == torch.float32
    double = [x.detach().double() for x in given]
    double[0].requires_grad_()
    f(*double).sum().backward()
    np.testing.assert_allclose(given[0].grad, double[0].grad, rtol=1e-4, atol=1e-4)
    assert wrap(single)(*double).dtype == torch.float64  # tensors decide, not the kernel


def test_precisions_are_promoted(arm, wrap):
    f, (q, qd, qdd) = wrap(arm.inverse_dynamics), state(arm, 5)
    assert f(q.float(), qd, qdd).dtype == torch.float64
    whole = torch.ones(6, dtype=torch.int64)
    assert f(q.float(), whole, [0.0] * 6).dtype == torch.float32
    assert f(q.float(), whole, np.ones(6)).dtype == torch.float32
    assert f([0] * 6, [0] * 6, [1] * 6).dtype == torch.get_default_dtype()
    equal(f(q, whole, [2] * 6), arm.inverse_dynamics(q.numpy(), np.ones(6), np.full(6, 2.0)))
    single = q.float().requires_grad_()
    f(single, qd, qdd).sum().backward()
    assert single.grad.dtype == torch.float32


def test_nothing_is_copied():
    x = rand(7, 3)
    assert np.shares_memory(as_array(x), x.numpy())
    assert np.shares_memory(as_array(x.clone().requires_grad_().T), x.numpy()) is False
    assert as_array(x.T).strides == (8, 24)
    held = np.zeros((4, 6))
    seen = neuler.torch.wrap(neuler.robots.puma560().gravity_force)
    tensor = torch.from_numpy(held)
    first = seen(tensor)
    held[:] = 0.3
    assert not torch.equal(seen(tensor), first)  # the tensor is the array


@pytest.mark.parametrize("form", ["transposed", "expanded", "sliced", "negative", "reversed batch"])
def test_tensors_that_are_not_contiguous(arm, wrap, form):
    q, qd, qdd = state(arm, 4)
    changed = {
        "transposed": lambda: rand(6, 4).T,
        "expanded": lambda: rand(6).expand(4, 6),
        "sliced": lambda: rand(4, 12)[:, ::2],
        "negative": lambda: torch.complex(q, qd).conj().imag,
        "reversed batch": lambda: rand(2, 2, 6).transpose(0, 1),
    }[form]()
    rest = [x.reshape(2, 2, 6) if form == "reversed batch" else x for x in (qd, qdd)]
    assert form != "negative" or changed.is_neg()
    found = wrap(arm.inverse_dynamics)(changed, *rest)
    np.testing.assert_array_equal(found, arm.inverse_dynamics(np.ascontiguousarray(changed.resolve_neg()), *rest))
    assert found.is_contiguous()  # as compilers are told


def test_lone_numbers(wrap):
    f = wrap(neuler.function(lambda x, k: (x * k, x * x), {"x": (), "k": 3}, ("product", "square"), name="lone"))
    found = f(2.0, torch.ones(3, dtype=torch.float64))
    assert found.square.shape == ()
    assert found.square.item() == 4.0
    x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    assert f(x, [1.0, 2.0, 3.0]).product.shape == (2, 3)
    assert torch.func.grad(lambda x: f(x, [1.0, 2.0, 3.0]).square)(torch.tensor(3.0)).item() == 6.0
    torch.autograd.gradcheck(lambda *a: tuple(f(*a)), (x, rand(3, grad=True)), check_forward_ad=True)


# ---- derivatives -------------------------------------------------------------------------------------------------


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


# ---- compilers ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("quantity", ["inverse_dynamics", "energy", "mass_matrix"])
def test_opcheck(quantity):
    arm = neuler.robots.two_link()
    f = neuler.torch.wrap(arm.compile(quantity))
    count = len(f.kernel.inputs)
    for given in (state(arm, 3, grad=True), [x.float() for x in state(arm)]):
        found = torch.library.opcheck(f.operator, given[:count])
        assert set(found.values()) == {"SUCCESS"}
        assert len(found) == 4
    product = getattr(torch.ops.neuler, f"{f.__name__}_product").default
    weights = [x.detach().requires_grad_() for x in f(*given[:count])] if quantity == "energy" else [f(*given[:count])]
    whole = ",".join(map(str, range(len(weights))))
    found = torch.library.opcheck(product, (f"vjp:0:{whole}", [*given[:count], *weights]))
    assert set(found.values()) == {"SUCCESS"}


def test_compile_in_one_graph(arm, wrap):
    f, energy, given = wrap(arm.inverse_dynamics), wrap(arm.energy), state(arm, 5, grad=True)

    def loss(q, qd, qdd):
        return f(q.sin(), qd=qd, qdd=qdd).square().sum() + energy(q, qd).kinetic.sum()

    equal(compiled(loss)(*given), loss(*given))
    for found, wanted in zip(
        torch.autograd.grad(compiled(loss)(*given), given), torch.autograd.grad(loss(*given), given), strict=True
    ):
        equal(found, wanted)
    equal(compiled(f)(*given), f(*given))
    plain = [x.detach() for x in given]
    matrix = torch.vmap(torch.func.jacrev(f))(*plain)
    equal(compiled(lambda *a: torch.vmap(torch.func.jacrev(f))(*a))(*plain), matrix)
    equal(compiled(lambda *a: torch.vmap(torch.func.jacfwd(f))(*a))(*plain), matrix)
    found = compiled(torch.func.hessian(lambda q: f(q, plain[1][0], plain[2][0]).sum()))(plain[0][0])
    equal(found, torch.func.hessian(lambda q: f(q, plain[1][0], plain[2][0]).sum())(plain[0][0]))


def test_compile_with_batches_of_any_size(arm):
    f, sizes = neuler.torch.wrap(arm.inverse_dynamics), []

    def backend(graph, examples):
        sizes.append(len(examples))
        return graph

    torch._dynamo.reset()
    g = torch.compile(lambda *a: f(*a) * 2.0, fullgraph=True, dynamic=True, backend=backend)
    for batch in (3, 7, 50):
        given = state(arm, batch)
        equal(g(*given), 2.0 * f(*given))
    assert len(sizes) == 1


def test_inductor(arm):
    import shutil

    if shutil.which("g++") is None:
        pytest.skip("the default compiler of PyTorch needs g++")
    f, given = neuler.torch.wrap(arm.inverse_dynamics), state(arm, 5, grad=True)
    torch._dynamo.reset()
    g = torch.compile(lambda *a: (f(*a) * 2.0).square().sum(), fullgraph=True)
    found = torch.autograd.grad(g(*given), given)
    wanted = torch.autograd.grad((f(*given) * 2.0).square().sum(), given)
    for x, y in zip(found, wanted, strict=True):
        equal(x, y)


EXPORTED = """
import torch, neuler, neuler.torch
f = neuler.torch.wrap(neuler.robots.puma560().inverse_dynamics)
program = torch.export.load("program.pt2").module()
given, wanted = torch.load("states.pt")
torch.testing.assert_close(program(*given), wanted)
print("equal")
"""


def test_export_and_load_in_another_process(arm, tmp_path):
    """Also a program that has derivatives: their operator is there as soon as the kernel is wrapped."""
    f = neuler.torch.wrap(arm.inverse_dynamics)

    class Model(torch.nn.Module):
        def forward(self, q, qd, qdd, rate):
            tau, change = torch.func.jvp(lambda q: f(q, qd, qdd), (q,), (rate,))
            return 2.0 * tau + change

    given = (*state(arm, 3), rand(3, 6, seed=5))
    program = torch.export.export(Model(), given, dynamic_shapes=({0: torch.export.Dim("batch")},) * 4)
    many = (*state(arm, 9), rand(9, 6, seed=5))
    equal(program.module()(*many), Model()(*many))
    torch.export.save(program, tmp_path / "program.pt2")
    torch.save((many, Model()(*many)), tmp_path / "states.pt")
    done = subprocess.run(
        [sys.executable, "-c", EXPORTED], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.stdout.strip() == "equal", done.stderr[-2000:]


# ---- robots ------------------------------------------------------------------------------------------------------


def test_loops(wrap):
    robot = neuler.robots.four_bar()
    f, q = wrap(robot.inverse_dynamics), torch.from_numpy(robot.random_configuration(0, 3))
    qd, qdd = rand(3, robot.nv, grad=True), rand(3, robot.nv, seed=1, grad=True)
    assert torch.autograd.gradcheck(lambda *a: f(q, *a), (qd, qdd), check_forward_ad=True)
    opened = q.clone()
    opened[1, 0] += 0.3
    opened.requires_grad_()
    with pytest.warns(RuntimeWarning, match=r"the loops are open at this q.*1 of 3 rows"):
        found = f(opened, qd, qdd)
    with pytest.warns(RuntimeWarning, match="loops are open"):
        wanted = robot.inverse_dynamics(*numbers(opened, qd, qdd))
    np.testing.assert_array_equal(found.detach().numpy(), wanted)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # the results have said it
        found.sum().backward()
    assert torch.isnan(opened.grad[1]).all()
    assert torch.isfinite(opened.grad[[0, 2]]).all()


def test_nan_stays_in_its_row(arm, wrap):
    q, qd, qdd = state(arm, 3)
    q[1, 2] = float("nan")
    q.requires_grad_()
    found = wrap(arm.inverse_dynamics)(q, qd, qdd)
    np.testing.assert_array_equal(found.detach(), arm.inverse_dynamics(*numbers(q, qd, qdd)))
    found.sum().backward()
    assert torch.isfinite(q.grad[[0, 2]]).all()
    assert torch.isnan(q.grad[1]).any()


def test_free_base(wrap):
    robot = neuler.robots.puma560().with_free_base()
    f, q = wrap(robot.inverse_dynamics), torch.from_numpy(robot.random_configuration(0, 3))
    v = rand(3, robot.nv, grad=True)
    assert torch.autograd.gradcheck(lambda v: f(q, v, v), (v,), check_forward_ad=True)
    slopes = torch.func.jacrev(f, argnums=2)(q[0], v[0].detach(), v[0].detach())
    equal(slopes, robot.mass_matrix(q[0].numpy()))
    turned = q.clone()
    turned[0, 3:7] = 1.0
    with pytest.raises(neuler.InputError, match="the quaternion of joint"):
        f(turned[0], v[0], v[0])
    with pytest.warns(RuntimeWarning, match="the quaternion of joint"):
        assert torch.isnan(f(turned, v, v)[0].detach()).any()


def test_results_that_are_called_as_an_argument(wrap):
    """integrate takes q and gives q."""
    robot = neuler.robots.puma560()
    f, (q, v, _) = wrap(robot.integrate), state(robot, 3, grad=True)
    assert [operand.name for operand in f.kernel.outputs] == ["q"]
    equal(f(q, v, 0.5), robot.integrate(*numbers(q, v), 0.5))
    f(q, v, 0.5).sum().backward()
    equal(v.grad, np.full((3, 6), 0.5))
    assert torch.autograd.gradcheck(f, (q, v, rand(3, seed=5, grad=True)), check_forward_ad=True)


def test_threads_of_the_kernel_are_those_of_its_derivatives(wrap):
    kernel = neuler.function(lambda x: x * x * 3.25, {"x": 2})
    kernel.threads = 3
    kernel.vjp().threads = 2
    x = rand(4, 2, grad=True)
    wrap(kernel)(x).sum().backward()
    assert kernel.vjp().threads == 2  # the user's own
    equal(x.grad, 6.5 * x)


# ---- names -------------------------------------------------------------------------------------------------------


def test_two_robots_of_one_name_do_not_collide(wrap):
    arm = neuler.robots.two_link()
    heavy = neuler.Robot(arm.name, [dataclasses.replace(link, mass=2.0 * link.mass) if k else link
                                    for k, link in enumerate(arm.links)], arm.joints)  # fmt: skip
    assert heavy.name == arm.name
    given = state(arm, 4)
    one, other = wrap(arm.inverse_dynamics), wrap(heavy.inverse_dynamics)
    assert one.operator is not other.operator
    equal(one(*given), arm.inverse_dynamics(*numbers(*given)))
    equal(other(*given), heavy.inverse_dynamics(*numbers(*given)))
    assert wrap(arm.inverse_dynamics).operator is one.operator
    again = neuler.robots.two_link()
    assert wrap(again.inverse_dynamics).operator is one.operator
    assert wrap(arm.compile("inverse_dynamics", dtype="float32")).operator is one.operator


@pytest.mark.parametrize("name", ['a"; ü\n*/::x(Tensor y)', "double", "a.b::c", "x" * 300, "名前", "2nd", "_", "f_"])
def test_names_that_are_hostile(name):
    arm = neuler.robots.two_link()
    robot = neuler.Robot(name, arm.links, arm.joints)
    f, given = neuler.torch.wrap(robot.inverse_dynamics), state(arm, 3, grad=True)
    equal(f(*given), arm.inverse_dynamics(*numbers(*given)))
    f(*given).sum().backward()
    assert hasattr(torch.ops.neuler, f.__name__)


def test_inputs_with_names_that_pytorch_has():
    f = neuler.torch.wrap(neuler.function(lambda s, t, i: (s * t, i), {"self": (), "Tensor": 2, "int": ()},
                                          ("Scalar", "x")))  # fmt: skip
    found = f(2.0, Tensor=[1.0, 2.0], int=3.0)
    assert found[0].tolist() == [2.0, 4.0]
    assert found.x.item() == 3.0


# ---- what is refused ---------------------------------------------------------------------------------------------


def refused(change):
    robot = neuler.robots.puma560()
    given = dict(zip(("q", "qd", "qdd"), state(robot, 3), strict=True))
    given.update(change(given["q"]))
    return lambda: neuler.torch.wrap(robot.inverse_dynamics)(**given)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda q: {"q": q.to("meta")}, r"q is on the device 'meta', kernels run on the CPU: q\.cpu\(\)"),
        (lambda q: {"qd": q.half()}, r"qd is torch.float16, .*float32 or float64: qd\.float\(\)"),
        (lambda q: {"qd": q.bfloat16()}, "qd is torch.bfloat16"),
        (lambda q: {"qd": q.to(torch.complex64)}, "qd is torch.complex64"),
        (lambda q: {"q": q.to_sparse()}, r"q has the layout torch.sparse_coo, .*q\.to_dense\(\)"),
        (lambda q: {"q": q[:, :5]}, r"expected q with last axis 6, got shape \(3, 5\)"),
        (lambda q: {"q": q[0, 0]}, r"expected q with last axis 6, got shape \(\)"),
        (lambda q: {"q": "six"}, "q is no tensor"),
        (lambda q: {"q": [[1.0], [1.0, 2.0]]}, "q is no tensor"),
        (lambda q: {"q": q[:2]}, "batch axes do not broadcast: q"),
        (lambda q: {"frame": "tool"}, "there is no input 'frame'.*robot.compile"),
    ],
)
def test_tensors_that_are_refused(change, said):
    with pytest.raises(neuler.InputError, match=said):
        refused(change)()


def test_kernels_say_who_keeps_gradients(arm):
    with pytest.raises(neuler.InputError, match=r"requires gradients.*neuler\.torch\.wrap\(kernel\) keeps them"):
        arm.gravity_force(rand(6, grad=True))
    np.testing.assert_array_equal(arm.gravity_force(rand(6)), arm.gravity_force(rand(6).numpy()))


def test_calls_that_are_refused(arm):
    f, q = neuler.torch.wrap(arm.gravity_force), rand(6)
    with pytest.raises(neuler.InputError, match=r"takes 1 tensors \(q\), got 2"):
        f(q, q)
    with pytest.raises(neuler.InputError, match="'q' is given twice"):
        f(q, q=q)
    with pytest.raises(neuler.InputError, match=r"all tensors must be float64, or all float32, got q torch\.float16"):
        f.operator(q.half())
    with pytest.raises(neuler.InputError, match=r"takes a kernel .* got a function"):
        neuler.torch.wrap(lambda x: x)
    with pytest.raises(neuler.InputError, match="functional must be True or False"):
        neuler.torch.wrap(arm.gravity_force, functional="yes")


# ---- around ------------------------------------------------------------------------------------------------------


def test_threads_at_once():
    """First calls and first derivatives from many threads: one operator, the same numbers."""
    arm = neuler.robots.two_link()
    kernel = neuler.function(lambda q, k: arm.gravity_force(q) * 1.75 + k, {"q": 2, "k": ()})
    given, found, start = rand(50, 2), [], threading.Barrier(8)

    def work():
        start.wait()
        f, q = neuler.torch.wrap(kernel), given.clone().requires_grad_()
        loss = f(q, 0.5).square().sum()
        (slope,) = torch.autograd.grad(loss, q, create_graph=True)
        (second,) = torch.autograd.grad(slope.square().sum(), q)
        found.append((f.operator, slope.detach(), second))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert len({id(operator) for operator, *_ in found}) == 1
    for _, slope, second in found:
        assert torch.equal(slope, found[0][1])
        assert torch.equal(second, found[0][2])


def test_in_modules(arm, wrap):
    """Copied with a module, pickled, and alive when the robot is gone."""
    f, given = wrap(arm.inverse_dynamics), state(arm, 2)
    module = torch.nn.Module()
    module.torque = f
    equal(copy.deepcopy(module).torque(*given), f(*given))
    equal(pickle.loads(pickle.dumps(module)).torque(*given), f(*given))
    lost = wrap(neuler.robots.rx90().gravity_force)
    gc.collect()
    equal(lost(given[0]), neuler.robots.rx90().gravity_force(given[0].numpy()))
    with torch.inference_mode():
        equal(f(*given), arm.inverse_dynamics(*numbers(*given)))
    with torch.autocast("cpu"), pytest.raises(neuler.InputError, match=r"q is torch\.bfloat16"):
        f(given[0].float() @ torch.eye(6), *given[1:])


def test_the_robots_name_is_in_the_graph(arm, wrap):
    given = state(arm, 2, grad=True)
    assert "puma560_inverse_dynamics" in type(wrap(arm.inverse_dynamics)(*given).grad_fn).__name__
    assert "puma560_inverse_dynamics" in repr(wrap(arm.inverse_dynamics))


def test_import_needs_no_pytorch():
    code = "import sys, neuler, neuler.torch; neuler.torch.Wrapped; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
