"""Profiles that repeat, and pairs that change places: linear relations of control points, taken away.

q_end^(k)(1) = sign q_start^(k)(0) for k = 0 ... order: a cycle, or half a cycle of a gait that is mirrored in the next.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from neuler.errors import InputError
from neuler.inputs import names, number, whole
from neuler.naming import hint
from neuler.optimize.elimination import Equality
from neuler.plan import symmetry
from neuler.plan.model import Model
from neuler.plan.segment import Segment


@dataclass(frozen=True)
class Relation:
    """Profile ``end`` ends as ``sign`` times the profile ``start`` began, with derivatives up to ``order``.

    ``shift`` is added to the position: a joint that moves on by so much in every cycle.
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

    def check(self, model: Model, degree: int, phases: int) -> None:
        """Refuse names and orders that are not there."""
        for name in (self.end, self.start):
            if name not in model.names:
                raise InputError(f"relation: there is no profile {name!r}; {hint(name, model.names)}")
        if self.order is not None and not 0 <= self.order < degree:
            raise InputError(f"relation of {self.end!r}: order must be from 0 to {degree - 1}, got {self.order!r}")
        if model.free and self.order != 0:
            raise InputError(
                f"relation of {self.end!r}: on free knots rates are not linear; use knots='uniform', or order=0"
            )
        if phases > 1 and self.order != 0:
            raise InputError(
                f"relation of {self.end!r}: over several phases rates are not linear in control points; use one phase "
                "with limits in windows (when=...), or order=0"
            )

    def equalities(self, model: Model, segments: Sequence[Segment]) -> list[Equality]:
        """Of control points."""
        first, last = segments[0], segments[-1]
        order = last.degree - 1 if self.order is None else self.order
        found = []
        for k in range(order + 1):
            terms = dict(last.coefficients(1.0, k, model.names.index(self.end)))
            for place, value in first.coefficients(0.0, k, model.names.index(self.start)).items():
                terms[place] = terms.get(place, 0.0) - self.sign * value
            name = f"relation of {self.end} to {self.start}"
            found.append(Equality(terms, self.shift if k == 0 else 0.0, name))
        return found


@dataclass(frozen=True)
class Mirror:
    """left(s) = sign right(s + shift) at every share s of a cycle that repeats: of two profiles, all control points."""

    left: str
    right: str
    sign: float = 1.0
    shift: float = 0.5

    def __post_init__(self) -> None:
        names("mirror: profiles", [self.left, self.right])
        number(f"mirror of {self.left!r}: sign", self.sign)
        number(f"mirror of {self.left!r}: shift", self.shift)

    def check(self, model: Model, degree: int, phases: int) -> None:
        """Refuse names that are not there, phases and knots that move."""
        for name in (self.left, self.right):
            if name not in model.names:
                raise InputError(f"mirror: there is no profile {name!r}; {hint(name, model.names)}")
        if self.left == self.right:
            raise InputError(f"mirror: {self.left!r} cannot be its own mirror image; plan.repeats makes it repeat")
        if phases > 1 or model.free:
            raise InputError(f"mirror of {self.left!r}: it takes one phase on knots that stay")

    def equalities(self, model: Model, segments: Sequence[Segment]) -> list[Equality]:
        """Of control points."""
        (segment,) = segments
        profiles = [model.names.index(name) for name in (self.left, self.right)]
        places = [segment.first + i * segment.nc + k for k in profiles for i in range(segment.m)]
        table = symmetry.mirrored(segment.knots, segment.degree, self.sign, self.shift).tocsr()
        name = f"mirror of {self.left} and {self.right}"
        return [
            Equality({places[int(c)]: float(v) for c, v in zip(row.indices, row.data, strict=True)}, 0.0, name)
            for row in (table[k] for k in range(table.shape[0]))
        ]


def mirrors(left: str, right: str, sign: float = 1.0, shift: float = 0.5) -> list[Mirror]:
    """Two joints that do the same, ``sign`` times and ``shift`` of the cycle apart: left(s) = sign right(s + shift).

    Both repeat. The knots must fall on knots when they are shifted: for half a cycle an even number of spans.

    >>> mirrors("left_hip", "right_hip")[0].shift
    0.5
    """
    return [Mirror(left, right, sign, shift)]


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
