"""What of a robot moves together, and what is drawn on it: rods, marks of joints, plates, centres of mass.

A player that runs elsewhere needs the poses of a few bodies and, once, the shapes that they carry. A body is a link
that a joint moves, with all that is fixed to it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler.robot import Joint, Robot
from neuler.view.marks import SYMBOLS, polygon, upright
from neuler.view.poses import Placed, rigid_groups

Array = NDArray[np.float64]
Point = tuple[float, float, float]
Spot = tuple[int, Point]
"""A body's number and a point in its frame (m)."""

LINK, SLIDE, GROUND = "link", "slide", "ground"
"""Kinds of rods: a link, the way between a joint's seat and what slides from it, the ground."""


@dataclass(frozen=True)
class Scene:
    """The bodies of a robot and what is drawn on them.

    >>> import neuler
    >>> scene = Scene.of(neuler.robots.two_link())
    >>> scene.links, len(scene.rods), [mark["symbol"] for mark in scene.marks]
    ((0, 1, 2), 3, ['hinge', 'hinge'])
    """

    robot: Robot
    links: tuple[int, ...]
    """The links whose frames are the bodies'; the first is the base."""
    rods: list[tuple[Spot, Spot, str]] = field(default_factory=list)
    marks: list[dict[str, Any]] = field(default_factory=list)
    """Of joints: symbol, name, body, centre, the rotation from its shape's axes, whether a motor moves it."""
    plates: list[tuple[int, list[tuple[float, float, float]], bool]] = field(default_factory=list)
    """Polygons: body, corners, whether it is what legs stand on."""
    masses: list[tuple[Spot, float]] = field(default_factory=list)
    cuts: list[Spot] = field(default_factory=list)
    """Where loops are closed: two for each."""

    @classmethod
    def of(cls, robot: Robot) -> Scene:
        """Of a robot, whatever joins it."""
        return _Builder(robot).scene

    def spot(self, frame: str, point: Point = (0.0, 0.0, 0.0)) -> Spot:
        """Where a named frame is, or a point in its axes."""
        index, placement = self.robot.locate(frame)
        rigid = rigid_groups(self.robot)
        place = (placement.matrix @ (*point, 1.0))[:3]
        return _Builder.spot_of(self.links.index(rigid[index]), _offsets(self.robot)[index], place)

    def as_dict(self) -> dict[str, Any]:
        """The scene as plain data, ready for JSON."""
        rods = [[*_flat(a), *_flat(b), kind] for a, b, kind in self.rods]
        plates = [{"body": body, "corners": corners, "ground": below} for body, corners, below in self.plates]
        masses = [[*_flat(spot), mass] for spot, mass in self.masses]
        return {
            "rods": rods, "marks": self.marks, "plates": plates, "masses": masses,
            "cuts": [_flat(spot) for spot in self.cuts], "shapes": self.shapes,
        }  # fmt: skip

    @property
    def shapes(self) -> dict[str, Any]:
        """By symbol: colour and faces of the marks that occur."""
        found = {mark["symbol"] for mark in self.marks}
        return {
            symbol: {"colour": colour, "faces": [np.round(face, 4).tolist() for face in shape()]}
            for symbol, (_, colour, shape) in SYMBOLS.items()
            if symbol in found
        }


def _flat(spot: Spot) -> list[float]:
    return [spot[0], *spot[1]]


def _offsets(robot: Robot) -> list[Array]:
    """Of every link its pose in the frame of its body."""
    found = [np.eye(4)]
    for joint, parent in zip(robot.joints, robot.antecedents, strict=True):
        found.append(np.eye(4) if joint.moves else found[parent] @ joint.placement.matrix)
    return found


