"""The body around a skeleton: limbs as thick as their masses make them, for pictures.

A limb has the volume of its mass at the density of water and tissue, tapered in chosen proportions. Trunk and soles
are chosen shapes of such a size. Nothing of it has a part in dynamics.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from neuler.robot import Robot
from neuler.robot.transform import Vec3
from neuler.robots.humans.joints import LEFT, RIGHT
from neuler.robots.humans.skeleton import BONES
from neuler.robots.limbs import Limb, RoundEnd

Array = NDArray[np.float64]

DENSITY = 1050.0
"""Of a body (kg/m^3)."""
RIGHT_COLOUR, LEFT_COLOUR, TRUNK_COLOUR, SOLE_COLOUR = "#4a7fc4", "#a3b0bf", "#75879b", "#38424e"
TAPERS = {"thigh": (1.14, 0.80), "shank": (1.20, 0.72), "upper_arm": (1.12, 0.84), "forearm": (1.18, 0.74)}
"""Chosen: radii at the proximal and the distal end, of the radius of a cylinder of the same volume."""
FOOT_WIDTH = 0.37
"""Chosen: of the sole, as a share of its length."""
_DEPTH = 0.65
"""Chosen: from the middle of the trunk to the centres of its balls, in their radii: how much wider than deep it is."""
_LEAST = 0.01
"""Radius of a limb without mass (m)."""


def limbs(robot: Robot) -> tuple[Limb, ...]:
    """Limbs of a robot with the links and frames of :func:`neuler.robots.human`; none of another robot.

    >>> import neuler
    >>> len(limbs(neuler.robots.human())), limbs(neuler.robots.two_link())
    (23, ())
    """
    known = {*robot.link_names, *(frame.name for frame in robot.frames)}
    if not known.issuperset(name for pair in BONES for name in pair):
        return ()
    build = _Body(robot)
    return (*build.trunk(), *build.side(RIGHT, RIGHT_COLOUR), *build.side(LEFT, LEFT_COLOUR))


class _Body:
    """Sizes of a robot that is a human, and the limbs that follow from them."""

    def __init__(self, robot: Robot) -> None:
        self.robot = robot
        self.masses = {link.name: link.mass for link in robot.links}
        poses = [np.eye(4)]  # all joints at zero; those that were fixed elsewhere have turned placements
        for joint, parent in zip(robot.joints, robot.antecedents, strict=True):
            poses.append(poses[parent] @ joint.placement.matrix)
        self.poses = poses

    def _pose(self, name: str) -> Array:
        number, placement = self.robot.locate(name)
        return np.asarray(self.poses[number] @ placement.matrix)

    def _in(self, frame: str, name: str) -> Array:
        """The origin of a link or frame in the axes of another, both of one body or neighbours."""
        return np.asarray(np.linalg.solve(self._pose(frame), self._pose(name))[:3, 3])

    def _distance(self, a: str, b: str) -> float:
        return float(np.linalg.norm(self._in(a, b)))

    def _area(self, names: tuple[str, ...], length: float) -> float:
        """Of a cross section of links along a length (m^2)."""
        return max(sum(self.masses[name] for name in names), 0.0) / DENSITY / max(length, 1e-6)

    # ---- trunk and head ---------------------------------------------------------------------------------------------

    def trunk(self) -> list[Limb]:
        """Pelvis, belly and chest, the shoulders, neck and head."""
        levels = {
            "hips": (("pelvis", "spine1"), self._distance("pelvis", "spine2")),
            "waist": (("spine2", "spine3"), self._distance("spine2", "spine4")),
            "chest": (("spine4",), self._distance("spine4", "neck")),
        }
        radius = {
            level: max(math.sqrt(self._area(*part) / (math.pi + 4.0 * _DEPTH)), _LEAST)
            for level, part in levels.items()
        }
        hips, waist, chest = radius["hips"], 0.93 * radius["waist"], 0.95 * radius["chest"]
        up = float(self._in("spine4", "neck")[2])
        shoulder = max(_LEAST, 0.30 * self._distance("r_upper_arm", "neck"))
        found = [
            Limb((*_pair("pelvis", hips, 0.75 * hips), *_pair("spine2", waist, _DEPTH * waist)), TRUNK_COLOUR),
            Limb((*_pair("spine2", waist, _DEPTH * waist), *_pair("spine4", chest, 0.75 * chest)), TRUNK_COLOUR),
            Limb(
                (
                    *_pair("spine4", chest, 0.75 * chest), *_pair("spine4", 0.78 * chest, 1.25 * chest, 0.55 * up),
                    RoundEnd("r_upper_arm", 0.8 * shoulder), RoundEnd("l_upper_arm", 0.8 * shoulder),
                    RoundEnd("neck", 0.7 * shoulder),
                ),
                TRUNK_COLOUR,
            ),
        ]  # fmt: skip
        length = float(self._in("head", "head_top")[2])
        volume = max(self.masses["head"], 0.0) / DENSITY
        skull = min(max(0.9 * (0.75 * volume / math.pi) ** (1 / 3), _LEAST), 0.5 * length)
        found.append(Limb((RoundEnd("neck", 0.62 * skull), RoundEnd("head", 0.62 * skull)), TRUNK_COLOUR))
        crown = RoundEnd("head_top", skull, (0.0, 0.0, -skull))
        jaw = RoundEnd("head", 0.62 * skull, (0.30 * skull, 0.0, 0.45 * skull))
        found.append(Limb((crown, jaw), TRUNK_COLOUR))
        return found

    # ---- arms and legs ----------------------------------------------------------------------------------------------

    def side(self, side: str, colour: str) -> list[Limb]:
        """Arm and leg of a side."""
        pairs = (("upper_arm", "forearm"), ("forearm", "hand"), ("thigh", "shank"), ("shank", "foot"))
        radii = {name: self._tapered(side + name, side + after, TAPERS[name]) for name, after in pairs}
        found = [
            Limb((RoundEnd(side + name, radii[name][0]), RoundEnd(side + after, radii[name][1])), colour)
            for name, after in pairs
        ]
        wrist = radii["forearm"][1]
        palm = (
            RoundEnd(f"{side}hand", 0.9 * wrist), RoundEnd(f"{side}knuckles", 1.1 * wrist),
            RoundEnd(f"{side}fingertip", 0.5 * wrist, (0.0, 0.0, 0.5 * wrist)),
        )  # fmt: skip
        return [*found, Limb(palm, colour), *self._foot(side, colour, radii["shank"][1])]

    def _tapered(self, name: str, after: str, taper: tuple[float, float]) -> tuple[float, float]:
        """Radii of both ends of a frustum with the limb's volume."""
        a, b = taper
        mean = math.sqrt(3.0 * self._area((name,), self._distance(name, after)) / math.pi / (a * a + a * b + b * b))
        return max(a * mean, _LEAST), max(b * mean, _LEAST)

    def _foot(self, side: str, colour: str, ankle: float) -> list[Limb]:
        """Hind foot and toes, each on a sole."""
        foot, toes = f"{side}foot", f"{side}toes"
        heel, ball = self._in(foot, f"{side}heel"), self._in(foot, f"{side}ball")
        tip, joint = self._in(toes, f"{side}tip"), -self._in(foot, toes)[2] + ball[2]
        length = float(ball[0] - heel[0] + tip[0])
        half, thick = 0.5 * FOOT_WIDTH * length, 0.022 * length
        floor, toe_floor = float(ball[2]) + thick, float(joint) + thick
        back, front, end = 0.115 * length, 0.085 * length, 0.052 * length
        instep = (
            RoundEnd(foot, 0.95 * ankle), RoundEnd(foot, back, (float(heel[0]) + back, 0.0, floor + back)),
            *_pair(foot, front, 0.92 * half - front, floor + front, float(ball[0])),
        )  # fmt: skip
        front_toes = (
            *_pair(toes, front, 0.92 * half - front, toe_floor + front),
            *_pair(toes, end, 0.62 * half, toe_floor + end, float(tip[0]) - end),
        )
        hind_sole = (
            *_pair(foot, thick, 0.62 * half, floor, float(heel[0]) + thick),
            *_pair(foot, thick, half - thick, floor, float(ball[0])),
        )
        toe_sole = (
            *_pair(toes, thick, half - thick, toe_floor),
            *_pair(toes, thick, 0.62 * half, toe_floor, float(tip[0]) - thick),
        )
        return [
            Limb(instep, colour), Limb(front_toes, colour), Limb(hind_sole, SOLE_COLOUR, sole=True),
            Limb(toe_sole, SOLE_COLOUR, sole=True),
        ]  # fmt: skip


def _pair(frame: str, radius: float, across: float, height: float = 0.0, ahead: float = 0.0) -> tuple[RoundEnd, ...]:
    """Two balls, ``across`` (m) to the right and to the left."""
    places: list[Vec3] = [(ahead, -across, height), (ahead, across, height)]
    return tuple(RoundEnd(frame, radius, place) for place in places)
