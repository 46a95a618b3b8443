"""Searches of inverse kinematics: from a guess, then from random starts, many targets at once."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuler.functions.repeat import Repeat
from neuler.robot import Robot
from neuler.solve.reaching import SEARCH, Bounds, Wanted, begun, reaching, scale

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

_EXPECTED = 20
"""Steps that a search takes, about."""
_TURNS = 1e3
"""Radians up to which whole turns are added to an angle: they are exact to 1e-13."""
_ROUNDS = (8, 16, 32)
"""Starts that are tried together; the last number again and again."""


class Ends(NamedTuple):
    """When a search is at its goal (m, rad), how many steps it may take, and when it is too slow."""

    tolerance: float
    most: int
    pace: float = 0.95
    """Of what the frame was off by some steps ago: a search that is off by more is given up."""


@dataclass
class Arrivals:
    """Results of rows, to be written into."""

    q: Array
    distance: Array
    angle: Array
    converged: NDArray[np.bool_]
    iterations: NDArray[np.int64]

    @classmethod
    def empty(cls, rows: int, nq: int) -> Arrivals:
        """Rows for which nothing is found yet: NaN, not converged."""
        away = np.full(rows, np.nan)
        return cls(np.full((rows, nq), np.nan), away, away.copy(), np.zeros(rows, bool), np.zeros(rows, np.int64))

    def put(self, where: Any, other: Arrivals) -> None:
        """Write the rows of another into these places."""
        self.q[where], self.distance[where], self.angle[where] = other.q, other.distance, other.angle
        self.converged[where], self.iterations[where] = other.converged, other.iterations

    def taken(self, where: Any) -> Arrivals:
        """The rows at these places."""
        return Arrivals(
            self.q[where], self.distance[where], self.angle[where], self.converged[where], self.iterations[where]
        )


@dataclass(frozen=True, eq=False)
class Search:
    """Brings one frame to targets, row by row."""

    robot: Robot
    wanted: Wanted
    loop: Repeat
    neutral: Array
    length: float
    plain: bool
    """Whether positions are plain numbers: no quaternions, no loops."""
    clipped: tuple[Indices, Array, Array]
    """Of joints that may move and have limits: places in q, lower and upper ones."""
    turning: tuple[Indices, Array, Array]
    """Of joints that may move and turn on and on: the same."""
    moved: Indices
    """Places of joints that may move."""
    springs: tuple[tuple[int, int], ...]
    """Of motors behind springs: the places of theta and of the link."""
    drawn: dict[tuple[int, int], Array]
    """Random starts by their number and seed."""

    @classmethod
    def of(cls, robot: Robot, wanted: Wanted) -> Search:
        """What is the same for all targets."""
        loop, used = reaching(robot, wanted)
        bounds = Bounds.of(robot, wanted.limited)
        names = {bounds.names[k] for k in used}
        places = dict(zip(bounds.names, bounds.places, strict=True))
        clipped = [] if robot.loops else [k for k in used if bounds.places[k] >= 0]
        turning: list[int] = []
        moved: list[int] = []
        for entry in robot.coordinates:
            if entry.name in names:
                moved += entry.positions
                if entry.kind.has_axis and entry.turns == (True,) and not entry.joint.pitch:
                    turning.append(bounds.names.index(entry.name))
        if robot.loops or robot.couplings:
            turning = []
        springs = [
            (places[entry.name], places[entry.drives])
            for entry in robot.coordinates
            if entry.drives is not None and entry.name in places and entry.drives in places
        ]
        plain = not robot.loops and all(entry.quaternion is None for entry in robot.coordinates)
        return cls(
            robot, wanted, loop, robot.neutral(), scale(robot, wanted.frame), plain, bounds.some(clipped),
            bounds.some(turning), np.array(moved, dtype=np.intp), tuple(springs), {},
        )  # fmt: skip

    @property
    def limited(self) -> bool:
        """Whether a joint that may move has a limit."""
        return bool(np.isfinite([*self.clipped[1], *self.clipped[2]]).any()) or bool(self.robot.loops)

    def starts(self, count: int, seed: Any) -> Array:
        """Random positions within the limits, the same for every row."""
        if not count:
            return np.zeros((0, self.robot.nq))
        found = self.drawn.get((count, seed)) if isinstance(seed, int) else None
        if found is None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = self.within(self.robot.random_configuration(seed, count))
            if isinstance(seed, int):
                self.drawn.clear()  # those of the last seed are enough
                self.drawn[count, seed] = found
        return found

    def within(self, q: Array) -> Array:
        """Positions with the joints that may move at their limits where they were beyond; of loops as they are."""
        places, lower, upper = self.clipped
        if len(places):
            q = q.copy()
            q[..., places] = np.minimum(np.maximum(q[..., places], lower), upper)
        return q

    def best(self, goals: Array, begins: Array, ends: Ends, others: Callable[[], Array]) -> Arrivals:
        """From the guess; where that does not lead there, from other starts: the nearest to the guess counts."""
        found = self.search(self.within(begins), goals, ends)
        at, rounds = 0, iter(_ROUNDS)
        while not found.converged.all():
            size = next(rounds, _ROUNDS[-1])
            some, at = others()[at : at + size], at + size
            if not len(some):
                break
            left = np.flatnonzero(~found.converged)
            tried = self.search(self.mixed(begins[left], some), np.repeat(goals[left], len(some), axis=0), ends)
            picked = self.nearest(tried, begins[left], len(some))
            before = found.taken(left)
            better = ~(self.off(before) <= self.off(picked))
            steps = tried.iterations.reshape(len(left), -1).sum(axis=1) + before.iterations
            found.put(left[better], picked.taken(better))
            found.iterations[left] = steps
        left = np.flatnonzero(~found.converged)
        if len(left):  # how near it comes, without haste
            last = self.search(found.q[left], goals[left], ends._replace(pace=2.0))
            nearer = self.off(last) < self.off(found.taken(left))
            last.iterations += found.iterations[left]
            found.put(left[nearer], last.taken(nearer))
        found.q = self.unwound(found.q, begins)
        for theta, link in self.springs:  # the spring keeps its stretch
            found.q[:, theta] = begins[:, theta] + found.q[:, link] - begins[:, link]
        return found

    def mixed(self, begins: Array, starts: Array) -> Array:
        """Every start for every row, (rows x starts, nq): joints that do not move the frame stay as in the guess."""
        every = np.tile(starts, (len(begins), 1))
        if self.robot.loops:
            return every
        rows = np.repeat(begins, len(starts), axis=0)
        rows[:, self.moved] = every[:, self.moved]
        return rows

    def off(self, found: Arrivals) -> Array:
        """What a frame misses by, in one number: turns count by the robot's length."""
        return np.hypot(found.distance / self.length, found.angle)

    def nearest(self, found: Arrivals, begins: Array, starts: int) -> Arrivals:
        """Of all starts of a row: the solution nearest to the guess; without one, what misses least."""
        away = np.full(len(found.q), np.inf)
        right = np.flatnonzero(found.converged)
        if len(right):
            guesses = np.repeat(begins, starts, axis=0)[right]
            there = self.unwound(found.q[right], guesses)
            way = there - guesses if self.plain else self.robot.difference(guesses, there)
            away[right] = np.square(way).sum(axis=-1)
        off = np.where(np.isfinite(self.off(found)), self.off(found), np.finfo(float).max)
        order = np.where(found.converged, away, 1e100 * (1.0 + off))
        chosen = order.reshape(-1, starts).argmin(axis=1) + starts * np.arange(len(begins))
        return found.taken(chosen)

    def unwound(self, q: Array, begins: Array) -> Array:
        """Less whole turns of joints that turn on: those nearest to the guess, within the limits."""
        places, lower, upper = self.turning
        if not len(places):
            return q
        angles = q[:, places]
        turned = angles + 2 * np.pi * np.rint((begins[:, places] - angles) / (2 * np.pi))
        q = q.copy()
        right = (
            (turned >= lower) & (turned <= upper) & (np.abs(turned) < _TURNS)
        )  # beyond, rounding would move the frame
        q[:, places] = np.where(right, turned, angles)
        return q

    def search(self, start: Array, goals: Array, ends: Ends) -> Arrivals:
        """Levenberg and Marquardt's method from each start to its goal."""
        rows = len(start)
        flat = goals.reshape(rows, self.loop.held[0].size)
        state = [start, start, begun(rows), np.ones((rows, 1))]
        state = self.loop(state, (flat, np.array([float(ends.most), ends.tolerance, ends.pace])), _EXPECTED)
        q = self.within(state[0])  # rounding of a step may lead beyond
        distance, angle, count = state[2][:, 1], state[2][:, 2], state[2][:, SEARCH.index("count")]
        converged = (distance < ends.tolerance) & (angle < ends.tolerance)
        if self.wanted.limited and self.robot.loops:
            converged &= ~self.beyond(q)
        return Arrivals(q, distance, angle, converged, count.astype(np.int64))

    def beyond(self, q: Array) -> NDArray[np.bool_]:
        """Where a joint of a robot with loops is beyond a limit: those that follow are not held by steps."""
        found = np.zeros(len(q), bool)
        for entry in self.robot.coordinates:
            part, limits = q[:, entry.q], entry.limits
            if entry.quaternion is None and limits.lower <= limits.upper:
                found |= ((part < limits.lower - 1e-12) | (part > limits.upper + 1e-12)).any(axis=-1)
        return found
