"""The Staubli RX-90."""

from __future__ import annotations

from math import pi
from typing import Any

from neuler.formats.dh import from_dh
from neuler.robot.model import Robot
from neuler.robots.bodies import box

D3 = 0.45
RL4 = 0.45

_GEOMETRY: tuple[dict[str, Any], ...] = (
    {},
    {"alpha": pi / 2},
    {"d": D3},
    {"alpha": -pi / 2, "r": RL4},
    {"alpha": pi / 2},
    {"alpha": -pi / 2},
)
_BODIES = (  # mass, centre of mass, sides of a uniform box along x, y, z
    (30.0, (0.0, 0.0, -0.1), (0.25, 0.25, 0.4)),
    (25.0, (D3 / 2, 0.0, 0.1), (D3 + 0.1, 0.15, 0.15)),
    (15.0, (0.0, 0.05, 0.05), (0.15, 0.25, 0.2)),
    (6.0, (0.0, 0.0, -0.15), (0.1, 0.1, 0.3)),
    (2.0, (0.0, 0.0, 0.0), (0.08, 0.08, 0.12)),
    (0.5, (0.0, 0.0, 0.05), (0.06, 0.06, 0.04)),
)
_ROTORS = (3.0, 3.0, 1.0, 0.3, 0.3, 0.3)


def rx90() -> Robot:
    """The Staubli RX-90 with the geometry of Khalil and Dombre (modified DH), D3 = RL4 = 0.45 m.

    The source publishes no inertial values: masses, uniform boxes for the links and rotor inertias
    (joint side, kg m^2) are *chosen here*, plausible for an arm of this size. Use this robot for its
    geometry and its 40 base parameters, not for its torques.

    >>> rx90().nq
    6
    """
    rows = [
        {**row, "mass": mass, "com": com, "inertia": box(mass, *sides), "rotor_inertia": rotor}
        for row, (mass, com, sides), rotor in zip(_GEOMETRY, _BODIES, _ROTORS, strict=True)
    ]
    return from_dh(rows, convention="khalil", name="rx90")
