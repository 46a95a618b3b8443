"""What a simulation gives: states over time with names and units, events in words, and how well energy is kept."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from neuler.errors import InputError
from neuler.files.series import save_series
from neuler.motions.motion import Motion
from neuler.motions.recorded import Recorded
from neuler.plain import count, number, shown
from neuler.robot import Robot
from neuler.robot.columns import column_names
from neuler.robot.coordinates import Selection
from neuler.robot.coordinates import names as coordinate_names
from neuler.trace.recipe import Operand

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from neuler.robots.limbs import Limb
    from neuler.view.player import Inline

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

REASONS = (
    "", "a number became infinite or NaN", "diverged", "beyond its limit", "a loop opened or became singular",
    "the controller gave NaN or infinity", "interrupted",
    "steps became too small, as where dry friction stops a joint ('rk4' holds it) or a spring is stiff ('implicit')",
)  # fmt: skip
"""What the numbers of ``status`` say; none for a run that went to its end."""
INTERRUPTED = 6


@dataclass(frozen=True)
class Event:
    """Why a row stopped before its end."""

    row: tuple[int, ...]
    time: float
    """When it was noticed (s)."""
    joint: str
    """The joint that it happened to; empty where there is none to name."""
    reason: str
    value: float = math.nan
    """The joint's position in the last state that is finite; NaN where it has several numbers, or none."""

    def __str__(self) -> str:
        where = f"run {', '.join(map(str, self.row))}: " if self.row else ""
        who = f"joint {self.joint!r}: " if self.joint else ""
        last = f" (last at {number(self.value, 6)})" if math.isfinite(self.value) else ""
        return f"{where}at {number(self.time, 6)} s: {who}{self.reason}{last}"


