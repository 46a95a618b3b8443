"""The seam between what is traced and what runs: a recipe becomes a schedule, from which every back end starts."""

from __future__ import annotations

import dataclasses

from neuler.compiler.schedule import Homes, Schedule, schedule
from neuler.trace.graph import count
from neuler.trace.recipe import Operations, Recipe, traced


def lower(recipe: Recipe, *, fma: bool, homes: Homes | None = None) -> Schedule:
    """Trace a recipe on symbols, order its operations in stages, and give every value that lasts a slot.

    ``fma`` says whether the machine multiplies and adds in one operation. ``homes`` are the slots of inputs and
    outputs where these are variables that other recipes read and write, too; by default inputs come first.
    """
    nodes, outputs = traced(recipe)
    made = schedule(nodes, outputs, fma=fma, homes=homes)
    return dataclasses.replace(
        made, inputs=recipe.inputs, outputs=recipe.outputs, operations=Operations(**count(outputs))
    )
