"""A function as one of CasADi: over SX, with sparsity and derivatives of any order, or as an external from our C.

Arrays with more than two axes come as matrices whose rows run over all axes but the last.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Mapping, Sequence
from math import prod
from pathlib import Path
from typing import Any

from neuler import extras
from neuler.errors import InputError
from neuler.export.c99.code import c_code
from neuler.export.compilers import shared_library
from neuler.export.interface import Interface
from neuler.export.names import identifier
from neuler.naming import fresh
from neuler.trace import graph as g
from neuler.trace.differentiate import jacobian
from neuler.trace.graph import Node, Scalar
from neuler.trace.listing import Listing, run
from neuler.trace.recipe import Operand, Recipe

_KEPT: list[Any] = []
"""Folders of libraries that CasADi has loaded: they stay while the process lives."""


def casadi_function(interface: Interface, *, external: bool = False) -> Any:
    """CasADi's ``Function``; ``external`` is one from C with its Jacobian, which needs a C compiler."""
    extras.require("casadi", "CasADi's functions need CasADi", "casadi")
    import casadi

    if not casadi.Function.check_name(interface.name):
        raise InputError(f"casadi: {interface.name!r} is reserved in CasADi; give another name")
    recipe, names = interface.recipe, interface.arguments()
    inputs, outputs = ([names[x.name] for x in side] for side in (recipe.inputs, recipe.outputs))
    if external:
        return _external(interface)
    symbols = [casadi.SX.sym(name, *_size(x)) for name, x in zip(inputs, recipe.inputs, strict=True)]
    flat = [entry for symbol, x in zip(symbols, recipe.inputs, strict=True) for entry in _row_by_row(symbol, x)]
    listing = Listing.of(recipe)
    found = listing.split(run(listing.body, flat, _table()))
    results = [_shaped(values, x) for values, x in zip(found, recipe.outputs, strict=True)]
    return casadi.Function(interface.name, symbols, results, inputs, outputs)


def _size(operand: Operand) -> tuple[int, int]:
    shape = operand.shape
    return (prod(shape[:-1]), shape[-1]) if len(shape) > 1 else (operand.size, 1)


def _row_by_row(symbol: Any, operand: Operand) -> list[Any]:
    rows, columns = _size(operand)
    return [symbol[k, j] for k in range(rows) for j in range(columns)]


