"""Motions with exact derivatives, and logs of them, for the tests of logs."""

import functools

import numpy as np

from neuler import robots
from neuler.identify import Log

RATE = 100.0


class Fourier:
    """Motions of five harmonics of 0.1 Hz with exact derivatives."""

    def __init__(self, joints, seed=0, base=0.1, duration=10.0, rate=RATE, size=1.0):
        random = np.random.default_rng(seed)
        self.t = np.arange(round(duration * rate)) / rate
        w = 2 * np.pi * base * np.arange(1, 6)
        a, b = random.uniform(-1, 1, (2, joints, 5)) * size / 5 / np.sqrt(np.arange(1, 6))
        s, c = np.sin(w * self.t[:, None]), np.cos(w * self.t[:, None])
        self.q = random.uniform(-0.5, 0.5, joints) + s @ a.T + c @ b.T
        self.qd = c @ (a * w).T - s @ (b * w).T
        self.qdd = -s @ (a * w**2).T - c @ (b * w**2).T


@functools.cache
def motion(name="two_link", seed=0):
    robot = getattr(robots, name)()
    found = Fourier(robot.nv, seed, base=0.2)
    found.robot = robot
    found.tau = np.asarray(robot.without_friction().inverse_dynamics(found.q, found.qd, found.qdd))
    return found


def log_of(machine="two_link", **changes):
    m = motion(machine)
    parts = {"t": m.t, "q": m.q, "tau": m.tau, "qd": None, "qdd": None} | changes
    return Log(m.robot, **parts)


def rms(values):
    return float(np.sqrt(np.mean(np.square(values))))
