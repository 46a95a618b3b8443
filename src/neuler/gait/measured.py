"""Measured motion: angles and poses of the pelvis over time in, loads of ground and joints out, no force plates."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler.errors import InputError
from neuler.files.columns import csv_columns
from neuler.files.opensim import SUFFIXES, read_storage
from neuler.gait import plausibility as check
from neuler.gait.columns import GAIT2392, OPENSIM, Columns, own_columns, pelvis_coordinates, standing_pelvis
from neuler.gait.filtering import CLEAR, CUTOFF, FAINT, LIMBS, ORDER, SHARP, smoothed
from neuler.gait.ground import Foot, base_of, checked_feet, soles
from neuler.gait.loads import Loads, ground_loads
from neuler.gait.sharing import SPLITS
from neuler.gait.stance import Thresholds
from neuler.inputs import array, named, number, row, told
from neuler.moments.clearance import HalfSpace
from neuler.moments.contact import FLOOR
from neuler.motions.differentiated import differentiated
from neuler.robot import Robot
from neuler.robots.humans.joints import LEFT, PELVIS, RIGHT

Array = NDArray[np.float64]

FOUND = "found"
"""The floor at the lowest soles."""
_SHORTEST = 20
"""Samples that are needed."""
_NEEDED = tuple(side + name for side in (RIGHT, LEFT) for name in ("hip_flexion", "knee_flexion", "ankle_flexion"))
"""Joints without which nothing can be said of the ground."""


@dataclass(frozen=True, eq=False)
class Measured:
    """Positions of a person over time: q (n, nq) at times t (n,), s, or of many trials with the same times (k, n, nq).

    Times rise evenly, at 50 Hz or more. :meth:`read` makes it from a file, :meth:`of_table` from columns.
    """

    robot: Robot
    t: Array
    q: Array
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.robot, Robot):
            raise InputError(f"gait: a robot is needed, got {told(self.robot)}")
        if self.robot.nq != self.robot.nv:
            raise InputError(
                f"gait: robot {self.robot.name!r} has quaternions or loops; measured angles need a person with "
                "neuler.robots.human(base='joints')"
            )
        t, q = row("gait: t", self.t, 2), array("gait", "q", self.q, (self.robot.nq,))
        check.check_times(t, "gait")
        if q.ndim < 2 or q.shape[-2] != len(t):
            raise InputError(f"gait: q must have a row for each of {len(t)} times, got shape {q.shape}")
        if len(t) < _SHORTEST:
            raise InputError(f"gait: {len(t)} samples are too few to be filtered; {_SHORTEST} are needed")
        lost = np.argwhere(~np.isfinite(q))
        if len(lost):
            name, first = self.robot.coordinates.names("q")[lost[0][-1]], t[lost[0][-2]]
            raise InputError(
                f"gait: {name!r} has no value at {first:g} s ({len(lost)} in all); fill or cut out gaps first"
            )
        object.__setattr__(self, "t", t)
        object.__setattr__(self, "q", q)

    @property
    def rate(self) -> float:
        """Samples a second (Hz)."""
        return (len(self.t) - 1) / float(self.t[-1] - self.t[0])

    # ---- from tables ---------------------------------------------------------------------------------------------

    @classmethod
    def read(
        cls,
        path: str | os.PathLike[str],
        robot: Robot,
        columns: Columns | Mapping[str, Any] | None = None,
        *,
        degrees: bool | None = None,
        held: Mapping[str, float] | None = None,
    ) -> Measured:
        """From a .csv, .mot or .sto file with a column ``time`` (s).

        ``columns``: what columns are called. ``gait.OPENSIM`` (default of .mot and .sto) and ``gait.GAIT2392`` have
        OpenSim's names; the default of .csv is the robot's own names; or a mapping {"HipL": "l_hip_flexion", "KneeL":
        ("l_knee_flexion", -1)}. ``degrees``: whether angles are in degrees, which .mot and .sto say in their header; of
        .csv it must be given. ``held``: angles (rad) of joints that have no column. Joints that have neither are at
        zero, with a note; hips, knees and ankles must have one.
        """
        name = os.fspath(path)
        if Path(path).suffix.lower() in SUFFIXES:
            storage = read_storage(path)
            table, said, chosen = storage.columns, storage.in_degrees, columns
            if said is not None and degrees is not None and said != degrees:
                unit = "degrees" if said else "radians"
                note = f"{name!r}: the header says {unit}; degrees={degrees} was taken"
            else:
                note = ""
            chosen = OPENSIM if chosen is None else chosen
        else:
            table, said, note, chosen = csv_columns(path), None, "", columns
        unit_given = said if degrees is None else degrees
        if unit_given is None:
            raise InputError(f"{name!r}: does not say whether angles are in degrees; say degrees=True or degrees=False")
        found = cls.of_table(table, robot, chosen, degrees=unit_given, held=held, called=repr(name))
        return found if not note else cls(robot, found.t, found.q, (note, *found.notes))

    @classmethod
    def of_table(
        cls,
        table: Mapping[str, Any],
        robot: Robot,
        columns: Columns | Mapping[str, Any] | None = None,
        *,
        degrees: bool,
        held: Mapping[str, float] | None = None,
        called: str = "gait",
    ) -> Measured:
        """From columns (n,) by name; as of :meth:`read`."""
        if columns is None:
            columns = own_columns(robot, table)
        chosen = columns if isinstance(columns, Columns) else Columns(columns)
        fixed = {key: number(f"{called}: held {key!r}", value) for key, value in named(f"{called}: held", held).items()}
        values = {str(key): np.asarray(value, dtype=float) for key, value in table.items()}
        time = next((key for key in ("time", "t") if key in values), None)
        if time is None:
            raise InputError(f"{called}: a column 'time' (s) is missing; there are {', '.join(list(values)[:8])}")
        t = values.pop(time)
        check.check_times(t, called)
        own = {entry.name: entry for entry in robot.coordinates}
        joints = {key: pair for key, pair in chosen.joints.items() if pair[0] in own}
        _check_names(robot, chosen, fixed, own, called)
        _check_needed(values, chosen, joints, fixed, own, called)
        taken = {key: values[key] for key in (*joints, *chosen.pelvis) if key in values}
        check.check_gaps(taken, t, called)
        q, scale = np.zeros((len(t), robot.nq)), np.pi / 180.0 if degrees else 1.0
        turns = {joint for joint, unit in zip(own, robot.coordinates.units("q"), strict=True) if unit == "rad"}
        given: set[str] = set()
        for key, (joint, factor) in joints.items():
            if key in taken:
                q[:, own[joint].q.start] = factor * taken[key] * (scale if joint in turns else 1.0)
                given.add(joint)
        for joint, value in fixed.items():
            q[:, own[joint].q.start] = value
            given.add(joint)
        if chosen.pelvis:
            q[:, [own[joint].q.start for joint in PELVIS]] = _pelvis(robot, chosen, taken, scale, called)
            given.update(PELVIS)
        turning = turns.difference(PELVIS)
        raw = {key: taken[key] for key, (joint, _) in joints.items() if key in taken and joint in turning}
        place = q[:, [own[joint].q.start for joint in PELVIS[:3] if joint in own]]
        check.check_angles(raw, {joint: q[:, own[joint].q.start] for joint in turning}, place, degrees, called)
        return cls(robot, t, q, _left_out(values, taken, own, given))

    # ---- to loads ------------------------------------------------------------------------------------------------

    def smooth(
        self,
        cutoff: float | None = CUTOFF,
        *,
        limbs: float | None = None,
        order: int = ORDER,
        adaptive: bool = True,
        clear: float = CLEAR,
        feet: Mapping[str, Foot] | None = None,
    ) -> tuple[Array, Array, Array]:
        """q, qd and qdd after the filter; arguments as of :meth:`loads`.

        ``clear``: with ``adaptive``, frequencies with less than so many times the noise's power are removed.
        """
        q = self.q
        if cutoff is not None:
            number("gait: cutoff", cutoff, above=0.0, unit="Hz")
            other = LIMBS * cutoff if limbs is None else number("gait: limbs", limbs, above=0.0, unit="Hz")
            least = number("gait: clear", clear, least=0.0) if adaptive else None
            q = smoothed(self.q, self.rate, other, order, clear=least)
            center = smoothed(self._center_of_mass(self.q), self.rate, cutoff, order, clear=least)
            slides, ways = self._slides(tuple(checked_feet(self.robot, feet).values()))
            q[..., slides] += (center - self._center_of_mass(q)) @ np.linalg.pinv(ways)
        return (q, *differentiated(self.t, q))

    def _center_of_mass(self, q: Array) -> Array:
        return np.asarray(self.robot.center_of_mass(q))

    def _slides(self, feet: tuple[Foot, ...]) -> tuple[list[int], Array]:
        """Coordinates of the base that move the whole body straight, and by how much they move it, (slides, 3)."""
        units, found = self.robot.coordinates.units("q"), []
        for k in base_of(self.robot, feet).speeds:  # behind a joint that turns, directions depend on its angle
            if units[k] != "m":
                break
            found.append(k)
        apart = np.eye(self.robot.nq)[found]
        return found, self._center_of_mass(apart) - self._center_of_mass(0.0 * apart)

    def loads(
        self,
        *,
        cutoff: float | None = CUTOFF,
        limbs: float | None = None,
        order: int = ORDER,
        adaptive: bool = True,
        touching: Any = None,
        thresholds: Thresholds | None = None,
        floor: float | str = 0.0,
        feet: Mapping[str, Foot] | None = None,
        split: str = SPLITS[0],
    ) -> Loads:
        """Forces of the ground, centres of pressure, torques and forces of the joints, of all trials at once.

        ``cutoff`` (Hz) of the path of the centre of mass, and ``limbs`` of all coordinates, by default 5/6 of it: where
        a Butterworth filter of ``order``, counted over its two passes, halves the power. The base is then moved such
        that the centre of mass keeps to its own filtered path. ``adaptive`` also weakens what is hardly more than noise
        below the cut-off (see ``docs/measured-motion.md``); ``cutoff=None`` does not filter.
        ``floor``: the height of the ground (m), or "found": the soles of the person at their lowest. ``touching``,
        ``thresholds``, ``feet`` and ``split`` as of :func:`ground_loads`.
        """
        pair = checked_feet(self.robot, feet)
        q, qd, qdd = self.smooth(cutoff, limbs=limbs, order=order, adaptive=adaptive, feet=pair)
        sharp = None
        if cutoff is not None:
            slower = LIMBS * cutoff if limbs is None else limbs
            faster = max(slower, min(SHARP * slower, 0.39 * self.rate))
            sharp = self.smooth(cutoff, limbs=faster, order=order, adaptive=adaptive, clear=FAINT, feet=pair)
        if floor == FOUND:
            points = soles(self.robot, tuple(pair.values()))(*(sharp or (q, qd))[:2]).points
            height = float(np.median(points[..., 2].min(axis=(-1, -2))))
        else:
            height = number("gait: floor", floor)
        ground = HalfSpace((0.0, 0.0, height), (0.0, 0.0, 1.0)) if height else FLOOR
        settings = {
            "cutoff": cutoff, "limbs": None if cutoff is None else limbs or LIMBS * cutoff, "order": order,
            "adaptive": adaptive, "derivatives": "quintic splines", "floor": height, "rate": self.rate,
        }  # fmt: skip
        return ground_loads(
            self.robot, self.t, q, qd, qdd, touching=touching, feet=pair, ground=ground, split=split,
            thresholds=thresholds, sharp=sharp, settings=settings, notes=self.notes,
        )  # fmt: skip

    def __repr__(self) -> str:
        """The robot, how many samples, at which rate."""
        many = f", {self.q.shape[0]} trials" if self.q.ndim > 2 else ""
        return f"<measured motion of {self.robot.name!r}: {len(self.t)} samples at {self.rate:g} Hz{many}>"


def _check_names(
    robot: Robot, chosen: Columns, fixed: Mapping[str, float], own: Mapping[str, Any], called: str
) -> None:
    """Refuse joints that the robot does not have, and a pelvis where it has none; OpenSim's may be held."""
    if chosen is not OPENSIM and chosen is not GAIT2392:
        for key, (joint, _) in chosen.joints.items():
            if joint not in own:
                raise InputError(f"{called}: column {key!r} is mapped to {joint!r}, no joint of robot {robot.name!r}")
    for joint in fixed:
        if joint not in own:
            raise InputError(f"{called}: held: {joint!r} is no joint of robot {robot.name!r}")
    if chosen.pelvis and any(joint not in own for joint in PELVIS):
        raise InputError(f"{called}: robot {robot.name!r} must have the joints {', '.join(PELVIS)}")


