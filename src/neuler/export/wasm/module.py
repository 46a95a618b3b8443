"""A function as a module of WebAssembly: its bytes, straight from the schedule, without compiler and linker.

The module exports its ``memory``; ``run(q, ..., tau)``, which takes the byte offset of every input and every output in
the order of the function, all doubles, matrices row by row; ``batch(count, q, ..., tau)``, the same for states one
behind another; and ``start``, the first byte that is free for arrays. What it cannot compute itself it imports from
"math" by the names of JavaScript's Math.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from neuler.compiler.lower import lower
from neuler.compiler.schedule import Chunk, Schedule, Trig
from neuler.export.interface import Interface
from neuler.export.saving import save
from neuler.export.wasm import encode as w
from neuler.export.wasm.arithmetic import LIBRARY
from neuler.export.wasm.sincos import sincos
from neuler.export.wasm.values import Values
from neuler.inputs import choice
from neuler.trace import graph as g
from neuler.trace.graph import Node
from neuler.trace.recipe import Operations

FAR = ("math", "nan")
"""What serves angles beyond 1e6."""
WHOLE = 20_000
"""Operations up to which a function is written straight through: faster and smaller than in pieces, but the time that
engines take to compile it grows faster than its length. The limit of 50,000 variables is far away."""

MARK = "neuler"
"""The custom section that tells a loader whether the module is its own."""


@dataclass(frozen=True, eq=False)
class WasmModule:
    """A module of WebAssembly with one function, the script that loads it, and its types."""

    name: str
    binary: bytes = field(repr=False)
    loader: str = field(repr=False)
    """A JavaScript module that loads the binary and checks what is passed."""
    types: str = field(repr=False)
    """The loader's types for TypeScript."""
    imports: tuple[str, ...]
    """Functions that "math" must have."""
    operations: Operations

    @property
    def files(self) -> dict[str, str | bytes]:
        """Contents by the names of their files."""
        return {f"{self.name}.wasm": self.binary, f"{self.name}.mjs": self.loader, f"{self.name}.d.mts": self.types}

    def save(self, folder: str | os.PathLike[str]) -> list[Path]:
        """Write all files into a folder, which is made where there is none."""
        return save(self.files, folder)

    def __bytes__(self) -> bytes:
        return self.binary

    def __repr__(self) -> str:
        """Name, size, operations."""
        return f"<WebAssembly of {self.name}: {len(self.binary)} bytes; {self.operations}>"


def wasm_module(interface: Interface, far: str = "math") -> WasmModule:
    """The module of an interface."""
    from neuler.export.wasm.loader import loader, types

    choice("wasm: far", far, FAR)
    schedule = lower(interface.recipe, fma=False)
    built = _Builder(interface, schedule, far)
    binary = built.module()
    mark = hashlib.blake2s(binary + repr(_described(interface)).encode(), digest_size=8).digest()
    return WasmModule(
        interface.name,
        binary + w.section(w.CUSTOM, w.text(MARK) + mark),
        loader(interface, schedule.operations, mark.hex()),
        types(interface, schedule.operations),
        built.imports,
        schedule.operations,
    )


def _described(interface: Interface) -> list[tuple[str, tuple[int, ...]]]:
    recipe = interface.recipe
    return [(x.name, x.shape) for x in (*recipe.inputs, *recipe.outputs)]


