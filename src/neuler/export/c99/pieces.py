"""A schedule as C functions over an array of numbered slots: for long functions, and for parts of a time step."""

from __future__ import annotations

from neuler.compiler.schedule import Chunk, Schedule
from neuler.export.c99.arithmetic import Arithmetic
from neuler.export.c99.function import waiting, wrapped
from neuler.export.values import Names
from neuler.trace.graph import Node, Scalar


class Pieces:
    """Writes ``static void LABEL_k(real *m)``, one for each chunk, and the calls of them in order."""

    def __init__(self, schedule: Schedule, c: Arithmetic, label: str) -> None:
        self.schedule, self.c, self.label = schedule, c, label
        self.functions: list[str] = []
        self.calls: list[str] = []
        self.waiting = 0
        """Values of one piece that wait to be used, at most."""
        for stage in schedule.stages:
            if isinstance(stage, Chunk):
                self._piece(stage)
            else:
                for each in stage:
                    self.calls.append(f"{c.prefix}_sincos(m[{each.argument}], &m[{each.sine}], &m[{each.cosine}]);")
        self.calls += [f"m[{slot}] = {c.number(value)};" for slot, value in schedule.constants]

    def _piece(self, chunk: Chunk) -> None:
        if not chunk.stores:  # all that it computes vanishes in sums of others
            return
        name = f"{self.label}_{len(self.functions) + 1}"
        lines = self._lines(chunk)
        body = "\n".join(f"    {line}" for line in lines)
        self.functions.append(f"static void {name}({self.c.real} *m)\n{{\n{body}\n}}\n")
        self.calls.append(f"{name}(m);")

    def _lines(self, chunk: Chunk) -> list[str]:
        """All reads first, so that slots may be written over; then values; then what is stored."""
        schedule, real = self.schedule, self.c.real
        names, known = Names({"m"}), dict[Node, str]()
        lines: list[str] = []

        def value(x: Scalar) -> str:
            return known[x] if isinstance(x, Node) else self.c.factor(x)

        own = set(chunk.nodes)
        read = {x for node in chunk.nodes if node not in schedule.sums.vanished for x in schedule.sums.reads(node)}
        read |= {node for node, _ in chunk.stores}
        outside = sorted(read - own, key=lambda each: each.id)
        order = [(node, schedule.sums.reads(node)) for node in chunk.nodes if node not in schedule.sums.vanished]
        ends = {node for node, _ in chunk.stores}
        self.waiting = max(self.waiting, waiting([*((node, ()) for node in outside), *order], ends))
        for node in outside:
            known[node] = names.of(node)
            lines.append(f"const {real} {known[node]} = m[{schedule.slot[node]}];")
        for node in chunk.nodes:
            if node not in schedule.sums.vanished:
                text = self.c.expression(node, value, schedule.sums)
                known[node] = names.of(node)
                lines += wrapped(f"const {real} {known[node]} = {text};")
        lines += [f"m[{where}] = {known[node]};" for node, where in chunk.stores]
        return lines
