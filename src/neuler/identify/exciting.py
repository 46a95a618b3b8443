"""What ``excite`` returns: a motion, and how well it determines parameters."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from neuler.identify.diagnosis import Direction, Excitation
from neuler.plain import number, shown
from neuler.plan.planned import Planned
from neuler.solve.base_parameters import BaseParameters

SHOWN, NAMED = 3, 4
"""Directions that ``print`` shows, and columns of each."""


@dataclass(frozen=True)
class Start:
    """One of the motions that were tried."""

    seed: int
    first: float
    """Scaled condition number of the random motion it began with."""
    scaled_condition: float
    log_det: float
    valid: bool
    iterations: int
    seconds: float


@dataclass(frozen=True, eq=False)
class ExcitingMotion(Planned):
    """A periodic motion that determines base parameters well, with limits checked between the solver's grid points.

    All figures refer to ``samples`` rows at uniform times; with ``known`` information, to both together.
    """

    base: BaseParameters = field(kw_only=True)
    """The base parameters for which it was designed."""
    excitation: Excitation = field(kw_only=True)
    """Singular values of this motion alone, and its worst directions."""
    scaled_condition: float = field(kw_only=True)
    """Condition number of the regressor with columns scaled to unit norm; it does not depend on units."""
    condition: float = field(kw_only=True)
    """Condition number of the unscaled regressor, in SI units."""
    log_det: float = field(kw_only=True)
    """log det of the information matrix."""
    known_condition: float | None = field(kw_only=True, default=None)
    """The scaled condition number of the ``known`` information alone; None without any."""
    kind: str = field(kw_only=True, default="spline")
    """Kind of its profiles: "spline" or "fourier"."""
    at_rest: bool = field(kw_only=True, default=False)
    """Whether it begins and ends at rest; otherwise it does so in the same moving state."""
    samples: int = field(kw_only=True, default=0)
    tried: tuple[Start, ...] = field(kw_only=True, default=())
    """All starts, in order; the motion is the best of them."""

    @classmethod
    def of(cls, planned: Planned, **figures: Any) -> ExcitingMotion:
        """A planned motion with its figures."""
        return cls(**{each.name: getattr(planned, each.name) for each in fields(Planned)}, **figures)

    def summary(self) -> dict[str, Any]:
        """Plain numbers and texts, ready for JSON; None for what is not finite."""
        figures = {
            name: float(value) if np.isfinite(value) else None
            for name, value in (
                ("scaled_condition", self.scaled_condition),
                ("condition", self.condition),
                ("log_det", self.log_det),
            )
        }
        more = {"kind": self.kind, "at_rest": self.at_rest, "columns": list(self.base.names)}
        return super().summary() | figures | more | {"seeds": [each.seed for each in self.tried]}

    def __str__(self) -> str:
        """How good it is, how it keeps its limits, what remains worst, and what it took."""
        moves = "from rest to rest" if self.at_rest else "periodic"
        head = (
            f"exciting motion of {shown(self.robot.name)!r}: {number(self.duration)} s, {self.kind}, {moves}, "
            f"{'valid' if self.valid else 'NOT valid'}"
        )
        before = [] if self.known_condition is None else [("scaled condition before it", f"{self.known_condition:.3g}")]
        both = " with what was known" if before else ""
        worst = max(self.worst_violation, 0.0)
        rows = [
            ("base parameters", f"{len(self.base)}"),
            *before,
            (f"scaled condition{both}", f"{self.scaled_condition:.3g}"),
            (f"plain condition{both}", f"{self.condition:.3g}"),
            ("log det of the information", f"{self.log_det:.4g}"),
            ("worst violation, of 1 + |bound|", f"{worst:.2g} at {self.checked_points} points"),
            ("iterations, seconds, compiling", f"{self.iterations}, {self.seconds:.3g}, {self.compile_seconds:.3g}"),
            ("seeds", ", ".join(f"{each.seed}: {each.scaled_condition:.3g}" for each in self.tried)),
        ]
        weak = [f"least determined: {_told(each)}" for each in self.excitation.directions[:SHOWN]]
        wrong = [f"  {shown(str(each))}" for each in self.violations[: 0 if self.valid else 6]]
        notes = [f"note: {shown(note)}" for note in self.notes]
        width = max(len(name) for name, _ in rows)
        return "\n".join([head, *(f"  {name:<{width}}  {value}" for name, value in rows), *weak, *wrong, *notes])

    def __repr__(self) -> str:
        """Its robot, its duration, its condition number, and whether it is valid."""
        word = "valid" if self.valid else "not valid"
        return (
            f"<exciting motion of {self.robot.name!r}: {number(self.duration)} s, scaled condition "
            f"{self.scaled_condition:.3g}, {word}>"
        )


def _told(direction: Direction) -> str:
    """Its largest coefficients, and its singular value."""
    pairs = list(zip(direction.columns, direction.coefficients, strict=True))
    parts = [f"{c:+.2f} {shown(name)}" for name, c in pairs[:NAMED]]
    return f"{' '.join(parts)}{' ...' * (len(pairs) > NAMED)} (relative singular value {direction.singular_value:.2g})"
