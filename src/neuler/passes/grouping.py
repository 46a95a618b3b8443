"""Khalil's regrouping as a linear map: what the parameters of a tree's bodies are made of after ``regroup``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuler.passes.parameters import TEN, Parameter, parametrised
from neuler.passes.regroup import zero_pose
from neuler.passes.tree import PRISMATIC, REVOLUTE, Body, Tree
from neuler.robot import Robot
from neuler.trace.differentiate import jacobian
from neuler.trace.graph import Graph, Scalar

PARTS = (*TEN, "rotor_inertia")
"""Of a body: its ten in its canonical frame, and the rotor inertia of its joint."""


class Grouping(NamedTuple):
    """What is left on the bodies of a tree, by rows: (body, part) and factors of the robot's parameters."""

    rows: tuple[tuple[int, str], ...]
    matrix: NDArray[np.float64]
    """(rows, parameters)."""
    tree: Tree
    """The regrouped tree, over symbols of the parameters."""


def grouping(robot: Robot, parameters: Sequence[Parameter]) -> Grouping:
    """The map of ``regroup`` for a tree's parameters, without rows that are zero.

    >>> import neuler
    >>> from neuler.passes.parameters import parse
    >>> robot = neuler.robots.two_link().mechanism
    >>> found = grouping(robot, parse(robot, "links"))
    >>> ("zz" in [part for _, part in found.rows], found.matrix.shape[1])
    (True, 30)
    """
    numbers = Graph().inputs("parameters", len(parameters))
    tree = parametrised(robot, parameters, numbers).grouped
    places = [(body, part) for body in range(1, len(tree.bodies)) for part in PARTS]
    entries = jacobian([parts_of(tree.bodies[body])[PARTS.index(part)] for body, part in places], numbers)
    matrix = np.zeros((len(places), len(parameters)))
    for (i, k), x in entries.items():
        assert isinstance(x, float), "regrouping is linear"
        matrix[i, k] = x
    every = turning(tree)
    for number in range(len(tree.bodies) - 1, 0, -1):
        axes, body = every[number], tree.bodies[number]
        own = slice(len(PARTS) * (number - 1), len(PARTS) * (number - 1) + len(TEN))
        if body.sigma == REVOLUTE and _across_z(every[body.antecedent], body):  # its rotor turns as the link does
            matrix[own.start + TEN.index("zz")] += matrix[own.stop]
            matrix[own.stop] = 0.0
        if body.sigma == PRISMATIC and not body.antecedent and _level(tree, body):  # and slides as it does
            matrix[own.start] += matrix[own.stop]
            matrix[own.stop] = 0.0
        if axes is None:
            continue
        matrix[own] = _seen(axes) @ matrix[own]
        if body.sigma == PRISMATIC and body.antecedent and len(axes) and _along_z(axes):  # it slides along the axis
            below = len(PARTS) * (body.antecedent - 1)
            moment = slice(own.start + 1, own.start + 4)
            matrix[below + 1 : below + 4] += _rotation(body) @ matrix[moment]
            matrix[moment] = 0.0
    kept = np.abs(matrix).max(axis=1, initial=0.0) > 1e-12 * np.abs(matrix).max(initial=0.0)
    return Grouping(tuple(place for place, some in zip(places, kept, strict=True) if some), matrix[kept], tree)


def _seen(axes: NDArray[np.float64]) -> NDArray[np.float64]:
    """What of a body's ten is left that turns about ``axes`` (0, 3) or (1, 3) alone: (10, 10), rows in their order."""
    found = np.zeros((10, 10))
    found[0, 0] = 1.0
    if not len(axes):
        return found
    a = axes[0]
    across = np.eye(3) - np.outer(a, a)
    most = int(np.argmax(np.abs(a)))
    others = [k for k in range(3) if k != most]  # two rows are independent: those of the axes farther from a
    found[np.ix_([1 + k for k in others], [1, 2, 3])] = across[others]
    x, y, z = a
    found[4 + most, 4:] = [x * x, y * y, z * z, 2 * x * y, 2 * x * z, 2 * y * z]
    return found


def turning(tree: Tree) -> list[NDArray[np.float64] | None]:
    """By body the axes that it turns about, in its own frame: (0, 3) of none, (1, 3) of one direction; None of several.

    Of a body that turns about one fixed direction a, whatever its joints are, a . J a alone of the inertia and the part
    of the first moment across a have an effect; of one that never turns the mass alone.
    """
    found: list[NDArray[np.float64] | None] = [np.zeros((0, 3))]
    for body in tree.bodies[1:]:
        below = found[body.antecedent]
        if below is None or not body.kind.has_axis:
            found.append(None if below is None or any(body.kind.turns) else below @ _rotation(body))
            continue
        axes = below @ _rotation(body)
        if any(column.angular != (0.0, 0.0, 0.0) for column in body.columns):
            parallel = not len(axes) or _along_z(axes)
            axes = np.array([[0.0, 0.0, 1.0]]) if parallel else None  # type: ignore[assignment]
        found.append(axes)
    return found


def _along_z(axes: NDArray[np.float64]) -> bool:
    return float(np.abs(axes[0, :2]).max()) < _PARALLEL


def _level(tree: Tree, body: Body) -> bool:
    """Whether gravity has no part along the axis of a body on the base."""
    g = np.array(tree.gravity, dtype=float)
    return bool(abs(g @ _rotation(body)[:, 2]) <= _PARALLEL * np.linalg.norm(g))


def _across_z(axes: NDArray[np.float64] | None, body: Body) -> bool:
    """Whether what the body's parent turns about is across the body's own axis: none, or one direction."""
    return axes is not None and not bool((np.abs((axes @ _rotation(body))[:, 2]) > _PARALLEL).any())


def _rotation(body: Body) -> NDArray[np.float64]:
    """Of the body's frame in its antecedent's, at position zero."""
    return np.array(zero_pose(body).rotation)


_PARALLEL = 1e-7
"""Sine of the angle below which two axes are parallel."""


def parts_of(body: Body) -> list[Scalar]:
    """In the order of ``PARTS``."""
    return [body.mass, *body.first_moment, *body.inertia, body.drive.rotor_inertia]
