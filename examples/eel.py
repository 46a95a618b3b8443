"""An eel swims: its joints move as told, the water resists, and the motion of the head is found (Khalil 7.2).

    python examples/eel.py                # prints the audit, writes eel.png

At every instant ``hybrid_dynamics`` is given the joints' accelerations and no force on the head, and finds the
head's acceleration and the joints' torques, Khalil (89)-(100). The water acts on each module by its drag, across the
module much more than along it: that is what a travelling wave pushes against.

What is audited, along the whole motion: the work of the joints is the growth of the kinetic energy and what the
water takes; the change of momentum is the impulse of the water. Both are integrals along the way, by the same
Runge-Kutta steps as the motion, and have to agree with the state at its end.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import neuler
from neuler.robots.eel import DENSITY, HEIGHT, LENGTH, WIDTH

Array = NDArray[np.float64]

ACROSS, ALONG, ROLL = 1.8, 0.05, 1.0
"""Drag coefficients: across the module (y and z), along it, and of its turning."""
PERIOD, WAVES, LARGEST = 1.0, 1.0, 0.35
"""Of the wave (s), how many fit on the body, and the angle of the last joint (rad)."""


def wave(t: float, joints: int) -> tuple[Array, Array, Array]:
    """Angles of the joints, growing from head to tail and from rest, with their rates."""
    k = np.arange(1, joints + 1)
    size = LARGEST * (0.3 + 0.7 * k / joints)
    phase = 2 * np.pi * (t / PERIOD - WAVES * k / joints)
    rate = 2 * np.pi / PERIOD
    s, c = np.sin(phase), np.cos(phase)
    x = min(t / PERIOD, 1.0)  # one period to grow
    grow = x**3 * (10 - 15 * x + 6 * x * x)
    speed = 30 * x * x * (1 - x) ** 2 / PERIOD
    push = 60 * x * (1 - x) * (1 - 2 * x) / PERIOD**2
    return (
        size * grow * s,
        size * (speed * s + grow * rate * c),
        size * (push * s + 2 * speed * rate * c - grow * rate**2 * s),
    )


def water(velocities: Array) -> Array:
    """Wrenches of the water on all modules (n, 6), in their frames at their origins.

    Quadratic drag on the velocity of the middle of a module, by its area in each direction; and on its turning.
    """
    middle = np.array([-LENGTH / 2, 0.0, 0.0])
    v, w = velocities[:, :3], velocities[:, 3:]
    there = v + np.cross(w, middle)
    area = np.array([np.pi * HEIGHT * WIDTH / 4, LENGTH * HEIGHT, LENGTH * WIDTH])
    force = -0.5 * DENSITY * np.array([ALONG, ACROSS, ACROSS]) * area * np.abs(there) * there
    arm = np.array([WIDTH**4 * LENGTH, LENGTH**4 * WIDTH, LENGTH**4 * HEIGHT]) / 64
    moment = -0.5 * DENSITY * ROLL * arm * np.abs(w) * w
    return np.concatenate([force, np.cross(middle, force) + moment], axis=1)


@dataclass
class Swim:
    """A motion: times, positions, velocities; torques of the joints; and what the audit adds up."""

    times: Array
    q: Array
    qd: Array
    torque: Array
    work: Array
    lost: Array
    impulse: Array


class Eel:
    """The robot in the water, as a differential equation of the head's pose and velocity and of the audit."""

    def __init__(self) -> None:
        self.robot = neuler.robots.eel()
        self.modules = self.robot.link_names[1:]
        self.joints = len(self.robot.joint_names) - 1
        self.dynamics = self.robot.compile("hybrid_dynamics", external=self.modules)

    def state(self, t: float, y: Array) -> tuple[Array, Array, Array]:
        """Positions and velocities of the robot, and the joints' accelerations."""
        q, qd, qdd = wave(t, self.joints)
        turn = y[3:7] / np.linalg.norm(y[3:7])
        return np.concatenate([y[:3], turn, q]), np.concatenate([y[7:13], qd]), qdd

    def rates(self, t: float, y: Array) -> tuple[Array, Array]:
        """Of (pose, velocity, work, lost, impulse), and the torques."""
        q, qd, qdd = self.state(t, y)
        screws = np.asarray(self.robot.link_velocities(q, qd))[1:]
        wrenches = water(screws)
        found = self.dynamics(q, qd, np.concatenate([np.zeros(6), qdd]), *wrenches)
        tau = found[6:]
        poses = np.asarray(self.robot.link_poses(q))[1:]
        force = np.einsum("kij,kj->ki", poses[:, :3, :3], wrenches[:, :3])
        moment = np.einsum("kij,kj->ki", poses[:, :3, :3], wrenches[:, 3:]) + np.cross(poses[:, :3, 3], force)
        x, y_, z, w = q[3:7]
        a, b, c = 0.5 * qd[3:6]
        spin = [w * a + y_ * c - z * b, w * b + z * a - x * c, w * c + x * b - y_ * a, -(x * a + y_ * b + z * c)]
        moved = poses[0, :3, :3] @ qd[:3]
        work, lost = tau @ qd[6:], -(wrenches * screws).sum()
        audit = [work, lost, *force.sum(axis=0), *moment.sum(axis=0)]
        return np.concatenate([moved, spin, found[:6], audit]), tau

    def swim(self, seconds: float, step: float) -> Swim:
        """Runge-Kutta's fourth order, from rest."""
        y = np.zeros(21)
        y[6] = 1.0
        rows = []
        count = round(seconds / step)
        for n in range(count + 1):
            t = n * step
            k1, tau = self.rates(t, y)
            q, qd, _ = self.state(t, y)
            rows.append((t, q, qd, tau, y[13], y[14], y[15:21].copy()))
            k2, _ = self.rates(t + step / 2, y + step / 2 * k1)
            k3, _ = self.rates(t + step / 2, y + step / 2 * k2)
            k4, _ = self.rates(t + step, y + step * k3)
            y = y + step / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
            y[3:7] /= np.linalg.norm(y[3:7])
        return Swim(*(np.array(column) for column in zip(*rows, strict=True)))


