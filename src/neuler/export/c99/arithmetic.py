"""Operations as C expressions, which round as the kernel's do where the machine multiplies and adds in one."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from neuler.compiler.movement import round_to_float32
from neuler.compiler.sums import Sums, Term
from neuler.errors import InputError
from neuler.trace import graph as g
from neuler.trace.graph import Node, Scalar

Value = Callable[[Scalar], str]
"""The name or number that stands for a scalar."""

_FUNCTIONS = {g.SQRT: "sqrt", g.ABS: "fabs", g.EXP: "exp", g.LOG: "log", g.TANH: "tanh", g.ATAN2: "atan2"}
_OWN = {
    "sign": (("x",), "return x > 0 ? {1} : x < 0 ? -{1} : x;"),
    "less": (("a", "b"), "return a < b ? {1} : {0};"),
    "leq": (("a", "b"), "return a <= b ? {1} : {0};"),
    "mask": (("c", "x"), "return c != 0 ? x : {0};"),
    "min": (("a", "b"), "return a != a ? a : b != b ? b : a < b ? a : b;"),
    "max": (("a", "b"), "return a != a ? a : b != b ? b : a > b ? a : b;"),
    "pow": (("x", "p"), "return x >= 0 && p == p ? {pow}(x, p) : ({real})NAN;"),
    "above": (("x", "least"), "return x > least ? {1} : ({real})NAN;"),
}  # fmt: skip
"""Functions that come along where they are used: arguments and body. NaN stays NaN."""


_LARGEST = 3.4028234663852886e38
"""Of single precision."""


@dataclass
class Arithmetic:
    """Writes expressions for one function; ``prefix`` begins the names of what comes along."""

    real: str
    """double or float."""
    prefix: str
    used: set[str] = field(default_factory=set)
    """Of ``_OWN``, and "fma"."""
    saturates: bool = False
    """Whether constants that single precision does not hold are its largest, bounds that nothing reaches, or zero."""

    @property
    def single(self) -> bool:
        """Whether numbers are floats."""
        return self.real == "float"

    def number(self, x: float) -> str:
        """A constant, exactly.

        >>> Arithmetic("double", "arm").number(0.1), Arithmetic("float", "arm").number(-3.0)
        ('0.1', '-3.0f')
        """
        if math.isnan(x) or math.isinf(x):
            name = "NAN" if math.isnan(x) else "INFINITY"
            text = f"({self.real}){name}"
            return f"(-{text})" if x < 0 else text
        if not self.single:
            return repr(float(x))
        single = round_to_float32(min(max(x, -_LARGEST), _LARGEST) if self.saturates else x)
        if math.isinf(single) or (not self.saturates and (single == 0.0) != (x == 0.0)):
            raise InputError(f"float32: the number {x:g} does not fit in single precision; use float64")
        text = _shortest(single)
        return f"{text}f"

    def factor(self, x: float) -> str:
        """A constant that may stand behind an operator."""
        text = self.number(x)
        return f"({text})" if text.startswith("-") else text

    def call(self, function: str) -> str:
        """A function of the C library in this precision."""
        return f"{function}f" if self.single else function

    def own(self, name: str) -> str:
        """One of the functions that come along."""
        self.used.add(name)
        return f"{self.prefix}_{name}"

    def fused(self, a: str, b: str, c: str) -> str:
        """The number a b + c, rounded once where the machine can."""
        self.used.add("fma")
        return f"FMA({a}, {b}, {c})"

    def expression(self, node: Node, value: Value, sums: Sums) -> str:
        """What computes a node from values that are known."""
        op, a, b = node.op, node.a, node.b
        if node in sums.terms:
            return self.sum(sums.terms[node], value, sums)
        if op in (g.ADD, g.SUB, g.MUL, g.DIV):
            sign = {g.ADD: "+", g.SUB: "-", g.MUL: "*", g.DIV: "/"}[op]
            return f"{value(a)} {sign} {value(b)}"
        if op is g.NEG:
            return f"-{value(a)}"
        if op is g.ABOVE or op is g.FELT:
            assert isinstance(b, float)
            least = b * g.FELT_FROM["float32" if self.single else "float64"] if op is g.FELT else b
            return f"{self.own('above')}({value(a)}, {self.number(least)})"
        if op in _FUNCTIONS:
            arguments = [value(a), value(b)] if op is g.ATAN2 else [value(a)]
            return f"{self.call(_FUNCTIONS[op])}({', '.join(arguments)})"
        arguments = [value(a)] if op is g.SIGN else [value(a), value(b)]
        return f"{self.own(op)}({', '.join(arguments)})"

    def sum(self, terms: Sequence[Term], value: Value, sums: Sums) -> str:
        """Plain terms first, then every product by a fused operation, in the order of the kernel."""
        products = [(minus, x) for minus, x in terms if isinstance(x, Node) and x in sums.vanished]
        plain = [(minus, x) for minus, x in terms if not (isinstance(x, Node) and x in sums.vanished)]
        plain.sort(key=lambda term: term[0])
        if plain:
            negative, first = plain.pop(0)
            total = value(first)
        else:
            products.sort(key=lambda term: term[0])
            negative, product = products.pop(0)
            total = f"{value(product.a)} * {value(product.b)}"
        for minus, term in plain:
            total += f" {'+' if minus == negative else '-'} {value(term)}"
        if negative:
            total = f"-({total})" if " " in total else f"-{total}"
        for minus, product in products:
            a = value(product.a)
            if minus:
                a = f"-{a}" if not a.startswith(("-", "(-")) else f"-({a})"
            total = self.fused(a, value(product.b), total)
        return total

    def helpers(self) -> list[str]:
        """The functions that come along, and the macro for fused operations."""
        lines: list[str] = []
        if "fma" in self.used:
            kind, arm = "FP_FAST_FMA", "(defined(__ARM_FEATURE_FMA) && defined(__ARM_FP) && (__ARM_FP & 8))"
            if self.single:
                kind, arm = "FP_FAST_FMAF", "defined(__ARM_FEATURE_FMA)"
            lines += [
                "/* Machines that multiply and add in one operation; -DNEULER_NO_FMA does without. */",
                "#if !defined(NEULER_NO_FMA) && \\",
                f"    (defined({kind}) || defined(__FMA__) || defined(__aarch64__) || {arm})",
                "#define HAS_FMA 1",
                f"#define FMA(a, b, c) {self.call('fma')}((a), (b), (c))",
                "#else",
                "#define HAS_FMA 0",
                "#define FMA(a, b, c) ((a) * (b) + (c))",
                "#endif",
                "",
            ]
        known = {"0": self.number(0.0), "1": self.number(1.0), "real": self.real, "pow": self.call("pow")}
        for name in sorted(self.used - {"fma"}):
            arguments, body = _OWN[name]
            for key, text in known.items():
                body = body.replace(f"{{{key}}}", text)
            takes = ", ".join(f"{self.real} {x}" for x in arguments)
            lines += [f"static inline {self.real} {self.prefix}_{name}({takes})", "{", f"    {body}", "}", ""]
        return lines


def _shortest(x: float) -> str:
    """The fewest digits that give a number in single precision."""
    for digits in range(1, 10):
        text = f"{x:.{digits}g}"
        if round_to_float32(float(text)) == x:
            return text if any(c in text for c in ".e") else f"{text}.0"
    raise AssertionError(f"{x} is no number in single precision")
