"""The arm of the Space Shuttle."""

from __future__ import annotations

from math import sqrt

from neuler.robot import Frame, Joint, Link, Robot
from neuler.robot.link import Inertia6
from neuler.robot.transform import Transform, Vec3

_AXES: tuple[Vec3, ...] = ((0, 0, 1), (0, 1, 0), (0, 1, 0), (0, 1, 0), (0, 0, 1), (1, 0, 0))
_OFFSETS: tuple[Vec3, ...] = (  # m, of each joint from the frame before
    (0, 0, -0.5172),
    (0, 0, -0.3048),
    (6.377, 0, -0.1524),
    (7.06, 0, -0.1524),
    (0.4572, 0, 0),
    (0.762, 0, 0),
)
_END = 0.6604
_MASSES = (32.12, 139.35, 87.42, 8.48, 45.94, 45.21)
_INERTIAS: tuple[Inertia6, ...] = (  # kg m^2 about the link's frame: xx, yy, zz, xy, xz, yz
    (1.115, 1.417, 0.595, -0.019, -0.08, -0.037),
    (3.225, 998.63, 997.18, -1.928, 9.185, -0.0302),
    (1.59, 632.9, 632.51, 0.8021, -3.786, -0.08),
    (0.0893, 0.402, 0.402, 0.0, 0.0, 0.0),
)
_RADIUS = 0.15  # m, chosen: without it the last link has no inertia about its roll axis


def shuttle_arm() -> Robot:
    """The Shuttle Remote Manipulator System: Nguyen and Hughes 1994, six joints about z, y, y, y, z, x; no gravity.

    Published: offsets, masses, and the inertias of links 1 to 4 about their frames. *Chosen here*:
    every centre of mass, as that of a uniform slender body. Link 1 reaches along z to the next joint;
    links 2 to 4 lie along x with the length that gives the published moment yy (their centres of mass
    are then 2.32, 2.33 and 0.19 m out); links 5 and 6 are cylinders of 0.15 m radius along x that
    reach to the next joint and to the end effector, with the inertias of such bodies. The end
    effector is the frame "tool".

    >>> shuttle_arm().joint_names[0], round(shuttle_arm().mass, 2)
    ('shoulder_yaw', 358.52)
    """
    names = ("shoulder_yaw", "shoulder_pitch", "elbow_pitch", "wrist_pitch", "wrist_yaw", "wrist_roll")
    parts = ["base", *(f"link{k}" for k in range(1, 7))]
    joints = [
        Joint(name, "revolute", parts[k], parts[k + 1], Transform(translation=_OFFSETS[k]), _AXES[k])
        for k, name in enumerate(names)
    ]
    links = [Link("base"), Link("link1", _MASSES[0], (0, 0, _MASSES[0] * _OFFSETS[1][2] / 2), _INERTIAS[0])]
    for k in (1, 2, 3):
        length = sqrt(3 * _INERTIAS[k][1] / _MASSES[k])
        links.append(Link(parts[k + 1], _MASSES[k], (_MASSES[k] * length / 2, 0, 0), _INERTIAS[k]))
    for k, length in ((4, _OFFSETS[5][0]), (5, _END)):
        along = _MASSES[k] * _RADIUS**2 / 2
        across = _MASSES[k] * (length**2 / 12 + _RADIUS**2 / 4)
        com = (length / 2, 0, 0)
        links.append(Link.from_com(parts[k + 1], mass=_MASSES[k], com=com, inertia=(along, across, across)))
    tool = Frame("tool", "link6", Transform(translation=(_END, 0, 0)))
    return Robot("shuttle_arm", links, joints, gravity=(0, 0, 0), frames=[tool])
