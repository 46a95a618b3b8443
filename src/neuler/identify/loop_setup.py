"""From logs and a controller to closed loops that can be simulated: what does not fit together is refused by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler.control.controller import Controller
from neuler.control.references import Reference
from neuler.errors import InputError
from neuler.identify.loop_runs import ClosedRun, Failure, checked_torque, grid_of, refined, white_noise
from neuler.identify.positions import closed
from neuler.identify.prepared import Prepared
from neuler.inputs import array, told
from neuler.robot import Robot
from neuler.robot.value import kept
from neuler.solve.base_parameters import BaseParameters

Array = NDArray[np.float64]
STARTS = ("reference", "measured")
_OFF = 0.05
"""Share of a joint's range by which a log may begin away from its reference."""
_FIT = 0.05
"""Seconds of a log from which the state at its beginning is taken."""
_FAR = 3.0
"""Times a joint's range by which a simulated joint may leave the measured one before it is another motion."""
_POOR = 0.5


def closed_runs(
    method: str, logs: Sequence[Prepared], base: BaseParameters, controller: Any, values: Array, *,
    reference: Any = None, start: Any = None, step: float | None = None, torque: str = "before",
) -> tuple[list[ClosedRun], list[str], dict[str, Any]]:  # fmt: skip
    """The closed loops of all logs, notes, and what was chosen, by log."""
    if controller is None:
        raise InputError(
            f"method {method!r} simulates the closed loop: give controller=..., a neuler.control controller with the "
            "reference that was tracked"
        )
    torque = checked_torque(torque)
    model = _minimal(base)
    runs: list[ClosedRun] = []
    notes: list[str] = []
    settings: dict[str, Any] = {}
    for ready in logs:
        law = _one(method, "controller", controller, ready, logs)
        _check_controller(method, law, ready)
        period = getattr(law, "period", None)
        grid = grid_of(ready, period, step)
        rows = _rows(method, law, _one(method, "reference", reference, ready, logs), ready, grid.parts)
        begin, how = _start(_one(method, "start", start, ready, logs), law, rows, ready, notes)
        run = ClosedRun(ready, base, model, law, rows, begin, grid, torque)
        run, error = _tried(run, values, step is None, notes)
        runs.append(run)
        settings[ready.name] = {
            "step": run.grid.dt, "steps_per_sample": run.grid.substeps * run.grid.parts, "integration_error": error,
            "period": period, "start": how, "torque": torque,
        }  # fmt: skip
        if period is None:
            notes.append(
                f"{ready.name}: the controller has no period, so it is sampled at every step of {run.grid.dt:g} s; "
                "give its period, or step="
            )
        elif error > 1e-5:
            notes.append(f"{ready.name}: halving the step still changes torques by {error:.2g} of their size")
    return runs, notes, settings


@kept
def _minimal(base: BaseParameters) -> Robot:
    """One for all searches: its compiled loops are used again."""
    return base.minimal()


def _one(method: str, what: str, given: Any, ready: Prepared, logs: Sequence[Prepared]) -> Any:
    """What belongs to a log: by its name, or one for all."""
    if not isinstance(given, Mapping):
        return given
    if ready.name not in given:
        raise InputError(
            f"{method}: {what} has nothing for log {ready.name!r}; it has {', '.join(map(repr, given)) or 'nothing'}"
        )
    strange = [name for name in given if name not in {each.name for each in logs}]
    if strange:
        raise InputError(f"{method}: {what} has {strange[0]!r}, and no log is called so")
    return given[ready.name]


def _check_controller(method: str, law: Any, ready: Prepared) -> None:
    if not callable(law):
        raise InputError(f"{method}: controller must be a controller such as neuler.control has, got {told(law)}")
    theirs, ours = getattr(law, "robot", None), ready.robot
    if theirs is None:
        return
    same = ("joint_names", "active_names", "nq", "nv", "nu")
    if any(getattr(theirs, each) != getattr(ours, each) for each in same):
        raise InputError(
            f"{method}: the controller is of robot {theirs.name!r} with joints {', '.join(theirs.joint_names[:6])}, "
            f"and log {ready.name!r} is of {ours.name!r}; its model may have other numbers, but not other joints"
        )


def _rows(method: str, law: Any, given: Any, ready: Prepared, parts: int) -> Array | None:
    """Rows of a reference for a controller that has none: one for each of ``parts`` to a row of the log."""
    if not isinstance(law, Controller) or not law.reference_sizes:
        if given is not None:
            raise InputError(f"{method}: reference= is for neuler.control controllers without a reference of their own")
        return None
    if law.reference is not None:
        if given is not None:
            raise InputError(f"{method}: the controller has a reference of its own; leave reference= away")
        return None
    size, count = sum(law.reference_sizes), parts * len(ready.log.t)
    if given is None:
        raise InputError(
            f"{method}: the controller has no reference: give it the one that was tracked, a function of time, or "
            f"reference=, {size} numbers for each row of the log"
        )
    found = array(method, "reference", given, (size,), " (positions, velocities, accelerations)")
    if found.shape not in ((count, size), (count - parts + 1, size)) or not np.isfinite(found).all():
        each = f"{parts} for each row of the log, as often as the controller computes" if parts > 1 else "one a row"
        raise InputError(
            f"{method}: reference of log {ready.name!r} must be {count} rows of {size} finite numbers, {each}, got "
            f"shape {found.shape}"
        )
    return np.concatenate([found, np.repeat(found[-1:], count - len(found), axis=0)])


# ---- where a run begins ---------------------------------------------------------------------------------------------


