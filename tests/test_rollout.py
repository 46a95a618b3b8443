"""Rollouts: step by step, measured orders, energy, SciPy and MuJoCo."""

import itertools

import numpy as np
import pytest

import neuler
from kind_robots import kind_robot
from neuler import Joint, Link, Robot
from neuler.compiler.program import ALARM, Program, StepPart, Work, counts
from neuler.trace.recipe import Operand, Recipe
from random_robots import close, few, random_robot, real_files

METHODS = ("euler", "rk4", "implicit")
ORDER = {"euler": 1, "rk4": 4, "implicit": 2}


def tumbling_chain():
    """A free body with two bodies on it, a ball joint and a hinge; no gravity."""
    links = [Link("world")]
    rng = np.random.default_rng(4)
    for k in range(3):
        inertia = tuple((1 + 0.3 * k) * x for x in (0.05, 0.08, 0.1))
        links.append(Link.from_com(f"body{k}", mass=1.0 + k, com=rng.uniform(-0.2, 0.2, 3), inertia=inertia))
    joints = [
        Joint("fly", "free", "world", "body0"),
        Joint("ball", "spherical", "body0", "body1", neuler.Transform.from_rpy((0.3, 0, 0.1), (0.2, 0.1, 0))),
        Joint("hinge", "revolute", "body1", "body2", neuler.Transform.from_rpy((0, 0.4, 0), (0.5, 0, 0.3))),
    ]
    return Robot("chain", links, joints, gravity=(0, 0, 0))


def bar(name):
    return Link.from_com(name, mass=1.0, com=(0, 0, -0.5), inertia=(1 / 12, 1 / 12, 1e-3))


def double_pendulum():
    links = [Link("base"), *(bar(f"bar{k}") for k in range(2))]
    joints = [
        Joint("shoulder", "revolute", "base", "bar0", axis=(0, 1, 0)),
        Joint("elbow", "revolute", "bar0", "bar1", neuler.Transform.from_rpy((0, 0, -1.0), (0, 0, 0)), axis=(0, 1, 0)),
    ]
    return Robot("double pendulum", links, joints)


def by_hand(robot, q, qd, tau, dt, method, steps):
    """The same schemes in NumPy, for robots whose positions are plain numbers."""

    def f(q, qd):
        return robot.forward_dynamics(q, qd, tau)

    found = []
    for _ in range(steps):
        if method == "euler":
            qd = qd + dt * f(q, qd)
            q = q + dt * qd
        else:
            k1 = f(q, qd)
            k2 = f(q + dt / 2 * qd, qd + dt / 2 * k1)
            k3 = f(q + dt / 2 * (qd + dt / 2 * k1), qd + dt / 2 * k2)
            k4 = f(q + dt * (qd + dt / 2 * k2), qd + dt * k3)
            q = q + dt * qd + dt * dt / 6 * (k1 + k2 + k3)
            qd = qd + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        found.append((q, qd))
    return (np.stack(x, axis=-2) for x in zip(*found, strict=True))


@pytest.mark.parametrize("method", ["euler", "rk4"])
@pytest.mark.parametrize("speed", [1.0, 300.0])
def test_steps_are_those_of_the_scheme(method, speed):
    """Also where angles go further in a step than the series of sines serve."""
    robot = neuler.robots.puma560().without_friction()
    rng = np.random.default_rng(0)
    q, qd, tau = rng.uniform(-1, 1, (3, 11, 6))
    qd *= speed
    found = robot.rollout(q, qd, tau[:, None], 1e-3, steps=20, method=method)
    expected, rates = by_hand(robot, q, qd, tau, 1e-3, method, 20)
    close(found.q, expected, 1e-12, what="q")
    close(found.qd, rates, 1e-11, what="qd")
    assert not found.status.any()
    assert (found.step == 20).all()
    assert (found.joint == -1).all()


