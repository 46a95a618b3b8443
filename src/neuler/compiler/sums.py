"""Sums as a CPU with fused multiply-add computes them best.

A sum of sums is one long sum; a product that only sums use vanishes in them. A sum of S plain
terms and T products then costs S - 1 additions and T fused operations. Nothing here changes
what is counted as an operation: it is a matter of how they are put together.
"""

from __future__ import annotations

from collections.abc import Sequence

from neuler.trace.graph import ADD, MUL, SUB, Node, Scalar

LONGEST = 8
"""Terms of a sum: a longer one would make each addition wait for the one before."""

Term = tuple[bool, Scalar]
"""Whether it is subtracted, and what it is."""


class Sums:
    """Which nodes vanish in others, and what is read where."""

    def __init__(self, live: Sequence[Node], outputs: Sequence[Scalar], *, fma: bool) -> None:
        self.vanished: set[Node] = set()
        self.terms: dict[Node, list[Term]] = {}
        if fma:
            self._merge(live, {out for out in outputs if isinstance(out, Node)})

    def _merge(self, live: Sequence[Node], wanted: set[Node]) -> None:
        size = max((node.id for node in live), default=-1) + 1
        depth, uses, in_others = [-1] * size, [0] * size, bytearray(size)  # by the node's number
        for node in live:
            deepest, other = -1, node.op is not ADD and node.op is not SUB
            for operand in node.operands:
                k = operand.id
                uses[k] += 1
                in_others[k] |= other
                deepest = max(deepest, depth[k])
            depth[node.id] = deepest + 1
        for node in wanted:
            in_others[node.id] = True

        for node in live:
            if node.op is MUL and not in_others[node.id]:
                self.vanished.add(node)
            if node.op is not ADD and node.op is not SUB:
                continue
            terms: list[Term] = []
            for minus, side, room in ((False, node.a, LONGEST - 1), (node.op is SUB, node.b, LONGEST)):
                inner = self.terms.get(side) if isinstance(side, Node) else None
                if inner is not None and uses[side.id] == 1 and side not in wanted and len(inner) + len(terms) <= room:  # type: ignore[union-attr]
                    terms.extend((minus != sign, term) for sign, term in inner)
                    self.vanished.add(side)  # type: ignore[arg-type]
                else:
                    terms.append((minus, side))
            terms.sort(
                key=lambda term: depth[term[1].id] if isinstance(term[1], Node) else -1
            )  # what is late comes last
            self.terms[node] = terms

    def reads(self, node: Node) -> Sequence[Node]:
        """The nodes whose values the code of ``node`` needs."""
        if node not in self.terms:
            return node.operands
        found: list[Node] = []
        for _, term in self.terms[node]:
            if isinstance(term, Node):
                found.extend(term.operands if term in self.vanished else [term])
        return found
