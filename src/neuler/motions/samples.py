"""Samples of a motion: arrays with names and units, to files and back.

A table (.csv, .parquet) has a column a number: t, q_<joint>, qd_<joint>, qdd_, qddd_, tau_, tau_rate_, force_<joint>.
``neuler eval`` reads it as states, and a problem file of ``neuler simulate`` as a reference. An archive (.npz) holds
the arrays by the same names. JSON has the shape of ROS's trajectory_msgs/JointTrajectory.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler.errors import FormatError, InputError
from neuler.files.archives import Archive
from neuler.files.cells import numbers_below
from neuler.files.ends import written
from neuler.files.series import KINDS, save_series
from neuler.naming import hint
from neuler.robot import Robot
from neuler.robot.columns import column_names
from neuler.robot.coordinates import springs
from neuler.trace.recipe import Operand

Array = NDArray[np.float64]

UNITS = {"q": ("q", ""), "qd": ("qd", ""), "qdd": ("qd", "^2"), "qddd": ("qd", "^3"), "tau": ("tau", ""),
         "tau_rate": ("tau", "/s")}  # fmt: skip
"""Of each array: whose units, and what is written behind them."""


def units_of(robot: Robot, name: str, size: int) -> list[str]:
    """Units of the numbers of an array of samples.

    >>> import neuler
    >>> units_of(neuler.robots.stanford(), "tau_rate", 6)[1:4], units_of(neuler.robots.two_link(), "qdd", 2)
    (['N m/s', 'N/s', 'N m/s'], ['rad/s^2', 'rad/s^2'])
    """
    if name == "force":
        return ["N"] * size
    whose, more = UNITS[name]
    return [unit + more if unit else "" for unit in robot.coordinates.units(whose)]


@dataclass(frozen=True, eq=False)
class Samples:
    """A motion at times t (n,), as arrays with names and units."""

    robot: Robot
    t: Array
    """Times (s)."""
    q: Array
    """Positions, (n, nq)."""
    qd: Array
    """Velocities, accelerations and jerks, (n, nv)."""
    qdd: Array
    qddd: Array
    tau: Array
    """Forces of the motors and their rates, (n, nu)."""
    tau_rate: Array
    force: Array
    """Norms of the forces inside joints (N), (n, joints)."""
    force_names: tuple[str, ...]
    """Of these joints."""

    @property
    def arrays(self) -> dict[str, Array]:
        """By name, times first."""
        return {each.name: getattr(self, each.name) for each in fields(self)[1:-1]}

    def copy(self) -> Samples:
        """The same with arrays of its own."""
        arrays: dict[str, Any] = {name: values.copy() for name, values in self.arrays.items()}
        return replace(self, **arrays)

    @property
    def names(self) -> dict[str, list[str]]:
        """What the numbers of each array are called in a table."""
        return names_of(self.robot, self.force_names)

    @property
    def columns(self) -> dict[str, Array]:
        """A table: every number over time under its name."""
        found = {"t": self.t}
        for name, called in self.names.items():
            values = getattr(self, name)
            found.update({column: values[:, k] for k, column in enumerate(called)})
        return found

    @property
    def units(self) -> dict[str, str]:
        """Of every column."""
        found = {"t": "s"}
        for name, called in self.names.items():
            found.update(zip(called, units_of(self.robot, name, len(called)), strict=True))
        return found

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a table, an archive or JSON, by the suffix: .csv, .parquet, .npz, .json."""
        kind = Path(path).suffix.lower().removeprefix(".")
        if kind == "json":
            text = json.dumps(self.joint_trajectory(), indent=1, allow_nan=False)
            with written(path) as file:
                file.write(text.encode("utf-8"))
        elif kind in KINDS:
            save_series(path, self.columns, self.arrays | {"force_names": np.array(self.force_names, str)}, self.units)
        else:
            known = ", ".join(f".{each}" for each in (*KINDS, "json"))
            raise FormatError(f"{os.fspath(path)!r}: expected a file that ends in {known}")

    def joint_trajectory(self) -> dict[str, Any]:
        """In the shape of ROS's trajectory_msgs/JointTrajectory, ready for JSON.

        Of joints with one coordinate that a motor moves, in loops too; ``effort`` is the motor's, behind a spring too.
        Free and spherical joints have no place in this message and are left out.
        """
        chosen = _driven(self.robot)
        if not chosen:
            raise InputError(
                f"robot {self.robot.name!r} has no driven joint with one coordinate; JointTrajectory has no place "
                "for others, save .csv or .npz"
            )
        joints, places, speeds, efforts = zip(*chosen, strict=True)
        qd, qdd = self.qd, self.qdd
        if self.robot.loops:
            qd, qdd = (np.asarray(x) for x in self.robot.tree_motion(self.q, self.qd, self.qdd)[:2])
        rows = (self.q[:, list(places)], qd[:, list(speeds)], qdd[:, list(speeds)], self.tau[:, list(efforts)])
        whole = np.round(self.t * 1e9).astype(np.int64)
        named = ("positions", "velocities", "accelerations", "effort")
        points = []
        for k, nanoseconds in enumerate(whole.tolist()):
            sec, nanosec = divmod(nanoseconds, 1_000_000_000)
            point: dict[str, Any] = {name: row[k].tolist() for name, row in zip(named, rows, strict=True)}
            points.append(point | {"time_from_start": {"sec": sec, "nanosec": nanosec}})
        header = {"stamp": {"sec": 0, "nanosec": 0}, "frame_id": self.robot.links[0].name}
        return {"header": header, "joint_names": list(joints), "points": points}

    @classmethod
    def load(cls, path: str | os.PathLike[str], robot: Robot) -> Samples:
        """Read what :meth:`save` wrote as .csv or .npz, for the same robot."""
        arrays, joints = read_arrays(path, robot)
        return cls(robot, force_names=joints, **arrays)


