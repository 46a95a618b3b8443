"""The ground under a person: the resultant that a motion asks for, and where the feet are.

A base that no motor drives is carried by the ground: what the recursion gives as the wrench on the first moving link
is the resultant of the ground, force F and moment M about a point of the plane. This is the first, passive, step of the
two-step algorithm of Barman 5.1 (Xiang et al. 2009); the second distributes it to the feet (``sharing.py``).
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from neuler import math as nm
from neuler.errors import InputError
from neuler.functions.function import Function, function
from neuler.inputs import told
from neuler.moments.clearance import HalfSpace
from neuler.moments.contact import FLOOR, LIGHT, weight
from neuler.moments.sharing import Root
from neuler.moments.support import root_of
from neuler.naming import closest
from neuler.robot import Robot
from neuler.robots.humans.joints import LEFT, RIGHT


@dataclass(frozen=True)
class Foot:
    """A foot by three frames on its sole: heel and ball are on the foot, the tip is on the toes.

    ``width`` (m) is that of the sole; centres of pressure are compared with it.
    """

    heel: str
    ball: str
    tip: str
    width: float = 0.1

    @property
    def frames(self) -> tuple[str, str, str]:
        """Heel, ball and tip."""
        return self.heel, self.ball, self.tip


FEET: dict[str, Foot] = {
    name: Foot(side + "heel", side + "ball", side + "tip") for name, side in (("right", RIGHT), ("left", LEFT))
}
"""Those of :func:`neuler.robots.human`, right before left as OpenSim has them."""


def checked_feet(robot: Robot, feet: Mapping[str, Foot] | None) -> dict[str, Foot]:
    """Two feet by name, whose frames the robot has."""
    found = FEET if feet is None else feet
    if not isinstance(found, Mapping) or len(found) != 2 or not all(isinstance(x, Foot) for x in found.values()):
        raise InputError(f"gait: feet must map two names to gait.Foot(heel, ball, tip), got {told(found)}")
    known = [*robot.link_names, *(frame.name for frame in robot.frames)]
    for name, foot in found.items():
        for frame in foot.frames:
            if frame not in known:
                meant = closest(frame, known)
                hint = f"did you mean {meant!r}?" if meant else "give feet={'right': gait.Foot(heel, ball, tip), ...}"
                raise InputError(f"gait: robot {robot.name!r} has no frame {frame!r} for the {name} foot; {hint}")
    return dict(found)


@functools.lru_cache(maxsize=16)
def base_of(robot: Robot, feet: tuple[Foot, ...]) -> Root:
    """The coordinates without motors through which feet hang on the world."""
    return root_of(robot, [frame for foot in feet for frame in foot.frames], "gait: ")


@functools.lru_cache(maxsize=16)
def ground_reaction(robot: Robot, ground: HalfSpace = FLOOR, feet: tuple[Foot, ...] = tuple(FEET.values())) -> Function:
    """The resultant of the ground as a compiled function of q, qd and qdd, for any batch.

    Its outputs are ``force`` (3), N; ``moment`` (3), N m, about the point of the plane ``ground``; and
    ``zero_moment_point`` (3), m, where the moment has no part along the plane: all in the axes of the base frame. Like
    every function it has exact derivatives: ``jacobian``, ``hessian``. Where the ground carries less than 2 % of the
    weight the zero-moment point is computed as if it carried that much, so that the function has no pole.

    ``feet`` only say which joints are the base: those without a motor through which both feet hang on the world.

    >>> import neuler
    >>> human = neuler.robots.human(mass=80.0)
    >>> still = np.zeros(55)
    >>> reaction = ground_reaction(human)(still, still, still)
    >>> round(float(reaction.force[2]) / 9.81, 9), bool(abs(reaction.zero_moment_point[1]) < 1e-12)
    (80.0, True)
    """
    root = base_of(robot, feet)
    first = next(joint.child for joint in robot.joints if joint.name == root.names[0])
    row, place = robot.shown_names.index(first), np.array(ground.point)
    normal, light = np.array(ground.normal), LIGHT * weight(robot)
    pose_of = robot.compile("link_poses", frame=first)

    def reaction(q: Any, qd: Any, qdd: Any) -> dict[str, Any]:
        wrench, pose = robot.reaction_wrenches(q, qd, qdd)[row], pose_of(q)
        force = pose[:3, :3] @ wrench[:3]
        moment = pose[:3, :3] @ wrench[3:] + np.cross(pose[:3, 3] - place, force)
        point = place + np.cross(normal, moment) / nm.maximum(normal @ force, light)
        return {"force": force, "moment": moment, "zero_moment_point": point}

    return function(reaction, {"q": robot.nq, "qd": robot.nv, "qdd": robot.nv}, name="ground_reaction")


@functools.lru_cache(maxsize=16)
def soles(robot: Robot, feet: tuple[Foot, ...]) -> Function:
    """Where the points of the feet are: a function of q and qd.

    Its outputs are ``points`` (feet, 3 points, 3), m, and ``speeds``, their velocities (feet, 3 points, 3), m/s, both
    in the base frame; ``center_of_mass`` (3), m.
    """
    poses = {frame: robot.compile("link_poses", frame=frame) for foot in feet for frame in foot.frames}
    twists = {frame: robot.compile("link_velocities", frame=frame) for frame in poses}

    def points(q: Any, qd: Any) -> dict[str, Any]:
        found = {frame: pose(q) for frame, pose in poses.items()}
        places = [[found[frame][:3, 3] for frame in foot.frames] for foot in feet]
        speeds = [[found[frame][:3, :3] @ twists[frame](q, qd)[:3] for frame in foot.frames] for foot in feet]
        return {
            "points": np.array(places, dtype=object),
            "speeds": np.array(speeds, dtype=object),
            "center_of_mass": robot.center_of_mass(q),
        }

    return function(points, {"q": robot.nq, "qd": robot.nv}, name="soles")
