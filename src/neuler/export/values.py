"""Names of values inside a function: sines as SYMORO+ calls them, all others by numbers.

>>> from neuler.trace.graph import Graph, sin, cos
>>> q = Graph().inputs("q", 3)
>>> wave(sin(q[1]), "q"), wave(cos(q[1] + q[2]), "q")
('s_2', 'c_23')
"""

from __future__ import annotations

from neuler.trace import graph as g
from neuler.trace.graph import Node, Scalar


def wave(node: Node, angles: str = "q") -> str | None:
    """``s_23`` of sin(q2 + q3), counted from one; None of sines of anything else.

    Numbers are set apart where one of them has two digits. An angle that is taken off stands behind an m.
    """
    terms = _terms(node.a, angles)
    if not terms:
        return None
    between = "_" if any(k >= 9 for _, k in terms) else ""
    return f"{'s' if node.op is g.SIN else 'c'}_" + between.join(f"{'m' if minus else ''}{k + 1}" for minus, k in terms)


def _terms(x: Scalar, angles: str) -> list[tuple[bool, int]] | None:
    """(whether taken off, place) of each input in a sum of inputs of one name; None of anything else."""
    if not isinstance(x, Node):
        return None
    if x.op is g.INPUT:
        name, place = x.graph.input_name(x)
        return [(False, place)] if name == angles else None
    if x.op is g.NEG:
        inner = _terms(x.a, angles)
        return inner and [(not minus, k) for minus, k in inner]
    if x.op in (g.ADD, g.SUB):
        left, right = _terms(x.a, angles), _terms(x.b, angles)
        if not left or not right:
            return None
        return sorted(left + [(minus != (x.op is g.SUB), k) for minus, k in right], key=lambda term: term[1])
    return None


class Names:
    """Gives every value of a function a name of its own."""

    def __init__(self, taken: set[str], letter: str = "v", angles: str = "q") -> None:
        self.taken, self.letter, self.angles = set(taken), letter, angles
        self.count = 0

    def of(self, node: Node) -> str:
        """A new name for the value of a node."""
        name = wave(node, self.angles) if node.op in (g.SIN, g.COS) else None
        if name is None or name in self.taken:
            name = self.next()
        self.taken.add(name)
        return name

    def next(self) -> str:
        """A new name that says nothing."""
        while True:
            self.count += 1
            name = f"{self.letter}{self.count}"
            if name not in self.taken:
                return name
