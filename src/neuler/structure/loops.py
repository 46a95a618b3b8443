"""Closed loops: how far the frames of a cut joint are apart, and how they move, Khalil (3), (4).

Everything is seen from the first frame: p and R are the place of the second frame in it, its relative
velocity is d(p)/dt and the relative angular velocity, both as components in the first frame. What the
links that carry both frames do cancels: only the two branches behind the last link they share are read.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from neuler.algebra import vector as vec
from neuler.algebra.screw import Screw, Wrench, flat
from neuler.algebra.vector import Matrix, Vector
from neuler.passes.tree import Body, Place, Tree
from neuler.recursions.frames import column, continued
from neuler.recursions.kinematics import BodyMotion, motions, placements, velocities, world_poses
from neuler.robot import Loop, Transform
from neuler.structure.lift import Row
from neuler.trace.graph import Scalar

_HELD = {
    "fixed": (0, 1, 2, 3, 4, 5),
    "revolute": (0, 1, 2, 3, 4),
    "prismatic": (0, 1, 3, 4, 5),
    "cylindrical": (0, 1, 3, 4),
    "spherical": (0, 1, 2),
    "planar": (2, 3, 4),
    "point_on_line": (0, 1),
    "point_on_plane": (2,),
}
"""Which of (vx, vy, vz, wx, wy, wz) a cut joint holds at zero. A universal joint: see ``_universal``."""


@dataclass(frozen=True)
class Relative:
    """The second frame seen from the first: place, velocity, acceleration without joint accelerations."""

    rotation: Matrix
    position: Vector
    velocity: Screw
    bias: Screw


@dataclass(frozen=True)
class Closure:
    """A cut joint on the two branches that it joins; ``tree`` begins at the last link that they share."""

    kind: str
    tree: Tree
    ends: tuple[tuple[int, Transform], tuple[int, Transform]]
    bodies: tuple[int, int]
    """The bodies of the whole tree that carry the frames."""
    placements: tuple[Transform, Transform]

    @classmethod
    def of(cls, tree: Tree, loop: Loop) -> Closure:
        """Both branches, cut out of the tree."""
        (a, first), (b, second) = tree.frames[loop.first], tree.frames[loop.second]
        one, two = _path(tree, a), _path(tree, b)
        shared = max(set(one) & set(two), key=one.index)
        kept = [k for k in sorted({*one, *two}) if k not in one[: one.index(shared)]]
        number = {k: i for i, k in enumerate(kept)}
        bodies = [Body(tree.bodies[shared].name, 0)]
        for k in kept[1:]:
            bodies.append(dataclasses.replace(tree.bodies[k], antecedent=number[tree.bodies[k].antecedent]))
        branches = Tree(tree.name, tuple(bodies), (0.0, 0.0, 0.0), {}, ())
        return cls(loop.kind, branches, ((number[a], first), (number[b], second)), (a, b), (first, second))

    def open_by(self, q: Sequence[Scalar]) -> list[Scalar]:
        """What is zero where the joint is closed, Khalil (3): lengths, and sines of angles."""
        rotation, p = self._relative(placements(self.tree, q))
        (_, xy, xz), (yx, _, yz), (zx, zy, _) = rotation
        if self.kind == "universal":
            return [*p, -xy]
        if self.kind in ("fixed", "prismatic"):
            turn = (0.5 * (zy - yz), 0.5 * (xz - zx), 0.5 * (yx - xy))
        else:
            turn = (-yz, xz, 0.0)  # z2 seen from the first frame, turned back
        return [(*p, *turn)[k] for k in _HELD[self.kind]]

    def turned_over(self, q: Sequence[Scalar]) -> Scalar:
        """Less than zero where axes that should be equal are opposite: closed, but the wrong way round."""
        if self.kind in ("spherical", "universal", "point_on_line", "point_on_plane"):
            return 1.0
        rotation, _ = self._relative(placements(self.tree, q))
        if self.kind in ("fixed", "prismatic"):
            return rotation[0][0] + rotation[1][1] + rotation[2][2]
        return rotation[2][2]

    def rows(self, q: Sequence[Scalar]) -> list[Row]:
        """J_k - J_(k+B) of Khalil (4): the relative velocity that every joint gives, where it is held."""
        places = placements(self.tree, q)
        rotation, position = self._relative(places)
        columns: dict[int, Screw] = {}
        for side, (body, placement) in enumerate(self.ends):
            for index, (v, w) in self._columns(places, body, placement):
                if side == 0:  # the first frame moves: the second goes the other way
                    here = vec.negate(vec.add(v, vec.cross(w, position))), vec.negate(w)
                else:
                    here = vec.apply(rotation, v), vec.apply(rotation, w)
                columns[index] = here
        held = self._held(rotation)
        return [{k: held[i](screw) for k, screw in sorted(columns.items())} for i in range(len(held))]

    def bias(self, q: Sequence[Scalar], qd: Sequence[Scalar]) -> list[Scalar]:
        """The rate of (rows . qd) without joint accelerations."""
        seen = self.relative(q, qd)
        found = [select(seen.bias) for select in self._held(seen.rotation)]
        if self.kind == "universal":  # the held direction turns with y2
            _, w = seen.velocity
            y = (seen.rotation[0][1], seen.rotation[1][1], seen.rotation[2][1])
            found[3] = found[3] + vec.dot(vec.cross(vec.ONE[0], vec.cross(w, y)), w)
        return found

    def wrench(self, q: Sequence[Scalar], forces: Sequence[Scalar]) -> tuple[Wrench, Wrench]:
        """What forces in the held directions do to the links: on the first and on the second body, in their frames."""
        rotation, position = self._relative(placements(self.tree, q))
        parts: list[Scalar] = [0.0] * 6
        if self.kind == "universal":
            n = self._across(rotation)
            parts = [*forces[:3], *vec.scale(forces[3], n)]
        else:
            for k, force in zip(_HELD[self.kind], forces, strict=True):
                parts[k] = force
        f, m = (parts[0], parts[1], parts[2]), (parts[3], parts[4], parts[5])
        back = vec.negate(f), vec.negate(vec.add(m, vec.cross(position, f)))
        onto = vec.apply_transposed(rotation, f), vec.apply_transposed(rotation, m)
        return back, onto

    def relative(self, q: Sequence[Scalar], qd: Sequence[Scalar]) -> Relative:
        """The motion of the second frame seen from the first."""
        places = placements(self.tree, q)
        rotation, p = self._relative(places)
        screws = velocities(self.tree, places, qd)
        moving = motions(self.tree, places, qd, [0.0] * len(qd), vec.ZERO)
        (v1, w1), (v2, w2) = (_screw_at(place, screws[k]) for k, place in self.ends)
        (a1, e1), (a2, e2) = (_acceleration_at(place, moving[k]) for k, place in self.ends)
        v2, w2, a2, e2 = (vec.apply(rotation, x) for x in (v2, w2, a2, e2))
        carried = vec.cross(w1, p)
        v = vec.subtract(vec.subtract(v2, v1), carried)
        w = vec.subtract(w2, w1)
        dragged = vec.add(vec.cross(e1, p), vec.cross(w1, vec.add(carried, vec.scale(2.0, v))))
        a = vec.subtract(vec.subtract(a2, a1), dragged)
        e = vec.subtract(vec.subtract(e2, e1), vec.cross(w1, w))
        return Relative(rotation, p, (v, w), (a, e))

    # ---- parts --------------------------------------------------------------------------

    def _relative(self, places: Sequence[Place]) -> tuple[Matrix, Vector]:
        poses = world_poses(self.tree, places)
        (r1, p1), (r2, p2) = (continued(poses[k], placement) for k, placement in self.ends)
        return vec.product(vec.transpose(r1), r2), vec.apply_transposed(r1, vec.subtract(p2, p1))

    def _columns(self, places: Sequence[Place], number: int, placement: Transform) -> list[tuple[int, Screw]]:
        """Screws of a frame by the velocities of the joints on its branch, in its own axes."""
        pose: tuple[Matrix, Vector] = (placement.rotation, placement.translation)
        found = []
        while number:
            body = self.tree.bodies[number]
            found += [(index, column(k, *pose)) for index, k in body.freedoms]
            pose = places[number].pose_up(*pose)
            number = body.antecedent
        return found

    def _held(self, rotation: Matrix) -> list[Callable[[Screw], Scalar]]:
        """Of a relative screw, the components that the joint holds."""
        if self.kind == "universal":
            n = self._across(rotation)
            return [*(_component(k) for k in range(3)), lambda screw: vec.dot(n, screw[1])]
        return [_component(k) for k in _HELD[self.kind]]

    @staticmethod
    def _across(rotation: Matrix) -> Vector:
        """x1 x y2: orthogonal to both axes of a universal joint."""
        return vec.cross(vec.ONE[0], (rotation[0][1], rotation[1][1], rotation[2][1]))


def _component(k: int) -> Callable[[Screw], Scalar]:
    return lambda screw: flat(screw)[k]


def _path(tree: Tree, number: int) -> list[int]:
    """From the base to a body."""
    path = [number]
    while number:
        number = tree.bodies[number].antecedent
        path.append(number)
    return path[::-1]


def _screw_at(placement: Transform, screw: Screw) -> Screw:
    v, w = screw
    r: Matrix = placement.rotation
    return vec.apply_transposed(r, vec.add(v, vec.cross(w, placement.translation))), vec.apply_transposed(r, w)


def _acceleration_at(placement: Transform, motion: BodyMotion) -> Screw:
    r: Matrix = placement.rotation
    linear = vec.add(motion.vd, vec.apply(motion.turning.u, placement.translation))
    return vec.apply_transposed(r, linear), vec.apply_transposed(r, motion.turning.wd)