@dataclass(frozen=True, eq=False)
class Run(Motion):
    """A simulated motion, or several of them: batch axes (...) lead, then the time.

    States after an event are NaN. ``run[k]`` is one row of a batch. ``tau[k]`` is the force applied during the step
    that ends at ``t[k]``; ``tau[0]`` is that of the first step.
    """

    robot: Robot
    t: Array
    """Times (s), (n,)."""
    q: Array
    """Positions, (..., n, nq)."""
    qd: Array
    """Velocities, (..., n, nv)."""
    tau: Array
    """Forces, (..., n, nu)."""
    status: Integers
    """(...): 0 for a row that went to its end, else a number of ``REASONS``."""
    time: Array
    """(...): when an event was noticed (s); the end of rows without one."""
    joint: Integers
    """(...): number of the event's joint among ``robot.joint_names``; -1 for none."""
    method: str
    kinetic: Array
    """Energies (J), (..., n)."""
    potential: Array
    work: Array
    """Of tau from the start on (J), (..., n); NaN where the audit was left out."""
    work_of_losses: Array
    """Work of friction and of external wrenches (J), (..., n)."""
    gap: Array
    """How far loops are open (m, rad), (..., n); zero without loops."""
    loads: Mapping[str, Array] = field(default_factory=dict)
    """By frame: wrenches from outside in the base's axes at its origin, (..., n, 6)."""
    wanted: Array | None = None
    """Positions that the controller's reference asks for, (n, k), of the coordinates ``followed``."""
    followed: Selection | None = None
    """The coordinates of q that the controller's reference is of."""
    notes: tuple[str, ...] = ()
    """What is worth knowing."""
    seconds: float = 0.0
    """Wall-clock time (s)."""

    def __getattr__(self, name: str) -> Any:
        """Of a name that a field had in 0.2, an error that says what it is called now."""
        now = f"; it is called {_RENAMED[name]!r}" if name in _RENAMED else ""
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}{now}", name=name, obj=self)

    # ---- rows --------------------------------------------------------------------------------------

    @property
    def batch(self) -> tuple[int, ...]:
        """Shape of the batch; () for a single run."""
        return self.q.shape[:-2]

    def __len__(self) -> int:
        """Rows of a batch."""
        if not self.batch:
            raise TypeError("a single run has no rows; len(run.t) is the number of its moments")
        return self.batch[0]

    def __bool__(self) -> bool:
        """There is a run, also where it has no rows to count."""
        return True

    def __getitem__(self, row: Any) -> Run:
        """One row of a batch, or several (a slice, a mask)."""
        if not self.batch:
            raise InputError("this is a single run: there are no rows to choose from")
        try:
            chosen = {name: getattr(self, name)[row] for name in _ROWS}
        except IndexError as error:
            raise InputError(f"run[{row!r}]: rows are chosen along the batch axes {self.batch}: {error}") from None
        loads = {name: value[row] for name, value in self.loads.items()}
        every = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return Run(**{**every, **chosen, "loads": loads})

    def __iter__(self) -> Iterator[Run]:
        """Its rows."""
        return (self[k] for k in range(len(self)))

    # ---- at any time -------------------------------------------------------------------------------

    @cached_property
    def _recorded(self) -> Recorded:
        """The motion through its states, as far as they are finite."""
        if self.batch:
            raise InputError(f"this run has {count(int(np.prod(self.batch)), 'row')}; choose one: run[0]")
        good = np.isfinite(self.q).all(axis=-1) & np.isfinite(self.qd).all(axis=-1)
        last = len(self.t) if good.all() else int(np.argmin(good))
        if last < 2:
            raise InputError("this run has no two states: it stopped at once, and there is no motion")
        return Recorded(self.robot, self.t[:last], self.q[:last], self.qd[:last])

    @property
    def duration(self) -> float:
        """From the first state to the last that is finite (s); of a single run."""
        return self._recorded.duration

    @property
    def knots(self) -> Array:
        """Times of the states, from 0 on (s)."""
        return self._recorded.knots

    def evaluate(self, t: Array, order: int) -> list[Array]:
        """Positions (N, nq) and derivatives up to ``order``, (N, nv) each, at times t (N,) after the start."""
        return self._recorded.evaluate(t, order)

    def _torques(self, t: Array) -> Array:
        """Forces of the step at times t (N,) after the start, (N, nu)."""
        step = np.searchsorted(self.knots, np.asarray(t, dtype=float) - 1e-12 * self.duration, side="left")
        return self.tau[np.clip(step, 1, len(self.knots) - 1)]

    # ---- what happened -----------------------------------------------------------------------------

    @property
    def events(self) -> list[Event]:
        """Of all rows that did not go to their end, in words."""
        names = self.robot.joint_names
        found = []
        for row in map(tuple, np.argwhere(self.status != 0).tolist()):
            joint = int(self.joint[row])
            reason = REASONS[int(self.status[row])]
            name = names[joint] if joint >= 0 else ""
            found.append(Event(row, float(self.time[row]), name, reason, self._last(row, joint)))
        return found

    def _last(self, row: tuple[int, ...], joint: int) -> float:
        """Position of a joint with one number in the last finite state of a row."""
        good = np.flatnonzero(np.isfinite(self.q[row]).all(axis=-1))
        if joint < 0 or not len(good):
            return math.nan
        entry = self.robot.coordinates.entries[joint]
        return float(self.q[row][good[-1], entry.q.start]) if entry.nq == 1 else math.nan

    @property
    def energy(self) -> Array:
        """Kinetic and potential (J), (..., n)."""
        return self.kinetic + self.potential

    @property
    def drift(self) -> Array:
        """What the integrator adds to the energy (J): E - E0 - work of tau, friction and wrenches, (..., n)."""
        return self.energy - self.energy[..., :1] - self.work - self.work_of_losses

    @property
    def relative_drift(self) -> Array:
        """The largest drift of each row, (...), as a share of the energy that moved."""
        moved = np.maximum(_largest(self.kinetic), _largest(self.potential - self.potential[..., :1]))
        moved = np.maximum(moved, np.maximum(_largest(self.work), _largest(self.work_of_losses)))
        return _largest(self.drift) / np.where(moved > 0, moved, 1.0)

    @property
    def error(self) -> Array | None:
        """From the reference's positions to the robot's along velocities, (..., n, velocities); None without one."""
        if self.wanted is None or self.followed is None:
            return None
        parts, at = [], 0
        for joint, places, _ in self.followed.parts:
            goal, here = self.wanted[:, at : at + len(places)], self.q[..., list(places)]
            parts.append(here - goal if joint is None else joint.type.difference(goal, here))
            at += len(places)
        return np.concatenate(parts, axis=-1)

    @property
    def rms_error(self) -> Array | None:
        """The error's root mean square over the time of each row, (..., velocities)."""
        error = self.error
        if error is None:
            return None
        good = np.isfinite(error)
        return np.sqrt(np.sum(np.where(good, error, 0.0) ** 2, axis=-2) / np.maximum(good.sum(axis=-2), 1))

    # ---- out of here -------------------------------------------------------------------------------

    @property
    def names(self) -> dict[str, list[str]]:
        """What the numbers of q, qd and tau are called in a file."""
        sizes = {"q": self.robot.nq, "qd": self.robot.nv, "tau": self.robot.nu}
        return {name: column_names(self.robot, Operand(name, (size,))) for name, size in sizes.items()}

    @property
    def followed_names(self) -> list[str]:
        """What the numbers of :attr:`error` are called."""
        positions = self.robot.coordinates.names("q")
        found: list[str] = []
        for joint, places, _ in () if self.followed is None else self.followed.parts:
            found += [positions[places[0]]] if joint is None else coordinate_names(joint, "qd")
        return found

    @property
    def units(self) -> dict[str, str]:
        """Units by the names of :attr:`columns`; columns without a unit are absent."""
        found = {"t": "s", "kinetic": "J", "potential": "J", "work": "J", "work_of_losses": "J"}
        for name, called in self.names.items():
            found.update(zip(called, self.robot.coordinates.units(name), strict=True))
        for frame in self.loads:
            found.update({f"load_{frame}_{part}": "N" if part[0] == "f" else "N m" for part in _WRENCH})
        return found

    @property
    def columns(self) -> dict[str, NDArray[Any]]:
        """A table: every number over time under its name; of a batch all rows below each other, numbered by run."""
        rows = int(np.prod(self.batch))
        found: dict[str, NDArray[Any]] = {}
        if self.batch:
            found["run"] = np.repeat(np.arange(rows), len(self.t))
        found["t"] = np.tile(self.t, rows)
        for name, called in self.names.items():
            flat = getattr(self, name).reshape(-1, len(called))
            found.update({column: flat[:, k] for k, column in enumerate(called)})
        for frame, wrench in self.loads.items():
            flat = wrench.reshape(-1, 6)
            found.update({f"load_{frame}_{part}": flat[:, k] for k, part in enumerate(_WRENCH)})
        found.update({name: getattr(self, name).ravel() for name in ("kinetic", "potential", "work", "work_of_losses")})
        return found

    def save(self, path: str | os.PathLike[str], step: float | None = None, count: int | None = None) -> None:
        """Write a table: .csv or .parquet with one column per number, .npz with the arrays by their names.

        All states with energies and loads are written; with ``step`` (s) or ``count``, samples as of any other motion,
        also .json for ROS.
        """
        if step is not None or count is not None or Path(path).suffix.lower() == ".json":
            super().save(path, step, count)
            return
        arrays: dict[str, NDArray[Any]] = {"t": self.t, **{name: getattr(self, name) for name in _ROWS}}
        arrays.update({f"load_{name}": value for name, value in self.loads.items()})
        if self.wanted is not None:
            arrays["wanted"] = self.wanted
        save_series(path, self.columns, arrays, self.units)

    def page(
        self, path: str | os.PathLike[str], *, title: str | None = None, speed: float | None = None,
        limbs: Sequence[Limb] | None = None, rows: int = 16,
    ) -> None:  # fmt: skip
        """Write a page (HTML) that plays the motion, at a ``speed`` (1 is real time); of a batch its first ``rows``.

        ``limbs``: rounded bodies in the place of rods, :class:`neuler.view.Limb`.
        """
        from neuler.view.player import play

        q, options = self._shown(rows)
        options |= {"limbs": limbs} if speed is None else {"limbs": limbs, "speed": speed}
        play(self.robot, self.t, q, path, title=title or f"{self.robot.name}: simulation", **options)

    def player(self, *, height: int = 620, speed: float | None = None, rows: int = 16) -> Inline:
        """The same page inside a notebook, ``height`` pixels high: the result of a cell plays the motion there."""
        from neuler.view.player import Inline, player

        q, options = self._shown(rows)
        options |= {} if speed is None else {"speed": speed}
        return Inline(player(self.robot, self.t, q, title=f"{self.robot.name}: simulation", **options), height)

    def _shown(self, rows: int) -> tuple[Array, dict[str, Any]]:
        """What a player is told: positions of the first rows, loads, names and events."""
        shape = (-1, len(self.t))
        q = self.q.reshape(*shape, self.robot.nq)[:rows]
        told = {event.row: str(event) for event in self.events}
        spots = list(np.ndindex(*self.batch))[: len(q)]
        return q, {
            "forces": {name: value.reshape(*shape, 6)[:rows] for name, value in self.loads.items()},
            "notes": [told.get(spot, "") for spot in spots],
            "names": [f"run {', '.join(map(str, spot))}" for spot in spots],
        }

    def _repr_html_(self) -> str:
        """For notebooks: the motion in one picture, what is known of it, and a player."""
        from neuler.view.notebook import motion_html

        first = self.first
        good = first.q[np.isfinite(first.q).all(axis=-1)]
        facts = repr(self).removeprefix(f"<run of {self.robot.name!r}: ").removesuffix(">")
        told = [str(event) for event in self.events[:_TOLD]] + [f"note: {note}" for note in self.notes[:_TOLD]]
        table = [("", "least", "most", "unit")]
        for name, called in self.names.items():
            values = getattr(first, name)
            for k, (label, unit) in enumerate(zip(called, self.robot.coordinates.units(name), strict=True)):
                part = values[np.isfinite(values[:, k]), k]
                low, high = (number(float(x), 4) for x in (part.min(), part.max())) if len(part) else ("", "")
                table.append((label, low, high, unit))
        small = self.q.size <= _INLINE
        player = self.player() if small and len(good) else None
        return motion_html(self.robot, good, facts, told, table, player)

    def plot(self, figure: Figure | None = None) -> Figure:  # type: ignore[override]  # it draws no poses
        """Positions, velocities, forces and energy over time: a matplotlib figure. Of a batch, its first row.

        Notebooks show it, and ``matplotlib.pyplot.show()`` knows it until ``matplotlib.pyplot.close()``. ``figure``: an
        empty one to draw into instead; it gets the size that it needs.
        """
        from neuler.view.curves import run_figure

        run = self.first
        groups = [(name, called, self.robot.coordinates.units(name)) for name, called in self.names.items()]
        curves = [(name, getattr(run, name), called, unit) for name, called, unit in groups]
        asked = None
        if run.wanted is not None and run.followed is not None and run.error is not None:
            asked = np.full((len(self.t), self.robot.nq), np.nan)
            asked[:, run.followed.places] = run.wanted
            rates = dict(zip((name.removeprefix("qd_") for name in self.names["qd"]), curves[1][3], strict=True))
            lengths = [rates[name].removesuffix("/s") for name in self.followed_names]
            curves.append(("error", run.error, self.followed_names, lengths))
        told = [f"run {', '.join('0' for _ in self.batch)} of {' x '.join(map(str, self.batch))}"] if self.batch else []
        told += [str(event) for event in run.events]
        drawn: Figure = run_figure(self.t, curves, asked, run.energy, run.drift, figure, title="; ".join(told))
        return drawn

    @property
    def first(self) -> Run:
        """A single run: itself, or the first row."""
        run = self
        while run.batch:
            run = run[0]
        return run

    def summary(self) -> dict[str, Any]:
        """Plain numbers and texts, ready for JSON; None for what is not finite."""
        rms = self.rms_error
        worst = None if rms is None else rms.reshape(-1, rms.shape[-1]).max(axis=0)
        errors = None if worst is None else dict(zip(map(shown, self.followed_names), map(_plain, worst), strict=True))
        last = np.isfinite(self.energy)
        return {
            "robot": shown(self.robot.name),
            "method": self.method,
            "rows": int(np.prod(self.batch)),
            "moments": len(self.t),
            "start": _plain(self.t[0]),
            "end": _plain(self.t[-1]),
            "seconds": _plain(self.seconds),
            "events": [
                {
                    "row": list(each.row),
                    "time": _plain(each.time),
                    "joint": shown(each.joint),
                    "reason": each.reason,
                    "value": _plain(each.value),
                }
                for each in self.events
            ],
            "energy": {
                "first": _plain(np.mean(self.energy[..., 0])),
                "least": _plain(self.energy[last].min(initial=np.inf)),
                "most": _plain(self.energy[last].max(initial=-np.inf)),
                "largest_drift": _plain(np.max(_largest(self.drift))),
                "largest_relative_drift": _plain(np.max(self.relative_drift)),
            },
            "largest_loop_gap": _plain(np.max(_largest(self.gap))),
            "rms_error": errors,
            "largest_tau": _by_name(self.names["tau"], "tau_", self.tau),
            "largest_velocity": _by_name(self.names["qd"], "qd_", self.qd),
            "notes": [shown(note) for note in self.notes],
        }

    def __repr__(self) -> str:
        """A line: how long, how many rows, what happened, how well energy was kept."""
        rows = f"{count(int(np.prod(self.batch)), 'row')} of " if self.batch else ""
        span = f"{number(float(self.t[0]))} to {number(float(self.t[-1]))} s, {rows}{count(len(self.t), 'moment')}"
        events = self.events
        told = f"; {events[0]}" if len(events) == 1 else f"; {len(events)} rows stopped early" if events else ""
        drift = float(np.max(self.relative_drift))
        kept = f"; energy drift {drift:.1e}" if np.isfinite(drift) else ""
        return f"<run of {self.robot.name!r}: {span}, {self.method}{told}{kept}>"


_ROWS = ("q", "qd", "tau", "status", "time", "joint", "kinetic", "potential", "work", "work_of_losses", "gap")
"""Fields with batch axes."""
_RENAMED = {"goal": "wanted", "led": "followed", "led_names": "followed_names", "other": "work_of_losses"}
_TOLD = 4
"""Events and notes that a notebook tells."""
_INLINE = 2_000_000
"""Numbers of q up to which a notebook has a player without being asked."""
_WRENCH = ("fx", "fy", "fz", "mx", "my", "mz")


def _largest(values: Array) -> Array:
    """Of the moments of each row, those that are not finite left out; NaN where there is no other."""
    good = np.isfinite(values)
    found = np.max(np.where(good, np.abs(values), 0.0), axis=-1)
    return np.where(good.any(axis=-1), found, np.nan)


def _plain(x: Any) -> float | None:
    return float(x) if np.isfinite(x) else None


def _by_name(names: list[str], prefix: str, values: Array) -> dict[str, float | None]:
    flat = values.reshape(-1, len(names))
    return {shown(name.removeprefix(prefix)): _plain(_largest(flat[:, k])) for k, name in enumerate(names)}
