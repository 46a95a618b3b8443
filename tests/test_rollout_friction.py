"""Coulomb friction in rollouts: what rests stays, what stops stops, and coupled joints satisfy the laws of friction."""

import dataclasses

import numpy as np
import pytest

import neuler
from neuler import Joint, Link, Motor, Robot, Transform
from neuler.robot.friction import LoadDependent, Stribeck

METHODS = ("euler", "rk4")
PULL = 2.0 * 9.81 * np.sin(0.5)
"""Of gravity along the slope, N."""


def block(**drive):
    """2 kg on a slope of half a radian; it slides down along its axis."""
    links = [Link("base"), Link.from_com("block", mass=2.0, inertia=(1, 1, 1))]
    slope = Transform.from_rpy((0, 0, 0), (0, 0.5, 0))
    return Robot("block", links, [Joint("slide", "prismatic", "base", "block", slope, axis=(1, 0, 0), **drive)])


def run(robot, q, qd, dt, time, method, tau=0.0, **more):
    return robot.rollout([q], [qd], [[tau]], dt, steps=round(time / dt), method=method, **more)


@pytest.mark.parametrize("method", METHODS)
def test_a_block_on_a_slope(method):
    rests = run(block(coulomb=1.01 * PULL), 0.3, 0.0, 1e-3, 1.0, method)
    assert (rests.q == 0.3).all()
    assert (rests.qd == 0.0).all()
    slides = run(block(coulomb=0.9 * PULL), 0.3, 0.0, 1e-3, 1.0, method)
    np.testing.assert_allclose(slides.qd[:, 0], 0.05 * PULL * 1e-3 * np.arange(1, 1001), rtol=1e-11)
    held = run(block(coulomb=0.9 * PULL), 0.3, 0.0, 1e-3, 1.0, method, tau=-0.2 * PULL)
    assert (held.q == 0.3).all()
    pushed = run(block(coulomb=0.9 * PULL), 0.3, 0.0, 1e-3, 0.1, method, tau=-2.0 * PULL)
    np.testing.assert_allclose(pushed.qd[-1, 0], -0.1 * PULL / 2 * 0.1, rtol=1e-11)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("speed", [1.0, -1.0])
def test_a_block_stops_and_stays(method, speed):
    robot = block(coulomb=1.2 * PULL)
    decay = (1.2 * PULL - np.sign(speed) * PULL) / 2
    ends = []
    for dt in (1e-2, 1e-3):
        found = run(robot, 0.0, speed, dt, 2.0, method)
        rest = np.flatnonzero(found.qd[:, 0] == 0.0)
        assert abs(rest[0] * dt - 1 / decay) < 2 * dt
        assert (rest == np.arange(rest[0], len(found.qd))).all()  # once at rest, always
        assert (found.q[rest] == found.q[-1]).all()
        ends.append(abs(found.q[-1, 0] - np.sign(speed) / (2 * decay)))
    assert ends[1] < (2e-6 if method == "rk4" else 6e-4)


@pytest.mark.parametrize(("method", "order"), [("euler", 1), ("rk4", 2)])
def test_a_block_that_turns_round(method, order):
    robot = block(coulomb=0.5 * PULL)
    up, down = 0.75 * PULL, 0.25 * PULL
    turn = 1 / up
    expected = -0.5 / up + down * (1 - turn) ** 2 / 2
    errors = []
    for dt in (1e-2, 1e-3, 1e-4):
        found = run(robot, 0.0, -1.0, dt, 1.0, method)
        errors.append(abs(found.q[-1, 0] - expected))
        assert found.qd[-1, 0] == pytest.approx(down * (1 - turn), rel=1e-11)
    assert errors[1] < max(1e-1**order * 3 * errors[0], 1e-13)  # rk4 turns round without an error
    assert errors[2] < max(1e-1**order * 3 * errors[1], 1e-13)


@pytest.mark.parametrize("method", METHODS)
def test_laws_of_friction(method):
    sticky = block(friction=Stribeck(coulomb=0.5 * PULL, static=1.05 * PULL, speed=0.1))
    assert (run(sticky, 0.3, 0.0, 1e-3, 0.5, method).q == 0.3).all()
    assert run(sticky, 0.3, 1.0, 1e-3, 0.5, method).qd[-1, 0] > 1.0  # kinetic friction does not stop it
    geared = block(friction=LoadDependent(load=0.3))
    # at rest the load is the pull: what friction adds at most is 0.3 of it
    assert (run(geared, 0.3, 0.0, 1e-3, 0.2, method, tau=-1.29 * PULL).q == 0.3).all()
    assert (run(geared, 0.3, 0.0, 1e-3, 0.2, method, tau=-0.71 * PULL).q == 0.3).all()
    assert run(geared, 0.3, 0.0, 1e-3, 0.2, method, tau=-1.31 * PULL).qd[-1, 0] < 0
    assert run(geared, 0.3, 0.0, 1e-3, 0.2, method, tau=-0.69 * PULL).qd[-1, 0] > 0
    oneway = block(coulomb=0.5 * PULL, coulomb_reverse=1.5 * PULL)
    assert run(oneway, 0.3, 0.0, 1e-3, 0.2, method).qd[-1, 0] > 0
    assert (run(oneway, 0.3, 0.0, 1e-3, 0.2, method, tau=-2.4 * PULL).q == 0.3).all()
    assert run(oneway, 0.3, 0.0, 1e-3, 0.2, method, tau=-2.6 * PULL).qd[-1, 0] < 0
    motor = Motor("m", "slide", ratio=-50.0, carrier="base", axis=(0, 0, 1), inertia=1e-4, coulomb=1.01 * PULL / 50)
    driven = block().replace(motors=[motor])
    assert (run(driven, 0.3, 0.0, 1e-3, 0.2, method).q == 0.3).all()
    smooth = block(coulomb=1.1 * PULL).replace(
        joints=[dataclasses.replace(block().joints[0], friction=neuler.robot.friction.Coulomb(1.1 * PULL, width=1e-3))]
    )
    assert run(smooth, 0.3, 0.0, 1e-4, 0.2, method).qd[-1, 0] > 0  # a smooth law creeps


