"""Experiments for the benchmark of identification: robots with known parameters, closed-loop runs, measurements.

The robot that is measured has drives with friction and rotors; the one that is given, to the controller and to the
estimators, has all its parameters off by up to 15 %. A motion is a Fourier series of five harmonics over ten seconds,
tracked by computed torque at 5 kHz; positions and torques are sampled at 1 kHz, and noise is added to both.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from neuler import Robot
from neuler.control import ComputedTorque
from neuler.identify import Log

COLUMNS = ("links", "friction", "rotors")
SECONDS, STEP, EVERY = 10.0, 2e-4, 5
"""Of a motion; of a step of the integrator and the controller; steps between samples."""
HARMONICS, REACH, SPEED = 5, 1.2, 0.7
"""Of a motion: harmonics of 0.1 Hz, rad from the middle of a joint's range, share of its greatest velocity."""
GAIN = 400.0
"""Of the controller (1/s^2): errors fall with 20/s."""
OFF = 0.15


@dataclass(frozen=True)
class Noise:
    """How a log differs from the truth: positions (rad) with normal noise or in steps, torques with normal noise."""

    name: str
    position: float = 0.0
    step: float = 0.0
    torque: float = 0.0
    """N m."""
    share: float = 0.0
    """Noise of torques as a share of each joint's root mean square."""
    cutoff: float | None = None
    """Hz, of the filter of positions; None: chosen from the data."""


LEVELS = (
    Noise("quantised", step=1e-5, share=0.01),
    Noise("low", position=np.radians(1e-4), torque=0.05),
    Noise("high", position=np.radians(1e-2), torque=0.1),
    Noise("high, cut-off 50 Hz", position=np.radians(1e-2), torque=0.1, cutoff=50.0),
)
"""Positions in steps of 1e-5 rad; 1e-4 and 1e-2 degrees, as Leboutet et al. (2021) have them."""


@dataclass(frozen=True, eq=False)
class Arm:
    """The robot that is measured, the one that is given, and their parameters."""

    name: str
    true: Robot
    given: Robot

    @functools.cached_property
    def columns(self) -> tuple[str, ...]:
        """All parameters."""
        return self.true.compile("regressor", columns=COLUMNS).column_names

    @functools.cached_property
    def phi(self) -> np.ndarray:
        """Their true values."""
        return np.asarray(self.true.compile("regressor", columns=COLUMNS).column_values)

    def simulated(self, reference: np.ndarray, phi: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Positions and torques (runs, samples, n) of closed loops with parameters ``phi`` (p,) along references.

        Torques are those held before every sample, and after it.
        """
        n = self.true.nv
        steps = reference.shape[1] - 1
        found = self.true.rollout(
            reference[:, 0, :n], reference[:, 0, n : 2 * n], self.controller, STEP, steps=steps,
            reference=reference[:, :steps], parameters={"links": phi[: self.links], **self.others(phi)},
        )  # fmt: skip
        if found.status.any():
            raise ArithmeticError(f"{self.name}: a simulated run ended early, status {found.status.max()}")
        at = np.arange(EVERY, steps - 1, EVERY)  # states are those after a step, forces those in it
        return found.q[:, at - 1], found.tau[:, at - 1], found.tau[:, at]

    @functools.cached_property
    def controller(self) -> ComputedTorque:
        """With the parameters of the robot that is given."""
        return ComputedTorque(self.given, kp=GAIN, period=STEP)

    @property
    def links(self) -> int:
        """Parameters of links among all, which come first."""
        return sum(column.rpartition(".")[0] in self.true.link_names for column in self.columns)

    def others(self, phi: np.ndarray) -> dict[str, Any]:
        """Parameters of drives, by name."""
        return {name: [value] for name, value in zip(self.columns[self.links :], phi[self.links :], strict=True)}


def arm_of(name: str, robot: Robot) -> Arm:
    """A robot of a URDF, with drives: friction and rotor inertia by joints' effort; and the one that is off."""
    joints = []
    for joint in robot.joints:
        drive: dict[str, float] = {}
        if joint.moves:
            most = joint.limits.effort
            drive = {"viscous": 0.02 * most, "coulomb": 0.03 * most, "rotor_inertia": 0.01 * most}
        joints.append(dataclasses.replace(joint, **drive))
    true = robot.replace(joints=joints)
    kernel = true.compile("regressor", columns=COLUMNS)
    factors = np.random.default_rng(0).uniform(1.0 - OFF, 1.0 + OFF, len(kernel.column_names))
    given = true.with_parameters(dict(zip(kernel.column_names, kernel.column_values * factors, strict=True)))
    return Arm(name, true, given)


def references(robot: Robot, seeds: Sequence[int]) -> np.ndarray:
    """q, qd, qdd side by side, (seeds, steps + 1, 3 n), of random Fourier series that joints can follow."""
    t = STEP * np.arange(round(SECONDS / STEP) + 1)
    w = 2.0 * np.pi / SECONDS * np.arange(1, HARMONICS + 1)
    s, c = np.sin(w * t[:, None]), np.cos(w * t[:, None])
    limits = [joint.limits for joint in robot.moving_joints]
    middle = np.array([0.5 * (each.lower + each.upper) for each in limits])
    reach = np.minimum(REACH, [0.45 * (each.upper - each.lower) for each in limits])
    fastest = SPEED * np.array([each.velocity for each in limits])
    found = np.empty((len(seeds), len(t), 3, robot.nv))
    for row, seed in zip(found, seeds, strict=True):
        a, b = np.random.default_rng([7, seed]).normal(size=(2, robot.nv, HARMONICS)) / np.sqrt(np.arange(1.0, 6.0))
        parts = s @ a.T + c @ b.T, c @ (w * a).T - s @ (w * b).T, -s @ (w * w * a).T - c @ (w * w * b).T
        centre = 0.5 * (parts[0].max(axis=0) + parts[0].min(axis=0))
        size = np.minimum(reach / np.abs(parts[0] - centre).max(axis=0), fastest / np.abs(parts[1]).max(axis=0))
        row[:, 0] = middle + size * (parts[0] - centre)
        row[:, 1], row[:, 2] = size * parts[1], size * parts[2]
    return found.reshape(len(seeds), len(t), -1)


def measured(arm: Arm, q: np.ndarray, tau: np.ndarray, noise: Noise, seed: int) -> Log:
    """The log of one run (samples, n), with noise."""
    random = np.random.default_rng([11, seed])
    q = q + noise.position * random.normal(size=q.shape)
    if noise.step:
        q = np.round(q / noise.step) * noise.step
    sd = noise.torque + noise.share * np.sqrt((tau**2).mean(axis=0))
    tau = tau + sd * random.normal(size=tau.shape)
    return Log(arm.given, STEP * EVERY * np.arange(1, len(q) + 1), q, tau, name=f"run {seed}")
