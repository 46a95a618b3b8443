"""The trees that recursions run on, kept with their robot; and joints that may feel no inertia."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from neuler.errors import RobotError
from neuler.passes.canonical import canonical
from neuler.passes.fuse import fuse
from neuler.passes.regroup import regroup
from neuler.passes.tree import Tree
from neuler.passes.weightless import weightless
from neuler.robot import Robot
from neuler.robot.expand import expand
from neuler.robot.inertia_matrix import Samples, owners, sampled, without_inertia
from neuler.robot.value import kept


@kept
def whole_tree(robot: Robot) -> Tree:
    """Canonical frames, every link a body of its own."""
    return _named(canonical(expand(robot)), robot)


def _named(tree: Tree, robot: Robot) -> Tree:
    """With the robot's own links, and what its joints usually feel."""
    return dataclasses.replace(tree, link_names=robot.shown_names, usual=usual_inertias(robot))


@kept
def fused_tree(robot: Robot) -> Tree:
    """Canonical frames, fixed links fused."""
    return _named(canonical(fuse(expand(robot))), robot)


@kept
def grouped_tree(robot: Robot) -> Tree:
    """Fused, with regrouped inertial parameters: for joint forces and accelerations."""
    return regroup(fused_tree(robot))


@kept
def usual_inertias(robot: Robot) -> dict[int, float]:
    """By velocity, for joints that may feel no inertia in some pose: what they feel in others."""
    names = weightless(robot)
    if not names:
        return {}
    usual = sampled(robot).usual
    return {k: float(usual[k]) for k, name in enumerate(owners(robot)) if name in names}


def refuse_inertialess(subject: str, samples: Samples, weak: Sequence[int]) -> None:
    """Joints that move nothing in any of the poses have no direct dynamics; some ``weak`` velocity is among them."""
    if not len(samples.most) or not all(np.isfinite(m).all() for m in samples.matrices):
        return
    found = without_inertia(samples)
    if found is None or found.incomparable or not {samples.names[k] for k in weak} & set(found.joints):
        return
    none = "negative" if found.negative else "no"
    names = ", ".join(map(repr, found.joints))
    if len(found.joints) > 1:
        who = f"the joints {names} move {none} inertia" + (" together, in any pose" if found.together else "")
        remedy = "give the links they carry mass and inertia, or the joints rotor inertia, or fix them"
        if found.together:
            remedy = "give the links between them mass and inertia, one of them a rotor inertia, or fix one"
    elif samples.names.count(found.joints[0]) > 1:
        who = f"joint {names} moves {none} inertia in some direction, in any pose"
        remedy = "give the links it carries mass and inertia about all axes"
    else:
        who = f"joint {names} moves {none} inertia"
        remedy = "give the links it carries mass, or the joint a rotor inertia, or fix it"
    raise RobotError(f"{subject}: {who}, so that accelerations are not defined: {remedy}")


def may_vanish(robot: Robot, quantity: str, told: Sequence[bool]) -> tuple[str, ...]:
    """Joints told their force that feel no inertia in some poses; those that feel none in any pose are refused."""
    asked = [k for k, motion in enumerate(told) if not motion]
    weak = [place for place, k in enumerate(asked) if k in usual_inertias(robot)] if asked else []
    if not weak:
        return ()
    samples = sampled(robot).of(asked)
    refuse_inertialess(f"{quantity} of {robot.name!r}", samples, weak)
    return tuple(dict.fromkeys(samples.names[k] for k in weak))
