"""A function as SymPy expressions, and as LaTeX: for teaching, for checking, and for other computer algebra."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from neuler import extras
from neuler.errors import InputError
from neuler.export.formulas import formulas
from neuler.export.interface import Interface
from neuler.export.names import identifier, latex
from neuler.export.saving import WRITTEN
from neuler.trace import graph as g
from neuler.trace.recipe import Operand

_PAGE = 60
"""Formulas that a notebook shows."""
_OF_SYMPY = (
    "Abs", "COMMON", "Max", "Matrix", "Min", "Ne", "OUTPUTS", "Piecewise", "Symbol", "atan2", "exp", "log", "pi",
    "sign", "sqrt", "tanh",
)  # fmt: skip
"""Names that the code of expressions needs."""
_DOTS = {
    "q": "",
    "qd": r"\dot",
    "qdd": r"\ddot",
    "qddd": r"\dddot",
    "theta": "",
    "thetad": r"\dot",
    "thetadd": r"\ddot",
}
_LETTERS = {"tau": r"\tau", "theta": r"\theta", "thetad": r"\theta", "thetadd": r"\theta"}
_PARTS = {"mass": "m", "viscous": "F_v", "coulomb": "F_c", "rotor_inertia": "I_a", "stiffness": "k"}


@dataclass(frozen=True, eq=False)
class Symbolic:
    """SymPy expressions of a function: common values by name, and outputs in terms of these and of the inputs."""

    name: str
    inputs: dict[str, Any]
    """By operand a SymPy symbol, or a matrix of them."""
    common: tuple[tuple[Any, Any], ...]
    """Symbols of values that are used again, and what they are, in order."""
    outputs: dict[str, Any]
    """By operand an expression, or a matrix; of arrays with more axes the last two are the matrix's, in a list."""
    letters: dict[Any, str] = field(repr=False, default_factory=dict)
    """By symbol, its LaTeX."""

    def expanded(self) -> dict[str, Any]:
        """Outputs in terms of the inputs alone: closed forms, which are long but for small robots.

        >>> import neuler, sympy
        >>> found = neuler.robots.two_link().compile("gravity_force", parameters="gravity").sympy()
        >>> sympy.count_ops(found.expanded()["gravity"]) > 0
        True
        """
        known: dict[Any, Any] = {}
        for symbol, value in self.common:
            known[symbol] = value.xreplace(known)
        return {name: _mapped(value, lambda x: x.xreplace(known)) for name, value in self.outputs.items()}

    def formulas(self) -> list[str]:
        """LaTeX of every common value and every output, each a formula of its own."""
        import sympy

        def written(x: Any) -> str:
            return str(sympy.latex(x, symbol_names=self.letters, mul_symbol=r"\,"))

        found = [f"{self.letters[symbol]} = {written(value)}" for symbol, value in self.common]
        for name, value in self.outputs.items():
            for place, entry in _entries(value):
                found.append(f"{_indexed(name, place)} = {written(entry)}")
        return found

    def latex(self) -> str:
        """All formulas below each other, for a document that uses ``amsmath``."""
        return "\\begin{align}\n" + " \\\\\n".join(self._aligned()) + "\n\\end{align}\n"

    def _aligned(self) -> list[str]:
        return [formula.replace(" = ", " &= ", 1) for formula in self.formulas()]

    def code(self) -> str:
        """A file of Python that makes the same expressions: symbols, common values, outputs, each by its name."""
        common = {symbol for symbol, _ in self.common}
        names = [symbol.name for symbol in self.letters if symbol not in common]
        lines = [f'"""{self.name}: expressions of SymPy. Common values are symbols; COMMON says what they are.']
        lines += [WRITTEN, '"""', ""]
        lines += ["from sympy import *", "", ""]
        every = [*names, *(symbol.name for symbol, _ in self.common)]
        lines += [f'{each} = Symbol("{each}", real=True)' for each in every]
        lines += ["", "COMMON = ["]
        lines += [f"    ({symbol.name}, {value})," for symbol, value in self.common]
        lines += ["]", "OUTPUTS = {"]
        lines += [f'    "{name}": {value},' for name, value in self.outputs.items()]
        return "\n".join([*lines, "}", ""])

    def _repr_latex_(self) -> str | None:
        """For notebooks; none of functions that are longer than a page."""
        size = len(self.common) + sum(len(_entries(value)) for value in self.outputs.values())
        if size > _PAGE:
            return None
        return "$\\displaystyle \\begin{aligned}" + r" \\ ".join(self._aligned()) + "\\end{aligned}$"

    def __repr__(self) -> str:
        """How many values it has."""
        return f"<SymPy of {self.name}: {len(self.common)} common values; {', '.join(self.outputs)}>"