def _shaped(values: Sequence[Any], operand: Operand) -> Any:
    import casadi

    rows, columns = _size(operand)
    found = casadi.SX(rows, columns)  # structurally zero until something stands there
    for k, x in enumerate(values):
        if not isinstance(x, float) or x != 0.0:
            found[k // columns, k % columns] = x
    return found


def _table() -> dict[str, Any]:
    import casadi as ca

    def least(a: Any, b: Any) -> Any:
        """CasADi's fmin leaves NaN out; a sum does not."""
        return ca.if_else(a < b, a, ca.if_else(a >= b, b, a + b))

    return {
        g.ADD: lambda a, b: a + b, g.SUB: lambda a, b: a - b, g.MUL: lambda a, b: a * b, g.DIV: lambda a, b: a / b,
        g.NEG: lambda a, _: -a, g.SIN: lambda a, _: ca.sin(a), g.COS: lambda a, _: ca.cos(a),
        g.SQRT: lambda a, _: ca.sqrt(a), g.SIGN: lambda a, _: ca.if_else(a > 0, 1.0, ca.if_else(a < 0, -1.0, a)),
        g.ABS: lambda a, _: ca.fabs(a), g.EXP: lambda a, _: ca.exp(a), g.LOG: lambda a, _: ca.log(a),
        g.TANH: lambda a, _: ca.tanh(a), g.ATAN2: lambda a, b: ca.atan2(a, b),
        g.POW: lambda a, b: ca.if_else(a >= 0, ca.power(a, b), math.nan),
        g.MIN: least, g.MAX: lambda a, b: -least(-a, -b),
        g.LESS: lambda a, b: ca.if_else(a < b, 1.0, 0.0), g.LEQ: lambda a, b: ca.if_else(a <= b, 1.0, 0.0),
        g.MASK: lambda c, x: ca.if_else(c != 0, x, 0.0),
        g.ABOVE: lambda a, b: ca.if_else(a > b, 1.0, math.nan),
        g.FELT: lambda a, b: ca.if_else(a > g.FELT_FROM["float64"] * b, 1.0, math.nan),
    }  # fmt: skip


# ---- from C -------------------------------------------------------------------------------------------------------


def _jacobian(recipe: Recipe) -> Recipe:
    """A block dy/dx for each output and each input, outputs first."""
    pairs = [(y, x) for y in recipe.outputs for x in recipe.inputs]

    def trace(values: Mapping[str, list[Scalar]]) -> list[list[Scalar]]:
        results = [x for part in recipe.trace(values) for x in part]
        nodes = [x for operand in recipe.inputs for x in values[operand.name] if isinstance(x, Node)]
        found = jacobian(results, nodes)
        rows, columns = _starts(recipe.outputs), _starts(recipe.inputs)
        return [
            [found.get((rows[y.name] + i, columns[x.name] + j), 0.0) for i in range(y.size) for j in range(x.size)]
            for y, x in pairs
        ]

    taken = [x.name for x in recipe.inputs]
    outputs = tuple(Operand(fresh(f"jac_{y.name}_{x.name}", taken), (y.size, x.size)) for y, x in pairs)
    return Recipe(recipe.inputs, outputs, trace)


def _starts(operands: Sequence[Operand]) -> dict[str, int]:
    found, at = {}, 0
    for operand in operands:
        found[operand.name] = at
        at += operand.size
    return found


def _external(interface: Interface) -> Any:
    """Our C behind CasADi's interface, compiled and loaded. Arrays of CasADi are column by column, ours row by row."""
    import casadi

    folder = tempfile.TemporaryDirectory(prefix="neuler-casadi-")
    _KEPT.append(folder)
    where, name = Path(folder.name), interface.name
    own = [name, f"jac_{name}"]
    parts = {name: Interface(identifier("values", own), interface.recipe)}
    parts[f"jac_{name}"] = Interface(identifier("slopes", own), _jacobian(interface.recipe))
    for each in parts.values():
        c_code(each).save(where)
    glue = where / f"{name}_casadi.c"
    glue.write_text(_glue(name, *parts.values()), encoding="utf-8")
    sources = [glue, *(where / f"{each.name}.c" for each in parts.values())]
    library = shared_library(sources, where / f"{name}{len(_KEPT)}.so")
    return casadi.external(name, str(library))


def _glue(name: str, interface: Interface, slopes: Interface) -> str:
    recipe = interface.recipe
    pairs = [(y, x) for y in recipe.outputs for x in recipe.inputs]
    lines = [
        f'#include "{interface.name}.h"',
        f'#include "{slopes.name}.h"',
        "#define casadi_int long long int",
        "#if defined(_WIN32)",
        "#define EXPORT __declspec(dllexport)",
        "#else",
        '#define EXPORT __attribute__((visibility("default")))',
        "#endif",
        "",
    ]
    takes = [_size(x) for x in recipe.inputs]
    gives = [_size(x) for x in recipe.outputs]
    blocks = [(y.size, x.size) for y, x in pairs]
    own = interface.arguments()
    inputs, outputs = ([own[x.name] for x in side] for side in (recipe.inputs, recipe.outputs))
    lines += _function(name, interface.name, recipe, takes, gives, inputs, outputs)
    inner = [*takes, *gives]
    names = [*inputs, *(f"out_{y}" for y in outputs)]
    out = [f"jac_{own[y.name]}_{own[x.name]}" for y, x in pairs]
    lines += _function(f"jac_{name}", slopes.name, slopes.recipe, inner, blocks, names, out, pairs)
    return "\n".join(lines)


def _function(
    name: str, inner: str, recipe: Recipe, takes: Sequence[tuple[int, int]], gives: Sequence[tuple[int, int]],
    inputs: Sequence[str], outputs: Sequence[str], pairs: Sequence[tuple[Operand, Operand]] = (),
) -> list[str]:  # fmt: skip
    """One function of CasADi's interface around one of ours."""
    work = sum(x.size for x in recipe.inputs) + sum(y.size for y in recipe.outputs)
    lines = [f"EXPORT int {name}(const double **arg, double **res, casadi_int *iw, double *w, int mem)", "{"]
    lines += ["    casadi_int i;", "    (void)iw;", "    (void)mem;"]
    at, arguments = 0, []
    for k, x in enumerate(recipe.inputs):
        rows, columns = takes[k]
        lines += _loop(at, x.size, f"arg[{k}] ? arg[{k}][{_turned(rows, columns)}] : 0.0")
        arguments.append(f"w + {at}" if x.shape else f"w[{at}]")
        at += x.size
    first = at
    for y in recipe.outputs:
        arguments.append(f"w + {at}")
        at += y.size
    lines.append(f"    {inner}({', '.join(arguments)});")
    at = first
    for k, y in enumerate(recipe.outputs):
        rows, columns = gives[k]
        place = _turned(rows, columns) if not pairs else _block(*pairs[k])
        lines += [
            f"    for (i = 0; res[{k}] && i < {y.size}; i++) {{",
            f"        res[{k}][{place}] = w[{at} + i];",
            "    }",
        ]
        at += y.size
    lines += ["    return 0;", "}", ""]
    for what, sizes, known in (("in", takes, inputs), ("out", gives, outputs)):
        lines += [f"EXPORT casadi_int {name}_n_{what}(void) {{ return {len(sizes)}; }}"]
        texts = ", ".join(f'"{each}"' for each in known)
        lines += [
            f"EXPORT const char *{name}_name_{what}(casadi_int i)",
            "{",
            f"    static const char *const names[] = {{{texts}}};",
            "    return names[i];",
            "}",
        ]
        dense = ", ".join(f"{{{rows}, {columns}, 1}}" for rows, columns in sizes)
        lines += [
            f"EXPORT const casadi_int *{name}_sparsity_{what}(casadi_int i)",
            "{",
            f"    static const casadi_int sizes[][3] = {{{dense}}};",
            "    return sizes[i];",
            "}",
        ]
    lines += [
        f"EXPORT int {name}_work(casadi_int *sz_arg, casadi_int *sz_res, casadi_int *sz_iw, casadi_int *sz_w)",
        "{",
        f"    *sz_arg = {len(takes)};",
        f"    *sz_res = {len(gives)};",
        "    *sz_iw = 0;",
        f"    *sz_w = {work};",
        "    return 0;",
        "}",
        "",
    ]
    return lines


def _loop(at: int, size: int, value: str) -> list[str]:
    return [f"    for (i = 0; i < {size}; i++) {{", f"        w[{at} + i] = {value};", "    }"]


def _turned(rows: int, columns: int) -> str:
    """The place in CasADi's order of number i of ours."""
    if rows == 1 or columns == 1:
        return "i"
    return f"(i % {columns}) * {rows} + i / {columns}"


def _block(y: Operand, x: Operand) -> str:
    """Of a block dy/dx whose numbers are ours, y row by row, then x; in CasADi's rows and columns."""
    row, column = f"(i / {x.size})", f"(i % {x.size})"
    return f"({_place(column, x)}) * {y.size} + ({_place(row, y)})"


def _place(i: str, operand: Operand) -> str:
    rows, columns = _size(operand)
    return i if rows == 1 or columns == 1 else f"({i} % {columns}) * {rows} + {i} / {columns}"
