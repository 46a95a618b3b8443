"""Tables from users: numbers whose columns have names are taken by them, never by their order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from neuler.errors import InputError
from neuler.naming import listed


def is_table(given: Any) -> bool:
    """Whether it is a data frame, or one row of it (a series with an index): of pandas, polars or one like them."""
    return hasattr(given, "to_numpy") and (hasattr(given, "columns") or hasattr(given, "index"))


def take_columns(called: str, what: str, given: Any, prefix: str, names: Sequence[str]) -> Any:
    """What was given, as an array where it is a table: its columns by ``names``, in their order.

    A column is called ``q_elbow``, with the prefix "q", or ``elbow``; other columns are ignored. Columns numbered from
    0, and a series whose index has no names, are taken in their order. A table in which a name is missing is refused.
    """
    if not is_table(given):
        return given
    frame = hasattr(given, "columns")
    labels = list(given.columns if frame else given.index)
    if labels == list(range(len(labels))) or (not frame and not any(isinstance(label, str) for label in labels)):
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
            return given[wanted].to_numpy()
    nearest = max(spelled, key=lambda wanted: sum(name in labels for name in wanted))
    missing = [name for name in nearest if name not in labels]
    raise InputError(
        f"{called}: the table {what} has no column {listed(missing[0], missing, 6)}; it has "
        f"{listed(missing[0], map(str, labels), 6)}. Call its columns like {spelled[0][0]!r} or {spelled[1][0]!r}, or "
        f"{remedy}"
    )
