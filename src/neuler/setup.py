"""What every recipe starts from: the robot in canonical form, operands for coordinates and wrenches."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence

from neuler.algebra.screw import Wrench, pair
from neuler.compiler.graph import Scalar
from neuler.compiler.llvm import Operand
from neuler.errors import InputError, RobotError
from neuler.passes.canonical import canonical
from neuler.passes.fuse import fuse
from neuler.passes.regroup import regroup
from neuler.passes.tree import Tree
from neuler.recursions import frames
from neuler.robot import Robot

Values = Mapping[str, list[Scalar]]


@functools.lru_cache(maxsize=64)
def whole_tree(robot: Robot) -> Tree:
    """Canonical frames, every link a body of its own."""
    return canonical(robot)


@functools.lru_cache(maxsize=64)
def fused_tree(robot: Robot) -> Tree:
    """Canonical frames, fixed links fused."""
    return canonical(fuse(robot))


@functools.lru_cache(maxsize=64)
def grouped_tree(robot: Robot) -> Tree:
    """Fused, with regrouped inertial parameters: for joint forces and accelerations."""
    return regroup(fused_tree(robot))


def coordinates(robot: Robot, *names: str) -> tuple[Operand, ...]:
    """An operand a name, one number a coordinate."""
    if not robot.nv:
        raise RobotError(f"robot {robot.name!r} has no joint that moves: it has no coordinates to compute with")
    return tuple(Operand(name, (robot.nv,)) for name in names)


def named(robot: Robot, external: str | Iterable[str]) -> tuple[str, ...]:
    """The frames that external wrenches act on; unknown names and repetitions are refused."""
    chosen = (external,) if isinstance(external, str) else tuple(external)
    for name in chosen:
        robot.locate(name)
    if len(set(chosen)) != len(chosen):
        raise InputError(f"external: a frame is named twice in {chosen}")
    return chosen


def wrench_inputs(chosen: Sequence[str]) -> tuple[Operand, ...]:
    """An operand a frame: (force; moment) in the frame's axes at its origin."""
    return tuple(Operand(f"wrench_{name}", (6,)) for name in chosen)


def loads(tree: Tree, chosen: Sequence[str], values: Values) -> dict[int, list[Wrench]]:
    """The wrenches by body, in canonical frames."""
    found: dict[int, list[Wrench]] = {}
    for name in chosen:
        number, placement = tree.frames[name]
        found.setdefault(number, []).append(frames.wrench_from(placement, pair(values[f"wrench_{name}"])))
    return found
