"""Rollouts in pieces: no bit depends on where they end, and an interruption is heard between two."""

import dataclasses
import itertools
import threading
import time

import numpy as np
import pytest

import neuler
from neuler.batches import in_threads
from neuler.compiler.program import COUNTS
from neuler.rollouts import loop
from random_robots import few

ARM = neuler.robots.puma560().without_friction()
ROUGH = neuler.robots.puma560()
FREE = neuler.robots.two_link().with_payload("base", 5.0, inertia=(1, 1, 1)).with_free_base()
LOOP = neuler.robots.four_bar()
LENGTHS = ((1,), (2,), (7, 1, 3), (11,), (4, 29))
"""Of pieces, in turn."""


class Given:
    """A pace that nobody asked for."""

    lengths = ()

    def __init__(self, most):
        self._next = itertools.cycle(self.lengths)

    @property
    def steps(self):
        return next(self._next)

    def took(self, steps, seconds):
        pass


def same(whole, run, monkeypatch):
    """Whatever the pieces, the same bits."""
    monkeypatch.setattr(loop, "Pace", Given)
    for lengths in LENGTHS:
        Given.lengths = lengths
        for name, a, b in zip(whole._fields, whole, run(), strict=True):
            assert np.ascontiguousarray(a).tobytes() == np.ascontiguousarray(b).tobytes(), (name, lengths)
    monkeypatch.undo()


def states(robot, rows):
    rng = np.random.default_rng(3)
    if robot.loops:
        q = robot.assemble(np.linspace(0.9, 1.1, rows)[:, None]).q
    else:
        q = robot.random_configuration(rng, rows)
    return q, 0.3 * rng.normal(size=(rows, robot.nv)), rng


@pytest.mark.parametrize("method", few(["rk4", "euler", "implicit"], 1))
@pytest.mark.parametrize("robot", [ARM, ROUGH, FREE, LOOP], ids=["arm", "rough", "free", "loop"])
def test_forces(robot, method, monkeypatch):
    """One every step and held ones, kept states far apart and at every step; a row with an event."""
    rows, steps = 3, 60
    q, qd, rng = states(robot, rows)
    forces = rng.normal(size=(rows, steps, robot.nu))
    forces[1, 22, 0] = np.nan
    for tau, every in ((forces, 1), (forces, 7 - 1), (forces[:, :1], steps), (forces[0], 15)):

        def run(tau=tau, every=every):
            return robot.rollout(q, qd, tau, 1e-3, steps=steps, method=method, every=every, start=3)

        same(run(), run, monkeypatch)


@pytest.mark.parametrize(("period", "every"), [(1, 9), (5, 1), (5, 6), (7, 90), (64, 45), (200, 3)])
def test_controllers(period, every, monkeypatch):
    """Forces that are held from sample to sample, a memory, goals that move, wrenches that depend on the time."""
    steps, dt = 90, 1e-3
    q, qd, rng = states(ARM, 3)
    goal = rng.uniform(-1, 1, (3, steps, 6))
    goal[2, 35] = np.nan

    def follow(t, q, qd, memory, reference):
        error = reference - q + np.sin(30 * t)
        return 20 * error - qd + memory, memory + 0.01 * error

    def push(t, q, qd):
        return np.array([np.sin(50 * t), q[0], 0.0, 0.0, qd[1], 0.1])

    def run():
        return ARM.rollout(
            q, qd, follow, dt, steps=steps, every=every, memory=np.full(6, 0.1), reference=goal, period=period * dt,
            external={"link6": push}, start=2,
        )  # fmt: skip

    whole = run()
    assert np.isfinite(whole.q[0]).all()
    same(whole, run, monkeypatch)


def test_limits(monkeypatch):
    robot = ARM.replace(joints=[dataclasses.replace(joint, limits=neuler.Limits(-0.5, 0.5)) for joint in ARM.joints])
    qd = np.array([[0.9, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0.1]]) * 8

    def run():
        return robot.rollout(np.zeros((2, 6)), qd, np.zeros((1, 6)), 1e-3, steps=100, every=4, limits="stop")

    whole = run()
    assert whole.status[0] == 3
    same(whole, run, monkeypatch)


@pytest.mark.parametrize("robot", [ARM, FREE.without_friction(), LOOP.without_friction()], ids=["arm", "free", "loop"])
def test_derivatives(robot, monkeypatch):
    q, qd, rng = states(robot, 2)
    forces = rng.normal(size=(2, 24, robot.nu))

    def running(t, q, qd, tau):
        return tau @ tau + np.sin(q[0]) * (qd @ qd) + (1.0 + t) * q[-1]

    def final(q, qd):
        return 2.0 * (q @ q) + qd[0] ** 2

    for tau, every in ((forces, 6), (forces[:, :1], 24)):

        def forward(tau=tau, every=every):
            return robot.rollout_sensitivities(q, qd, tau, 1e-3, steps=24, every=every)

        def backward(tau=tau):
            return robot.rollout_gradient(q, qd, tau, 1e-3, steps=24, running=running, final=final)

        same(forward(), forward, monkeypatch)
        same(backward(), backward, monkeypatch)


# ---- interruptions ----------------------------------------------------------------------------------


def test_calls_are_short_whatever_is_kept(monkeypatch):
    """An interruption is heard between two calls of machine code: none has much work, or takes long."""
    seen = []
    run = loop.LoopKernel.run

    def counted(self, batch, arrays, *others):
        seen.append(int(arrays[0][COUNTS.index("total")]))
        run(self, batch, arrays, *others)

    monkeypatch.setattr(loop.LoopKernel, "run", counted)
    monkeypatch.setattr(loop, "WORK_PER_CALL", 100_000_000)
    q, qd = np.random.default_rng(0).uniform(-1, 1, (2, 2, 6))
    steps = 20_000
    ARM.rollout(q, qd, np.zeros((1, 6)), 1e-6, steps=steps, every=steps)
    work = next(reversed(loop.stored_loops(ARM).values())).work
    assert sum(seen) == steps
    assert max(seen) * loop.BLOCK * work <= loop.WORK_PER_CALL
    assert len(seen) > 3
    seen.clear()
    monkeypatch.setattr(loop, "clock", Slow(seen))
    ARM.rollout(q, qd, np.zeros((1, 6)), 1e-6, steps=200, every=200)
    assert set(seen[1:-1]) == {2}, "of steps that take 0.05 s two are done at a time"


class Slow:
    """A clock by which every step takes 0.05 s."""

    def __init__(self, seen):
        self.seen = seen

    def __call__(self):
        return 0.05 * sum(self.seen)


def test_an_interruption_ends_all_parts_of_a_call():
    """Those that were not begun are not done, and none is under way when the caller hears of it."""
    begun, ended = [], []
    both = threading.Barrier(2, timeout=30)

    def part(k):
        begun.append(k)
        if len(begun) <= 2:
            both.wait()
        if threading.current_thread() is threading.main_thread():
            raise KeyboardInterrupt
        time.sleep(0.05)
        ended.append(k)

    with pytest.raises(KeyboardInterrupt):
        in_threads(part, 50, 2)
    assert len(begun) <= 3
    assert len(ended) == len(begun) - 1
