"""Logs of a simulated two-link arm with friction, as files, for the tests of the command and of studies."""

import functools

import numpy as np

import neuler
from cli_runs import write_csv

NAMES = ("t", "q_joint1", "q_joint2", "tau_joint1", "tau_joint2")


@functools.cache
def arms():
    """The arm that is measured, and the one that is given: its second link is too light, its friction too small."""
    given = neuler.robots.two_link().with_gravity((0.0, 0.0, -9.81))  # as URDF files have it
    little = {
        f"{joint}.{part}": x for joint in ("joint1", "joint2") for part, x in (("viscous", 0.1), ("coulomb", 0.2))
    }
    given = given.with_parameters(little)
    heavy = {"link2.mass": given.links[2].mass + 0.8, "joint1.viscous": 0.4, "joint2.coulomb": 0.5}
    return given.with_parameters(heavy), given


def rows(seed, count=1000, rate=100.0, still=(), noise=0.01):
    """Measured rows (count, 5): ten seconds of five harmonics; joints in ``still`` hardly move."""
    true, _ = arms()
    rng, t = np.random.default_rng(seed), np.arange(count) / rate
    w = 2 * np.pi * 0.1 * np.arange(1, 6)
    a, b = rng.normal(size=(2, 2, 5)) * 0.6 / np.sqrt(np.arange(1, 6))
    for joint in still:
        a[joint], b[joint] = 0.01 * a[joint], 0.01 * b[joint]
    s, c = np.sin(w * t[:, None]), np.cos(w * t[:, None])
    q, qd, qdd = s @ a.T + c @ b.T, c @ (a * w).T - s @ (b * w).T, -s @ (a * w**2).T - c @ (b * w**2).T
    tau = true.inverse_dynamics(q, qd, qdd)
    tau = tau + noise * np.sqrt((tau**2).mean(axis=0)) * rng.normal(size=tau.shape)
    return np.column_stack([t, np.round(q / 1e-5) * 1e-5, tau])


def write_log(path, seed, names=NAMES, change=None, **options):
    """Write a log; ``change`` alters its rows in place."""
    values = rows(seed, **options)
    if change is not None:
        values = change(values.copy())
    write_csv(path, names, values.tolist())
    return path
