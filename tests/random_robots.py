"""Seeded random trees over every joint kind, real files, random states, and the measure of agreement."""

import functools
import importlib.metadata
import math
from pathlib import Path

import numpy as np
import pytest

from neuler import Frame, Joint, Link, Robot, Transform

NEARLY = 1e-9
"""rad: axes that are parallel to the eye and not to the computer."""

QUARTERS = (0.0, math.pi / 2, math.pi, -math.pi / 2)


def error(found, expected, scale=None):
    """Largest difference over ``scale``, by default the largest expected number (at least 1e-6)."""
    found, expected = np.asarray(found), np.asarray(expected)
    assert found.shape == expected.shape, f"shape {found.shape}, expected {expected.shape}"
    largest = max(float(np.abs(expected).max(initial=0.0)), 1e-6) if scale is None else scale
    return float(np.max(np.abs(found - expected), initial=0.0)) / largest  # NaN stays NaN


def close(found, expected, tolerance, scale=None, what=""):
    """Assert that ``error`` is within ``tolerance``."""
    off = error(found, expected, scale)
    assert off <= tolerance, f"{what}: scaled error {off:.3g} is above {tolerance:.3g}"


def along(function, time=0.0, step=1e-3):
    """d(function)/dt by central differences of sixth order: truncation about step^6, rounding 1e-16/step."""
    total = 0.0
    for k, weight in ((1, 45.0), (2, -9.0), (3, 1.0)):
        total = total + weight * (function(time + k * step) - function(time - k * step))
    return total / (60.0 * step)


# ---- trees ---------------------------------------------------------------------------------------------


def _unit(rng):
    v = rng.normal(size=3)
    return v / np.linalg.norm(v)


def _rotation(axis, angle):
    k = np.cross(axis, np.eye(3)).T
    return np.eye(3) + math.sin(angle) * k + (1 - math.cos(angle)) * k @ k


def random_transform(rng):
    """Any rigid placement; often none, one along an axis, or by quarter turns."""
    shift = rng.uniform(-0.5, 0.5, 3)
    if rng.random() < 0.5:
        shift = shift * rng.integers(0, 2, 3)
    turn = rng.choice(["none", "quarters", "any", "nearly"], p=[0.2, 0.3, 0.4, 0.1])
    if turn == "quarters":
        rpy = rng.choice(QUARTERS, 3)
    else:
        rpy = {"none": 0.0, "any": math.pi, "nearly": NEARLY}[turn] * rng.uniform(-1, 1, 3)
    return Transform.from_rpy(shift, rpy)


def random_link(rng, name):
    """Mass, centre of mass and a possible inertia (that of a cloud of particles) about it."""
    s = rng.normal(scale=0.15, size=(3, 6))
    second = s @ s.T / 6
    mass = rng.uniform(0.5, 3.0)
    about_com = mass * (np.trace(second) * np.eye(3) - second)
    if rng.random() < 0.3:
        about_com = np.diag(np.diag(about_com))
    return Link.from_com(name, mass=mass, com=rng.uniform(-0.2, 0.2, 3), inertia=about_com)


def _axis(rng, rotation, above):
    """In the child's frame: along a coordinate axis, anywhere, or (nearly) parallel to the joint ``above``."""
    way = rng.choice(["aligned", "any", "parallel", "nearly"], p=[0.4, 0.3, 0.15, 0.15])
    if way == "aligned":
        return np.eye(3)[rng.integers(3)] * rng.choice([-1.0, 1.0])
    if way == "any" or above is None:
        return _unit(rng)
    parallel = rotation.T @ above
    if way == "nearly":
        parallel = _rotation(_unit(np.random.default_rng(int(rng.integers(1 << 30)))), NEARLY) @ parallel
    return parallel * rng.choice([-1.0, 1.0])


def _oblique(rng, rotation, above):
    """An axis at more than 0.4 rad from the one above: a massless link between them has finite accelerations."""
    while True:
        axis = _unit(rng)
        if np.linalg.norm(np.cross(rotation @ axis, above)) > 0.4:
            return axis


