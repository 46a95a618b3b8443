"""What every recipe starts from: the robot in canonical form, operands for coordinates and wrenches."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from neuler.algebra import vector as vec
from neuler.algebra.screw import Wrench, pair
from neuler.algebra.vector import Matrix
from neuler.errors import InputError, RobotError
from neuler.passes.parameters import Parameter, Trees, parametrised
from neuler.passes.tree import Tree
from neuler.passes.trees import fused_tree, grouped_tree, whole_tree
from neuler.recursions import frames
from neuler.recursions.kinematics import placements
from neuler.recursions.loads import GlobalLoad, in_link_axes, together
from neuler.robot import Robot
from neuler.trace.graph import Scalar
from neuler.trace.recipe import Operand, Recipe

Values = Mapping[str, list[Scalar]]


@dataclass(frozen=True)
class RobotRecipe(Recipe):
    """A recipe of a robot's quantity, and what is to be known of its results."""

    may_vanish: tuple[str, ...] = ()
    """Joints that feel no inertia in some poses, where the results are NaN."""
    open_loops: bool = False
    """Of a robot with loops: meant for positions at which they are open, too."""
    unmarked: bool = False
    """Of a robot with loops: nothing is marked with NaN, the results are numbers at every position."""
    parameters: tuple[Parameter, ...] = ()
    """The robot's numbers that are the last input."""
    columns: tuple[Parameter, ...] = ()
    """Of a regressor: the robot's numbers by which its columns are multiplied."""


def coordinates(robot: Robot, *names: str) -> tuple[Operand, ...]:
    """An operand a name, one number a coordinate."""
    if not robot.nv and robot.loops:
        raise RobotError(
            f"robot {robot.name!r} has no degree of freedom: its loops hold every joint. Such a structure has only "
            "closure, upright, constrained_dynamics and assemble"
        )
    if not robot.nv:
        raise RobotError(f"robot {robot.name!r} has no joint that moves: it has no coordinates to compute with")
    sizes = {"q": robot.nq, "tau": robot.nu}
    return tuple(Operand(name, (sizes.get(name, robot.nv),)) for name in names)


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


WRENCHES = {"external": "wrench", "loads": "load"}
"""By option, how the names of its inputs begin: wrench_tool, load_tool."""
PARAMETERS = "parameters"
"""Name of the input that holds a robot's parameters."""
COLUMNS = "columns"
"""The option of regressors that names parameters."""


def trees(robot: Robot, values: Values) -> Trees:
    """The trees that a trace runs on: the robot's own, or with parameters in the place of its numbers."""
    if _CHOSEN not in values:
        return Trees(whole_tree(robot.tree), fused_tree(robot.tree), grouped_tree(robot.tree))
    chosen: Sequence[Parameter] = values[_CHOSEN]  # type: ignore[assignment]
    return parametrised(robot.tree, chosen, values[PARAMETERS])


def has_parameters(values: Values) -> bool:
    """Whether some of the robot's numbers are inputs of a trace."""
    return _CHOSEN in values


_CHOSEN = "parameters chosen"
"""Under it a trace finds which parameters its values are: no name of an input has a space."""


def chosen_by(values: Values) -> Sequence[Parameter]:
    """The parameters that are inputs of a trace."""
    return values.get(_CHOSEN, ())  # type: ignore[return-value]


def choosing(values: Values, chosen: Sequence[Parameter]) -> Values:
    """Values of a trace with what its parameters are."""
    return {**values, _CHOSEN: chosen}  # type: ignore[dict-item]


def with_parameters(robot: Robot, recipe: RobotRecipe, chosen: Sequence[Parameter]) -> RobotRecipe:
    """The same recipe with some of the robot's numbers as one more input, the last."""
    moved = next((each for each in chosen if each.part.startswith("placement")), None)
    if moved is not None and robot.loops:
        raise RobotError(
            f"parameters: {moved.owner!r}.placement: robot {robot.name!r} has loops, which another placement would "
            "open; make a robot for each geometry"
        )

    def trace(values: Values) -> list[list[Scalar]]:
        return list(recipe.trace(choosing(values, chosen)))  # type: ignore[arg-type]

    inputs = (*recipe.inputs, Operand(PARAMETERS, (len(chosen),)))
    return dataclasses.replace(recipe, inputs=inputs, trace=trace, parameters=tuple(chosen))


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
        options = (("external", self.wrenches), ("loads", self.loads))
        return tuple(f"{WRENCHES[option]}_{frame}" for option, frames in options for frame in frames)

    def inputs(self, suffix: str = "") -> tuple[Operand, ...]:
        """An input of six numbers for each of the names, with a suffix to them."""
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
