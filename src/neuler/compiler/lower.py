"""The seam between what is traced and what runs: a recipe becomes a schedule, from which every back end starts."""

from __future__ import annotations

import dataclasses

from neuler.compiler.schedule import Schedule, schedule
from neuler.trace.graph import count
from neuler.trace.recipe import Operations, Recipe, traced


def lower(recipe: Recipe, *, fma: bool) -> Schedule:
    """Trace the recipe on symbols, order its operations in stages, give every value that lasts a slot."""
    nodes, outputs = traced(recipe)
    made = schedule(nodes, outputs, fma=fma)
    return dataclasses.replace(
        made, inputs=recipe.inputs, outputs=recipe.outputs, operations=Operations(**count(outputs))
    )
