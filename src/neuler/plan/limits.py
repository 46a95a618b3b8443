"""Limits: bounds of measures at all times, or in a window of a phase.

>>> from neuler import plan
>>> hold = plan.limit(plan.torque, -10.0, 10.0, joints=("joint1",))
>>> hold.measure.name, hold.joints
('torque', ('joint1',))
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from neuler.errors import InputError
from neuler.inputs import names, number, real
from neuler.moments.clearance import Ball, Obstacle, clearance
from neuler.moments.measures import MEASURES, OF_ROBOT, ConstantLabels, Distances, Measure, squared_rotation
from neuler.moments.moving_robot import MovingRobot
from neuler.moments.rotations import WIDEST
from neuler.naming import hint
from neuler.optimize.programme import Array

EDGE = 1e-12
"""Of a phase: shares so near to each other are one."""


def clear_of(balls: Sequence[Ball], obstacles: Sequence[Obstacle] = (), margin: float = 0.0, own: Any = ()) -> Limit:
    """The robot, as balls on its frames, keeps ``margin`` (m) from obstacles, and by ``own`` from itself.

    ``own``: pairs of frames, all of whose balls keep clear of each other, or "all".

    >>> from neuler import plan
    >>> wall = plan.HalfSpace((0.0, 0.5, 0.0), (0.0, -1.0, 0.0))
    >>> clear_of([plan.Ball("tool", 0.05)], [wall], margin=0.01).lower
    0.01
    """
    found = clearance(balls, obstacles, margin, own)
    return limit(Measure("clearance", Distances(found), ConstantLabels(tuple(found.labels)), None, "m"), found.margin)


@dataclass(frozen=True, eq=False)
class Limit:
    """lower <= measure <= upper at all times, or in a window of shares of a phase."""

    measure: Measure
    lower: Any = None
    upper: Any = None
    joints: tuple[str, ...] | None = None
    when: tuple[float, float] = (0.0, 1.0)
    lazy: bool = False
    """Left out until a check finds it violated."""
    own: bool = False
    """Bounds are those of the robot's joints, which :meth:`of` looks up."""
    family: str = ""
    """A name by which a result sums up what is violated; that of the measure where there is none."""
    scale: float | None = None
    """What rows are divided by for the solver; None: the size of their bounds."""
    open: tuple[bool, bool] = (False, False)
    """Whether the begin and the end of its window are left out: where a row is zero whatever the motion is, a solver
    that keeps away from bounds would find no room."""

    def of(self, robot: MovingRobot) -> Limit:
        """Return the limit with its bounds as numbers, those of the robot's joints looked up."""
        if not self.own:
            return self
        assert self.measure.of_robot is not None
        low, high = self.measure.of_robot(robot)
        found = replace(self, lower=low, upper=high, own=False)
        chosen = np.array(found.bounds(self.measure.labels(robot) if self.measure.labels else ()))
        if not np.isfinite(chosen).any():
            of = f" of {', '.join(self.joints)}" if self.joints else ""
            raise InputError(
                f"within: robot {robot.robot.name!r} has no limits of {self.measure.name}{of}; give a bound: "
                f"within({self.measure.name}, 10.0)"
            )
        return found

    def outside(self, shares: Array) -> Any:
        """Return which shares of a phase are not in its window."""
        (begin, end), (after, before) = self.when, self.open
        found = (shares < begin + (EDGE if after else -EDGE)) | (shares > end - (EDGE if before else -EDGE))
        return np.asarray(found)

    def covers(self, labels: Sequence[str]) -> tuple[Any, Any]:
        """Return which rows have a lower bound that is given, and which an upper one, finite or not."""
        found = []
        for given in (self.lower, self.upper):
            rows = np.zeros(len(labels), dtype=bool)
            if isinstance(given, Mapping):
                rows[[row for name in given for row in named_rows(name, labels)]] = True
            elif given is not None:
                rows[:] = True
            if self.joints is not None:
                chosen = [row for name in self.joints for row in named_rows(name, labels)]
                rows &= np.isin(np.arange(len(labels)), chosen)
            found.append(rows)
        return found[0], found[1]

    def bounds(self, labels: Sequence[str]) -> tuple[Array, Array]:
        """Return the lower and upper bounds of every row, infinite where there is none."""
        low = self._side(labels, self.lower, -np.inf, "lower")
        high = self._side(labels, self.upper, np.inf, "upper")
        if self.joints is not None:
            wanted = np.zeros(len(labels), dtype=bool)
            for name in self.joints:
                rows = named_rows(name, labels)
                if not rows:
                    raise InputError(f"limit of {self.measure.name}: there is no {name!r}; {hint(name, labels)}")
                wanted[rows] = True
            low, high = np.where(wanted, low, -np.inf), np.where(wanted, high, np.inf)
        crossed = np.flatnonzero(low > high)
        if len(crossed):
            k = int(crossed[0])
            who = f" of {labels[k]}" if labels[k] else ""
            raise InputError(
                f"limit of {self.measure.name}{who}: the lower bound {low[k]:g} is above the upper bound {high[k]:g}"
            )
        return low, high

    def _side(self, labels: Sequence[str], given: Any, none: float, side: str) -> Array:
        what = f"limit of {self.measure.name}: {side} bound"
        if given is None:
            return np.full(len(labels), none)
        if isinstance(given, Mapping):
            found = np.full(len(labels), none)
            for name, value in given.items():
                rows = named_rows(name, labels)
                if not rows:
                    raise InputError(f"{what}: there is no {name!r}; {hint(name, labels)}")
                found[rows] = number(f"{what} of {name}", value, finite=False)
            return found
        array = real(given)
        if array is None:
            raise InputError(f"{what} must be a number, {len(labels)} of them or a mapping by joint, got {given!r:.60}")
        if array.shape not in ((), (1,), (len(labels),)):
            raise InputError(f"{what} must be a number or {len(labels)} of them, one for each row, got {array.shape}")
        if np.isnan(array).any():
            raise InputError(f"{what} is NaN; leave it away where there is none")
        if (array == -none).any():
            raise InputError(f"{what} is {-none}: nothing can hold it; leave it away where there is none")
        return np.broadcast_to(array, (len(labels),)).copy()