class _Builder:
    """Walks over a robot's joints and collects what is drawn."""

    def __init__(self, robot: Robot) -> None:
        self.robot, self.rigid, self.offsets = robot, rigid_groups(robot), _offsets(robot)
        links = tuple(dict.fromkeys(self.rigid))
        self.body = [links.index(first) for first in self.rigid]
        self.scene = Scene(robot, links)
        self.placed = Placed.of(robot)
        self.flat = self.placed.plates
        self.size = float(np.ptp(self.placed.points, axis=0).max()) or 1.0
        self.ends: set[int] = set()
        """Links from which something goes on."""
        self._joints()
        self._cuts()
        self._tips()
        self._plates()
        for number, link in enumerate(robot.links):
            if link.mass > 0:
                self.scene.masses.append((self._spot(number, link.com), link.mass))

    @staticmethod
    def spot_of(body: int, offset: Array, point: Any) -> Spot:
        x, y, z = (offset @ (*point, 1.0))[:3].tolist()
        return body, (round(x, 9), round(y, 9), round(z, 9))

    def _spot(self, link: int, point: Any = (0.0, 0.0, 0.0)) -> Spot:
        return self.spot_of(self.body[link], self.offsets[link], point)

    def _rod(self, a: Spot, b: Spot, kind: str) -> None:
        if a[0] != b[0] or float(np.abs(np.subtract(a[1], b[1])).max()) > 1e-6 * self.size:
            self.scene.rods.append((a, b, kind))

    def _joints(self) -> None:
        robot = self.robot
        coupled = {coupling.joint for coupling in robot.couplings}
        below = GROUND if robot.links[0].mass == 0 else LINK
        for number, (joint, parent) in enumerate(zip(robot.joints, robot.antecedents, strict=True), start=1):
            if joint.moves and not joint.type.symbol:  # free: it hangs on nothing
                continue
            if number in self.flat and joint.nv > 1:  # legs hold it, not this joint
                continue
            self.ends.add(parent)
            seat = self._spot(parent, joint.placement.translation)
            if parent not in self.flat:
                self._rod(self._spot(parent), seat, below if parent == 0 else LINK)
            if joint.moves:
                if _slides(joint):
                    self._rod(seat, self._spot(number), SLIDE)
                self._mark(joint, number, joint.role == "driven" and joint.name not in coupled)

    def _mark(self, joint: Joint, number: int, filled: bool) -> None:
        if joint.type.symbol in SYMBOLS:
            turn = np.round(upright(np.array(joint.axis)), 9).tolist()
            body, centre = self._spot(number)
            mark = {"symbol": joint.type.symbol, "name": joint.name, "body": body, "centre": centre, "turn": turn}
            self.scene.marks.append({**mark, "filled": filled})

    def _cuts(self) -> None:
        for loop in self.robot.loops:
            for name in (loop.first, loop.second):
                index, placement = self.robot.locate(name)
                spot = self._spot(index, placement.translation)
                self.scene.cuts.append(spot)
                self.ends.add(index)
                if index and index not in self.flat:
                    self._rod(self._spot(index), spot, LINK)

    def _tips(self) -> None:
        """Links on which nothing stands reach to their frames, or else to their centres of mass."""
        for number, link in enumerate(self.robot.links):
            if number in self.ends or number in self.flat:
                continue
            far = [frame.placement.translation for frame in self.robot.frames if frame.link == link.name]
            far = [point for point in far if float(np.abs(point).max()) > 1e-6 * self.size] or [link.com]
            for point in far:
                self._rod(self._spot(number), self._spot(number, point), LINK)

    def _plates(self) -> None:
        placed = self.placed
        for groups, below in ((placed.platforms, False), (placed.carriers, True)):
            for index, points in groups.items():
                if float(np.ptp(points, axis=0).max()) <= 1e-9:
                    continue
                first = self.rigid[index]
                home = np.linalg.inv(placed.poses[first])
                corners = np.round(polygon(points) @ home[:3, :3].T + home[:3, 3], 9)
                self.scene.plates.append((self.body[index], [tuple(x) for x in corners.tolist()], below))


def _slides(joint: Joint) -> bool:
    """Whether its child's origin leaves the seat."""
    return joint.type.has_pitch or not all(joint.type.turns)
