"""Small robots with known motions, and a controller with a memory, to simulate."""

import numpy as np

import neuler
from neuler import Joint, Link, Robot


def pendulum(**more):
    """A rod of 1 kg, its mass 0.5 m from a level hinge."""
    link = Link.from_com("rod", mass=1.0, com=(0.5, 0, 0), inertia=(0.01, 0.05, 0.05))
    return Robot("pendulum", [Link("base"), link], [Joint("hinge", "revolute", "base", "rod", axis=(0, 1, 0), **more)])


def weight(**more):
    """2 kg on an upright slide."""
    block = Link.from_com("block", mass=2.0, inertia=(0.1, 0.1, 0.1))
    return Robot("weight", [Link("base"), block], [Joint("slide", "prismatic", "base", "block", **more)])


def top():
    """A symmetric body that tumbles freely, without weight."""
    body = Link.from_com("body", mass=2.0, com=(0, 0, 0), inertia=(0.2, 0.2, 0.5))
    return Robot("top", [Link("world"), body], [Joint("free", "free", "world", "body")], gravity=(0, 0, 0))


def smooth_puma():
    return neuler.robots.puma560().without_friction()


class Integrating:
    """PI at a rate of its own, with a memory; works on batches and on traced values alike."""

    period = 4e-3

    def __init__(self, robot, goal):
        self.robot, self.goal, self.memory0 = robot, np.asarray(goal), np.zeros(robot.nv)

    def __call__(self, t, q, qd, memory, reference):
        error = self.goal - q
        return 30.0 * error - 4.0 * qd + 20.0 * memory, memory + self.period * error
