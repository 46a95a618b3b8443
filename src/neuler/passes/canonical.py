"""Canonical joint frames: z along the axis, x along the common normal, the origin at its foot.

In such frames most entries of a transform are constant, and the next joint's origin has
coordinates (d, 0, b): this is where low operation counts come from. The frames that the user
named keep their names and poses; ``Tree.frames`` says where they are.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from neuler.algebra.turns import Angle
from neuler.passes.tree import Body, Drive, Series, Tree
from neuler.robot import Joint, Robot, Transform
from neuler.robot.coordinates import slices

Array = NDArray[np.float64]

_EXACT = 1e-14
"""Below it a cosine, sine or length is rounding noise of a zero."""
_OBLIQUE = 0.1
"""Below this sine two axes are nearly parallel: their common normal lies far away and is not used."""


def _in_series(bodies: list[Body]) -> list[Body]:
    """With the springs between motors and their joints, by the numbers of these."""
    numbers = {body.joint.name: body for body in bodies if body.joint is not None}
    for k, body in enumerate(bodies):
        if body.joint is not None and body.joint.series is not None:
            name, stiffness, damping = body.joint.series
            link = numbers[name]
            series = Series(link.position, link.coordinate or 0, stiffness, damping)
            bodies[k] = dataclasses.replace(body, drive=dataclasses.replace(body.drive, series=series))
    return bodies


def canonical(robot: Robot) -> Tree:
    """Choose the frames and express every link's ten parameters in them."""
    return _Chooser(robot).tree()


