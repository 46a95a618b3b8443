"""Parallel robots for tests: states that their legs allow, and seeded random machines."""

import functools
import warnings

import numpy as np

from neuler import Frame, Joint, Leg, Link, ParallelRobot, Robot, Transform, robots
from neuler.recipes.quantities import recipe
from random_robots import random_link, random_transform

NAMES = ("gough_stewart", "delta", "orthoglide", "planar_3rrr")
TURNS = {"gough_stewart": (0, 1, 2), "delta": (), "orthoglide": (), "planar_3rrr": (2,)}
"""About which axes of its own the platform turns."""
SHIFTS = {"gough_stewart": (0, 1, 2), "delta": (0, 1, 2), "orthoglide": (0, 1, 2), "planar_3rrr": (0, 1)}
REACH = {"gough_stewart": (0.15, 0.2), "delta": (0.1, 0), "orthoglide": (0.07, 0), "planar_3rrr": (0.07, 0.25)}
"""m and rad by which states differ from the reference."""


@functools.cache
def machine(name):
    return robots.get(name)


def quaternion(vector):
    """x, y, z, w of a rotation vector."""
    angle = np.linalg.norm(vector, axis=-1, keepdims=True)
    return np.concatenate([vector * np.sinc(angle / (2 * np.pi)) / 2, np.cos(angle / 2)], axis=-1)


def matrix(turn):
    """Rotation matrices of quaternions x, y, z, w."""
    x, y, z, w = np.moveaxis(np.asarray(turn), -1, 0)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.moveaxis(np.array(rows), (0, 1), (-2, -1))


def poses(name, count, seed=0):
    """Reachable poses of a machine's platform, (count, 7)."""
    rng = np.random.default_rng(seed)
    found = np.tile(np.array(machine(name).reference), (count, 1))
    way, turn = REACH[name]
    found[:, list(SHIFTS[name])] += rng.uniform(-way, way, (count, len(SHIFTS[name])))
    vectors = np.zeros((count, 3))
    vectors[:, list(TURNS[name])] = rng.uniform(-turn, turn, (count, len(TURNS[name])))
    found[:, 3:] = quaternion(vectors)
    return found


def screws(name, count, seed=0, size=1.0):
    """Velocities or accelerations of the platform that the legs allow, (count, 6)."""
    rng = np.random.default_rng(seed)
    found = np.zeros((count, 6))
    picked = [*SHIFTS[name], *(3 + k for k in TURNS[name])]
    found[:, picked] = rng.uniform(-size, size, (count, len(picked)))
    return found


def states(name, count, seed=0):
    """q, v and vd."""
    q = machine(name).inverse_kinematics(poses(name, count, seed)).q
    return q, screws(name, count, seed + 1), screws(name, count, seed + 2, 5.0)


def motor_numbers(robot):
    """Of the motors in the velocities of the mechanism's tree."""
    names = [joint.name for joint in robot.mechanism.tree.moving_joints for _ in range(joint.nv)]
    return [names.index(name) for name in robot.active_names]


def motor_positions(robot):
    """Of the motors in q."""
    names = [joint.name for joint in robot.mechanism.tree.moving_joints for _ in range(joint.nq)]
    return [names.index(name) for name in robot.active_names]


def hexapod_legs(base, plate, bodies=None):
    """Of a Gough-Stewart platform with its joints at given points (6, 2) of base and platform.

    The legs have no mass unless ``bodies``, a random generator, gives them some.
    """
    legs = []
    for k, (foot, seat) in enumerate(zip(base, plate, strict=True), start=1):
        names = ("cross", "barrel", "rod")
        links = [Link("base"), *(random_link(bodies, name) if bodies else Link(name) for name in names)]
        place = Transform(translation=(*map(float, foot), 0.0))
        joints = [
            Joint("tilt", "revolute", "base", "cross", place, axis=(1, 0, 0), role="passive"),
            Joint("swing", "revolute", "cross", "barrel", axis=(0, 1, 0), role="passive"),
            Joint("slide", "prismatic", "barrel", "rod"),
        ]
        at = Transform(translation=(*map(float, seat), 0.0))
        legs.append(Leg(f"leg{k}", Robot("leg", links, joints), "rod", "spherical", at, (0.0, 0.0, 1.0)))
    return legs


def hexapod_position(base, plate, pose):
    """q of such a platform by geometry: leg vectors s = p + R b - a; x = sin(swing), -y/z = tan(tilt)."""
    r, at = matrix(pose[3:]), np.asarray(pose[:3])
    q = list(pose)
    for (ax, ay), (bx, by) in zip(base, plate, strict=True):
        s = at + r @ np.array([bx, by, 0.0]) - np.array([ax, ay, 0.0])
        length = np.linalg.norm(s)
        q += [np.arctan2(-s[1], s[2]), np.arcsin(s[0] / length), length]
    return np.array(q)


