"""Tables from users: numbers whose columns have names are taken by them, never by their order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from neuler.errors import InputError
from neuler.naming import listed


def is_table(given: Any) -> bool:
    """Whether it is a data frame, one row of it (a series with an index), or a table of pyarrow's."""
    if type(given) is np.ndarray or given is None:
        return False
    if hasattr(given, "column_names") and hasattr(given, "column"):
        return True
    if callable(getattr(given, "columns", None)):  # a matrix of CasADi
        return False
    return hasattr(given, "to_numpy") and (hasattr(given, "columns") or hasattr(given, "index"))


def records(given: Any) -> list[dict[str, Any]] | None:
    """The rows of a table whose columns have names, each by name; None of anything else."""
    if not is_table(given) or not isinstance(labels := _labels(given), list) or not all(map(_is_name, labels)):
        return None
    columns = [_column(given, name) for name in labels]
    return [dict(zip(labels, row, strict=True)) for row in zip(*columns, strict=True)] if _is_frame(given) else None


def _is_name(label: object) -> bool:
    return isinstance(label, str)


def _is_frame(given: Any) -> bool:
    return hasattr(given, "columns")


def _labels(given: Any) -> list[Any]:
    if hasattr(given, "column_names"):
        return list(given.column_names)
    return list(given.columns if _is_frame(given) else given.index)


def _column(given: Any, name: str) -> Any:
    return np.asarray(given[name]) if hasattr(given, "column_names") else given[name].to_numpy()


def _chosen(given: Any, names: Sequence[str]) -> Any:
    if not _is_frame(given):
        return given[list(names)].to_numpy()
    return np.stack([_column(given, name) for name in names], axis=-1)


def take_columns(called: str, what: str, given: Any, prefix: str, names: Sequence[str]) -> Any:
    """What was given, as an array where it is a table: its columns by ``names``, in their order.

    A column is called ``q_elbow``, with the prefix "q", or ``elbow``; other columns are ignored. Columns numbered from
    0, and a series whose index has no names, are taken in their order. A table in which a name is missing is refused.
    """
    if not is_table(given):
        return given
    labels = _labels(given)
    if labels == list(range(len(labels))) or (not _is_frame(given) and not any(map(_is_name, labels))):
        return given.to_numpy()
    remedy = f"pass {what}.to_numpy() to take its columns in their order"
    if not names:
        raise InputError(f"{called}: the table {what} has columns with names, and its numbers have none here; {remedy}")
    spelled = [[f"{prefix}_{name}" for name in names], list(names)]
    for wanted in spelled:
        twice = next((name for name in wanted if labels.count(name) > 1), None)
        if twice is not None:
            raise InputError(f"{called}: the table {what} has two columns {twice!r}")
        if all(name in labels for name in wanted):
            return _chosen(given, wanted)
    nearest = max(spelled, key=lambda wanted: sum(name in labels for name in wanted))
    missing = [name for name in nearest if name not in labels]
    raise InputError(
        f"{called}: the table {what} has no column {listed(missing[0], missing, 6)}; it has "
        f"{listed(missing[0], map(str, labels), 6)}. Call its columns like {spelled[0][0]!r} or {spelled[1][0]!r}, or "
        f"{remedy}"
    )
