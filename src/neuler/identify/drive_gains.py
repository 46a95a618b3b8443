"""Gains of drives: true torque (or force) of a joint divided by the logged one, estimated with a known load.

Currents times a catalogue's torque constant are off by the gain g_j of each joint: g_j tau_j = Y_j b + L_j, where L are
the torques of the known load of a run. Without a load every gain could be put into the parameters instead. With
c_j = 1 / g_j, so that the noise of tau stays in the residuals,

    tau_j = c_j (Y_j b + L_j),        d tau_j / d b = c_j Y_j,        d tau_j / d c_j = Y_j b + L_j

is solved by Gauss and Newton's method (Gautier and Briot 2014 solve it by total least squares).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler.errors import InputError
from neuler.identify.estimate import Estimate
from neuler.identify.least_squares import weighted
from neuler.identify.prepared import Prepared
from neuler.identify.rows import COLUMNS, Regression, filtered_rows, known_loads, prepared_logs
from neuler.identify.user_columns import user_columns
from neuler.identify.wanted import alike_said, wanted_base

Array = NDArray[np.float64]
_PASSES = 50
_TELLS = 1.0
"""Relative standard deviation of a gain above which nothing is known of it."""


@dataclass(frozen=True, eq=False)
class DriveGains:
    """Gains by joint, g = true torque / logged torque, with standard deviations; and the whole estimate."""

    gains: dict[str, float]
    sd: dict[str, float]
    estimate: Estimate
    """Of base parameters, then of 1 / g, ``JOINT.inverse_gain``."""
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        lines = [f"{joint}: {gain:.5g} +- {self.sd[joint]:.2g}" for joint, gain in self.gains.items()]
        return "\n".join(["gains of drives, true torque / logged torque", *lines, *self.notes])


def drive_gains(logs: Any, loads: Any, *, columns: Any = COLUMNS, own: Any = None, **preparation: Any) -> DriveGains:
    """Estimate the gains of all drives from logs, some with known ``loads`` and some with another load or none.

    ``loads``: by run, {"loaded": {"payload:tool.mass": 5.0, "payload:tool.mx": 0.1, ...}}; other arguments are those
    of :func:`fit`. Multiply the torque constants by the gains, and read the logs again.

    >>> import neuler
    >>> robot, t = neuler.robots.two_link(), np.arange(0.0, 20.0, 0.01)
    >>> q = np.stack([np.sin(2.1 * t) + 0.5 * np.sin(5.2 * t), np.cos(3.3 * t) + 0.3 * np.sin(1.7 * t)], axis=-1)
    >>> qd, qdd = (np.gradient(x, t, axis=0) for x in (q, np.gradient(q, t, axis=0)))
    >>> heavy = robot.with_payload("link2", 2.0)
    >>> tau = [each.inverse_dynamics(q, qd, qdd) / [1.1, 0.9] for each in (robot, heavy)]
    >>> logs = [neuler.identify.Log(robot, t, q, x, name=name) for x, name in zip(tau, ("empty", "loaded"))]
    >>> found = neuler.identify.drive_gains(logs, {"loaded": {"payload:link2.mass": 2.0}}, columns="links")
    >>> {joint: round(gain, 2) for joint, gain in found.gains.items()}
    {'joint1': 1.1, 'joint2': 0.9}
    """
    ready = prepared_logs("drive_gains", logs, preparation)
    robot, base = ready[0].robot, wanted_base("drive_gains", ready[0].robot, columns)
    known = known_loads("drive_gains", loads, [each.name for each in ready], robot)
    if not known:
        raise InputError(
            "drive_gains: no run has a known load (loads=), and without one gains and masses are indistinguishable: "
            "log the same motion with a payload that was weighed"
        )
    regression = Regression(robot, base.names, base.values, user_columns(robot, own or {}), known)
    runs = [_run(regression, each) for each in ready]
    forces = robot.coordinates.names("tau")
    names = (*regression.names, *(f"{force}.inverse_gain" for force in forces))
    p, c = len(regression.names), np.ones(len(forces))
    b, weights = np.concatenate([base.values, np.zeros(p - len(base))]), np.concatenate([run[3] for run in runs])
    done = False
    for _ in range(_PASSES):
        W, y = _linear(runs, b, c)
        estimate = weighted(W, y, names, weights=weights)
        x, last = estimate.values, np.concatenate([b, c])
        done = bool((np.abs(x - last) <= 1e-3 * estimate.sd + 1e-10 * np.abs(x)).all())
        b, c = x[:p], x[p:]
        if done:
            break
    sd = estimate.sd[p:] / c**2
    notes = alike_said(base) + ([] if done else [f"did not converge in {_PASSES} passes"])
    for force, gain, spread in zip(forces, 1.0 / c, sd, strict=True):
        if spread > _TELLS * abs(gain):
            notes.append(
                f"the load says nothing of the gain of {force!r}: {gain:.3g} +- {spread:.2g}; move it under load"
            )
        elif gain < 0.0:
            notes.append(f"the gain of {force!r} is negative: its torques have the opposite sign; map it with -1")
    gains, spreads = ((dict(zip(forces, x.tolist(), strict=True))) for x in (1.0 / c, sd))
    return DriveGains(gains, spreads, estimate, (*notes, *estimate.notes))


Run = tuple[Array, Array, Array, Array]


def _run(regression: Regression, ready: Prepared) -> Run:
    """Of a run, behind the filter: columns, torques of what is known, logged torques, weights."""
    Y, known = regression.columns_along(ready)
    rows = filtered_rows(ready, Y, ready.tau)
    return rows.W, ready.filter(known), rows.y, np.where(rows.moving, rows.weight, 0.0)


def _linear(runs: list[Run], b: Array, c: Array) -> tuple[Array, Array]:
    """Rows about (b, c): the Jacobian and the torques, to which the part of second order is added."""
    parts, right = [], []
    for Y, known, tau, _ in runs:
        n, nu, p = Y.shape
        torque = Y @ b + known
        J = np.zeros((n, nu, p + nu))
        J[..., :p] = c[:, None] * Y
        J[:, range(nu), range(p, p + nu)] = torque
        parts.append(J)
        right.append(tau + (Y @ b) * c)  # tau - c (Y b + L) + J (b, c)
    return np.concatenate(parts), np.concatenate(right)
