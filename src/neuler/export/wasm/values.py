"""The values of one function: what is used once is computed where it is wanted, all else lies in variables.

Variables are used again as soon as nobody reads them, so that there are few: engines allow 50,000 of a function.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from neuler.compiler.schedule import Trig
from neuler.export.wasm import encode as w
from neuler.export.wasm.arithmetic import READS, expression
from neuler.trace.graph import Node, Scalar

_DEEPEST = 40
"""Operations within each other whose values wait on the stack."""

Goal = tuple[bytes, int, Scalar]
"""An address, a place behind it in numbers, and what is written there."""


class Values:
    """Instructions for a row of nodes and pairs of sine and cosine, and the variables that they need."""

    def __init__(
        self,
        steps: Sequence[Node | Trig],
        given: Mapping[Node, bytes],
        goals: Sequence[Goal],
        first: int,
        functions: Mapping[str, int],
        *,
        read_first: bool = False,
    ) -> None:
        """``given``: code that reads a value from memory; ``first``: of the variables that are free.

        ``read_first``: all of these are read before anything is written, since goals may lie in the same places.
        """
        self.given, self.functions, self.first = given, functions, first
        self.uses: Counter[Node] = Counter()
        for step in steps:
            self._count(step)
        for _, _, value in goals:
            if isinstance(value, Node):
                self.uses[value] += 1
        self.lasting: set[Node] = set()
        """Values that lie in variables."""
        self.variables = 0
        self._code: list[bytes] = []
        self._write(self._lasting(steps, read_first), goals)

    @property
    def code(self) -> bytes:
        """All instructions."""
        return b"".join(self._code)

    def _count(self, step: Node | Trig) -> None:
        if isinstance(step, Trig):
            self.uses[step.angle] += 1
            return
        for operand, times in zip((step.a, step.b), READS.get(step.op, (1, 1)), strict=True):
            if isinstance(operand, Node) and times:
                self.uses[operand] += times

    def _lasting(self, steps: Sequence[Node | Trig], read_first: bool) -> list[Node | Trig]:
        """What is computed before it is wanted, in order."""
        found: list[Node | Trig] = [node for node in self.given if read_first or self.uses[node] > 1]
        self.lasting = {node for node in found if isinstance(node, Node)}
        depth: dict[Node, int] = {}
        for step in steps:
            if isinstance(step, Trig):
                found.append(step)
                self.lasting.update(node for node in step.waves if node is not None)
                continue
            inside = 1 + max((depth.get(x, 0) for x in step.operands), default=0)
            if self.uses[step] > 1 or inside > _DEEPEST:
                found.append(step)
                self.lasting.add(step)
            else:
                depth[step] = inside
        return found

    def _reads(self, x: Scalar) -> Iterator[Node]:
        """The variables that the code of a value reads."""
        waiting = [x]
        while waiting:
            each = waiting.pop()
            if isinstance(each, Node):
                if each in self.lasting:
                    yield each
                elif each not in self.given:
                    waiting.extend(each.operands)

    def _write(self, steps: Sequence[Node | Trig], goals: Sequence[Goal]) -> None:
        reads: list[set[Node]] = []
        for step in steps:
            if isinstance(step, Trig):
                reads.append(set(self._reads(step.angle)))
            else:
                inside = () if step in self.given else step.operands
                reads.append({each for operand in inside for each in self._reads(operand)})
        reads += [set(self._reads(value)) for _, _, value in goals]
        last = {node: k for k, each in enumerate(reads) for node in each}
        self.place: dict[Node, int] = {}
        self.free: list[int] = []
        for k, step in enumerate(steps):
            made: tuple[Node | None, ...] = step.waves if isinstance(step, Trig) else (step,)
            code = self.value(step.angle) if isinstance(step, Trig) else self._made(step)
            for read in reads[k]:
                if last[read] == k:
                    heapq.heappush(self.free, self.place[read])
            if isinstance(step, Trig):
                code += w.call(self.functions["sincos"])
            self._add(code)
            for node in reversed(made):  # the cosine lies on top
                if node is None:
                    self._code.append(w.DROP)
                else:
                    self._code.append(w.put(self._taken(node)))
        for address, place, value in goals:
            self._add(w.store(address, place, self.value(value)))

    def _taken(self, node: Node) -> int:
        if self.free:
            self.place[node] = heapq.heappop(self.free)
        else:
            self.place[node] = self.first + self.variables
            self.variables += 1
        return self.place[node]

    def _add(self, code: bytes) -> None:
        """One after another; a value that is stored and then read at once stays on the stack as well."""
        if self._code and self._code[-1][:1] == b"\x21":
            place = self._code[-1][1:]
            if code.startswith(b"\x20" + place):
                self._code[-1] = b"\x22" + place
                code = code[1 + len(place) :]
        self._code.append(code)

    def _made(self, node: Node) -> bytes:
        return self.given[node] if node in self.given else expression(node, self.value, self.functions)

    def value(self, x: Scalar) -> bytes:
        """The code of a value."""
        if not isinstance(x, Node):
            return w.number(x)
        return w.get(self.place[x]) if x in self.lasting else self._made(x)
