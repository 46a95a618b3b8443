"""A recipe: what a function takes and gives, and how to trace it; and its run on symbols or on plain floats."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from neuler.trace.graph import Graph, Node, Scalar

Trace = Callable[[Mapping[str, list[Scalar]]], Sequence[Sequence[Scalar]]]


@dataclass(frozen=True)
class Operand:
    """An argument of the kernel: its name and its core shape (without the batch axes)."""

    name: str
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        """How many numbers one state has of it."""
        return prod(self.shape)


@dataclass(frozen=True)
class Recipe:
    """What a kernel takes and gives, and how to trace it: inputs by name to flat outputs."""

    inputs: tuple[Operand, ...]
    outputs: tuple[Operand, ...]
    trace: Trace = field(compare=False, repr=False)
    structure: Mapping[str, tuple[tuple[int, ...], ...]] = field(default_factory=dict)
    """For outputs that are sparse: by name, the index of every entry along each axis of the dense array."""


@dataclass(frozen=True)
class Operations:
    """Operations for one state. Divisions include square roots; trig counts sines, cosines and other functions."""

    mul: int = 0
    add: int = 0
    div: int = 0
    trig: int = 0

    @property
    def weight(self) -> int:
        """About how many additions take as long."""
        return self.mul + self.add + 20 * self.trig + 10 * self.div

    def __add__(self, other: Operations) -> Operations:
        return Operations(self.mul + other.mul, self.add + other.add, self.div + other.div, self.trig + other.trig)

    def __str__(self) -> str:
        return f"{self.mul} mul, {self.add} add, {self.div} div, {self.trig} trig"


def traced(recipe: Recipe) -> tuple[list[Node], list[Scalar]]:
    """Run the recipe on symbols."""
    graph = Graph()
    symbols: dict[str, list[Scalar]] = {}
    nodes: list[Node] = []
    for operand in recipe.inputs:
        fresh = graph.inputs(operand.name, operand.size)
        symbols[operand.name] = list(fresh)
        nodes.extend(fresh)
    outputs: list[Scalar] = []
    for operand, values in zip(recipe.outputs, recipe.trace(symbols), strict=True):
        flat = list(values)
        if len(flat) != operand.size:
            raise AssertionError(f"{operand.name}: traced {len(flat)} values, expected {operand.size}")
        outputs.extend(flat)
    return nodes, outputs


def evaluate(recipe: Recipe, values: Mapping[str, Any]) -> list[np.ndarray]:
    """The recipe on plain floats: the readable reference that compiled code is tested against."""
    flat = {o.name: np.asarray(values[o.name], dtype=float).reshape(-1).tolist() for o in recipe.inputs}
    results = recipe.trace(flat)
    return [
        np.array([float(x) for x in result]).reshape(operand.shape)
        for operand, result in zip(recipe.outputs, results, strict=True)
    ]