PARTS = frozenset(
    ("x", "y", "z", "qx", "qy", "qz", "qw", "vx", "vy", "vz", "wx", "wy", "wz", "fx", "fy", "fz", "mx", "my", "mz")
)  # fmt: skip
"""What rows of a joint with several coordinates, or of a frame, are called behind its name."""


def named_rows(name: str, labels: Sequence[str]) -> list[int]:
    """Rows of a name: the one that is called so, else those of its parts.

    >>> named_rows("arm", ["arm", "arm_2"]), named_rows("base", ["base_vx", "base_vy", "base_2"])
    ([0], [0, 1])
    """
    exact = [k for k, label in enumerate(labels) if label == name]
    if exact:
        return exact
    heads = tuple(f"{name}{between}" for between in "_.")
    return [k for k, label in enumerate(labels) if label.startswith(heads) and label[len(name) + 1 :] in PARTS]


def limit(
    measure: Measure,
    lower: Any = None,
    upper: Any = None,
    *,
    joints: str | Sequence[str] | None = None,
    when: tuple[float, float] = (0.0, 1.0),
    lazy: bool = False,
    family: str = "",
    scale: float | None = None,
    open: tuple[bool, bool] = (False, False),
) -> Limit:
    """lower <= measure <= upper: bounds are numbers, one for each row, or mappings by joint; None is none.

    ``joints`` takes some rows by their names, ``when`` a window of shares of the phase. A ``lazy`` limit is left out
    of the programme at first, where it is rarely met, checked after the solve, and added where it was violated.
    ``family``: a name by which ``Planned.families`` sums up what is violated. ``scale``: what rows are divided by for
    the solver, by default the size of their bounds; give it for narrow bands about zero, as 0.1 for places in metres
    that are held within millimetres. ``open``: whether the begin and the end of the window are left out, as those of a
    contact whose force is zero there.
    """
    if not isinstance(measure, Measure):
        raise InputError(f"limit: a measure is needed, plan.torque or one of plan.measure(...), got {measure!r:.60}")
    if lower is None and upper is None:
        raise InputError(f"limit of {measure.name}: give a lower bound, an upper bound or both")
    window = real(when)
    if window is None or window.shape != (2,) or not 0.0 <= window[0] <= window[1] <= 1.0:
        raise InputError(f"limit of {measure.name}: when must be two shares, 0 <= a <= b <= 1, got {when!r:.60}")
    chosen = None if joints is None else names(f"limit of {measure.name}: joints", joints)
    if not isinstance(family, str):
        raise InputError(f"limit of {measure.name}: its family must be text, got {family!r:.60}")
    if scale is not None and number(f"limit of {measure.name}: scale", scale) <= 0.0:
        raise InputError(f"limit of {measure.name}: scale must be above zero, got {scale!r}")
    when = float(window[0]), float(window[1])
    if not isinstance(open, tuple) or [type(side) for side in open] != [bool, bool]:
        raise InputError(f"limit of {measure.name}: open must be two of True and False, got {open!r:.60}")
    return Limit(measure, lower, upper, chosen, when, bool(lazy), family=family, scale=scale, open=open)


def below_half_a_turn() -> Limit:
    """Return the limit that keeps rotation vectors below half a turn, where they are unique."""
    return Limit(squared_rotation, None, WIDEST**2)


def within(measure: Measure, bound: Any = None, **options: Any) -> Limit:
    """-bound <= measure <= bound; without a bound, the limits that the robot's own joints have.

    The latter exist of position, velocity and torque. A plan keeps them anyway, unless it is told
    ``robot_limits=False``.

    >>> from neuler import plan
    >>> plan.within(plan.torque, 10.0).upper
    10.0
    >>> plan.within(plan.torque).own
    True
    """
    if bound is None and isinstance(measure, Measure):
        if measure.of_robot is None:
            having = ", ".join(each.name for each in OF_ROBOT if each.name in MEASURES)
            raise InputError(
                f"within: robots have no limits of {measure.name} (they have of {having}); give a bound: "
                f"within({measure.name}, 10.0)"
            )
        return replace(limit(measure, 0.0, **options), lower=None, own=True)
    if isinstance(bound, Mapping):
        below = {name: -number(f"bound of {name}", value, finite=False) for name, value in bound.items()}
        return limit(measure, below, dict(bound), **options)
    size = real(bound)
    if size is None:
        raise InputError(f"within: bound must be a number or several, got {bound!r:.60}")
    return limit(measure, -size if size.ndim else -float(size), size if size.ndim else float(size), **options)
