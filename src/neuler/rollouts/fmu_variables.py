"""Variables of a unit: names, units and what is said of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from neuler.export.fmu.description import Variable
from neuler.export.fmu.model import Layout
from neuler.export.fmu.names import structured
from neuler.passes.parameters import PLACE, Parameter, parse, unit
from neuler.robot import Robot
from neuler.robot.columns import WRENCH
from neuler.rollouts.fmu_recipes import POSE, Recipes

_WHAT = {"q": "position", "qd": "velocity", "qdd": "acceleration", "tau": "force"}


class _Said(NamedTuple):
    """A number before it has a place."""

    parts: tuple[str, ...]
    unit: str
    about: str


def variables(recipes: Recipes, layout: Layout, starts: np.ndarray) -> list[Variable]:
    """All variables, in their places."""
    model = recipes.model
    robot, at = model.robot, layout.places
    solved = at["rates"] < at["poses"]  # by the importer: there are states
    found: list[Variable] = []
    taken: set[str] = set()

    def add(said: _Said, causality: str, derivative: int | None, depends: Sequence[int] | None) -> None:
        name = structured(said.parts, taken)
        taken.add(name)
        start = float(starts[len(found)]) if len(found) < len(starts) else None
        given = None if depends is None else tuple(depends)
        found.append(Variable(name, causality, said.about, said.unit, start, derivative, given))

    positions = range(robot.nq) if solved else ()
    for operand in layout.operands:
        first = len(found)
        if operand.name == "rates":
            _add_rates(found, robot, first if solved else None)
            continue
        for k, said in enumerate(_said(recipes, operand.name)):
            if operand.name in ("q", "qd"):
                add(said, "output", None, [first + k] if solved else [])
            elif operand.name == "qdd":
                add(said, "output", at["qd"] + k if solved else None, None)
            elif operand.name == "poses":
                add(said, "output", None, positions)
            else:
                add(said, "parameter" if operand.name == "parameters" else "input", None, None)
    return found


def _add_rates(found: list[Variable], robot: Robot, first: int | None) -> None:
    """dq/dt, the states' derivatives."""
    if first is None:
        return
    units = robot.coordinates.units("q")
    for k, entry in enumerate(robot.coordinates.owners("q")):
        own = entry.positions if entry.quaternion is not None else ()
        depends = (*own, *(robot.nq + i for i in entry.velocities))
        rate = f"{units[k]}/s" if units[k] else "1/s"
        state = found[k].name
        found.append(Variable(f"der({state})", "local", f"Rate of {state}", rate, None, k, depends))


def _said(recipes: Recipes, operand: str) -> Iterator[_Said]:
    model = recipes.model
    robot = model.robot
    if operand in _WHAT:
        yield from _of_joints(robot, operand)
    elif operand == "parameters":
        for each in parse(robot.mechanism, model.parameters):
            yield _of_parameter(robot, each)
    elif operand == "poses":
        for frame in recipes.frames:
            for name in POSE:
                what = "origin" if name in PLACE else "rotation, row and column"
                yield _Said(("pose", frame, name), "m" if name in PLACE else "", f"Frame {frame!r}: {what} {name}")
    else:
        prefix, _, frame = operand.partition("_")
        axes = "its own axes" if prefix == "wrench" else "the base's axes"
        for name, own in WRENCH:
            yield _Said((prefix, frame, name), own, f"Wrench on frame {frame!r} in {axes}: {name}")


def _of_joints(robot: Robot, operand: str) -> Iterator[_Said]:
    table = robot.coordinates
    what = "qd" if operand == "qdd" else operand
    rows = zip(table.owners(what), table.names(what), table.units(what), strict=True)
    for entry, name, own in rows:
        part = name[len(entry.name) + 1 :]
        parts = (operand, entry.name, part) if part else (operand, entry.name)
        about = f"{_WHAT[operand].capitalize()} of {entry.name!r}{f', {part}' if part else ''}"
        yield _Said(parts, f"{own}^2" if operand == "qdd" else own, about)


def _of_parameter(robot: Robot, each: Parameter) -> _Said:
    owner = {"gravity": ("gravity",), "payload": ("payload", each.owner)}.get(each.of, (each.owner,))
    return _Said(("parameter", *owner, *each.part.split(".")), unit(robot, each), f"Parameter {each.name!r}")