def symbolic(interface: Interface, names: Mapping[str, str] | None = None) -> Symbolic:
    """SymPy expressions of an interface; ``names`` are other names of its numbers, by their labels."""
    extras.require("sympy", "symbolic expressions need SymPy", "symbols")
    import sympy

    own, given = interface.renamed(names, "sympy"), set((names or {}).values())
    letters: dict[Any, str] = {}
    reserved = {_indexed(x.name, place) for x in interface.recipe.outputs for place in _places(x.shape)}
    taken = set(_OF_SYMPY)
    by_name: dict[str, Any] = {}
    flat: dict[str, list[Any]] = {}

    def lettered(made: Any, letter: str) -> Any:
        """A symbol with a letter of its own: its whole name where another has the letter."""
        known = {*letters.values(), *reserved}
        letters[made] = letter if letter not in known else latex(made.name)
        return made

    def symbol(name: str, letter: str) -> Any:
        own = identifier(name, taken)
        taken.add(own)
        return lettered(sympy.Symbol(own, real=True), letter)

    def inputs(operand: Operand) -> Sequence[Any]:
        made = []
        for k, place in enumerate(_places(operand.shape)):
            name = own.get((operand.name, k))
            if name is not None:
                made.append(symbol(name, _given(name) if name in given else _parameter(name)))
            else:
                index = "".join(f"_{each + 1}" for each in place)
                made.append(symbol(f"{operand.name}{index}", _indexed(operand.name, place)))
        flat[operand.name] = made
        return made

    def named(name: str) -> Any:
        made = sympy.Symbol(name, real=True)
        by_name[name] = made
        return lettered(made, _wave(name))

    found = formulas(interface, inputs, named, _number, _table(), "SymPy")
    recipe = interface.recipe
    common = tuple((by_name[each.name], _whole(each.value)) for each in found.common)
    outputs = {x.name: _shaped([_whole(each) for each in found.outputs[x.name]], x.shape) for x in recipe.outputs}
    return Symbolic(
        interface.name, {x.name: _shaped(flat[x.name], x.shape) for x in recipe.inputs}, common, outputs, letters
    )


def _number(x: float) -> Any:
    import sympy

    if math.isnan(x):
        raise InputError("sympy: the function has the constant NaN, which no formula can hold; use c() or python()")
    if math.isinf(x):
        return sympy.oo if x > 0 else -sympy.oo
    if abs(x) < 1e6 and abs(x - round(x)) <= 1e-14 * abs(x):  # rounding is no number of a formula
        return sympy.Integer(round(x))
    return sympy.Float(repr(x), 15)


def _whole(x: Any) -> Any:
    """With integers where products of numbers came out as 1.0."""
    import sympy

    return x.xreplace({number: _number(float(number)) for number in x.atoms(sympy.Float)})


@functools.cache
def _table() -> dict[str, Any]:
    import sympy

    def chosen(condition: Any, x: Any) -> Any:
        return sympy.Piecewise((x, condition), (sympy.Integer(0), True))

    one = sympy.Integer(1)
    return {
        g.ADD: lambda a, b: a + b, g.SUB: lambda a, b: a - b, g.MUL: lambda a, b: a * b, g.DIV: lambda a, b: a / b,
        g.NEG: lambda a, _: -a, g.SIN: lambda a, _: sympy.sin(a), g.COS: lambda a, _: sympy.cos(a),
        g.SQRT: lambda a, _: sympy.sqrt(a), g.SIGN: lambda a, _: sympy.sign(a), g.ABS: lambda a, _: sympy.Abs(a),
        g.EXP: lambda a, _: sympy.exp(a), g.LOG: lambda a, _: sympy.log(a), g.TANH: lambda a, _: sympy.tanh(a),
        g.ATAN2: lambda a, b: sympy.atan2(a, b), g.POW: lambda a, b: a**b,
        g.MIN: lambda a, b: sympy.Min(a, b), g.MAX: lambda a, b: sympy.Max(a, b),
        g.LESS: lambda a, b: chosen(sympy.Lt(a, b), one), g.LEQ: lambda a, b: chosen(sympy.Le(a, b), one),
        g.MASK: lambda a, b: chosen(sympy.Ne(a, 0), b),
        g.ABOVE: lambda _a, _b: one, g.FELT: lambda _a, _b: one,
    }  # fmt: skip


