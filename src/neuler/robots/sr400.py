"""The Acma SR400, an arm with a parallelogram."""

from __future__ import annotations

from math import pi
from typing import Any

from neuler.formats.dh import from_dh
from neuler.robot import Loop, Robot
from neuler.robot.transform import Transform
from neuler.robots.bodies import box

D2 = 0.35
D3 = 0.9
D4 = 0.15
D8 = 0.4
RL4 = 1.1

_GEOMETRY: tuple[dict[str, Any], ...] = (
    {},
    {"alpha": -pi / 2, "d": D2},
    {"d": D3},
    {"alpha": -pi / 2, "d": D4, "r": RL4},
    {"alpha": pi / 2},
    {"alpha": -pi / 2},
    {"antecedent": 1, "alpha": -pi / 2, "d": D2},
    {"d": D8},
)
_BODIES = (  # mass, centre of mass, sides of a uniform box along x, y, z
    (180.0, (0.15, 0.0, -0.25), (0.6, 0.5, 0.7)),
    (60.0, (D3 / 2, 0.0, 0.0), (D3 + 0.2, 0.2, 0.2)),
    (55.0, (0.05, -0.15, 0.0), (0.3, D8 + 0.3, 0.25)),
    (25.0, (0.0, 0.0, -0.45), (0.18, 0.18, 0.8)),
    (6.0, (0.0, 0.0, 0.0), (0.12, 0.12, 0.18)),
    (2.0, (0.0, 0.0, 0.08), (0.1, 0.1, 0.06)),
    (30.0, (D8 / 2, 0.0, 0.0), (D8 + 0.2, 0.15, 0.12)),
    (15.0, (D3 / 2, 0.0, 0.0), (D3, 0.1, 0.08)),
)
_ROTORS = (30.0, 40.0, 0.0, 4.0, 3.0, 2.0, 35.0, 0.0)


def sr400() -> Robot:
    """The SR400 with the geometry of the SYMORO+ user's guide, Table 1.3: six motors, a parallelogram, a cut joint.

    Modified DH. Joints 1, 2, 4, 5, 6 and 7 are driven; 3 and 8 are passive. Links 2, 3, 7 and 8 form a parallelogram:
    joint 7 beside joint 2 turns a lever of length D8, which moves the forearm through the bar 8, parallel to the
    upper arm::

              8 ______________ 3 ---> forearm 4, 5, 6
             /   bar 8 (D3)   /
        D8  /                /  D8, a lever of link 3
           7, 2 ____________/
               upper arm (D3)

    It is cut at joint 9, between the bar and link 3: "frame9" is the end of link 8, "frame10" the end of the lever of
    link 3. The guide gives symbols only. The numbers are *chosen here*, plausible for an arm of this kind: D2 = 0.35,
    D3 = 0.9, D4 = 0.15, D8 = 0.4, RL4 = 1.1 m, uniform boxes for the links and rotor inertias (joint side, kg m^2).

    The loop is closed where theta3 = pi/2 - theta2 + theta7 and theta8 = theta2 - theta7, for instance at
    q = (0, -pi/2, 0, 0, 0, 0, -pi, pi/2): the upper arm upright, the forearm forward.

    >>> from math import pi
    >>> machine = sr400()
    >>> machine.active_names
    ('joint1', 'joint2', 'joint4', 'joint5', 'joint6', 'joint7')
    >>> q = [0, -pi / 2, 0, 0, 0, 0, -pi, pi / 2]
    >>> for frame in ("frame9", "frame10"):
    ...     print(machine.compile("link_poses", frame=frame)(q)[:3, 3].round(12) + 0.0)
    [-0.05  0.    0.9 ]
    [-0.05  0.    0.9 ]
    """
    rows = [
        {**row, "mass": mass, "com": com, "inertia": box(mass, *sides), "rotor_inertia": rotor}
        for row, (mass, com, sides), rotor in zip(_GEOMETRY, _BODIES, _ROTORS, strict=True)
    ]
    tree = (
        from_dh(rows, convention="khalil", name="sr400")
        .with_passive("joint3", "joint8")
        .with_frame("frame9", "link8", Transform.khalil(d=D3))
        .with_frame("frame10", "link3", Transform.khalil(gamma=pi / 2, d=-D8))
    )
    reference = (0.0, -pi / 2, 0.0, 0.0, 0.0, 0.0, -pi, pi / 2)
    return tree.replace(loops=[Loop("joint9", "revolute", "frame9", "frame10")], reference=reference)