def friction_arm(seed):
    rng = np.random.default_rng(seed)
    arm = neuler.robots.puma560()
    forward, reverse = np.array([5, 60, 30, 2, 2, 2.0]), np.array([4, 50, 30, 1, 2, 3.0])
    joints = [
        dataclasses.replace(joint, coulomb=f, coulomb_reverse=r, viscous=0.0)
        for joint, f, r in zip(arm.joints, forward, reverse, strict=True)
    ]
    return arm.replace(joints=joints), forward, reverse, rng


def satisfies(robot, q, tau, x, forward, reverse):
    """Accelerations x from rest: held within the cone, or moving against its edge."""
    force = tau - robot.bias_force(q, np.zeros(robot.nv)) - np.einsum("...ij,...j->...i", robot.mass_matrix(q), x)
    edge = np.where(x > 0, forward, -reverse)
    slack = 1e-8 * (1 + np.abs(tau).max(axis=-1, keepdims=True))
    inside = (force <= forward + slack) & (force >= -reverse - slack)
    return np.where(x == 0.0, inside, np.abs(force - edge) < slack).all(axis=-1)


def test_coupled_joints_satisfy_the_laws():
    robot, forward, reverse, rng = friction_arm(0)
    q = rng.uniform(-3, 3, (4000, 6))
    tau = robot.gravity_force(q) + rng.normal(size=(4000, 6)) * 2 * forward
    found = robot.rollout(q, np.zeros(6), tau[:, None], 1e-3, method="euler")
    x = found.qd[:, 0] / 1e-3
    assert 0.2 < (x == 0).mean() < 0.6
    assert satisfies(robot, q, tau, x, forward, reverse).all()


@pytest.mark.slow
def test_a_chain_of_ten_coupled_joints_satisfies_the_laws():
    """Hard for pivots of all joints at once."""
    chain = neuler.robots.general_chain(10)
    chain = chain.replace(joints=[dataclasses.replace(joint, coulomb=1.0, viscous=0.0) for joint in chain.joints])
    rng = np.random.default_rng(0)
    q, tau = rng.uniform(-3, 3, (1500, 10)), 2 * rng.normal(size=(1500, 10))
    tau = tau + chain.gravity_force(q)
    x = chain.rollout(q, np.zeros(10), tau[:, None], 1e-3, method="euler").qd[:, 0] / 1e-3
    assert satisfies(chain, q, tau, x, np.ones(10), np.ones(10)).all()


@pytest.mark.parametrize("method", METHODS)
def test_an_arm_in_its_cone_stays_and_one_joint_alone_may_move(method):
    robot, forward, reverse, rng = friction_arm(1)
    q = rng.uniform(-1, 1, (9, 6))
    tau = robot.gravity_force(q) + rng.uniform(-0.95, 0.95, (9, 6)) * np.minimum(forward, reverse)
    found = robot.rollout(q, np.zeros(6), tau[:, None], 1e-3, steps=100, method=method)
    assert (found.q == q[:, None]).all()
    push = robot.gravity_force(q)
    push[:, 2] += 40.0
    coarse = robot.rollout(q, np.zeros(6), push[:, None], 1e-3, steps=100, method=method)
    fine = robot.rollout(q, np.zeros(6), push[:, None], 1.25e-4, steps=800, every=8, method=method)
    moved = (coarse.qd != 0).any(axis=1)
    assert (moved == [False, False, True, False, False, False]).all()
    assert np.abs(coarse.q - fine.q).max() < (
        1e-3 if method == "euler" else 1e-11
    )  # while others rest, the order stays


def test_friction_takes_energy_and_nothing_chatters():
    robot, *_ = friction_arm(2)
    q = np.random.default_rng(3).uniform(-1, 1, (20, 6))
    found = robot.rollout(q, np.zeros((20, 6)), np.zeros((1, 6)), 1e-3, steps=4000, every=4)
    assert not found.status.any()
    total = np.sum(robot.energy(found.q, found.qd), axis=0)
    assert (np.diff(total, axis=-1) < 1e-4).all()
    assert (found.qd[:, -1] == 0).all()  # four seconds later all rest
    rest = found.qd == 0
    turns = (np.diff(rest.astype(int), axis=1) != 0).sum(axis=1)
    assert turns.max() < 60


def test_a_machine_with_a_loop_is_held():
    robot = neuler.robots.four_bar()
    robot = robot.replace(joints=[dataclasses.replace(j, coulomb=50.0) if j.type.has_axis else j for j in robot.joints])
    q = robot.neutral()
    found = robot.rollout(q, np.zeros(1), np.zeros((1, robot.nu)), 1e-3, steps=50, method="euler")
    assert (found.qd == 0).all()
    np.testing.assert_allclose(found.q, np.broadcast_to(q, found.q.shape), atol=1e-13)
    assert (robot.without_friction().rollout(q, np.zeros(1), np.zeros((1, robot.nu)), 1e-3, steps=5).qd != 0).all()
