"""Kernels and functions on Dask arrays: lazy, equal to the last bit, wrong arguments refused at the call."""

import copy
import pickle
import subprocess
import sys
import warnings

import dask
import dask.array as da
import numpy as np
import pytest
from dask.distributed import Client, LocalCluster

import neuler
from neuler import InputError
from neuler import math as nm
from neuler.dask_calls import BlockCall, _of_process
from neuler.functions.scan import scan

ARM = neuler.robots.two_link()
FREE = ARM.with_free_base()
Q, QD, QDD = np.random.default_rng(0).normal(size=(3, 50, 2))
LOADS = np.random.default_rng(1).normal(size=(50, 6))
MASS, MASSES = "link2.mass", np.linspace(1.0, 2.0, 50)


def lazily(x, chunks=20):
    """In blocks along the first axis."""
    return da.from_array(x, chunks=(chunks, *x.shape[1:]))


def refuse(*_, **__):
    raise AssertionError("computed, where nothing may be")


@pytest.fixture(autouse=True)
def threaded():
    with dask.config.set(scheduler="threads"):
        yield


def same(found, expected):
    """Dask arrays, or a named tuple of them, with the numbers of NumPy's call, to the last bit."""
    assert type(found).__name__ == type(expected).__name__ or isinstance(found, da.Array)
    pairs = zip(found, expected, strict=True) if isinstance(expected, tuple) else [(found, expected)]
    for lazy, numbers in pairs:
        assert isinstance(lazy, da.Array)
        computed = lazy.compute()
        assert (lazy.shape, lazy.dtype) == (computed.shape, computed.dtype) == (numbers.shape, numbers.dtype)
        np.testing.assert_array_equal(computed, numbers)


CALLS = {
    "inverse_dynamics": lambda r, x: r.inverse_dynamics(x(Q), x(QD), x(QDD)),
    "by name": lambda r, x: r.inverse_dynamics(x(Q), qdd=x(QDD), qd=QD),
    "matrix": lambda r, x: r.mass_matrix(x(Q)),
    "integrate": lambda r, x: r.integrate(x(Q), x(QD), 0.1),
    "several": lambda r, x: r.inverse_dynamics_sensitivities(x(Q), x(QD), x(QDD)),
    "numbers": lambda r, x: r.energy(x(Q), x(QD)),
    "frame": lambda r, x: r.jacobian(x(Q), frame="link1", reference="world"),
    "float32": lambda r, x: r.inverse_dynamics(x(Q), x(QD), x(QDD), dtype="float32"),
    "loads": lambda r, x: r.inverse_dynamics(x(Q), QD, QDD, loads={"link2": x(LOADS)}),
    "loads alone": lambda r, x: r.inverse_dynamics(Q, QD, QDD, loads={"link2": x(LOADS)}),
    "parameters": lambda r, x: r.bias_force(x(Q), QD, parameters={"link2.mass": x(MASSES), "gravity": (0, 0, -1.62)}),
    "compiled": lambda r, x: r.compile("mass_matrix", parameters="link2.mass")(Q, x(MASSES[:, None])),
    "by parameter": lambda r, x: r.compile("mass_matrix", parameters=MASS)(x(Q), parameters={MASS: x(MASSES)}),
    "whole numbers": lambda r, x: r.mass_matrix(x(np.arange(100).reshape(50, 2))),
    "no rows": lambda r, x: r.mass_matrix(x(Q[:0])),
    "one state": lambda r, x: r.energy(x(Q[0]), QD[0]),
}  # fmt: skip


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_kernels(call):
    robot = neuler.robots.two_link()
    with dask.config.set(scheduler=refuse), warnings.catch_warnings():
        warnings.simplefilter("error")
        first = call(robot, lazily)  # before there is code
    expected = call(robot, np.asarray)
    with dask.config.set(scheduler=refuse):
        again = call(robot, lazily)
    same(first, expected)
    same(again, expected)


def test_nothing_is_compiled_by_the_call():
    kernel = neuler.robots.two_link().mass_matrix
    kernel(lazily(Q))
    assert not kernel._is_ready


def test_functions():
    f = neuler.function(lambda A, x, u: (u * (A @ x), u**2), {"A": (2, 2), "x": 2, "u": ()}, ["y", "z"])
    A, u = np.random.default_rng(2).normal(size=(50, 2, 2)), np.random.default_rng(3).normal(size=(7, 1))
    found = f(da.from_array(A, chunks=(20, 1, 1)), Q[0], da.from_array(u, chunks=(3, 1)))
    same(found, f(A, Q[0], u))
    assert found.y.chunks == ((3, 3, 1), (20, 20, 10), (2,))
    assert found.z.chunks == ((3, 3, 1), (20, 20, 10))
    same(f.jacobian("x", of="y")(lazily(A), Q, 2.0), f.jacobian("x", of="y")(A, Q, 2.0))


