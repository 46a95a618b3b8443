"""One state without NumPy's call machinery: the same numbers, and everything else the general way."""

from __future__ import annotations

import contextlib
import copy
import ctypes
import gc
import pickle
import sys
import threading
import warnings
import weakref

import numpy as np
import pytest

import neuler
from neuler.compiler import one_state
from random_robots import few

ROBOT = neuler.robots.puma560()
FREE = neuler.robots.puma560().with_free_base()
KERNELS = [
    getattr(robot, quantity)
    for robot in (ROBOT, FREE, neuler.robots.four_bar(), neuler.robots.gough_stewart())
    for quantity in ("inverse_dynamics", "forward_dynamics", "mass_matrix", "energy", "inverse_dynamics_sensitivities")
    if hasattr(type(robot), quantity)
]


def arguments(kernel, shape=()):
    rng = np.random.default_rng(3)
    found = [rng.normal(size=(*shape, *operand.shape)) * 0.3 for operand in kernel.inputs]
    tree = getattr(kernel.robot, "mechanism", kernel.robot)
    if hasattr(tree, "mobility"):
        found[0] = np.broadcast_to(tree.mobility.reference, (*shape, tree.tree.nq)).copy()
    elif kernel.robot.nq != kernel.robot.nv:
        found[0] = kernel.robot.random_configuration(3, shape)
    if kernel.robot.name == "gough_stewart" and kernel.quantity.startswith(("inv", "for")):
        found[1] *= 0.1
    return found


def outputs(found):
    return found if isinstance(found, tuple) else (found,)


