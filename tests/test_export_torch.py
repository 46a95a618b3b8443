"""Kernels in PyTorch: numbers, precisions, names, what is refused."""

import dataclasses

import numpy as np
import pytest

import neuler
import neuler.torch

pytestmark = pytest.mark.exports
torch = pytest.importorskip("torch")

from neuler.export.torch_operators import as_array  # noqa: E402
from torch_calls import equal, numbers, rand, state  # noqa: E402


@pytest.fixture(scope="module")
def arm():
    return neuler.robots.puma560()


@pytest.fixture(params=[False, True], ids=["operator", "functional"])
def wrap(request):
    """As an operator, and as a Function."""
    return lambda kernel: neuler.torch.wrap(kernel, functional=request.param)


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


def test_lists_of_tensors_keep_their_derivatives(arm, wrap):
    f, (q, qd, qdd) = wrap(arm.inverse_dynamics), state(arm, 3, grad=True)
    joints = list(q[0].unbind())
    wanted = torch.autograd.grad(f(q[0], qd, qdd).sum(), q)[0]
    found = torch.autograd.grad(f(joints, qd, qdd).sum(), q)[0]
    equal(found, wanted)
    rows = [list(row) for row in q]
    equal(torch.autograd.grad(f(rows, qd, qdd).sum(), q)[0], torch.autograd.grad(f(q, qd, qdd).sum(), q)[0])
    plain = [x.detach() for x in (q, qd, qdd)]
    rates = torch.func.jvp(lambda q: f([*q[0].unbind()], *plain[1:]), (plain[0],), (plain[1],))[1]
    equal(rates, torch.func.jvp(lambda q: f(q[0], *plain[1:]), (plain[0],), (plain[1],))[1])
    assert rates.abs().max() > 1e-3
    mixed = torch.vmap(lambda x: f([x, 0.5, 0, 0.1, 0.2, 0.3], *(y[0] for y in plain[1:])))(plain[0][:, 0])
    states = np.array([[x, 0.5, 0, 0.1, 0.2, 0.3] for x in plain[0][:, 0].tolist()])
    equal(mixed, arm.inverse_dynamics(states, *(y[0].numpy() for y in plain[1:])))


def test_lists_and_arrays_lose_no_digits(arm, wrap):
    """Where no tensor decides the precision, arrays do, whatever the order."""
    f, third = wrap(arm.inverse_dynamics), [1.0 / 3.0] * 6
    right = arm.inverse_dynamics(third, third, third)
    for given in ((third, np.array(third), third), (np.array(third), third, third), (third, third, np.array(third))):
        found = f(*given)
        assert found.dtype == torch.float64
        equal(found, right, rtol=1e-15)
    equal(f([torch.tensor(1.0 / 3.0, dtype=torch.float64)] * 6, third, third), right, rtol=1e-15)
    for x in (np.array(third)[::-1], np.array(third, ">f8"), np.broadcast_to(1.0 / 3.0, 6)):
        equal(f(x, third, third), right, rtol=1e-15)
    with torch.device("meta"):
        equal(f(third, np.array(third), third), right, rtol=1e-15)


def test_columns_of_tables_are_taken_by_their_names(arm, wrap):
    pandas = pytest.importorskip("pandas")
    f, (q, qd, qdd) = wrap(arm.inverse_dynamics), state(arm, 3)
    table = pandas.DataFrame(q.numpy()[:, ::-1], columns=list(arm.joint_names)[::-1])
    equal(f(table, qd, qdd), arm.inverse_dynamics(*numbers(q, qd, qdd)))


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
        (lambda q: {"q": "six"}, "q must be real numbers, got values of type <U3"),
        (lambda q: {"q": [[1.0], [1.0, 2.0]]}, "q is not a regular array of numbers"),
        (lambda q: {"q": None}, "q must be real numbers, got values of type NoneType"),
        (lambda q: {"q": q.numpy() + 1j}, "q must be real numbers, got complex numbers"),
        (lambda q: {"q": [np.complex128(1j)] * 6}, "q must be real numbers, got complex numbers"),
        (lambda q: {"q": np.ma.masked_array(q.numpy(), q.numpy() > 0.0)}, "q is a masked array"),
        (lambda q: {"q": [q[0], q[1, :2]]}, "q is a list of tensors that make no tensor"),
        (lambda q: {"q": torch.nested.nested_tensor([q[0], q[1]])}, "q has nested rows"),
        (lambda q: {"q": torch.quantize_per_tensor(q.float(), 0.1, 0, torch.qint8)}, r"q is quantized.*dequantize\(\)"),
        (lambda q: {"q": q[:2]}, "batch axes do not broadcast: q"),
        (lambda q: {"frame": "tool"}, "there is no input 'frame'.*robot.compile"),
    ],
)
def test_tensors_that_are_refused(change, said):
    with pytest.raises(neuler.InputError, match=said):
        refused(change)()


def test_versions_that_lose_derivatives_are_refused(arm, monkeypatch):
    monkeypatch.setattr(torch, "__version__", type(torch.__version__)("2.5.1+cpu"))
    with pytest.raises(ImportError, match=r"needs PyTorch 2\.6 or newer, got 2\.5\.1"):
        neuler.torch.wrap(arm.gravity_force)


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
