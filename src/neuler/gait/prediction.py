"""What a prediction of walking gives back: the walk that was asked for, the plan that was found, and its stride."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuler.errors import InputError
from neuler.gait.starts import StartReport, best_start, rank, solved_first
from neuler.gait.stride import JOINTS, Stride
from neuler.gait.walk import Walk
from neuler.inputs import told
from neuler.motions.motion import Motion
from neuler.plain import columns, count, number, safe, shown
from neuler.plan.options import SOLVED
from neuler.plan.planned import FamilyReport, Planned, with_costs

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FILES = {
    "csv": "stride.csv", "parquet": "stride.parquet", "mot": "angles.mot", "sto": "forces.sto", "npz": "walk.npz",
}  # fmt: skip
"""Tables by their suffix: curves of the stride, angles and forces for OpenSim, samples of the plan."""
TABLES = ("csv", "mot", "sto", "npz")
"""That are written unless others are asked for."""
KNEE = "knee in swing"
"""The family of the limit on the swinging knee."""
DEGREES = 180.0 / math.pi
_UNITS = {"rad": ("deg", DEGREES), "rad/s": ("deg/s", DEGREES), "of weight": ("body weights", 1.0)}
"""Units of limits as summaries have them, and what numbers are multiplied by."""


@dataclass(frozen=True, eq=False)
class Prediction:
    """A walk that was predicted, valid or not; ``print(prediction)`` shows peaks, angles and what is violated.

    >>> from neuler import gait
    >>> found = gait.predict(gait.Walk(speed=1.2, step=0.6), seconds=0.01, refine=False)  # as far as it comes
    >>> found.valid, found.summary()["speed"], len(found.stride.percent)
    (False, 1.2, 401)
    """

    walk: Walk
    """What was asked for."""
    planned: Planned
    """What was found: one step or a stride, a motion."""
    starts: tuple[StartReport, ...] = ()
    """What came of each start, where there were several."""
    remarks: tuple[str, ...] = ()
    """About where the search began, in sentences."""

    @cached_property
    def stride(self) -> Stride:
        """Curves of the right leg over a stride, 401 samples; of a symmetric walk the step and its mirror image."""
        return Stride.of(self.planned, symmetric=self.walk.symmetric)

    @property
    def valid(self) -> bool:
        """Whether every limit holds on the fine grid."""
        return self.planned.valid

    @property
    def notes(self) -> tuple[str, ...]:
        """What is worth knowing about it, in sentences."""
        return (*self.remarks, *self.planned.notes)

    @property
    def objectives(self) -> tuple[float, float] | None:
        """The least and the largest objective of all starts that were solved; None where there was one start."""
        found = [each.objective for each in self.starts if each.status in SOLVED]
        return (min(found), max(found)) if found else None

    # ---- numbers ------------------------------------------------------------------------------------------------

    def summary(self) -> dict[str, Any]:
        """Plain numbers and texts, ready for JSON; None for what is not finite.

        Forces are in body weights, angles in degrees, lengths in metres. ``fine_grid`` has by family of limits the
        largest violation at 1001 or more points of the step, in the unit that ``fine_grid_units`` says. ``knee_row``:
        whether the limit on the swinging knee is active, and by how much the objective falls where it is relaxed by a
        degree; None where there is none. Keys of :meth:`neuler.gait.Stride.summary` follow, without its ranges.
        """
        planned, person = self.planned, self.walk.person
        curves = {name: value for name, value in self.stride.summary().items() if name != "ranges"}
        units = {name: _UNITS.get(each.unit, (each.unit, 1.0)) for name, each in planned.family_reports.items()}
        return {
            "robot": shown(planned.robot.name),
            "valid": bool(planned.valid),
            "optimal": bool(planned.optimal),
            "status": planned.status,
            "message": shown(planned.message),
            "solver": planned.solver,
            "stature": person.stature,
            "mass": person.mass,
            "sex": person.sex,
            **curves,
            "speed": float(self.walk.speed),
            "step": float(self.walk.step),
            "objective": _plain(planned.objective),
            "parts": {shown(name): _plain(value) for name, value in planned.parts.items()},
            "worst_violation": _plain(planned.worst_violation),
            "fine_grid": {name: _plain(each.excess * units[name][1]) for name, each in planned.family_reports.items()},
            "fine_grid_units": {name: unit for name, (unit, _) in units.items()},
            "fine_grid_points": planned.checked_points,
            "knee_row": _knee(planned.family_reports.get(KNEE)),
            "seconds": _plain(planned.seconds),
            "first_solve_seconds": _plain(planned.first_solve_seconds),
            "grid_objective": _plain(planned.grid_objective),
            "first_solve_status": planned.first_solve_status,
            "function_seconds": _plain(planned.function_seconds),
            "solver_seconds": _plain(planned.solver_seconds),
            "compile_seconds": _plain(planned.compile_seconds),
            "iterations": int(planned.iterations),
            "variables": int(planned.variables),
            "constraints": int(planned.constraints),
            "active": int(planned.active),
            "starts": [
                {"seed": each.seed, "objective": _plain(each.objective), "valid": each.valid,
                 "status": shown(each.status), "seconds": each.seconds}
                for each in self.starts
            ],
            "objectives": None if self.objectives is None else list(self.objectives),
            "notes": [shown(note) for note in self.notes],
        }  # fmt: skip

    # ---- files and pictures -------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str], tables: Sequence[str] = TABLES) -> None:
        """Write tables into a folder: stride.csv, angles.mot, forces.sto and walk.npz; or one file, by its suffix.

        .csv and .parquet have all curves of the stride, .mot angles and .sto ground forces for OpenSim, .npz samples of
        the step, which ``neuler.motions.load`` reads back. ``tables``: suffixes of what goes into a folder.
        """
        where = Path(path)
        kind = where.suffix.lower().removeprefix(".")
        if kind in FILES:
            self._save(where, kind)
            return
        if kind and not where.is_dir():
            known = ", ".join(f".{each}" for each in FILES)
            raise InputError(f"prediction: expected a folder, or a file that ends in {known}, got {os.fspath(path)!r}")
        for each in tables:
            if each not in FILES:
                raise InputError(f"prediction: there is no table {each!r}; there are {', '.join(FILES)}")
        where.mkdir(parents=True, exist_ok=True)
        for each in tables:
            self._save(where / FILES[each], each)

    def _save(self, path: Path, kind: str) -> None:
        if kind == "npz":
            self.planned.save(path)
        else:
            self.stride.save(path)

    def figures(self) -> dict[str, Figure]:
        """Figures by name: ``curves`` over the stride beside measured ones, and ``strip``, stick figures."""
        return {"curves": self.stride.plot(), "strip": self.stride.strip()}

    def plot(self, *, figure: Figure | None = None) -> Figure:
        """Draw the curves of the stride: the figure of :meth:`neuler.gait.Stride.plot`."""
        return self.stride.plot(figure=figure)

    def page(self, path: str | os.PathLike[str], *, title: str | None = None) -> None:
        """Write an HTML page that plays the stride."""
        self.stride.motion().page(path, title=title or self.headline)

    # ---- in words -----------------------------------------------------------------------------------------------

    @property
    def headline(self) -> str:
        """Who walks how: one line."""
        person = self.walk.person
        who = f"a {person.sex} person of {number(person.stature)} m and {number(person.mass)} kg"
        return f"walk of {who}: {number(self.walk.speed)} m/s, steps of {number(self.walk.step)} m"

    def __str__(self) -> str:
        """A few lines and two tables: forces and angles of the leg, and how families of limits hold."""
        planned, facts = self.planned, self.stride.summary()
        verdict = "valid" if planned.valid else "NOT valid"
        word = "optimal" if planned.optimal else f"not optimal ({planned.status})"
        lines = [
            self.headline,
            f"{verdict}; {word} says {planned.solver or 'the solver'}; objective {number(planned.objective, 6)}",
            f"{count(planned.iterations, 'iteration')} in {number(planned.seconds, 3)} s (first solve "
            f"{number(planned.first_solve_seconds, 3)} s), {number(planned.function_seconds, 3)} s of it in functions; "
            f"{planned.variables} variables, {planned.constraints} constraints, {planned.active} active",
        ]
        if self.objectives is not None:
            low, high = (number(x, 6) for x in self.objectives)
            lines.append(f"best of {count(len(self.starts), 'start')}, objectives from {low} to {high}")
        peaks = ", ".join(number(x, 3) for x in facts["grf_peaks"]) or "none"
        valley = "none" if facts["grf_valley"] is None else number(facts["grf_valley"], 3)
        lines.append(f"vertical force, body weights: peaks {peaks}, valley {valley}")
        lines.append(
            f"knee flexion, degrees: {_told(facts['stance_knee_deg'])} in stance, {_told(facts['swing_knee_deg'])} in "
            "swing"
        )
        lines += ["", self._leg(facts), "", self._limits()]
        return "\n".join([*lines, *(f"note: {shown(note)}" for note in self.notes)])

    def _leg(self, facts: dict[str, Any]) -> str:
        angles = {joint: self.stride.angle(joint) for joint in JOINTS}
        rows = [
            ["peak joint force, body weights", *(_told(facts["peak_force"][joint]) for joint in JOINTS)],
            ["peak torque, N m", *(_told(facts["peak_torque"][joint]) for joint in JOINTS)],
            ["least angle, degrees", *(_told(float(angles[joint].min())) for joint in JOINTS)],
            ["largest angle, degrees", *(_told(float(angles[joint].max())) for joint in JOINTS)],
            ["RMS distance to measured, degrees", *(_told(facts[f"rms_{joint}_deg"]) for joint in JOINTS)],
        ]
        return columns(("right leg", *JOINTS), rows)

    def _limits(self) -> str:
        rows = []
        for name, each in self.planned.family_reports.items():
            unit, factor = _UNITS.get(each.unit, (each.unit, 1.0))
            where = f"{each.name} {each.label}".strip()
            place = f"{where} at {number(each.time, 3)} s" if each.excess > 0.0 else ""
            rows.append([name, place, number(each.excess * factor, 3), unit])
        head = "limits", f"worst of {self.planned.checked_points} points of the step", "violation", "unit"
        return columns(head, safe(rows), left=2)

    def __repr__(self) -> str:
        """Who walks how, whether it is valid, and the solver's status."""
        verdict = "valid" if self.valid else "not valid"
        return f"<{self.headline}; {verdict}, {self.planned.status}>"