def _check_needed(
    values: Mapping[str, Array], chosen: Columns, joints: Mapping[str, Any], fixed: Mapping[str, float],
    own: Mapping[str, Any], called: str,
) -> None:  # fmt: skip
    """Refuse tables without the pelvis, or without hips, knees and ankles."""
    wanted = (*_NEEDED, *(() if chosen.pelvis else PELVIS))
    by_joint = {joint: key for key, (joint, _) in joints.items()}
    needed = [*chosen.pelvis, *(by_joint.get(joint, joint) for joint in wanted if joint in own and joint not in fixed)]
    check.check_columns(
        list(values), needed, called,
        "columns= says what they are called (gait.OPENSIM, gait.GAIT2392 or a mapping), held= gives joints an angle",
    )  # fmt: skip


def _pelvis(robot: Robot, chosen: Columns, taken: Mapping[str, Array], scale: float, called: str) -> Array:
    place, angles = (np.stack([taken[key] for key in part], axis=-1) for part in (chosen.pelvis[:3], chosen.pelvis[3:]))
    check.check_units(place, float(standing_pelvis(robot)[2]), chosen, called)
    return pelvis_coordinates(robot, chosen, place, scale * angles)


def _left_out(values: Mapping[str, Array], taken: Mapping[str, Array], own: Mapping[str, Any], given: set[str]) -> Any:
    """Notes on joints without a column and columns without a joint."""
    notes = []
    zero = [joint for joint in own if joint not in given]
    if zero:
        notes.append(f"joints without a column, held at zero: {', '.join(zero)}")
    unused = [key for key in values if key not in taken]
    if unused:
        notes.append(f"columns that were not used: {', '.join(unused)}")
    return tuple(notes)
