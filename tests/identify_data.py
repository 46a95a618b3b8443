"""Regressors of robots and noise, for the tests of identification."""

import functools

import numpy as np
from scipy.linalg import qr
from scipy.signal import butter, filtfilt

import neuler


def fourier(n, samples=1000, dt=0.01, seed=3):
    """Periodic positions, velocities and accelerations with five harmonics, (samples, n) each."""
    rng = np.random.default_rng(seed)
    t = np.arange(samples)[:, None] * dt
    q, qd, qdd = np.zeros((3, samples, n))
    for k in range(1, 6):
        w = 2 * np.pi * k / (samples * dt)
        a, b = rng.normal(size=(2, n)) / k
        s, c = np.sin(w * t), np.cos(w * t)
        q += a * s + b * c
        qd += w * (a * c - b * s)
        qdd -= w**2 * (a * s + b * c)
    return q, qd, qdd


@functools.cache
def kernel(name):
    robot = getattr(neuler.robots, name)()
    return robot, neuler.function(robot.compile("inverse_dynamics", parameters=("links",))).jacobian("parameters")


@functools.cache
def standard(name, samples=1000, dt=0.01, seed=3):
    """The regressor of all links (N, nu, p), its names, and the robot's own parameters (p,)."""
    robot, jacobian = kernel(name)
    moved = [link for link in robot.links if link.name in robot.shown_names]
    values = np.array([x for link in moved for x in (link.mass, *link.first_moment, *link.inertia)])
    W = jacobian(*fourier(robot.nv, samples, dt, seed), np.zeros(len(values)))
    parts = ("mass", "mx", "my", "mz", "xx", "yy", "zz", "xy", "xz", "yz")
    return W, tuple(f"{link.name}.{part}" for link in moved for part in parts), values


@functools.cache
def base(name, samples=1000, dt=0.01, seed=3):
    """Independent columns, their names, and base parameters with which W x is that of the robot."""
    W, names, values = standard(name, samples, dt, seed)
    A = W.reshape(-1, W.shape[2])
    norms = np.linalg.norm(A, axis=0)
    _, R, order = qr(A / np.where(norms > 0, norms, 1.0), mode="economic", pivoting=True)
    rank = int(np.count_nonzero(np.abs(np.diag(R)) > 1e-9 * abs(R[0, 0])))
    chosen = np.sort(order[:rank])
    return W[:, :, chosen], tuple(names[k] for k in chosen), np.linalg.lstsq(A[:, chosen], A @ values, rcond=None)[0]


def low_pass(x, share=0.2):
    """Zero-phase Butterworth filter of order 4, cut-off as a part of half the sampling rate."""
    return filtfilt(*butter(4, share), x, axis=0)


def noise(y, part, seed):
    """White, of each force a part of its root mean square."""
    return np.random.default_rng(seed).normal(size=y.shape) * part * np.sqrt((y**2).mean(axis=0))
