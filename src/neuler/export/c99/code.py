"""A function as C99: a header, a source, a test with reference values, and how CMake builds them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from neuler.compiler.lower import lower
from neuler.compiler.schedule import Chunk, Schedule
from neuler.errors import CompileError, InputError
from neuler.export.c99.arithmetic import Arithmetic
from neuler.export.c99.function import WHOLE, Straight
from neuler.export.c99.harness import cmake, test_program
from neuler.export.c99.header import (
    BEYOND,
    FLAGS,
    LIBRARY,
    SIZED,
    c_header,
    c_signature,
    operations_of,
    stack_bytes,
    structure,
)  # fmt: skip
from neuler.export.c99.pieces import Pieces
from neuler.export.c99.sincos import FAR, functions
from neuler.export.interface import Interface
from neuler.export.objects import machine_bytes, object_file
from neuler.export.samples import Samples
from neuler.export.saving import WRITTEN, save
from neuler.inputs import choice
from neuler.trace.recipe import Operand, Operations


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


def c_code(
    interface: Interface,
    *,
    dtype: str = "float64",
    far: str = "libm",
    batch: bool = False,
    samples: Samples | None = None,
    sized: bool = True,
) -> CCode:
    """C99 of an interface; ``samples`` are the values that the test compares.

    ``sized``: whether the header states the size of the machine code, which is compiled for that.
    """
    c = Arithmetic(
        "double" if choice("c: dtype", dtype, ("float64", "float32")) == "float64" else "float", interface.name
    )
    choice("c: far", far, FAR)
    if not isinstance(batch, bool):
        raise InputError(f"c: batch must be True or False, got {batch!r:.60}")
    not_a_test(interface.name)
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
    main = [*c_signature(interface, c.real), "{", *(f"    {line}" for line in lines), "}", ""]
    many = _batch(interface, schedule, c) if batch else []
    waves = any(not isinstance(stage, Chunk) for stage in schedule.stages)
    sines = functions(c, far) if waves else []  # before the helpers: it uses some
    constants = structure(interface, source=True)
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
    size = _machine_code(interface, dtype) if sized and total <= SIZED else ""
    ends = [f"Any angle is valid; beyond FAR_ANGLE in the source {BEYOND[far]}."] if waves else []
    if not c.single and LIBRARY.isdisjoint(operations_of(schedule)):
        ends += [
            "Results have the bits of neuler's own where the machine multiplies and adds in one operation, compiled",
            f"for it (-march=native or -mfma on x86-64) with {FLAGS}{', for angles up to FAR_ANGLE' * waves}.",
        ]
    stack = stack_bytes(stack)
    memory = f"by gcc about {stack} bytes of the stack at most, without the C library's{size}"
    header = c_header(interface, c.real, schedule.operations, memory, ends, batch=batch)
    test = "" if samples is None else test_program(interface, c, samples)
    build = cmake()
    return CCode(interface.name, header, "\n".join(source), test, build, schedule.operations, stack)


def not_a_test(name: str) -> None:
    """Refuse a name whose files would be those of another function's test."""
    if name.endswith("_test"):
        raise InputError(f"c: NAME_test.c is the test of NAME, so that no function may be called {name!r}")


def _machine_code(interface: Interface, dtype: str) -> str:
    """What it comes to on a small machine that has numbers of this precision."""
    machine = "Cortex-M7" if dtype == "float64" else "Cortex-M4"
    try:
        code = object_file(interface, machine.lower(), dtype)
    except CompileError:  # an LLVM without code for it
        return ""
    return f"; {machine_bytes(code)} bytes of code as an object file for a {machine}"


def preamble(name: str, *, sines: bool, limits: bool = False) -> list[str]:
    """What a source begins with."""
    return [
        f"/* {name}.c: see {name}.h. {WRITTEN} */",
        f'#include "{name}.h"',
        "",
        *(["#include <float.h>"] if limits or sines else []),
        "#include <math.h>",
        *(["#include <stdint.h>"] if sines else []),
        *(["#include <string.h>"] if sines else []),
        "",
        "#if defined(__clang__)",
        "#pragma STDC FP_CONTRACT OFF",
        *(["#pragma clang fp reassociate(off)"] if sines else []),
        "#endif",
        "",
        *(_STRICT if sines else []),
    ]


_STRICT = [
    "/* Angles are reduced by sums whose order matters. */",
    "#if defined(__FAST_MATH__) || defined(__ASSOCIATIVE_MATH__)",
    '#error "sines would be wrong: compile without -ffast-math, -Ofast and -funsafe-math-optimizations"',
    "#endif",
    "#if defined(FLT_EVAL_METHOD) && FLT_EVAL_METHOD != 0",
    '#error "sines would be wrong: compile with FLT_EVAL_METHOD 0 (on x86 -msse2 -mfpmath=sse, with gcc -std=c99)"',
    "#endif",
    "",
]
"""Refuses what makes compilers round otherwise."""


def undefined(c: Arithmetic, *, sines: bool) -> list[str]:
    """What a source ends with: its macros, so that several can be compiled as one."""
    macros = ["FMA", "HAS_FMA"] if "fma" in c.used else []
    return [f"#undef {macro}" for macro in (*macros, *(["FAR_ANGLE"] if sines else []))]


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
    return [*before, *c_signature(interface, c.real, batch=True), "{", *inside, "}", *after, ""]


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