@functools.cache
def random_robot(seed, joints=None):
    """The robot of this seed: 3 to 8 joints unless ``joints`` says otherwise, at least one of them moving.

    A massless link is carried by a link with mass and carries one, so that M stays invertible.
    """
    rng = np.random.default_rng(seed)
    count = int(rng.integers(3, 9)) if joints is None else joints
    parents = [0] + [k if rng.random() < 0.7 else int(rng.integers(0, k + 1)) for k in range(1, count)]
    kinds = rng.choice(["revolute", "prismatic", "fixed"], size=count, p=[0.55, 0.25, 0.2]).tolist()
    if all(kind == "fixed" for kind in kinds):
        kinds[0] = "revolute"
    links, made, light = [random_link(rng, "base")], [], set()
    for k in range(count):
        number, parent, kind = k + 1, parents[k], kinds[k]
        placement = random_transform(rng)
        rotation = np.array(placement.rotation)
        above = np.array(made[parent - 1].axis) if parent and made[parent - 1].moves else None
        axis = _oblique(rng, rotation, above) if parent in light and above is not None else _axis(rng, rotation, above)
        massless = parent not in light and number in parents and rng.random() < 0.3
        if massless:
            light.add(number)
        links.append(Link(f"link{number}") if massless else random_link(rng, f"link{number}"))
        friction = {}
        if kind != "fixed":
            if rng.random() < 0.5:
                friction["rotor_inertia"] = rng.uniform(0.01, 0.5)
            if rng.random() < 0.5:
                friction["viscous"] = rng.uniform(0.1, 1.0)
            if rng.random() < 0.5:
                friction["coulomb"] = rng.uniform(0.1, 1.0)
            if rng.random() < 0.4:
                friction["coulomb_reverse"] = rng.uniform(0.1, 1.0)
        parent_name = links[parent].name
        made.append(Joint(f"joint{number}", kind, parent_name, f"link{number}", placement, tuple(axis), **friction))
    carriers = rng.choice([link.name for link in links], size=2)
    frames = [Frame("tool", links[-1].name, random_transform(rng))]
    frames += [Frame(f"frame{k}", str(name), random_transform(rng)) for k, name in enumerate(carriers)]
    pull = {0: np.array([0.0, 0.0, -9.81]), 1: np.zeros(3)}.get(int(rng.integers(8)), 9.81 * _unit(rng))
    return Robot(f"random{seed}", links, made, gravity=pull, frames=frames)


def real_files():
    """The URDF files of example-robot-data, but for one that describes an empty robot."""
    try:
        package = importlib.metadata.distribution("example-robot-data")
    except importlib.metadata.PackageNotFoundError:
        return []
    folder = Path(str(package.locate_file("cmeel.prefix/share/example-robot-data/robots")))
    return sorted(path for path in folder.rglob("*.urdf") if path.name != "ur3.urdf")


TENTH = ("a1", "iris_simple", "kinova", "panda", "simple_humanoid", "tiago_no_hand", "ur5_robot")
"""Files whose joints are of every kind: an arm, legs, both; wheels; hands that mimic; one that does not move."""


def tenth(paths):
    """As parameters: a tenth of the files in every run, all others with the slow tests. Many are of one family."""
    return [path if path.stem in TENTH else pytest.param(path, marks=pytest.mark.slow) for path in paths]


def few(values, count):
    """As parameters: the first ones in every run, all others with the slow tests."""
    return [*values[:count], *(pytest.param(value, marks=pytest.mark.slow) for value in values[count:])]


def later(values, *slow):
    """As parameters: these with the slow tests, all others in every run."""
    return [pytest.param(value, marks=pytest.mark.slow) if value in slow else value for value in values]


# ---- states --------------------------------------------------------------------------------------------


def random_states(robot, count, seed=0):
    """q (within a turn, slides within 0.5 m), qd and qdd, each of shape (count, nv)."""
    rng = np.random.default_rng(seed)
    reach = np.array([math.pi if joint.kind == "revolute" else 0.5 for joint in robot.moving_joints])
    shape = (count, robot.nv)
    return rng.uniform(-1, 1, shape) * reach, rng.uniform(-2, 2, shape), rng.uniform(-5, 5, shape)


def friction_of(robot, qd):
    """Viscous and Coulomb loss by Khalil (31), sign(0) = 0, written from the definition."""
    loss = np.zeros_like(qd)
    for k, joint in enumerate(robot.moving_joints):
        back = joint.coulomb if joint.coulomb_reverse is None else joint.coulomb_reverse
        rate = qd[..., k]
        loss[..., k] = joint.viscous * rate + np.where(rate > 0, joint.coulomb, np.where(rate < 0, -back, 0.0))
    return loss


def rotors_of(robot):
    """Rotor inertia of every coordinate."""
    return np.array([joint.rotor_inertia for joint in robot.moving_joints])
