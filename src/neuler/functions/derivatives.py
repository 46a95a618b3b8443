"""Derivatives of large functions by products with unit vectors: each kernel stays a small multiple of the function.

A matrix of second derivatives that is written out grows with the number of inputs, and the time to compile it with it.
Here one kernel, weights^T J or H v, is called for all unit vectors at all points together. The places of entries are
found from the structure of the graph, as for matrices that are written out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler.functions.differentiated import Opened
from neuler.functions.function import Function
from neuler.trace.dependence import dependence
from neuler.trace.differentiate import pull_back

Array = NDArray[np.float64]
Integers = NDArray[np.intp]


class Slopes:
    """Entries of the Jacobian of a function with one flat output, by rows: weights^T J with unit weights."""

    def __init__(self, function: Function, wrt: Sequence[str]) -> None:
        opened = Opened(function._listing, [x.name for x in function.outputs], wrt)
        reached = dependence(opened.variables, opened.results)
        self.rows = np.array([i for i, found in enumerate(reached) for _ in found], dtype=np.intp)
        self.columns = np.array([j for found in reached for j in sorted(found)], dtype=np.intp)
        self.product = function.vjp(list(wrt))
        self.count = len(reached)

    def __call__(self, **inputs: Array) -> Array:
        """(points, entries)."""
        spread = {name: x[:, None] for name, x in inputs.items()}
        found = self.product(**spread, weights=np.eye(self.count))
        return _stacked(found, self.product)[:, self.rows, self.columns]


class Bends:
    """Entries of the lower triangle of the Hessian of the weighted sum of outputs: H v with unit vectors."""

    def __init__(self, function: Function, wrt: Sequence[str]) -> None:
        opened = Opened(function._listing, [x.name for x in function.outputs], wrt)
        variables = opened.variables
        reached = dependence(variables, pull_back(opened.results, opened.weights(), variables))
        places = sorted({(max(i, j), min(i, j)) for i, found in enumerate(reached) for j in found})
        self.rows = np.array([i for i, _ in places], dtype=np.intp)
        self.columns = np.array([j for _, j in places], dtype=np.intp)
        self.product = function.hvp(list(wrt))
        used = sorted(set(self.columns.tolist()))
        self.place = np.zeros(len(variables), dtype=np.intp)
        self.place[used] = np.arange(len(used))
        units, at = np.eye(len(variables))[used], 0
        self.directions: dict[str, Array] = {}
        for operand, nodes in opened.wrt:
            part = units[:, at : at + len(nodes)]
            self.directions[f"d{operand.name}"] = part if operand.shape else part[:, 0]
            at += len(nodes)

    def __call__(self, *, weights: Array, **inputs: Array) -> Array:
        """(points, entries)."""
        spread = {name: x[:, None] for name, x in inputs.items()}
        found = self.product(**spread, weights=weights[:, None], **self.directions)
        return _stacked(found, self.product)[:, self.place[self.columns], self.rows]


def _stacked(found: Any, function: Function) -> Array:
    """Several results, (points, vectors, ...) each, one behind the other on the last axis."""
    parts = found if isinstance(found, tuple) else (found,)
    flat = [x if operand.shape else x[..., None] for x, operand in zip(parts, function.outputs, strict=True)]
    return np.concatenate(flat, axis=-1)
