"""Robots under control, stepped by Runge and Kutta's fourth-order rule with the forces held from sample to sample."""

import numpy as np


def run(robot, controller, q, qd, time, dt=1e-3, plant=None, parameters=None):
    """States after every step, (steps + 1, rows, ...), tau and the last memory. ``plant`` is what really moves."""
    moved = plant or robot
    q, qd = np.array(q, dtype=float), np.array(qd, dtype=float)
    memory = np.broadcast_to(controller.memory0, (*q.shape[:-1], controller.memory))
    every = 1 if controller.period is None else round(controller.period / dt)
    path, tau, forces = [(q, qd)], None, []

    def rate(state, speed):
        return moved.forward_dynamics(state, speed, tau)

    for k in range(round(time / dt)):
        if k % every == 0:
            tau, memory = controller(k * dt, q, qd, memory)
        forces.append(tau)
        a1 = rate(q, qd)
        v2 = qd + dt / 2 * a1
        a2 = rate(moved.integrate(q, qd, dt / 2), v2)
        v3 = qd + dt / 2 * a2
        a3 = rate(moved.integrate(q, v2, dt / 2), v3)
        v4 = qd + dt * a3
        a4 = rate(moved.integrate(q, v3, dt), v4)
        q = moved.integrate(q, (qd + 2 * v2 + 2 * v3 + v4) / 6, dt)
        qd = qd + dt / 6 * (a1 + 2 * a2 + 2 * a3 + a4)
        path.append((q, qd))
    positions, velocities = (np.stack(part) for part in zip(*path, strict=True))
    return positions, velocities, np.stack(forces), memory


def derivative(robot, function, q, qd, step=1e-4):
    """d/dt of a function of q along qd, by central differences of sixth order."""
    total = 0.0
    for k, weight in ((1, 45.0), (2, -9.0), (3, 1.0)):
        there, before = (function(robot.integrate(q, qd, sign * k * step)) for sign in (1, -1))
        total = total + weight * (np.asarray(there) - np.asarray(before))
    return total / (60.0 * step)
