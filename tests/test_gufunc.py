"""Kernels as gufuncs: any batch shape, any strides, broadcasting, out=, threads, dtypes."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import neuler
from gufunc_states import ROBOT, SHAPES, N, one_by_one, states
from neuler.compiler.build import compile_recipe
from neuler.compiler.gufunc import signature
from neuler.passes.trees import fused_tree, whole_tree
from neuler.trace.recipe import Operand, Recipe

pytestmark = pytest.mark.usefixtures("shipped")


@pytest.mark.parametrize("shape", SHAPES)
def test_batches_of_any_shape(shape):
    q, qd, qdd = states(shape)
    found = ROBOT.inverse_dynamics(q, qd, qdd)
    assert found.shape == (*shape, N)
    np.testing.assert_array_equal(found, one_by_one(q, qd, qdd))


@pytest.mark.parametrize("shape", SHAPES)
def test_matrices_and_several_outputs(shape):
    q, qd, _ = states(shape)
    assert ROBOT.mass_matrix(q).shape == (*shape, N, N)
    assert ROBOT.link_poses(q).shape == (*shape, len(ROBOT.links), 4, 4)
    kinetic, potential = ROBOT.energy(q, qd)
    assert np.shape(kinetic) == np.shape(potential) == shape


def test_broadcasting():
    q, qd, _ = states((4, 1))
    still = np.zeros(N)
    found = ROBOT.inverse_dynamics(q, qd.reshape(1, 4, N), still)
    assert found.shape == (4, 4, N)
    np.testing.assert_array_equal(found[2, 3], ROBOT.inverse_dynamics(q[2, 0], qd[3, 0], still))


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.data())
def test_any_strides(data):
    """Views with negative, zero, overlapping and transposed strides, in and out, against contiguous copies."""
    rows = data.draw(st.integers(0, 21))
    arrays = []
    for k in range(3):
        source = np.random.default_rng(k).normal(size=(2 * rows + 3, 2 * N + 3))
        way = data.draw(st.sampled_from(["plain", "reversed", "strided", "fortran", "broadcast", "offset"]))
        view = {
            "plain": lambda a=source: a[:rows, :N],
            "reversed": lambda a=source: a[rows:0:-1, N:0:-1],
            "strided": lambda a=source: a[: 2 * rows : 2, : 2 * N : 2],
            "fortran": lambda a=source: np.asfortranarray(a)[1 : rows + 1, 2 : N + 2],
            "broadcast": lambda a=source: np.broadcast_to(a[0, :N], (rows, N)),
            "offset": lambda a=source: _misaligned(a[:rows, :N]),
        }[way]()
        arrays.append(view)
    expected = ROBOT.inverse_dynamics(*(np.ascontiguousarray(a) for a in arrays))
    np.testing.assert_allclose(ROBOT.inverse_dynamics(*arrays), expected, rtol=1e-14)
    frame = np.full((rows + 2, 3 * N + 2), 7.0)
    step = data.draw(st.sampled_from([1, 2, -1, 3]))
    window = frame[1 : rows + 1]
    out = window[:, N:0:-1] if step == -1 else window[:, 1 : 1 + N * step : step]
    returned = ROBOT.inverse_dynamics(*arrays, out=out)
    assert returned is out
    np.testing.assert_allclose(out, expected, rtol=1e-14)
    out[...] = 7.0
    assert (frame == 7.0).all(), "a kernel wrote outside its output"


def _misaligned(a):
    raw = np.empty(a.nbytes + 1, dtype=np.uint8)
    view = raw[1:].view(np.float64) if a.size == 0 else np.ndarray(a.shape, np.float64, raw, offset=1)
    if a.size:
        view[...] = a
        return view
    return a


def test_overlapping_outputs_are_as_if_copied():
    q, qd, qdd = states((50,))
    expected = ROBOT.inverse_dynamics(q, qd, qdd)
    for k in range(3):
        arrays = [q.copy(), qd.copy(), qdd.copy()]
        ROBOT.inverse_dynamics(*arrays, out=arrays[k])
        np.testing.assert_array_equal(arrays[k], expected)
    buffer = np.concatenate([q, q[:1]])
    ROBOT.inverse_dynamics(buffer[:-1], qd, qdd, out=buffer[1:])
    np.testing.assert_array_equal(buffer[1:], expected)


def test_out_of_several_outputs():
    q, qd, _ = states((5,))
    kinetic, potential = np.empty(5), np.empty(5)
    ROBOT.energy(q, qd, out=(kinetic, potential))
    expected = ROBOT.energy(q, qd)
    np.testing.assert_array_equal(kinetic, expected[0])
    np.testing.assert_array_equal(potential, expected[1])


@pytest.fixture
def eager(monkeypatch):
    """Threads for small batches too."""
    monkeypatch.setattr("neuler.compiled.WORK_PER_THREAD", 200_000)


@pytest.mark.parametrize("shape", [(20_000,), (4, 5_000), (5_000, 4), (3, 7_000, 1)])
def test_threads_do_not_change_a_bit(shape, eager):
    q, qd, qdd = states(shape)
    kernel = ROBOT.compile("forward_dynamics")
    kernel.threads = 1
    one = kernel(q, qd, qdd)
    for count in (2, 3, 8, None):
        kernel.threads = count
        np.testing.assert_array_equal(kernel(q, qd, qdd), one)
        out = np.empty_like(one)
        assert kernel(q, qd, qdd, out=out) is out
        np.testing.assert_array_equal(out, one)
        np.testing.assert_array_equal(
            kernel(q, qd[..., :1, :], qdd), kernel(q, np.broadcast_to(qd[..., :1, :], q.shape), qdd)
        )


def test_overlap_in_a_threaded_call(eager):
    q, qd, qdd = states((30_000,))
    expected = ROBOT.inverse_dynamics(q, qd, qdd)
    kernel = ROBOT.compile("inverse_dynamics")
    kernel.threads = 2
    np.testing.assert_array_equal(kernel(q, qd, qdd, out=q), expected)


def _in_four_threads(work):
    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


def test_many_python_threads_share_a_kernel():
    q, qd, qdd = states((3_000,))
    expected = ROBOT.inverse_dynamics(q, qd, qdd)
    wrong = []

    def work():
        for _ in range(20):
            if not np.array_equal(ROBOT.inverse_dynamics(q, qd, qdd), expected):
                wrong.append(1)

    _in_four_threads(work)
    assert not wrong


def test_threads_from_the_environment(monkeypatch):
    monkeypatch.setenv("NEULER_THREADS", "3")
    assert neuler.threads() == 3
    monkeypatch.setenv("NEULER_THREADS", "many")
    with pytest.raises(neuler.InputError, match="NEULER_THREADS must be a positive whole number, got 'many'"):
        neuler.threads()
    with pytest.raises(neuler.InputError, match="positive whole number"):
        ROBOT.inverse_dynamics.threads = 0


def test_single_precision_is_a_variant():
    q, qd, qdd = states((33,))
    single = ROBOT.compile("inverse_dynamics", dtype="float32")
    found = single(q, qd, qdd)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, ROBOT.inverse_dynamics(q, qd, qdd), rtol=1e-3, atol=1e-3)
    np.testing.assert_array_equal(found[3], single(q[3], qd[3], qdd[3]))


def test_signature_is_literal():
    assert signature([(6,), (6,)], [(6, 6), ()]) == "(6),(6)->(6,6),()"
    assert ROBOT.mass_matrix.ufunc.signature == "(6)->(6,6)"


def test_kernels_pickle_and_are_shared():
    kernel = pickle.loads(pickle.dumps(ROBOT.inverse_dynamics))
    q, qd, qdd = states((3,))
    np.testing.assert_array_equal(kernel(q, qd, qdd), ROBOT.inverse_dynamics(q, qd, qdd))
    again = neuler.robots.stanford()
    assert again.inverse_dynamics.ufunc is ROBOT.inverse_dynamics.ufunc
    assert pickle.loads(pickle.dumps(again)) == ROBOT


def test_scratch_too_large_for_a_stack_comes_from_a_pool(eager):
    """Many joints: the inertia matrix outgrows the stack; threads must not share scratch."""
    robot = neuler.robots.general_chain(34)
    q = np.random.default_rng(0).normal(size=(600, 34))
    kernel = robot.mass_matrix
    kernel.threads = 1
    one = kernel(q)
    assert kernel._compiled.code.pool
    np.testing.assert_array_equal(kernel(q[77]), one[77])
    kernel.threads = 2
    wrong = []

    def work():
        for _ in range(3):
            if not np.array_equal(kernel(q), one):
                wrong.append(1)

    _in_four_threads(work)
    assert not wrong


def test_options_mean_the_same_in_every_process():
    """Generators, sets and arrays have no stable order or text: they are refused, not hashed by their address."""
    for bad in ((name for name in ("joint1",)), {"joint1"}, np.array(["joint1"]), 3.5, ["joint1", 2]):
        with pytest.raises(neuler.InputError, match="option 'motion' must be"):
            ROBOT.compile("hybrid_dynamics", motion=bad)
    one = ROBOT.compile("hybrid_dynamics", motion=["joint1"])
    assert one.ufunc is ROBOT.compile("hybrid_dynamics", motion=("joint1",)).ufunc
    assert one.ufunc is not ROBOT.compile("hybrid_dynamics", motion=("joint2",)).ufunc
    with pytest.raises(neuler.InputError, match="'reactions' must be True or False, got 'no'"):
        ROBOT.compile("inverse_dynamics", reactions="no")
    for dtype in ("foo", None, ">f8", int):
        with pytest.raises(neuler.InputError, match="dtype must be float64 or float32"):
            ROBOT.compile("inverse_dynamics", dtype=dtype)
    with pytest.raises(neuler.InputError, match="no quantity"):
        ROBOT.compile(["inverse_dynamics"])


def test_errstate_reaches_the_threads(eager):
    kernel = ROBOT.compile("forward_dynamics")
    kernel.threads = 2
    q, qd, tau = states((20_000,))
    q[-3:] = np.inf
    with np.errstate(all="raise"), pytest.raises(FloatingPointError):
        kernel(q, qd, tau)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("error")
        kernel(q, qd, tau)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_does_not_wait_for_a_lock_nobody_holds():
    code = """
