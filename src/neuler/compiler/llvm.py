"""From a schedule to LLVM text: one function body works on a whole vector of states at once.

The emitted ``@loop`` has NumPy's inner-loop signature. It takes blocks of as many states as a
vector has lanes, gathers them into scratch (any strides), runs the stages, and scatters.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from typing import Any

from neuler.compiler import movement, support, trig
from neuler.compiler.elementary import FUNCTIONS, INLINE, Writer
from neuler.compiler.schedule import Chunk, Schedule
from neuler.compiler.sums import Term
from neuler.compiler.target import Target
from neuler.compiler.trig import literal
from neuler.errors import InputError
from neuler.trace.graph import (
    ABOVE,
    ADD,
    DIV,
    FELT,
    FELT_FROM,
    LEQ,
    LESS,
    MASK,
    MUL,
    NEG,
    SIGN,
    SQRT,
    SUB,
    Node,
    Scalar,
)


class Emitter:
    """Writes the text of one module, for as many lanes as a vector has, or for fewer."""

    def __init__(
        self, schedule: Schedule, target: Target, dtype: str, lanes: int | None = None, *, reports: bool = False
    ) -> None:
        self.schedule = schedule
        self.target = target
        self.dtype = dtype
        self.reports = reports
        self.scalar = "double" if dtype == "float64" else "float"
        self.bytes = 8 if dtype == "float64" else 4
        self.lanes = lanes or target.lanes(dtype)
        self.vector = f"<{self.lanes} x {self.scalar}>"
        self.suffix = f"v{self.lanes}f{8 * self.bytes}"
        self.intrinsics: set[str] = set()
        self.numbers: dict[str, int] = {}
        """Constants that lie in memory, by their places."""
        self.pool = 0
        """Bytes of scratch that a call takes from a pool, once the module is written; 0: none."""

    def constant(self, x: float) -> str:
        """A vector of one number."""
        if self.scalar == "float":
            rounded = movement.round_to_float32(x)
            if math.isfinite(x) and (math.isinf(rounded) or (rounded == 0.0) != (x == 0.0)):
                raise InputError(f"float32: the number {x:g} does not fit in single precision; use float64")
            x = rounded
        return f"splat ({self.scalar} {literal(x)})"

    def shared(self, x: float, lines: list[str]) -> str:
        """A constant as an operand. Where a machine has no operand that is one number in memory for all lanes, whole
        vectors lie in memory: an instruction less for each.
        """
        text = self.constant(x)
        if self.lanes * self.bytes != 32:
            return text
        place = self.numbers.setdefault(text, len(self.numbers))
        name = f"%n{len(lines)}"
        lines.append(f"  {name}p = getelementptr i8, ptr @numbers, i64 {self.offset(place)}")
        lines.append(f"  {name} = load {self.vector}, ptr {name}p, align 32, !invariant.load !3")
        return name

    def offset(self, slot: int) -> int:
        """Bytes from the start of the scratch."""
        return slot * self.lanes * self.bytes

    # ---- arithmetic ------------------------------------------------------------------------

    def chunk(self, name: str, chunk: Chunk) -> str:
        """One straight-line function over the scratch buffer."""
        v, lines = self.vector, [f"define internal void @{name}(ptr noalias %m) #1 {{"]
        here: dict[Node, str] = {}
        slot, sums, align = self.schedule.slot, self.schedule.sums, self.lanes * self.bytes

        def value(x: Scalar) -> str:
            if not isinstance(x, Node):
                return self.shared(x, lines)
            name = here.get(x)
            if name is None:
                name = here[x] = f"%l{x.id}"
                lines.append(f"  %a{x.id} = getelementptr i8, ptr %m, i64 {self.offset(slot[x])}")
                lines.append(f"  {name} = load {v}, ptr %a{x.id}, align {align}")
            return name

        waiting = _stores(chunk)
        kept = self.schedule.kept(chunk)

        def store(node: Node, *, end: bool = False) -> None:
            """What a value is kept in, once what the slot held is not needed any more."""
            for where in waiting.pop(node, ()):
                before = kept.get(where)
                if before is not None and before is not node and before not in here and not end:
                    waiting.setdefault(node, []).append(where)
                    continue
                text = value(node)
                lines.append(f"  %s{where} = getelementptr i8, ptr %m, i64 {self.offset(where)}")
                lines.append(f"  store {v} {text}, ptr %s{where}, align {align}")

        for node in chunk.nodes:
            if node in sums.vanished:
                continue
            name = f"%v{node.id}"
            lines.append(self.operation(name, node, value, lines))
            here[node] = name
            store(node)
        written = {where for places in waiting.values() for where in places}
        for node in list(waiting):
            if node in slot and slot[node] in written:  # it is read before it is written over
                value(node)
        for node in list(waiting):
            store(node, end=True)
        lines += ["  ret void", "}"]
        return "\n".join(lines)

    def operation(self, name: str, node: Node, value: Callable[[Scalar], str], lines: list[str]) -> str:
        """The line that computes a node; what it needs first is appended to ``lines``."""
        v, op, a, b = self.vector, node.op, node.a, node.b
        if node in self.schedule.sums.terms:
            return self.sum(name, self.schedule.sums.terms[node], value, lines)
        if op is DIV and (_few_values(a) or _few_values(b)):
            self.intrinsics.add("arithmetic.fence")
            for side, operand in (("a", a), ("b", b)):
                fence = f"call {v} @llvm.arithmetic.fence.{self.suffix}({v} {value(operand)})"
                lines.append(f"  {name}{side} = {fence}")
            return f"  {name} = fdiv {v} {name}a, {name}b"
        if op in (ADD, SUB, MUL, DIV):
            return f"  {name} = f{op} {v} {value(a)}, {value(b)}"
        if op is NEG:
            return f"  {name} = fneg {v} {value(a)}"
        if op is SQRT:
            self.intrinsics.add("sqrt")
            return f"  {name} = call {v} @llvm.sqrt.{self.suffix}({v} {value(a)})"
        if op is SIGN:  # x where x is 0 or NaN, else 1 with the sign of x
            self.intrinsics.add("copysign")
            x = value(a)
            lines.append(f"  {name}z = fcmp one {v} {x}, zeroinitializer")
            lines.append(f"  {name}c = call {v} @llvm.copysign.{self.suffix}({v} {self.constant(1.0)}, {v} {x})")
            return f"  {name} = select <{self.lanes} x i1> {name}z, {v} {name}c, {v} {x}"
        if op is ABOVE or op is FELT:
            assert isinstance(b, float)
            return self.above(name, value(a), b * FELT_FROM[self.dtype] if op is FELT else b, lines)
        if op in FUNCTIONS:
            return self.function(name, op, [value(x) for x in (a, b)[: FUNCTIONS[op][0]]], lines)
        raise AssertionError(f"no code for {op}")

    def function(self, name: str, op: str, arguments: list[str], lines: list[str]) -> str:
        """A call of a function over doubles, or its few operations; single precision goes through double."""
        wide = f"<{self.lanes} x double>"
        if self.scalar == "float":
            for k, x in enumerate(arguments):
                lines.append(f"  {name}w{k} = fpext {self.vector} {x} to {wide}")
            arguments = [f"{name}w{k}" for k in range(len(arguments))]
        if op in INLINE:
            writer = Writer(self.lanes, self.target.fma, f"{name}x")
            found = FUNCTIONS[op][1](writer, *arguments)
            lines.extend(writer.lines)
            text = f"select <{self.lanes} x i1> splat (i1 true), {wide} {found}, {wide} {found}"  # another name for it
        else:
            text = f"call {wide} @neuler_{op}({', '.join(f'{wide} {x}' for x in arguments)})"
        if self.scalar == "double":
            return f"  {name} = {text}"
        lines.append(f"  {name}d = {text}")
        return f"  {name} = fptrunc {wide} {name}d to {self.vector}"

    def above(self, name: str, x: str, least: float, lines: list[str]) -> str:
        """1 or NaN, by the bits: as whole numbers those of larger numbers are larger. Comparing raises no flag."""
        double = self.scalar == "double"
        bits, infinity = (64, 0x7FF << 52) if double else (32, 0xFF << 23)
        size = struct.pack("<d", least) if double else struct.pack("<f", movement.round_to_float32(least))
        first = int.from_bytes(size, "little") + 1
        whole = f"<{self.lanes} x i{bits}>"
        lines.append(f"  {name}b = bitcast {self.vector} {x} to {whole}")
        lines.append(f"  {name}m = sub {whole} {name}b, splat (i{bits} {first})")
        lines.append(f"  {name}p = icmp ule {whole} {name}m, splat (i{bits} {infinity - first})")
        one, none = self.constant(1.0), self.constant(float("nan"))
        return f"  {name} = select <{self.lanes} x i1> {name}p, {self.vector} {one}, {self.vector} {none}"

    def sum(self, name: str, terms: Sequence[Term], value: Callable[[Scalar], str], lines: list[str]) -> str:
        """Plain terms first, then every product that vanished is taken in by a fused multiply-add."""
        v, gone = self.vector, self.schedule.sums.vanished
        products = [(minus, x) for minus, x in terms if isinstance(x, Node) and x in gone]
        plain = [(minus, value(x)) for minus, x in terms if not (isinstance(x, Node) and x in gone)]
        plain.sort(key=lambda term: term[0])
        steps: list[str] = []
        total, negative = "", False
        if plain:
            negative, total = plain.pop(0)
        else:
            products.sort(key=lambda term: term[0])
            negative, product = products.pop(0)
            steps.append(f"fmul {v} {value(product.a)}, {value(product.b)}")
        steps.extend(f"f{'add' if minus == negative else 'sub'} {v} #, {term}" for minus, term in plain)
        if negative:  # all were subtracted; the machine's fused operations take the sign in
            steps.append(f"fneg {v} #")
        for k, (minus, product) in enumerate(products):
            factor = value(product.a)
            if minus:
                lines.append(f"  {name}n{k} = fneg {v} {factor}")
                factor = f"{name}n{k}"
            self.intrinsics.add("fma")
            steps.append(f"call {v} @llvm.fma.{self.suffix}({v} {factor}, {v} {value(product.b)}, {v} #)")
        for k, step in enumerate(steps):
            target = name if k + 1 == len(steps) else f"{name}s{k}"
            lines.append(f"  {target} = {step.replace('#', total)}")
            total = target
        return lines.pop()

    def constants(self) -> list[str]:
        """Outputs that are constant: written before the first block, they stay in the scratch.

        Nearly all are structural zeros: all outputs are cleared at once, and the other constants follow.
        """
        once: list[str] = []
        zeros = [slot for slot, value in self.schedule.constants if value == 0.0]
        if zeros:
            once.append(f"  %zeros = getelementptr i8, ptr %m, i64 {self.offset(min(zeros))}")
            once.append(f"  call void @clear(ptr %zeros, i64 {max(zeros) - min(zeros) + 1})")
        for slot, value in self.schedule.constants:
            if value != 0.0:
                once.append(f"  %k{slot} = getelementptr i8, ptr %m, i64 {self.offset(slot)}")
                once.append(f"  store {self.vector} {self.constant(value)}, ptr %k{slot}, align 8")
        return once

    # ---- the module ------------------------------------------------------------------------

    def stages(self, schedule: Schedule, label: str = "") -> tuple[list[str], list[str]]:
        """The functions of a schedule's stages, and the calls of them in order."""
        self.schedule = schedule
        body: list[str] = []
        calls: list[str] = []
        for number, stage in enumerate(schedule.stages):
            if isinstance(stage, Chunk):
                body.append(self.chunk(f"{label}chunk{number}", stage))
                calls.append(f"  call void @{label}chunk{number}(ptr %m)")
                continue
            rows = [(self.offset(x.argument), self.offset(x.sine), self.offset(x.cosine)) for x in stage]
            body.append(trig.table(f"{label}table{number}", rows))
            calls.append(f"  call void @{self.sincos}(ptr %m, ptr @{label}table{number}, i64 {len(rows)})")
        return body, calls

    def loop(self, slots: int) -> movement.InnerLoop:
        """NumPy's inner loop around as much scratch; what it takes from a pool is known then."""
        # Windows commits a stack page by page, in order: nothing large may skip ahead there
        room = 0 if "windows" in self.target.triple else movement.ON_STACK
        loop = movement.InnerLoop(self.lanes, self.scalar, slots, on_stack=room, reports=self.reports)
        self.pool = loop.scratch if loop.pooled else 0
        return loop

    def module(self) -> str:
        """Stages and ``@loop``; and ``@one``, where the code for one state has as many lanes."""
        body, loop, arguments = self._parts()
        body.append(loop.emit(*arguments))
        if self.lanes == self.target.one_lanes(self.dtype):
            body.append(loop.one(*arguments))
        return self.whole(body)

    def one_module(self) -> str:
        """The module of code for one state: stages and ``@one``, without ``@loop``."""
        body, loop, arguments = self._parts()
        return self.whole([*body, loop.one(*arguments)])

    def _parts(self) -> tuple[list[str], movement.InnerLoop, tuple[Any, ...]]:
        """The functions of the stages, the loop around them, and what it is made of."""
        schedule = self.schedule
        body, calls = self.stages(schedule)
        shapes = [x.shape for x in schedule.inputs], [x.shape for x in schedule.outputs]
        return body, self.loop(schedule.slots), (*shapes, calls, self.constants())

    def whole(self, body: list[str]) -> str:
        """A module: these functions, and declarations of all that they call."""
        body = list(body)
        if self.numbers:
            every = ", ".join(f"{self.vector} {text}" for text in self.numbers)
            body.append(f"@numbers = internal constant [{len(self.numbers)} x {self.vector}] [{every}], align 64")
        body += sorted(support.declare(name, self.lanes, self.scalar) for name in self.intrinsics)
        return support.module(self.target, [support.linked("\n".join(body), self.target, self.dtype, self.lanes)])

    @property
    def sincos(self) -> str:
        """The function that serves this precision."""
        return "sincos_all" if self.scalar == "double" else "sincos_floats"


def _stores(chunk: Chunk) -> dict[Node, list[int]]:
    found: dict[Node, list[int]] = {}
    for node, where in chunk.stores:
        found.setdefault(node, []).append(where)
    return found


def _few_values(x: Scalar) -> bool:
    """Whether a value is a choice between constants, or follows from one by constants alone.

    LLVM divides such a value before it chooses, on machines that choose by masks, and the division's flag is lost. A
    fence keeps the two apart, at no cost.
    """
    while isinstance(x, Node):
        if x.op is LESS or x.op is LEQ:
            return True
        if x.op is NEG:
            x = x.a
        elif x.op is MASK:
            if not isinstance(x.b, Node):
                return True
            x = x.b
        elif x.op in (ADD, SUB, MUL, DIV) and not (isinstance(x.a, Node) and isinstance(x.b, Node)):
            x = x.a if isinstance(x.a, Node) else x.b
        else:
            return False
    return False
