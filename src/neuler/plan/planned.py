"""What planning returns: a motion with exact derivatives, how well it keeps its limits, and the solver's verdict.

``valid`` and ``optimal`` are different statements. Valid is what was checked: every limit within 1e-6 (1 + |bound|), or
the tolerance that was asked for, on a grid much finer than that of the solve. Optimal is the solver's status.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from neuler.moments.clearance import HalfSpace
from neuler.moments.measures import Measure
from neuler.motions.motion import Bound, Motion
from neuler.motions.spline_motion import SplineMotion
from neuler.optimize.dense import TOLERANCE
from neuler.optimize.programme import Array
from neuler.plain import count, number, shown
from neuler.plan.options import SOLVED
from neuler.robot import Robot
from neuler.view.motion_figures import verdict

_TOLD = 6
"""Violations that ``print`` shows at most."""


@dataclass(frozen=True)
class Violation:
    """A limit that does not hold: what it limits, when, and by how much it is violated."""

    name: str
    """What is limited: "torque"."""
    label: str
    """The joint, or the row of the measure."""
    time: float
    """When it is violated most (s)."""
    value: float
    bound: float
    remedy: str = ""
    """What to relax."""
    family: str = ""
    """The family of its limit; its name where there is none."""
    unit: str = ""
    """Of value, bound and excess; "" where it is not known."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "family", self.family or self.name)

    @property
    def excess(self) -> float:
        """By how much the bound is violated."""
        return abs(self.value - self.bound)

    @property
    def relative(self) -> float:
        """The excess as a share of 1 + |bound|; a valid plan has at most ``valid_to``."""
        return self.excess / (1.0 + abs(self.bound))

    def __str__(self) -> str:
        of = f" of {self.label}" if self.label else ""
        told = f"{self.name}{of} at {number(self.time)} s is {number(self.value, 8)}, bound {number(self.bound, 8)}"
        return f"{told} (passed by {number(self.excess, 3)})" + (f"; {self.remedy}" if self.remedy else "")


@dataclass(frozen=True)
class FamilyReport:
    """How a family of limits holds between grid points, and what its rows in the last programme say."""

    excess: float = 0.0
    """The largest violation on the fine grid, in ``unit``; zero where all limits of the family hold."""
    unit: str = ""
    name: str = ""
    """The measure that is violated most, as a share of 1 + |bound|; "" where none is."""
    label: str = ""
    time: float = 0.0
    """Time of the largest violation, from the start of the motion (s)."""
    rows: int = 0
    """Its rows in the last programme. Ranges of positions have none: they bound variables."""
    active: int = 0
    """How many of these are active."""
    multiplier: float = 0.0
    """The largest multiplier of its rows: by how much the objective falls where a bound is relaxed by one unit,
    positive at an upper bound, negative at a lower one."""


