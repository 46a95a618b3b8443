"""Shapes that stand in for bodies whose inertias nobody published."""

from __future__ import annotations

from neuler.robot.link import Link
from neuler.robot.transform import Vec3


def box(mass: float, x: float, y: float, z: float) -> Vec3:
    """Principal inertias (kg m^2) of a uniform box about its centre, sides along x, y, z.

    >>> box(12.0, 1.0, 2.0, 3.0)
    (13.0, 10.0, 5.0)
    """
    k = mass / 12
    return (k * (y * y + z * z), k * (x * x + z * z), k * (x * x + y * y))


def rod(name: str, mass: float, length: float) -> Link:
    """A uniform thin rod along x from the origin of its frame.

    >>> rod("bar", 3.0, 2.0).inertia[2]
    4.0
    """
    across = mass * length**2 / 12
    return Link.from_com(name, mass=mass, com=(length / 2, 0, 0), inertia=(0, across, across))
