"""The part of a report in which joints are moved: what its WebAssembly computes, and what its sliders reach."""

import base64
import json
import re

import numpy as np
import pytest

import neuler
from neuler import Robot
from neuler.view.live import live, page_script
from neuler.view.scene import Scene
from shown_robots import HOSTILE, all_kinds, at, bar, elastic, geared, under_actuated

pytest.importorskip("wasmtime")

from wasm_modules import Instance


def data_of(robot):
    found = re.search(r'<script type="application/json" id="live-data">(.*?)</script>', live(robot), re.DOTALL)
    return json.loads(found[1])


def numbers(text):
    return np.frombuffer(base64.b64decode(text), "<f8")


def computed(robot, data, states):
    """Poses of bodies (states, bodies, 9), and forces."""
    instance = Instance(base64.b64decode(data["wasm"]))
    first, bodies, width = robot.nq, 9 * data["bodies"], len(data["rows"])
    poses, forces = [], []
    for q in states:
        place = [instance.start + 8 * k for k in (0, first, first + bodies)]
        instance.memory.write(instance.store, np.asarray(q, dtype=float).tobytes(), place[0])
        instance.exports["run"](instance.store, *place)
        read = bytes(instance.memory.read(instance.store, place[1], place[2] + 8 * width))
        poses.append(np.frombuffer(read)[:bodies].reshape(-1, 9))
        forces.append(np.frombuffer(read)[bodies:])
    return np.array(poses), np.array(forces)


def moved(robot, data, count=5):
    """Positions that sliders reach."""
    if data["path"]:
        return numbers(data["path"]).reshape(-1, robot.nq)[:: 60 // count]
    rng, states = np.random.default_rng(0), np.tile(robot.neutral(), (count, 1))
    for row in data["rows"]:
        if "lower" in row:
            states[:, row["place"]] = rng.uniform(row["lower"], row["upper"], count)
    return states


ROBOTS = [
    ("puma560", "gravity_force"), (all_kinds(), "gravity_force"), (elastic(), "gravity_force"),
    (geared(), "gravity_force"), ("four_bar", "inverse_dynamics"), (under_actuated(), "gravity_force"),
]  # fmt: skip


@pytest.mark.parametrize(("robot", "quantity"), ROBOTS, ids=lambda x: getattr(x, "name", x))
def test_what_it_computes(robot, quantity):
    robot = neuler.robots.get(robot) if isinstance(robot, str) else robot
    data = data_of(robot)
    states = moved(robot, data)
    poses, forces = computed(robot, data, states)
    every = np.asarray(robot.link_poses(states))[:, list(Scene.of(robot).links), :3, :]
    np.testing.assert_allclose(poses, np.concatenate([every[..., k] for k in (3, 0, 1)], axis=-1), atol=1e-12)
    still = np.zeros((len(states), robot.nv))
    given = (states, still, still) if quantity == "inverse_dynamics" else (states,)
    wanted = np.asarray(getattr(robot, quantity)(*given))
    assert np.isfinite(wanted).all()
    np.testing.assert_allclose(forces, wanted, rtol=1e-11, atol=1e-12)


def test_how_far_sliders_go():
    """Limits of joints; half a turn where there are none; none for a ball and for what floats."""
    rows = data_of(all_kinds())["rows"]
    assert [row["name"] for row in rows[:4]] == ["cart x", "cart y", "cart angle", "hip_mx"]
    assert [("lower" in row) for row in rows[2:6]] == [True, False, False, False]
    puma = neuler.robots.puma560()
    for row, joint in zip(data_of(puma)["rows"], puma.moving_joints, strict=True):
        limits = joint.limits
        assert -np.pi <= row["lower"] < row["upper"] <= np.pi or (row["lower"], row["upper"]) == (
            limits.lower, limits.upper,
        )  # fmt: skip
    free = data_of(neuler.robots.two_link().with_free_base())["rows"]
    assert [("lower" in row) for row in free] == [False] * 6 + [True] * 2
    closed = data_of(neuler.robots.four_bar())
    assert not any("lower" in row for row in closed["rows"])
    assert len(numbers(closed["path"])) == 61 * neuler.robots.four_bar().nq


def test_limits_of_force_and_names():
    joint = neuler.Joint(
        HOSTILE, "revolute", "base", "a", at(0.1), axis=(0, 1, 0), limits=neuler.Limits(-0.5, 0.25, effort=12.0)
    )
    robot = Robot(HOSTILE, [neuler.Link("base"), bar("a")], [joint])
    (row,) = data_of(robot)["rows"]
    assert (row["lower"], row["upper"], row["limit"], row["name"]) == (-0.5, 0.25, 12.0, HOSTILE)
    assert HOSTILE not in live(robot)


def test_it_is_small():
    """A few 10 kB for an arm, and nothing for a robot that does not move."""
    assert len(live(neuler.robots.puma560())) + len(page_script()) < 56_000
    still = Robot("still", [neuler.Link("base"), bar("a")], [neuler.Joint("weld", "fixed", "base", "a")])
    assert live(still) == ""