@dataclass(frozen=True, eq=False)
class Planned(Motion):
    """A motion that was planned, valid or not; ``print(planned)`` says which, and what to relax."""

    robot: Robot
    motion: SplineMotion
    """The splines of all phases, from which everything else is computed."""
    valid: bool
    """Whether every limit holds, checked on a fine grid; of robots with Coulomb friction, as they are given."""
    optimal: bool
    """Whether the solver says that it is a local optimum."""
    status: str
    """optimal, acceptable, infeasible, limit, interrupted or failed."""
    message: str
    objective: float
    worst_violation: float
    """The largest excess over a bound, as a share of 1 + |bound|; zero if none is violated."""
    violations: tuple[Violation, ...] = ()
    """The worst of every limit that is violated, the largest first."""
    bounds: tuple[Bound, ...] = ()
    """Limits, to be drawn beside what they limit."""
    iterations: int = 0
    seconds: float = 0.0
    """Time that the whole solve took (s), compiling apart."""
    first_solve_seconds: float = 0.0
    """Time until the first solve ended that has all rows which are posed, those of lazy limits among them (s): the
    search for a feasible motion before it counts, refinement after it does not, and compiling neither."""
    grid_objective: float = math.nan
    """The objective as the solver's grid has it; ``objective`` is that of the motion, on many more points."""
    first_solve_status: str = ""
    """The solver's status of that solve."""
    function_seconds: float = 0.0
    """Part of ``seconds`` that was spent in the functions of the programme."""
    compile_seconds: float = 0.0
    """Time that making these functions took (s); little where the cache had them."""
    solver: str = ""
    phases: tuple[str, ...] = ()
    """Names of the phases; none if there is one."""
    notes: tuple[str, ...] = ()
    """What is worth knowing about the plan, in sentences."""
    parts: Mapping[str, float] = field(default_factory=dict)
    """Terms of the objective by name, weights included; none if there is one."""
    scenery: tuple[Any, ...] = ()
    """Obstacles of the limits, to be drawn."""
    valid_smoothed: bool | None = None
    """Whether every limit holds where Coulomb friction is rounded off, as in the solve; None: as ``valid``."""
    rounded: bool = False
    """Whether ``valid`` is of the robot with its Coulomb friction rounded off: with springs or loops it is not judged
    as it is given."""
    valid_to: float = TOLERANCE
    """How much a limit may be violated in a valid plan, as a share of 1 + |bound|."""
    variables: int = 0
    """Of the last programme, without those that linear equalities eliminate."""
    constraints: int = 0
    """Rows of the last programme; bounds of variables are none."""
    active: int = 0
    """How many of these are active: equalities, rows at a bound, rows whose multiplier exceeds their slack."""
    family_reports: Mapping[str, FamilyReport] = field(default_factory=dict)
    """By family of limits, those that hold among them: the largest violation on the fine grid, and active rows."""
    checked_points: int = 0
    """Points of the fine grid, at least 1000 of every phase; near violations it is looked closer still."""

    # ---- the motion --------------------------------------------------------------------------------

    @property
    def duration(self) -> float:
        """Duration of all phases together (s)."""
        return float(self.motion.duration)

    @property
    def breaks(self) -> Array:
        """Times at which phases begin, and the end (s)."""
        return self.motion.breaks

    @property
    def knots(self) -> Array:
        """Times between which the motion is smooth (s)."""
        return self.motion.knots

    @property
    def robots(self) -> tuple[Robot, ...]:
        """The robot of each phase: with its payload, and its friction rounded off at rest, where there is any."""
        return self.motion.robots

    def evaluate(self, t: Array, order: int) -> list[Array]:
        """Positions (N, nq) and derivatives up to ``order``, (N, nv) each, at times t (N,)."""
        return self.motion.evaluate(t, order)

    def along(self, what: Measure, t: Array) -> Array:
        """A measure at times t (N,), (N, rows)."""
        return self.motion.along(what, t)

    def _torques(self, t: Array) -> Array:
        return self.motion.torques(t)

    def _torque_rates(self, t: Array) -> Array:
        return self.motion.torque_rates(t)

    @property
    def contact_frames(self) -> tuple[str, ...]:
        """Links and frames on which the ground acts in some phase."""
        return self.motion.contact_frames

    @property
    def ground(self) -> HalfSpace:
        """The plane on which contacts stand."""
        return self.motion.ground

    def _contact_loads(self, t: Array) -> Array:
        return self.motion._contact_loads(t)

    def velocity_jump(self, phase: int) -> Array:
        """By how much velocities jump where a phase begins, (nv): after an impact."""
        return self.motion.velocity_jump(phase)

    def _forces(self, t: Array) -> Array:
        return self.motion.forces(t)

    @property
    def force_names(self) -> tuple[str, ...]:
        """Joints whose internal forces :meth:`forces` gives."""
        return self.motion.force_names

    @property
    def solver_seconds(self) -> float:
        """Time (s) outside of the programme's functions: that of the solver, of checks and of refinement."""
        return max(self.seconds - self.function_seconds, 0.0)

    @property
    def families(self) -> dict[str, float]:
        """By family of limits: the sum of its violations, each as a share of 1 + |bound|; none that all hold."""
        found: dict[str, float] = {}
        for each in self.violations:
            found[each.family] = found.get(each.family, 0.0) + each.relative
        return found

    # ---- in words ----------------------------------------------------------------------------------

    @property
    def headline(self) -> str:
        """How long it is, whether it is valid and optimal."""
        return verdict(self.duration, self.valid, self.optimal)

    @property
    def facts(self) -> Sequence[str]:
        """The lines of ``print(planned)``."""
        return str(self).splitlines()

    def summary(self) -> dict[str, Any]:
        """Plain numbers and texts, ready for JSON; None for what is not finite."""
        return {
            "robot": shown(self.robot.name),
            "valid": bool(self.valid),
            "valid_smoothed": bool(self.valid if self.valid_smoothed is None else self.valid_smoothed),
            "optimal": bool(self.optimal),
            "status": self.status,
            "message": shown(self.message),
            "duration": _plain(self.duration),
            "objective": _plain(self.objective),
            "parts": {shown(name): _plain(value) for name, value in self.parts.items()},
            "worst_violation": _plain(self.worst_violation),
            "violations": [
                {
                    "name": each.name,
                    "label": shown(each.label),
                    "time": _plain(each.time),
                    "value": _plain(each.value),
                    "bound": _plain(each.bound),
                    "excess": _plain(each.excess),
                    "remedy": shown(each.remedy),
                }
                for each in self.violations
            ],
            "families": {shown(name): _plain(value) for name, value in self.families.items()},
            "variables": int(self.variables),
            "constraints": int(self.constraints),
            "active": int(self.active),
            "iterations": int(self.iterations),
            "seconds": _plain(self.seconds),
            "first_solve_seconds": _plain(self.first_solve_seconds),
            "grid_objective": _plain(self.grid_objective),
            "first_solve_status": self.first_solve_status,
            "function_seconds": _plain(self.function_seconds),
            "solver_seconds": _plain(self.solver_seconds),
            "compile_seconds": _plain(self.compile_seconds),
            "solver": self.solver,
            "phases": [shown(name) for name in self.phases],
            "breaks": [_plain(x) for x in self.motion.breaks],
            "notes": [shown(note) for note in self.notes],
        }

    def __str__(self) -> str:
        """What came out: valid or not, optimal or not, how long, what is passed where and what to relax."""
        verdict = "valid" if self.valid else "NOT valid"
        if self.valid_smoothed and not self.valid:
            verdict = "valid for the robot with rounded friction only, NOT valid as it is given"
        elif self.rounded:
            verdict += " for the robot with rounded friction"
        word = "optimal" if self.optimal else f"not optimal ({self.status})"
        lines = [f"plan of {shown(self.robot.name)!r}: {verdict}; {word} says {self.solver or 'the solver'}"]
        terms = " = " + " + ".join(f"{number(x)} {shown(name)}" for name, x in self.parts.items()) if self.parts else ""
        value = number(self.objective, 6) if math.isfinite(self.objective) else "not finite"
        lines.append(f"duration {number(self.duration, 6)} s, objective {value}{terms}")
        if len(self.phases) > 1:
            spans = zip(self.phases, np.diff(self.motion.breaks), strict=True)
            lines.append("phases: " + ", ".join(f"{shown(name)} {number(float(x))} s" for name, x in spans))
        lines.append(
            f"{count(self.iterations, 'iteration')} in {number(self.seconds, 3)} s, of which "
            f"{number(self.function_seconds, 3)} s inside functions; compiled in {number(self.compile_seconds, 3)} s"
        )
        if self.message and (not self.valid or self.status == "failed"):
            lines.append(f"the solver's message: {shown(self.message)}")
        lines.append(self._worst())
        for each in self.violations[: 0 if self.valid else _TOLD]:
            lines.append(f"  {shown(str(each))}")
        if not self.valid and len(self.violations) > _TOLD:
            lines.append(f"  and {len(self.violations) - _TOLD} more")
        return "\n".join([*lines, *(f"note: {shown(note)}" for note in self.notes)])

    def _worst(self) -> str:
        if not math.isfinite(self.worst_violation):
            return "the motion is not finite: no limit could be looked at"
        if self.worst_violation <= 0.0:
            return "every limit holds"
        told = f"worst violation {number(self.worst_violation, 2)} of 1 + |bound|"
        return (
            f"{told}, which counts as held" if self.valid else f"{told}; up to {self.valid_to:g} would count as held:"
        )

    def __repr__(self) -> str:
        """Its robot, its duration, whether it is valid, and the solver's status."""
        word = "valid" if self.valid else "not valid"
        return f"<plan of {self.robot.name!r}: {number(self.duration)} s, {word}, {self.status}>"


def with_costs(best: Planned, every: Sequence[Planned]) -> Planned:
    """The best of several solves, one after the other, with the iterations and seconds of all of them.

    The first solve is that of the first plan whose first solve was successful; what was spent before it counts.
    """
    solved = next((k for k, each in enumerate(every) if each.first_solve_status in SOLVED), 0)
    return replace(
        best,
        seconds=sum(each.seconds for each in every),
        first_solve_seconds=sum(each.seconds for each in every[:solved]) + every[solved].first_solve_seconds,
        first_solve_status=every[solved].first_solve_status,
        iterations=sum(each.iterations for each in every),
        function_seconds=sum(each.function_seconds for each in every),
    )


def _plain(x: Any) -> float | None:
    return float(x) if math.isfinite(x) else None
