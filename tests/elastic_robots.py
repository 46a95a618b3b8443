"""Robots with rigid and elastic drives whose controllers need no derivatives of torques."""

import functools

import numpy as np

from neuler import Joint, Motor, Robot
from random_robots import _unit, random_link, random_transform


@functools.cache
def mixed(seed, friction=True):
    """A random chain with a branch: rigid drives inwards, elastic ones outwards, their motors on links inwards."""
    rng = np.random.default_rng([41, seed])
    kinds = ["revolute", "revolute", "prismatic", "revolute", "revolute"]
    parents = ["base", "link1", "link2", "link3", "link2"]
    links, joints, motors = [random_link(rng, "base")], [], []
    for k, (kind, parent) in enumerate(zip(kinds, parents, strict=True), start=1):
        links.append(random_link(rng, f"link{k}"))
        loss = {"viscous": rng.uniform(0.1, 1.0)} if friction else {}
        joints.append(Joint(f"joint{k}", kind, parent, f"link{k}", random_transform(rng), _unit(rng), **loss))
        spring = {"stiffness": rng.uniform(100, 400)} if k > 3 else {}
        loss = {"viscous": rng.uniform(1e-4, 1e-3)} if friction else {}
        carrier = f"link{int(rng.integers(2, 4))}" if k > 3 else "base"
        inertia = rng.uniform(1e-4, 1e-3, 3)
        motors.append(
            Motor(f"motor{k}", f"joint{k}", float(rng.uniform(5, 40)), carrier=carrier, axis=_unit(rng),
                  inertia=inertia, mass=0.3, position=rng.uniform(-0.1, 0.1, 3), **loss, **spring)
        )  # fmt: skip
    return Robot(f"mixed{seed}", links, joints, gravity=9.81 * _unit(rng), motors=motors)
