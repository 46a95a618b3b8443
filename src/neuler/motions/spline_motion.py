"""A motion made of splines, one set of profiles for each phase: at any time, and what follows from them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler.functions.function import Function
from neuler.moments.clearance import HalfSpace
from neuler.moments.contact import FLOOR
from neuler.moments.measures import Measure, OfMoment, torque_rate
from neuler.moments.moment import Moment
from neuler.moments.moving_robot import HIGHEST, MovingRobot, moving_links
from neuler.moments.tracing import MAGNITUDES, function_of
from neuler.motions.motion import Motion
from neuler.motions.profiles import Profiles
from neuler.optimize.programme import Array
from neuler.robot import Robot


@dataclass(frozen=True, eq=False)
class SplineMotion(Motion):
    """Profiles of all phases with numbers for their variables: a motion with exact derivatives."""

    models: Sequence[MovingRobot]
    """The robot of each phase."""
    profiles: Sequence[Profiles]
    x: Array
    """All variables: control points, durations, and positions that loops decide at grid points."""

    @property
    def robot(self) -> Robot:  # type: ignore[override]
        """The robot of the first phase, with its payloads and with smooth friction."""
        return self.models[0].with_payloads

    @property
    def robots(self) -> tuple[Robot, ...]:
        """The robot of every phase, with its payloads and with smooth friction."""
        return tuple(model.with_payloads for model in self.models)

    @property
    def durations(self) -> Array:
        """Durations of the phases (s)."""
        return np.array([self.x[mine.duration] for mine in self.profiles])

    @property
    def duration(self) -> float:
        """Duration of all phases together (s)."""
        return float(self.durations.sum())

    @cached_property
    def breaks(self) -> Array:
        """Times at which phases begin, and the end (s)."""
        return np.concatenate([[0.0], np.cumsum(self.durations)])

    @cached_property
    def knots(self) -> Array:
        """Times between which the motion is smooth (s)."""
        parts = [
            begin + T * np.unique([*mine.knots, *model.contact_edges])[:-1]
            for begin, T, mine, model in zip(self.breaks, self.durations, self.profiles, self.models, strict=False)
        ]
        return np.concatenate([*parts, self.breaks[-1:]])

    def shares(self, t: Array) -> tuple[NDArray[np.intp], Array]:
        """Return the number of the phase of every time, and the share of it."""
        phase = np.clip(np.searchsorted(self.breaks, t, side="right") - 1, 0, len(self.profiles) - 1)
        return phase, np.clip((t - self.breaks[phase]) / self.durations[phase], 0.0, 1.0)

    def time(self, phase: int, share: float) -> float:
        """The time (s) of a share of a phase."""
        return float(self.breaks[phase] + share * self.durations[phase])

    # ---- in a phase ---------------------------------------------------------------------------------------------

    def at_shares(self, phase: int, shares: Array, order: int = HIGHEST) -> list[Array]:
        """Return profiles of a phase and their derivatives by the share of its duration, (shares, profiles) each."""
        return self.profiles[phase].evaluate(self.x, shares, order)

    def dependent(self, phase: int, shares: Array) -> Array:
        """Positions that loops decide: those of the grid between its points, closed."""
        model, mine = self.models[phase], self.profiles[phase]
        known = mine.dependent_positions(self.x)
        nearest = _nearest(mine, shares)
        own = model.positions(self.at_shares(phase, shares, 0)[0])
        guess = np.empty((len(shares), model.robot.nq))
        guess[:, model.coordinates.places] = model.positions(self.at_shares(phase, mine.grid[nearest], 0)[0])
        guess[:, model.dependent] = known[nearest]
        found = model.robot.assemble(own, guess=guess)
        return np.asarray(found.q)[:, model.dependent]

    def values(self, function: Function, phase: int, shares: Array, more: dict[str, Array] | None = None) -> Array:
        """A traced function of a moment at shares of a phase, (shares, rows); bounds of magnitudes are zero."""
        mine = self.profiles[phase]
        known: dict[str, Array] = {**mine.constants_at(shares), **(more or {})}
        shapes = {operand.name: operand.shape for operand in function.inputs}
        if "dependent" in shapes:
            known["dependent"] = self.dependent(phase, shares)
        if MAGNITUDES in shapes:
            known[MAGNITUDES] = np.zeros((len(shares), mine.magnitudes))
        known |= mine.inputs_at(self.x, [name for name in shapes if name not in known], shares)
        return np.asarray(function(**{name: known[name] for name in shapes}))

    def _over(self, t: Array, make: Callable[[int, Array], Array]) -> Array:
        """A function of a phase's number and shares of it, at times of the motion."""
        phase, shares = self.shares(np.asarray(t, dtype=float))
        parts = {int(k): make(int(k), shares[phase == k]) for k in np.unique(phase)}
        first = next(iter(parts.values()))
        found = np.empty((len(shares), *first.shape[1:]))
        for k, part in parts.items():
            found[phase == k] = part
        return found

    # ---- what a motion gives --------------------------------------------------------------------------------------

    def evaluate(self, t: Array, order: int) -> list[Array]:
        """Positions (N, nq) and derivatives (N, nv) of the whole robot at times t (N,)."""
        model = self.models[0]
        if model.elastic:
            flat = self._over(t, lambda k, s: self.values(self._state_function(k, order), k, s))
            sizes = [model.robot.nq, *[model.robot.nv] * order]
            return list(np.split(flat, np.cumsum(sizes)[:-1], axis=-1))
        sizes = [model.coordinates.size, *[model.profile_count] * order]
        flat = self._over(t, lambda k, s: np.concatenate(self._lifted(k, s, order), axis=-1))
        found = list(np.split(flat, np.cumsum(sizes)[:-1], axis=-1))
        if model.dependent:
            whole = np.empty((len(t), model.robot.nq))
            whole[:, model.coordinates.places] = found[0]
            whole[:, model.dependent] = self._over(t, self.dependent)
            found[0] = whole
        return found

    def _lifted(self, phase: int, shares: Array, order: int) -> list[Array]:
        T = self.durations[phase]
        rates = [c / T**k for k, c in enumerate(self.at_shares(phase, shares, order))]
        return [np.asarray(x, dtype=float) for x in self.models[phase].lifted(rates)]

    def along(self, what: Measure, t: Array) -> Array:
        """A measure at times t (N,), (N, rows)."""
        return self._over(t, lambda k, s: self.values(self._function(k, what.name, what.rows), k, s))

    def _torques(self, t: Array) -> Array:
        """Every number of tau, (N, nu)."""
        return self._over(t, lambda k, s: self.values(self._function(k, "tau", OfMoment("all_tau")), k, s))

    def _torque_rates(self, t: Array) -> Array:
        """Rates of tau, (N, nu); of what no motor gives, zero."""
        found = np.zeros((len(t), self.models[0].robot.nu))
        found[:, self.models[0].driven] = self.along(torque_rate, t)
        return found

    def _forces(self, t: Array) -> Array:
        """Norms of the forces inside the joints that move, (N, joints)."""
        if not self.contact_frames:
            return super()._forces(t)
        links = [k for _, k in moving_links(self.models[0].robot)]

        def norms(k: int, shares: Array) -> Array:
            wrenches = self.values(self._function(k, "reactions", OfMoment("reactions")), k, shares)
            return np.asarray(np.linalg.norm(wrenches.reshape(len(shares), -1, 6)[:, links, :3], axis=-1))

        return self._over(t, norms)

    @cached_property
    def contact_frames(self) -> tuple[str, ...]:
        """Links and frames on which the ground acts in some phase."""
        every = [frame for model in self.models if model.support is not None for frame in model.support.frames]
        return tuple(dict.fromkeys(every))

    @property
    def ground(self) -> HalfSpace:
        """The plane on which contacts of the first phase with some stand."""
        return next((model.support.ground for model in self.models if model.support is not None), FLOOR)

    def velocity_jump(self, phase: int) -> Array:
        """By how much velocities jump where a phase begins, (nv)."""
        if not phase or self.models[phase].elastic:
            return np.zeros(self.robot.nv)
        before, after = self._lifted(phase - 1, np.ones(1), 1)[1], self._lifted(phase, np.zeros(1), 1)[1]
        return np.asarray(after[0] - before[0])

    def _contact_loads(self, t: Array) -> Array:
        def loads(k: int, shares: Array) -> Array:
            support, found = self.models[k].support, np.zeros((len(shares), len(self.contact_frames), 6))
            if support is not None:
                values = self.values(self._function(k, "loads", OfMoment("contact_loads")), k, shares)
                found[:, [self.contact_frames.index(frame) for frame in support.frames]] = values.reshape(
                    len(shares), -1, 6
                )
            return found.reshape(len(shares), -1)

        return self._over(t, loads)

    def __getstate__(self) -> dict[str, Any]:
        """Pickles have no functions: these are found again."""
        return {name: value for name, value in super().__getstate__().items() if name != "_functions"}

    def _function(self, phase: int, name: str, rows: Callable[[Moment], Any]) -> Function:
        cached = self.__dict__.setdefault("_functions", {})
        model = self.models[phase]
        key = id(model), name, rows
        if key not in cached:
            cached[key] = function_of(model, name, rows)
        found: Function = cached[key]
        return found

    def _state_function(self, phase: int, order: int) -> Function:
        """q, qd, qdd, ... with theta of motors behind springs."""
        rows = self.__dict__.setdefault("_functions", {}).setdefault(("state", order), _StateRows(order))
        return self._function(phase, f"state{order}", rows)


@dataclass(frozen=True)
class _StateRows:
    """State and derivatives up to an order, one behind the other."""

    order: int

    def __call__(self, moment: Moment) -> Any:
        parts = list(moment.state)[: self.order + 1]
        while len(parts) <= self.order:
            parts.append(moment.rate(parts[-1]))
        return np.concatenate(parts)


def _nearest(profiles: Profiles, shares: Array) -> NDArray[np.intp]:
    right = np.clip(np.searchsorted(profiles.grid, shares), 1, len(profiles.grid) - 1)
    left = right - 1
    return np.where(shares - profiles.grid[left] < profiles.grid[right] - shares, left, right)
