"""Statements about two times of a motion: profiles that repeat or change places, and functions of two moments.

q_end^(k)(1) = sign q_start^(k)(0) for k = 0 ... order: a cycle, or half a cycle of a gait that is mirrored in the next.
In one phase these are linear in the control points and remove variables; over several phases, whose durations differ,
derivatives are rows of the programme.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from neuler.errors import InputError
from neuler.inputs import names, number, real, whole
from neuler.moments.moment import Moment
from neuler.moments.moving_robot import MovingRobot
from neuler.motions import splines
from neuler.motions.profiles import Profiles
from neuler.naming import hint
from neuler.optimize.elimination import Equality
from neuler.plan.two_times import OfTwoMoments, TwoMoments


@dataclass(frozen=True)
class Relation:
    """Profile ``end`` ends as ``sign`` times the profile ``start`` began, with derivatives up to ``order``.

    ``shift`` is added to the position: a joint that moves on by so much in every cycle. ``plan.repeats``,
    ``plan.exchanges``, ``plan.mirrors`` and ``plan.relate`` make relations.
    """

    end: str
    start: str
    sign: float = 1.0
    order: int | None = None
    shift: float = 0.0

    def __post_init__(self) -> None:
        names("relation: profiles", [self.end, self.start])
        number(f"relation of {self.end!r}: sign", self.sign)
        number(f"relation of {self.end!r}: shift", self.shift)
        if self.order is not None:
            whole(f"relation of {self.end!r}: order", self.order, 0)

    def check(self, robot: MovingRobot, degree: int, phases: int) -> None:
        """Refuse names and orders that do not exist."""
        for name in (self.end, self.start):
            if name not in robot.names:
                raise InputError(f"relation: there is no profile {name!r}; {hint(name, robot.names)}")
        if self.order is not None and not 0 <= self.order < degree:
            raise InputError(f"relation of {self.end!r}: order must be from 0 to {degree - 1}, got {self.order!r}")

    def orders(self, degree: int) -> int:
        """The highest derivative that it relates."""
        return degree - 1 if self.order is None else self.order

    def equalities(self, robot: MovingRobot, profiles: Sequence[Profiles]) -> list[Equality]:
        """Linear equalities of control points: all derivatives in one phase, positions alone over several."""
        first, last = profiles[0], profiles[-1]
        found = []
        for k in range((self.orders(last.degree) if len(profiles) == 1 else 0) + 1):
            terms = dict(last.coefficients(1.0, k, robot.names.index(self.end)))
            for place, value in first.coefficients(0.0, k, robot.names.index(self.start)).items():
                terms[place] = terms.get(place, 0.0) - self.sign * value
            name = f"relation of {self.end} to {self.start}"
            found.append(Equality(terms, self.shift if k == 0 else 0.0, name))
        return found

    def rows(self, robot: MovingRobot, degree: int, phases: int) -> TwoMoments | None:
        """Derivatives per second over several phases, at the end less at the start; None in one phase."""
        orders = self.orders(degree)
        if phases == 1 or not orders:
            return None
        end, start, sign = robot.names.index(self.end), robot.names.index(self.start), self.sign

        def rows(first: Moment, last: Moment) -> Any:
            one, other = last.rates(orders), first.rates(orders)
            return [one[k][end] - sign * other[k][start] for k in range(1, orders + 1)]

        zero = np.zeros(orders)
        name = f"relation of {self.end} to {self.start}"
        labels = tuple(f"derivative {k + 1}" for k in range(orders))
        return TwoMoments(name, ((0, 0.0), (phases - 1, 1.0)), zero, zero, labels, rows)


@dataclass(frozen=True)
class _Mirror(Relation):
    """left(s) = sign right(s + shift) at every share s of a cycle that repeats: of two profiles, all control points."""

    def check(self, robot: MovingRobot, degree: int, phases: int) -> None:
        """Refuse names that do not exist, and several phases."""
        super().check(robot, degree, phases)
        if self.end == self.start:
            raise InputError(f"mirror: {self.end!r} cannot be its own mirror image; plan.repeats makes it repeat")
        if phases > 1:
            raise InputError(f"mirror of {self.end!r}: it takes one phase")

    def equalities(self, robot: MovingRobot, profiles: Sequence[Profiles]) -> list[Equality]:
        """Linear equalities of control points."""
        (mine,) = profiles
        numbers = [robot.names.index(name) for name in (self.end, self.start)]
        places = [mine.first + i * mine.count + k for k in numbers for i in range(mine.control_point_count)]
        table = splines.mirrored(mine.knots, mine.degree, self.sign, self.shift).tocsr()
        name = f"mirror of {self.end} and {self.start}"
        return [
            Equality({places[int(c)]: float(v) for c, v in zip(row.indices, row.data, strict=True)}, 0.0, name)
            for row in (table[k] for k in range(table.shape[0]))
        ]


@dataclass(frozen=True, eq=False)
class _OfMoments(Relation):
    """A function of two moments, within bounds; its profiles are none, ``end`` and ``start`` are its name."""

    two: TwoMoments = field(kw_only=True)

    def check(self, robot: MovingRobot, degree: int, phases: int) -> None:
        """Refuse phases that do not exist, and joints that loops move."""
        for phase, _ in self.two.at:
            if not -phases <= phase < phases:
                raise InputError(f"relation {self.two.name!r}: there is no phase {phase}, the plan has {phases}")
        if robot.dependent:
            raise InputError(f"relation {self.two.name!r}: functions of two moments are for robots without loops")

    def equalities(self, robot: MovingRobot, profiles: Sequence[Profiles]) -> list[Equality]:
        """None: its rows need not be linear."""
        return []

    def rows(self, robot: MovingRobot, degree: int, phases: int) -> TwoMoments:
        """Its function at both times; phases are counted from the first."""
        first, second = ((number % phases, share) for number, share in self.two.at)
        return replace(self.two, at=(first, second))


def repeats(*joints: str, order: int | None = None, shift: float = 0.0) -> list[Relation]:
    """Joints that end as they began, with all continuous derivatives; ``shift`` further on.

    >>> [relation.end for relation in repeats("hip", "knee")]
    ['hip', 'knee']
    """
    return [Relation(name, name, 1.0, order, shift) for name in joints]


def exchanges(left: str, right: str, sign: float = 1.0, order: int | None = None) -> list[Relation]:
    """Two joints that change places: each ends as ``sign`` times the other began.

    >>> [(relation.end, relation.start) for relation in exchanges("left", "right")]
    [('left', 'right'), ('right', 'left')]
    """
    return [Relation(left, right, sign, order), Relation(right, left, sign, order)]


def mirrors(left: str, right: str, sign: float = 1.0, shift: float = 0.5) -> list[Relation]:
    """Two joints that do the same, ``sign`` times and ``shift`` of the cycle apart: left(s) = sign right(s + shift).

    Both repeat. The knots must fall on knots when they are shifted: for half a cycle an even number of spans.

    >>> mirrors("left_hip", "right_hip")[0].shift
    0.5
    """
    return [_Mirror(left, right, sign, None, shift)]


def relate(
    function: OfTwoMoments,
    name: str,
    *,
    first: tuple[int, float] = (0, 0.0),
    second: tuple[int, float] = (-1, 1.0),
    lower: Any = 0.0,
    upper: Any = 0.0,
    labels: Sequence[str] = (),
) -> list[Relation]:
    """Rows over two times: lower <= function(one moment, another) <= upper.

    ``first`` and ``second``: the number of a phase (-1 is the last) and a share of it, by default the start and the end
    of the motion. The function returns an array of traced values, as in ``plan.measure``; bounds are numbers or one
    for each row.

    >>> step = relate(lambda a, b: b.pose("tip")[:3, 3] - a.pose("tip")[:3, 3], "step", lower=0.1, upper=[0.1, 9, 9])
    >>> step[0].end
    'step'
    """
    if not callable(function):
        raise InputError(f"relate: a function of two moments is needed, got {type(function).__name__}")
    if not isinstance(name, str) or not name.strip():
        raise InputError(f"relate: a name is needed, got {name!r}")
    sides = []
    for what, value in (("lower", lower), ("upper", upper)):
        found = real(value)
        if found is None or found.ndim > 1 or np.isnan(found).any():
            raise InputError(f"relation {name!r}: {what} must be a number or one for each row, got {value!r:.60}")
        sides.append(found)
    times = []
    for what, value in (("first", first), ("second", second)):
        pair = value if isinstance(value, tuple | list) and len(value) == 2 else (None, None)
        share = real(pair[1])
        if not isinstance(pair[0], int) or share is None or share.shape != () or not 0.0 <= share <= 1.0:
            raise InputError(f"relation {name!r}: {what} must be (phase, share from 0 to 1), got {value!r:.60}")
        times.append((pair[0], float(share)))
    two = TwoMoments(name, (times[0], times[1]), sides[0], sides[1], tuple(labels), function)
    return [_OfMoments(name, name, two=two)]
