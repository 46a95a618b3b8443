"""Parallel robots for tests: states that their legs allow, and seeded random machines."""

import dataclasses
import functools
import warnings

import numpy as np

from neuler import Frame, Joint, Leg, Link, Robot, Transform, parallel_robot, robots
from neuler.quantities.catalogue import recipe
from random_robots import random_link, random_transform

NAMES = ("gough_stewart", "delta", "planar_3rrr", "orthoglide")
FREEDOMS = {"gough_stewart": 6, "delta": 3, "orthoglide": 3, "planar_3rrr": 3}
TURNS = {"gough_stewart": (0, 1, 2), "delta": (), "orthoglide": (), "planar_3rrr": (2,)}
"""About which axes of its own the platform turns."""
SHIFTS = {"gough_stewart": (0, 1, 2), "delta": (0, 1, 2), "orthoglide": (0, 1, 2), "planar_3rrr": (0, 1)}
REACH = {"gough_stewart": (0.15, 0.2), "delta": (0.1, 0), "orthoglide": (0.07, 0), "planar_3rrr": (0.07, 0.25)}
"""m and rad by which states differ from the reference."""


@functools.cache
def machine(name):
    return robots.get(name)


@functools.cache
def by_motors(robot):
    """The same robot with the velocities of its motors as its own."""
    return robot.replace(independent=None)


@functools.cache
def unguided(robot):
    """The same robot with a platform that only the legs hold, a free link, and its motors' velocities as its own."""
    plate = robot.moving_joints[0]
    joints = [dataclasses.replace(plate, kind="free", role="passive"), *robot.joints[1:]]
    reference = np.array(robot.mobility.reference)
    where = [*pose(robot, reference), *reference[plate.nq :]]
    return robot.replace(joints=joints, reference=where, independent=None)


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


def place(robot, q):
    """The numbers of q that are the platform's."""
    return np.asarray(q)[..., : robot.moving_joints[0].nq]


def pose(robot, q):
    """x, y, z and quaternion of the platform, whatever its joint counts."""
    given, kind = place(robot, q), robot.moving_joints[0].kind
    if kind == "free":
        return given
    still = np.zeros_like(given)
    if kind == "translation":
        return np.concatenate([given, quaternion(still)], axis=-1)
    turn = np.stack([still[..., 0], still[..., 0], given[..., 2]], axis=-1)
    return np.concatenate([given[..., :2], still[..., :1], quaternion(turn)], axis=-1)


def screw(robot, q, qd, qdd):
    """Velocity and acceleration of the platform as screws in its own frame, from those of its joint."""
    kind = robot.moving_joints[0].kind
    qd, qdd = (x[..., : robot.moving_joints[0].nv] for x in (qd, qdd))
    if kind == "free":
        return qd, qdd
    still = np.zeros((*qd.shape[:-1], 3))
    if kind == "translation":
        return tuple(np.concatenate([x, still], axis=-1) for x in (qd, qdd))
    back = np.swapaxes(matrix(pose(robot, q)[..., 3:]), -1, -2)
    (v, w), (a, e) = ((np.array(still), np.array(still)) for _ in range(2))
    v[..., :2], w[..., 2], a[..., :2], e[..., 2] = qd[..., :2], qd[..., 2], qdd[..., :2], qdd[..., 2]
    v, a = (np.einsum("...ij,...j->...i", back, x) for x in (v, a))
    return np.concatenate([v, w], axis=-1), np.concatenate([a - np.cross(w, v), e], axis=-1)


def poses(name, count, seed=0):
    """Reachable positions of a machine's platform, as its joint counts them."""
    rng = np.random.default_rng(seed)
    found = np.tile(place(machine(name), machine(name).reference), (count, 1))
    way, turn = REACH[name]
    found[:, list(SHIFTS[name])] += rng.uniform(-way, way, (count, len(SHIFTS[name])))
    vectors = np.zeros((count, 3))
    vectors[:, list(TURNS[name])] = rng.uniform(-turn, turn, (count, len(TURNS[name])))
    if name == "gough_stewart":
        found[:, 3:] = quaternion(vectors)
    elif name == "planar_3rrr":
        found[:, 2] = vectors[:, 2]
    return found


