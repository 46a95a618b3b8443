"""A function as a file of Python: on lists with ``math`` alone (also MicroPython), or on arrays with NumPy."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from neuler.export.formulas import Table, formulas
from neuler.export.interface import Interface, shape
from neuler.export.names import comment, identifier
from neuler.export.saving import WRITTEN
from neuler.trace import graph as g
from neuler.trace.recipe import Operand

WIDTH = 116


@dataclass(frozen=True)
class Text:
    """An expression and how strongly its last operation binds: 0 sum, 1 product, 2 sign, 3 atom."""

    text: str
    binds: int = 3

    def __str__(self) -> str:
        return self.text

    def inside(self, least: int) -> str:
        """With brackets where it binds less."""
        return self.text if self.binds >= least else f"({self.text})"


def _call(name: str, arguments: int = 1) -> Any:
    if arguments == 1:
        return lambda a, _: Text(f"{name}({a})")
    return lambda a, b: Text(f"{name}({a}, {b})")


def _power(a: Any, b: Any) -> Text:
    """NaN of numbers below zero, as in kernels."""
    return Text(f"np.where({a} >= 0.0, np.power({a}, {b}), np.nan)")


_ARITHMETIC = {
    g.ADD: lambda a, b: Text(f"{a.inside(0)} + {b.inside(1)}", 0),
    g.SUB: lambda a, b: Text(f"{a.inside(0)} - {b.inside(1)}", 0),
    g.MUL: lambda a, b: Text(f"{a.inside(1)} * {b.inside(2)}", 1),
    g.DIV: lambda a, b: Text(f"{a.inside(1)} / {b.inside(2)}", 1),
    g.NEG: lambda a, _: Text(f"-{a.inside(2)}", 2),
}
_PLAIN = {
    **_ARITHMETIC,
    g.SIN: _call("sin"), g.COS: _call("cos"), g.SQRT: _call("_sqrt"), g.SIGN: _call("_sign"), g.ABS: _call("abs"),
    g.EXP: _call("_exp"), g.LOG: _call("_log"), g.TANH: _call("tanh"), g.ATAN2: _call("atan2", 2),
    g.POW: _call("_pow", 2),
    g.ABOVE: _call("_above", 2), g.FELT: lambda a, b: Text(f"_above({a}, {g.FELT_FROM['float64']!r} * {b})"),
    g.LESS: _call("_less", 2), g.LEQ: _call("_leq", 2), g.MASK: _call("_mask", 2), g.MIN: _call("_min", 2),
    g.MAX: _call("_max", 2),
}  # fmt: skip
_ARRAYS = {
    **_ARITHMETIC,
    g.SIN: _call("np.sin"), g.COS: _call("np.cos"), g.SQRT: _call("np.sqrt"), g.SIGN: _call("np.sign"),
    g.ABS: _call("np.abs"), g.EXP: _call("np.exp"), g.LOG: _call("np.log"), g.TANH: _call("np.tanh"),
    g.ATAN2: _call("np.arctan2", 2), g.POW: _power, g.MIN: _call("np.minimum", 2),
    g.MAX: _call("np.maximum", 2),
    g.ABOVE: lambda a, b: Text(f"np.where({a} > {b}, 1.0, np.nan)"),
    g.FELT: lambda a, b: Text(f"np.where({a} > {g.FELT_FROM['float64']!r} * {b}, 1.0, np.nan)"),
    g.LESS: lambda a, b: Text(f"np.where({a} < {b}, 1.0, 0.0)"),
    g.LEQ: lambda a, b: Text(f"np.where({a} <= {b}, 1.0, 0.0)"),
    g.MASK: lambda a, b: Text(f"np.where({a} != 0.0, {b}, 0.0)"),
}  # fmt: skip
_HELPERS = {
    "_exp": "def _exp(x):\n    return exp(x) if x < 709.782712893384 else _INFINITY if x > 0.0 else x",
    "_log": "def _log(x):\n    return log(x) if x > 0.0 else -_INFINITY if x == 0.0 else _NAN",
    "_div": "def _div(a, b):\n    return a / b if b != 0.0 else _NAN if a == 0.0 or a != a else a * _INFINITY",
    "_sqrt": "def _sqrt(x):\n    return sqrt(x) if x >= 0.0 else _NAN",
    "_sign": "def _sign(x):\n    return 1.0 if x > 0.0 else -1.0 if x < 0.0 else x",
    "_pow": (
        "def _pow(x, p):\n    try:\n        return x**p if x >= 0.0 else _NAN\n"
        "    except (OverflowError, ZeroDivisionError):\n        return _INFINITY"
    ),
    "_above": "def _above(x, least):\n    return 1.0 if x > least else _NAN",
    "_less": "def _less(a, b):\n    return 1.0 if a < b else 0.0",
    "_leq": "def _leq(a, b):\n    return 1.0 if a <= b else 0.0",
    "_mask": "def _mask(c, x):\n    return x if c != 0.0 else 0.0",
    "_min": "def _min(a, b):\n    return a if a != a or a < b else b",
    "_max": "def _max(a, b):\n    return a if a != a or a > b else b",
}


def _plain(operations: frozenset[str]) -> Table:
    """Where values are chosen, one that is not chosen may divide by zero."""
    return {**_PLAIN, g.DIV: _call("_div", 2)} if g.MASK in operations else _PLAIN


def number(x: float) -> Text:
    """A constant, exactly."""
    if x != x:
        return Text("_NAN")
    if x in (float("inf"), float("-inf")):
        return Text("_INFINITY" if x > 0 else "-_INFINITY", 3 if x > 0 else 2)
    return Text(repr(x), 3 if x >= 0 else 2)


def python_code(interface: Interface, *, numpy: bool = False, names: Mapping[str, str] | None = None) -> str:
    """The text of a module with one function; ``names`` are other names of its numbers, by their labels."""
    own = interface.renamed(names, "python")
    names = interface.arguments()
    used = {interface.name, *names.values(), "np", "_batch"}

    def inputs(operand: Operand) -> Sequence[Text]:
        name = names[operand.name]
        if not operand.shape:
            return [Text(name)]
        found = []
        for k in range(operand.size):
            each = identifier(own.get((operand.name, k), f"{name}_{k + 1}"), used)
            used.add(each)
            found.append(Text(each))
        symbols_of[operand.name] = found
        return found

    symbols_of: dict[str, list[Text]] = {}

    found = formulas(interface, inputs, Text, number, _ARRAYS if numpy else _plain, "Python")
    recipe = interface.recipe
    body: list[str] = []
    for operand in recipe.inputs:
        name = names[operand.name]
        if numpy:
            body.append(f"{name} = np.asarray({name}, dtype=float)")
            if operand.shape:
                flat = (
                    f"{name}.reshape(*{name}.shape[:-{len(operand.shape)}], {operand.size})"
                    if len(operand.shape) > 1
                    else name
                )
                symbols = _row(symbols_of[operand.name])
                body += _wrapped(f"{symbols} = np.moveaxis({flat}, -1, 0)")
        elif operand.shape:
            symbols = _row(symbols_of[operand.name])
            body += _wrapped(f"{symbols} = {name}")
    if numpy:
        fronts = [_front(names[x.name], len(x.shape)) for x in recipe.inputs]
        body += _wrapped(f"_batch = np.broadcast_shapes({', '.join(fronts)})")
    for each in found.common:
        body += _wrapped(f"{each.name} = {each.value}")
    results = []
    for operand in recipe.outputs:
        values = found.outputs[operand.name]
        if not operand.shape:
            results.append(f"np.array(np.broadcast_to({values[0]}, _batch))" if numpy else str(values[0]))
            continue
        name = names[operand.name]
        if numpy:
            cells = ", ".join(str(x) for x in values)
            body += _wrapped(f"{name} = np.stack([np.broadcast_to(x, _batch) for x in ({cells},)], axis=-1)")
            if len(operand.shape) > 1:
                body.append(f"{name} = {name}.reshape(*{name}.shape[:-1], {', '.join(map(str, operand.shape))})")
        else:
            body += _wrapped(f"{name} = [{', '.join(str(x) for x in values)}]")
        results.append(name)
    body.append(f"return {', '.join(results)}")
    return _module(interface, body, own, numpy=numpy)


def _row(names: Sequence[Text]) -> str:
    """Names that a row of numbers is unpacked into."""
    return f"({', '.join(map(str, names))}{',' * (len(names) == 1)})"


def _front(name: str, axes: int) -> str:
    """The batch axes of an argument."""
    return f"{name}.shape[:-{axes}]" if axes else f"{name}.shape"


def _module(interface: Interface, body: Sequence[str], own: Mapping[tuple[str, int], str], *, numpy: bool) -> str:
    names, recipe = interface.arguments(), interface.recipe
    text = "\n".join(body)
    said = [line for each in interface.about for line in textwrap.wrap(_quoted(each), WIDTH - 8)]
    doc = [f'"""{said[0] if said else interface.name}.', *said[1:]]
    for side, operands in (("in ", recipe.inputs), ("out", recipe.outputs)):
        for operand in operands:
            doc.append(f"{side} {names[operand.name]}{shape(operand) if operand.shape else ''}")
            doc += [f"    {_quoted(line)}" for line in interface.described(operand, own)]
    doc += [
        "Arrays with batch axes in front." if numpy else "Matrices are lists of all numbers, row by row.",
        WRITTEN,
        '"""',
    ]
    used = [name for name in _HELPERS if f"{name}(" in text]
    helpers = "\n\n\n".join(_HELPERS[name] for name in used)
    everything = f"{text}\n{helpers}"
    lines = ["\n".join(doc), ""]
    if numpy:
        lines.append("import numpy as np")
    else:
        wanted = [name for name in ("atan2", "cos", "exp", "log", "sin", "sqrt", "tanh") if _calls(everything, name)]
        if wanted:
            lines.append(f"from math import {', '.join(wanted)}")
    if "_NAN" in everything:
        lines.append('\n_NAN = float("nan")')
    if "_INFINITY" in everything:
        lines.append('\n_INFINITY = float("inf")')
    if helpers:
        lines += ["", "", helpers]
    arguments = ", ".join(names[operand.name] for operand in recipe.inputs)
    lines += ["", "", f"def {interface.name}({arguments}):", textwrap.indent(text, "    "), ""]
    return "\n".join(lines)


def _quoted(text: str) -> str:
    """Text that may stand in a docstring."""
    return comment(text).replace('"""', "'''").replace("\\", "/")


def _calls(text: str, name: str) -> bool:
    return re.search(rf"(?<![\w.]){name}\(", text) is not None


def _wrapped(text: str) -> list[str]:
    if len(text) <= WIDTH - 4:
        return [text]
    head, _, rest = text.partition(" = ")
    if head.startswith("("):  # names that are unpacked: what closes them stays on one line
        lines = textwrap.wrap(f"{head}\0=\0{rest}", WIDTH - 4, subsequent_indent="    ", break_long_words=False)
        return [line.replace("\0", " ") for line in lines]
    return textwrap.wrap(
        f"{head} = ({rest})", WIDTH - 4, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False
    )
