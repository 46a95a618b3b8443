"""Kernels live as long as somebody holds them: code, scratch and memory maps are given back; forks and exits."""

from __future__ import annotations

import gc
import os
import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest

import neuler
from neuler import plan
from neuler.compiler import build, gufunc, jit
from neuler.errors import CompileError
from neuler.rollouts import loop
from neuler.rollouts.kernel import RolloutKernel
from neuler.rollouts.model import Model

LINUX = pytest.mark.skipif(not os.path.exists("/proc/self/maps"), reason="no /proc here")
CHURN = """
import gc, sys
import numpy as np
import neuler

def maps():
    return sum(1 for _ in open("/proc/self/maps"))

def resident():
    return int(open("/proc/self/statm").read().split()[1]) * 4096 / 2**20

base, q = neuler.robots.two_link(), np.array([0.1, 0.2])
kernels, distinct = int(sys.argv[1]), int(sys.argv[2])
seen = []
for k in range(kernels):
    robot = base.with_payload(base.tip, 0.1 + 0.01 * (k % distinct))
    assert np.isfinite(robot.inverse_dynamics(q, q, q)).all()
    if k + 1 == kernels // 4 or k + 1 == kernels:
        del robot
        gc.collect()
        seen.append((maps(), resident()))
(maps_early, memory_early), (maps_late, memory_late) = seen
print(maps_late - maps_early, memory_late - memory_early)
"""


def _churn(kernels, distinct, timeout):
    command = [sys.executable, "-c", CHURN, str(kernels), str(distinct)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=timeout)
    maps, memory = done.stdout.split()
    assert int(maps) < 100
    assert float(memory) < 10  # MiB


@LINUX
def test_kernels_made_and_dropped_leave_nothing():
    _churn(300, 10, 300)


@LINUX
@pytest.mark.slow
def test_fifty_thousand_kernels_made_and_dropped_leave_nothing():
    _churn(50_000, 500, 1200)


def _alive():
    gc.collect()
    return len(gufunc._codes)


def test_a_kernel_that_nobody_holds_goes():
    before = _alive()
    robot = neuler.robots.two_link().with_gravity((0.123, 0, 0))
    kernel = robot.compile("inverse_dynamics")
    assert robot.compile("inverse_dynamics").ufunc is kernel.ufunc, "equal kernels share code while one is held"
    _ = robot.mass_matrix
    assert _alive() == before + 1, "a verb that is looked at has no code"
    _([0.0, 0.0])
    assert _alive() == before + 2
    del robot, kernel, _
    assert _alive() == before


def test_a_ufunc_keeps_its_code_alive():
    robot = neuler.robots.general_chain(16).with_gravity((0, 0.321, 0))  # scratch from a pool
    q = np.linspace(-1, 1, 16)
    kernel = robot.compile("forward_dynamics")
    ufunc, expected = kernel.ufunc, kernel(q, q, q)
    del robot, kernel
    gc.collect()
    for k in range(5):  # others might be put in its place
        _ = neuler.robots.two_link().with_gravity((0, 0, k)).compile("mass_matrix").ufunc
    np.testing.assert_array_equal(ufunc(q, q, q), expected)
    before = _alive()
    del ufunc
    assert _alive() == before - 1


def test_too_many_maps_are_an_error_before_the_system_ends_the_process(monkeypatch, tmp_path):
    limit = tmp_path / "max_map_count"
    limit.write_text("4200\n")
    monkeypatch.setattr(jit, "_LIMIT", str(limit))
    monkeypatch.setattr(jit, "_since_look", 0)
    monkeypatch.setattr(jit, "_maps", lambda: 150)
    with pytest.raises(CompileError, match=r"uses 150 memory maps, and the system allows 4200 .*Let go of some"):
        neuler.robots.two_link().with_gravity((0, 7, 7)).mass_matrix([0, 0])
    limit.write_text("65530\n")
    assert neuler.robots.two_link().with_gravity((0, 7, 7)).mass_matrix([0, 0]).shape == (2, 2)


