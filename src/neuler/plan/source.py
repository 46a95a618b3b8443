"""A motion in numbers: splines of all phases at any times, and what follows from them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler.optimize.programme import Array
from neuler.plan import bspline
from neuler.plan.measures import Asked, Measure, moving_links, torque_rate
from neuler.plan.model import HIGHEST, Model
from neuler.plan.moment import Moment
from neuler.plan.rows import Part, traced_rows
from neuler.plan.segment import Segment
from neuler.robot import Robot


@dataclass(frozen=True, eq=False)
class Splines:
    """Of all phases: control points and durations, and positions that loops decide at grid points."""

    model: Model
    segments: Sequence[Segment]
    x: Array

    @property
    def robot(self) -> Robot:
        """With its payloads, and with friction that has derivatives."""
        return self.model.loaded

    @property
    def durations(self) -> Array:
        """Of the phases (s)."""
        return np.array([self.x[segment.duration] for segment in self.segments])

    @property
    def duration(self) -> float:
        """Of all (s)."""
        return float(self.durations.sum())

    @cached_property
    def breaks(self) -> Array:
        """Times at which phases begin, and the end."""
        return np.concatenate([[0.0], np.cumsum(self.durations)])

    @cached_property
    def knots(self) -> Array:
        """Times between which the motion is smooth."""
        parts = [
            begin + T * np.unique(segment.knots_at(self.x))[:-1]
            for begin, T, segment in zip(self.breaks, self.durations, self.segments, strict=False)
        ]
        return np.concatenate([*parts, self.breaks[-1:]])

    # ---- profiles ---------------------------------------------------------------------------------------------

    def shares(self, t: Array) -> tuple[NDArray[np.intp], Array]:
        """Of every time: the number of its phase, and the share of it."""
        phase = np.clip(np.searchsorted(self.breaks, t, side="right") - 1, 0, len(self.segments) - 1)
        times = np.clip((t - self.breaks[phase]) / self.durations[phase], 0.0, 1.0)
        for k, segment in enumerate(self.segments):
            times[phase == k] = segment.shares(self.x, times[phase == k])
        return phase, times

    def profiles(self, number: int, shares: Array, order: int = HIGHEST) -> list[Array]:
        """Of a phase: profiles and their derivatives by the share of its duration, (shares, nc) each."""
        segment = self.segments[number]
        knots, times = segment.knots_at(self.x), segment.times(self.x, shares)
        first, values = bspline.basis(knots, segment.degree, times, order)
        near = segment.control_points(self.x)[first[:, None] + np.arange(segment.degree + 1)]
        return [np.einsum("na,nak->nk", values[k], near) for k in range(order + 1)]

    def followers(self, number: int, shares: Array) -> Array:
        """Positions that loops decide: those of the grid between its points, closed."""
        model, segment = self.model, self.segments[number]
        known = segment.following(self.x)
        nearest = _nearest(segment, shares)
        own = model.lifted_numbers(self.profiles(number, shares, 0)[0])
        guess = np.empty((len(shares), model.robot.nq))
        guess[:, model.coordinates.places] = model.lifted_numbers(self.profiles(number, segment.grid[nearest], 0)[0])
        guess[:, model.followers] = known[nearest]
        found = model.robot.assemble(own, guess=guess)
        return np.asarray(found.q)[:, model.followers]

    def values(self, function: Any, number: int, shares: Array, more: dict[str, Array] | None = None) -> Array:
        """A traced function of a moment at shares of a phase, (shares, rows)."""
        segment = self.segments[number]
        known: dict[str, Array] = {**segment.known(shares), **(more or {})}
        shapes = {operand.name: operand.shape for operand in function.inputs}
        if "followers" in shapes:
            known["followers"] = self.followers(number, shares)
        known |= segment.taken(self.x, [name for name in shapes if name not in known], shares)
        return np.asarray(function(**{name: known[name] for name in shapes}))

    def _over(self, t: Array, make: Callable[[int, Array], Array]) -> Array:
        """Phase by phase."""
        phase, shares = self.shares(np.asarray(t, dtype=float))
        parts = {int(k): make(int(k), shares[phase == k]) for k in np.unique(phase)}
        first = next(iter(parts.values()))
        found = np.empty((len(shares), *first.shape[1:]))
        for k, part in parts.items():
            found[phase == k] = part
        return found

    # ---- what follows -----------------------------------------------------------------------------------------

    def evaluate(self, t: Array, order: int) -> list[Array]:
        """Positions (N, nq) and derivatives (N, nv) of the whole robot."""
        model = self.model
        if model.elastic:
            flat = self._over(t, lambda k, s: self.values(_state_function(self, order), k, s))
            sizes = [model.robot.nq, *[model.robot.nv] * order]
            return list(np.split(flat, np.cumsum(sizes)[:-1], axis=-1))
        sizes = [model.coordinates.size, *[model.nc] * order]
        flat = self._over(t, lambda k, s: np.concatenate(self._lifted(k, s, order), axis=-1))
        found = list(np.split(flat, np.cumsum(sizes)[:-1], axis=-1))
        if model.followers:
            whole = np.empty((len(t), model.robot.nq))
            whole[:, model.coordinates.places] = found[0]
            whole[:, model.followers] = self._over(t, self.followers)
            found[0] = whole
        return found

    def _lifted(self, number: int, shares: Array, order: int) -> list[Array]:
        T = self.durations[number]
        rates = [c / T**k for k, c in enumerate(self.profiles(number, shares, order))]
        return [np.asarray(x, dtype=float) for x in self.model.lifted(rates)]

    def measure(self, what: Measure, t: Array) -> Array:
        """A measure along the motion, (N, rows)."""
        function = self._function(what.name, what.rows)
        return self._over(t, lambda k, s: self.values(function, k, s))

    def torques(self, t: Array) -> Array:
        """Every number of tau, (N, nu)."""
        return self._over(t, lambda k, s: self.values(self._function("tau", Asked("all_tau")), k, s))

    def torque_rates(self, t: Array) -> Array:
        """Rates of tau, (N, nu); of what no motor gives, zero."""
        found = np.zeros((len(t), self.model.robot.nu))
        found[:, self.model.pushed] = self.measure(torque_rate, t)
        return found

    @property
    def force_names(self) -> tuple[str, ...]:
        """Joints whose inner forces :meth:`forces` gives."""
        return tuple(name for name, _ in moving_links(self.model))

    def forces(self, t: Array) -> Array:
        """Norms of the forces (N) inside the joints."""
        wrenches = self.model.loaded.reaction_wrenches(*self.evaluate(t, 2))
        links = [k for _, k in moving_links(self.model)]
        return np.asarray(np.linalg.norm(wrenches[:, links, :3], axis=-1))

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("_held", "_states")}

    def _function(self, name: str, rows: Callable[[Moment], Any]) -> Any:
        held = self.__dict__.setdefault("_held", {})
        if (name, rows) not in held:
            part = Part("limit", name, rows, lambda n: [str(k) for k in range(n)])
            held[name, rows] = traced_rows(self.model, [part], "measure").derived.function
        return held[name, rows]


def _nearest(segment: Segment, shares: Array) -> Array:
    right = np.clip(np.searchsorted(segment.grid, shares), 1, len(segment.grid) - 1)
    left = right - 1
    return np.where(shares - segment.grid[left] < segment.grid[right] - shares, left, right)


def _state_function(splines: Splines, order: int) -> Any:
    """q, qd, qdd, ... with theta of motors behind springs."""

    def rows(moment: Moment) -> Any:
        parts = list(moment.state)[: order + 1]
        while len(parts) <= order:
            parts.append(moment.rate(parts[-1]))
        return np.concatenate(parts)

    held = splines.__dict__.setdefault("_states", {})
    if order not in held:
        held[order] = splines._function(f"state{order}", rows)
    return held[order]
