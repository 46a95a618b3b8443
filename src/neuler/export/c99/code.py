"""A function as C99: a header, a source, a test with reference values, and how CMake builds them."""

from __future__ import annotations

import math
import os
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from neuler.compiler.lower import lower
from neuler.compiler.schedule import Chunk, Schedule
from neuler.errors import CompileError, InputError
from neuler.export.c99.arithmetic import Arithmetic
from neuler.export.c99.function import WHOLE, Straight, parameters, signature
from neuler.export.c99.harness import cmake, test_program
from neuler.export.c99.pieces import Pieces
from neuler.export.c99.sincos import FAR, functions
from neuler.export.interface import Interface, shape
from neuler.export.names import comment
from neuler.export.objects import machine_bytes, object_file
from neuler.inputs import choice
from neuler.trace import graph as g
from neuler.trace.recipe import Operand, Operations
from neuler.version import __version__

RESTRICT = (
    "#ifndef NEULER_RESTRICT",
    "#if defined(__cplusplus) || defined(_MSC_VER)",
    "#define NEULER_RESTRICT __restrict",
    "#else",
    "#define NEULER_RESTRICT restrict",
    "#endif",
    "#endif",
)
"""``restrict`` for C and C++."""


@dataclass(frozen=True, eq=False)
class CCode:
    """C99 source code of one function, in files of its name."""

    name: str
    header: str
    source: str
    test: str
    """A program that compares the function with values of the kernel; it returns 0 where they agree."""
    cmake: str
    operations: Operations
    memory: int
    """Bytes: of a function about what it needs of the stack, of a step those of its state."""

    @property
    def files(self) -> dict[str, str]:
        """Texts by the names of their files."""
        found = {f"{self.name}.h": self.header, f"{self.name}.c": self.source}
        if self.test:
            found[f"{self.name}_test.c"] = self.test
        return {**found, "CMakeLists.txt": self.cmake}

    def save(self, folder: str | os.PathLike[str]) -> list[Path]:
        """Write all files into a folder, which is made where there is none."""
        return save(self.files, folder)

    def __repr__(self) -> str:
        """Name, length, operations."""
        return f"<C99 of {self.name}: {self.source.count(chr(10))} lines; {self.operations}>"


def save(files: Mapping[str, str | bytes], folder: str | os.PathLike[str]) -> list[Path]:
    """Write files by their names into a folder, which is made where there is none."""
    where = Path(folder)
    if where.exists() and not where.is_dir():
        raise InputError(f"{os.fspath(folder)!r} is a file: give a folder for {', '.join(files)}")
    where.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, text in files.items():
        paths.append(where / name)
        paths[-1].write_bytes(text if isinstance(text, bytes) else text.encode())
    return paths


def c_code(
    interface: Interface,
    *,
    dtype: str = "float64",
    far: str = "libm",
    batch: bool = False,
    samples: Mapping[str, np.ndarray] | None = None,
    results: Sequence[np.ndarray] = (),
    sized: bool = True,
) -> CCode:
    """C99 of an interface. ``samples`` and ``results`` (states first) are the values that the test compares.

    ``sized``: whether the header states the size of the machine code, which is compiled for that.
    """
    c = Arithmetic(
        "double" if choice("c: dtype", dtype, ("float64", "float32")) == "float64" else "float", interface.name
    )
    choice("c: far", far, FAR)
    schedule = lower(interface.recipe, fma=True)
    total = sum(len(stage.nodes) if isinstance(stage, Chunk) else 2 * len(stage) for stage in schedule.stages)
    if batch and total > WHOLE:
        raise InputError(
            f"c: batch=True is for functions of at most {WHOLE} operations, this one has {total}: leave it out and "
            "call the function for each state"
        )
    parts: list[str] = []
    if total <= WHOLE:
        body = Straight(interface, schedule, c).body()
        lines, stack = body.lines, body.stack
    else:
        pieces = Pieces(schedule, c, interface.name)
        parts, stack = pieces.functions, (4 if c.single else 8) * (schedule.slots + pieces.waiting)
        lines = [f"{c.real} m[{schedule.slots}];", *_copies(interface, c, pieces.calls)]
    main = [*_signature(interface, c.real), "{", *(f"    {line}" for line in lines), "}", ""]
    many = _batch(interface, schedule, c) if batch else []
    waves = any(not isinstance(stage, Chunk) for stage in schedule.stages)
    sines = functions(c, far) if waves else []  # before the helpers: it uses some
    constants = _structure(interface, source=True)
    source = [
        *preamble(interface.name, sines=waves),
        *c.helpers(),
        *sines,
        *constants,
        *parts,
        *main,
        *many,
        *undefined(c, sines=waves),
        "",
    ]
    size = _machine_code(interface, dtype) if sized and total <= _SIZED else ""
    ends = [f"Any angle is valid; beyond FAR_ANGLE in the source {_BEYOND[far]}."] if waves else []
    if not c.single and LIBRARY.isdisjoint(_operations(schedule)):
        ends += [
            "Results have the bits of neuler's own where the machine multiplies and adds in one operation, compiled",
            f"for it (-march=native or -mfma on x86-64) with {FLAGS}{', for angles up to FAR_ANGLE' * waves}.",
        ]
    stack = stack_bytes(stack)
    memory = f"with optimisation at most about {stack} bytes of the stack{size}"
    header = _header(interface, c.real, schedule.operations, memory, ends, batch=batch)
    test = "" if samples is None else test_program(interface, c, samples, results)
    build = cmake()
    return CCode(interface.name, header, "\n".join(source), test, build, schedule.operations, stack)


