"""Motions from samples: tables and archives that were saved, runs of a simulation, measured data.

Between samples of robots whose velocities are the rates of their positions, each position is a quintic with the values
and the first two derivatives of both ends. With quaternions and closed loops the way from sample to sample is such a
quintic along velocities, which ``robot.integrate`` follows, and velocities are cubics by themselves.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuler.errors import FormatError, InputError
from neuler.inputs import array, real, told
from neuler.motions.motion import Motion
from neuler.motions.samples import Samples, read_arrays
from neuler.plain import count
from neuler.robot import Robot
from neuler.robot.columns import by_columns

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Recorded(Motion):
    """A motion through samples: positions q (n, nq) at times t (n,), in s, that increase; the first becomes time 0.

    ``qd`` and ``qdd`` (n, nv) are estimated by differences where they are not given. ``tau`` (n, nu): forces, by
    default those of inverse dynamics.

    >>> import neuler
    >>> t = np.linspace(0.0, 1.0, 51)
    >>> motion = Recorded(neuler.robots.two_link(), t, np.stack([np.sin(t), np.cos(t)], axis=-1))
    >>> motion.duration, float(np.abs(motion.at(0.5).q - [np.sin(0.5), np.cos(0.5)]).max()) < 1e-5
    (1.0, True)
    """

    robot: Robot
    t: Array
    q: Array
    qd: Any = None
    qdd: Any = None
    tau: Any = None
    tau_rate: Any = field(default=None, repr=False)

    def __post_init__(self) -> None:
        robot = self.robot
        if not isinstance(robot, Robot):
            raise InputError(f"motion: a robot is needed, got {type(robot).__name__}")
        times = real(self.t)
        if times is None or times.ndim != 1 or len(times) < 2 or not np.isfinite(times).all():
            raise InputError(f"motion of {robot.name!r}: t must be two or more finite times (s), got {told(self.t)}")
        rises = np.diff(times) > 0.0
        if not rises.all():
            k = int(np.argmin(rises))
            raise InputError(
                f"motion of {robot.name!r}: times must increase, {times[k]:g} s is followed by {times[k + 1]:g} s"
            )
        object.__setattr__(self, "t", times - times[0])
        sizes = {"q": robot.nq, "qd": robot.nv, "qdd": robot.nv, "tau": robot.nu, "tau_rate": robot.nu}
        for name, size in sizes.items():
            if getattr(self, name) is not None:
                object.__setattr__(self, name, self._rows(name, getattr(self, name), size))
        if self.qd is None:
            object.__setattr__(self, "qd", self._rates())
        if self.qdd is None:
            object.__setattr__(self, "qdd", _slopes(self.qd, self.t))

    def _rows(self, name: str, given: ArrayLike, size: int) -> Array:
        called = f"motion of {self.robot.name!r}"
        column = {"q": "q", "tau": "tau", "tau_rate": "tau"}.get(name, "qd")
        found = array(called, name, by_columns(self.robot, called, name, given, column), (size,))
        if found.shape != (len(self.t), size):
            raise InputError(
                f"{called}: {name} must have a row for each of {len(self.t)} times, got shape {found.shape}"
            )
        if not np.isfinite(found).all():
            row = int(np.argwhere(~np.isfinite(found))[0][0])
            raise InputError(f"{called}: {name} is not finite at sample {row}; leave out or fill in what is missing")
        return found

    def _rates(self) -> Array:
        """Velocities by differences of neighbours, of second order."""
        if self._plain:
            return _slopes(self.q, self.t)
        steps = np.diff(self.t)[:, None]
        between = np.asarray(self.robot.difference(self.q[:-1], self.q[1:])) / steps
        if len(between) == 1:
            return np.repeat(between, 2, axis=0)
        weight = steps[1:] / (steps[1:] + steps[:-1])
        inner = weight * between[:-1] + (1.0 - weight) * between[1:]
        return np.concatenate([2.0 * between[:1] - inner[:1], inner, 2.0 * between[-1:] - inner[-1:]])

    @classmethod
    def of(cls, samples: Samples) -> Recorded:
        """Of samples of a motion, or of what a file has."""
        return cls(samples.robot, samples.t, samples.q, samples.qd, samples.qdd, samples.tau, samples.tau_rate)

    @property
    def duration(self) -> float:
        """From the first sample to the last (s)."""
        return float(self.t[-1])

    @property
    def knots(self) -> Array:
        """Times of the samples."""
        return self.t

    @cached_property
    def _plain(self) -> bool:
        """Whether all velocities are rates of positions."""
        return self.robot.nq == self.robot.nv and not self.robot.loops

    def evaluate(self, t: Array, order: int) -> list[Array]:
        """Positions (N, nq) and derivatives up to ``order``, (N, nv) each, at times t (N,)."""
        k, s, h = self._place(t)
        if self._plain:
            ends = (self.q[k], self.qd[k], self.qdd[k], self.q[k + 1], self.qd[k + 1], self.qdd[k + 1])
            return _quintic(*ends, s, h, order)
        way = np.asarray(self.robot.difference(self.q[k], self.q[k + 1]))
        none = np.zeros_like(way)
        step = _quintic(none, self.qd[k], self.qdd[k], way, self.qd[k + 1], self.qdd[k + 1], s, h, 0)[0]
        q = np.asarray(self.robot.integrate(self.q[k], step, 1.0))
        rates = _cubic(self.qd[k], self.qdd[k], self.qd[k + 1], self.qdd[k + 1], s, h, max(order - 1, 0))
        return [q, *rates[:order]]

    def _torques(self, t: Array) -> Array:
        """Forces (N, nu): through those of the samples, or by inverse dynamics where they have none."""
        if self.tau is None:
            return super()._torques(t)
        k, s, h = self._place(t)
        if self.tau_rate is None:
            share = s / h
            return np.asarray((1.0 - share) * self.tau[k] + share * self.tau[k + 1])
        return _cubic(self.tau[k], self.tau_rate[k], self.tau[k + 1], self.tau_rate[k + 1], s, h, 0)[0]

    def _place(self, t: Array) -> tuple[NDArray[np.intp], Array, Array]:
        """The sample before each time, the time since, and the length of the interval, (N, 1)."""
        k = np.clip(np.searchsorted(self.t, t, side="right") - 1, 0, len(self.t) - 2)
        return k, (np.asarray(t) - self.t[k])[:, None], (self.t[k + 1] - self.t[k])[:, None]

    @property
    def headline(self) -> str:
        """How long it is, and how many samples."""
        return f"{super().headline}, {count(len(self.t), 'sample')}"

    def __repr__(self) -> str:
        """Its robot, its duration and how many samples it has."""
        return f"<motion of {self.robot.name!r}: {self.headline}>"


def load(path: str | os.PathLike[str], robot: Robot) -> Recorded:
    """A motion of a robot from a .csv or .npz file: one that :meth:`Motion.save` wrote, a run, or measured data.

    It needs times t (s) and positions q (columns ``q_<joint>``); velocities, accelerations and forces are taken where
    they are there.

    >>> import neuler, os, tempfile
    >>> arm = neuler.robots.two_link()
    >>> path = os.path.join(tempfile.mkdtemp(), "motion.npz")
    >>> Recorded(arm, [0.0, 1.0], [[0.0, 0.0], [1.0, 1.0]]).save(path)
    >>> load(path, arm).duration
    1.0
    """
    if not isinstance(robot, Robot):
        raise InputError(f"load: a robot is needed, got {type(robot).__name__}")
    arrays, _ = read_arrays(path, robot, ("t", "q"))
    chosen = ("t", "q", "qd", "qdd", "tau", "tau_rate")
    try:
        return Recorded(robot, **{name: arrays[name] for name in chosen if name in arrays})
    except InputError as error:
        raise FormatError(f"{os.fspath(path)!r}: {error}") from None


def _slopes(values: Array, t: Array) -> Array:
    """Derivatives by differences of neighbours, of second order."""
    if len(t) > 2:
        return np.asarray(np.gradient(values, t, axis=0, edge_order=2))
    return np.asarray(np.gradient(values, t, axis=0))


def _quintic(
    p0: Array, v0: Array, a0: Array, p1: Array, v1: Array, a1: Array, s: Array, h: Array, order: int
) -> list[Array]:
    """Values and derivatives, s after the start of an interval of length h, from those of both ends."""
    d, e, f = p1 - p0 - h * v0 - h * h * a0 / 2, h * (v1 - v0 - h * a0), h * h * (a1 - a0)
    c3, c4, c5 = (10 * d - 4 * e + f / 2) / h**3, (-15 * d + 7 * e - f) / h**4, (6 * d - 3 * e + f / 2) / h**5
    return _polynomial([p0, v0, a0 / 2, c3, c4, c5], s, order)


def _cubic(p0: Array, v0: Array, p1: Array, v1: Array, s: Array, h: Array, order: int) -> list[Array]:
    """The same from values and first derivatives."""
    d, e = p1 - p0 - h * v0, h * (v1 - v0)
    return _polynomial([p0, v0, (3 * d - e) / h**2, (e - 2 * d) / h**3], s, order)


def _polynomial(coefficients: list[Array], s: Array, order: int) -> list[Array]:
    """Value and derivatives up to ``order`` of sum c_k s^k."""
    found = []
    for _ in range(order + 1):
        total: Array = np.zeros_like(coefficients[0] + s)
        for c in reversed(coefficients):
            total = total * s + c
        found.append(total)
        coefficients = [k * c for k, c in enumerate(coefficients)][1:] or [0.0 * coefficients[0]]
    return found
