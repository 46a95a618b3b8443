"""``scan``: a step that is run over the rows of arrays, one after the other, in one compiled loop.

carry, y_k = step(carry, each_k, held),  k = 0, 1, ..., steps - 1

The recursions of filters, of dynamic programming and of controllers in time have this shape: what NumPy does not do
without a Python loop. Batch axes lead; rows of a batch are lanes of a vector, and go through all steps together.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from neuler.compiler.program import ALARM, Program, StepPart, Work, counts
from neuler.errors import InputError
from neuler.functions.rows import run_rows
from neuler.functions.tracing import listing_of, operands
from neuler.inputs import array
from neuler.naming import fresh, hint
from neuler.trace.graph import Scalar
from neuler.trace.listing import Listing, run
from neuler.trace.recipe import Operand, Operations, Recipe
from neuler.trace.scalars import maximum, minimum

if TYPE_CHECKING:
    from neuler.compiler.build import Built

Array = NDArray[np.float64]
_TAKEN = ("event", "alarm", "clock", "status", "joint", "t")
"""Variables that the loop has for itself."""


class Scan:
    """A compiled loop, made by :func:`scan`.

    Call it with arrays in the order of ``carry``, ``each`` and ``held``, or by their names. An array of ``each`` has an
    axis of steps before its own axes, of one length for all, or of length one where it is the same in every step.
    Results are a namedtuple: the carry after the last step, then the outputs with their axis of steps. With
    ``reverse=True`` the last row comes first; outputs stand where their inputs stood. Machine code is made when it is
    first called. There are no derivatives of a scan.
    """

    def __init__(
        self, listing: Listing, carry: int, each: int, name: str = "scan", lookups: tuple[tuple[str, str], ...] = ()
    ) -> None:
        self.name, self._listing, self._sizes, self._lookups = name, listing, (carry, each), lookups
        self.carry = listing.inputs[:carry]
        self.each = listing.inputs[carry : carry + each]
        self.held = listing.inputs[carry + each : len(listing.inputs) - len(lookups)]
        self.tables = listing.inputs[len(listing.inputs) - len(lookups) :]
        self.outputs = listing.outputs[carry:]
        self._result: Any = namedtuple(name, [x.name for x in (*self.carry, *self.outputs)])  # type: ignore[misc]
        self._made: Built | None = None

    @property
    def inputs(self) -> tuple[Operand, ...]:
        """Names and shapes of the arguments, without axes of steps."""
        return self._listing.inputs

    @property
    def operations(self) -> Operations:
        """Multiplications, additions, divisions and sines of one step."""
        return self._listing.operations

    @property
    def program(self) -> Program:
        """The loop, for the compiler."""
        listing = self._listing
        places = {operand.name: k for k, operand in enumerate(self.carry)}
        ends = tuple(Operand(_end(table), (1,)) for table, _ in self._lookups)

        def step(values: Mapping[str, list[Scalar]]) -> list[list[Scalar]]:
            found = listing.split(run(listing.body, [x for o in listing.inputs for x in values[o.name]]))
            for table, index in self._lookups:  # never a line that the table has not
                found[places[index]] = [minimum(maximum(x, 0.0), values[_end(table)][0]) for x in found[places[index]]]
            return [*found, [0.0]]

        inputs, carry, each, held, tables, outputs = (
            tuple(Operand(x.name, (x.size,)) for x in side)  # loops move rows with one axis
            for side in (listing.inputs, self.carry, self.each, self.held, self.tables, self.outputs)
        )
        always = Recipe((*inputs, *ends), (*carry, *outputs, ALARM), step)
        never = Recipe((ALARM,), (Operand("status", (1,)), Operand("joint", (1,))), lambda _: [[0.0], [0.0]])
        work = Work((StepPart(always),), never)
        given, streams = (*carry, *held, *ends), (*each, *tables)
        return Program(given, streams, (), outputs, carry, lambda: work, self._lookups)

    @property
    def _built(self) -> Built:
        if self._made is None:
            from neuler.compiler.build import compile_program

            identity = ("scan", self._listing.digest, *self._sizes, *self._lookups)
            self._made = compile_program(self.program, self.name, "", identity, origin=__name__)
        return self._made

    @property
    def compile_seconds(self) -> float:
        """How long it took to get the machine code, from the trace or from the cache."""
        return self._built.seconds

    def __call__(
        self, *arrays: Any, reverse: bool = False, steps: int | None = None, threads: int | None = None, **named: Any
    ) -> Any:
        """The carry at the end and the outputs of all steps.

        ``steps`` says how many, where no input has an axis of steps; ``threads`` is the most to use.
        """
        values = self._ordered(arrays, named)
        taken = [self._numbers(x, values[x.name], k >= self._fixed) for k, x in enumerate(self._called)]
        taken = self._within(taken)
        streams = taken[len(taken) - len(self.each) - len(self.tables) :]
        lengths = {x.name: value.shape[-2] for x, value in zip(self.each, streams, strict=False)}
        if (steps is None) == (not lengths):
            raise InputError(f"{self.name}: say how many steps where no input has an axis of steps, and only there")
        steps = max(lengths.values()) if steps is None else steps
        if not set(lengths.values()) <= {1, steps} or not steps:
            shown = ", ".join(f"{name} {length}" for name, length in lengths.items())
            raise InputError(f"{self.name}: the inputs of a step must have as many steps, or one; got {shown}")
        cores = [1 if k < len(taken) - len(streams) else 2 for k in range(len(taken))]
        try:
            batch = np.broadcast_shapes(*(x.shape[: x.ndim - core] for x, core in zip(taken, cores, strict=True)))
        except ValueError:
            shown = ", ".join(f"{o.name} {np.shape(values[o.name])}" for o in self._called)
            raise InputError(f"{self.name}: the batch axes do not broadcast: {shown}") from None
        found = [np.empty((*batch, steps, x.size)) for x in self.outputs]
        last = [np.empty((*batch, x.size)) for x in self.carry]
        results = [*found, *last, np.empty((*batch, 3))]
        if reverse:
            turned = range(len(taken) - len(streams), len(taken) - len(self.tables))
            taken = [x[..., ::-1, :] if k in turned else x for k, x in enumerate(taken)]
            results = [*(x[..., ::-1, :] for x in found), *results[len(found) :]]
        clock = np.array(counts(steps))
        if threads is not None and (isinstance(threads, bool) or not isinstance(threads, int) or threads < 1):
            raise InputError(f"{self.name}: threads must be a positive whole number or None, got {threads!r}")
        work = self._built.operations.weight * steps
        run_rows(self._built, batch, work, [clock, np.zeros(3), *taken], [1, 1, *cores], results, threads)
        ends = [x.reshape((*batch, *o.shape)) for x, o in zip(last, self.carry, strict=True)]
        kept = [x.reshape((*batch, steps, *o.shape)) for x, o in zip(found, self.outputs, strict=True)]
        return self._result(*(x[()] for x in ends), *kept)

    def _within(self, taken: list[Array]) -> list[Array]:
        """With the numbers of the first lines within their tables, and behind them the last lines of these."""
        ends = []
        names = [x.name for x in self._called]
        for table, index in self._lookups:
            lines = taken[names.index(table)].shape[-2]
            if not lines:
                raise InputError(f"{self.name}: the table {table} has no lines")
            ends.append(np.array([lines - 1.0]))
            place = names.index(index)
            taken[place] = np.clip(taken[place], 0.0, lines - 1.0)
        return [*taken[: self._fixed], *ends, *taken[self._fixed :]]

    @property
    def _fixed(self) -> int:
        """How many of these have no axis of steps."""
        return len(self.carry) + len(self.held)

    @property
    def _called(self) -> tuple[Operand, ...]:
        """Inputs in the order of the machine code's arguments."""
        return (*self.carry, *self.held, *self.each, *self.tables)

    def _ordered(self, arrays: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any]:
        names = [x.name for x in self.inputs]
        if len(arrays) > len(names):
            raise InputError(f"{self.name}: takes {len(names)} arrays ({', '.join(names)}), got {len(arrays)}")
        found = dict(zip(names, arrays, strict=False))
        for name, value in named.items():
            if name not in names:
                raise InputError(f"{self.name}: there is no input {name!r}; {hint(name, names)}")
            if name in found:
                raise InputError(f"{self.name}: input {name!r} is given twice, by its place and by its name")
            found[name] = value
        for name in names:
            if name not in found:
                raise InputError(f"{self.name}: input {name!r} is not given; it takes {', '.join(names)}")
        return found

    def _numbers(self, operand: Operand, given: Any, steps: bool) -> Array:
        """With one axis of its own."""
        value = array(self.name, operand.name, given, ())
        core = len(operand.shape)
        if value.ndim < core + steps or value.shape[value.ndim - core :] != operand.shape:
            axes = ", ".join(["...", *(["steps"] if steps else []), *map(str, operand.shape)])
            raise InputError(f"{self.name}: expected {operand.name} with axes ({axes}), got shape {value.shape}")
        before = value.shape[: value.ndim - core]
        return value.reshape((*before, operand.size))

    def __repr__(self) -> str:
        sides = [", ".join(f"{o.name} {o.shape}" for o in side) for side in (self.carry, self.each, self.outputs)]
        return f"<scan {self.name}: carry {sides[0]}; each {sides[1]} -> {sides[2]}; {self.operations} a step>"

    def __reduce__(self) -> Any:
        sides = [tuple((x.name, x.shape) for x in side) for side in (self._listing.inputs, self._listing.outputs)]
        return _again, (self.name, *sides, self._listing.body, *self._sizes, self._lookups)