def measured_order(robot, q, qd, method, time, first):
    ends = []
    for n in (first, 2 * first, 4 * first):
        found = robot.rollout(q, qd, np.zeros((1, robot.nu)), time / n, steps=n, method=method, every=n)
        assert found.status == 0
        ends.append((found.q[0], found.qd[0]))
    errors = [
        np.linalg.norm(np.concatenate([robot.difference(a[0], b[0]), a[1] - b[1]])) for a, b in itertools.pairwise(ends)
    ]
    return np.log2(errors[0] / errors[1])


@pytest.mark.parametrize("method", METHODS)
def test_order_on_a_tumbling_chain(method):
    """Of rotations that do not commute, too."""
    robot = tumbling_chain()
    qd = np.random.default_rng(1).normal(size=robot.nv) * 2
    order = measured_order(robot, robot.random_configuration(2), qd, method, 0.5, 64)
    assert abs(order - ORDER[method]) < 0.1


@pytest.mark.parametrize("name", few(["four_bar", "gough_stewart"], 1))
@pytest.mark.parametrize("method", ["euler", "rk4"])
def test_order_and_closure_with_loops(name, method):
    robot = neuler.robots.get(name).without_friction()
    q, qd = robot.random_configuration(3), 0.2 * np.random.default_rng(5).normal(size=robot.nv)
    assert abs(measured_order(robot, q, qd, method, 0.1, 16) - ORDER[method]) < 0.15
    found = robot.rollout(q, qd, np.zeros((1, robot.nu)), 1e-3, steps=100, method=method)
    gap = np.linalg.norm(robot.closure(found.q).open_by, axis=-1)
    assert gap.max() < 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("method", METHODS)
def test_order_on_every_kind_of_joint(seed, method):
    robot = kind_robot(seed).without_friction()
    qd = np.random.default_rng(5).normal(size=robot.nv)
    order = measured_order(robot, robot.random_configuration(3), qd, method, 0.1, 16)
    assert abs(order - ORDER[method]) < 0.15


@pytest.mark.parametrize("seed", few(range(3), 1))
def test_random_trees_keep_energy(seed):
    robot = random_robot(seed).without_friction()
    q, qd = robot.random_configuration(seed, 5), np.random.default_rng(seed).normal(size=(5, robot.nv))
    found = robot.rollout(q, qd, np.zeros((1, robot.nu)), 2e-4, steps=200)
    good = found.status == 0
    kinetic, potential = robot.energy(found.q[good], found.qd[good])
    total = kinetic + potential
    assert np.abs(total - total[:, :1]).max() < 1e-5 * np.abs(kinetic).max()


def test_energy_drift_of_an_arm_is_of_fourth_order():
    """10 s of a swinging arm at 1 kHz: relative to the largest kinetic energy, which knows no zero of the potential."""
    robot = ur5()
    q = np.random.default_rng(0).uniform(-np.pi, np.pi, (64, 6))
    qd = np.zeros_like(q)
    drifts = []
    start = sum(robot.energy(q, qd))
    for dt in (1e-3, 5e-4):
        found = robot.rollout(q, qd, np.zeros((1, 6)), dt, steps=round(10 / dt), every=round(0.1 / dt))
        assert not found.status.any()
        kinetic, potential = robot.energy(found.q, found.qd)
        off = np.abs((kinetic + potential)[:, -1] - start) / kinetic.max(axis=-1)
        drifts.append(float(np.median(off)))
    assert drifts[0] < 1e-8
    assert drifts[1] < drifts[0] / 16


def ur5():
    files = [path for path in real_files() if path.name == "ur5_robot.urdf"]
    if not files:
        pytest.skip("example-robot-data is not installed")
    return neuler.load(files[0]).without_friction()


