"""The header of exported C: what the function computes, names and units of its numbers, what it takes of a machine."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence

from neuler.compiler.lower import lower
from neuler.compiler.schedule import Chunk, Schedule
from neuler.export.c99.function import parameters, signature
from neuler.export.interface import Interface, shape
from neuler.export.names import comment
from neuler.export.saving import WRITTEN
from neuler.trace import graph as g
from neuler.trace.recipe import Operations

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
_SAVED = 64
"""Bytes of registers that a function saves, and of its arguments."""
OF_STEPS, OF_OBJECTS = 2.0, 2.6
"""See ``stack_bytes``."""
SIZED = 20_000
"""Operations up to which the size of the code is stated, which is compiled for that."""
BEYOND = {"libm": "the C library's sin and cos are used", "nan": "results are NaN"}
LIBRARY = frozenset((g.EXP, g.LOG, g.TANH, g.ATAN2, g.POW))
"""Operations whose bits are those of the C library."""
FLAGS = "-std=c99 -O2 -ffp-contract=off"


def operations_of(schedule: Schedule) -> set[str]:
    """Kinds of operations that a schedule has."""
    return {node.op for stage in schedule.stages if isinstance(stage, Chunk) for node in stage.nodes}


def object_header(interface: Interface, dtype: str) -> str:
    """The header of an object file."""
    real = "double" if dtype == "float64" else "float"
    schedule = lower(interface.recipe, fma=True)
    stack = stack_bytes((8 if dtype == "float64" else 4) * schedule.slots, OF_OBJECTS)
    ends = [f"Implemented in {interface.name}.o, which calls the C library's mathematics."]
    if dtype == "float32" and not LIBRARY.isdisjoint(operations_of(schedule)):
        ends.append("exp, log, tanh, atan2 and pow are called in double precision.")
    memory = f"about {stack} bytes of the stack at most, without the C library's"
    return c_header(interface, real, schedule.operations, memory, ends)


def c_header(
    interface: Interface, real: str, operations: Operations, memory: str, ends: Sequence[str], *, batch: bool = False
) -> str:
    """The whole header; ``memory`` and ``ends`` are sentences of its comment."""
    name, recipe, names = interface.name, interface.recipe, interface.arguments()
    guard = f"NEULER_{name}_H"
    text = [line for each in interface.about for line in _folded(comment(each))]
    for side, operands in (("in ", recipe.inputs), ("out", recipe.outputs)):
        for operand in operands:
            text += [""] if text else []
            text.append(comment(f"{side} {names[operand.name]}{shape(operand)}"))
            text += [f"    {line}" for each in interface.described(operand) for line in _folded(comment(each))]
    text += ["", *_folded(f"{operations} for one state; {memory}.")]
    text += [
        "Matrices are stored row by row. Nothing is allocated, there is no state: calls from several threads are fine.",
        "Outputs must not overlap inputs.",
        *ends,
    ]
    lines = [f"/* {name}.h", " *"]
    lines += [f" * {line}".rstrip() for line in text]
    lines += [
        f" * {WRITTEN} */",
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
        *c_signature(interface, real, end=";"),
        "",
    ]
    if batch:
        lines += [
            "/* The same for count states in columns: number k of state i is at [k * count + i]. */",
            *c_signature(interface, real, batch=True, end=";"),
            "",
        ]
    lines += structure(interface, source=False)
    lines += ["#ifdef __cplusplus", "}", "#endif", "", "#endif", ""]
    return "\n".join(lines)


def _folded(text: str) -> list[str]:
    return textwrap.wrap(text, 100, break_long_words=False) or [""]


def structure(interface: Interface, *, source: bool) -> list[str]:
    """Of sparse outputs, the index of every entry along each axis of the dense array."""
    lines: list[str] = []
    for name, places in interface.structure().items():
        head = f"const int {name}[{len(places)}]"
        if source:
            numbers = textwrap.wrap(", ".join(map(str, places)), 100)
            lines += [f"{head} = {{", *(f"    {line}" for line in numbers), "};"]
        else:
            lines.append(f"extern {head};")
    if lines and not source:
        lines.insert(0, "/* Where the entries of a sparse result stand in the dense array. */")
    return [*lines, ""] if lines else []


def stack_bytes(values: int, spilled: float = 1.5) -> int:
    """What gcc takes of the stack, at most, for so many bytes of values that wait to be used.

    Seen on Cortex-M4 and M7 with -Os and -O2 and on x86-64: up to ``spilled`` times the values, and registers that are
    saved. Of steps, whose parts are put into one function, twice the values; of object files, whose values all have a
    place in memory, more. clang takes up to twice as much on x86-64.
    """
    return 16 * math.ceil((spilled * values + _SAVED) / 16)


def c_signature(interface: Interface, real: str, *, batch: bool = False, end: str = "") -> list[str]:
    """The head of the function, or of its loop over columns."""
    name = f"{interface.name}_batch" if batch else interface.name
    return signature(f"void {name}", parameters(interface, real, batch=batch), end)
