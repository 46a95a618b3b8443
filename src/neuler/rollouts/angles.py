"""Sines and cosines within a step: of angles a little further on, from those at the step's beginning.

    sin(a + d) = sin a cos d + cos a sin d

with short series for a small d: a third of the work of a sine by itself, and right to a unit in the last place or
two. Where an angle goes further than the series serve, sines are computed as ever.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from neuler.trace.graph import ADD, COS, INPUT, MUL, NEG, SIN, SUB, Graph, Node, Scalar, cos, sin

FURTHEST = 0.05
"""Radians for which the series are right to rounding."""
_SINE = (-1 / 6, 1 / 120, -1 / 5040)
_COSINE = (-1 / 2, 1 / 24, -1 / 720, 1 / 40320)


@dataclass(frozen=True)
class Angle:
    """factor q_k + offset, by the operations with which a recipe makes it."""

    position: int
    factor: float
    steps: tuple[tuple[str, float, bool], ...]
    """From q_k on: an operation, the number in it, and whether the number comes first."""

    def at(self, q: Sequence[Scalar]) -> Scalar:
        """The angle, as the recipe makes it."""
        x = q[self.position]
        for op, number, leads in self.steps:
            if op is NEG:
                x = -x
            elif op is ADD:
                x = x + number
            elif op is SUB:
                x = number - x if leads else x - number
            else:
                x = x * number
        return x


def angles_of(outputs: Sequence[Scalar], q: Sequence[Node]) -> list[Angle]:
    """The angles of which results need sines or cosines, as far as each is a multiple of one position and a number."""
    graph = q[0].graph
    places = {node: k for k, node in enumerate(q)}
    found: dict[Node, Angle] = {}
    for node in graph.live(outputs):
        if (node.op is SIN or node.op is COS) and isinstance(node.a, Node) and node.a not in found:
            angle = _angle(node.a, places)
            if angle is not None:
                found[node.a] = angle
    return list(found.values())


def _angle(node: Node, places: dict[Node, int]) -> Angle | None:
    steps: list[tuple[str, float, bool]] = []
    factor = 1.0
    while node.op is not INPUT:
        if node.op not in (NEG, ADD, SUB, MUL) or len(node.operands) != 1:
            return None
        leads = not isinstance(node.a, Node)
        number = 0.0 if node.op is NEG else float(node.a if leads else node.b)
        if node.op is NEG or (node.op is SUB and leads):
            factor = -factor
        elif node.op is MUL:
            factor = factor * number
        steps.append((node.op, number, leads))
        (node,) = node.operands
    return Angle(places[node], factor, tuple(reversed(steps))) if node in places else None


def tell(
    graph: Graph, angles: Sequence[Angle], q: Sequence[Scalar], sines: Sequence[Scalar], cosines: Sequence[Scalar]
) -> None:
    """From now on the graph knows these sines and cosines of the angles at q, and computes none of its own."""
    for angle, s, c in zip(angles, sines, cosines, strict=True):
        x = angle.at(q)
        assert isinstance(x, Node)
        graph.know(SIN, x, s)
        graph.know(COS, x, c)


def both(angles: Sequence[Angle], q: Sequence[Scalar]) -> tuple[list[Scalar], list[Scalar]]:
    """Sines and cosines of the angles at q."""
    every = [angle.at(q) for angle in angles]
    return [sin(x) for x in every], [cos(x) for x in every]


def further(
    angles: Sequence[Angle], sines: Sequence[Scalar], cosines: Sequence[Scalar], way: Sequence[Scalar]
) -> tuple[list[Scalar], list[Scalar]]:
    """Sines and cosines after a way of the positions."""
    found: tuple[list[Scalar], list[Scalar]] = ([], [])
    for angle, s, c in zip(angles, sines, cosines, strict=True):
        d = angle.factor * way[angle.position]
        z = d * d
        sd = d + d * (z * _series(_SINE, z))
        cd = z * _series(_COSINE, z)  # cos d - 1
        found[0].append(s + (s * cd + c * sd))
        found[1].append(c + (c * cd - s * sd))
    return found


def reach(angles: Sequence[Angle], rates: Sequence[Scalar], dt: Scalar) -> Scalar:
    """Below one where the series serve for a way of rates dt: by the sum of the squares of all angles' ways."""
    total: Scalar = 0.0
    for angle in angles:
        speed = rates[angle.position]
        total = total + speed * speed * (angle.factor * angle.factor)
    return total * (dt * dt * FURTHEST**-2)


def _series(coefficients: Sequence[float], z: Scalar) -> Scalar:
    total: Scalar = coefficients[-1]
    for c in reversed(coefficients[:-1]):
        total = c + z * total
    return total
