"""Robots with free links and springs, their states, and a Runge-Kutta method on their configurations."""

import dataclasses
import functools

import numpy as np

from neuler import Joint, Robot
from random_robots import random_link, random_robot, random_transform


@functools.cache
def floating(seed, joints=None):
    """A random tree on a free base."""
    return random_robot(seed, joints).with_free_base()


def smooth(robot):
    """Without friction: what conserves energy."""
    return robot.without_friction()


@functools.cache
def several(seed):
    """Two free bodies, one carrying a joint, beside an arm that stands on the base; one seat is turned and shifted."""
    rng = np.random.default_rng(seed)
    links = [random_link(rng, name) for name in ("base", "arm", "shelf", "first", "second", "hand")]
    joints = [
        Joint("shoulder", "revolute", "base", "arm", random_transform(rng), axis=(1.0, 2.0, -0.5), viscous=0.3),
        Joint("screws", "fixed", "base", "shelf", random_transform(rng)),
        Joint("fly1", "free", "shelf", "first", random_transform(rng)),
        Joint("fly2", "free", "base", "second"),
        Joint("wrist", "prismatic", "second", "hand", random_transform(rng), axis=(0.0, 1.0, 1.0), rotor_inertia=0.2),
    ]
    return Robot(f"several{seed}", links, joints, gravity=(1.0, -2.0, -9.0))


@functools.cache
def springy(seed, free=False):
    """A random tree whose joints are driven, passive or elastic at random, some driven ones with springs too."""
    rng = np.random.default_rng(1000 + seed)
    robot = random_robot(seed)
    joints = []
    for joint in robot.joints:
        changes = {}
        if joint.moves:
            role = str(rng.choice(["driven", "passive", "elastic"]))
            changes["role"] = role
            if role == "elastic" or rng.random() < 0.3:
                changes |= {"stiffness": rng.uniform(1.0, 200.0), "rest": rng.uniform(-0.5, 0.5)}
        joints.append(dataclasses.replace(joint, **changes))
    robot = robot.replace(joints=joints)
    return robot.with_free_base() if free else robot


def hard(robot):
    """The same robot without springs."""
    joints = [
        dataclasses.replace(joint, stiffness=0.0, role="passive" if joint.role == "elastic" else joint.role)
        for joint in robot.joints
    ]
    return robot.replace(joints=joints)


def springs(robot):
    """Stiffness and rest of every velocity, and the number of its position (of no meaning for free joints)."""
    rows, position = [], 0
    for joint in robot.moving_joints:
        rows += [(joint.stiffness, joint.rest, position)] * joint.nv
        position += joint.nq
    stiffness, rest, where = (np.array(column) for column in zip(*rows, strict=True))
    return stiffness, rest, where.astype(int)


def given_motion(robot):
    """Of each velocity whether hybrid_dynamics is told its acceleration by default."""
    return np.array([joint.role == "driven" for joint in robot.moving_joints for _ in range(joint.nv)])


def states(robot, count, seed=0):
    """q, qd and qdd."""
    rng = np.random.default_rng(seed)
    shape = (count, robot.nv)
    return robot.random_configuration(rng, count), rng.uniform(-2, 2, shape), rng.uniform(-5, 5, shape)


def dense_hybrid(mass, bias, given, told):
    """Khalil (68), (71) and (83)-(87), solved with matrices: accelerations that nobody told, then all forces."""
    free = ~told
    found = np.empty_like(given)
    qdd = np.where(told, given, 0.0)
    if free.any():
        right = given[free] - bias[free] - mass[np.ix_(free, told)] @ given[told]
        qdd[free] = np.linalg.solve(mass[np.ix_(free, free)], right)
    force = mass @ qdd + bias
    found[told], found[free] = force[told], qdd[free]
    return found


# ---- motion --------------------------------------------------------------------------------------------


def bracket(robot, u, v):
    """[u, v] of velocities: of screws in a link's own frame (w_u x v_v + v_u x w_v; w_u x w_v), else zero."""
    found, first = np.zeros(np.broadcast_shapes(u.shape, v.shape)), 0
    for joint in robot.moving_joints:
        if joint.kind == "free":
            (a, b), (c, d) = ((x[..., first : first + 3], x[..., first + 3 : first + 6]) for x in (u, v))
            found[..., first : first + 3] = np.cross(b, c) + np.cross(a, d)
            found[..., first + 3 : first + 6] = np.cross(b, d)
        first += joint.nv
    return found


def step(robot, acceleration, time, q, v, h):
    """One step of Munthe-Kaas' Runge-Kutta method of fourth order: q = q exp(u), u' = v + [u, v]/2 + [u, [u, v]]/12."""
    du, dv, total_u, total_v = 0.0 * v, 0.0 * v, 0.0, 0.0
    for part, weight in ((0.0, 1.0), (0.5, 2.0), (0.5, 2.0), (1.0, 1.0)):
        u, w = part * h * du, v + part * h * dv
        once = bracket(robot, u, w)
        du = w + once / 2 + bracket(robot, u, once) / 12
        dv = acceleration(time + part * h, robot.integrate(q, u, 1.0), w)
        total_u, total_v = total_u + weight * du, total_v + weight * dv
    return robot.integrate(q, h / 6 * total_u, 1.0), v + h / 6 * total_v


def simulate(robot, acceleration, q, v, duration, steps):
    """(q, v) after ``duration``; ``acceleration`` takes time, q and v."""
    h = duration / steps
    for k in range(steps):
        q, v = step(robot, acceleration, k * h, q, v, h)
    return q, v


def motion(robot, seed=0):
    """A motion through t = 0: t -> (q, v, a, jerk, snap). The velocity's components are cubic in time.

    For |t| up to 3 ms, which four steps cross with errors below rounding.
    """
    rng = np.random.default_rng(seed)
    start = robot.random_configuration(rng)
    v, a, j, s = (rng.uniform(-1.5, 1.5, robot.nv) for _ in range(4))

    def acceleration(t, *_):
        return a + t * (j + t / 2 * s)

    def at(t):
        q, _ = simulate(robot, acceleration, start, v, t, 4)
        return q, v + t * (a + t / 2 * (j + t / 3 * s)), acceleration(t), j + t * s, s

    return at