import os, threading
from neuler.compiler.build import compile_recipe
from neuler.trace.recipe import Recipe
from neuler.trace.recipe import Operand

tracing, forked = threading.Event(), threading.Event()
parent = os.getpid()

def trace(values):
    tracing.set()  # the lock of this recipe is held from here on
    if os.getpid() == parent:
        forked.wait()
    return [[values["x"][0] * 2.0]]

def compiled():
    recipe = Recipe((Operand("x", (1,)),), (Operand("y", (1,)),), trace)
    return compile_recipe(recipe, "twice", "", "float64", "twice").ufunc

thread = threading.Thread(target=compiled)
thread.start()
tracing.wait()
child = os.fork()
if child == 0:
    os._exit(7 if compiled()([3.0])[0] == 6.0 else 1)
code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
forked.set()
thread.join()
print(code)
"""
    command, environment = [sys.executable, "-W", "ignore", "-c", code], {**os.environ, "NEULER_CACHE_DIR": "off"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "7", done.stderr


def test_small_robots_are_not_noise():
    """A robot of a ten-millionth of a metre is as exact as one of a metre."""
    for size in (1.0, 1e-4, 1e-8):
        links = [neuler.Link("base")] + [
            neuler.Link.from_com(f"l{k}", mass=1.0, com=(0.3 * size, 0.1 * size, 0.2 * size), inertia=(size**2,) * 3)
            for k in range(3)
        ]
        joints = [
            neuler.Joint(
                f"j{k}", "revolute", links[k].name, f"l{k}",
                neuler.Transform.from_rpy((size, 0.5 * size, 0.2 * size), (0.3, 0.7, k)),
            )
            for k in range(3)
        ]  # fmt: skip
        M = neuler.Robot("tiny", links, joints).mass_matrix([0.1, 0.2, 0.3]) / size**2
        reference = M if size == 1.0 else reference  # noqa: F821
        np.testing.assert_allclose(M, reference, rtol=1e-12)


@pytest.mark.slow
def test_a_thousand_fixed_links_in_a_row():
    links = [neuler.Link(f"l{k}", 1.0) for k in range(1200)]
    joints = [neuler.Joint(f"j{k}", "fixed", f"l{k}", f"l{k + 1}") for k in range(1198)]
    joints.append(neuler.Joint("last", "prismatic", "l1198", "l1199"))
    robot = neuler.Robot("long", links, joints)
    assert robot.inverse_dynamics([0.0], [0.0], [0.0])[0] == pytest.approx(9.81)
    assert len(fused_tree(robot).bodies) == 2
    assert len(whole_tree(robot).bodies) == 1200


@pytest.mark.parametrize("columns", [1, 2, 7, 8, 9, 23, 24, 25, 31, 32, 63, 71])
def test_rows_that_begin_anywhere(columns):
    """Outputs of every width, at every offset to a cache line, packed or with a gap between rows: nothing beyond."""
    outputs = (Operand("y", (columns,)),)
    recipe = Recipe((Operand("x", (2,)),), outputs, lambda v: [[v["x"][k % 2] * float(k + 1) for k in range(columns)]])
    kernel = compile_recipe(recipe, "wide", "", "float64", ("rows", columns)).ufunc
    for offset in range(9):
        for gap in (0, 1, 3):
            for rows in (1, 8, 17):
                x = np.random.default_rng(rows).normal(size=(rows, 2))
                memory = np.full(offset + rows * (columns + gap) + 40, 7.0)
                grid = memory[offset : offset + rows * (columns + gap)].reshape(rows, columns + gap)
                kernel(x, grid[:, :columns])
                expected = x[:, np.arange(columns) % 2] * (np.arange(columns) + 1.0)
                np.testing.assert_array_equal(grid[:, :columns], expected)
                grid[:, :columns] = 7.0
                assert (memory == 7.0).all(), "a kernel wrote outside its output"


def test_results_beyond_the_caches():
    """Streamed results are those of small batches, also where rows begin anywhere, and nothing beside them is hit."""
    robot = neuler.robots.general_chain(7)  # 49 numbers a row: every row begins elsewhere on a line
    kernel = robot.mass_matrix
    count = 32 * 1024 * 1024 // (49 * 8) + 13
    q = np.random.default_rng(0).normal(size=(997, 7))
    small = kernel(q)
    for shift in (0, 1, 5):
        room = np.full(count * 49 + 16, np.nan)
        out = room[shift : shift + count * 49].reshape(count, 7, 7)
        kernel.ufunc(np.resize(q, (count, 7)), out=out)
        np.testing.assert_array_equal(out, np.resize(small, out.shape))
        assert np.isnan(room[:shift]).all()
        assert np.isnan(room[shift + count * 49 :]).all()
