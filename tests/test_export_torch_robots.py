"""Robots of other kinds in PyTorch; threads, modules, processes."""

import copy
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

from torch_calls import equal, numbers, rand, state  # noqa: E402


@pytest.fixture(scope="module")
def arm():
    return neuler.robots.puma560()


@pytest.fixture(params=[False, True], ids=["operator", "functional"])
def wrap(request):
    """As an operator, and as a Function."""
    return lambda kernel: neuler.torch.wrap(kernel, functional=request.param)


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