def predict(
    walk: Walk, *, start: Walk | Motion | None = None, starts: int = 1, seed: int = 0, workers: int | None = None,
    progress: Any = None, **options: Any,
) -> Prediction:  # fmt: skip
    """Solve a walk and return its prediction.

    ``start``: a motion to begin with, or another walk, which is solved first (once in a process) and begun with; by
    default ``walk.start()``. Where the solver does not call what it finds from there optimal, the walk is solved from
    its own start, too, and the better one is kept. ``starts``: solve so many times, from the start and from perturbed
    ones that follow from ``seed``, in ``workers`` processes (all cores), and keep the best. ``options`` are those of
    ``plan.Plan.solve``.

    >>> from neuler import gait
    >>> found = gait.predict(gait.Walk(speed=1.2, step=0.6), seconds=0.01, refine=False)
    >>> found.planned.status
    'limit'
    """
    if not isinstance(walk, Walk):
        raise InputError(f"predict: a walk is needed, gait.Walk(...), got {told(walk)}")
    if start is not None and not isinstance(start, Walk | Motion):
        raise InputError(f"predict: start must be a gait.Walk or a motion, got {told(start)}")
    guess, remarks = _begun(start, options) if isinstance(start, Walk) else (start, ())
    if starts != 1:
        planned, reports = best_start(walk, guess or walk.start(), starts, seed, workers, progress, options)
        return Prediction(walk, planned, reports, remarks)
    if guess is None:
        return Prediction(walk, walk.solve(progress=progress, **options), (), remarks)
    found = [walk.solve(progress=progress, guess=guess, **options)]
    if found[0].status in ("acceptable", "failed", "infeasible"):
        found.append(walk.solve(progress=progress, **options))
        better = "that" if rank(found[1]) < rank(found[0]) else "the first"
        remarks = (*remarks, f"which ended {found[0].status}; solved from its own start, too, and kept {better}")
    return Prediction(walk, with_costs(min(found, key=rank), found), (), remarks)


def _begun(start: Walk, options: dict[str, Any]) -> tuple[Planned | None, tuple[str, ...]]:
    """The solve of a walk to begin with, and a sentence about it; None where it was not solved."""
    found = solved_first(start, options)
    which = f"the walk at {start.speed:g} m/s with steps of {start.step:g} m"
    if found.status in SOLVED:
        return found, (f"began with {which}",)
    return None, (f"{which}, to begin with, was not solved ({found.status}); began with its own start",)


def _knee(report: FamilyReport | None) -> dict[str, Any] | None:
    if report is None or not report.rows:
        return None
    return {"active": bool(report.active), "multiplier": _plain(report.multiplier / DEGREES)}


def _told(value: float | None) -> str:
    return "-" if value is None else number(value, 3)


def _plain(x: float) -> float | None:
    return float(x) if math.isfinite(x) else None
