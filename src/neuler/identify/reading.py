"""Logs from tables: which column is which number of a robot, in SI, and which rows are which run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler.errors import FormatError, InputError
from neuler.files.columns import MeasuredTable
from neuler.identify.units import CURRENTS, KINDS, checked_units, factor, si_units, torque_factors
from neuler.inputs import number, told
from neuler.naming import closest, hint, listed
from neuler.robot import Robot
from neuler.robot.columns import column_names, spellings
from neuler.trace.recipe import Operand

Array = NDArray[np.float64]

TIMES = ("t", "time")
RUN = "run"
"""The column whose values say which run a row belongs to."""


@dataclass(frozen=True)
class Run:
    """One run of a table, in SI; ``label`` is its value in the column ``run``, empty where there is none."""

    label: str
    t: Array
    arrays: dict[str, Array]
    notes: tuple[str, ...]
    timed: bool = False
    """Whether the unit of its times was said."""


@dataclass(frozen=True)
class _Source:
    """A column of the file, and the factor that the mapping gives it."""

    name: str
    factor: float = 1.0


def runs_of(
    table: MeasuredTable, robot: Robot, columns: Any, units: Any, torque_constants: Any, ratios: Any, rate: Any,
    called: str,
) -> list[Run]:  # fmt: skip
    """Every run of a table, in the order of their first rows."""
    if not robot.nv or not robot.nu:
        raise InputError(f"{called}: robot {robot.name!r} has no driven joint, so there are no forces to measure")
    operands = [Operand(kind, (size,)) for kind, size in _sizes(robot).items()]
    found, given = _matched(table, robot, operands, columns, called)
    everything = {name for key in found for name in (key, found[key].name)}
    told_units = checked_units(units, [*TIMES, *KINDS, *sorted(everything)], called)
    arrays: dict[str, Array] = {}
    currents = False
    for operand in operands:
        names = column_names(robot, operand)
        there = [name for name in names if name in found]
        if not there and operand.name in ("qd", "qdd"):
            continue
        if len(there) < len(names):
            raise FormatError(_missing(names, there, given, found, table.skipped, called))
        sources = [found[name] for name in names]
        si = si_units(robot, operand.name)
        chosen = [
            told_units.get(s.name, told_units.get(name, told_units.get(operand.name, table.units.get(s.name, unit))))
            for s, name, unit in zip(sources, names, si, strict=True)
        ]
        if operand.name == "tau":
            factors, currents = torque_factors(robot, chosen, torque_constants, ratios, called)
        else:
            labels = [f"{called}: column {s.name!r}" for s in sources]
            factors = np.array([factor(*each) for each in zip(labels, chosen, si, strict=True)])
        values = np.stack(_alike([(s.name, _numbers(table, s, called)) for s in sources], called), axis=-1)
        arrays[operand.name] = values * (factors * [s.factor for s in sources])
    t = _times(table, found, told_units, rate, len(arrays["q"]), called)
    used = {source.name for source in found.values()}
    notes = _notes(table, used, currents)
    return _split(table, found, t, arrays, notes, _unit_of_times(table, found, told_units) is not None, called)


def _sizes(robot: Robot) -> dict[str, int]:
    return {"q": robot.nq, "qd": robot.nv, "qdd": robot.nv, "tau": robot.nu}


# ---- names ------------------------------------------------------------------------------------------------------


def _matched(
    table: MeasuredTable, robot: Robot, operands: Sequence[Operand], columns: Any, called: str
) -> tuple[dict[str, _Source], list[str]]:
    """By neuler's name the column of the file; and the names of all columns of the file."""
    known = spellings(robot, operands, {})
    every = [name for operand in operands for name in column_names(robot, operand)]
    canonical = {spelling: every[place] for spelling, place in known.items()} | dict.fromkeys(TIMES, TIMES[0])
    canonical[RUN] = RUN
    names = list(table.columns)
    found: dict[str, _Source] = {}

    def take(target: str, source: _Source) -> None:
        if target in found:
            raise FormatError(
                f"{called}: columns {found[target].name!r} and {source.name!r} are both {target!r}; keep one, or say "
                "which with columns="
            )
        found[target] = source

    mapped: set[str] = set()
    if columns is not None and not isinstance(columns, Mapping):
        raise InputError(
            f"{called}: columns must map names in the file to neuler's, {{'pos_1': 'q1'}}, got {told(columns)}"
        )
    for name, target in (columns or {}).items():
        scale = 1.0
        if isinstance(target, tuple | list) and len(target) == 2:
            target, scale = target[0], number(f"{called}: columns: factor of {name!r}", target[1])
        if not isinstance(target, str) or scale == 0.0:
            raise InputError(
                f"{called}: columns: {name!r} must be mapped to a name, 'q1', or to a name and a factor that is not "
                f"zero, ('q1', -1), got {told((columns or {})[name])}"
            )
        spread = [f"{name}[{k}]" for k in range(len(names)) if f"{name}[{k}]" in table.columns]
        if target in KINDS and spread:
            wanted = column_names(robot, Operand(target, (_sizes(robot)[target],)))
            if len(spread) != len(wanted):
                raise FormatError(f"{called}: {name!r} has {len(spread)} columns, {target} of the robot {len(wanted)}")
            pairs = list(zip(wanted, spread, strict=True))
        elif name not in table.columns:
            raise FormatError(f"{called}: columns: the file has no column {name!r}; {hint(name, names)}")
        elif target not in canonical:
            raise InputError(
                f"{called}: columns: {name!r} is mapped to {target!r}, which robot {robot.name!r} does not have; "
                f"{hint(target, canonical)}"
            )
        else:
            pairs = [(canonical[target], name)]
        for own, source in pairs:
            mapped.add(source)
            take(own, _Source(source, scale))
    for name in names:
        if name not in mapped and name in canonical and (canonical[name] not in found or columns is None):
            take(canonical[name], _Source(name))
    return found, names


