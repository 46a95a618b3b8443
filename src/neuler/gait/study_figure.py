"""The picture of a study of walks: peak forces in hip, knee and ankle over speed, and over what else changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler.errors import InputError
from neuler.gait.figures import COLORS
from neuler.gait.stride import JOINTS
from neuler.plain import number, shown
from neuler.view.diagrams import plain_axes
from neuler.view.space import INK, sized

SPEED, WEIGHT = "gait.speed", "weight"
NEIGHBOURS = ("gait.step", "gait.start.")
"""Settings that go with the speed, or say where a search begins."""
UNITS = {
    SPEED: "m/s", "person.mass": "kg", "loads.mass": "kg", "person.stature": "m", "gait.width": "m",
    "gait.clearance": "m", "gait.slope": "degrees",
}  # fmt: skip
NAMES = {"loads.mass": "load"}
"""What settings are called whose last word alone says too little."""
_STYLES = ("-", "--", "-.", ":")


def peak_forces(table: Mapping[str, NDArray[Any]], settings: Sequence[str], figure: Any = None) -> Any:
    """Draw the peak internal forces of hip, knee and ankle over the settings of a study of walks.

    They are in newtons where the table has the ``weight`` of person and load, else in body weights.

    ``table`` is that of the study, ``settings`` the names of its settings. Over the speed there is a curve for every
    combination of the other settings, and over each of these that is a number a curve for every speed. Walks that are
    not valid have hollow markers; rows without a result are left out.

    >>> speeds = np.array([1.0, 1.2, 1.4])
    >>> forces = {f"peak_force.{joint}": 1.0 + 0.2 * speeds for joint in ("hip", "knee", "ankle")}
    >>> len(peak_forces({"gait.speed": speeds, "valid": speeds > 0.0, **forces}, ["gait.speed"]).axes)
    3
    """
    missing = [name for joint in JOINTS if (name := f"peak_force.{joint}") not in table]
    if missing:
        raise InputError(f"walks: no row of the study has a result {missing[0]!r}; there is nothing to draw")
    changing = [name for name in settings if _varies(table[name]) and not name.startswith(NEIGHBOURS)]
    over = [name for name in changing if table[name].dtype.kind in "fiu" and table[name].ndim == 1]
    over.sort(key=lambda name: name != SPEED)
    if not over:
        raise InputError(
            "walks: neither the speed nor another number changes from row to row; there is nothing to draw"
        )
    figure = sized(figure, (11.0, 0.7 + 3.0 * len(over)), 110)
    axes = figure.subplots(len(over), len(JOINTS), squeeze=False, sharey=True)
    for line, setting in zip(axes, over, strict=True):
        groups = _groups(table, [name for name in changing if name != setting])
        for ax, joint in zip(line, JOINTS, strict=True):
            for k, (label, rows) in enumerate(groups.items()):
                _curve(ax, table, setting, joint, rows, _STYLES[k % len(_STYLES)], label)
            plain_axes(ax, f"{joint}: peak force, {'N' if WEIGHT in table else 'body weights'}")
            ax.margins(0.06)
            ax.locator_params(axis="x", nbins=5)
            ax.set_xlabel(_named(setting), fontsize=8, color=INK, parse_math=False)
        if len(groups) > 1:
            line[0].legend(fontsize=7, frameon=False)
    hollow = "" if np.all(_valid(table)) else "; hollow: not valid"
    figure.suptitle(f"peak joint forces of {len(table[over[0]])} walks{hollow}", fontsize=11, color=INK)
    return figure


def _curve(
    ax: Any, table: Mapping[str, NDArray[Any]], setting: str, joint: str, rows: NDArray[np.intp], style: str, label: str
) -> None:
    """Peaks of a joint over a setting, in its order."""
    x, y = table[setting][rows].astype(float), table[f"peak_force.{joint}"][rows].astype(float)
    y = y * table[WEIGHT][rows].astype(float) if WEIGHT in table else y
    good = np.isfinite(x) & np.isfinite(y)
    order = np.argsort(x[good], kind="stable")
    x, y, valid = x[good][order], y[good][order], _valid(table)[rows][good][order]
    color = COLORS[joint]
    ax.plot(x, y, color=color, linewidth=1.6, linestyle=style, label=shown(label))
    ax.plot(x[valid], y[valid], "o", color=color, markersize=5)
    ax.plot(x[~valid], y[~valid], "o", color=color, markersize=5, fillstyle="none")


def _groups(table: Mapping[str, NDArray[Any]], names: Sequence[str]) -> dict[str, NDArray[np.intp]]:
    """Rows that have the same values of some settings, by these in words."""
    if not names:
        return {"": np.arange(len(next(iter(table.values()))))}
    found: dict[str, list[int]] = {}
    for k in range(len(table[names[0]])):
        found.setdefault(", ".join(_value(name, table[name][k]) for name in names), []).append(k)
    return {label: np.array(rows) for label, rows in found.items()}


def _value(name: str, value: Any) -> str:
    told = number(float(value)) if isinstance(value, int | float | np.number) else str(value)
    return f"{_plain_name(name)} {told}" + (f" {UNITS[name]}" if name in UNITS else "")


def _named(name: str) -> str:
    return f"{_plain_name(name)}, {UNITS[name]}" if name in UNITS else _plain_name(name)


def _plain_name(name: str) -> str:
    return NAMES.get(name, name.rpartition(".")[2].replace("_", " "))


def _varies(values: NDArray[Any]) -> bool:
    return len(values) > 1 and any(np.any(value != values[0]) for value in values[1:])


def _valid(table: Mapping[str, NDArray[Any]]) -> NDArray[np.bool_]:
    """Which walks are valid; where rows failed, truth values have None among them."""
    return np.array([value is not None and bool(value) for value in table["valid"]], dtype=bool)
