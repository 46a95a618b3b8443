"""Values of problem files that several tables have: numbers by joint, rotations, matrices."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler.files.problems import Section
from neuler.robot import Transform

Array = NDArray[np.float64]


def numbers_of(section: Section, key: str, one: bool = True) -> Any:
    """A list of numbers, a table of them by name, or one number; None where it is not there."""
    value = section.raw(key, None)
    if value is None:
        return None
    if isinstance(value, Mapping):
        part = section.section(key)
        return {name: part.number(name) for name in part.table}
    if isinstance(value, list):
        return section.vector(key, len(value))
    if one:
        return section.number(key)
    raise section.error(key, f"expected a list of numbers or a table by name, got {value!r:.40}")


def rotation_of(part: Section) -> Array | None:
    """A rotation (3, 3) by rpy (rad), quaternion (x, y, z, w) or rotation (3 rows); None where there is none."""
    given = [key for key in ("rpy", "quaternion", "rotation") if key in part]
    if len(given) > 1:
        raise part.error(given[1], f"says how it is turned, and so does {given[0]!r}; keep one")
    if not given:
        return None
    if given[0] == "rpy":
        return np.asarray(Transform.from_rpy((0.0, 0.0, 0.0), tuple(part.vector("rpy", 3))).matrix)[:3, :3]
    if given[0] == "quaternion":
        turn = part.vector("quaternion", 4)
        size = float(np.linalg.norm(turn))
        if abs(size - 1.0) > 1e-6:
            raise part.error("quaternion", f"expected (x, y, z, w) of length one, got length {size:g}")
        return np.asarray(Transform.from_quaternion((0.0, 0.0, 0.0), (turn / size).tolist()).matrix)[:3, :3]
    return matrix_of(part, "rotation", (3, 3))


def matrix_of(part: Section, key: str, shape: tuple[int, int] | None = None) -> Array:
    """Rows of finite numbers, all of one length; of a ``shape``, where it is given."""
    try:
        found = np.array(part.raw(key), dtype=float)
    except (TypeError, ValueError):
        found = np.empty(0)
    if found.ndim != 2 or not np.isfinite(found).all() or shape not in (None, found.shape):
        size = "rows of numbers, all of one length" if shape is None else f"{shape[0]} rows of {shape[1]} numbers"
        raise part.error(key, f"expected {size}")
    return found
