"""Measured curves over a stride, to compare a walk with."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from neuler.errors import FormatError
from neuler.files.columns import csv_columns
from neuler.naming import closest

Array = NDArray[np.float64]

COLUMNS = {
    "hip": ("hip_flexion_deg", "hip_sd"),
    "knee": ("knee_flexion_deg", "knee_sd"),
    "ankle": ("ankle_dorsiflexion_deg", "ankle_sd"),
    "vertical": ("vertical_percent_bw", "vertical_sd"),
    "fore_aft": ("fore_aft_percent_bw", "fore_aft_sd"),
    "lateral": ("lateral_percent_bw", "lateral_sd"),
}
"""Curves, and the columns of their means and standard deviations."""
ANGLES, FORCES = ("hip", "knee", "ankle"), ("vertical", "fore_aft", "lateral")
_SPAN = 5.0
"""How far the first and last row may be from 0 and 100 percent."""


@dataclass(frozen=True, eq=False)
class Reference:
    """Means of measured curves of the right leg, from its heel strike to its next one.

    Angles are in degrees, positive in flexion and dorsiflexion. Forces on the right foot are in percent of body weight:
    vertical, fore-aft (propulsion is positive) and lateral (to the right is positive).
    """

    percent: Array
    """Of the stride, (k,), from 0 to 100."""
    mean: Mapping[str, Array]
    """By curve, (k,): hip, knee, ankle, vertical, fore_aft, lateral."""
    sd: Mapping[str, Array] = field(default_factory=dict)
    """Standard deviations by curve, (k,); curves without them are missing."""
    name: str = "measured"

    @classmethod
    def read(cls, path: str | os.PathLike[str], name: str | None = None) -> Reference:
        """Read a CSV file with the columns of ``data/adult.csv``; columns of standard deviations may be missing.

        ``name`` appears in figures, by default that of the file.
        """
        shown = repr(os.fspath(path))
        table = csv_columns(path)
        _check_columns(shown, list(table))
        for column, values in table.items():
            lost = np.flatnonzero(~np.isfinite(values))
            if len(lost):
                raise FormatError(
                    f"{shown}: column {column!r} has no number in row {lost[0] + 1}; fill the gap or leave out the row"
                )
        percent = table["percent"]
        if len(percent) < 3 or not (np.diff(percent) > 0.0).all():
            raise FormatError(f"{shown}: column 'percent' must increase over three rows or more")
        if abs(percent[0]) > _SPAN or abs(percent[-1] - 100.0) > _SPAN:
            raise FormatError(
                f"{shown}: column 'percent' must go from 0 to 100, got {percent[0]:g} to {percent[-1]:g}; a stride "
                "goes from one heel strike of a foot to its next"
            )
        for curve, (_, deviation) in COLUMNS.items():
            if deviation in table and (table[deviation] < 0.0).any():
                raise FormatError(f"{shown}: column {deviation!r}: standard deviations of {curve} must not be negative")
        return cls(
            percent,
            {curve: table[mean] for curve, (mean, _) in COLUMNS.items()},
            {curve: table[deviation] for curve, (_, deviation) in COLUMNS.items() if deviation in table},
            Path(path).stem if name is None else name,
        )

    @classmethod
    def adult(cls) -> Reference:
        """One adult at self-selected speed, mean of 11 trials (Falisse et al. 2019; source in ``data/README.md``).

        >>> adult = Reference.adult()
        >>> float(adult.mean["knee"].max()), float(adult.percent[-1])
        (66.2, 100.0)
        """
        return cls.read(Path(__file__).parent / "data" / "adult.csv", "measured adult")


def _check_columns(shown: str, header: list[str]) -> None:
    known = ["percent", *(column for pair in COLUMNS.values() for column in pair)]
    needed = ["percent", *(mean for mean, _ in COLUMNS.values())]
    missing = [column for column in needed if column not in header]
    if missing:
        raise FormatError(
            f"{shown}: has no column {', '.join(map(repr, missing))}; it has {', '.join(map(repr, header))}"
        )
    for column in header:
        if column not in known:
            meant = closest(column, known)
            hint = f"did you mean {meant!r}?" if meant else f"known are {', '.join(map(repr, known))}"
            raise FormatError(f"{shown}: column {column!r} is not known; {hint}")