class _Chooser:
    def __init__(self, robot: Robot) -> None:
        self.robot = robot
        self.above = robot.antecedents
        self.kids: list[list[int]] = [[] for _ in robot.links]
        for number, parent in enumerate(self.above, start=1):
            self.kids[parent].append(number)
        self.reach = [0] * len(robot.links)
        for number in range(len(robot.links) - 1, 0, -1):
            self.reach[self.above[number - 1]] += self.reach[number] + self.joint(number).moves
        self.main: list[int | None] = [None] * len(robot.links)
        for number in range(len(robot.links) - 1, -1, -1):
            through = [kid if self.joint(kid).moves else self.main[kid] for kid in self.kids[number]]
            movers = [kid for kid in through if kid is not None]
            self.main[number] = max(movers, key=lambda kid: self.reach[kid], default=None)
        # in each link's own frame: the canonical axes as columns, and the canonical origin
        self.axes: list[Array] = [np.eye(3)] * len(robot.links)
        self.origin: list[Array] = [np.zeros(3)] * len(robot.links)

    def joint(self, number: int) -> Joint:
        return self.robot.joints[number - 1]

    def tree(self) -> Tree:
        robot = self.robot
        bodies = [self._base()]
        for number, (joint, q, v) in enumerate(slices(robot.joints), start=1):
            body = self._body(number) if joint.type.has_axis or not joint.moves else self._seated(number)
            if joint.moves:
                body = dataclasses.replace(body, coordinate=v.start, position=q.start, drive=Drive.of(joint))
            bodies.append(body)
        bodies = _in_series(bodies)
        frames: dict[str, tuple[int, Transform]] = {}
        for number, link in enumerate(robot.links):
            frames[link.name] = (number, self._user_frame(number))
        for frame in robot.frames:
            number = robot.link_names.index(frame.link)
            frames[frame.name] = (number, self._user_frame(number) @ frame.placement)
        pull = self.axes[0].T @ np.array(robot.gravity)
        gx, gy, gz = (0.0 if abs(g) < _EXACT * 10 else g for g in pull.tolist())
        return Tree(robot.name, tuple(bodies), (gx, gy, gz), frames, robot.link_names)

    def _user_frame(self, number: int) -> Transform:
        """The link's own frame in its canonical frame."""
        return _rigid(self.axes[number].T, -self.axes[number].T @ self.origin[number])

    # ---- frames ---------------------------------------------------------------------------------

    def _base(self) -> Body:
        """z along the first axis, x along gravity's horizontal part where there is one."""
        first = self._main_child(0)
        z, origin = np.array([0.0, 0.0, 1.0]), np.zeros(3)
        if first is not None and not self.joint(first).type.has_axis:
            return self._described(Body(self.robot.links[0].name, antecedent=0), 0)  # the user's own frame
        if first is not None:
            direction, origin = self._axis_of(first)
            z = _clean(direction)
        gravity = np.array(self.robot.gravity)
        across = _clean(gravity - (gravity @ z) * z)
        if np.linalg.norm(across) < 1e-9:
            across = self._perpendicular(0, z, origin)
        self.axes[0], self.origin[0] = _axes(z, across), origin
        return self._described(Body(self.robot.links[0].name, antecedent=0), 0)

    def _seated(self, number: int) -> Body:
        """A link whose joint has no axis keeps the user's frame."""
        joint, parent = self.joint(number), self.above[number - 1]
        mount = self._user_frame(parent) @ joint.placement
        body = Body(self.robot.links[number].name, parent, joint.type, mount=mount, joint=joint)
        return self._described(body, number)

    def _body(self, number: int) -> Body:
        joint, parent = self.joint(number), self.above[number - 1]
        name = self.robot.links[number].name
        rotation = np.array(joint.placement.rotation)
        position = np.array(joint.placement.translation)
        if not joint.moves:  # the canonical frame of the carrier, seen from here
            self.axes[number] = _clean(rotation.T @ self.axes[parent])
            self.origin[number] = rotation.T @ (self.origin[parent] - position)
            return self._described(Body(name, parent, joint.type, joint=joint), number)
        axes, origin = self.axes[parent], self.origin[parent]
        z = np.array(joint.axis)
        direction = _clean(axes.T @ rotation @ z)  # of the new axis, in the parent's canonical frame
        point = _clean(axes.T @ (position - origin))
        p, node, alpha = _common_normal(direction, point, slides=joint.type.any_line)
        gamma = _angle(node[0], node[1])
        place = rotation.T @ (axes @ _turn_z(gamma) @ p + origin - position)
        self.origin[number] = place
        before = rotation.T @ axes @ _turn_z(gamma) @ _turn_x(alpha)  # axes at theta = 0
        x = self._x_axis(number, z, place, before[:, 0])
        self.axes[number] = _axes(z, x)
        rest = before.T @ self.axes[number]
        quarters, offset = _offset(math.atan2(rest[1, 0], rest[0, 0]))
        body = Body(name, parent, joint.type, gamma, tuple(p.tolist()), alpha, quarters, offset, joint=joint)
        return self._described(body, number)

    def _described(self, body: Body, number: int) -> Body:
        link = self.robot.links[number].seen_from(self._user_frame(number))
        mx, my, mz = _without_noise(link.first_moment)
        xx, yy, zz, xy, xz, yz = _without_noise(link.inertia)
        return dataclasses.replace(body, mass=link.mass, first_moment=(mx, my, mz), inertia=(xx, yy, zz, xy, xz, yz))

    def _main_child(self, number: int) -> int | None:
        """The moving child, seen through fixed joints, that carries most."""
        return self.main[number]

    def _axis_of(self, number: int, above: int = 0) -> tuple[Array, Array]:
        """Direction and a point of a joint's axis, in the frame of the link ``above`` it."""
        pose = np.array(self.joint(number).placement.matrix)
        parent = self.above[number - 1]
        while parent != above:
            pose = self.joint(parent).placement.matrix @ pose
            parent = self.above[parent - 1]
        return pose[:3, :3] @ np.array(self.joint(number).axis), pose[:3, 3]

    def _x_axis(self, number: int, z: Array, origin: Array, default: Array) -> Array:
        """Along the line of nodes or the common normal to the main child's axis; ``default`` if any will do."""
        child = self._main_child(number)
        if child is None:
            return default
        direction, point = self._axis_of(child, number)
        node = np.cross(z, direction)
        size = float(np.linalg.norm(node))
        if size < _EXACT or not self.joint(child).type.has_axis:
            if self.joint(child).type.any_line:
                return default
            across = point - origin
            across = across - (across @ z) * z
            size = float(np.linalg.norm(across))
            return across / size if size > _EXACT else default
        # of the two directions the one that is nearer to the axes we have, so that offsets stay small
        return node / size if node @ default >= -_EXACT else -node / size

    def _perpendicular(self, number: int, z: Array, origin: Array) -> Array:
        guess = np.eye(3)[int(np.argmin(np.abs(z)))]
        return self._x_axis(number, z, origin, guess - (guess @ z) * z)


