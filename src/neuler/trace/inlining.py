"""A compiled function called with traced values: its operations go on in the graph of who calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from neuler.trace.graph import Node
from neuler.trace.listing import Listing, run
from neuler.trace.symbols import graph_of, number


def scalars(value: np.ndarray) -> tuple[np.ndarray, bool]:
    """An array of objects as one of numbers where it holds nothing else; and whether traced values are among them.

    What holds anything but numbers and traced values comes back as it is.
    """
    entries = value.ravel().tolist()
    found = [x if isinstance(x, Node) else number(x) for x in entries]
    if any(x is None for x in found):
        return value, False
    symbolic = any(isinstance(x, Node) for x in found)
    made = np.empty(len(found), object if symbolic else float)
    made[:] = found
    return made.reshape(value.shape), symbolic


def inlined(called: str, listing: Listing, values: Sequence[np.ndarray], batch: tuple[int, ...]) -> list[Any]:
    """The outputs of a listing on arrays of scalars, state by state: arrays of objects, or the scalar itself."""
    graph_of(called, (x for value in values if value.dtype == object for x in value.ravel().tolist()))
    rows = [
        np.broadcast_to(value, batch + operand.shape).reshape(*batch, operand.size)
        for value, operand in zip(values, listing.inputs, strict=True)
    ]
    found = [np.empty(batch + operand.shape, object) for operand in listing.outputs]
    for state in np.ndindex(batch):
        flat = [x if isinstance(x, Node) else float(x) for row in rows for x in row[state].tolist()]
        for array, operand, results in zip(found, listing.outputs, listing.split(run(listing.body, flat)), strict=True):
            entries = np.empty(operand.size, object)
            entries[:] = results
            array[state] = entries.reshape(operand.shape) if operand.shape else results[0]
    return [array if array.ndim else array.item() for array in found]
