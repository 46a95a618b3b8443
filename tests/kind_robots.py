"""Seeded random trees over every kind of joint that moves, free and spherical ones anywhere among them."""

import functools

import numpy as np

from neuler import Frame, Joint, Robot
from random_robots import _unit, random_link, random_transform

KINDS = ("revolute", "prismatic", "helical", "spherical", "planar", "translation", "free", "fixed")
SEEDS = range(12)


@functools.cache
def kind_robot(seed, joints=6, kinds=KINDS):
    """Every link has mass; drives where a kind may have them."""
    rng = np.random.default_rng([77, seed])
    parents = [0] + [k if rng.random() < 0.7 else int(rng.integers(0, k + 1)) for k in range(1, joints)]
    chosen = [kinds[(seed + 3 * k) % len(kinds)] if k < 3 else str(rng.choice(kinds)) for k in range(joints)]
    links, made = [random_link(rng, "base")], []
    for k, (parent, kind) in enumerate(zip(parents, chosen, strict=True), start=1):
        links.append(random_link(rng, f"link{k}"))
        more = {}
        if kind in ("revolute", "prismatic", "helical"):
            more = {"rotor_inertia": rng.uniform(0.01, 0.5), "viscous": rng.uniform(0.1, 1.0)}
            if rng.random() < 0.5:
                more |= {"stiffness": rng.uniform(1.0, 5.0), "rest": 0.2, "role": "driven"}
        if kind in ("spherical", "translation"):
            more = {"viscous": rng.uniform(0.1, 1.0)}
        if kind == "helical":
            more["pitch"] = rng.uniform(-0.3, 0.3)
        if kind != "free" and rng.random() < 0.2 and "role" not in more:
            more["role"] = "passive"
        placement, axis = random_transform(rng), tuple(_unit(rng))
        made.append(Joint(f"joint{k}", kind, links[parent].name, f"link{k}", placement, axis, **more))
    frames = [Frame("tool", links[-1].name, random_transform(rng)), Frame("eye", links[2].name, random_transform(rng))]
    return Robot(f"kinds{seed}", links, made, gravity=9.81 * _unit(rng), frames=frames)


def kind_states(robot, count, seed=0):
    """q, qd, qdd."""
    rng = np.random.default_rng([5, seed])
    shape = (count, robot.nv)
    return robot.random_configuration(rng, count), rng.uniform(-2, 2, shape), rng.uniform(-4, 4, shape)


def plain_losses(robot, q, qd):
    """Viscous friction and springs, from their definitions: what Pinocchio and MuJoCo are not told."""
    found, at, first = np.zeros_like(qd), 0, 0
    for joint in robot.moving_joints:
        found[..., first : first + joint.nv] = joint.viscous * qd[..., first : first + joint.nv]
        if joint.stiffness:
            found[..., first] += joint.stiffness * (q[..., at] - joint.rest)
        at, first = at + joint.nq, first + joint.nv
    return found
