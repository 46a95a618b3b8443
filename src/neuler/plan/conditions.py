"""What must hold at the ends of a phase and on the way: boundaries, via points, phases."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from neuler.errors import InputError
from neuler.inputs import number, real, several, whole
from neuler.naming import hint
from neuler.optimize.programme import Array
from neuler.plan.measures import Limit
from neuler.plan.model import Model
from neuler.robot import Transform
from neuler.robot.columns import by_columns

FREE = np.nan
"""Inside, the mark of what a condition leaves open."""


@dataclass(frozen=True, eq=False)
class Boundary:
    """Conditions at one moment: position, velocity, acceleration, and poses of frames.

    ``q`` is a position of the robot, a mapping by joint (others are free), or None (all free); ``qd`` and ``qdd`` are
    numbers for all joints, arrays (nv), mappings by joint, or None (free). ``poses`` maps frames to positions (3) or
    homogeneous matrices (4, 4) in the base frame.
    """

    q: Any = None
    qd: Any = 0.0
    qdd: Any = None
    poses: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.poses, Mapping):
            raise InputError(f"boundary: poses must map frames to positions or matrices, got {self.poses!r:.60}")

    @classmethod
    def of(cls, given: Any, joints: Collection[str] = ()) -> Boundary:
        """From a boundary, a position at rest, or a mapping: by joint, or with its fields."""
        if given is None:
            return cls(qd=None)
        if isinstance(given, Boundary):
            return given
        fields = {"q", "qd", "qdd", "poses"}
        if isinstance(given, Mapping) and set(given) <= fields and not (given and set(given) <= set(joints)):
            return cls(**given)
        return cls(q=given)


def targets(model: Model, given: Any, what: str, position: bool = False) -> Array:
    """Numbers for every profile, NaN where it is free; of positions in chart coordinates."""
    if given is None:
        return np.full(model.nc, FREE)
    if isinstance(given, Mapping):
        found = np.full(model.nc, FREE)
        for name, value in given.items():
            if name not in model.names:
                raise InputError(f"{what}: there is no {name!r}; {hint(name, model.names)}")
            found[model.names.index(name)] = number(f"{what} of {name}", value)
        return found
    found_numbers = real(by_columns(model.robot, "plan", what, given, "q" if position else "qd"))
    array = np.zeros((0, 0)) if found_numbers is None else found_numbers
    sizes = {model.robot.nq, model.coordinates.size} if position else {model.nc, model.robot.nv}
    if array.shape == () and not position:
        array = np.full(model.nc, float(array))
    if array.ndim != 1 or array.size not in sizes:
        wanted = " or ".join(map(str, sorted(sizes)))
        raise InputError(
            f"{what}: expected {wanted} numbers or a mapping by joint, got "
            f"{f'shape {array.shape}' if array.size else repr(given)[:60]}"
        )
    if not np.isfinite(array).all():
        raise InputError(f"{what}: must be finite, got {array.tolist()}; name joints in a mapping to leave some free")
    return model.chart(array, what) if position else array[: model.nc]


def pose_of(given: Any, what: str) -> Array:
    """A position (3) or a homogeneous matrix (4, 4)."""
    if isinstance(given, Transform):
        return np.asarray(given.matrix, dtype=float)
    found = real(given)
    array = np.zeros(0) if found is None else found
    if array.shape not in ((3,), (4, 4)) or not np.isfinite(array).all():
        raise InputError(f"{what}: expected a position (3) or a homogeneous matrix (4, 4), got {given!r:.60}")
    if array.shape == (4, 4):
        turn = array[:3, :3]
        if np.abs(turn @ turn.T - np.eye(3)).max() > 1e-6 or np.linalg.det(turn) < 0.0:
            raise InputError(f"{what}: its upper left 3 x 3 part is not a rotation")
    return array


@dataclass(frozen=True, eq=False)
class Via:
    """A condition on the way: at a share of the phase's duration, or (``at=None``) at a time to be found.

    The velocity is free unless it is given.
    """

    at: float | None = None
    q: Any = None
    qd: Any = None
    poses: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.at is not None:
            share = real(self.at)
            if share is None or share.shape != () or not 0.0 < share < 1.0:
                raise InputError(f"via: at must be a share between 0 and 1, or None for a free time, got {self.at!r}")
            object.__setattr__(self, "at", float(share))
        if not isinstance(self.poses, Mapping):
            raise InputError(f"via: poses must map frames to positions or matrices, got {self.poses!r:.60}")
        if self.q is None and self.qd is None and not self.poses:
            raise InputError("via: give a position q, a velocity qd or poses of frames to pass")


@dataclass(frozen=True, eq=False)
class Phase:
    """A part of a plan with a duration, profiles and limits of its own; it ends in ``end`` and is smoothly joined.

    ``limits`` hold in addition to those of the plan. ``end`` is free by default. ``continuity`` is the highest
    derivative that goes on into the next phase (default: degree - 1).
    """

    duration: Any = None
    control_points: int | None = None
    limits: Sequence[Limit] = ()
    end: Any = None
    via: Sequence[Via] = ()
    name: str = ""
    continuity: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "via", several("phase: via points", self.via, Via, "plan.Via(...)"))
        if self.continuity is not None:
            whole("phase: continuity", self.continuity, 0, 8)
        if not isinstance(self.name, str):
            raise InputError(f"phase: its name must be text, got {self.name!r:.60}")


def spread_of(duration: Any, what: str) -> tuple[float, float]:
    """Bounds of a duration: of None, a number, or two."""
    if duration is None:
        return 0.0, np.inf
    found = real(duration)
    array = np.zeros(0) if found is None else found
    if array.shape == ():
        array = np.array([float(array)] * 2)
    if array.shape != (2,) or np.isnan(array).any():
        raise InputError(f"{what}: duration must be seconds, (least, most) or None, got {duration!r:.60}")
    low, high = map(float, array)
    if low > high:
        raise InputError(f"{what}: the least duration {low:g} s is above the most, {high:g} s")
    if high <= 0.0 or not np.isfinite(low):
        raise InputError(f"{what}: a duration must be above zero and finite, got {duration!r:.60}")
    return max(low, 0.0), high