def _common_normal(direction: Array, point: Array, *, slides: bool) -> tuple[Array, Array, Angle]:
    """Of z and the line (point, direction): the new origin after gamma, the node's direction, (cos, sin) alpha."""
    across = float(np.hypot(direction[0], direction[1]))
    if across < _EXACT:  # parallel: the normal from the origin
        alpha = (1.0, 0.0) if direction[2] > 0 else (-1.0, 0.0)
        if slides:
            return np.zeros(3), np.array([1.0, 0.0]), alpha
        reach = float(np.hypot(point[0], point[1]))
        node = point[:2] / reach if reach > _EXACT else np.array([1.0, 0.0])
        return _clean(np.array([reach, 0.0, 0.0])), node, alpha
    node = np.array([-direction[1], direction[0]]) / across  # z x direction
    if node[0] < -_EXACT or (abs(node[0]) <= _EXACT and node[1] < 0):  # keep gamma small
        node, across = -node, -across
    node = np.array([_snap(node[0]), _snap(node[1])])
    alpha = (_snap(float(direction[2])), _snap(across))
    if slides:  # the line may pass anywhere: through the parent's origin
        return np.zeros(3), node, alpha
    frame = np.array([[node[0], node[1], 0.0], [-node[1], node[0], 0.0], [0.0, 0.0, 1.0]])
    local, along = frame @ point, frame @ direction
    if abs(across) < _OBLIQUE:  # nearest point of the line to the origin
        local = local - (local @ along) * along
    else:  # foot of the common normal: y = 0
        local = local - local[1] / along[1] * along
        local[1] = 0.0
    return _clean(local), node, alpha


def _offset(angle: float) -> tuple[int, float]:
    """An angle as quarter turns and a rest; the rest is zero where it is rounding noise."""
    quarters = round(angle / (math.pi / 2))
    rest = angle - quarters * (math.pi / 2)
    return quarters % 4, 0.0 if abs(rest) < _EXACT else rest


def _without_noise(values: Sequence[float]) -> list[float]:
    """Zeros that a turn of the axes left as rounding errors, relative to the largest of their kind."""
    noise = 1e-16 * max(abs(x) for x in values)
    return [0.0 if abs(x) < noise else x for x in values]


def _snap(x: float) -> float:
    nearest = float(round(x))
    return nearest + 0.0 if abs(x - nearest) < _EXACT else float(x)


def _clean(a: Array) -> Array:
    return np.where(np.abs(a) < _EXACT, 0.0, a)


def _angle(x: float, y: float) -> Angle:
    return (_snap(float(x)), _snap(float(y)))


def _turn_z(a: Angle) -> Array:
    c, s = a
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]], dtype=float)


def _turn_x(a: Angle) -> Array:
    c, s = a
    return np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]], dtype=float)


def _axes(z: Array, x: Array) -> Array:
    """Right-handed axes with z exact and x as near as it can be."""
    z = z / np.linalg.norm(z)
    x = x - (x @ z) * z
    x = x / np.linalg.norm(x)
    y = np.cross(z, x)
    return _clean(np.stack([x, y, z], axis=1))


def _rigid(rotation: Array, position: Array) -> Transform:
    rows = tuple(tuple(row) for row in _clean(rotation).tolist())
    return Transform(rows, tuple(_clean(position).tolist()))  # type: ignore[arg-type]