class _Builder:
    """Puts the parts of a module together."""

    def __init__(self, interface: Interface, schedule: Schedule, far: str) -> None:
        self.name, self.recipe, self.schedule = interface.name, interface.recipe, schedule
        used = {node.op for node in _nodes(schedule)}
        waves = any(not isinstance(stage, Chunk) for stage in schedule.stages)
        sines = ("sin", "cos") if waves and far == "math" else ()
        self.imports = (*sines, *(name for op, name in LIBRARY.items() if op in used))
        self.functions: dict[str, int] = {op: self.imports.index(name) for op, name in LIBRARY.items() if op in used}
        self.bodies: list[tuple[bytes, bytes]] = []
        """Of the module's own functions: type and code."""
        if waves:
            pair = (self.imports.index("sin"), self.imports.index("cos")) if far == "math" else None
            self.functions["sincos"] = self._new(w.signature([w.F64], [w.F64] * 2), sincos(pair))
        self.operands = (*self.recipe.inputs, *self.recipe.outputs)
        total = sum(1 if isinstance(step, Node) else 2 for step in _steps(schedule))
        self.scratch = 8 * schedule.slots if total > WHOLE else 0
        main = self._pieces() if self.scratch else self._straight()
        self.run = self._new(w.signature([w.I32] * len(self.operands), ()), main)
        many = w.signature([w.I32] * (1 + len(self.operands)), ())
        self.batch = self._new(many, self._batch())

    def _new(self, kind: bytes, body: bytes) -> int:
        self.bodies.append((kind, body))
        return len(self.imports) + len(self.bodies) - 1

    def _inputs(self) -> Iterator[tuple[Node, bytes]]:
        """Every input and the code that reads it."""
        nodes = sorted((number, node) for node, number in self.schedule.slot.items() if node.op is g.INPUT)
        places = [(k, j) for k, operand in enumerate(self.recipe.inputs) for j in range(operand.size)]
        for (_, node), (k, j) in zip(nodes, places, strict=True):
            yield node, w.load(w.get(k), j)

    def _straight(self) -> bytes:
        """All of it in one function."""
        homes: dict[int, Node | float] = dict(self.schedule.constants)
        for stage in self.schedule.stages:
            if isinstance(stage, Chunk):
                homes.update({number: node for node, number in stage.stores})
            else:
                for each in stage:
                    pairs = zip(each.waves, (each.sine, each.cosine), strict=True)
                    homes.update({number: node for node, number in pairs if node is not None})
        at, goals = sum(x.size for x in self.recipe.inputs), []
        for k, operand in enumerate(self.recipe.outputs, start=len(self.recipe.inputs)):
            goals += [(w.get(k), j, homes[at + j]) for j in range(operand.size)]
            at += operand.size
        values = Values(list(_steps(self.schedule)), dict(self._inputs()), goals, len(self.operands), self.functions)
        return w.function([(values.variables, w.F64)], values.code)

    def _pieces(self) -> bytes:
        """Calls of a function for each chunk, over numbered places at the beginning of the memory."""
        base, first = w.whole(0), len(self.operands)
        code, at = [], 0
        for k, operand in enumerate(self.recipe.inputs):
            code += [w.store(base, at + j, w.load(w.get(k), j)) for j in range(operand.size)]
            at += operand.size
        for stage in self.schedule.stages:
            if not isinstance(stage, Chunk):
                for each in stage:
                    code.append(w.call(self.functions["sincos"], w.load(base, each.argument)))
                    code += [w.put(first), w.put(first + 1)]
                    code.append(w.store(base, each.cosine, w.get(first)))
                    code.append(w.store(base, each.sine, w.get(first + 1)))
            elif stage.stores:
                given = {node: w.load(base, slot) for slot, node in sorted(self.schedule.kept(stage).items())}
                goals = [(base, slot, node) for node, slot in stage.stores]
                values = Values(stage.nodes, given, goals, 0, self.functions, read_first=True)
                body = w.function([(values.variables, w.F64)], values.code)
                code.append(w.call(self._new(w.signature((), ()), body)))
        code += [w.store(base, slot, w.number(value)) for slot, value in self.schedule.constants]
        for k, operand in enumerate(self.recipe.outputs, start=len(self.recipe.inputs)):
            code += [w.store(w.get(k), j, w.load(base, at + j)) for j in range(operand.size)]
            at += operand.size
        return w.function([(2, w.F64)], b"".join(code))

    def _batch(self) -> bytes:
        """A loop over states one behind another."""
        places = range(1, 1 + len(self.operands))
        steps = [w.put(k, w.add32(w.get(k), w.whole(8 * x.size))) for k, x in zip(places, self.operands, strict=True)]
        code = [
            w.BLOCK + w.NOTHING + w.LOOP + w.NOTHING,
            w.leave_if(1, w.is_zero(w.get(0))),
            w.call(self.run, *map(w.get, places)),
            *steps,
            w.put(0, w.subtract32(w.get(0), w.whole(1))),
            w.leave(0) + w.END + w.END,
        ]
        return w.function([], b"".join(code))

    def module(self) -> bytes:
        """The binary: types, imports, functions, memory, exports, code and data, in the order of the format."""
        arguments = {"atan2": 2, "pow": 2}
        outside = [w.signature([w.F64] * arguments.get(name, 1), [w.F64]) for name in self.imports]
        kinds = list(dict.fromkeys([*outside, *(kind for kind, _ in self.bodies)]))
        imports = [
            w.text("math") + w.text(name) + b"\0" + w.unsigned(kinds.index(kind))
            for name, kind in zip(self.imports, outside, strict=True)
        ]
        needed = self.scratch + 8 * sum(operand.size for operand in self.operands)
        start = b"\x7f\0" + w.whole(self.scratch) + w.END
        exports = [
            w.text("memory") + b"\2\0",
            w.text("start") + b"\3\0",
            w.text("run") + b"\0" + w.unsigned(self.run),
            w.text("batch") + b"\0" + w.unsigned(self.batch),
        ]
        called = w.text(self.name)
        parts = [
            w.section(w.TYPES, w.vector(kinds)),
            w.section(w.IMPORTS, w.vector(imports)) if imports else b"",
            w.section(w.FUNCTIONS, w.vector([w.unsigned(kinds.index(kind)) for kind, _ in self.bodies])),
            w.section(w.MEMORIES, w.vector([b"\0" + w.unsigned(max(1, -(-needed // w.PAGE)))])),
            w.section(w.GLOBALS, w.vector([start])),
            w.section(w.EXPORTS, w.vector(exports)),
            w.section(w.CODES, w.vector([body for _, body in self.bodies])),
            w.section(w.CUSTOM, w.text("name") + w.section(0, called)),
        ]
        return w.MAGIC + b"".join(parts)


def _steps(schedule: Schedule) -> Iterator[Node | Trig]:
    """Nodes and pairs of sine and cosine, in order."""
    for stage in schedule.stages:
        yield from stage.nodes if isinstance(stage, Chunk) else stage


def _nodes(schedule: Schedule) -> Iterator[Node]:
    for stage in schedule.stages:
        if isinstance(stage, Chunk):
            yield from stage.nodes