@pytest.mark.parametrize(
    ("robot", "time", "tolerance"), [(double_pendulum(), 5.0, 1e-7), (tumbling_chain(), 3.0, 1e-9)]
)
def test_against_dop853(robot, time, tolerance):
    """A chaotic pendulum while that is meaningful, and a free chain: an integrator nobody here wrote."""
    integrate = pytest.importorskip("scipy.integrate")
    from neuler.recursions.positions import position_rates

    q = robot.neutral() if robot.nq != robot.nv else np.array([2.5, -1.0])
    qd = np.random.default_rng(7).normal(size=robot.nv)
    tau = np.zeros(robot.nu)

    def rate(_, state):
        here, speed = state[: robot.nq], state[robot.nq :]
        for _, first in neuler.robot.configuration.quaternions(robot):
            here = here.copy()
            here[first : first + 4] /= np.linalg.norm(here[first : first + 4])
        moved = position_rates(robot.moving_joints, here.tolist(), speed.tolist())
        return np.concatenate([moved, robot.forward_dynamics(here, speed, tau)])

    exact = integrate.solve_ivp(rate, (0, time), np.concatenate([q, qd]), "DOP853", rtol=1e-13, atol=1e-13).y[:, -1]
    steps = round(time / 2e-4)
    found = robot.rollout(q, qd, tau[None], time / steps, steps=steps, every=steps)
    end = robot.normalize(exact[: robot.nq])
    assert np.abs(robot.difference(found.q[0], end)).max() < tolerance
    assert np.abs(found.qd[0] - exact[robot.nq :]).max() < 10 * tolerance


@pytest.mark.parametrize("method", ["euler", "rk4"])
def test_against_mujoco(method):
    mujoco = pytest.importorskip("mujoco")
    from mujoco import rollout

    from neuler.peers.mujoco import MuJoCo

    robot = neuler.robots.puma560().without_friction()
    peer = MuJoCo(robot)
    peer.model.opt.timestep = 1e-3
    peer.model.opt.integrator = {"euler": mujoco.mjtIntegrator.mjINT_EULER, "rk4": mujoco.mjtIntegrator.mjINT_RK4}[
        method
    ]
    q, qd = np.random.default_rng(0).uniform(-1, 1, (2, 3, 6))
    size = mujoco.mj_stateSize(peer.model, mujoco.mjtState.mjSTATE_FULLPHYSICS)
    begin = np.zeros((3, size))
    begin[:, 1:7], begin[:, 7:13] = peer.layout.q(q), peer.layout.v(qd, q)
    state, _ = rollout.rollout(peer.model, mujoco.MjData(peer.model), begin, nstep=300)
    found = robot.rollout(q, qd, np.zeros((1, 6)), 1e-3, steps=300, method=method)
    close(found.q, peer.layout.from_q(state[..., 1:7]), 1e-12)


# ---- arrays ------------------------------------------------------------------------------------------


def test_kept_states_and_batches():
    robot = neuler.robots.puma560().without_friction()
    rng = np.random.default_rng(0)
    q, qd = rng.uniform(-1, 1, (2, 5, 1, 6))
    tau = rng.uniform(-5, 5, (3, 24, 6))
    whole = robot.rollout(q, qd, tau, 1e-3)
    assert whole.q.shape == (5, 3, 24, 6)
    assert whole.status.shape == (5, 3)
    few = robot.rollout(q, qd, tau, 1e-3, every=8)
    np.testing.assert_array_equal(few.q, whole.q[:, :, 7::8])
    alone = robot.rollout(q[2, 0], qd[2, 0], tau[1], 1e-3)
    close(alone.q, whole.q[2, 1], 1e-14)
    sizes = np.array([1e-3, 2e-3, 5e-4])
    each = robot.rollout(q[0], qd[0], tau[0], sizes[:, None])
    for k, dt in enumerate(sizes):
        close(each.q[k, 0], robot.rollout(q[0], qd[0], tau[0], dt).q[0], 1e-14)


@pytest.mark.parametrize("rows", [1, 2, 3, 4, 5, 8, 9, 17])
def test_every_number_of_rows(rows):
    robot = neuler.robots.two_link()
    q, qd = np.random.default_rng(0).uniform(-1, 1, (2, 17, 2))
    whole = robot.rollout(q, qd, np.zeros((1, 2)), 1e-3, steps=10)
    part = robot.rollout(q[:rows], qd[:rows], np.zeros((1, 2)), 1e-3, steps=10)
    np.testing.assert_array_equal(part.q, whole.q[:rows])