def _missing(
    names: Sequence[str], there: Sequence[str], given: Sequence[str], found: Mapping[str, _Source],
    skipped: Sequence[str], called: str,
) -> str:  # fmt: skip
    missing = [name for name in names if name not in there]
    taken = {source.name for source in found.values()}
    others = [name for name in given if name not in taken]
    likely = closest(missing[0], others)
    meant = f"; is it {likely!r}?" if likely else f"; not used are {listed(missing[0], others, 6)}." if others else "."
    if skipped:
        meant += f" What is no column or table of real numbers is left out: {listed(missing[0], skipped, 6)}."
    more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
    return (
        f"{called}: has no column {missing[0]!r}{more}{meant} Columns are named like q_<joint>, q1 or q[0]; "
        "columns={'name in the file': 'q1'} says what yours are called"
        + "; a joint that the log does not have is held, by robot.with_fixed"
        * bool(there)
    )


def _alike(columns: list[tuple[str, Array]], called: str) -> list[Array]:
    """The columns, if they have equally many rows."""
    (first, values), *others = columns
    for name, each in others:
        if len(each) != len(values):
            raise FormatError(
                f"{called}: columns {first!r} and {name!r} must have equally many rows, got {len(values)} and "
                f"{len(each)}"
            )
    return [each for _, each in columns]


def _numbers(table: MeasuredTable, source: _Source, called: str) -> Array:
    values = table.columns[source.name]
    if values.dtype.kind not in "fiu":
        raise FormatError(f"{called}: column {source.name!r} is no column of numbers")
    return values.astype(float)


# ---- times, runs, notes --------------------------------------------------------------------------------------------


def _times(
    table: MeasuredTable, found: Mapping[str, _Source], units: Mapping[str, str], rate: Any, count: int, called: str
) -> Array:
    source = found.get(TIMES[0])
    if source is None:
        if rate is None and "dt" in table.scalars:
            dt = number(f"{called}: dt", table.scalars["dt"], above=0.0, unit="s", error=FormatError)
            return np.asarray(np.arange(count) * dt, dtype=np.float64)
        if rate is None and "dt" in (*table.columns, *table.skipped):
            raise FormatError(f"{called}: dt must be a single number (s), not an array")
        if rate is None:
            raise FormatError(
                f"{called}: has no column 't' or 'time'; rate= says how many samples a second it has, columns= what "
                "the time is called"
            )
        return np.arange(count) / number(f"{called}: rate", rate, above=0.0, unit="Hz")
    if rate is not None:
        raise InputError(f"{called}: times are in the column {source.name!r}; leave rate out")
    unit = _unit_of_times(table, found, units) or "s"
    scale = factor(f"{called}: column {source.name!r}", unit, "s") * source.factor
    values = table.columns[source.name]
    if values.dtype.kind in "iu" and len(values):  # whole nanoseconds since 1970 have more digits than a float
        whole = values.astype(np.int64)  # differences of short ones overflow
        return (whole - whole[0]) * scale
    return _numbers(table, source, called) * scale


def _unit_of_times(table: MeasuredTable, found: Mapping[str, _Source], units: Mapping[str, str]) -> str | None:
    """The unit of the times, where it was said; seconds where they are counted from a rate."""
    source = found.get(TIMES[0])
    if source is None:
        return "s"
    return units.get(source.name, units.get("t", units.get("time", table.units.get(source.name))))


def _split(
    table: MeasuredTable, found: Mapping[str, _Source], t: Array, arrays: Mapping[str, Array], notes: tuple[str, ...],
    timed: bool, called: str,
) -> list[Run]:  # fmt: skip
    lengths = {name: len(values) for name, values in arrays.items()} | {"t": len(t)}
    if len(set(lengths.values())) > 1:
        shown = ", ".join(f"{name} {count}" for name, count in lengths.items())
        raise FormatError(f"{called}: arrays must have equally many rows, got {shown}")
    if RUN not in found:
        return [Run("", t, dict(arrays), notes, timed)]
    values = table.columns[found[RUN].name]
    if len(values) != len(t):
        raise FormatError(f"{called}: the column 'run' has {len(values)} rows, the others {len(t)}")
    labels = np.array([_label(value) for value in values])
    if (empty := labels == "").any():
        raise FormatError(f"{called}: row {int(np.argmax(empty))} has no value in the column 'run'")
    own_times = "t" in found
    every = []
    for label in dict.fromkeys(labels.tolist()):
        rows = labels == label
        times = t[rows] if own_times else t[: int(rows.sum())]
        every.append(Run(label, times, {name: value[rows] for name, value in arrays.items()}, notes, timed))
    return every


def _label(value: Any) -> str:
    """A run's value as a text: 1.0 is '1', NaN is empty."""
    if isinstance(value, str):
        try:
            return f"{float(value):g}"
        except ValueError:
            return value
    return "" if np.isnan(value) else f"{value:g}"


def _notes(table: MeasuredTable, used: set[str], currents: bool) -> tuple[str, ...]:
    unused = list(dict.fromkeys(name.partition("[")[0] for name in table.columns if name not in used))
    unused += table.skipped
    notes = [f"columns that were not used: {', '.join(unused)}"] if unused else []
    if currents:
        notes.append(f"torques are made of currents ({' or '.join(CURRENTS)}), torque constants and gear ratios")
    return tuple(notes)
