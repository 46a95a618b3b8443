"""Least times that are known without a planner: closed forms and phase planes, for benchmarks/planning_hard.py.

>>> round(rest_to_rest(1.0, 10.0, 100.0, 32.0), 12)  # 4 (d / 2 j)^(1/3): neither velocity nor acceleration matter
1.0
>>> round(double_integrator(1.7, 2.0, 10.0), 5)
1.16619
"""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import Any

import numpy as np
from scipy.integrate import solve_bvp
from scipy.interpolate import CubicSpline

from neuler import Robot

STEPS = 20_000
"""Of the position, in phase planes."""
Array = np.ndarray


def double_integrator(distance: float, mass: float, force: float) -> float:
    """Least time (s) of a mass over a distance from rest to rest: full force forwards, then backwards."""
    return 2.0 * sqrt(distance * mass / force)


def rest_to_rest(distance: float, velocity: float, acceleration: float, jerk: float) -> float:
    """Least time (s) over a distance from rest to rest within bounds on velocity, acceleration and jerk.

    The profile of seven parts. Speeding up to v takes v / a + a / j where the acceleration reaches its bound, else
    2 sqrt(v / j), and covers half of v times it; so does slowing down.
    """
    d, v, a, j = abs(distance), velocity, acceleration, jerk
    if d == 0.0:
        return 0.0

    def ramp(speed: float) -> float:
        return speed / a + a / j if speed * j >= a * a else 2.0 * sqrt(speed / j)

    if d >= v * ramp(v):
        return ramp(v) + d / v
    if d >= 2.0 * a**3 / j**2:  # the acceleration is at its bound for a while, the velocity nowhere
        speed = 0.5 * a * (-a / j + sqrt((a / j) ** 2 + 4.0 * d / a))
        return 2.0 * ramp(speed)
    return 4.0 * (d / (2.0 * j)) ** (1.0 / 3.0)


def together(start: Array, goal: Array, velocity: Array, acceleration: Array, jerk: Array) -> float:
    """The same for several joints that do not know of each other: the slowest one's time."""
    rows = np.broadcast_arrays(np.subtract(goal, start), velocity, acceleration, jerk)
    return max(rest_to_rest(*map(float, row)) for row in zip(*rows, strict=True))


def ruckig_duration(start: Array, goal: Array, velocity: Array, acceleration: Array, jerk: Array) -> float | None:
    """What the package ``ruckig`` finds (s), or None where it is not installed."""
    try:
        import ruckig
    except ImportError:
        return None
    n = len(start)
    given = ruckig.InputParameter(n)
    given.current_position, given.target_position = list(start), list(goal)
    for name, bound in (("velocity", velocity), ("acceleration", acceleration), ("jerk", jerk)):
        setattr(given, f"max_{name}", list(np.broadcast_to(bound, n)))
    found = ruckig.Trajectory(n)
    ruckig.Ruckig(n).calculate(given, found)
    return float(found.duration)


def bang_bang(
    start: float, goal: float, inertia: Callable[[Array], Array], slope: Callable[[Array], Array],
    gravity: Callable[[Array], Array], torque: float, steps: int = STEPS,
) -> float:  # fmt: skip
    """Least time (s) of inertia(q) qdd + slope(q) qd^2 + gravity(q) = tau with \\|tau\\| <= torque, rest to rest.

    In the phase plane with y = qd^2: inertia y' / 2 + slope y = +-torque - gravity, linear in y along q. Full torque
    forwards from the start, full torque against the motion backwards from the goal; where the curves meet, it
    switches. Where the motor is too weak to go on in one swing there is no such motion, and that is an error.
    """
    sign = 1.0 if goal > start else -1.0
    s = np.linspace(0.0, abs(goal - start), 2 * steps + 1)  # every second one is a middle of a step
    q = start + sign * s
    I, h, g = (np.broadcast_to(np.asarray(f(q), dtype=float), q.shape) for f in (inertia, slope, gravity))
    h, g = sign * h, sign * g  # along the way
    up = _squares(s, I, h, torque - g)
    down = _squares(s, I[::-1], -h[::-1], torque + g[::-1])[::-1]
    y = np.minimum(up, down)
    inside = y[1:-1]
    if not (inside > 0.0).all() or not (y[[0, -1]] == 0.0).all():
        raise ValueError(f"a torque of {torque:g} does not carry it from {start:g} to {goal:g} in one swing")
    return _time(s[::2], y)