def _machine_code(interface: Interface, dtype: str) -> str:
    """What it comes to on a small machine that has numbers of this precision."""
    machine = "Cortex-M7" if dtype == "float64" else "Cortex-M4"
    try:
        code = object_file(interface, machine.lower(), dtype)
    except CompileError:  # an LLVM without code for it
        return ""
    return f"; {machine_bytes(code)} bytes of code as an object file for a {machine}"


def stack_bytes(values: int) -> int:
    """What compilers take of the stack for so many bytes of values that wait to be used."""
    return 16 * math.ceil(_SPILLED * values / 16)


def preamble(name: str, *, sines: bool, limits: bool = False) -> list[str]:
    """What a source begins with."""
    return [
        f"/* {name}.c: see {name}.h. Written by neuler {__version__}. */",
        f'#include "{name}.h"',
        "",
        *(["#include <float.h>"] if limits else []),
        "#include <math.h>",
        *(["#include <stdint.h>"] if sines else []),
        *(["#include <string.h>"] if sines else []),
        "",
        "#if defined(__clang__)",
        "#pragma STDC FP_CONTRACT OFF",
        "#endif",
        "",
    ]


def undefined(c: Arithmetic, *, sines: bool) -> list[str]:
    """What a source ends with: its macros, so that several can be compiled as one."""
    macros = ["FMA", "HAS_FMA"] if "fma" in c.used else []
    return [f"#undef {macro}" for macro in (*macros, *(["FAR_ANGLE"] if sines else []))]


def _signature(interface: Interface, real: str, *, batch: bool = False, end: str = "") -> list[str]:
    name = f"{interface.name}_batch" if batch else interface.name
    return signature(f"void {name}", parameters(interface, real, batch=batch), end)


def _copies(interface: Interface, c: Arithmetic, calls: Sequence[str]) -> list[str]:
    """Inputs into slots, the calls, outputs from slots."""
    names, lines, at = interface.arguments(), [], 0
    for operand in interface.recipe.inputs:
        name = names[operand.name]
        lines += (
            [f"m[{at + k}] = {name}[{k}];" for k in range(operand.size)] if operand.shape else [f"m[{at}] = {name};"]
        )
        at += operand.size
    lines += calls
    for operand in interface.recipe.outputs:
        name = names[operand.name]
        for k in range(operand.size):
            lines.append(f"{name}[{k}] = m[{at + k}];" if operand.shape else f"*{name} = m[{at}];")
        at += operand.size
    return lines


def _batch(interface: Interface, schedule: Schedule, c: Arithmetic) -> list[str]:
    """The same for many states in columns: a loop without branches, which compilers vectorise."""
    body = Straight(interface, schedule, c, batch=True).body()
    waves = body.looks
    names, recipe = interface.arguments(), interface.recipe
    lines = ["size_t first;", f"for (first = 0; first < count; first += {_BLOCK}) {{"]
    lines += [f"    const size_t end = count - first < {_BLOCK} ? count : first + {_BLOCK};", "    size_t i;"]
    if waves:
        lines.append("    uint64_t far = 0;" if not c.single else "    uint32_t far = 0;")
    lines += [
        *_INDEPENDENT,
        "    for (i = first; i < end; i++) {",
        *(f"        {line}" for line in body.lines),
        "    }",
    ]
    if waves:
        lines += ["    if (far == 0) {", "        continue;", "    }", "    for (i = first; i < end; i++) {"]
        arguments, copies, back = [], [], []
        for k, operand in enumerate((*recipe.inputs, *recipe.outputs)):
            name, own = names[operand.name], f"x{k}_"  # no argument is called so
            given = k < len(recipe.inputs)
            if given and not operand.shape:
                arguments.append(f"{name}[i]")
                continue
            arguments.append(own)
            lines.append(f"        {c.real} {own}[{operand.size}];")
            if given:
                copies += _each(operand, f"{own}[k] = {name}[k * count + i];")
            else:
                back += _each(operand, f"{name}[k * count + i] = {own}[k];")
        lines += ["        size_t k;", *copies, f"        {interface.name}({', '.join(arguments)});", *back]
        lines.append("    }")
    lines.append("}")
    inside = [line if line.startswith("#") else f"    {line}" for line in lines]
    before = ["#if defined(__clang__)", "#pragma clang diagnostic push"]
    before += ['#pragma clang diagnostic ignored "-Wpass-failed"', "#endif"]
    after = ["#if defined(__clang__)", "#pragma clang diagnostic pop", "#endif"]
    return [*before, *_signature(interface, c.real, batch=True), "{", *inside, "}", *after, ""]