def _start(
    given: Any, law: Any, rows: Array | None, ready: Prepared, notes: list[str]
) -> tuple[tuple[Array, Array], str]:
    """q0 and qd0, and where they are from."""
    robot, name = ready.robot, ready.name
    own = robot.coordinates.own
    wanted = _wanted(law, rows, ready)
    if given is None:
        given = "measured" if wanted is None or len(own.places) < robot.nq else "reference"
    if isinstance(given, str):
        if given not in STARTS:
            raise InputError(f"{name}: start must be (q0, qd0), or one of {', '.join(STARTS)}, got {given!r}")
        if given == "measured":
            return _measured(ready), given
        if wanted is None or len(own.places) < robot.nq:
            raise InputError(f"{name}: start='reference' needs a controller with a reference of all positions")
        _check_start(ready, wanted[0], notes)
        return wanted, given
    if not isinstance(given, tuple | list) or len(given) != 2:
        raise InputError(f"{name}: start must be (q0, qd0), or one of {', '.join(STARTS)}, got {told(given)}")
    q0, qd0 = array(name, "start q0", given[0], (robot.nq,)), array(name, "start qd0", given[1], (robot.nv,))
    if q0.ndim != 1 or qd0.ndim != 1 or not (np.isfinite(q0).all() and np.isfinite(qd0).all()):
        raise InputError(f"{name}: start must be one finite state (q0, qd0), got shapes {q0.shape} and {qd0.shape}")
    if own.plain and len(own.places) == robot.nq:
        _check_start(ready, q0, notes)
    return (q0, qd0), "given"


def _wanted(law: Any, rows: Array | None, ready: Prepared) -> tuple[Array, Array] | None:
    """Where the reference is when the log begins; velocities zero where it has none."""
    if not isinstance(law, Controller) or not law.reference_sizes:
        return None
    size, speeds = law.coordinates.size, law.coordinates.speeds
    if rows is not None:
        flat = rows[0]
    else:
        path = law.reference
        assert path is not None
        flat = np.asarray(path.with_order(1)(ready.log.t[0]) if isinstance(path, Reference) else path(ready.log.t[0]))
    rate = flat[size : size + speeds] if len(flat) >= size + speeds else np.zeros(speeds)
    if size != ready.robot.nq or speeds != ready.robot.nv:
        return None
    return np.array(flat[:size], dtype=float), np.array(rate, dtype=float)


def _measured(ready: Prepared) -> tuple[Array, Array]:
    """The first state of the log: measured, or where velocities were not, of a parabola through its first samples."""
    log, robot = ready.log, ready.robot
    q0 = np.array(log.q[0])
    if log.qd is not None:
        return q0, np.array(log.qd[0])
    count = int(np.clip(round(_FIT * log.rate), 5, len(log.t)))
    t = log.t[:count] - log.t[0]
    fitted = np.polynomial.polynomial.polyfit(t, log.q[:count], 2)
    own = robot.coordinates.own.places
    if len(own) < robot.nq:
        q0 = closed(robot, log.t[:1], fitted[:1], ready.name, [])[0]
    else:
        q0 = fitted[0]
    return q0, fitted[1][own]


def _check_start(ready: Prepared, q0: Array, notes: list[str]) -> None:
    """Refuse a log that begins elsewhere; note one that begins a little aside."""
    q = np.asarray(ready.log.q)
    begun = _measured(ready)[0]
    noise = white_noise(q)
    away, allowed = np.abs(begun - q0), np.maximum(_OFF * np.ptp(q, axis=0), 10.0 * noise) + 1e-9
    k = int(np.argmax(away / allowed))
    joint = ready.robot.coordinates.names("q")[k]
    if away[k] > max(0.1 * allowed[k], 10.0 * noise[k]):
        notes.append(
            f"{ready.name}: {joint} begins {away[k]:.3g} beside the simulation, which takes its time to forget that: "
            "start='measured', or cut off more (trim=)"
        )
    if away[k] > allowed[k]:
        raise InputError(
            f"{ready.name}: {joint} begins at {begun[k]:.5g}, and the simulation at {q0[k]:.5g}: the log does not "
            "begin where the reference does; check its times, or give start=(q0, qd0) or start='measured'"
        )


def _tried(run: ClosedRun, values: Array, refine: bool, notes: list[str]) -> tuple[ClosedRun, float]:
    """The run with its steps chosen, if the closed loop is stable with the parameters to begin with."""
    name = run.ready.name
    advice = "the closed loop is unstable with the parameters to begin with: check the controller's gains and period, "
    advice += "the reference and the given robot, or give start_values"
    motion = run.motion(values)
    if isinstance(motion, Failure):
        raise InputError(f"{name}: {motion.reason}; {advice}")
    q = run.measured_positions
    wrong = run.indefinite(values, q)
    if wrong:
        raise InputError(f"{name}: {wrong} with the parameters to begin with; give start_values of a real robot")
    own = run.ready.robot.coordinates.own
    if own.plain:
        places = own.places
        reach = np.maximum(np.ptp(q[:, places], axis=0), 1e-3)
        away = np.abs(motion.q[:, places] - q[:, places]).max(axis=0) / reach
        k = int(np.argmax(away))
        joint = run.ready.robot.coordinates.names("q")[places[k]]
        said = f"simulated {joint} leaves the measured one by {away[k]:.3g} times its range"
        if away[k] > _FAR:
            raise InputError(f"{name}: {said}: {advice}")
        if away[k] > _POOR:
            notes.append(f"{name}: with the parameters to begin with, {said}")
    if not refine:
        return run, _error(run, values)
    run, _, error = refined(run, values, motion)
    return run, error


def _error(run: ClosedRun, values: Array) -> float:
    """What halving the steps changes torques by."""
    motion = run.motion(values)
    assert not isinstance(motion, Failure)
    return refined(run, values, motion)[2]
