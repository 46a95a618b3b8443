"""Seeded random trees with motors on random links, and the same trees with rotors as bodies of their own."""

import functools

import numpy as np

from neuler import Joint, Link, Motor, Robot, Transform
from random_robots import _unit, random_link, random_transform

SEEDS = range(8)


def random_tree(rng, joints):
    """Revolute and prismatic joints, one of them fixed, with branches; every link has mass."""
    links, made = [random_link(rng, "base")], []
    for k in range(1, joints + 1):
        parent = k - 1 if rng.random() < 0.7 else int(rng.integers(0, k))
        kind = "fixed" if k == joints // 2 else str(rng.choice(["revolute", "revolute", "prismatic"]))
        links.append(random_link(rng, f"link{k}"))
        made.append(
            Joint(
                f"joint{k}", kind, f"link{parent}" if parent else "base", f"link{k}", random_transform(rng), _unit(rng)
            )
        )
    return Robot("random", links, made, gravity=9.81 * _unit(rng))


def _motor(rng, name, joint, ratio, carrier, **more):
    """Round about its axis: then its rotor may as well be a body that turns."""
    across, about = rng.uniform(1e-4, 1e-3, 2)
    return Motor(
        name, joint, ratio, carrier=carrier, axis=_unit(rng), inertia=(across, across, about), mass=rng.uniform(0.1, 1),
        position=rng.uniform(-0.2, 0.2, 3), **more,
    )  # fmt: skip


@functools.cache
def motor_robot(seed, elastic=True, carriers="any", transmission=True):
    """A motor for most joints, on any link or on the antecedent; two joints share two motors; some have springs."""
    rng = np.random.default_rng([31, seed])
    robot = random_tree(rng, 6)
    names, motors = list(robot.joint_names), []
    parents = {joint.name: joint.parent for joint in robot.joints}
    place = lambda name: parents[name] if carriers == "antecedent" else str(rng.choice(robot.link_names))  # noqa: E731
    spring = lambda: {"stiffness": rng.uniform(50, 500), "damping": rng.uniform(0, 2)}  # noqa: E731
    if transmission:
        first, second = names.pop(1), names.pop(2)
        rows = rng.uniform(-60, 60, (2, 2))
        for k, name in enumerate((first, second)):
            ratio = {first: rows[k, 0], second: rows[k, 1]}
            more = spring() if elastic and k == 0 else {}
            motors.append(_motor(rng, f"shared{k}", name, ratio, place(name), **more))
    for k, name in enumerate(names[:-1]):
        more = spring() if elastic and k % 2 else {}
        ratio = float(rng.choice([-1, 1]) * rng.uniform(5, 100))
        motors.append(_motor(rng, f"motor{k}", name, ratio, place(name), **more))
    return robot.replace(name=f"motors{seed}", motors=motors)


def theta_places(robot):
    """By joint: the number of the coordinate that its motors turn, theta or q."""
    names = list(robot.joint_names)
    return {
        name: names.index(f"{name}.motor" if f"{name}.motor" in names else name) for name in names if "." not in name
    }


def transmission(robot):
    """Rotor speeds by qd."""
    places, found = theta_places(robot), np.zeros((len(robot.motors), robot.nv))
    for k, motor in enumerate(robot.motors):
        for name, ratio in motor.ratios.items():
            found[k, places[name]] += ratio
    return found


def explicit(robot):
    """The tree with a link for every rotor on a hinge of its own: joints first, then rotors."""
    links, joints = list(robot.links), list(robot.joints)
    for motor in robot.motors:
        z = np.array(motor.axis)
        x = np.cross(z, (1.0, 0, 0) if abs(z[0]) < 0.7 else (0, 1.0, 0))
        x /= np.linalg.norm(x)
        seat = Transform(np.array([x, np.cross(z, x), z]).T, motor.position)
        links.append(Link.from_com(motor.name, mass=motor.mass, inertia=motor.inertia))
        joints.append(Joint(motor.name, "revolute", motor.carrier, motor.name, seat))
    return Robot("explicit", links, joints, robot.gravity)


def springs(robot, q, qd):
    """Forces that hold the springs, along every velocity."""
    at, found = {entry.name: (entry.q.start, entry.v.start) for entry in robot.coordinates}, np.zeros_like(qd)
    for motor in robot.motors:
        if motor.elastic:
            (p, v), (p_link, v_link) = at[f"{motor.joint}.motor"], at[motor.joint]
            e = motor.stiffness * (q[..., p] - q[..., p_link]) + motor.damping * (qd[..., v] - qd[..., v_link])
            found[..., v] += e
            found[..., v_link] -= e
    return found


def motor_states(robot, count=4, seed=0):
    """q, qd, qdd."""
    rng = np.random.default_rng([9, seed])
    return (
        rng.uniform(-2, 2, (count, robot.nq)),
        rng.uniform(-2, 2, (count, robot.nv)),
        rng.uniform(-4, 4, (count, robot.nv)),
    )