def test_blocks():
    """Those of batch axes stay, those of core axes become one, and those that differ are cut at the edges of both."""
    whole = ARM.inverse_dynamics(lazily(Q, 15), QD, QDD[0])
    assert whole.chunks == ((15, 15, 15, 5), (2,))
    cut = ARM.inverse_dynamics(da.from_array(Q, chunks=(15, 1)), QD, QDD)
    assert cut.chunks == whole.chunks
    mixed = ARM.inverse_dynamics(lazily(Q, 20), lazily(QD, 25), QDD)
    assert mixed.chunks == ((20, 5, 15, 10), (2,))
    for found, last in ((whole, QDD[0]), (cut, QDD), (mixed, QDD)):
        same(found, ARM.inverse_dynamics(Q, QD, last))
    spread = ARM.inverse_dynamics(lazily(Q[:, None], 20), QD[:3], lazily(QDD[:1], 1))
    same(spread, ARM.inverse_dynamics(Q[:, None], QD[:3], QDD[:1]))
    assert spread.chunks == ((20, 20, 10), (3,), (2,))


def test_controllers_and_mathematics():
    law = neuler.control.ComputedTorque(ARM, 25.0, 10.0, reference=[0.1, 0.2])
    same(law(0.0, lazily(Q), QD).tau, law(0.0, Q, QD).tau)
    same(nm.where(nm.less(lazily(Q), 0.0), nm.sin(lazily(Q)), 1.0), nm.where(nm.less(Q, 0.0), nm.sin(Q), 1.0))


def test_unknown_lengths():
    chosen = lazily(Q)[lazily(Q)[:, 0] > 0.0]
    found = ARM.inverse_dynamics(chosen, QD[0], QDD[0])
    np.testing.assert_array_equal(found.compute(), ARM.inverse_dynamics(Q[Q[:, 0] > 0.0], QD[0], QDD[0]))
    for others in ((QD, QDD), (QD[:1], QDD[0]), (chosen, QDD[0])):
        with pytest.raises(InputError, match=r"q has blocks of unknown size .* q\.compute_chunk_sizes\(\) finds"):
            ARM.inverse_dynamics(chosen, *others)
    with pytest.raises(InputError, match=r"q has blocks of unknown size along its last axes, got shape \(2, nan\)"):
        ARM.mass_matrix(chosen.T)
    with pytest.raises(InputError, match=r"parameters\['link2.mass'\] has blocks of unknown size"):
        ARM.mass_matrix(Q, parameters={"link2.mass": chosen[:, 0]})


# ---- what is refused ---------------------------------------------------------------------------------------------

HELD = np.frompyfunc(lambda _: da.zeros(()), 1, 1)(np.zeros(2))
"""An array of objects, each a Dask array."""
BAD = {
    "wrong length": (lambda: ARM.mass_matrix(da.zeros((5, 3))), r"expected q with last axis 2 .*got shape \(5, 3\)"),
    "too few axes": (lambda: ARM.mass_matrix(da.zeros(())), r"expected q with last axis 2 .*got shape \(\)"),
    "a load": (lambda: ARM.bias_force(Q, QD, loads={"link2": da.zeros(3)}), r"load_link2 with last axis 6 .* \(3,\)"),
    "batches": (lambda: ARM.bias_force(lazily(Q), QD[:3]), r"do not broadcast: q \(50, 2\), qd \(3, 2\)"),
    "complex": (lambda: ARM.mass_matrix(da.zeros((5, 2), dtype=complex)), "q must be real numbers, got complex"),
    "objects": (lambda: ARM.mass_matrix(lazily(Q).astype(object)), "q must be real numbers, got values of type object"),
    "long": (lambda: ARM.mass_matrix(da.zeros(2, dtype=np.longdouble)), "q is .*; convert it to float64"),
    "masked": (lambda: ARM.mass_matrix(da.ma.masked_greater(lazily(Q), 0.0)), "q has masked arrays as blocks"),
    "beside a mask": (lambda: ARM.bias_force(lazily(Q), np.ma.masked_greater(QD, 0.0)), "qd is a masked array"),
    "too many": (lambda: ARM.mass_matrix(lazily(Q), lazily(Q)), r"takes 1 arrays \(q\), got 2"),
    "a list": (lambda: ARM.mass_matrix([da.zeros(()), 0.0]), r"q is a list with Dask arrays in it.*dask\.array\.stack"),
    "objects of NumPy": (lambda: ARM.mass_matrix(HELD), "q is an array with Dask arrays"),
    "delayed": (lambda: ARM.mass_matrix(dask.delayed(Q)), r"q is a Delayed\w* of Dask, and one Dask array is needed"),
    "out": (lambda: ARM.mass_matrix(lazily(Q), out=np.empty((50, 2, 2))), "writes nothing into out"),
    "lazy out": (lambda: ARM.mass_matrix(Q, out=da.zeros((50, 2, 2))), "out for mass_matrix is a Dask array"),
    "lazy outs": (lambda: ARM.energy(Q, QD, out=(da.zeros(50), da.zeros(50))), "out for kinetic is a Dask array"),
    "traced": (lambda: neuler.function(lambda x: ARM.bias_force(lazily(Q), x), {"x": 2}), "qd holds traced values"),
    "traced numbers": (lambda: neuler.function(lambda x: nm.maximum(x, da.zeros(2)), {"x": 2}), "is a Dask array"),
    "traced result": (lambda: neuler.function(lambda x: da.zeros(2), {"x": 2}), "output y is a Dask array"),
    "a bound kernel": (lambda: ARM.mass_matrix.bind()(lazily(Q)), "a bound kernel takes no arguments"),
    "its array": (lambda: setattr(ARM.mass_matrix.bind(), "q", da.zeros(2)), "'q' cannot be set"),
}  # fmt: skip


