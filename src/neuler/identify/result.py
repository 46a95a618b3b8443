"""What the task of identification returns: numbers, files, pictures and a page of a robot that was identified."""

from __future__ import annotations

import json
import math
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from neuler import formats
from neuler.errors import InputError, NeulerError
from neuler.files.ends import written
from neuler.files.series import KINDS, save_series
from neuler.identify.advice import Advice
from neuler.identify.diagnosis import PredictionError
from neuler.identify.estimate import listed
from neuler.identify.identified import Identified
from neuler.identify.least_squares import BADLY
from neuler.identify.series import Series, arrays_of, columns_of, rms
from neuler.identify.words import finite
from neuler.plain import shown

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = NDArray[np.float64]

TABLES = ("npz",)
"""Kinds of tables that are written by default."""
ROBOTS = ("identified.urdf", "identified.par", "identified.mjcf")
"""Files of the robot; a format that cannot hold it is left out, with a note."""
LEVEL = 0.95
"""Of the intervals."""
_BADLY = "the motion excites badly"
_HEAD = ("name", "value", "sd", "relative_sd", "low", "high", "given", "determined")


@dataclass(frozen=True)
class Parameter:
    """A parameter that was looked for; ``given`` is that of the robot as it was given, ``group`` what acts with it."""

    name: str
    value: float
    sd: float
    """Standard deviation; infinite where it is not determined."""
    relative_sd: float
    """In % of the value."""
    low: float
    high: float
    given: float
    group: str
    determined: bool


