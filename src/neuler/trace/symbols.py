"""The scalars that a user's function is traced with: nodes with manners.

A ``Symbol`` works with NumPy's arrays and functions, knows values of another function's trace from its own, and says
what to write instead where Python asks it for a number or a truth value.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, NoReturn

import numpy as np

from neuler.errors import InputError
from neuler.trace import scalars as f
from neuler.trace.graph import Graph, Node, Scalar, cos, sin, sqrt

_NUMBERS = (int, float, np.integer, np.floating, np.bool_)


class SymbolGraph(Graph):
    """A graph whose nodes are symbols, which NumPy's functions take."""

    __slots__ = ()

    def _new(self, op: str, a: Scalar, b: Scalar) -> Node:
        node = Symbol(self, op, a, b, len(self.nodes))
        self.nodes.append(node)
        return node


def number(x: object) -> float | None:
    """A real number as Python's; None for anything else."""
    if not isinstance(x, _NUMBERS):
        return None
    try:
        return float(x)
    except OverflowError:
        return math.inf if x > 0 else -math.inf


def graph_of(called: str, values: Iterable[object]) -> Graph | None:
    """The one graph to which all nodes among the values belong."""
    graphs = {id(x.graph): x.graph for x in values if isinstance(x, Node)}
    if len(graphs) > 1:
        raise InputError(f"{called}: {_FOREIGN}")
    return next(iter(graphs.values()), None)


_FOREIGN = (
    "traced values of two functions meet; a function may only use the values it was called with: hand over the "
    "other one as an argument, or call the other function inside this one"
)


def _guarded(name: str) -> Callable[[Any, Any], Any]:
    """An operation of Node that lets arrays speak first, and refuses what is no real number."""
    method = getattr(Node, name)

    def operation(self: Symbol, other: Any) -> Any:
        if isinstance(other, Node):
            if other.graph is not self.graph:
                raise InputError(_FOREIGN)
            return method(self, other)
        value = number(other)
        return NotImplemented if value is None else method(self, value)

    operation.__name__ = name
    return operation


class Symbol(Node):
    """A traced value in a user's function."""

    __slots__ = ()

    __add__, __radd__ = _guarded("__add__"), _guarded("__radd__")
    __sub__, __rsub__ = _guarded("__sub__"), _guarded("__rsub__")
    __mul__, __rmul__ = _guarded("__mul__"), _guarded("__rmul__")
    __truediv__, __rtruediv__ = _guarded("__truediv__"), _guarded("__rtruediv__")
    __lt__, __gt__ = _guarded("__lt__"), _guarded("__gt__")
    __le__, __ge__ = _guarded("__le__"), _guarded("__ge__")
    __hash__ = Node.__hash__

    def __pow__(self, p: Any) -> Any:
        if isinstance(p, Symbol):
            return f.exp(p * f.log(self))
        value = number(p)
        return NotImplemented if value is None else f.power(self, value)

    def __rpow__(self, base: Any) -> Any:
        value = number(base)
        if value is None:
            return NotImplemented
        if value <= 0.0:
            raise InputError(f"{value:g} to the power of a traced value: the base must be above zero")
        return f.exp(self * math.log(value))

    # comparisons are 1 or 0

    def __and__(self, other: Any) -> Any:
        return self * other

    def __or__(self, other: Any) -> Any:
        return self + other - self * other

    __rand__, __ror__ = __and__, __or__

    def __invert__(self) -> Scalar:
        return 1.0 - self

    # NumPy's functions call these on every entry of an array of objects

    def tan(self) -> Scalar:
        """The tangent of the value (rad)."""
        return sin(self) / cos(self)

    def arctan(self) -> Scalar:
        """Of the angles from -pi/2 to pi/2."""
        return f.atan2(self, 1.0)

    def arcsin(self) -> Scalar:
        """NaN beyond -1 and 1."""
        return f.atan2(self, sqrt((1.0 - self) * (1.0 + self)))

    def arccos(self) -> Scalar:
        """NaN beyond -1 and 1."""
        return f.atan2(sqrt((1.0 - self) * (1.0 + self)), self)

    def cosh(self) -> Scalar:
        """The hyperbolic cosine of the value."""
        return 0.5 * (f.exp(self) + f.exp(-self))

    def sinh(self) -> Scalar:
        """Hyperbolic sine: without cancellation near zero."""
        return f.tanh(self) * self.cosh()

    def expm1(self) -> Scalar:
        """exp(x) - 1 without cancellation."""
        return f.tanh(0.5 * self) * (f.exp(self) + 1.0)

    def log2(self) -> Scalar:
        """Logarithm to the base 2."""
        return f.log(self) * (1.0 / math.log(2.0))

    def log10(self) -> Scalar:
        """Logarithm to the base 10."""
        return f.log(self) * (1.0 / math.log(10.0))

    def hypot(self, other: Scalar) -> Scalar:
        """Of the sides of a right triangle the longest."""
        return sqrt(self * self + other * other)

    def deg2rad(self) -> Scalar:
        """The value, an angle in degrees, in radians."""
        return self * (math.pi / 180.0)

    def rad2deg(self) -> Scalar:
        """The value, an angle in radians, in degrees."""
        return self * (180.0 / math.pi)

    radians, degrees = deg2rad, rad2deg

    def fabs(self) -> Scalar:
        """The absolute value."""
        return f.absolute(self)

    def conjugate(self) -> Scalar:
        """The value itself: it is real."""
        return self

    # what a value that is not there yet cannot tell

    def __eq__(self, other: object) -> Any:
        if self is other:
            return True
        raise InputError(
            "a traced value is not known to equal another: compare with < or <=, neuler.math.where(c, x, y) chooses"
        )

    def __ne__(self, other: object) -> Any:
        return not self.__eq__(other)

    def __bool__(self) -> bool:
        raise InputError(
            "a traced value has no truth: a function must not branch on it (if, and, or, np.where, np.minimum, "
            "np.sign, max); neuler.math.where(c, x, y) chooses, neuler.math has minimum, maximum, clip, sign and less"
        )

    def _no_number(self) -> NoReturn:
        raise InputError(
            "a traced value is not a number yet: use np.sin or neuler.math.sin, not math.sin, and keep it in arrays of "
            "objects (np.zeros(3, dtype=object), np.array([x, y]))"
        )

    def __float__(self) -> float:
        self._no_number()

    def __int__(self) -> int:
        self._no_number()

    def __complex__(self) -> complex:
        self._no_number()

    def __index__(self) -> int:
        self._no_number()

    def __repr__(self) -> str:
        return f"<traced value: {self.op}>"