def _squares(s: Array, I: Array, h: Array, force: Array) -> Array:
    """y along s of I y' / 2 + h y = force from y = 0, by Runge and Kutta, at every second of s."""
    A, b, step = -2.0 * h / I, 2.0 * force / I, s[2] - s[0]
    y = np.zeros(len(s) // 2 + 1)
    for k in range(len(y) - 1):
        a, m, e = 2 * k, 2 * k + 1, 2 * k + 2
        k1 = A[a] * y[k] + b[a]
        k2 = A[m] * (y[k] + 0.5 * step * k1) + b[m]
        k3 = A[m] * (y[k] + 0.5 * step * k2) + b[m]
        k4 = A[e] * (y[k] + step * k3) + b[e]
        y[k + 1] = y[k] + step / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
    return y


def _time(s: Array, y: Array) -> float:
    """The integral of ds / sqrt(y), y taken as linear over every step: exact where the acceleration is constant."""
    speed = np.sqrt(np.maximum(y, 0.0))
    return float(np.sum(2.0 * np.diff(s) / (speed[1:] + speed[:-1])))


def one_joint(robot: Robot, start: float, goal: float) -> tuple[Callable[[Array], Array], ...]:
    """Inertia, slope and gravity along the one independent joint of a robot with loops, as splines of its position.

    From inverse dynamics at rest, with a unit acceleration, and with a unit velocity.
    """
    q = np.linspace(start, goal, 4001)
    states = np.asarray(robot.assemble(q[:, None], continuous=True).q)  # loops stay closed in the same way
    zero, one = np.zeros((len(q), 1)), np.ones((len(q), 1))
    gravity = np.asarray(robot.inverse_dynamics(states, zero, zero))[:, 0]
    inertia = np.asarray(robot.inverse_dynamics(states, zero, one))[:, 0] - gravity
    slope = np.asarray(robot.inverse_dynamics(states, one, zero))[:, 0] - gravity
    order = np.argsort(q)
    return tuple(CubicSpline(q[order], values[order]) for values in (inertia, slope, gravity))


def cart_pole_rates(case: dict[str, Any], x: Array, u: Array) -> Array:
    """Rates (4, n) of position, angle and their velocities x (4, n) of a cart-pole under a force u (n,) on the cart.

    The bob is at (p + l sin a, -l cos a): (M + m) p'' + m l (a'' cos a - a'^2 sin a) = u and
    l a'' + p'' cos a + g sin a = 0.
    """
    M, m, l, g = case["cart"], case["pole"], case["length"], case["gravity"]
    _, a, v, w = x
    s, c = np.sin(a), np.cos(a)
    cart = (u + m * l * w * w * s + m * g * s * c) / (M + m - m * c * c)
    return np.array([v, w, cart, -(cart * c + g * s) / l])


def least_effort(case: dict[str, Any], t: Array, x: Array, u: Array, tolerance: float = 1e-7) -> tuple[float, float]:
    """The least integral of u^2 of a cart-pole's swing-up, and the largest force in it (N), by Pontryagin's conditions.

    State and costate as a boundary value problem: costate' = -(df/dx)^T costate, u = -costate . df/du / 2. A motion
    near the optimum, states x (4, n) and forces u (n,) at times t (n,), is where it begins; its costates are those
    whose forces are nearest to u.
    """

    def along(x: Array) -> Array:
        zero = np.zeros(x.shape[1])
        return cart_pole_rates(case, x, zero + 1.0) - cart_pole_rates(case, x, zero)

    def slopes(x: Array, u: Array) -> Array:
        columns = []
        for k in range(4):
            moved = x.astype(complex)
            moved[k] += 1e-30j
            columns.append(cart_pole_rates(case, moved, u).imag / 1e-30)
        return np.stack(columns, axis=1)

    def force(x: Array, costate: Array) -> Array:
        return -0.5 * np.einsum("ik,ik->k", costate, along(x))

    def rates(_: Array, y: Array) -> Array:
        x, costate = y[:4], y[4:]
        u = force(x, costate)
        return np.vstack([cart_pole_rates(case, x, u), -np.einsum("jik,jk->ik", slopes(x, u), costate)])

    def ends(first: Array, last: Array) -> Array:
        return np.concatenate([first[:4] - [*case["start"], 0.0, 0.0], last[:4] - [*case["goal"], 0.0, 0.0]])

    A = slopes(x, u)
    through = [np.eye(4)]  # costates are linear in the first one
    for k, step in enumerate(np.diff(t)):
        middle = -0.25 * step * (A[:, :, k] + A[:, :, k + 1]).T
        through.append(np.linalg.solve(np.eye(4) - middle, (np.eye(4) + middle) @ through[-1]))
    shares = -0.5 * np.einsum("ik,kij->kj", along(x), np.array(through))
    first, *_ = np.linalg.lstsq(shares, u, rcond=None)
    found = solve_bvp(rates, ends, t, np.vstack([x, (np.array(through) @ first).T]), tol=tolerance, max_nodes=100_000)
    if not found.success:
        raise ValueError(f"least effort of the cart-pole: {found.message}")
    fine = np.linspace(t[0], t[-1], STEPS + 1)
    y = found.sol(fine)
    u = force(y[:4], y[4:])
    return float(np.trapezoid(u**2, fine)), float(np.abs(u).max())