def _again(name: str, inputs: Any, outputs: Any, body: bytes, carry: int, each: int, lookups: Any) -> Scan:
    sides = [tuple(Operand(*operand) for operand in side) for side in (inputs, outputs)]
    return Scan(Listing(sides[0], sides[1], body), carry, each, name, lookups)


def _end(table: str) -> str:
    """The variable that holds the number of a table's last line."""
    return f"{table}_end"


def scan(
    step: Callable[..., Any],
    carry: Mapping[str, Any],
    each: Mapping[str, Any],
    outputs: str | Sequence[str],
    held: Mapping[str, Any] | None = None,
    name: str = "scan",
    tables: Mapping[str, tuple[Any, str]] | None = None,
) -> Scan:
    """Compile a loop of ``step(*carry, *each, *held, *tables) -> (*carry, *outputs)`` into a :class:`Scan`.

    ``carry`` (from step to step), ``each`` (a row of every step) and ``held`` (the same in all) map names to shapes, as
    the inputs of :func:`neuler.function`, and what works there works in ``step``. It returns a tuple: the new carry,
    then what is kept of every step under the names ``outputs``. ``tables`` map a name to the shape of a line and to
    the number in the carry that says which line a step gets: what it is when the step begins, rounded towards zero and
    kept within the table, whose array has an axis of lines before those of a line.

    >>> import numpy as np
    >>> decay = scan(lambda x, u, k: (k * x + u, k * x + u), {"x": ()}, {"u": ()}, "y", {"k": ()})
    >>> found = decay(0.0, np.ones((3, 1000)), k=[0.5, 0.1, 0.0])
    >>> found.y.shape, found.x.tolist()
    ((3, 1000), [2.0, 1.1111111111111112, 1.0])
    """
    names = [outputs] if isinstance(outputs, str) else list(outputs)
    sides = [operands(name, carry), operands(name, each) if each or not tables else ()]
    sides.append(operands(name, held) if held else ())
    sides.append(operands(name, {key: shape for key, (shape, _) in tables.items()}) if tables else ())
    lookups = tuple((key, index) for key, (_, index) in (tables or {}).items())
    for key, index in lookups:
        if all(x.name != index or x.shape for x in sides[0]):
            raise InputError(f"{name}: the line of table {key!r} must be a number of the carry, {index!r} is none")
    inputs = {x.name: x.shape for side in sides for x in side}
    if len(inputs) < sum(map(len, sides)):
        raise InputError(f"{name}: an input is named twice among carry, each, held and tables")
    for taken in (*inputs, *names):
        if taken in _TAKEN:
            raise InputError(f"{name}: no input or output may be named {taken!r}; choose another name")
    taken_names: list[str] = [*inputs, *names]
    after = []
    for operand in sides[0]:
        after.append(fresh(f"next_{operand.name}", taken_names))
        taken_names.append(after[-1])
    listing = listing_of(name, step, inputs, [*after, *names])
    for operand, result in zip(sides[0], listing.outputs, strict=False):
        if result.shape != operand.shape:
            raise InputError(
                f"{name}: the step gives {operand.name} back with shape {result.shape}, it came with {operand.shape}"
            )
    return Scan(listing, len(sides[0]), len(sides[1]), name, lookups)
