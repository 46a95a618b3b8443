"""The Stanford arm."""

from __future__ import annotations

from math import pi

from neuler.formats.dh import from_dh
from neuler.robot.model import Robot

# d = a(i-1), alpha = alpha(i-1), r = d(i) of Guarino, Table I; the coordinate is added to theta or r
_GEOMETRY: tuple[dict[str, float], ...] = (
    {"r": 0.412},
    {"alpha": -pi / 2, "r": 0.154},
    {"alpha": pi / 2, "theta": -pi / 2, "sigma": 1},
    {},
    {"alpha": -pi / 2},
    {"alpha": pi / 2, "r": 0.263},
)
# mass, centre of mass, inertia about it: Guarino, Table II
_BODIES = (
    (9.29, (0, -0.1105, -0.0175), (0.276, 0.071, 0.255)),
    (5.01, (0, 0, -0.1054), (0.108, 0.100, 0.018)),
    (4.25, (0, 0, -0.6447), (2.51, 2.51, 0.006)),
    (1.08, (0, -0.0054, -0.0092), (0.002, 0.001, 0.001)),
    (0.63, (0, -0.0566, 0), (0.003, 0.0004, 0.003)),
    (0.51, (0, 0, 0.1554), (0.013, 0.013, 0.0003)),
)


def stanford() -> Robot:
    """The Stanford arm, (2R)P(3R), of Guarino, Tables I and II: modified DH, gravity 9.81 along -z.

    The last column of Table II is lost in print; Izz, and Iyy of link 6, are here those of the arm's
    usual data. The tables give no motors, friction or limits.

    >>> stanford().joint_names[2], stanford().moving_joints[2].kind
    ('joint3', 'prismatic')
    """
    rows = [
        {**row, "mass": mass, "com": com, "inertia": inertia}
        for row, (mass, com, inertia) in zip(_GEOMETRY, _BODIES, strict=True)
    ]
    return from_dh(rows, convention="khalil", name="stanford")
