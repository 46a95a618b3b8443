"""``Repeat``: a step that is done again until it says of a row that it is done, in one compiled loop.

carry = step(carry, held)  while busy is 1,  busy being the last of carry

The iterations of Newton's method and of its kin have this shape. Rows of a batch are lanes of a vector; those of one
vector go on until the last of them is done. What a step does to a row that is done is up to the step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from neuler.compiler.program import ALARM, Program, StepPart, Work, counts
from neuler.functions.rows import run_rows
from neuler.trace.graph import Scalar
from neuler.trace.listing import Listing, run
from neuler.trace.recipe import Operand, Recipe

if TYPE_CHECKING:
    from neuler.compiler.build import Built

Array = NDArray[np.float64]
BUSY = "busy"
"""Of shape (1,): the last of what is carried."""
_MOST = 1 << 40
"""Rounds after which a loop ends whatever its rows say."""
_FEW = 64
"""Rows that are not worth a second thread."""


class Repeat:
    """A compiled loop. Its listing takes ``carry`` operands and others that are held, and gives the carry back.

    All operands have one axis; the last of the carry is ``busy``.
    """

    def __init__(self, listing: Listing, carry: int, name: str) -> None:
        self.name, self._listing = name, listing
        self.carry, self.held = listing.inputs[:carry], listing.inputs[carry:]
        self._made: Built | None = None
        assert self.carry[-1] == Operand(BUSY, (1,))

    @property
    def program(self) -> Program:
        """The loop, for the compiler."""
        listing = self._listing

        def step(values: Mapping[str, list[Scalar]]) -> list[list[Scalar]]:
            return listing.split(run(listing.body, [x for operand in listing.inputs for x in values[operand.name]]))

        again = Recipe(listing.inputs, self.carry, step)
        never = Recipe((ALARM,), (Operand("status", (1,)), Operand("joint", (1,))), lambda _: [[0.0], [0.0]])
        quiet = Recipe((), (ALARM,), lambda _: [[0.0]])
        work = Work((StepPart(again, BUSY, _MOST),), never, once=(quiet,))
        return Program(listing.inputs, (), (), (), self.carry, lambda: work)

    @property
    def _built(self) -> Built:
        if self._made is None:
            from neuler.compiler.build import compile_program

            identity = ("repeat", self._listing.digest, len(self.carry))
            self._made = compile_program(self.program, self.name, "", identity, origin=__name__)
        return self._made

    @property
    def compile_seconds(self) -> float:
        """How long it took to get the machine code, from the trace or from the cache."""
        return self._built.seconds

    def __call__(self, carry: Sequence[Array], held: Sequence[Array], rounds: int = 1) -> list[Array]:
        """The carry when every row is done: arrays (rows, size) in, and out. ``rounds``: how many to expect."""
        rows = len(carry[0])
        found = [np.empty((rows, operand.size)) for operand in self.carry]
        arrays = [_CLOCK, _NOTHING, *carry, *held]
        work = rounds * self._listing.operations.weight if rows > _FEW else 0
        run_rows(self._built, (rows,), work, arrays, [1] * len(arrays), [*found, np.empty((rows, 3))], None)
        return found


_CLOCK = np.array(counts(1))
_NOTHING = np.zeros(3)
"""The event of a row that goes on."""
