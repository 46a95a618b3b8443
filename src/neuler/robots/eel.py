"""An eel-like robot: modules in a row that bend sideways, the first one free to move (Khalil 7)."""

from __future__ import annotations

import math

from neuler.robot import Joint, Link, Robot, Transform

DENSITY = 1000.0
"""Of the water, and of the eel, which floats in it (kg/m^3)."""
LENGTH, HEIGHT, WIDTH = 0.15, 0.18, 0.13
"""Of one module (m): an elliptic cylinder along x, its head end at the origin of the link's frame, upright."""


def eel(modules: int = 12) -> Robot:
    """Modules of 0.15 m in a row, joined by driven yaw joints; the head is a free link.

    The shape follows the idea of the eel of Khalil, Gallot and Boyer (2007), which had twelve modules; the
    dimensions are chosen here. It floats: buoyancy cancels its weight, so that gravity is zero.

    >>> robot = eel()
    >>> robot.nv, robot.joint_names[:2]
    (17, ('root_joint', 'yaw1'))
    """
    a, b = HEIGHT / 2, WIDTH / 2  # along z and along y
    mass = DENSITY * math.pi * a * b * LENGTH
    along = mass * (a * a + b * b) / 4
    inertia = (along, mass * (a * a / 4 + LENGTH**2 / 12), mass * (b * b / 4 + LENGTH**2 / 12))
    names = ["head", *(f"module{k}" for k in range(2, modules + 1))]
    links = [Link.from_com(name, mass=mass, com=(-LENGTH / 2, 0, 0), inertia=inertia) for name in names]
    behind = Transform(translation=(-LENGTH, 0.0, 0.0))
    joints = [Joint(f"yaw{k}", "revolute", names[k - 1], names[k], behind, axis=(0, 0, 1)) for k in range(1, modules)]
    return Robot("eel", links, joints, gravity=(0, 0, 0)).with_free_base()