_INDEPENDENT = (
    "#if defined(__clang__)",
    "#pragma clang loop vectorize(assume_safety)",
    "#elif defined(__GNUC__)",
    "#pragma GCC ivdep",
    "#endif",
)
"""Columns do not overlap, whatever their length: without that word compilers do not vectorise. A loop that calls the C
library may stay as it is, and nobody is warned of it."""
_BLOCK = 64
"""States that are computed again, one by one, where one of their angles is large."""


def _each(operand: Operand, statement: str) -> list[str]:
    return [f"        for (k = 0; k < {operand.size}; k++) {{", f"            {statement}", "        }"]


# ---- header -------------------------------------------------------------------------------------------------------


_SPILLED = 1.4
"""What compilers take of the stack, beside the bytes of values that wait: seen on a Cortex-M7 and on x86-64."""
_SIZED = 20_000
"""Operations up to which the size of the code is stated, which is compiled for that."""
_BEYOND = {"libm": "the C library's sin and cos are used", "nan": "results are NaN"}
LIBRARY = frozenset((g.EXP, g.LOG, g.TANH, g.ATAN2, g.POW))
"""Operations whose bits are those of the C library."""
FLAGS = "-std=c99 -O2 -ffp-contract=off"


def _operations(schedule: Schedule) -> set[str]:
    return {node.op for stage in schedule.stages if isinstance(stage, Chunk) for node in stage.nodes}


def object_header(interface: Interface, dtype: str) -> str:
    """The header of an object file."""
    real = "double" if dtype == "float64" else "float"
    schedule = lower(interface.recipe, fma=True)
    memory = f"about {stack_bytes((8 if dtype == 'float64' else 4) * schedule.slots)} bytes of the stack"
    ends = [f"Implemented in {interface.name}.o, which calls libm."]
    return _header(interface, real, schedule.operations, memory, ends)


def _header(
    interface: Interface, real: str, operations: Operations, memory: str, ends: Sequence[str], *, batch: bool = False
) -> str:
    name, recipe, names = interface.name, interface.recipe, interface.arguments()
    guard = f"NEULER_{name}_H"
    text = [line for each in interface.about for line in _folded(comment(each))]
    for side, operands in (("in ", recipe.inputs), ("out", recipe.outputs)):
        for operand in operands:
            text += [""] if text else []
            text.append(comment(f"{side} {names[operand.name]}{shape(operand)}"))
            text += [f"    {line}" for each in interface.described(operand) for line in _folded(comment(each))]
    text += ["", f"{operations} for one state; {memory}."]
    text += [
        "Matrices are stored row by row. NaN in, NaN out. Nothing is allocated, there is no state: calls from several",
        "threads are fine. Outputs may not overlap inputs.",
        *ends,
    ]
    lines = [f"/* {name}.h", " *"]
    lines += [f" * {line}".rstrip() for line in text]
    lines += [
        f" * Written by neuler {__version__}. */",
        f"#ifndef {guard}",
        f"#define {guard}",
        "",
        *(["#include <stddef.h>", ""] if batch else []),
        *RESTRICT,
        "",
        "#ifdef __cplusplus",
        'extern "C" {',
        "#endif",
        "",
        *_signature(interface, real, end=";"),
        "",
    ]
    if batch:
        lines += [
            "/* The same for count states in columns: number k of state i is at [k * count + i]. */",
            *_signature(interface, real, batch=True, end=";"),
            "",
        ]
    lines += _structure(interface, source=False)
    lines += ["#ifdef __cplusplus", "}", "#endif", "", "#endif", ""]
    return "\n".join(lines)


def _folded(text: str) -> list[str]:
    return textwrap.wrap(text, 100, break_long_words=False) or [""]


def _structure(interface: Interface, *, source: bool) -> list[str]:
    """Of sparse outputs, the index of every entry along each axis of the dense array."""
    lines: list[str] = []
    for output, axes in interface.recipe.structure.items():
        name = f"{interface.name}_{interface.arguments()[output]}"
        if not axes or not axes[0]:
            continue
        if not source:
            lines.append("/* Where the entries of a sparse result stand in the dense array. */")
        for axis, places in zip(_axes(len(axes)), axes, strict=True):
            head = f"const int {name}_{axis}[{len(places)}]"
            if not source:
                lines.append(f"extern {head};")
                continue
            numbers = textwrap.wrap(", ".join(map(str, places)), 100)
            lines += [f"{head} = {{", *(f"    {line}" for line in numbers), "};"]
        lines.append("")
    return lines


def _axes(count: int) -> list[str]:
    return ["row", "column"] if count == 2 else [f"axis{k}" for k in range(count)]
