"""Functions of numbers, arrays and traced values, in any mixture: for functions that :func:`neuler.function` compiles.

NumPy's own functions do for arrays that hold nothing but traced values (``np.sin``, ``np.sqrt``, ``@``); those here
also take numbers beside them, choose and compare. A comparison of traced values is 1 or 0, 0 where a number is NaN;
``&``, ``|`` and ``~`` combine them. Of plain numbers and arrays all are NumPy's.

>>> import neuler
>>> f = neuler.function(lambda x: where(less(x, 0.0), -x, x**2), {"x": 3})
>>> f([-4.0, 2.0, 3.0])
array([4., 4., 9.])
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from neuler.algebra.linear import Eliminated, Orthogonal
from neuler.dask_arrays import is_dask, refuse_dask
from neuler.errors import InputError
from neuler.trace import graph as g
from neuler.trace import scalars as f
from neuler.trace.graph import Node
from neuler.trace.inlining import scalars
from neuler.trace.symbols import graph_of

__all__ = [
    "absolute", "arccos", "arcsin", "arctan", "arctan2", "clip", "cos", "cosh", "exp", "expm1", "greater",
    "greater_equal", "hypot", "less", "less_equal", "log", "maximum", "minimum", "power", "sign", "sin", "sinh",
    "solve", "sqrt", "tan", "tanh", "where",
]  # fmt: skip


def _elementwise(name: str, traced: Callable[..., Any], takes: int, doc: str) -> Callable[..., Any]:
    """Of traced values entry by entry, of anything else NumPy's function of that name."""
    plain, entrywise = getattr(np, name), np.frompyfunc(traced, takes, 1)

    def function(*arguments: Any) -> Any:
        if len(arguments) != takes:
            raise TypeError(f"{name}() takes {takes} arguments, got {len(arguments)}")
        values, symbolic = _arrays(name, arguments)
        return entrywise(*values) if symbolic else plain(*values)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


def _arrays(name: str, arguments: Sequence[Any]) -> tuple[list[Any], bool]:
    """The arguments of a function as arrays; and whether traced values, of one function, are among them.

    Dask arrays stay what they are: NumPy's functions give Dask arrays of them.
    """
    values, symbolic = [], False
    for x in arguments:
        value: Any = x if is_dask(x) else np.asarray(x)
        if value.dtype == object:
            value, traced_values = scalars(value)
            symbolic |= traced_values
        values.append(value)
    if symbolic:
        for x in arguments:
            refuse_dask(name, "an argument beside traced values", x)
        graph_of(name, (x for value in values if value.dtype == object for x in value.ravel().tolist()))
    return values, symbolic


def _method(name: str) -> Callable[..., Any]:
    """A function that symbols have as a method; of a number NumPy's."""
    plain = getattr(np, name)
    return lambda x: getattr(x, name)() if isinstance(x, Node) else float(plain(x))


def _hypot(x: Any, y: Any) -> Any:
    return g.sqrt(x * x + y * y)


sin = _elementwise("sin", _method("sin"), 1, "Sine.")
cos = _elementwise("cos", _method("cos"), 1, "Cosine.")
tan = _elementwise("tan", _method("tan"), 1, "Tangent.")
arcsin = _elementwise("arcsin", _method("arcsin"), 1, "Of the angles from -pi/2 to pi/2.")
arccos = _elementwise("arccos", _method("arccos"), 1, "Of the angles from 0 to pi.")
arctan = _elementwise("arctan", _method("arctan"), 1, "Of the angles from -pi/2 to pi/2.")
arctan2 = _elementwise("arctan2", f.atan2, 2, "The angle of the point (x, y), from -pi to pi: arctan2(y, x).")
sinh = _elementwise("sinh", _method("sinh"), 1, "Hyperbolic sine.")
cosh = _elementwise("cosh", _method("cosh"), 1, "Hyperbolic cosine.")
tanh = _elementwise("tanh", _method("tanh"), 1, "Hyperbolic tangent.")
exp = _elementwise("exp", f.exp, 1, "e to the power of x.")
expm1 = _elementwise("expm1", _method("expm1"), 1, "exp(x) - 1, exact near zero.")
log = _elementwise("log", f.log, 1, "Natural logarithm.")
sqrt = _elementwise("sqrt", g.sqrt, 1, "Square root.")
power = _elementwise("power", lambda x, p: x**p, 2, "x to the power p; a power that is not whole needs x >= 0.")
hypot = _elementwise("hypot", _hypot, 2, "Root of x^2 + y^2.")
absolute = _elementwise("absolute", f.absolute, 1, "|x|; its derivative is the sign, 0 at 0.")
sign = _elementwise("sign", g.sign, 1, "-1, 0 or 1; its derivative is 0.")
minimum = _elementwise("minimum", f.minimum, 2, "The lesser one; where both are equal, the derivative is the second's.")
maximum = _elementwise(
    "maximum", f.maximum, 2, "The greater one; where both are equal, the derivative is the second's."
)
clip = _elementwise("clip", lambda x, a, b: f.minimum(f.maximum(x, a), b), 3, "x between a and b.")
less = _elementwise("less", f.less, 2, "1 where a < b, else 0.")
less_equal = _elementwise("less_equal", f.less_equal, 2, "1 where a <= b, else 0.")
greater = _elementwise("greater", lambda a, b: f.less(b, a), 2, "1 where a > b, else 0.")
greater_equal = _elementwise("greater_equal", lambda a, b: f.less_equal(b, a), 2, "1 where a >= b, else 0.")
where = _elementwise("where", f.where, 3, "x where c, else y: where(c, x, y). What is not chosen has no effect.")