@pytest.mark.parametrize("ready", [False, True], ids=["first", "again"])
@pytest.mark.parametrize(("call", "message"), BAD.values(), ids=BAD)
def test_bad_arguments_are_refused_at_the_call(call, message, ready, monkeypatch):
    robot = neuler.robots.two_link()
    if ready:
        for each, more in ((robot.mass_matrix, ()), (robot.bias_force, (QD,)), (robot.energy, (QD,))):
            each(Q, *more)
    monkeypatch.setitem(globals(), "ARM", robot)
    with dask.config.set(scheduler=refuse), pytest.raises(InputError, match=message) as caught:
        call()
    assert "DaskArgument" not in repr(caught.value.__context__)


STILL, LAZY = np.zeros(2), da.zeros((5, 2), chunks=2)
LOOP, PLATFORM = neuler.robots.four_bar(), neuler.robots.gough_stewart()
NUMBERS_ALONE = {
    "rollout": (lambda: ARM.rollout(LAZY, STILL, None, 1e-3, steps=2), "rollout: q0"),
    "rollout's forces": (lambda: ARM.rollout(STILL, STILL, LAZY, 1e-3), "rollout: tau"),
    "rollout's step": (lambda: ARM.rollout(STILL, STILL, None, da.zeros(3), steps=2), "rollout: dt"),
    "rollout's parameters": (
        lambda: ARM.rollout(STILL, STILL, None, 1e-3, steps=2, parameters={MASS: da.ones(3)}), "rollout: parameters",
    ),
    "rollout's reference": (
        lambda: ARM.rollout(STILL, STILL, lambda t, q, qd, m, r: (r, m), 1e-3, 2, memory=[0.0], reference=LAZY[:1]),
        "rollout: reference",
    ),
    "with derivatives": (lambda: ARM.rollout_sensitivities(LAZY, STILL, None, 1e-3, 2), "rollout_sensitivities: q0"),
    "assemble": (lambda: LOOP.assemble(da.zeros(1)), "assemble: q_active"),
    "inverse_kinematics": (lambda: ARM.inverse_kinematics(da.zeros((4, 4))), "inverse_kinematics: pose"),
    "of a platform": (lambda: PLATFORM.inverse_kinematics(da.zeros(7)), "inverse_kinematics: pose"),
    "difference": (lambda: ARM.difference(LAZY, STILL), "difference: q0"),
    "normalize": (lambda: FREE.normalize(da.zeros(FREE.nq)), "normalize: q"),
    "simulate": (lambda: neuler.simulate(ARM, None, (LAZY, STILL), 0.1), "simulate: q0"),
    "simulate's forces": (lambda: neuler.simulate(ARM, LAZY, (STILL, STILL), 0.1), "simulate: tau"),
    "scan": (lambda: scan(lambda x, u: (x + u, x), {"x": ()}, {"u": ()}, "y")(0.0, da.zeros(5)), "scan: u"),
    "solve": (lambda: nm.solve(da.eye(2), STILL), "solve: A"),
    "recorded": (lambda: neuler.motions.Recorded(ARM, np.arange(5.0), LAZY), "motion of 'two_link': q"),
    "a reference": (lambda: neuler.control.GravityPD(ARM, 1.0, 1.0, reference=da.zeros(2)), "gravity_pd: reference"),
}  # fmt: skip


