"""Runs in steps of one size: rollouts in pieces, so that they can be watched, audited and interrupted.

A controller that may be compiled is part of the rollout: one call of machine code for thousands of steps. Any other
callable is asked at its samples, and a rollout with its forces held leads from each to the next.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler.compiled import Compiled
from neuler.errors import InputError
from neuler.robot import Robot
from neuler.rollouts.arguments import samples
from neuler.rollouts.controllers import control_function
from neuler.rollouts.efforts import Clipped
from neuler.rollouts.events import CONTROLLER
from neuler.simulation.audit import Audit
from neuler.simulation.forces import Forces
from neuler.simulation.peaks import Peaks
from neuler.simulation.start import Clock
from neuler.simulation.wrenches import Wrenches

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

_CALLED = 16
"""Steps of a piece with a controller that is called from Python."""
_LOOK = 0.25
"""Seconds after which a run looks up: shows progress, can be interrupted."""
_HELD = 2**22
"""Numbers of a piece."""


@dataclass
class Piece:
    """States after some steps, (rows, n, ...), and the forces that led to each."""

    q: Array
    qd: Array
    tau: Array


class Fixed:
    """Rows under way: :meth:`go` fills ``kept``, and may be interrupted; then what is there is valid."""

    def __init__(
        self, robot: Robot, forces: Forces, wrenches: Wrenches, clock: Clock, start: tuple[Array, Array], *,
        method: str, limits: str, effort: str, audit: Audit | None, progress: Callable[[float], Any] | None,
    ) -> None:  # fmt: skip
        self.robot, self.forces, self.clock, self.audit, self.progress = robot, forces, clock, audit, progress
        self.batch = start[0].shape[:-1]
        self.rows = int(np.prod(self.batch))
        self.q, self.qd = (x.reshape(self.rows, -1) for x in start)
        self.peaks = Peaks(robot, effort)
        memory = forces.memory
        self.control: Compiled | None = None
        """The controller that becomes part of the rollout, traced once for all pieces."""
        if forces.compiled and self.peaks.clips:
            clipped = Clipped(forces.given, self.peaks.most, asked=True)
            memory = clipped.memory0
            self.control = control_function("simulate", robot, clipped, len(memory))
        elif forces.compiled:
            self.control = forces.function
        self.memory = np.tile(memory, (self.rows, 1))
        self.sampled = samples("simulate", forces.period, np.array(clock.step)) if forces.control is not None else 1
        self.options: dict[str, Any] = {"method": method, "limits": limits, "external": self._held(wrenches.external),
                        "loads": self._held(wrenches.loads)}  # fmt: skip
        self.status, self.joint = np.zeros(self.rows, dtype=int), np.full(self.rows, -1)
        self.ended = np.zeros(self.rows, dtype=int)
        """Steps that were done of each row, when its event was noticed."""
        self.done = 0
        self.kept: list[Piece] = []
        self.works: list[tuple[Array, Array]] = []
        self.notes: list[str] = []
        self.first: Array | None = None
        """tau of the first step, (rows, nu)."""
        if forces.series:
            self._series = _fitting(forces.given, self.batch, clock, robot.nu)

    def _held(self, wrenches: dict[str, Any]) -> dict[str, Any]:
        """Wrenches with one row a row."""
        found = {}
        for frame, value in wrenches.items():
            found[frame] = value if callable(value) else self._by_row(f"the wrench on {frame!r}", value)
        return found

    def _by_row(self, what: str, value: Array) -> Array:
        try:
            return np.broadcast_to(value, (*self.batch, 6)).reshape(self.rows, 6)
        except ValueError:
            raise InputError(f"simulate: {what} of shape {value.shape} does not fit the batch {self.batch}") from None

    # ---- all of it -----------------------------------------------------------------------------

    def go(self) -> None:
        """Through all steps, piece by piece."""
        clock = self.clock
        unit = math.lcm(clock.every, self.sampled)
        most = max(1, _HELD // (unit * self.rows * (self.robot.nq + self.robot.nv + self.robot.nu)))
        if self._calls:  # what was computed before a controller fails is not lost
            most = min(most, max(1, _CALLED // unit))
        units = min(most, max(1, 128 // unit))
        while self.done < clock.steps and not (self.status != 0).all():
            begun = time.perf_counter()
            steps = min(units * unit, clock.steps - self.done)
            self._piece(steps)
            self.done += steps
            if self.progress is not None:
                self.progress(steps * clock.step)
            faster = _LOOK / max(time.perf_counter() - begun, 1e-6)
            units = int(min(most, max(1, units * min(4.0, faster))))
        if self.done < clock.steps and self.progress is not None:
            self.progress((clock.steps - self.done) * clock.step)

    def _piece(self, steps: int) -> None:
        """Some steps more; nothing changes where they are interrupted."""
        every = 1 if self.audit is not None else self.clock.every
        state = (self.q, self.qd, self.memory, self.status.copy(), self.joint.copy(), self.ended.copy())
        try:
            piece = self._asked(steps) if self._calls else self._rolled(steps, every)
            work = self._work(piece) if self.audit is not None else None
        except BaseException:
            self.q, self.qd, self.memory, self.status, self.joint, self.ended = state
            raise
        if self.first is None:
            self.first = piece.tau[:, 0] if every == 1 or self._calls else self._first_forces(state)
        thin = slice(self.clock.every - 1, None, self.clock.every) if every == 1 or self._calls else slice(None)
        self.kept.append(Piece(piece.q[:, thin], piece.qd[:, thin], piece.tau[:, thin]))
        if work is not None:
            before = self.works[-1] if self.works else (np.zeros((self.rows, 1)),) * 2
            sums = [x[:, -1:] + np.cumsum(part, axis=1)[:, thin] for x, part in zip(before, work, strict=True)]
            self.works.append((sums[0], sums[1]))

    @property
    def _calls(self) -> bool:
        """Whether the controller is called from here."""
        return self.forces.control is not None and not self.forces.compiled

    def _work(self, piece: Piece) -> tuple[Array, Array]:
        assert self.audit is not None
        q, qd = (
            np.concatenate([x[:, None], y], axis=1)
            for x, y in ((self._before[0], piece.q), (self._before[1], piece.qd))
        )
        times = (self.clock.begin + self.done + np.arange(q.shape[1])) * np.float64(self.clock.step)
        return self.audit.works(times, q, qd, piece.tau)

    # ---- by machine code alone -------------------------------------------------------------------

    def _rolled(self, steps: int, every: int) -> Piece:
        self._before = self.q, self.qd
        if self.forces.control is None:
            tau = self._forces(steps)
            self.peaks.see(tau, self._times(tau.shape[-2]))
            tau = self.peaks.cut(tau)
            found = self._roll(self.q, self.qd, tau, steps, every, self.done)
            shown = np.broadcast_to(tau, (self.rows, tau.shape[-2], self.robot.nu))
            thin = shown[:, every - 1 :: every] if tau.shape[-2] > 1 else shown
            applied = np.array(np.broadcast_to(thin, (self.rows, steps // every, self.robot.nu)))
            applied[np.isnan(found.q).any(axis=-1)] = np.nan
        else:
            found = self._controlled((self.q, self.qd, self.memory), steps, every, self.done)
            self.memory, applied = found.memory, found.tau
            if self.peaks.clips:
                size, when = np.split(self.memory[:, -2 * self.robot.nu :], 2, axis=-1)
                self.peaks.seen(np.nan_to_num(size, nan=0.0, posinf=np.inf), when)
            else:
                self.peaks.see(applied, self._times(steps)[every - 1 :: every])
        self._note(found, np.arange(self.rows), self.done)
        self.q, self.qd = found.q[:, -1], found.qd[:, -1]
        return Piece(found.q, found.qd, applied)

    def _times(self, count: int) -> Array:
        """At which the next steps begin."""
        return np.asarray((self.clock.begin + self.done + np.arange(count)) * np.float64(self.clock.step))

    def _roll(self, q: Array, qd: Array, tau: Any, steps: int, every: int, done: int, **more: Any) -> Any:
        options = {**self.options, **more}
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            found = self.robot.rollout(
                q, qd, tau, self.clock.step, steps, every=every, start=self.clock.begin + done, **options
            )
        for each in said:  # a step at which springs are unstable, for one
            told = str(each.message)
            if told.startswith("rollout: "):
                told = told.replace("rollout: ", "simulate: ").replace("dt = ", "step = ")
                self.notes.append(told.removeprefix("simulate: "))
            warnings.warn(told, each.category, stacklevel=7)
        return found

    def _controlled(self, state: tuple[Array, ...], steps: int, every: int, done: int) -> Any:
        """Under the compiled controller, from a state and its memory."""
        q, qd, memory = state[:3]
        more: dict[str, Any] = {"memory": memory} if memory.shape[-1] else {}
        return self._roll(q, qd, self.control, steps, every, done, period=self.forces.period, **more)

    def _forces(self, steps: int) -> Array:
        """Of the next steps, (rows, steps or 1, nu)."""
        if self.forces.series:
            return self._series[:, self.done : self.done + steps]
        given = self.forces.given
        return np.broadcast_to(given, (*self.batch, 1, self.robot.nu)).reshape(self.rows, 1, self.robot.nu)

    def _first_forces(self, state: tuple[Array, ...]) -> Array:
        if self.forces.control is None:
            return np.array(self.peaks.cut(self._forces(1)[:, 0]))
        return np.asarray(self._controlled(state, 1, 1, 0).tau[:, 0])

    def _note(self, found: Any, rows: Integers, done: int) -> None:
        """What happened to rows that were well before."""
        fresh = self.status[rows] == 0
        self.ended[rows[fresh]] = done + found.step[fresh]
        self.status[rows[fresh]] = found.status[fresh]
        self.joint[rows[fresh]] = found.joint[fresh]

    # ---- with a controller that is called ----------------------------------------------------------

    def _asked(self, steps: int) -> Piece:
        self._before = self.q, self.qd
        sizes = (self.robot.nq, self.robot.nv, self.robot.nu)
        q, qd, tau = (np.full((self.rows, steps, size), np.nan) for size in sizes)
        for first in range(0, steps, self.sampled):
            rows = np.flatnonzero(self.status == 0)
            if not len(rows):
                break
            given = self._ask(rows, self.done + first)
            rows = np.flatnonzero(self.status == 0)
            if not len(rows):
                break
            self.peaks.see(given[rows, None], self._times(first + 1)[first:])
            given = self.peaks.cut(given)
            count = min(self.sampled, steps - first)
            wrenches = {key: self._chosen(key, rows) for key in ("external", "loads")}
            found = self._roll(self.q[rows], self.qd[rows], given[rows, None], count, 1, self.done + first, **wrenches)
            part = slice(first, first + count)
            q[rows, part], qd[rows, part] = found.q, found.qd
            tau[rows, part] = np.where(np.isnan(found.q).any(axis=-1, keepdims=True), np.nan, given[rows, None])
            self._note(found, rows, self.done + first)
            self.q, self.qd = self.q.copy(), self.qd.copy()
            self.q[rows], self.qd[rows] = found.q[:, -1], found.qd[:, -1]
        return Piece(q, qd, tau)

    def _chosen(self, key: str, rows: Integers) -> dict[str, Any]:
        return {frame: x if callable(x) else x[rows] for frame, x in self.options[key].items()}

    def _ask(self, rows: Integers, step: int) -> Array:
        """The controller's forces for rows, (all rows, nu); those that it gives NaN for are at their end."""
        when = (self.clock.begin + step) * self.clock.step
        q, qd, memory = self.q[rows], self.qd[rows], self.memory[rows]
        if not self.batch:
            tau, after = self.forces.at(when, q[0], qd[0], memory[0])
            tau, after = tau[None], after[None]
        else:
            tau, after = self.forces.at(when, q, qd, memory)
        given = np.full((self.rows, self.robot.nu), np.nan)
        given[rows] = tau
        self.memory = self.memory.copy()
        self.memory[rows] = after
        bad = rows[~np.isfinite(tau).all(axis=-1)]
        self.status[bad], self.ended[bad] = CONTROLLER, step
        owners = self.robot.coordinates.owners("tau")
        for row in bad:
            self.joint[row] = owners[int(np.argmin(np.isfinite(given[row])))].number
        return given


def _fitting(given: Array, batch: tuple[int, ...], clock: Clock, nu: int) -> Array:
    """A series of forces as (rows, steps, nu)."""
    if given.shape[-2] != clock.steps:
        raise InputError(f"simulate: forces are given for {given.shape[-2]} steps, and there are {clock.steps}")
    try:
        return np.broadcast_to(given, (*batch, clock.steps, nu)).reshape(-1, clock.steps, nu)
    except ValueError:
        raise InputError(f"simulate: forces of shape {given.shape} do not fit the batch {batch}") from None
