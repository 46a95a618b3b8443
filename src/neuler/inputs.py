"""Numbers, arrays and names from users, checked once: each error names the thing, what it must be and what came.

``what`` is the thing as messages call it, such as "quintic: duration". Functions raise ``InputError``; where a robot is
made or a file is read they are given ``error=RobotError`` or ``error=FormatError``.

>>> number("quintic: duration", 0.0, above=0.0)
Traceback (most recent call last):
neuler.errors.InputError: quintic: duration must be above zero, got 0.0
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler.dask_arrays import lazy, refuse_dask
from neuler.errors import InputError, NeulerError
from neuler.foreign_arrays import taken, values_said
from neuler.naming import closest
from neuler.tables import is_table, take_columns

Array = NDArray[np.float64]


def told(value: object) -> str:
    """A value as messages show it: at most 80 characters, also where it has too many digits to be printed.

    Of Dask arrays it says how their numbers are had.

    >>> told(0.5), len(told([0.5] * 1000)), told(10**5000)
    ('0.5', 80, 'an int that cannot be shown')
    """
    if what := lazy(value):
        return f"{what}; compute() gives its numbers"
    try:
        text = repr(value)
    except ValueError:
        return f"an {type(value).__name__} that cannot be shown"
    return text if len(text) <= 80 else f"{text[:77]}..."


# ---- one value -----------------------------------------------------------------------------------------------------


def number(
    what: str,
    value: Any,
    *,
    above: float | None = None,
    least: float | None = None,
    finite: bool = True,
    unit: str = "",
    error: type[NeulerError] = InputError,
) -> float:
    """One real number, finite unless ``finite`` is False, greater than ``above``, not less than ``least``.

    NaN is refused always. Minus zero is returned as zero, so that equal values have equal hashes. ``unit`` is shown in
    the messages about bounds: "must be above zero (s)".

    >>> number("mass", 2), number("lower", float("-inf"), finite=False)
    (2.0, -inf)
    """
    found = value if type(value) is float else _scalar(value)
    if found is None or (not finite and math.isnan(found)):
        raise error(f"{what} must be a number, got {told(value)}")
    if finite and not math.isfinite(found):
        raise error(f"{what} must be finite, got {found}")
    shown = f" ({unit})" * bool(unit)
    if above is not None and not found > above:
        raise error(f"{what} must be above {above or 'zero'}{shown}, got {told(value)}")
    if least is not None and not found >= least:
        raise error(f"{what} must {f'be {least:g} or more' if least else 'not be negative'}{shown}, got {told(value)}")
    return found + 0.0


def _scalar(value: Any) -> float | None:
    found = real(value)
    return float(found) if found is not None and found.shape == () else None


def whole(what: str, value: Any, least: int, most: int | None = None, *, error: type[NeulerError] = InputError) -> int:
    """A whole number from ``least`` to ``most``; True, False and 2.0 are none.

    >>> whole("steps", 100, 1)
    100
    """
    good = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if not good or value < least or (most is not None and value > most):
        span = f", {least} or more" if most is None else f" from {least} to {most}"
        raise error(f"{what} must be a whole number{span}, got {told(value)}")
    return int(value)


def choice(what: str, value: Any, allowed: Iterable[str], *, error: type[NeulerError] = InputError) -> str:
    """One of a few words.

    >>> choice("rollout: limits", "stop", ("ignore", "stop", "hold"))
    'stop'
    """
    known = list(allowed)
    if not isinstance(value, str) or value not in known:
        meant = closest(value, known)
        hint = f"; did you mean {meant!r}?" if meant else ""
        raise error(f"{what} must be one of {', '.join(map(repr, known))}, got {told(value)}{hint}")
    return value


# ---- arrays --------------------------------------------------------------------------------------------------------


def real(value: Any) -> Array | None:
    """An array of real numbers; None of anything else: text, truth values, complex numbers, ragged lists, masks.

    A table whose columns have names is refused, because its numbers would be taken by their order. Dask arrays are not
    computed here: None.

    >>> real([1, 2]).tolist(), real("12"), real([1, [2]])
    ([1.0, 2.0], None, None)
    """
    if isinstance(value, str | bytes | Mapping | np.ma.MaskedArray) or lazy(value):
        return None
    if is_table(value):
        value = take_columns("numbers", "argument", value, "", ())
    value = taken("numbers", "the argument", value)
    try:
        found = np.asarray(value)
    except (TypeError, ValueError):
        return None
    if found.dtype.kind == "O":
        return _of_objects(found)
    return found.astype(float) if found.dtype.kind in "fiu" else None


def _of_objects(found: NDArray[Any]) -> Array | None:
    """Fractions, numbers of many digits and the like; None where an object is no number."""
    if any(x is None or isinstance(x, str | bytes | bool | complex) for x in found.ravel()):
        return None
    try:
        return found.astype(float)
    except (TypeError, ValueError, OverflowError):
        return None


def vector(what: str, value: Any, size: int, *, error: type[NeulerError] = InputError) -> Array:
    """So many finite numbers, (size,).

    >>> vector("ball: center", (0, 0, 1), 3).tolist()
    [0.0, 0.0, 1.0]
    """
    found = real(value)
    if found is None:
        raise error(f"{what} must be {size} numbers, got {told(value)}")
    if found.shape != (size,):
        raise error(f"{what} must be {size} numbers, got shape {found.shape}")
    if not np.isfinite(found).all():
        raise error(f"{what} must be finite, got {told(found.tolist())}")
    return found + 0.0


def row(what: str, value: Any, least: int = 1, *, error: type[NeulerError] = InputError) -> Array:
    """A list of finite numbers, (n,), at least so many.

    >>> row("B-spline: knots", [0, 0, 1, 1]).tolist()
    [0.0, 0.0, 1.0, 1.0]
    """
    found = real(value)
    if found is None or found.ndim != 1 or len(found) < least or not np.isfinite(found).all():
        raise error(f"{what} must be a list of finite numbers, got {told(value)}")
    return found + 0.0


def array(called: str, name: str, value: Any, core: tuple[int, ...], meaning: str = "") -> Array:
    """Real numbers whose last axes are ``core``, (..., *core); batch axes lead, and NaN may be among them.

    ``called`` is the function, ``name`` its argument; ``meaning`` says in the message what the axes are. Of an array of
    float64 it is the same array, not a copy.

    >>> array("simulate", "q0", [[0, 1], [2, 3]], (2,)).shape
    (2, 2)
    """
    refuse_dask(called, name, value)
    if isinstance(value, np.ma.MaskedArray):
        raise InputError(f"{called}: {name} is a masked array; fill or drop what is masked first")
    if is_table(value):
        value = take_columns(called, name, value, "", ())
    value = taken(called, name, value)
    try:
        found = np.asarray(value)
    except (TypeError, ValueError):
        raise InputError(f"{called}: {name} is not a regular array of numbers") from None
    if found.dtype.kind == "O":
        found = numbers_ if (numbers_ := _of_objects(found)) is not None else found
    if found.dtype.kind not in "fiub":
        raise InputError(f"{called}: {name} must be real numbers, got {values_said(found)}")
    if found.dtype.char == "g":
        raise InputError(f"{called}: {name} is {found.dtype}; convert it to float64")
    if found.ndim < len(core) or found.shape[found.ndim - len(core) :] != core:
        axes = f"last axis {core[0]}" if len(core) == 1 else f"last axes {core}"
        raise InputError(f"{called}: expected {name} with {axes}{meaning}, got shape {found.shape}")
    return found.astype(np.float64, copy=False)


# ---- names and lists -----------------------------------------------------------------------------------------------


def names(what: str, value: Any) -> tuple[str, ...]:
    """One name or several, always as a tuple with at least one.

    >>> names("pose: frames", "tool0")
    ('tool0',)
    """
    if isinstance(value, str):
        return (value,)
    try:
        found = tuple(value)
    except TypeError:
        found = ()
    if not found or not all(isinstance(name, str) for name in found):
        raise InputError(f"{what} must be a name or names, got {told(value)}")
    return found


def named(what: str, value: Any, *, error: type[NeulerError] = InputError) -> dict[str, Any]:
    """Values by name; None is none of them.

    >>> named("rollout: loads", None)
    {}
    """
    if value is None:
        return {}
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise error(f"{what} must map names to values, {{'tool0': ...}}, got {type(value).__name__}")
    return dict(value)


def several(what: str, value: Any, kind: type | tuple[type, ...], made_by: str) -> list[Any]:
    """A list of things of one ``kind``; one alone counts as a list, lists in the list are unfolded, None is empty.

    >>> several("limits", [1.5, [2.5]], float, "within()")
    [1.5, 2.5]
    """
    if isinstance(value, kind):
        return [value]
    try:
        found = [] if value is None else [value] if isinstance(value, str | bytes) else list(value)
    except TypeError:
        found = [value]
    flat: list[Any] = []
    for each in found:
        flat.extend(each if isinstance(each, list | tuple) else [each])
    for each in flat:
        if not isinstance(each, kind):
            raise InputError(f"{what} are made by {made_by}, got {told(each)}")
    return flat
