"""What every recipe starts from: the robot in canonical form, operands for coordinates and wrenches."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from neuler.algebra import vector as vec
from neuler.algebra.screw import Wrench, pair
from neuler.algebra.vector import Matrix
from neuler.errors import InputError, RobotError
from neuler.passes.canonical import canonical
from neuler.passes.fuse import fuse
from neuler.passes.regroup import regroup
from neuler.passes.tree import Tree
from neuler.passes.weightless import weightless
from neuler.recursions import frames
from neuler.recursions.kinematics import placements
from neuler.recursions.loads import GlobalLoad, in_link_axes, together
from neuler.robot import Robot
from neuler.robot.expand import expand
from neuler.robot.inertia_matrix import Samples, owners, sampled, without_inertia
from neuler.robot.value import kept
from neuler.trace.graph import Scalar
from neuler.trace.recipe import Operand, Recipe

Values = Mapping[str, list[Scalar]]


@dataclass(frozen=True)
class RobotRecipe(Recipe):
    """A recipe of a robot's quantity, and what is to be known of its results."""

    may_vanish: tuple[str, ...] = ()
    """Joints that feel no inertia in some poses, where the results are NaN."""
    open_loops: bool = False
    """Of a machine with loops: meant for positions at which they are open, too."""
    unmarked: bool = False
    """Of a machine with loops: nothing is marked with NaN, the results are numbers at every position."""


@kept
def whole_tree(robot: Robot) -> Tree:
    """Canonical frames, every link a body of its own."""
    return _named(canonical(expand(robot)), robot)


def _named(tree: Tree, robot: Robot) -> Tree:
    """With the robot's own links, and what its joints usually feel."""
    return dataclasses.replace(tree, link_names=robot.link_names, usual=usual_inertias(robot))


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
    names = weightless(expand(robot))
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


def coordinates(robot: Robot, *names: str) -> tuple[Operand, ...]:
    """An operand a name, one number a coordinate."""
    if not robot.nv:
        raise RobotError(f"robot {robot.name!r} has no joint that moves: it has no coordinates to compute with")
    return tuple(Operand(name, (robot.nq if name == "q" else robot.nv,)) for name in names)


def named(robot: Robot, option: str, names: str | Iterable[str]) -> tuple[str, ...]:
    """The frames that an option names; unknown names and repetitions are refused."""
    chosen = (names,) if isinstance(names, str) else tuple(names)
    for name in chosen:
        try:
            robot.locate(name)
        except RobotError as error:
            raise RobotError(f"{option}: {error}") from None
    if len(set(chosen)) != len(chosen):
        raise InputError(f"{option}: a frame is named twice in {chosen}")
    return chosen


@dataclass(frozen=True)
class External:
    """What acts on a robot from outside, by the names of frames: (force; moment) at a frame's origin.

    ``wrenches`` have the frame's own axes and turn with it; ``loads`` have the base's axes.
    """

    wrenches: tuple[str, ...]
    loads: tuple[str, ...]

    @classmethod
    def of(cls, robot: Robot, external: str | Iterable[str], loads: str | Iterable[str]) -> External:
        """From the options ``external`` and ``loads``."""
        return cls(named(robot, "external", external), named(robot, "loads", loads))

    @property
    def names(self) -> tuple[str, ...]:
        """Of the inputs: wrench_tool, load_tool."""
        return (*(f"wrench_{name}" for name in self.wrenches), *(f"load_{name}" for name in self.loads))

    def inputs(self, suffix: str = "") -> tuple[Operand, ...]:
        """An operand a name."""
        return tuple(Operand(name + suffix, (6,)) for name in self.names)

    def fixed(self, tree: Tree, values: Values, suffix: str = "") -> dict[int, list[Wrench]]:
        """The wrenches that turn with their frames, by body, in canonical frames."""
        found: dict[int, list[Wrench]] = {}
        for name in self.wrenches:
            number, placement = tree.frames[name]
            wrench = frames.wrench_from(placement, pair(values[f"wrench_{name}{suffix}"]))
            found.setdefault(number, []).append(wrench)
        return found

    def still(self, tree: Tree, values: Values, suffix: str = "") -> dict[int, list[GlobalLoad]]:
        """The loads that keep their direction, by body, in the axes of the base's canonical frame."""
        found: dict[int, list[GlobalLoad]] = {}
        for name in self.loads:
            number, placement = tree.frames[name]
            force, moment = pair(values[f"load_{name}{suffix}"])
            to_base: Matrix = tree.base.rotation
            load = GlobalLoad(vec.apply(to_base, force), vec.apply(to_base, moment), placement.translation)
            found.setdefault(number, []).append(load)
        return found

    def turned(self, tree: Tree, values: Values, suffix: str = "") -> dict[int, list[GlobalLoad]]:
        """The same in the axes of the canonical frames at q."""
        return in_link_axes(tree, placements(tree, values["q"]), self.still(tree, values, suffix))

    def applied(self, tree: Tree, values: Values) -> dict[int, list[Wrench]]:
        """All of them as wrenches by body, in canonical frames."""
        return together(self.fixed(tree, values), self.turned(tree, values))
