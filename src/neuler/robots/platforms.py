"""Parallel robots: the Gough-Stewart platform, a Delta, the Orthoglide, a planar 3-RRR.

The Gough-Stewart platform is the one that Khalil and Guegan computed. The dimensions and masses of the others are
chosen here, round numbers of the size of machines that exist; their parallelograms, which hold the orientation of
the platform, are single rods between universal joints with the same outer axes: they move and hold alike.
"""

from __future__ import annotations

import math

import numpy as np

from neuler.robot import Frame, Joint, Leg, Link, Robot, Transform, parallel_robot
from neuler.robot.transform import Vec3
from neuler.robots.bodies import box, rod

_BASE = ((0.1, -0.2), (0.3, -0.2), (1.3, 0.4), (1.0, 1.0), (-0.2, 0.9), (-0.7, 0.5))
_PLATE = ((-0.25, -0.433), (0.25, -0.433), (0.5, 0.0), (0.25, 0.433), (-0.25, 0.433), (-0.5, 0.0))


def gough_stewart() -> Robot:
    """Six legs, each a universal joint on the base, a driven slide and a spherical joint at the platform.

    A leg's joints turn about x, then about y, and slide along z: the slide's position is the leg's length. Mass
    centres are at the origins of the link frames; that of the slide is at the leg's end.

    >>> robot = gough_stewart()
    >>> robot.mobility.freedoms, robot.active_names[0]
    (6, 'leg1.slide')
    """
    light, heavy = (5e-4, 5e-4, 1e-3), (7.5e-3, 7.5e-3, 1.5e-3)
    legs = []
    for k, ((x, y), (px, py)) in enumerate(zip(_BASE, _PLATE, strict=True), start=1):
        links = [
            Link("base"),
            Link.from_com("cross", mass=0.25, inertia=light),
            Link.from_com("barrel", mass=0.25, inertia=light),
            Link.from_com("rod", mass=0.4, inertia=heavy),
        ]
        joints = [
            Joint("tilt", "revolute", "base", "cross", _at(x, y), axis=(1, 0, 0), role="passive"),
            Joint("swing", "revolute", "cross", "barrel", axis=(0, 1, 0), role="passive"),
            Joint("slide", "prismatic", "barrel", "rod"),
        ]
        chain = Robot(f"leg{k}", links, joints)
        across = np.array([0.25 + px - x, 0.433 + py - y, 1.0])
        length = float(np.linalg.norm(across))
        swing = math.asin(across[0] / length)
        guess = (math.atan2(-across[1], across[2]), swing, length)
        legs.append(Leg(f"leg{k}", chain, "rod", "spherical", _at(px, py), guess))
    plate = Link.from_com("platform", mass=6.495, inertia=(0.33877, 0.33879, 0.67756))
    reference = (0.25, 0.433, 1.0, 0.0, 0.0, 0.0, 1.0)
    return parallel_robot("gough_stewart", plate, legs, (0.0, 0.0, -9.80665), reference)


def delta() -> Robot:
    """Three driven arms (0.2 m) that carry forearms (0.5 m): the platform keeps its orientation, below the base.

    Base radius 0.2 m, platform radius 0.06 m. The motors' axes are tangent to the base circle; at zero an arm
    points outward, and turns down for positive angles. At the reference, 0.52 m below the base, the arms point
    outward and down, and the forearms are orthogonal to them.

    >>> robot = delta()
    >>> robot.mobility.freedoms
    3
    """
    legs = []
    for k in range(3):
        turn = Transform.rot_z(2 * math.pi * k / 3)
        links = [
            Link("base"),
            rod("arm", 0.4, 0.2),
            Link("knee"),
            rod("forearm", 0.15, 0.5),
        ]
        joints = [
            Joint("motor", "revolute", "base", "arm", turn @ _at(0.2), axis=(0, 1, 0), rotor_inertia=2e-3),
            Joint("knee", "revolute", "arm", "knee", _at(0.2), axis=(0, 1, 0), role="passive"),
            Joint("sway", "revolute", "knee", "forearm", axis=(0, 0, 1), role="passive"),
        ]
        # about z of the forearm first, then about the platform's own tangent: x of the end frame, y of the seat
        end = Frame("end", "forearm", Transform(((0, 1, 0), (0, 0, 1), (1, 0, 0)), (0.5, 0.0, 0.0)))
        chain = Robot(f"leg{k + 1}", links, joints, frames=[end])
        guess = (math.atan2(0.6, 0.8), math.pi / 2, 0.0)  # arm (0.16, -0.12) m, forearm (-0.3, -0.4) m
        legs.append(Leg(f"leg{k + 1}", chain, "end", "universal", turn @ _at(0.06), guess))
    plate = Link.from_com("platform", mass=0.3, inertia=box(0.3, 0.12, 0.12, 0.02))
    return parallel_robot("delta", plate, legs, reference=(0.0, 0.0, -0.52), joint="translation")