@pytest.mark.parametrize(("call", "whose"), NUMBERS_ALONE.values(), ids=NUMBERS_ALONE)
def test_what_takes_numbers_alone_says_so(call, whose):
    with dask.config.set(scheduler=refuse), pytest.raises(InputError) as caught:
        call()
    assert str(caught.value).startswith(f"{whose} is a Dask array, which kernels and functions alone take")
    assert ".compute() gives its numbers, dask.array.map_blocks" in str(caught.value)


@pytest.mark.parametrize(
    "call",
    [
        lambda: neuler.control.quintic(da.zeros(2), STILL, 1.0),
        lambda: neuler.control.quintic(STILL, STILL, da.ones(())),
        lambda: neuler.simulate(ARM, None, (STILL, STILL), da.ones(())),
        lambda: ARM.rollout(STILL, STILL, None, 1e-3, steps=da.ones(())),
        lambda: ARM.with_gravity(da.zeros(3)),
        lambda: neuler.Link("a", mass=da.ones(())),
    ],
)
def test_single_numbers_are_not_computed_either(call):
    with dask.config.set(scheduler=refuse), pytest.raises(neuler.NeulerError, match=r"a Dask array; compute\(\) gives"):
        call()


# ---- warnings, threads, processes --------------------------------------------------------------------------------


def test_quaternions_are_judged_where_they_are_computed():
    robot = neuler.robots.puma560().with_free_base()
    q, still = np.tile(robot.neutral(), (6, 1)), np.zeros(robot.nv)
    q[4, 3:7] = 0.5, 0.5, 0.5, 0.9
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        batch, one = robot.bias_force(lazily(q, 2), still), robot.bias_force(da.from_array(q[4]), still)
    with pytest.warns(RuntimeWarning, match="the quaternion of joint"):
        found = batch.compute()
    assert np.isnan(found[4]).any()
    assert np.isfinite(np.delete(found, 4, axis=0)).all()
    with pytest.raises(InputError, match="the quaternion of joint"):
        one.compute()


def test_a_block_has_one_thread_unless_told(monkeypatch):
    monkeypatch.delenv("NEULER_THREADS", raising=False)
    kernel = neuler.robots.two_link().mass_matrix
    assert BlockCall(kernel, b"")._kernel.threads == 1
    assert kernel.threads is None
    kernel.threads = 2
    assert BlockCall(kernel, b"")._kernel.threads == 2
    told = copy.copy(kernel)
    told.threads = None
    monkeypatch.setenv("NEULER_THREADS", "3")
    assert BlockCall(told, b"")._kernel.threads is None


def test_one_kernel_a_process():
    pickled = pickle.dumps(ARM.mass_matrix)
    first, second = (pickle.loads(pickle.dumps(BlockCall(ARM.mass_matrix, pickled))) for _ in range(2))
    assert first is second
    assert len(pickle.dumps(first)) < 20_000


def test_dask_is_imported_by_its_users_alone():
    code = (
        "import sys, neuler; r = neuler.robots.two_link(); q = [[0.1, 0.2]] * 3; r.mass_matrix(q); "
        "r.mass_matrix(q, parameters={'link2.mass': 1.0}); r.rollout(q, q, None, 1e-3, steps=2); "
        "assert not {'dask', 'cloudpickle'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


@pytest.mark.slow
def test_a_cluster_over_tcp():
    """Two workers in processes of their own, which get the kernel as a small pickle, and its code once."""
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "protocol": "tcp://"}
    robot = neuler.robots.puma560()
    q, qd, qdd = np.random.default_rng(4).normal(size=(3, 400, 6))
    with LocalCluster(**options, dashboard_address=None) as cluster, Client(cluster) as client:
        assert all(address.startswith("tcp://") for address in client.scheduler_info()["workers"])
        lazy = robot.inverse_dynamics(lazily(q, 20), lazily(qd, 20), qdd)
        many = robot.inverse_dynamics_sensitivities(lazily(q, 100), qd, qdd)
        found, several = client.compute([lazy, many], sync=True)
        kernels = client.run(lambda: _of_process.cache_info().misses)
    np.testing.assert_array_equal(found, robot.inverse_dynamics(q, qd, qdd))
    for mine, expected in zip(several, robot.inverse_dynamics_sensitivities(q, qd, qdd), strict=True):
        np.testing.assert_array_equal(mine, expected)
    assert all(count <= 2 for count in kernels.values())
    assert len(kernels) == 2
