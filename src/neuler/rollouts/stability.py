"""Whether an explicit method is stable at a step size: springs and dampers at the start, said before they burst."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neuler.robot import Friction, Joint, Motor, Robot

Array = NDArray[np.float64]
_ROWS = 4
"""Of a batch that are looked at."""
_LITTLE = 1e-6
"""Radians, metres, and their rates a second, of a difference."""
_AWAY = 1e-3
"""Rad/s and m/s: speeds at which differences are taken at rest."""
_GROWTH = 1.01
"""Of a motion in one step, where in truth it does not grow."""

_BEYOND = 1e12
"""Numbers of a step from which on its motions are not told apart."""


def warn_if_unstable(robot: Robot, method: str, q: Array, qd: Array, dt: Array) -> None:
    """A warning that names the joint and the largest step that is stable, where the robot has springs or dampers."""
    if method not in _GROWN or not _stiff(robot):
        return
    shape = np.broadcast_shapes(q.shape[:-1], qd.shape[:-1], dt.shape)
    rows = [np.broadcast_to(x, (*shape, x.shape[-1])).reshape(-1, x.shape[-1]) for x in (q, qd)]
    sizes = np.broadcast_to(dt, shape).reshape(-1)
    for row in np.unique(np.linspace(0, len(sizes) - 1, _ROWS).astype(int)) if len(sizes) else ():
        here, rate, size = rows[0][row], rows[1][row], float(sizes[row])
        if not (np.isfinite(here).all() and np.isfinite(rate).all()):
            continue
        linear = _linear(robot, here, rate)
        if linear is None:
            continue
        number = linear.unstable(method, size)
        if number is None:
            continue
        low, high = 0.0, size
        for _ in range(40):
            middle = 0.5 * (low + high)
            low, high = (low, middle) if linear.unstable(method, middle) is not None else (middle, high)
        name = robot.coordinates.owners("qd")[number].name
        smaller = f"take dt = {0.9 * low:.2g} s or less, or " if low > 1e-9 * size else "take "
        warnings.warn(
            f"rollout: method {method!r} is unstable at dt = {size:g} s, spring and damping of joint {name!r} are too "
            f"stiff for it: {smaller}method='implicit'",
            RuntimeWarning,
            stacklevel=5,
        )
        return


def _stiff(robot: Robot) -> bool:
    """Whether there are springs or dampers at all, also those of motors."""
    drives: list[Joint | Motor] = [*robot.joints, *robot.motors]
    damped = any(drive.viscous or _damps(drive.friction) for drive in drives)
    return damped or any(joint.stiffness for joint in robot.joints) or any(motor.elastic for motor in robot.motors)


def _damps(law: Friction | None) -> bool:
    """Whether a friction law grows with the speed, or has a slope in the place of its jump."""
    return law is not None and bool(law.width or getattr(law, "viscous", 0.0))


@dataclass(frozen=True)
class _Linear:
    """Small motions about a state: M qdd + D qd + K q = 0."""

    stiffness: Array  # K
    damping: Array  # D
    stiff: Array  # M^-1 K
    damped: Array  # M^-1 D

    def unstable(self, method: str, dt: float) -> int | None:
        """The velocity whose spring and damper make a step grow that ought not to; None where no step does.

        Of the motion that grows most that is the one whose own force has the largest power. Others may move more: what
        a joint's force shakes, a light base, say.
        """
        with np.errstate(all="ignore"):
            grown = _GROWN[method](self.stiff, self.damped, dt)
        if not np.abs(grown).max() < _BEYOND:  # so stiff that its powers overflow, or leave no digits of the rest
            return int(np.argmax(np.abs(np.hstack([self.stiffness, self.damping])).max(axis=1)))
        factors, shapes = np.linalg.eig(grown)
        most = int(np.argmax(np.abs(factors)))
        rates = np.linalg.eigvals(_rate(self.stiff, self.damped)).real
        if abs(factors[most]) <= _GROWTH * float(np.exp(max(0.0, dt * float(rates.max())))):
            return None
        n = len(self.stiff)
        q, qd = shapes[:n, most], shapes[n:, most]
        return int(np.argmax(np.abs(qd) * np.abs(self.stiffness @ q + self.damping @ qd)))


def _linear(robot: Robot, q: Array, qd: Array) -> _Linear | None:
    """By differences of the bias force at a state; None where it cannot be told."""
    unit = _LITTLE * np.eye(robot.nv)
    qd = np.where(np.abs(qd) < _AWAY, _AWAY, qd)  # friction jumps at rest: no difference across it
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ahead, back = robot.integrate(q, unit, 1.0), robot.integrate(q, -unit, 1.0)
        stiffness = (robot.bias_force(ahead, qd) - robot.bias_force(back, qd)).T / (2 * _LITTLE)
        away = np.where(qd < 0, -1.0, 1.0)[:, None] * unit  # friction jumps at rest
        further, near = robot.bias_force(q, qd + 2 * away), robot.bias_force(q, qd + away)
        damping = (further - near).T / np.diag(away)
        mass = robot.mass_matrix(q)
    if not all(np.isfinite(x).all() for x in (stiffness, damping, mass)):
        return None
    try:
        both: Array = np.asarray(np.linalg.solve(mass, np.hstack([stiffness, damping])), dtype=np.float64)
    except np.linalg.LinAlgError:
        return None
    return _Linear(stiffness, damping, both[:, : robot.nv], both[:, robot.nv :])


def _euler(stiffness: Array, damping: Array, dt: float) -> Array:
    """What one step makes of small (q, qd)."""
    one = np.eye(len(stiffness))
    speed = np.hstack([-dt * stiffness, one - dt * damping])
    return np.vstack([np.hstack([one, 0 * one]) + dt * speed, speed])


def _rk4(stiffness: Array, damping: Array, dt: float) -> Array:
    rate = dt * _rate(stiffness, damping)
    one = np.eye(len(rate))
    return one + rate @ (one + rate @ (one + rate @ (one + rate / 4) / 3) / 2)


def _rate(stiffness: Array, damping: Array) -> Array:
    one = np.eye(len(stiffness))
    return np.vstack([np.hstack([0 * one, one]), np.hstack([-stiffness, -damping])])


_GROWN: dict[str, Callable[[Array, Array, float], Array]] = {"euler": _euler, "rk4": _rk4}