# ---- random machines ---------------------------------------------------------------------------------------


def _chain(rng, name, count, motors):
    links, joints = [Link("base")], []
    for k in range(count):
        place = Transform.from_rpy(rng.uniform(-0.5, 0.5, 3), rng.uniform(-np.pi, np.pi, 3))
        slides = sum(joint.kind == "prismatic" for joint in joints)
        kind = "prismatic" if not slides and rng.random() < 0.5 else "revolute"
        role = "driven" if k in motors else "passive"
        links.append(random_link(rng, f"link{k}"))
        axis = rng.normal(size=3)
        joints.append(Joint(f"joint{k}", kind, links[-2].name, f"link{k}", place, axis, role=role))
    return Robot(name, links, joints, frames=[Frame("tip", links[-1].name, random_transform(rng))])


def _tip(chain, q):
    """Where the frame 'tip' is, joint by joint: chains have moving joints only."""
    pose = Transform()
    for joint, x in zip(chain.joints, q, strict=True):
        axis = np.array(joint.axis)
        if joint.kind == "prismatic":
            move = Transform(translation=tuple(x * axis))
        else:
            move = Transform(tuple(map(tuple, matrix(quaternion(x * axis)))))
        pose = pose @ joint.placement @ move
    return pose @ chain.locate("tip")[1]


_FREE = {
    "spherical": lambda a: Transform.from_rpy((0, 0, 0), a),
    "universal": lambda a: Transform.rot_x(a[0]) @ Transform.from_rpy((0, 0, 0), (0, a[1], 0)),
    "revolute": lambda a: Transform.rot_z(a[2]),
    "cylindrical": lambda a: Transform.rot_z(a[2], a[0]),
    "planar": lambda a: Transform(Transform.rot_z(a[2]).rotation, (a[0], a[1], 0.0)),
    "fixed": lambda a: Transform(),
}
"""Some position of the platform's joint."""


def _random(seed, kinds, lacking, motors):
    """Legs with the platform's joints ``kinds``, each with ``lacking`` joints fewer than it holds."""
    rng = np.random.default_rng(seed)
    plate = Transform.from_rpy(rng.uniform(-0.5, 0.5, 3), rng.uniform(-0.5, 0.5, 3))
    legs = []
    for k, (kind, fewer, driven) in enumerate(zip(kinds, lacking, motors, strict=True)):
        held = {"fixed": 6, "revolute": 5, "universal": 4, "cylindrical": 4, "spherical": 3, "planar": 3}[kind]
        count = held - fewer
        chosen = rng.choice(count, size=driven, replace=False).tolist()
        chain = _chain(rng, f"leg{k}", count, chosen)
        place = rng.uniform(-1, 1, count)
        tip = _tip(chain, place)
        seat = plate.inverse() @ tip @ _FREE[kind](rng.uniform(-0.8, 0.8, 3))
        legs.append(Leg(f"leg{k}", chain, "tip", kind, seat, place))
    pull = 9.81 * rng.normal(size=3)
    reference = (*plate.translation, *plate.quaternion)
    return ParallelRobot(f"random{seed}", random_link(rng, "plate"), legs, pull, reference)


@functools.cache
def random_machine(kinds, lacking, motors):
    """The first seeded machine of this kind that is not near a singular pose at its reference."""
    for seed in range(100):
        robot = _random(seed, kinds, lacking, motors)
        facts = robot.mechanism.mobility
        if facts.independent and facts.freedoms == 6 - sum(lacking):
            (legs,), (plate,) = recipe(robot, "singularity").trace({"q": list(facts.reference)})
            if legs > 0.1 and plate > 0.01:
                return robot
    raise AssertionError("no regular machine found")


def random_states(robot, count, seed=0, size=0.01):
    """q, v, vd that the legs allow, and the velocities and accelerations behind them of the independent motors."""
    rng = np.random.default_rng(seed)
    mechanism = robot.mechanism
    facts = mechanism.mobility
    names = [joint.name for joint in mechanism.tree.moving_joints for _ in range(joint.nq)]
    here = np.array(facts.reference)[[names.index(name) for name in facts.independent]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # some are beyond a singular pose, and so beyond reach
        found = mechanism.assemble(here + rng.uniform(-size, size, (4 * count, len(here))))
    q = found.q[found.closed][:count]
    assert len(q) == count
    qd, qdd = rng.uniform(-1, 1, (count, len(here))), rng.uniform(-5, 5, (count, len(here)))
    rates, accelerations = mechanism.tree_motion(q, qd, qdd)
    return q, rates[:, :6], accelerations[:, :6], qd, qdd
