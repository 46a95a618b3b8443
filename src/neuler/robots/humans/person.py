"""A person: stature, mass and sex, the segments that follow from them, and what was measured instead."""

from __future__ import annotations

import csv
import math
import os
import statistics
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from neuler.errors import RobotError
from neuler.inputs import choice, named, number, told
from neuler.naming import hint
from neuler.robots.humans.segments import (
    DE_LEVA,
    DIMENSIONS,
    DRILLIS_CONTINI,
    MEAN_STATURE,
    PAIRED,
    SEGMENTS,
    SEXES,
    Segment,
)
from neuler.tables import records

LENGTHS = ("de-leva", "drillis-contini")
"""Where the lengths of limbs come from."""
_ROUNDING = 1e-6
"""Share of the body's mass by which measured masses of all segments may differ from it."""


@dataclass(frozen=True)
class Person:
    """A human body, left and right alike: what :func:`neuler.robots.humans.skeleton` is made from.

    ``stature`` (m), ``mass`` (kg) and ``sex`` ("male" or "female", a column of de Leva's table) decide everything
    else. ``source`` says where lengths of limbs come from: "de-leva" (1996), scaled by stature over the mean stature
    of his subjects, or "drillis-contini", shares of stature.

    ``measured_lengths`` (m) replace single lengths: segments (``head``, ``upper_trunk``, ``middle_trunk``,
    ``lower_trunk``, ``upper_arm``, ``forearm``, ``hand``, ``thigh``, ``shank``, ``foot``) and dimensions
    (``ankle_height``, ``hip_to_shoulder``, ``shoulder_half_width``, ``hip_half_width``, ``hand_to_fingertips``,
    ``clavicle_half_width``, ``foot_width``, ``toe_joint_height``). The neck is what is left of the stature.
    ``measured_masses`` (kg, of one limb of a pair) replace single masses; the other segments share the rest of the
    body's mass in the table's proportions.

    >>> person = Person(stature=1.75, mass=75.0)
    >>> round(person.lengths["thigh"], 4), round(person.masses["thigh"], 4)
    (0.4244, 10.62)
    >>> Person(1.75, 75.0, measured_lengths={"thigh": 0.40}).lengths["thigh"]
    0.4
    """

    stature: float = 1.75
    mass: float = 75.0
    sex: str = "male"
    source: str = "de-leva"
    measured_lengths: Mapping[str, float] = field(default_factory=dict, hash=False)
    measured_masses: Mapping[str, float] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        for name, unit in (("stature", "m"), ("mass", "kg")):
            value = number(f"person: {name}", getattr(self, name), above=0.0, unit=unit, error=RobotError)
            object.__setattr__(self, name, value)
        if self.stature > 3.0:
            raise RobotError(f"person: stature must be in metres, at most 3, got {self.stature:g}; is it in cm?")
        choice("person: sex", self.sex, SEXES, error=RobotError)
        choice("person: source of lengths", self.source, LENGTHS, error=RobotError)
        lengths = _measured("length", self.measured_lengths, (*SEGMENTS, *DIMENSIONS), "m")
        object.__setattr__(self, "measured_lengths", lengths)
        object.__setattr__(self, "measured_masses", _measured("mass", self.measured_masses, SEGMENTS, "kg"))
        if self.neck_length <= 0.0:
            raise RobotError(
                f"person: legs, trunk and head are {self.stature - self.neck_length:.4g} m long together, which leaves "
                f"no neck in a stature of {self.stature:g} m; give a larger stature or shorter segments"
            )
        _ = self.masses  # measured ones that cannot be are refused now

    # ---- other ways to say who it is -----------------------------------------------------------------

    @classmethod
    def percentile(
        cls,
        percent: float,
        *,
        mean: tuple[float, float],
        sd: tuple[float, float],
        sex: str = "male",
        source: str = "de-leva",
    ) -> Person:
        """A person of a population whose stature (m) and mass (kg) are normally distributed.

        ``mean`` and ``sd`` are pairs (stature, mass) of the population that is meant: neuler has none of its own.
        Stature and mass are both taken at ``percent``.

        >>> Person.percentile(50, mean=(1.76, 80.0), sd=(0.07, 12.0)).stature
        1.76
        """
        share = number("Person.percentile: percent", percent, above=0.0, error=RobotError)
        if share >= 100.0:
            raise RobotError(f"Person.percentile: percent must be below 100, got {told(percent)}")
        z = statistics.NormalDist().inv_cdf(share / 100.0)
        stature, mass = _pair("mean", mean), _pair("sd", sd)
        return cls(stature[0] + z * mass[0], stature[1] + z * mass[1], sex, source)

    @classmethod
    def from_table(
        cls,
        table: Any,
        *,
        stature: float,
        mass: float,
        sex: str = "male",
        source: str = "de-leva",
    ) -> Person:
        """A measured person: a table of segments with lengths (m), masses (kg) or both.

        ``table`` is the path of a CSV file or a data frame with the columns ``segment``, ``length`` and ``mass``, or
        maps a segment to (length, mass). What is blank, None or NaN follows from stature, mass and sex.

        >>> person = Person.from_table({"thigh": (0.41, None), "shank": (0.43, 3.4)}, stature=1.7, mass=68.0)
        >>> person.lengths["shank"], person.masses["shank"]
        (0.43, 3.4)
        """
        lengths: dict[str, float] = {}
        masses: dict[str, float] = {}
        for name, length, weight in _rows(table):
            if name in lengths or name in masses:
                raise RobotError(f"Person.from_table: segment {name!r} stands in two rows; keep one of them")
            for into, value in ((lengths, length), (masses, weight)):
                if value is not None:
                    into[name] = value
        return cls(stature, mass, sex, source, lengths, masses)

    # ---- what follows --------------------------------------------------------------------------------

    @property
    def lengths(self) -> dict[str, float]:
        """Lengths (m) of all segments, then the other dimensions."""
        scale = self.stature / MEAN_STATURE[self.sex]
        found = {name: row[-1] * scale for name, row in DE_LEVA[self.sex].items()}
        if self.source == "drillis-contini":
            found |= {name: share * self.stature for name, share in DRILLIS_CONTINI.items()}
        found |= {name: share * self.stature for name, (share, _) in DIMENSIONS.items()}
        return found | dict(self.measured_lengths)

    @property
    def neck_length(self) -> float:
        """From the suprasternale up to the mid-gonion (m): what legs, trunk and head leave of the stature."""
        stack = ("ankle_height", "shank", "thigh", "lower_trunk", "middle_trunk", "upper_trunk", "head")
        lengths = self.lengths
        return self.stature - math.fsum(lengths[name] for name in stack)

    @property
    def hip_height(self) -> float:
        """Of the hip joints above the ground, standing (m)."""
        lengths = self.lengths
        return lengths["ankle_height"] + lengths["shank"] + lengths["thigh"]

    @property
    def masses(self) -> dict[str, float]:
        """Masses (kg) of all segments, of a pair that of one; with both of each pair they sum to the body's."""
        shares = {name: row[0] for name, row in DE_LEVA[self.sex].items()}
        measured = dict(self.measured_masses)
        known = math.fsum(_sides(name) * value for name, value in measured.items())
        free = math.fsum(_sides(name) * share for name, share in shares.items() if name not in measured)
        rest = self.mass - known
        if not free:
            if abs(rest) > _ROUNDING * self.mass:
                raise RobotError(
                    f"person: the measured masses of all segments sum to {known:.6g} kg (limbs twice), and the body's "
                    f"is {self.mass:g} kg; give mass={known:.6g}, or leave a segment out"
                )
            return {name: measured[name] * self.mass / known for name in SEGMENTS}
        if rest <= 0.0:
            raise RobotError(
                f"person: the measured masses of {', '.join(measured)} sum to {known:.6g} kg (limbs twice), which "
                f"leaves nothing of {self.mass:g} kg for the other segments; give a larger mass, or that of one limb"
            )
        return {name: measured.get(name, shares[name] / free * rest) for name in SEGMENTS}

    def segment(self, name: str) -> Segment:
        """A segment with its mass, centre of mass and second moments.

        >>> round(Person().segment("thigh").centre, 4)
        0.1738
        """
        if name not in SEGMENTS:
            raise RobotError(f"person: there is no segment {name!r}; {hint(name, SEGMENTS)}")
        return Segment.de_leva(name, self.sex, self.masses[name], self.lengths[name])


