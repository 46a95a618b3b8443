"""Seeded random trees over every kind of joint that moves, free and spherical ones anywhere among them."""

import dataclasses
import functools

import numpy as np

from neuler import Frame, Joint, Link, Robot
from random_robots import _unit, random_link, random_transform

KINDS = ("revolute", "prismatic", "helical", "spherical", "planar", "translation", "free", "fixed", "spin")
SEEDS = range(12)


@functools.cache
def kind_robot(seed, joints=6, kinds=KINDS):
    """Every link has mass; drives where a kind may have them; what spins carries nothing."""
    rng = np.random.default_rng([77, seed])
    parents = [0] + [k if rng.random() < 0.7 else int(rng.integers(0, k + 1)) for k in range(1, joints)]
    chosen = [kinds[(seed + 3 * k) % len(kinds)] if k < 3 else str(rng.choice(kinds)) for k in range(joints)]
    while any(chosen[parent - 1] == "spin" for parent in parents if parent):
        parents = [parent - (parent > 0 and chosen[parent - 1] == "spin") for parent in parents]
    links, made = [random_link(rng, "base")], []
    for k, (parent, kind) in enumerate(zip(parents, chosen, strict=True), start=1):
        placement, axis = random_transform(rng), tuple(_unit(rng))
        links.append(round_link(rng, f"link{k}", axis) if kind == "spin" else random_link(rng, f"link{k}"))
        more = {}
        if kind == "spin":
            more = {"viscous": rng.uniform(0.1, 1.0), "gear_ratio": rng.uniform(-3.0, 3.0)}
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
        made.append(Joint(f"joint{k}", kind, links[parent].name, f"link{k}", placement, axis, **more))
    whole = [link.name for link, kind in zip(links, ["", *chosen], strict=True) if kind != "spin"]
    frames = [Frame("tool", whole[-1], random_transform(rng)), Frame("eye", whole[2], random_transform(rng))]
    return Robot(f"kinds{seed}", links, made, gravity=9.81 * _unit(rng), frames=frames)


def round_link(rng, name, axis):
    """A body that looks the same however it is turned about an axis of its frame: a rotor."""
    across = rng.uniform(0.1, 0.5)
    about = rng.uniform(0.3, 1.9) * across
    z = np.array(axis)
    inertia = across * np.eye(3) + (about - across) * np.outer(z, z)
    return Link.from_com(name, mass=rng.uniform(0.5, 2.0), com=rng.uniform(-0.3, 0.3) * z, inertia=inertia)


def kind_states(robot, count, seed=0):
    """q, qd, qdd."""
    rng = np.random.default_rng([5, seed])
    shape = (count, robot.nv)
    return robot.random_configuration(rng, count), rng.uniform(-2, 2, shape), rng.uniform(-4, 4, shape)


def hinged(robot):
    """The robot with hinges for the joints that spin; and how often its coordinates turn for one here, by velocity."""
    turns = np.array([joint.turns_per_unit for joint in robot.moving_joints for _ in range(joint.nv)])
    plain = {"kind": "revolute", "gear_ratio": 1.0, "viscous": 0.0}
    joints = [dataclasses.replace(j, **plain) if j.kind == "spin" else j for j in robot.joints]
    return robot.replace(joints=joints), turns


def plain_losses(robot, q, qd):
    """Viscous friction and springs, from their definitions: what Pinocchio and MuJoCo are not told."""
    found, at, first = np.zeros_like(qd), 0, 0
    for joint in robot.moving_joints:
        loss = joint.viscous * joint.turns_per_unit**2  # of a rotor at its own speed
        found[..., first : first + joint.nv] = loss * qd[..., first : first + joint.nv]
        if joint.stiffness:
            found[..., first] += joint.stiffness * (q[..., at] - joint.rest)
        at, first = at + joint.nq, first + joint.nv
    return found
