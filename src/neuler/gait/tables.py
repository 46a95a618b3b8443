"""Loads over time on disk: tables of all that was found, OpenSim's external loads, angles as OpenSim has them."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from neuler.files.opensim import SUFFIXES, write_storage
from neuler.files.series import save_series
from neuler.gait.columns import OPENSIM, Columns, opensim_angles
from neuler.gait.loads import Loads

Array = NDArray[np.float64]
_AXES = "xyz"


def save(found: Loads, path: str | os.PathLike[str]) -> None:
    """By the suffix: .csv, .parquet and .npz have everything, .mot and .sto the forces of the ground."""
    if Path(path).suffix.lower() in SUFFIXES:
        write_storage(path, external_loads(found), in_degrees=False, name="ground reaction")
        return
    columns, units = series(found)
    arrays = {
        "t": found.t, "q": found.q, "qd": found.qd, "qdd": found.qdd, "force": found.force, "moment": found.moment,
        "zero_moment_point": found.zero_moment_point, "touching": found.touching, "share": found.share,
        "foot_force": found.foot_force, "center_of_pressure": found.center_of_pressure,
        "free_moment": found.free_moment, "tau": found.tau, "joint_force": found.joint_forces,
    }  # fmt: skip
    save_series(path, columns, arrays, units)


def series(found: Loads) -> tuple[dict[str, Array], dict[str, str]]:
    """Columns by name, and their units."""
    columns: dict[str, Array] = {"t": found.t}
    units = {"t": "s"}

    def put(name: str, values: Array, unit: str) -> None:
        columns[name], units[name] = values, unit

    names = found.robot.coordinates
    for name, values, unit in zip(names.names("q"), found.q.T, names.units("q"), strict=True):
        put(f"q_{name}", values, unit)
    for axis, values, place in zip(_AXES, found.force.T, found.zero_moment_point.T, strict=True):
        put(f"ground_force_{axis}", values, "N")
        put(f"zero_moment_point_{axis}", place, "m")
    for k, foot in enumerate(found.feet):
        put(f"{foot}_touching", found.touching[:, k].astype(float), "")
        put(f"{foot}_vertical", found.vertical[:, k], "N")
        put(f"{foot}_fore_aft", found.fore_aft[:, k], "N")
        put(f"{foot}_lateral", found.lateral[:, k], "N")
        for axis, values in zip(_AXES, found.center_of_pressure[:, k].T, strict=True):
            put(f"{foot}_pressure_{axis}", values, "m")
        put(f"{foot}_free_moment", found.free_moment[:, k], "N m")
    for name, values, unit in zip(names.names("tau"), found.tau.T, names.units("tau"), strict=True):
        put(f"tau_{name}", values, unit)
    for name, values in zip(found.joint_names, found.joint_forces.T, strict=True):
        put(f"force_{name}", values, "N")
    return columns, units


def external_loads(found: Loads) -> dict[str, Array]:
    """Force, point and torque of each foot as OpenSim's external loads have them: x forwards, y up, z to the right.

    Columns are ``ground_force_<foot>_vx``, ``..._px`` and ``ground_torque_<foot>_x``. Where a foot carries nothing its
    point is the origin.
    """
    columns: dict[str, Array] = {"time": found.t}
    for k, foot in enumerate(found.feet):
        torque = found.free_moment[:, k, None] * found.normal
        parts = (
            (f"ground_force_{foot}_v", found.foot_force[:, k]),
            (f"ground_force_{foot}_p", np.nan_to_num(found.center_of_pressure[:, k])),
            (f"ground_torque_{foot}_", torque),
        )
        for name, vectors in parts:
            turned = vectors[:, [0, 2, 1]] * np.array([1.0, 1.0, -1.0])
            for axis, values in zip(_AXES, turned.T, strict=True):
                columns[name + axis] = values
    return columns


def save_angles(found: Loads, path: str | os.PathLike[str], columns: Columns = OPENSIM) -> None:
    """Write the smoothed angles as a .mot or .sto file in degrees, with OpenSim's names and axes."""
    one = found.single("save_angles")
    write_storage(path, {"time": one.t, **opensim_angles(one.robot, one.q, columns)}, in_degrees=True, name="angles")
