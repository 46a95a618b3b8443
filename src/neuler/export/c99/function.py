"""One function of a schedule as C: straight through, over columns of states, or in pieces over scratch."""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from neuler.compiler.schedule import Chunk, Schedule
from neuler.export.c99.arithmetic import Arithmetic
from neuler.export.interface import Interface
from neuler.export.values import Names
from neuler.trace.graph import Node, Scalar
from neuler.trace.recipe import Operand

WHOLE = 5000
"""Operations up to which a function is written straight through: compilers take long for longer ones."""
WIDTH = 110


@dataclass
class Body:
    """Lines of a function, and the bytes of its values that wait to be used."""

    lines: list[str]
    stack: int
    looks: bool = False
    """Whether it looks for large angles."""


def parameters(interface: Interface, real: str, *, batch: bool = False) -> list[str]:
    """The parameter list: inputs, then outputs; a lone number comes by value, and goes through a pointer."""
    names = interface.arguments()
    found = ["size_t count"] if batch else []
    for operand in interface.recipe.inputs:
        lone = not operand.shape and not batch
        found.append(
            f"{real} {names[operand.name]}" if lone else f"const {real} *NEULER_RESTRICT {names[operand.name]}"
        )
    for operand in interface.recipe.outputs:
        found.append(f"{real} *NEULER_RESTRICT {names[operand.name]}")
    return found


def signature(head: str, parameters: Sequence[str], end: str = "") -> list[str]:
    """The head of a function, broken between parameters where it is long."""
    lines, line = [], f"{head}("
    for k, each in enumerate(parameters):
        text = each + (f"){end}" if k + 1 == len(parameters) else ",")
        if len(line) + len(text) > WIDTH:
            lines.append(line.rstrip())
            line = "    "
        line += f"{text} "
    return [*lines, line.rstrip()]


def _cells(operands: Sequence[Operand], names: Mapping[str, str], *, batch: bool) -> Iterator[str]:
    """Every number of operands, as C writes it."""
    for operand in operands:
        name = names[operand.name]
        for k in range(operand.size):
            if batch:
                yield f"{name}[i]" if operand.size == 1 else f"{name}[{k} * count + i]" if k else f"{name}[i]"
            else:
                yield f"{name}[{k}]" if operand.shape else name


def _outputs(interface: Interface, names: Mapping[str, str], *, batch: bool) -> list[str]:
    cells = []
    for operand in interface.recipe.outputs:
        own = list(_cells([operand], names, batch=batch))
        cells += own if operand.shape or batch else [f"*{own[0]}"]
    return cells


class Straight:
    """A function without branches, each value a constant of its own."""

    def __init__(self, interface: Interface, schedule: Schedule, c: Arithmetic, *, batch: bool = False) -> None:
        self.interface, self.schedule, self.c, self.batch = interface, schedule, c, batch
        self.arguments = interface.arguments()
        self.names = Names({*self.arguments.values(), "i", "count", "far", "first", "end"})
        self.known: dict[Node, str] = {}
        self.lines: list[str] = []
        self.read: set[Node] = set()
        self.looks = False

    def value(self, x: Scalar) -> str:
        """The name of a value, or a number."""
        if not isinstance(x, Node):
            return self.c.factor(x)
        self.read.add(x)
        return self.known[x]

    def body(self) -> Body:
        """Declarations in order, then all outputs."""
        schedule, recipe = self.schedule, self.interface.recipe
        nodes = [node for node, _ in sorted(_inputs(schedule).items(), key=lambda item: item[1])]
        for node, cell in zip(nodes, _cells(recipe.inputs, self.arguments, batch=self.batch), strict=True):
            self.known[node] = cell
        homes: dict[int, str] = {}
        for stage in schedule.stages:
            if isinstance(stage, Chunk):
                for node in stage.nodes:
                    if node not in schedule.sums.vanished:
                        self._declare(node)
                for node, number in stage.stores:
                    homes[number] = self.value(node)
                continue
            for each in stage:
                self._waves(each.angle, each.waves)
                for sine, number in zip(each.waves, (each.sine, each.cosine), strict=True):
                    if sine is not None:
                        homes[number] = self.value(sine)
        first = sum(x.size for x in recipe.inputs)
        homes.update({number: self.c.number(x) for number, x in schedule.constants})
        for k, cell in enumerate(_outputs(self.interface, self.arguments, batch=self.batch)):
            self.lines.append(f"{cell} = {homes[first + k]};")
        size = 4 if self.c.single else 8
        self.lines[:0] = [f"(void){name};" for name in self._unread(nodes)]
        return Body(self.lines, size * _alive(schedule), self.looks)

    def _unread(self, nodes: Sequence[Node]) -> Iterator[str]:
        """Arguments on which nothing depends: compilers warn of these."""
        at = 0
        for operand in self.interface.recipe.inputs:
            if self.read.isdisjoint(nodes[at : at + operand.size]):
                yield self.arguments[operand.name]
            at += operand.size

    def _declare(self, node: Node) -> None:
        text = self.c.expression(node, self.value, self.schedule.sums)
        name = self.known[node] = self.names.of(node)
        self.lines += wrapped(f"const {self.c.real} {name} = {text};")

    def _waves(self, angle: Node, waves: Sequence[Node | None]) -> None:
        names = [self.names.next() if node is None else self.names.of(node) for node in waves]
        for node, name in zip(waves, names, strict=True):
            self.names.taken.add(name)
            if node is not None:
                self.known[node] = name
        x = self.value(angle)
        self.lines.append(f"{self.c.real} {names[0]}, {names[1]};")
        if self.batch:
            self.looks = True
            self.lines.append(f"far |= {self.c.call('fabs')}({x}) > FAR_ANGLE;")
        function = "near" if self.batch else "sincos"
        self.lines.append(f"{self.c.prefix}_{function}({x}, &{names[0]}, &{names[1]});")


def wrapped(text: str) -> list[str]:
    """A statement in lines of bounded length."""
    return textwrap.wrap(text, WIDTH - 4, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)


def _inputs(schedule: Schedule) -> dict[Node, int]:
    return {node: number for node, number in schedule.slot.items() if not node.operands and node.op == "input"}


def _alive(schedule: Schedule) -> int:
    """How many values at most wait to be used, in the order of the schedule."""
    order: list[tuple[Node, Sequence[Node]]] = []
    for stage in schedule.stages:
        if isinstance(stage, Chunk):
            order += [(node, schedule.sums.reads(node)) for node in stage.nodes if node not in schedule.sums.vanished]
        else:
            order += [(node, [each.angle]) for each in stage for node in each.waves if node is not None]
    ends = {node for stage in schedule.stages if isinstance(stage, Chunk) for node, _ in stage.stores}
    return waiting(order, ends)


def waiting(order: Sequence[tuple[Node, Sequence[Node]]], ends: Collection[Node]) -> int:
    """How many values at most wait to be used: all in order, with what each reads; some wait for the end."""
    last = {read: k for k, (_, reads) in enumerate(order) for read in reads}
    alive, most = 0, 0
    leaving: dict[int, int] = {}
    for k, (node, _) in enumerate(order):
        alive += 1
        end = len(order) if node in ends else last.get(node, k)
        leaving[end] = leaving.get(end, 0) + 1
        most = max(most, alive)
        alive -= leaving.pop(k, 0)
    return most
