"""Joints that may feel no inertia: their own link has none along them, and no rotor makes up for it.

What such a joint feels comes from the links behind it alone, and may vanish in some pose or in all. Every
other joint feels at least its own link, so that its elimination never divides by zero.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neuler.algebra.screw import flat
from neuler.passes.fuse import fuse
from neuler.robot import Joint, Link, Robot
from neuler.robot.expand import expand
from neuler.robot.inertia_matrix import spatial

Array = NDArray[np.float64]

_NONE = 1e-9
"""Of a link's largest inertia, of the robot's mass: less is rounding."""


def weightless(robot: Robot) -> frozenset[str]:
    """Their names. Where a link is unphysical, so that its inertia may cancel that of others, all joints below it."""
    fused = fuse(expand(robot))
    floor = _NONE * max((abs(link.mass) for link in fused.links), default=0.0)
    found: set[str] = set()
    cancels = {link.name: not _physical(link) for link in fused.links}
    for joint, link in reversed(list(zip(fused.joints, fused.links[1:], strict=True))):
        if cancels[link.name]:
            cancels[joint.parent] = True
            found.add(joint.name)
        elif joint.rotor_inertia <= 0.0 and not _carries(joint, link, floor):
            found.add(joint.name)
    return frozenset(found)


def _carries(joint: Joint, link: Link, floor: float) -> bool:
    """Whether a link has inertia along every motion of its joint."""
    columns = [np.array(flat((each.linear, each.angular))) for each in joint.type.columns(joint, joint.axis)]
    motions = np.array(columns, dtype=float).T
    felt = motions.T @ spatial(link, np.eye(4)) @ motions
    least = np.where(motions[3:].any(axis=0), _NONE * float(np.abs(link.inertia_matrix).max()), floor)
    own = np.diag(felt)
    if not (own > least).all():
        return False
    if len(own) == 1:
        return True
    root = np.sqrt(own)
    return bool(np.linalg.eigvalsh(felt / root / root[:, None])[0] > _NONE)


def _physical(link: Link) -> bool:
    about = link.inertia_about_com
    scale = float(np.abs(link.inertia_matrix).max())
    if link.mass < 0.0 or not np.isfinite(about).all():
        return False
    return scale == 0.0 or bool(np.linalg.eigvalsh(about / scale)[0] > -_NONE)
