"""Predicted walks, sampled with noise as a laboratory would measure them, must give back their own forces."""

import functools
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.interpolate import make_interp_spline

from neuler import gait
from neuler.robots.humans import Person

pytestmark = pytest.mark.slow

RATE, STRIDES = 100.0, 4
INNER = 0.25
"""Seconds at both ends that are left out."""
WALKS = {
    "adult": (Person(1.75, 75.0), 1.33, 0.69),
    "slow": (Person(1.75, 75.0), 1.2, 0.6),
    "female": (Person(1.62, 58.0, "female"), 1.2, 0.6),
    "tall": (Person(1.85, 90.0), 1.25, 0.66),
    "other": (Person(1.72, 70.0), 1.25, 0.62),  # no constant of the method was chosen by looking at this one
}


@functools.cache
def recorded(name):
    """Robot, times, positions without noise, contacts, and the forces of the walk: what plates would measure."""
    person, speed, step = WALKS[name]
    walk = gait.Walk(person, speed=speed, step=step)
    stride = gait.Stride.of(walk.solve(), 4001)
    t = np.arange(int(STRIDES * stride.duration * RATE) + 1) / RATE
    number, inside = np.divmod(t, stride.duration)
    ahead = number * stride.length

    def sampled(values):
        columns = values.reshape(len(stride.t), -1).T
        found = np.stack([np.interp(inside, stride.t, x) for x in columns], axis=-1)
        return found.reshape(len(t), *values.shape[1:])

    q = make_interp_spline(stride.t, stride.q, k=5)(inside)
    q[:, walk.robot.coordinates["pelvis_x"].q.start] += ahead
    force, pressure = sampled(stride.loads.foot_force), sampled(stride.loads.center_of_pressure)
    pressure[..., 0] += ahead[:, None]
    steps = t[:, None] / walk.duration - np.array([0.0, 1.0])
    exact = SimpleNamespace(
        vertical=force[..., 2], fore_aft=force[..., 0], lateral=force[..., 1], weight=stride.weight,
        touching=force[..., 2] > 0.02 * stride.weight, center_of_pressure=pressure,
    )  # fmt: skip
    return walk.robot, t, q, steps % 2.0 < 1.0 + walk.events.double, exact


def noisy(robot, q, degrees, seed):
    size = np.where([unit == "rad" for unit in robot.coordinates.units("q")], np.radians(degrees), 5e-4)
    return q + np.random.default_rng(seed).normal(size=q.shape) * size


def compared(name, degrees, seeds, *, given):
    robot, t, q, touching, exact = recorded(name)
    trials = np.stack([noisy(robot, q, degrees, seed) for seed in seeds])
    found = gait.Measured(robot, t, trials).loads(touching=touching if given else None)
    assert np.abs(found.residual[found.touching.any(axis=-1)]).max() < 1e-8
    where = (t > INNER) & (t < t[-1] - INNER)
    return [gait.compare(found.trial(k), exact, where=where, single=True) for k in range(len(seeds))]


@pytest.mark.parametrize("given", [True, False], ids=["contact given", "contact found"])
@pytest.mark.parametrize("name", WALKS)
def test_forces_come_back(name, given):
    """0.1 degree and 0.5 mm: vertical force within 3 % of range, fore-aft within 8 %, pressure within 25 mm."""
    each = compared(name, 0.1, range(200, 206), given=given)
    assert max(one["vertical"].nrmse for one in each) < 3.6
    assert np.mean([one["vertical"].nrmse for one in each]) < 3.0
    assert min(one["vertical"].correlation for one in each) > 0.99
    assert max(one["fore_aft"].nrmse for one in each) < 8.0
    assert np.mean([one["pressure_mm"] for one in each]) < 25.0


@pytest.mark.parametrize("name", WALKS)
def test_the_exact_motion_shows_the_error_of_the_split_alone(name):
    """Without noise and filter single support is exact, and the feet share within 3 % of range."""
    robot, t, q, touching, exact = recorded(name)
    found = gait.Measured(robot, t, q).loads(cutoff=None, touching=touching)
    where = (t > INNER) & (t < t[-1] - INNER)
    result = gait.compare(found, exact, where=where, single=True)
    assert result["pressure_mm"] < 0.1
    assert result["vertical"].nrmse < 3.0
    assert result["fore_aft"].nrmse < 6.0


def test_one_degree_is_reported():
    each = compared("adult", 1.0, range(200, 204), given=False)
    for one in each:
        print(one["vertical"], one["fore_aft"], one["pressure_mm"])
    assert all(np.isfinite(one["pressure_mm"]) for one in each)
