"""A compiled time loop, called on arrays of any batch shape, by one thread or by several."""

from __future__ import annotations

import math
import os
import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from time import perf_counter as clock
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from neuler.batches import WORK_PER_THREAD, call_in_parts, threads
from neuler.compiler.program import COUNTS, EVENT, Program, counts
from neuler.quantities.identity import identity
from neuler.robot import Robot
from neuler.robot.value import kept
from neuler.rollouts.model import Model

if TYPE_CHECKING:
    from neuler.compiler.build import Built

Array = NDArray[np.float64]
STORED = 32
"""Loops whose code a robot keeps, those that were used last: a controller with another number in it is another loop."""
WORK_PER_CALL = 4_000_000_000
"""Operations of which one call of machine code has no more, rows counted in whole blocks of vectors."""
BLOCK = 16
"""Rows that take as long as one."""
SECONDS_PER_CALL = 0.12
"""What it should take, whatever the steps cost: friction that holds, lone rows and slow machines need more for the same
operations. An interruption is heard between two calls."""

_guard = threading.Lock()
"""Held while a store of any robot changes."""


def _renew_guard() -> None:
    """In a forked child: whoever held it is not there."""
    global _guard
    _guard = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_guard)


class Steps(NamedTuple):
    """How many, which are kept, how many to a sample, and the number of the first."""

    total: int
    every: int = 1
    period: int = 1
    start: int = 0


class PieceEnd(NamedTuple):
    """After a piece of a run: the steps done so far, what the program wrote at the end, and what happened to rows."""

    done: int
    last: dict[str, Array]
    event: Array


class Pace:
    """How many steps to do before an interruption is looked for, by the time that those before took."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.steps = max(1, most // 16)

    def took(self, steps: int, seconds: float) -> None:
        """So many steps have taken so long: at most eight times as many are next."""
        fit = int(steps * SECONDS_PER_CALL / max(seconds, 1e-9))
        self.steps = max(1, min(self.most, fit, 8 * steps))


@kept
def stored_loops(robot: Robot) -> OrderedDict[Any, Any]:
    """The loops of a robot that have code, those used last at the end; at most ``STORED``."""
    return OrderedDict()


class LoopKernel:
    """What rollouts and their derivatives share; who derives says what the program is, and all that decides it."""

    model: Model

    @property
    def program(self) -> Program:
        """What the loop reads, does and keeps."""
        raise NotImplementedError

    @property
    def choices(self) -> tuple[object, ...]:
        """What decides the program beside the model."""
        raise NotImplementedError

    @property
    def identity(self) -> tuple[object, ...]:
        """Equal ones have equal code."""
        model = self.model
        options = {"external": model.external, "loads": model.loads}
        if model.parameters:
            options["parameters"] = model.parameters
        return (*identity(model.robot, type(self).__name__, options), *self.choices, *model.key)

    def shared(self) -> Self:
        """The one of its kind: its code need not be looked for again while it is among the last that the robot used."""
        held = stored_loops(self.model.robot)
        key = (type(self), *self.choices, *self.model.key)
        with _guard:
            found: Self = held.setdefault(key, self)
            held.move_to_end(key)
            if len(held) > STORED:
                held.popitem(last=False)
        return found

    @property
    @kept
    def built(self) -> Built:
        """The machine code, made or found."""
        from neuler.compiler.build import compile_program

        return compile_program(self.program, type(self).__name__, "", self.identity, origin=type(self).__module__)

    @property
    @kept
    def work(self) -> int:
        """Operations of one step, trigonometry and divisions weighted."""
        return self.built.operations.weight

    def workers(self, batch: tuple[int, ...], steps: int, most: int | None) -> int:
        """Threads that are worth their while."""
        rows = math.prod(batch)
        least = max(1, int(rows * steps * self.work / WORK_PER_THREAD))
        longest = max(batch, default=1)
        return max(1, min(most or threads(), least, longest))

    def pieces(
        self, batch: tuple[int, ...], steps: Steps, arrays: Mapping[str, Array], out: Sequence[Array], most: int | None
    ) -> Iterator[PieceEnd]:
        """Run all steps, a piece at a time; what is kept is written into ``out``.

        A piece may end between two kept states or two samples: the next goes on from what the program writes at the
        end, so that no bit of the results depends on where pieces end. Between two an interruption is heard.
        """
        program = self.program
        given = {operand.name: arrays[operand.name] for operand in program.inputs[1:]}
        workers = self.workers(batch, steps.total, most)
        pace = Pace(max(1, WORK_PER_CALL // (max(BLOCK, math.prod(batch)) * max(1, self.work))))
        long = {x.name for x in (*program.streams, *program.samples)}
        ends: list[dict[str, Array]] = []
        every, done = steps.every, 0
        while done < steps.total:
            now = min(pace.steps, steps.total - done)
            inputs = [np.array(counts(now, every, steps.period, steps.start, done))]
            for name, value in given.items():
                moves = name in long and value.shape[-2] > 1
                inputs.append(value[..., done : done + now, :] if moves else value)
            first, end = done // every, (done + now) // every
            states = [x[..., first:end, :] for x in out]  # none, where no state of the piece is kept
            if len(ends) < 2:  # two take turns, so that what a piece begins from is whole when it is interrupted
                ends.append({x.name: np.empty((*batch, *x.shape)) for x in (*program.last, EVENT)})
            begin, last = clock(), ends[-1]
            with np.errstate(all="ignore"):  # what is not finite is told by the row's status
                self.run(batch, inputs, (*states, *last.values()), workers)
            pace.took(now, clock() - begin)
            done += now
            given.update({name: x for name, x in last.items() if name in given})
            ends.reverse()
            yield PieceEnd(done, last, last[EVENT.name])

    def run(self, batch: tuple[int, ...], arrays: list[Array], out: tuple[Array, ...], workers: int) -> None:
        """All rows, in this thread or in several, so many at a time that an interruption is heard in between."""
        ufunc = self.built.ufunc
        parts = workers
        if arrays[0][COUNTS.index("total")] == 1:  # fewer steps cannot be done at a time, fewer rows can
            parts = max(parts, 64 * math.prod(batch) * self.work // WORK_PER_CALL)
        parts = min(parts, max(batch, default=1))
        if parts <= 1:
            ufunc(*arrays, out=out)
            return
        cores = [len(names) for names in self.cores[: len(arrays)]]
        call_in_parts(ufunc, batch, arrays, cores, out, parts, workers)

    @property
    @kept
    def cores(self) -> list[list[str]]:
        """Core dimensions of the operands of a call."""
        from neuler.compiler.looptext import dimensions

        return dimensions(self.program)
