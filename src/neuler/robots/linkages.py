"""Planar mechanisms with one closed loop. They move in the x-y plane, axes along z, gravity along -y.

Dimensions and masses are chosen here, round numbers that close at a simple pose; links are uniform thin rods.
"""

from __future__ import annotations

from math import atan2, pi

from neuler.robot import Frame, Joint, Link, Loop, Robot
from neuler.robot.transform import Transform
from neuler.robots.bodies import rod

_GRAVITY = (0.0, -9.81, 0.0)


def _at(x: float, y: float = 0.0) -> Transform:
    return Transform(translation=(x, y, 0.0))


def four_bar() -> Robot:
    """A crank-rocker: crank 0.15 m (driven), coupler 0.45, rocker 0.525, ground 0.675, masses 1.5, 4.5 and 5 kg.

    ::

                        C
                     /     \\
          coupler /          \\  rocker
               /               \\
            B                   \\
            | crank              \\
            A --------------------- D        A = (0, 0), D = (0.675, 0)

    0.15 + 0.675 < 0.45 + 0.525 (Grashof): the crank turns fully. The tree: the crank carries the coupler, the
    rocker stands on the ground; cut at C between the frames "coupler_tip" and "rocker_tip". Coordinates: crank,
    coupler (to the crank), rocker. At q = (pi/2, atan2(3, 4) - pi/2, atan2(4, -3)) the loop is closed, C at
    (0.36, 0.42).

    >>> from math import atan2, pi
    >>> machine = four_bar()
    >>> machine.active_names, machine.joint_names
    (('crank',), ('crank', 'coupler', 'rocker'))
    >>> q = [pi / 2, atan2(3, 4) - pi / 2, atan2(4, -3)]
    >>> for tip in ("coupler_tip", "rocker_tip"):
    ...     print(machine.compile("link_poses", frame=tip)(q)[:2, 3].round(12))
    [0.36 0.42]
    [0.36 0.42]
    """
    links = [Link("ground"), rod("crank", 1.5, 0.15), rod("coupler", 4.5, 0.45), rod("rocker", 5.0, 0.525)]
    joints = [
        Joint("crank", "revolute", "ground", "crank"),
        Joint("coupler", "revolute", "crank", "coupler", _at(0.15), role="passive"),
        Joint("rocker", "revolute", "ground", "rocker", _at(0.675), role="passive"),
    ]
    frames = [Frame("coupler_tip", "coupler", _at(0.45)), Frame("rocker_tip", "rocker", _at(0.525))]
    tree = Robot("four_bar", links, joints, _GRAVITY, frames)
    reference = (pi / 2, atan2(3, 4) - pi / 2, atan2(4, -3))
    return tree.replace(loops=[Loop("cut", "revolute", "coupler_tip", "rocker_tip")], reference=reference)


def five_bar() -> Robot:
    """A five-bar robot: two driven arms of 0.3 m on a base 0.2 m wide, joined by forearms of 0.35 m.

    ::

                   P  tool
                /     \\
              /         \\
            E1            E2
              \\          /
               A1 ---- A2          A1 = (-0.1, 0), A2 = (0.1, 0)

    Arms of 1.2 kg, forearms of 0.7 kg. The tree: two branches of two links; cut at P between the frames "tool" of
    the left forearm and "right_tip" of the right one. Coordinates: left_arm, left_forearm, right_arm, right_forearm,
    each to the link before. At q = (atan2(4, -3), -pi/2, atan2(4, 3), pi/2) the loop is closed, P at (0, 0.45).

    >>> from math import atan2, pi
    >>> machine = five_bar()
    >>> machine.active_names
    ('left_arm', 'right_arm')
    >>> q = [atan2(4, -3), -pi / 2, atan2(4, 3), pi / 2]
    >>> for tip in ("tool", "right_tip"):
    ...     print(machine.compile("link_poses", frame=tip)(q)[:2, 3].round(12) + 0.0)
    [0.   0.45]
    [0.   0.45]
    """
    links, joints, frames = [Link("ground")], [], []
    for side, x, tip in (("left", -0.1, "tool"), ("right", 0.1, "right_tip")):
        arm, forearm = f"{side}_arm", f"{side}_forearm"
        links += [rod(arm, 1.2, 0.3), rod(forearm, 0.7, 0.35)]
        joints += [
            Joint(arm, "revolute", "ground", arm, _at(x)),
            Joint(forearm, "revolute", arm, forearm, _at(0.3), role="passive"),
        ]
        frames.append(Frame(tip, forearm, _at(0.35)))
    tree = Robot("five_bar", links, joints, _GRAVITY, frames)
    reference = (atan2(4, -3), -pi / 2, atan2(4, 3), pi / 2)
    return tree.replace(loops=[Loop("cut", "revolute", "tool", "right_tip")], reference=reference)


def slider_crank() -> Robot:
    """A slider-crank: crank 0.15 m (driven, 1 kg), rod 0.25 m (0.8 kg), slider 2 kg, along x through the crank's axis.

    ::

            B
            |  \\   rod
      crank |     \\
            A - - - [C] - - ->  slider

    The tree: the crank carries the rod, the slider stands on the ground; cut at the pin C between the frames "rod_tip"
    and "pin". Coordinates: crank, rod (to the crank), slider (m, its distance from A). At
    q = (pi/2, -pi/2 - atan2(3, 4), 0.2) the loop is closed, C at (0.2, 0).

    >>> from math import atan2, pi
    >>> machine = slider_crank()
    >>> machine.active_names, machine.tree.moving_joints[2].kind
    (('crank',), 'prismatic')
    >>> q = [pi / 2, -pi / 2 - atan2(3, 4), 0.2]
    >>> for tip in ("rod_tip", "pin"):
    ...     print(machine.compile("link_poses", frame=tip)(q)[:2, 3].round(12) + 0.0)
    [0.2 0. ]
    [0.2 0. ]
    """
    slider = Link.from_com("slider", mass=2.0, inertia=(2e-3, 2e-3, 2e-3))
    links = [Link("ground"), rod("crank", 1.0, 0.15), rod("rod", 0.8, 0.25), slider]
    joints = [
        Joint("crank", "revolute", "ground", "crank"),
        Joint("rod", "revolute", "crank", "rod", _at(0.15), role="passive"),
        Joint("slider", "prismatic", "ground", "slider", axis=(1, 0, 0), role="passive"),
    ]
    frames = [Frame("rod_tip", "rod", _at(0.25)), Frame("pin", "slider")]
    tree = Robot("slider_crank", links, joints, _GRAVITY, frames)
    reference = (pi / 2, -pi / 2 - atan2(3, 4), 0.2)
    return tree.replace(loops=[Loop("cut", "revolute", "rod_tip", "pin")], reference=reference)
