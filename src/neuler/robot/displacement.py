"""Where a joint's child stands at a position of the joint, in plain numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from neuler.robot.joint import Joint
from neuler.robot.kinds import KINDS
from neuler.robot.kinds.kind import InARow
from neuler.robot.transform import Vec3, exact_cos_sin

Array = NDArray[np.float64]


def displacement(joint: Joint, q: Sequence[float]) -> Array:
    """The child's frame in the place it has at position zero, as a homogeneous matrix (4, 4).

    ``q`` are the positions of this joint alone, ``joint.nq`` of them. Seen from the parent link the child stands at
    ``joint.placement.matrix @ displacement(joint, q)``.

    >>> slide = Joint("slide", "prismatic", "base", "carriage", axis=(0, 1, 0))
    >>> displacement(slide, [0.3])[:3, 3].tolist()
    [0.0, 0.3, 0.0]
    """
    found = np.eye(4)
    if joint.type.has_axis:
        turn, slide = joint.type.travel(joint, float(q[0]))
        return _along(joint.axis, float(turn), float(slide))
    for element, x in zip(joint.type.elements, q, strict=False):
        turns = KINDS[element.kind].turns[0]
        found = found @ _along(InARow.turned(joint.axis, element.axis), x if turns else 0.0, 0.0 if turns else x)
    if joint.moves and not joint.type.elements:
        found[:3, :3], found[:3, 3] = joint.type.pose([float(x) for x in q])
    return found


def _along(axis: Vec3, turn: float, slide: float) -> Array:
    """A turn about an axis and a slide along it (Rodrigues); exact for multiples of a quarter turn."""
    (x, y, z), (c, s) = axis, exact_cos_sin(turn)
    k = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    found = np.eye(4)
    found[:3, :3] += s * k + (1.0 - c) * (k @ k)
    found[:3, 3] = slide * np.asarray(axis)
    return found