def speeds(name, count, seed=0, size=1.0):
    """Velocities or accelerations of the platform's joint, (count, nv)."""
    return np.random.default_rng(seed).uniform(-size, size, (count, machine(name).nv))


def states(name, count, seed=0):
    """q, qd and qdd."""
    q = machine(name).inverse_kinematics(poses(name, count, seed)).q
    return q, speeds(name, count, seed + 1), speeds(name, count, seed + 2, 5.0)


def motor_numbers(robot):
    """Of the motors in the velocities of the tree."""
    names = [joint.name for joint in robot.tree.moving_joints for _ in range(joint.nv)]
    return [names.index(name) for name in robot.active_names]


def motor_positions(robot):
    """Of the motors in q."""
    names = [joint.name for joint in robot.moving_joints for _ in range(joint.nq)]
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
        q += [np.arctan2(-s[1], s[2]), np.arctan2(s[0], np.hypot(s[1], s[2])), np.linalg.norm(s)]
    return np.array(q)


def planar_of_legs(foot=None, names=("crank", "rod", "motor")):
    """The planar machine of the catalogue leg by leg; each stands on a link ``foot``, its parts are called as told."""
    robot, foot = machine("planar_3rrr"), foot or Link("base")
    links, legs, (first, second, motor) = {link.name: link for link in robot.links}, [], names
    for k, shaft, knee in zip(range(3), robot.joints[1::2], robot.joints[2::2], strict=True):
        bodies = [
            foot,
            dataclasses.replace(links[f"leg{k + 1}.crank"], name=first),
            dataclasses.replace(links[f"leg{k + 1}.rod"], name=second),
        ]
        joints = [
            dataclasses.replace(shaft, name=motor, parent=foot.name, child=first),
            dataclasses.replace(knee, name="knee", parent=first, child=second),
        ]
        end = Frame("end", second, Transform(translation=(0.4, 0.0, 0.0)))
        seat = Transform.rot_z(2 * np.pi * k / 3) @ Transform(translation=(0.15, 0.0, 0.0))
        chain = Robot("chain", bodies, joints, frames=[end])
        legs.append(Leg(f"leg{k + 1}", chain, "end", "revolute", seat, (np.arctan2(0.8, -0.6), np.pi / 2)))
    return parallel_robot("planar_3rrr", links["platform"], legs, robot.gravity, joint="planar")


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
    return parallel_robot(f"random{seed}", random_link(rng, "plate"), legs, pull, reference)


@functools.cache
def random_machine(kinds, lacking, motors):
    """The first seeded machine of this kind that is not near a singular pose at its reference."""
    for seed in range(100):
        robot = _random(seed, kinds, lacking, motors)
        facts = robot.mobility
        if not sum(lacking) and robot.independent is None:  # a leg turns about its tip while the platform stands
            continue
        if facts.driven == facts.freedoms == 6 - sum(lacking):
            (joints,), (held,) = recipe(robot, "singularity").trace({"q": list(facts.reference)})
            if joints > 0.1 and held > 0.01:
                return robot
    raise AssertionError("no regular machine found")


def random_states(robot, count, seed=0, size=0.01):
    """q, qd, qdd of the robot, and the velocities and accelerations of the motors behind them that decide all."""
    rng = np.random.default_rng(seed)
    motors = by_motors(robot)
    names = [joint.name for joint in motors.moving_joints for _ in range(joint.nq)]
    here = np.array(motors.mobility.reference)[[names.index(name) for name in motors.mobility.independent]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # some are beyond a singular pose, and so beyond reach
        found = motors.assemble(here + rng.uniform(-size, size, (4 * count, len(here))))
    q = found.q[found.closed][:count]
    assert len(q) == count
    qd, qdd = rng.uniform(-1, 1, (count, len(here))), rng.uniform(-5, 5, (count, len(here)))
    if robot.independent is None:
        return q, qd, qdd, qd, qdd
    rates, accelerations = motors.tree_motion(q, qd, qdd)
    return q, rates[:, :6], accelerations[:, :6], qd, qdd