@dataclass(frozen=True, eq=False)
class Identification:
    """A robot identified from logs, with what is to be said of it: a :class:`neuler.files.tasks.Result`."""

    title: str
    found: Identified
    runs: tuple[Series, ...]
    """Forces over time, those that were fitted first."""
    advice: tuple[Advice, ...] = ()
    """What would show the directions that are excited badly."""
    settings: dict[str, Any] = field(default_factory=dict)
    seconds: float = 0.0

    # ---- numbers -------------------------------------------------------------------------------------------------

    @property
    def forces(self) -> list[str]:
        """Names of the forces, those of tau."""
        return self.found.robot.coordinates.names("tau")

    @property
    def units(self) -> list[str]:
        """Units of the forces."""
        return self.found.robot.coordinates.units("tau")

    @property
    def notes(self) -> tuple[str, ...]:
        """What is worth knowing about it, in sentences; that the motion excites badly first."""
        told = tuple(dict.fromkeys(self.found.notes))
        if not self.badly:
            return told
        told = tuple(each for each in told if not each.startswith(_BADLY))  # the estimator says it, too
        names = listed([run.name for run in self.runs if not run.held_out])
        condition = finite(self.found.estimate.scaled_condition)
        return (
            f"{names} excites badly: the scaled condition number is {condition}, and above {BADLY:g} "
            "values are not to be relied on one by one, only forces of motions like the fitted ones",
            *told,
        )

    @property
    def converged(self) -> bool:
        """Whether the estimator ended as it should."""
        return bool(self.found.estimate.converged)

    @property
    def badly(self) -> bool:
        """Whether the motion excites badly: forces divided by their deviations, columns by their norms."""
        return self.found.estimate.scaled_condition > BADLY or self.rank < self.directions

    @property
    def rank(self) -> int:
        """How many directions of the parameters the fitted runs show, of ``directions``."""
        return int(self.found.excitation.rank)

    @property
    def directions(self) -> int:
        """How many there are: one for each base parameter, and for each column beside them."""
        return len(self.found.excitation.singular_values)

    @property
    def valid(self) -> bool:
        """Whether values can be relied on one by one: converged, all determined, and by a motion that excites well."""
        return self.converged and not self.badly and not self.found.estimate.undetermined

    def parameters(self) -> list[Parameter]:
        """Every parameter that was looked for, with its uncertainty and interval of 95 %."""
        estimate, base = self.found.estimate, self.found.base
        low, high = estimate.interval(LEVEL).T
        given = dict(zip(base.columns, base.standard.tolist(), strict=True))
        groups: dict[str, str] = {}
        beside = [name for name in estimate.names if name not in given]  # what the given robot has nothing of
        if estimate.names[: len(base)] == base.names:
            given = dict(zip(base.names, base.values.tolist(), strict=True))
            groups = {name: group for name, _, group in base.rows() if group != name}
        given |= dict.fromkeys(beside, 0.0)
        lost = set(estimate.undetermined)
        numbers = np.stack([estimate.values, estimate.sd, estimate.relative_sd, low, high], axis=1).tolist()
        return [
            Parameter(name, value, sd, share, a, b, given.get(name, math.nan), groups.get(name, ""), name not in lost)
            for name, (value, sd, share, a, b) in zip(estimate.names, numbers, strict=True)
        ]

    def errors(self) -> list[tuple[Series, PredictionError]]:
        """Every run with the errors of its forces."""
        return [(run, (self.found.held_out if run.held_out else self.found.fitted)[run.name]) for run in self.runs]

    def summary(self) -> dict[str, Any]:
        """Plain numbers and texts, ready for JSON; None for what is not finite.

        ``rms`` and ``held_out_rms`` are those of all forces and samples together, ``worst_nrmse`` and
        ``worst_held_out_nrmse`` the largest error of a force in % of what was measured. ``fitted`` and ``held_out``
        have by run and force: ``rms``, ``nrmse``, both also of moving rows alone, and ``given_rms``, that of the robot
        before. Parameters are by name: ``value``, ``sd``, ``relative_sd`` (%), ``low`` and ``high`` (95 %), ``given``.
        """
        estimate, base = self.found.estimate, self.found.base
        return {
            "robot": shown(self.found.robot.name),
            "valid": self.valid,
            "converged": self.converged,
            "method": estimate.method,
            "iterations": int(estimate.iterations),
            "rows": int(estimate.samples),
            "rank": self.rank,
            "condition": _plain(estimate.condition),
            "scaled_condition": _plain(estimate.scaled_condition),
            "excites_badly": bool(self.badly),
            "rms": _overall(self.found.fitted),
            "held_out_rms": _overall(self.found.held_out),
            "worst_nrmse": _worst(self.found.fitted),
            "worst_held_out_nrmse": _worst(self.found.held_out),
            "fitted": self._errors(held_out=False),
            "held_out": self._errors(held_out=True),
            "force_units": dict(zip(self.forces, self.units, strict=True)),
            "parameters": {
                shown(each.name): {
                    "value": _plain(each.value), "sd": _plain(each.sd), "relative_sd": _plain(each.relative_sd),
                    "low": _plain(each.low), "high": _plain(each.high), "given": _plain(each.given),
                    "determined": each.determined,
                }
                for each in self.parameters()
            },
            "base_parameters": len(base),
            "without_effect": [shown(name) for name in base.without_effect],
            "undetermined": [shown(name) for name in estimate.undetermined],
            "groups": {
                shown(name): {shown(part): factor for part, factor in group.items()}
                for name, group in base.groups.items()
                if len(group) > 1
            },
            "advice": [shown(str(each)) for each in self.advice],
            "notes": [shown(note) for note in self.notes],
            "settings": _jsonable({**self.found.settings, **self.settings}),
            "seconds": _plain(self.seconds),
        }  # fmt: skip

    def _errors(self, *, held_out: bool) -> dict[str, Any]:
        found = {}
        for run, error in self.errors():
            if run.held_out is held_out:
                moving = error.moving or error
                found[shown(run.name)] = {
                    "rms": self._by_force(error.rms),
                    "nrmse": self._by_force(error.nrmse),
                    "moving_rms": self._by_force(moving.rms),
                    "moving_nrmse": self._by_force(moving.nrmse),
                    "moving_rows": self._by_force(moving.samples),
                    "given_rms": self._by_force(rms(run.measured - run.given)),
                    "robot_rms": self._by_force(rms(run.residual)),
                    "samples": len(run.t),
                }
        return found

    def _by_force(self, values: NDArray[Any]) -> dict[str, float | None]:
        return {shown(name): _plain(x) for name, x in zip(self.forces, values, strict=True)}

    # ---- files ---------------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write one file, by its suffix: .csv parameters, .npz or .parquet forces, .json, .urdf, .par or .mjcf the
        robot."""
        kind = Path(path).suffix.lower().removeprefix(".")
        if kind == "csv":
            self._save_parameters(path)
        elif kind in KINDS:
            self.save_forces(path)
        elif kind == "json":
            with written(path) as file:
                file.write(json.dumps(self.summary(), indent=1, allow_nan=False).encode())
        elif kind in ("urdf", "par", "mjcf"):
            formats.save(self.found.robot, path)
        else:
            raise InputError(
                f"identification: expected a file that ends in .csv, .npz, .parquet, .json, .urdf, .par or .mjcf, got "
                f"{os.fspath(path)!r}"
            )

    def save_forces(self, path: str | os.PathLike[str]) -> None:
        """Write measured and predicted forces of all runs over time, as .csv, .npz or .parquet."""
        units = dict.fromkeys(("t",), "s") | {
            f"{key}_{name}": unit
            for key in ("measured", "predicted", "given")
            for name, unit in zip(self.forces, self.units, strict=True)
        }
        save_series(path, columns_of(self.runs, self.forces), arrays_of(self.runs, self.forces), units)

    def _save_parameters(self, path: str | os.PathLike[str]) -> None:
        rows = self.parameters()
        table = {key: np.array([getattr(each, key) for each in rows]) for key in _HEAD}
        table["determined"] = table["determined"].astype(int)
        save_series(path, table, {}, {})

    def save_robot(self, folder: Path) -> tuple[list[Path], list[str]]:
        """Write the robot in every format that can hold it; the files, and why others are not among them."""
        files, lost = [], []
        for name in ROBOTS:
            try:
                formats.save(self.found.robot, folder / name)
                files.append(folder / name)
            except NeulerError as error:
                (folder / name).unlink(missing_ok=True)  # one of an earlier run would not be this robot
                lost.append(f"{name} is not written: {error}")
        return files, lost

    # ---- pictures ------------------------------------------------------------------------------------------------

    def plot(self, *, figure: Figure | None = None) -> Figure:
        """Draw measured and predicted forces: a row of panels a force, a column a run."""
        from neuler.identify.pictures import overview

        return overview(self, figure)

    def page(self, path: str | os.PathLike[str], *, title: str | None = None) -> None:
        """Write an HTML page: notes, errors, parameters with their uncertainty, forces, what was not identified."""
        from neuler.identify.page import page_of

        content = page_of(self, title or self.title)
        with written(path) as file:
            file.write(content.encode("utf-8"))

    # ---- in words ------------------------------------------------------------------------------------------------

    def __str__(self) -> str:
        """A few lines and two tables: errors by run and force, and parameters."""
        from neuler.identify.words import told

        return told(self)


def _overall(errors: dict[str, PredictionError]) -> float | None:
    """Root mean square over all runs, forces and samples."""
    counts = [float(error.samples.sum()) for error in errors.values()]
    squares = [error.overall**2 * count for error, count in zip(errors.values(), counts, strict=True)]
    return _plain(math.sqrt(sum(squares) / sum(counts))) if errors and sum(counts) else None


def _worst(errors: dict[str, PredictionError]) -> float | None:
    shares = [x for error in errors.values() for x in error.nrmse.tolist() if math.isfinite(x)]
    return _plain(max(shares)) if shares else None


def _plain(x: Any) -> float | None:
    return float(x) if math.isfinite(x) else None


def _jsonable(value: Any) -> Any:
    """Settings as JSON has them: arrays as lists, None for what is not finite, texts that cannot steer a terminal."""
    if isinstance(value, dict):
        return {shown(str(key)): _jsonable(each) for key, each in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [_jsonable(each) for each in value]
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        return _plain(value)
    return None if value is None else shown(str(value))
