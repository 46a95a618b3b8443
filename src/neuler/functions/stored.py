"""Derivatives as listings on disk, beside the compiled kernels: deriving them again takes longer than loading those."""

from __future__ import annotations

from collections.abc import Callable

from neuler.compiler import cache
from neuler.functions import differentiated
from neuler.trace.listing import Listing
from neuler.trace.recipe import Operand

LEAST = 1024
"""Bytes of a listing from which on its derivatives are stored: those of smaller ones are made as quickly."""


def derived(listing: Listing, key: tuple[object, ...], make: Callable[[], Listing]) -> Listing:
    """What ``make`` makes of a listing; ``key`` says what that is, in one process as in another."""
    if len(listing.body) < LEAST:
        return make()
    name = cache.key("derivative", listing.digest, key, origin=differentiated.__name__)
    kept = cache.load(name)
    if kept is not None:
        facts, body = kept
        inputs, outputs = (
            tuple(Operand(one, tuple(shape)) for one, shape in facts[side]) for side in ("inputs", "outputs")
        )
        structure = {one: tuple(tuple(axis) for axis in axes) for one, axes in facts["structure"].items()}
        return Listing(inputs, outputs, body, structure)
    made = make()
    facts = {side: [(x.name, x.shape) for x in getattr(made, side)] for side in ("inputs", "outputs")}
    cache.store(name, {**facts, "structure": made.structure}, made.body)
    return made
