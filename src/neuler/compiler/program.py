"""A step that is run many times, as data: what it reads, what it does, what is kept of it.

Values live in variables, named by the operands of recipes; a recipe reads some and writes others, or the same again.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from neuler.compiler.lower import lower
from neuler.compiler.schedule import Homes, Schedule
from neuler.trace.recipe import Operand, Operations, Recipe

COUNTS = ("every", "period", "start", "before", "due", "wait", "total")
"""Steps from one kept state to the next; from one sample to the next; the number of the first step, which times it;
how many steps earlier calls have done; steps to the first kept state, and those before the first sample, which a call
that goes on in between has fewer of; and how many are to be done."""
CLOCK = Operand("clock", (len(COUNTS),))
"""The counts of a call."""


def counts(total: int, every: int = 1, period: int = 1, start: int = 0, done: int = 0) -> list[float]:
    """The clock of a call that does ``total`` steps after the first ``done`` of a run.

    >>> counts(4, every=5, period=3, done=7)
    [5.0, 3.0, 7.0, 7.0, 3.0, 2.0, 4.0]
    """
    return [float(x) for x in (every, period, start + done, done, every - done % every, -done % period, total)]


EVENT = Operand("event", (3,))
"""What happened to a row: a status (0: nothing), after how many steps, to which joint."""
ALARM = Operand("alarm", (1,))
"""Below one while nothing happens."""
TIME = "t"
"""The variable that holds the time at the beginning of the step, where one is called so; it needs ``dt``."""


@dataclass(frozen=True)
class StepPart:
    """A part of a step: a recipe, skipped where the variable ``unless`` is below one in every row at hand.

    It is repeated while that variable is not, up to ``times`` times; with ``back``, so many parts before it are, too.
    """

    recipe: Recipe
    unless: str = ""
    times: int = 1
    back: int = 0


@dataclass(frozen=True)
class Work:
    """What a time loop does to every row."""

    parts: tuple[StepPart, ...]
    """The step, one after the other; a recipe that stands here several times is compiled once."""
    diagnose: Recipe
    """Done where the alarm is not below one: a status and a joint."""
    control: tuple[Recipe, ...] = ()
    """Done at every sample, before the step."""
    once: tuple[Recipe, ...] = ()
    """Done before the first step."""


@dataclass(frozen=True)
class Program:
    """A time loop: what is read and written, and what is done, which is asked for when it is compiled."""

    given: tuple[Operand, ...]
    """Read once, before the first step."""
    streams: tuple[Operand, ...]
    """Read at every step; or once, where there is one row of them alone."""
    samples: tuple[Operand, ...]
    """Read at every sample."""
    kept: tuple[Operand, ...]
    """Written at every k-th step."""
    last: tuple[Operand, ...]
    """Written at the end."""
    make: Callable[[], Work]
    lookups: tuple[tuple[str, str], ...] = ()
    """Streams that are tables: at every step each row of the batch reads the line whose number is in a variable."""

    @functools.cached_property
    def work(self) -> Work:
        """What is done to every row; it is made when it is first asked for."""
        return self.make()

    @property
    def inputs(self) -> tuple[Operand, ...]:
        """Operands of the call; streams and samples have a step axis before their own."""
        return (CLOCK, EVENT, *self.given, *self.streams, *self.samples)

    @property
    def outputs(self) -> tuple[Operand, ...]:
        """Kept ones have an axis of kept steps before their own."""
        return (*self.kept, *self.last, EVENT)

    @functools.cached_property
    def variables(self) -> dict[str, tuple[int, int]]:
        """By name: the first slot, and how many."""
        found: dict[str, tuple[int, int]] = {}
        at = 0
        for operand in self._operands():
            if operand.name not in found:
                found[operand.name] = at, operand.size
                at += operand.size
            elif found[operand.name][1] != operand.size:
                raise AssertionError(f"variable {operand.name} has {found[operand.name][1]} values, not {operand.size}")
        return found

    @property
    def recipes(self) -> tuple[Recipe, ...]:
        """All recipes of the loop, each once, in the order in which they are first done."""
        every = (*self.work.once, *self.work.control, *(part.recipe for part in self.work.parts), self.work.diagnose)
        return tuple({id(recipe): recipe for recipe in every}.values())

    def _operands(self) -> Iterator[Operand]:
        yield from (EVENT, ALARM, *self.given, *self.streams, *self.samples)
        for recipe in self.recipes:
            yield from (*recipe.inputs, *recipe.outputs)

    @property
    def first(self) -> int:
        """Slots of all variables; those behind them are free."""
        return sum(size for _, size in self.variables.values())

    def homes(self, recipe: Recipe) -> Homes:
        """Where a recipe's operands live."""
        sides = []
        for side in (recipe.inputs, recipe.outputs):
            places = [self.variables[operand.name] for operand in side]
            sides.append([slot for start, size in places for slot in range(start, start + size)])
        return Homes(sides[0], sides[1], self.first)

    def schedules(self, *, fma: bool) -> tuple[list[Schedule], Operations]:
        """The schedules of ``recipes``, over the variables; and the operations of one step, a sample included."""
        lowered = {id(recipe): lower(recipe, fma=fma, homes=self.homes(recipe)) for recipe in self.recipes}
        always = (part.recipe for part in self.work.parts if not part.unless)
        total = sum((lowered[id(recipe)].operations for recipe in (*self.work.control, *always)), Operations())
        return list(lowered.values()), total
