"""Between the canonical frames of the recursions and the frames that the user named."""

from __future__ import annotations

from collections.abc import Sequence

from neuler.algebra import vector as vec
from neuler.algebra.screw import Column, Screw, Wrench
from neuler.algebra.vector import Matrix, Vector
from neuler.passes.tree import Tree
from neuler.recursions.kinematics import placements, world_poses
from neuler.robot import Transform
from neuler.trace.graph import Scalar


def motion_at(placement: Transform, screw: Screw) -> Screw:
    """The screw of a frame placed on a body, in its own axes at its own origin."""
    v, w = screw
    r: Matrix = placement.rotation
    at = vec.add(v, vec.cross(w, placement.translation))
    return vec.apply_transposed(r, at), vec.apply_transposed(r, w)


def wrench_at(placement: Transform, wrench: Wrench) -> Wrench:
    """A wrench at the body's origin, in the axes and at the origin of a frame placed on it."""
    f, m = wrench
    r: Matrix = placement.rotation
    moved = vec.subtract(m, vec.cross(placement.translation, f))
    return vec.apply_transposed(r, f), vec.apply_transposed(r, moved)


def wrench_from(placement: Transform, wrench: Wrench) -> Wrench:
    """A wrench given in a frame placed on a body, at the body's origin in its canonical axes."""
    r: Matrix = placement.rotation
    f = vec.apply(r, wrench[0])
    return f, vec.add(vec.apply(r, wrench[1]), vec.cross(placement.translation, f))


def poses(tree: Tree, q: Sequence[Scalar], names: Sequence[str]) -> list[tuple[Matrix, Vector]]:
    """Rotation and origin of named frames, in the robot's base frame."""
    world = world_poses(tree, placements(tree, q))
    to_base = tree.base.inverse()
    found = []
    for name in names:
        number, placement = tree.frames[name]
        rotation, origin = continued(world[number], placement)
        found.append(_seen(to_base, rotation, origin))
    return found


def continued(pose: tuple[Matrix, Vector], placement: Transform) -> tuple[Matrix, Vector]:
    """The pose of a frame placed on a body whose pose is known."""
    rotation, origin = pose
    columns = list(zip(*placement.rotation, strict=True))
    rows = tuple(tuple(vec.dot(row, column) for column in columns) for row in rotation)
    return rows, vec.add(origin, vec.apply(rotation, placement.translation))  # type: ignore[return-value]


def _seen(transform: Transform, rotation: Matrix, origin: Vector) -> tuple[Matrix, Vector]:
    r: Matrix = transform.rotation
    columns = [vec.apply(r, (rotation[0][k], rotation[1][k], rotation[2][k])) for k in range(3)]
    rows = tuple((columns[0][i], columns[1][i], columns[2][i]) for i in range(3))
    return rows, vec.add(vec.apply(r, origin), transform.translation)  # type: ignore[return-value]


def jacobian(tree: Tree, q: Sequence[Scalar], frame: str, *, world: bool) -> list[list[Scalar]]:
    """6 rows (linear; angular), a column a coordinate, at the frame's origin.

    In the frame's own axes, or (``world``) in the axes of the robot's base. Walked from the frame
    inward: the pose of the frame in each body on the way gives that body's column.
    """
    places = placements(tree, q)
    number, placement = tree.frames[frame]
    pose: tuple[Matrix, Vector] = (placement.rotation, placement.translation)
    columns: list[Screw] = [(vec.ZERO, vec.ZERO)] * tree.dof
    while number:
        body = tree.bodies[number]
        for index, k in body.freedoms:
            columns[index] = column(k, *pose)
        pose = places[number].pose_up(*pose)
        number = body.antecedent
    if world:
        rotation, _ = _seen(tree.base.inverse(), *pose)
        columns = [(vec.apply(rotation, v), vec.apply(rotation, w)) for v, w in columns]
    return [[(*v, *w)[row] for v, w in columns] for row in range(6)]


def column(k: Column, rotation: Matrix, position: Vector) -> Screw:
    """R^T (l + z x P) and R^T z of a frame at R, P on a body that slides by l and turns by z."""
    moved = vec.add(k.linear, vec.cross(k.angular, position))
    return vec.apply_transposed(rotation, moved), vec.apply_transposed(rotation, k.angular)
