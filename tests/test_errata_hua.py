"""Hua's printed algorithms against the verbs, and each of their misprints put back."""

import dataclasses

import numpy as np
import pytest

import neuler
from hua_algorithms import Hua
from random_robots import close

STATES = np.random.default_rng(4).normal(size=(5, 3, 4))


def split(robot, tau):
    """Forces of the motors by joint, and those on the links' side of springs."""
    names = list(robot.joint_names)
    own = [names.index(f"{name}.motor" if f"{name}.motor" in names else name) for name in names if "." not in name]
    return tau[own], [tau[k] for k, name in enumerate(names) if f"{name}.motor" in names]


@pytest.mark.parametrize("state", STATES)
def test_hua_algorithm_1(state):
    """Motor torques, interaction forces and moments."""
    robot = neuler.robots.hua_3r()
    q, qd, qdd = state
    tau, load, force, moment = Hua(robot).inverse(q, qd, qdd)
    found = robot.inverse_dynamics(q, qd, qdd)
    mine, rest = split(robot, found)
    close(mine, tau, 1e-12)
    close(rest[0], load[2] - 100.0 * (q[3] - q[2]), 1e-12, scale=np.abs(tau).max())  # (28) holds where this is zero
    turns = robot.link_poses(q)[:, :3, :3]
    wrenches = robot.reaction_wrenches(q, qd, qdd)
    close(np.einsum("lij,lj->li", turns, wrenches[:, :3]), force, 1e-12)
    close(np.einsum("lij,lj->li", turns, wrenches[:, 3:]), moment, 1e-12)


@pytest.mark.parametrize("state", STATES)
def test_hua_algorithm_2(state):
    """Accelerations; and M, S, B of (30) as blocks of the one inertia matrix."""
    robot = neuler.robots.hua_3r()
    q, qd, torque = state
    found, matrix = Hua(robot).direct(q, qd, torque[:3])
    close(robot.forward_dynamics(q, qd, [torque[0], torque[1], 0.0, torque[2]]), found, 1e-11)
    whole = robot.mass_matrix(q)
    close(whole, matrix, 1e-12)
    assert abs(whole[0, 3]) > 1e-3  # S is not zero
    close(whole[3, 3], 10.0**2 * 0.004, 1e-13)  # B = n^2 I


@pytest.mark.parametrize("state", STATES)
def test_hua_20(state):
    """f_e begins the recursion as the force of the tool on what is beyond it: (0, 0, -3) is +3 N applied to the tool.

    With (18) the force applied to the end-effector, which the text says that f_e is, would be -f_b,n+1.
    """
    robot = neuler.robots.hua_3r()
    q, qd, qdd = state
    pulled = robot.compile("inverse_dynamics", loads="tool")
    tau = Hua(robot).inverse(q, qd, qdd, external=(0.0, 0.0, -3.0))[0]
    close(split(robot, pulled(q, qd, qdd, [0.0, 0.0, 3.0, 0.0, 0.0, 0.0]))[0], tau, 1e-12)
    down = split(robot, pulled(q, qd, qdd, [0.0, 0.0, -3.0, 0.0, 0.0, 0.0]))[0]
    assert np.abs(down - tau).max() > 0.1
    moved = robot.compile("forward_dynamics", loads="tool")
    found, _ = Hua(robot).direct(q, qd, qdd[:3], external=(0.0, 0.0, -3.0))
    torque = [qdd[0], qdd[1], 0.0, qdd[2]]
    close(moved(q, qd, torque, [0.0, 0.0, 3.0, 0.0, 0.0, 0.0]), found, 1e-11)


def off(misprint, state):
    """How far a misprint leads away."""
    robot = neuler.robots.hua_3r()
    q, qd, qdd = state
    if misprint == "algorithm 2":
        wrong = Hua(robot, misprint).direct(q, qd, qdd[:3])[0]
        right = robot.forward_dynamics(q, qd, [qdd[0], qdd[1], 0.0, qdd[2]])
    else:
        wrong = Hua(robot, misprint).inverse(q, qd, qdd)[0]
        right = split(robot, robot.inverse_dynamics(q, qd, qdd))[0]
    return np.abs(wrong - right).max() / np.abs(right).max()


@pytest.mark.parametrize("misprint", ["21", "algorithm 1", "algorithm 2", "27"])
def test_hua_misprints_matter(misprint):
    """(21): momentum in the place of its rate; Algorithm 1: (8) and (9) swapped; Algorithm 2: a second gear ratio;
    (27), (29): the motor's axis taken to be fixed to the driven link, not to the carrier.
    """
    assert max(off(misprint, state) for state in STATES) > 1e-4


def test_hua_without_springs():
    """All joints rigid, motors where they are: Algorithm 1 again."""
    robot = neuler.robots.hua_3r()
    rigid = robot.replace(motors=[dataclasses.replace(motor, stiffness=np.inf) for motor in robot.motors])
    q, qd, qdd = STATES[0][:, :3]
    close(rigid.inverse_dynamics(q, qd, qdd), Hua(rigid).inverse(q, qd, qdd)[0], 1e-12)