def test_robots_keep_the_code_of_few_rollouts(monkeypatch):
    """Controllers that differ in a number are loops of their own: those used last stay, the others go."""
    monkeypatch.setattr(loop, "STORED", 3)
    robot = neuler.robots.two_link().with_gravity((0.5, 0.25, 0.125))

    def run(gain):
        return robot.rollout([0.1, 0.2], [0, 0], lambda t, q, qd, m, r: (-gain * q, m), 1e-3, 2).q

    expected = run(1.0)
    before = _alive()
    for gain in (2.0, 3.0, 1.0, 4.0, 5.0, 1.0, 6.0):
        run(gain)
    assert _alive() == before + 2
    made = []
    compile_program = build.compile_program
    monkeypatch.setattr(build, "compile_program", lambda *a, **b: made.append(a) or compile_program(*a, **b))
    np.testing.assert_array_equal(run(1.0), expected)
    assert not made, "used since"
    run(2.0)
    assert len(made) == 1, "dropped, made again"


def test_the_store_of_rollouts_is_shared_by_threads(monkeypatch):
    monkeypatch.setattr(loop, "STORED", 4)
    robot = neuler.robots.two_link()
    models = [Model(robot, parameters=(f"link{k % 2 + 1}.mass",) * (k + 1)) for k in range(9)]
    found = []

    def work():
        for k in range(2_000):
            model = models[k * 5 % 9]
            one = RolloutKernel(model, "rk4").shared()
            found.append(one.model.key == model.key)

    workers = [threading.Thread(target=work) for _ in range(6)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(found) == 12_000
    assert all(found)
    assert len(loop.stored_loops(robot)) == 4
    kept = RolloutKernel(models[0], "rk4").shared()
    assert RolloutKernel(models[0], "rk4").shared() is kept


@pytest.fixture
def made(monkeypatch):
    """Names of the quantities whose machine code is made or loaded."""
    names = []
    compile_recipe = build.compile_recipe
    monkeypatch.setattr(build, "compile_recipe", lambda *a, **b: names.append(a[1]) or compile_recipe(*a, **b))
    return names


def test_kernels_out_of_pickles_have_no_code_before_they_are_used(made):
    robot = neuler.robots.two_link().with_gravity((0.5, 0.5, 0.125))
    stored = [pickle.dumps(robot.compile("mass_matrix", dtype=dtype)) for dtype in ("float64", "float32")]
    made.clear()
    for text in stored:
        kernel = pickle.loads(text)
        assert not made
        assert kernel([0.1, 0.2]).shape == (2, 2)
        assert made == ["mass_matrix"]
        made.clear()


def test_kernels_that_are_only_traced_have_no_code(made):
    robot = neuler.robots.two_link()
    variants = {"parameters": ("payload:link2",)}

    def height(q, load):
        pose = robot.compile("link_poses", frame="link2")(q)
        return pose[1, 3] + robot.compile("inverse_dynamics", **variants)(q, q, q, load)[0]

    f = neuler.function(height, {"q": 2, "load": 10})
    assert not made
    kernel = robot.compile("inverse_dynamics", **variants)
    load = np.zeros(10)
    q = np.array([0.1, 0.2])
    expected = robot.compile("link_poses", frame="link2")(q)[1, 3] + kernel(q, q, q, load)[0]
    assert f(q, load) == pytest.approx(expected, rel=1e-12)
    assert set(made) >= {"link_poses", "inverse_dynamics"}
    for options in ({"method": "guess"}, {"frame": "tool"}, {"parameters": ("nothing",)}, {"dtype": "float16"}):
        with pytest.raises(neuler.NeulerError):
            robot.compile("inverse_dynamics", **options)
    with pytest.raises(neuler.NeulerError):
        robot.compile("closure")


def test_a_plan_that_is_not_solved_has_no_code(made):
    robot = neuler.robots.two_link()
    near = plan.limit(plan.frame_position("link2"), -5.0, 5.0)
    load = plan.Payload("link2", 0.5)
    plan.Plan(robot, plan.duration(), start=[0, -2], goal=[1, -1], limits=[near], payload=load, control_points=8)
    assert not made


FORK = """
import os, sys, threading, time
import neuler

compiled = threading.Event()

def compile_on():
    chain, k = neuler.robots.general_chain(6), 0
    while True:
        k += 1
        chain.with_gravity((0, 0, k)).forward_dynamics([0.1] * 6, [0.1] * 6, [0.1] * 6)
        compiled.set()

threading.Thread(target=compile_on, daemon=True).start()
compiled.wait()  # until then it imports modules, and Python's own locks of imports do not survive a fork
hung = 0
for k in range(8):
    time.sleep(0.013 * (k % 5))
    child = os.fork()
    if not child:
        robot = neuler.robots.two_link().with_gravity((k, 1, 1))
        os._exit(0 if robot.inverse_dynamics([0.1] * 2, [0.1] * 2, [0.1] * 2).shape == (2,) else 3)
    end = time.time() + 100  # what hangs does so for ever, and a busy machine may take its time
    while time.time() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            assert status == 0, status
            break
        time.sleep(0.01)
    else:
        hung += 1
        os.kill(child, 9)
print("hung", hung, flush=True)
os._exit(0)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_fork_while_another_thread_compiles():
    environment = {**os.environ, "NEULER_CACHE_DIR": "off"}
    command = [sys.executable, "-W", "ignore", "-c", FORK]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=1000)
    assert done.stdout == "hung 0\n"


EXIT = """
import atexit, threading, time
import numpy as np
import neuler

kernel = neuler.robots.puma560().inverse_dynamics
kernel.threads = 2
states = np.random.default_rng(0).normal(size=(3, 200_000, 6))
expected = kernel(*states)
atexit.register(lambda: print("at exit", np.array_equal(kernel(*states), expected), flush=True))

def forever():
    while True:
        kernel(*states)

threading.Thread(target=forever, daemon=True).start()
time.sleep(0.05)
"""


def test_large_batches_while_the_interpreter_ends():
    done = subprocess.run([sys.executable, "-c", EXIT], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout == "at exit True\n"
    assert done.stderr == ""


HASHES = """
import os, signal, threading, time
import neuler

base, two_link = neuler.robots.general_chain(12), neuler.robots.two_link
hashed = threading.Event()

def hashes():
    k = 0
    while True:
        k += 1
        base.with_gravity((0, 0, k)).content_hash
        hashed.set()

threading.Thread(target=hashes, daemon=True).start()
hashed.wait()
hung = 0
for k in range(10):
    time.sleep(0.01)
    child = os.fork()
    if not child:
        signal.alarm(60)
        two_link().content_hash
        os._exit(0)
    hung += os.waitpid(child, 0)[1] != 0
print("hung", hung, flush=True)
os._exit(0)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_fork_while_another_thread_makes_robots():
    command = [sys.executable, "-W", "ignore", "-c", HASHES]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=700)
    assert done.stdout == "hung 0\n"


def test_a_robot_keeps_the_code_of_its_variants(monkeypatch):
    """A variant that is made, used and dropped in a loop is compiled once; so are those that explain a NaN."""
    monkeypatch.setenv("NEULER_CACHE_DIR", "off")
    robot, machine = neuler.robots.two_link().with_gravity((1, 2, 5)), neuler.robots.four_bar()
    first = robot.compile("jacobian", reference="world").ufunc
    gc.collect()
    assert robot.compile("jacobian", reference="world").ufunc is first
    q = machine.assemble([1.0]).q + [0.0, 0.3, 0.0]
    with pytest.warns(RuntimeWarning, match="loops are open"):
        machine.inverse_dynamics(q, [1.0], [1.0])
    held = _alive()
    with pytest.warns(RuntimeWarning, match="loops are open"):
        machine.inverse_dynamics(q, [1.0], [1.0])
    assert _alive() == held