def orthoglide() -> Robot:
    """Three driven slides along x, y and z, each with a rod (0.31 m) to a platform that keeps its orientation.

    At the reference the rods are orthogonal to one another, along the slides: the machine is isotropic there, every
    motor moves the platform as fast as itself.

    >>> robot = orthoglide()
    >>> robot.mobility.freedoms
    3
    """
    length, seat = 0.31, 0.03
    legs = []
    axes = np.eye(3)
    for k, name in enumerate("xyz"):
        along, aside = axes[k], axes[(k + 1) % 3]  # the slide, and the outer axes of the parallelogram
        upward = np.cross(along, aside)
        frame = Transform(tuple(zip(along, aside, upward, strict=True)))  # type: ignore[arg-type]
        links = [
            Link("base"),
            Link.from_com("slider", mass=0.8, inertia=(1e-3, 1e-3, 1e-3)),
            Link("knee"),
            rod("rod", 0.25, length),
        ]
        joints = [
            Joint("motor", "prismatic", "base", "slider", frame, axis=(1, 0, 0), rotor_inertia=0.5),
            Joint("knee", "revolute", "slider", "knee", axis=(0, 1, 0), role="passive"),
            Joint("sway", "revolute", "knee", "rod", axis=(0, 0, 1), role="passive"),
        ]
        end = Frame("end", "rod", Transform(((0, 1, 0), (0, 0, 1), (1, 0, 0)), (length, 0.0, 0.0)))
        chain = Robot(name, links, joints, frames=[end])
        place = Transform(frame.rotation, tuple((-seat * along).tolist()))
        legs.append(Leg(name, chain, "end", "universal", place, (-length - seat, 0.0, 0.0)))
    plate = Link.from_com("platform", mass=0.6, inertia=box(0.6, 0.06, 0.06, 0.06))
    return parallel_robot("orthoglide", plate, legs, joint="translation")


def planar_3rrr() -> Robot:
    """Three driven cranks (0.3 m) with rods (0.4 m) to a triangular platform that slides and turns in its plane.

    The motors are on a circle of 0.65 m, the platform's joints on one of 0.15 m; axes along z, gravity along -y. At
    the reference, in the middle and not turned, the rods are orthogonal to the cranks.

    >>> robot = planar_3rrr()
    >>> robot.mobility.freedoms, robot.mobility.redundant
    (3, ('leg1 (3)', 'leg2 (3)', 'leg3 (3)'))
    """
    legs = []
    for k in range(3):
        turn = Transform.rot_z(2 * math.pi * k / 3)
        links = [Link("base"), rod("crank", 0.5, 0.3), rod("rod", 0.4, 0.4)]
        joints = [
            Joint("motor", "revolute", "base", "crank", turn @ _at(0.65), rotor_inertia=1e-3),
            Joint("knee", "revolute", "crank", "rod", _at(0.3), role="passive"),
        ]
        chain = Robot(f"leg{k + 1}", links, joints, frames=[Frame("end", "rod", _at(0.4))])
        guess = (math.atan2(0.8, -0.6), math.pi / 2)  # crank (-0.18, 0.24) m, rod (-0.32, -0.24) m
        legs.append(Leg(f"leg{k + 1}", chain, "end", "revolute", turn @ _at(0.15), guess))
    plate = Link.from_com("platform", mass=0.8, inertia=(3e-3, 3e-3, 6e-3))
    return parallel_robot("planar_3rrr", plate, legs, (0.0, -9.81, 0.0), joint="planar")


def _at(x: float, y: float = 0.0) -> Transform:
    place: Vec3 = (x, y, 0.0)
    return Transform(translation=place)