def audit(eel: Eel, motion: Swim) -> dict[str, float]:
    """Largest differences along the motion, relative to the largest value."""
    kinetic, _ = eel.robot.energy(motion.q, motion.qd)
    momentum = np.asarray(eel.robot.momentum(motion.q, motion.qd))
    energy = motion.work - motion.lost - kinetic
    linear, angular = (momentum - motion.impulse)[:, :3], (momentum - motion.impulse)[:, 3:]
    return {
        "energy": float(np.abs(energy).max() / np.abs(motion.work).max()),
        "linear momentum": float(np.abs(linear).max() / np.abs(momentum[:, :3]).max()),
        "angular momentum": float(np.abs(angular).max() / np.abs(momentum[:, 3:]).max()),
    }


def figure(eel: Eel, motion: Swim, path: str) -> None:
    """The path of the head, the body at some instants, and the torques."""
    from matplotlib.figure import Figure

    page = Figure(figsize=(9, 8.4), layout="constrained")
    bodies, path_of_head, torques = page.subplots(3, 1, height_ratios=[4, 1.2, 2])
    poses = np.asarray(eel.robot.link_poses(motion.q))[:, 1:]
    tail = poses[:, -1, :3, 3] - LENGTH * poses[:, -1, :3, 0]
    spine = np.concatenate([poses[:, :, :3, 3], tail[:, None]], axis=1)
    for row, n in enumerate(np.linspace(0, len(motion.times) - 1, 7).astype(int)):
        x, y = spine[n, :, 0], spine[n, :, 1] - 0.45 * row
        bodies.plot(x, y, "-", color="#0f766e", linewidth=5, alpha=0.35, solid_capstyle="round")
        bodies.plot(x, y, "o", color="#0f766e", markersize=3)
        bodies.plot(x[0], y[0], "o", color="#c2410c", markersize=6)
        bodies.annotate(f"{motion.times[n]:.1f} s", (x[0], y[0]), xytext=(9, -3), textcoords="offset points", size=9)
    bodies.set(title="the body, one instant below the other; the head is on the right", xlabel="x, m", aspect="equal")
    bodies.set_yticks([])
    bodies.margins(x=0.08)
    path_of_head.plot(*motion.q[:, :2].T, color="#c2410c", linewidth=1.2)
    path_of_head.set(title="path of the head", xlabel="x, m", ylabel="y, m", aspect="equal")
    for k in (0, 4, eel.joints - 1):
        torques.plot(motion.times, motion.torque[:, k], label=f"yaw{k + 1}", linewidth=1.2)
    torques.set(title="torques of three joints", xlabel="time, s", ylabel="N m")
    torques.legend(loc="lower right", ncols=3)
    page.savefig(path, dpi=150)


def main() -> None:
    """Swim, audit, draw."""
    parser = argparse.ArgumentParser(description="An eel-like robot swims; energy and momentum are audited.")
    parser.add_argument("--seconds", type=float, default=6.0)
    parser.add_argument("--step", type=float, default=0.01)
    parser.add_argument("--output", default="eel.png")
    chosen = parser.parse_args()
    eel = Eel()
    motion = eel.swim(chosen.seconds, chosen.step)
    speed = (motion.q[-1, 0] - motion.q[len(motion.q) // 2, 0]) / (motion.times[-1] / 2)
    print(f"{len(eel.modules)} modules, {eel.robot.mass:.1f} kg, {len(eel.modules) * LENGTH:.2f} m long")
    print(f"swam {motion.q[-1, 0]:.2f} m ahead in {chosen.seconds:g} s, at the end {speed:.2f} m/s")
    print(f"work of the joints {motion.work[-1]:.1f} J, taken by the water {motion.lost[-1]:.1f} J")
    for what, error in audit(eel, motion).items():
        print(f"audit of {what}: off by {error:.1e} of its largest value")
    figure(eel, motion, chosen.output)
    print(f"wrote {chosen.output}")


if __name__ == "__main__":
    main()