def solve(A: Any, b: Any, *, positive: bool = False) -> Any:
    """x of A x = b: A (..., n, n); b (n,), or (..., n, k) for k of them. ``solve(A, np.eye(n))`` is the inverse.

    A traced function runs the same operations whatever the numbers are, and cannot look for pivots. None is needed:
    the columns of A are made orthogonal (Gram and Schmidt), which is as accurate for every matrix that is not singular
    as elimination with exchanges of rows. The squares of the entries must be finite, and not all vanish.
    ``positive``: the symmetric part of A is positive definite, as that of inertia matrices: eliminated in its order,
    with a third of the operations; of other matrices that may be far off. A matrix that is singular to the last bit
    gives NaN, one that is nearly so numbers as large as elimination gives. Of numbers alone NumPy's ``linalg.solve``
    is taken, and a singular matrix gives NaN, too.

    >>> solve([[0.0, 2.0], [1.0, 0.0]], [4.0, 3.0])
    array([3., 2.])
    >>> import neuler
    >>> f = neuler.function(lambda A, b: solve(A, b), {"A": (2, 2), "b": 2})
    >>> f([[0.0, 2.0], [1.0, 0.0]], [4.0, 3.0])
    array([3., 2.])
    """
    for what, given in (("A", A), ("b", b)):
        refuse_dask("solve", what, given)
    (matrix, right), symbolic = _arrays("solve", (A, b))
    n = matrix.shape[-1] if matrix.ndim else 0
    if matrix.shape[-2:] != (n, n) or right.ndim < 1 or right.shape[-1 if right.ndim == 1 else -2] != n:
        raise InputError(
            f"solve: expected A with last axes (n, n) and b with shape (n,) or last axes (n, k), got shapes "
            f"{matrix.shape} and {right.shape}"
        )
    columns = right[:, None] if right.ndim == 1 else right
    batch = np.broadcast_shapes(matrix.shape[:-2], columns.shape[:-2])
    matrix = np.broadcast_to(matrix, batch + matrix.shape[-2:])
    columns = np.broadcast_to(columns, batch + columns.shape[-2:])
    if not symbolic:
        found = _plain_solve(matrix, columns)
    else:
        found = np.empty(columns.shape, object)
        for state in np.ndindex(batch):
            found[state] = _traced_solve(matrix[state], columns[state], positive)
    return found[..., 0] if right.ndim == 1 else found


def _plain_solve(matrix: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """NumPy's; NaN where a matrix is singular, which NumPy refuses for all of them."""
    try:
        return np.asarray(np.linalg.solve(matrix, columns))
    except np.linalg.LinAlgError:
        if matrix.ndim == 2:
            return np.full(columns.shape, np.nan)
        return np.stack([_plain_solve(a, x) for a, x in zip(matrix, columns, strict=True)])


def _traced_solve(matrix: np.ndarray, columns: np.ndarray, positive: bool) -> np.ndarray:
    """Of one matrix of scalars, column by column."""
    rows = [[x if isinstance(x, Node) else float(x) for x in row] for row in matrix.tolist()]
    try:
        factor = Eliminated(rows) if positive else Orthogonal(list(zip(*rows, strict=True)))
    except ZeroDivisionError:
        raise InputError("solve: positive=True, but a pivot of A is zero: A is not positive definite") from None
    found = np.empty(columns.shape, object)
    for k in range(columns.shape[1]):
        found[:, k] = factor.solve([x if isinstance(x, Node) else float(x) for x in columns[:, k].tolist()])
    return found