@pytest.mark.parametrize(
    "kernel", few(KERNELS, len(KERNELS) - 1), ids=lambda kernel: f"{kernel.robot.name}-{kernel.quantity}"
)  # the last one compiles for long
def test_every_way_to_call_gives_the_same_bits(kernel):
    """Emitted call, gufunc, bound arrays, the C function."""
    given = arguments(kernel)
    expected = outputs(kernel.ufunc(*given))
    for mine, theirs in zip(outputs(kernel(*given)), expected, strict=True):
        np.testing.assert_array_equal(mine, theirs)
        assert type(mine) is type(theirs)
    bound = kernel.bind()
    for array, x in zip(bound.inputs, given, strict=True):
        array[...] = x
    found = bound()
    assert found is bound() is (bound.outputs[0] if len(expected) == 1 else bound.outputs)
    for mine, theirs in zip(bound.outputs, expected, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    results = [np.zeros(operand.shape) for operand in kernel.outputs]
    pointers = [x.ctypes.data for x in (*given, *results)]
    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(bound.address)
    function((ctypes.c_void_p * len(pointers))(*pointers), bound.pool)
    for mine, theirs in zip(results, expected, strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_arrays_that_are_not_plain_go_the_general_way():
    """Other types, layouts and shapes: the same results, the same errors."""
    kernel = ROBOT.inverse_dynamics
    q, qd, qdd = arguments(kernel)
    expected = kernel(q, qd, qdd)
    other = np.empty((6, 2))[:, 0]
    other[:] = q
    for x in (q.tolist(), other, q[::-1][::-1], q.astype(">f8"), np.require(q, requirements="O").view(np.memmap)):
        np.testing.assert_array_equal(kernel(x, qd, qdd), expected)
    assert kernel(np.tile(q, (3, 1)), qd, qdd).shape == (3, 6)
    misaligned = np.frombuffer(b"x" + q.tobytes(), dtype=np.uint8)[1:].view(np.float64)
    np.testing.assert_array_equal(kernel(misaligned, qd, qdd), expected)
    np.testing.assert_array_equal(kernel(np.broadcast_to(0.0, (6,)), qd, qdd), kernel(np.zeros(6), qd, qdd))
    locked = q.copy()
    locked.flags.writeable = False
    np.testing.assert_array_equal(kernel(locked, qd, qdd), expected)
    for bad in ((q[:5], qd, qdd), (q, qd), (q, qd, qdd, qdd), (q + 1j, qd, qdd), ("q", qd, qdd), ()):
        with pytest.raises(neuler.InputError):
            kernel(*bad)
    with pytest.raises(neuler.InputError, match="no input or option 'outt'; did you mean 'out'"):
        kernel(q, qd, qdd, outt=q)
    with pytest.raises(neuler.InputError, match="masked"):
        kernel(np.ma.masked_array(q, mask=True), qd, qdd, out=np.zeros(6))
    with pytest.raises(neuler.InputError, match="must be an array"):
        kernel(q, qd, qdd, out=np.ma.zeros(6))


def test_out():
    kernel = ROBOT.inverse_dynamics
    q, qd, qdd = arguments(kernel)
    expected = kernel(q, qd, qdd)
    out = np.zeros(6)
    assert kernel(q, qd, qdd, out=out) is out
    np.testing.assert_array_equal(out, expected)
    strided = np.zeros((6, 3))[:, 1]
    assert kernel(q, qd, qdd, out=strided) is strided
    np.testing.assert_array_equal(strided, expected)
    np.testing.assert_array_equal(kernel(q, qd, qdd, out=None), expected)
    (tuple_result,) = (kernel(q, qd, qdd, out=(out,)),)
    assert tuple_result is out
    for k in range(3):
        given = [q.copy(), qd.copy(), qdd.copy()]
        assert kernel(*given, out=given[k]) is given[k]
        np.testing.assert_array_equal(given[k], expected)
    shared = np.concatenate([q, np.zeros(6)])
    kernel(shared[:6], qd, qdd, out=shared[3:9])  # overlapping in part
    np.testing.assert_array_equal(shared[3:9], expected)
    locked = np.zeros(6)
    locked.flags.writeable = False
    with pytest.raises(neuler.InputError, match="read-only"):
        kernel(q, qd, qdd, out=locked)


def test_what_is_not_finite_is_told_as_ever():
    kernel = ROBOT.inverse_dynamics
    q, qd, qdd = arguments(kernel)
    with np.errstate(invalid="raise"), pytest.raises(FloatingPointError):
        kernel(np.full(6, np.inf), qd, qdd)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isnan(kernel(np.full(6, np.nan), qd, qdd)).any()  # NaN in, NaN out
    free = FREE.inverse_dynamics
    q, v, a = arguments(free)
    q[3:7] *= 2.0
    for out in (None, np.zeros(12)):
        with pytest.raises(neuler.InputError, match="the quaternion of joint 'root_joint'"):
            free(q, v, a, out=out)


def test_references_are_counted():
    """Many calls of every kind: nothing leaks, nothing is freed too early."""
    kernel, out = ROBOT.gravity_force, np.zeros(6)
    q = np.zeros(6)
    bound = kernel.bind()
    kernel(q), kernel(q, out=out), bound()
    gc.collect()
    before = [sys.getrefcount(x) for x in (q, out, bound.gravity, None, np.dtype(float))]
    for _ in range(20_000):
        kernel(q)
        kernel(q, out=out)
        bound()
        with contextlib.suppress(neuler.InputError):
            kernel(q[:5])
    gc.collect()
    after = [sys.getrefcount(x) for x in (q, out, bound.gravity, None, np.dtype(float))]
    assert np.abs(np.subtract(after, before)).max() < 50


def test_kernels_are_still_objects():
    kernel = ROBOT.compile("mass_matrix")
    kernel.threads = 1
    for again in (copy.copy(kernel), copy.deepcopy(kernel), pickle.loads(pickle.dumps(kernel))):
        np.testing.assert_array_equal(again(np.zeros(6)), kernel(np.zeros(6)))
        assert again.threads == 1
    assert callable(kernel)
    assert "mass_matrix" in repr(kernel)
    bound = kernel.bind()
    assert bound.q.shape == (6,)
    assert bound.kernel is kernel
    with pytest.raises(neuler.InputError, match="a bound kernel takes no arguments"):
        bound(np.zeros(6))


def test_kernels_are_called_without_a_tuple():
    """The flag of Python's vectorcall; a class that is derived and defines a call of its own has that."""
    assert neuler.Kernel.__flags__ & (1 << 11)

    class Told(neuler.Kernel):
        def __call__(self, *arrays):
            return "told"

    assert Told(ROBOT, "gravity_force")(np.zeros(6)) == "told"


def test_a_bound_kernel_keeps_its_code():
    robot = neuler.robots.general_chain(20).with_gravity((0, 0, 0.77))
    bound = robot.forward_dynamics.bind()
    bound.tau[:] = 1.0
    expected = bound().copy()
    del robot
    gc.collect()
    for k in range(10):
        _ = neuler.robots.two_link().with_gravity((0, k, 0)).mass_matrix
    np.testing.assert_array_equal(bound(), expected)


def test_a_bound_kernel_that_nobody_holds_goes():
    """By counting its references; in a cycle, by Python's collector."""
    kernel = ROBOT.inverse_dynamics
    bound = kernel.bind()
    seen, arrays = weakref.ref(bound), [weakref.ref(x) for x in bound.inputs]
    del bound
    assert seen() is None
    assert [x() for x in arrays] == [None] * 3
    robot = neuler.robots.two_link().with_gravity((0.25, 0.5, 0.125))
    bound = robot.inverse_dynamics.bind()
    code, seen = weakref.ref(robot.inverse_dynamics._compiled.code), weakref.ref(bound)
    robot.__dict__["torque"] = bound  # robot -> bound -> kernel -> robot
    del robot, bound
    gc.collect()
    assert seen() is None
    assert code() is None


def test_arrays_of_a_bound_kernel_cannot_be_exchanged():
    bound = ROBOT.inverse_dynamics.bind()
    x = np.ones(6)
    with pytest.raises(neuler.InputError, match=r"'qdd' cannot be set, .*write into the array: \.qdd\[:\] = x"):
        bound.qdd = x
    with pytest.raises(neuler.InputError, match=r"'q' cannot be deleted, .*write into the array: \.q\[:\] = x"):
        del bound.q
    with pytest.raises(neuler.InputError, match=r"'qddd' cannot be set, .*write into its arrays: \.q\[:\] = x"):
        bound.qddd = x
    for name in ("kernel", "inputs", "outputs", "address", "pool", "__class__", "__dict__", "_attributes"):
        with pytest.raises(neuler.InputError, match="cannot be set"):
            setattr(bound, name, None)
        with pytest.raises(neuler.InputError, match="cannot be deleted"):
            delattr(bound, name)
    assert vars(bound)["q"] is bound.q
    with pytest.raises(TypeError):
        bound.__dict__["q"] = x
    with pytest.raises(ValueError, match="resize"):
        bound.q.resize(10_000, refcheck=False)
    with pytest.raises(TypeError):
        neuler.kernels.BoundKernel.__new__(neuler.kernels.BoundKernel)
    with pytest.raises(TypeError, match=r"cannot pickle or copy a bound kernel.*bind its kernel again"):
        copy.copy(bound)
    bound.qdd += x  # written into
    np.testing.assert_array_equal(bound(), ROBOT.inverse_dynamics(np.zeros(6), np.zeros(6), x))
    assert {"q", "tau", "kernel", "address"} <= set(dir(bound))
    number = neuler.function(lambda u: u * 3.0, {"u": ()}, "y").bind()
    with pytest.raises(neuler.InputError, match=r"\.u\[\.\.\.\] = x"):
        number.u = 2.0
    number.u[...] = 2.0
    assert number() == 6.0


def test_memory_that_is_computed_on_stays_whatever_becomes_of_attributes():
    """Also where the refusals are gone around."""
    for make in (lambda: ROBOT.compile("gravity_force"), lambda: ROBOT.gravity_force.bind()):
        called = make()
        given = () if isinstance(called, neuler.kernels.BoundKernel) else (np.full(6, 0.1),)
        expected = called(*given).copy()
        kept = [weakref.ref(x) for x in ([called._frame[0]] if given else called.inputs)]
        for name in list(vars(called)):
            object.__delattr__(called, name)
        gc.collect()
        assert all(x() is not None for x in kept)
        np.testing.assert_array_equal(called(*given), expected)


def test_what_decides_a_kernels_code_cannot_be_changed():
    kernel = ROBOT.compile("gravity_force")
    kernel(np.zeros(6))
    square = neuler.function(lambda x: x * x, {"x": 2})
    names = (
        "robot",
        "quantity",
        "options",
        "dtype",
        "recipe",
        "ufunc",
        "inputs",
        "_frame",
        "_general",
        "bind",
        "__dict__",
    )
    for name in names:
        with pytest.raises(neuler.InputError, match=f"gravity_force: '{name}' cannot be set"):
            setattr(kernel, name, None)
    for name in ("robot", "quantity", "options", "dtype", "_frame", "_built", "_split_size"):
        with pytest.raises(neuler.InputError, match=f"gravity_force: '{name}' cannot be deleted"):
            delattr(kernel, name)
    for name in ("name", "recipe", "dtype", "_listed"):
        with pytest.raises(neuler.InputError, match=f"'{name}' cannot be set, the machine code was made for it"):
            setattr(square, name, None)
    kernel.threads, kernel.note = 1, "mine"
    kernel.note = "mine, too"
    del kernel.note
    assert kernel.threads == 1


def test_many_threads_at_once():
    kernel = neuler.robots.general_chain(20).forward_dynamics  # scratch from a pool
    states = np.random.default_rng(0).normal(size=(3, 8, 20))
    expected = kernel(*states)
    wrong = []

    def work(k):
        bound = kernel.bind()
        for array, x in zip(bound.inputs, states[:, k], strict=True):
            array[:] = x
        for _ in range(300):
            if not np.array_equal(kernel(*states[:, k]), expected[k]) or not np.array_equal(bound(), expected[k]):
                wrong.append(k)

    workers = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong


def test_an_unknown_layout_of_arrays_goes_the_general_way(monkeypatch):
    monkeypatch.setattr(one_state, "_known_layout", lambda: False)
    kernel = neuler.Kernel(ROBOT, "gravity_force")
    np.testing.assert_array_equal(kernel(np.zeros(6)), ROBOT.gravity_force(np.zeros(6)))
    np.testing.assert_array_equal(kernel.bind()(), ROBOT.gravity_force(np.zeros(6)))