def _sides(name: str) -> int:
    return 2 if name in PAIRED else 1


def _pair(what: str, value: Any) -> tuple[float, float]:
    if not isinstance(value, tuple | list) or len(value) != 2:
        raise RobotError(f"Person.percentile: {what} must be a pair (stature in m, mass in kg), got {told(value)}")
    stature, mass = (
        number(f"Person.percentile: {what} of the {name}", x, least=0.0, error=RobotError)
        for name, x in zip(("stature", "mass"), value, strict=True)
    )
    return stature, mass


def _measured(what: str, given: Any, known: tuple[str, ...], unit: str) -> dict[str, float]:
    """Measured values by name, in the order of the table."""
    found = {}
    for name, value in named(f"person: measured {what}s", given, error=RobotError).items():
        if name not in known:
            raise RobotError(f"person: there is no {what} of {name!r}; {hint(name, known)}")
        found[name] = number(f"person: {what} of {name!r}", value, above=0.0, unit=unit, error=RobotError)
    return {name: found[name] for name in known if name in found}


# ---- tables ------------------------------------------------------------------------------------------------


def _rows(table: Any) -> list[tuple[str, float | None, float | None]]:
    if isinstance(table, Mapping):
        found = []
        for name, value in table.items():
            if not isinstance(value, tuple | list) or len(value) != 2:
                raise RobotError(f"Person.from_table: {name!r} must be (length in m, mass in kg), got {told(value)}")
            found.append((str(name), _cell(name, "length", value[0]), _cell(name, "mass", value[1])))
        return found
    rows = _read(table) if isinstance(table, str | os.PathLike) else records(table)
    if rows is None:
        raise RobotError(
            "Person.from_table: a table is the path of a CSV file, a data frame, or maps segments to (length, mass), "
            f"got {told(table)}"
        )
    columns = {str(name).strip(): name for row in rows[:1] for name in row}
    if rows and ("segment" not in columns or not {"length", "mass"} & set(columns)):
        raise RobotError(
            "Person.from_table: the columns must be 'segment' with 'length' (m), 'mass' (kg) or both, got "
            f"{', '.join(map(repr, columns))}"
        )
    found = []
    for row in rows:
        name = str(row[columns["segment"]]).strip()
        pair = [_cell(name, key, row[columns[key]] if key in columns else None) for key in ("length", "mass")]
        found.append((name, pair[0], pair[1]))
    return found


def _read(path: str | os.PathLike[str]) -> list[dict[str, Any]]:
    try:
        with open(path, newline="", encoding="utf-8-sig") as file:
            return list(csv.DictReader(file))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise RobotError(f"Person.from_table: {os.fspath(path)!r} cannot be read: {error}") from None


def _cell(name: object, what: str, value: Any) -> float | None:
    """A number; None where nothing was measured."""
    if isinstance(value, str):
        text = value.strip()
        if not text:
            return None
        try:
            value = float(text)
        except ValueError:
            raise RobotError(f"Person.from_table: {what} of {name!r} must be a number, got {told(text)}") from None
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    return number(f"Person.from_table: {what} of {name!r}", value, error=RobotError)