def names_of(robot: Robot, joints: tuple[str, ...]) -> dict[str, list[str]]:
    """What the numbers of each array are called; ``joints`` are those of internal forces."""
    sizes = {"q": robot.nq, "qd": robot.nv, "tau": robot.nu}
    found = {name: column_names(robot, Operand(name, (sizes[whose],))) for name, (whose, _) in UNITS.items()}
    return found | {"force": [f"force_{name}" for name in joints]}


def _driven(robot: Robot) -> list[tuple[str, int, int, int]]:
    """Name, place in q, place among velocities (of loops: of the tree) and place in tau of every driven joint."""
    table, tree = robot.coordinates, robot.tree.coordinates
    efforts = {name: k for k, name in enumerate(table.names("tau"))}
    behind = {joint: shaft.name for joint, shaft in springs(robot).items()}
    found = []
    for entry in table:
        motor = behind.get(entry.name, entry.name)
        moved = entry.joint.role == "driven" or entry.name in behind
        if moved and entry.one and not entry.elastic and motor in efforts:
            place = tree[entry.name].v.start if robot.loops else entry.v.start
            found.append((entry.name, entry.q.start, place, efforts[motor]))
    return found


def read_arrays(
    path: str | os.PathLike[str], robot: Robot, needed: Sequence[str] | None = None
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Arrays of a .csv or .npz file by the names of samples, checked for a robot; and the joints of internal forces.

    ``needed``: the arrays that must be there, by default all; others are read where they are there.
    """
    where = os.fspath(path)
    kind = Path(where).suffix.lower()
    if kind not in (".npz", ".csv"):
        raise FormatError(f"{where!r}: samples are read from .csv and .npz, not from {kind or 'a file without suffix'}")
    return (_of_archive if kind == ".npz" else _of_table)(where, robot, needed)


def _of_archive(where: str, robot: Robot, needed: Sequence[str] | None) -> tuple[dict[str, Any], tuple[str, ...]]:
    found: dict[str, Array] = {}
    joints: tuple[str, ...] = ()
    known = {"t", "force", *UNITS}
    try:
        with open(where, "rb") as file:
            archive = Archive(file, repr(where))
            for name in archive.names:
                if name == "force_names":
                    joints = tuple(map(str, np.atleast_1d(archive.read(name)).tolist()))
                elif name in known or needed is None:
                    found[name] = np.asarray(archive.read(name), float)
    except (OSError, TypeError, ValueError) as error:
        if isinstance(error, FormatError):
            raise
        raise FormatError(f"{where!r}: cannot be read as an archive of numbers: {error}") from None
    named = names_of(robot, joints)
    for name in ("t", *named) if needed is None else needed:
        if name not in found:
            raise FormatError(f"{where!r}: has no array {name!r}; {hint(name, list(found))}")
    arrays = {"t": found["t"].ravel()}
    for name in (each for each in named if each in found):
        shape = (found["t"].size, len(named[name]))
        if found[name].shape != shape:
            raise FormatError(
                f"{where!r}: array {name!r} of robot {robot.name!r} must have the shape {shape}, got "
                f"{found[name].shape}"
            )
        arrays[name] = found[name]
    return arrays, joints


def _of_table(where: str, robot: Robot, needed: Sequence[str] | None) -> tuple[dict[str, Any], tuple[str, ...]]:
    try:
        every = names_of(robot, tuple(joint.name for joint in robot.tree.joints))
        header, rows = numbers_below(where, [name for names in every.values() for name in names])
    except FormatError as error:
        raise FormatError(f"{where!r}: {error}") from None
    joints = tuple(name.removeprefix("force_") for name in header if name.startswith("force_"))
    arrays: dict[str, Any] = {}
    for array, wanted in ({"t": ["t"]} | names_of(robot, joints)).items():
        missing = [name for name in wanted if name not in header]
        if missing and (needed is None or array in needed):
            raise FormatError(f"{where!r}: has no column {missing[0]!r} of {robot.name!r}; {hint(missing[0], header)}")
        if not missing:
            arrays[array] = rows[:, [header.index(name) for name in wanted]]
    arrays["t"] = arrays["t"][:, 0]
    return arrays, joints