def _places(shape: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Of every number of an array, its indices; of a single column its row alone."""
    rows = shape[:-1] if len(shape) > 1 and shape[-1] == 1 else shape
    return list(np.ndindex(rows)) if shape else [()]


def _shaped(values: Sequence[Any], shape: tuple[int, ...]) -> Any:
    """A scalar, a column, a matrix, or a list of these."""
    import sympy

    if not shape:
        return values[0]
    if len(shape) == 1:
        return sympy.Matrix(list(values))
    if len(shape) == 2:
        return sympy.Matrix(*shape, list(values))
    size = prod(shape[1:])
    return [_shaped(values[k * size : (k + 1) * size], shape[1:]) for k in range(shape[0])]


def _mapped(value: Any, function: Any) -> Any:
    if isinstance(value, list):
        return [_mapped(each, function) for each in value]
    return value.applyfunc(function) if hasattr(value, "applyfunc") else function(value)


def _entries(value: Any, place: tuple[int, ...] = ()) -> list[tuple[tuple[int, ...], Any]]:
    if isinstance(value, list):
        return [pair for k, each in enumerate(value) for pair in _entries(each, (*place, k))]
    if not hasattr(value, "applyfunc"):
        return [(place, value)]
    rows, columns = value.shape
    if columns == 1:
        return [((*place, k), value[k, 0]) for k in range(rows)]
    return [((*place, k, j), value[k, j]) for k in range(rows) for j in range(columns)]


# ---- letters ------------------------------------------------------------------------------------------------------


def _indexed(name: str, place: tuple[int, ...]) -> str:
    index = " ".join(str(k + 1) for k in place) if all(k < 9 for k in place) else ",".join(str(k + 1) for k in place)
    plain = name in _DOTS or name in _LETTERS or (len(name) == 1 and name.isascii())
    letter = _LETTERS.get(name, "q" if name in _DOTS else name if plain else latex(name))
    dotted = f"{_DOTS[name]}{{{letter}}}" if _DOTS.get(name) else letter
    return f"{dotted}_{{{index}}}" if index else dotted


def _parameter(label: str) -> str:
    """``link2.mx`` is mx of link 2; gravity is g."""
    owner, _, part = label.rpartition(".")
    owner = owner.removesuffix(".placement")
    if owner == "gravity":
        return f"g_{{{part}}}"
    letter = _PARTS.get(part, latex(part))
    number = re.search(r"(\d+)$", owner)
    index = number[1] if number else latex(owner)
    return f"{{{letter}}}_{{{index}}}" if "_" in letter else f"{letter}_{{{index}}}"


def _given(name: str) -> str:
    """A name of the user's: letters, with a number behind them as an index."""
    match = re.fullmatch(r"([A-Za-z]+)_?(\d+)", name)
    if match and match[1] in _GREEK:
        return f"\\{match[1]}_{{{match[2]}}}"
    if match:
        return f"{match[1] if len(match[1]) == 1 else latex(match[1])}_{{{match[2]}}}"
    return (
        f"\\{name}" if name in _GREEK else name if len(name) == 1 and name.isascii() and name.isalpha() else latex(name)
    )


_GREEK = frozenset(
    [
        "alpha",
        "beta",
        "gamma",
        "delta",
        "epsilon",
        "theta",
        "lambda",
        "mu",
        "nu",
        "rho",
        "sigma",
        "tau",
        "phi",
        "psi",
        "omega",
    ]
)


def _wave(name: str) -> str:
    letter, _, rest = name.partition("_")
    if rest:
        return f"{letter}_{{{rest.replace('_', ',').replace('m', '-')}}}"
    match = re.fullmatch(r"([a-z])(\d+)", name)
    return f"{match[1]}_{{{match[2]}}}" if match else name