def test_any_strides_and_threads(monkeypatch):
    from neuler.rollouts import loop

    robot = neuler.robots.puma560().without_friction()
    q, qd = np.random.default_rng(0).uniform(-1, 1, (2, 40, 6))
    plain = robot.rollout(q, qd, np.zeros((1, 6)), 1e-3, steps=30, threads=1)
    monkeypatch.setattr(loop, "WORK_PER_THREAD", 1)
    monkeypatch.setattr(loop, "WORK_PER_CALL", 10_000)  # a few steps at a time
    out = np.full((6, 30, 40), np.nan).T, np.full((40, 30, 12), np.nan)[..., ::2]
    other = robot.rollout(np.asfortranarray(q), qd[:, ::-1][:, ::-1], np.zeros((30, 6)), 1e-3, threads=2, out=out)
    np.testing.assert_array_equal(other.q, plain.q)
    np.testing.assert_array_equal(other.qd, plain.qd)
    assert other.q is out[0]


def test_in_pieces_with_a_controller_and_events(monkeypatch):
    from neuler.rollouts import loop

    robot = neuler.robots.two_link()

    def follow(t, q, qd, memory, reference):
        error = reference - q + np.sin(3 * t)
        return 20 * error - qd + memory, memory + 0.01 * error

    rng = np.random.default_rng(0)
    q, goal = rng.uniform(-1, 1, (7, 2)), rng.uniform(-1, 1, (7, 60, 2))
    goal[3, 24] = np.nan
    options = {"steps": 60, "every": 3, "memory": np.zeros(2), "reference": goal, "period": 2e-3, "start": 5}
    whole = robot.rollout(q, 0 * q, follow, 1e-3, **options)
    monkeypatch.setattr(loop, "WORK_PER_CALL", 1)
    parts = robot.rollout(q, 0 * q, follow, 1e-3, **options)
    for a, b in zip(whole, parts, strict=True):
        np.testing.assert_array_equal(a, b)
    assert whole.status.tolist() == [0, 0, 0, 5, 0, 0, 0]
    assert whole.step[3] == 25


@pytest.mark.slow
def test_the_code_is_found_on_disk(tmp_path, monkeypatch):
    import subprocess
    import sys

    script = (
        "import neuler, numpy as np\n"
        "from neuler.rollouts.loop import stored_loops\n"
        "r = neuler.robots.two_link()\n"
        "r.rollout(np.zeros(2), np.ones(2), np.zeros((1, 2)), 1e-3, steps=5)\n"
        "(k,) = stored_loops(r).values()\n"
        "print(k.built.cached)\n"
    )
    found = []
    for _ in range(2):
        run = subprocess.run(
            [sys.executable, "-c", script], env={**__import__("os").environ, "NEULER_CACHE_DIR": str(tmp_path)},
            capture_output=True, check=True, text=True,
        )  # fmt: skip
        found.append(run.stdout.strip())
    assert found == ["False", "True"]


# ---- time loops --------------------------------------------------------------------------------------


def test_variables_may_be_read_and_written_in_any_order():
    """x, y = y, x + y: what is written over is read before."""
    from neuler.compiler.build import compile_program

    x, y = Operand("x", (1,)), Operand("y", (1,))
    swap = Recipe((x, y), (x, y, ALARM), lambda v: [v["y"], [v["x"][0] + v["y"][0]], [0.0]])
    never = Recipe((x,), (Operand("status", (1,)), Operand("joint", (1,))), lambda v: [[1.0], [0.0]])
    program = Program((x, y), (), (), (x, y), (), lambda: Work((StepPart(swap),), never))
    built = compile_program(program, "fibonacci", "", "test of time loops")
    rows, kept = 13, 20
    start = np.arange(rows, dtype=float)[:, None]
    out = np.empty((rows, kept, 1)), np.empty((rows, kept, 1)), np.empty((rows, 3))
    built.ufunc(np.array(counts(kept)), np.zeros(3), start, np.ones((rows, 1)), out=out)
    a, b = start[:, 0], np.ones(rows)
    for k in range(kept):
        a, b = b, a + b
        np.testing.assert_array_equal(out[0][:, k, 0], a)
        np.testing.assert_array_equal(out[1][:, k, 0], b)
    assert not out[2].any()
