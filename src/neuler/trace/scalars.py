"""Functions of any scalar beyond arithmetic, sine and cosine: comparison, choice, exponential and their kin.

Each takes numbers or nodes, has a derivative and vectorised code within 2 ulp. A comparison is 1 or 0, 0 where a
number is NaN.

>>> where(less(1.0, 2.0), 3.0, 4.0), minimum(2.0, -1.0), power(9.0, 1.5)
(3.0, -1.0, 27.0)
"""

from __future__ import annotations

import cmath
import math

from neuler.trace.graph import (
    ABS,
    ATAN2,
    EXP,
    LEQ,
    LESS,
    LOG,
    MASK,
    MAX,
    MIN,
    NEG,
    POW,
    TANH,
    Graph,
    Node,
    Scalar,
    sign,
    sqrt,
)  # fmt: skip


def _graph(*values: Scalar) -> Graph | None:
    return next((x.graph for x in values if isinstance(x, Node)), None)


def _real(x: Scalar) -> float:
    """A number as it is compared: of a complex one (a complex step) the real part."""
    return x.real if isinstance(x, complex) else x  # type: ignore[return-value]


def less(a: Scalar, b: Scalar) -> Scalar:
    """1 where a < b, else 0."""
    graph = _graph(a, b)
    if graph is None:
        return 1.0 if _real(a) < _real(b) else 0.0
    return 0.0 if a is b else graph.node(LESS, a, b)


def less_equal(a: Scalar, b: Scalar) -> Scalar:
    """1 where a <= b, else 0."""
    graph = _graph(a, b)
    if graph is None:
        return 1.0 if _real(a) <= _real(b) else 0.0
    return graph.node(LEQ, a, b)


def mask(c: Scalar, x: Scalar) -> Scalar:
    """x where the comparison c is 1, else 0, whatever x is there: also where it is not a number."""
    if not isinstance(c, Node):
        return x if c else 0.0
    if not isinstance(x, Node) and x == 0.0:
        return 0.0
    return c.graph.node(MASK, c, x)


def where(c: Scalar, x: Scalar, y: Scalar) -> Scalar:
    """x where the comparison c is 1, y where it is 0. Both are computed; what is not chosen has no effect."""
    if x is y:
        return x
    return mask(c, x) + mask(1.0 - c, y)


def minimum(a: Scalar, b: Scalar) -> Scalar:
    """The lesser one; NaN where one is NaN. Where both are equal, the derivative is that of b."""
    graph = _graph(a, b)
    if graph is not None:
        return a if a is b else graph.node(MIN, a, b)
    return a if _real(a) < _real(b) or _real(a) != _real(a) else b


def maximum(a: Scalar, b: Scalar) -> Scalar:
    """The greater one; NaN where one is NaN. Where both are equal, the derivative is that of b."""
    graph = _graph(a, b)
    if graph is not None:
        return a if a is b else graph.node(MAX, a, b)
    return a if _real(a) > _real(b) or _real(a) != _real(a) else b


def absolute(x: Scalar) -> Scalar:
    """|x|; its derivative is the sign, 0 at 0."""
    if isinstance(x, Node):
        return x.graph.node(ABS, x.a if x.op is NEG else x)
    return x * sign(x) if isinstance(x, complex) else abs(x)


def exp(x: Scalar) -> Scalar:
    """e to the power of x: infinite beyond 709.78, zero below -745.13."""
    if isinstance(x, Node):
        return x.graph.node(EXP, x)
    if isinstance(x, complex):
        return cmath.exp(x)  # type: ignore[return-value]
    try:
        return math.exp(x)
    except OverflowError:
        return math.inf


def log(x: Scalar) -> Scalar:
    """The natural logarithm: minus infinity of 0, NaN of a negative number."""
    if isinstance(x, Node):
        return x.graph.node(LOG, x)
    if isinstance(x, complex):
        return cmath.log(x)  # type: ignore[return-value]
    return math.log(x) if x > 0 else -math.inf if x == 0 else math.nan


def tanh(x: Scalar) -> Scalar:
    """The hyperbolic tangent."""
    if isinstance(x, Node):
        return -x.graph.node(TANH, x.a) if x.op is NEG else x.graph.node(TANH, x)
    return cmath.tanh(x) if isinstance(x, complex) else math.tanh(x)  # type: ignore[return-value]


def atan2(y: Scalar, x: Scalar) -> Scalar:
    """The angle of the point (x, y), from -pi to pi."""
    graph = _graph(y, x)
    if graph is not None:
        return graph.node(ATAN2, y, x)
    if isinstance(y, complex) or isinstance(x, complex):
        return _complex_angle(y, x)
    return math.atan2(y, x)


def _complex_angle(y: Scalar, x: Scalar) -> Scalar:
    """The angle of the real parts, and its derivative times the imaginary ones."""
    a, b = complex(y), complex(x)
    square = a.real * a.real + b.real * b.real
    return complex(math.atan2(a.real, b.real), (b.real * a.imag - a.real * b.imag) / square)  # type: ignore[return-value]


_WHOLE_POWERS = 16
"""Exponents up to which whole powers are products: each squaring doubles the error that is there."""


def power(x: Scalar, p: float) -> Scalar:
    """x to a constant power. Whole and half powers are products, quotients and roots; others need x >= 0."""
    if isinstance(p, Node):
        raise TypeError("an exponent must be a number; write exp(p * log(x)) for one that varies")
    p = float(p)
    if p == 0.0:
        return 1.0
    whole, half = p == round(p), 2.0 * p == round(2.0 * p) and abs(p) <= _WHOLE_POWERS
    if p < 0.0 and (whole or half):
        return 1.0 / power(x, -p)
    if whole and p <= _WHOLE_POWERS:
        return _whole_power(x, int(p))
    if half:
        return sqrt(x) if p < 1.0 else _whole_power(x, int(p)) * sqrt(x)
    if isinstance(x, Node):
        if not whole:
            return x.graph.node(POW, x, p)
        size = x.graph.node(POW, absolute(x), p)
        return size if p % 2.0 == 0.0 else sign(x) * size
    if isinstance(x, complex):
        return x**p
    if (x < 0 and not whole) or x != x:
        return math.nan
    try:
        return x**p
    except (OverflowError, ZeroDivisionError):
        return math.copysign(math.inf, x) if whole and p % 2.0 else math.inf


def _whole_power(x: Scalar, n: int) -> Scalar:
    """The n-th power for a whole n above zero, by repeated squaring."""
    result: Scalar | None = None
    square = x
    while n:
        if n & 1:
            result = square if result is None else result * square
        n >>= 1
        if n:
            square = square * square
    assert result is not None
    return result
