"""A compiled time loop, called on arrays of any batch shape, by one thread or by several."""

from __future__ import annotations

import math
import os
import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from neuler.compiled import share, threads
from neuler.compiler.program import Program
from neuler.quantities.identity import identity
from neuler.robot.value import kept
from neuler.rollouts.model import Model

if TYPE_CHECKING:
    from neuler.compiler.build import Built

WORK_PER_THREAD = 8_000_000
"""Operations below which waking a thread costs more than it brings."""
STORED = 32
"""Loops whose code a robot keeps, those that were used last: a controller with another number in it is another loop."""
WORK_PER_CALL = 4_000_000_000
"""Operations, about a second, after which a call looks whether it is to be interrupted."""

_guard = threading.Lock()
"""Of all stores."""


def _renew_guard() -> None:
    """In a forked child: whoever held it is not there."""
    global _guard
    _guard = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_guard)


class TimeLoop:
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
        held: OrderedDict[Any, Self] = self.model.robot.__dict__.setdefault("rollout kernels", OrderedDict())
        key = (type(self), *self.choices, *self.model.key)
        with _guard:
            found = held.setdefault(key, self)
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
    def work(self) -> int:
        """Operations of one step, trigonometry and divisions weighted."""
        each = self.built.operations
        return each.mul + each.add + 20 * each.trig + 10 * each.div

    def workers(self, batch: tuple[int, ...], steps: int, most: int | None) -> int:
        """Threads that are worth their while."""
        rows = math.prod(batch)
        least = max(1, int(rows * steps * self.work / WORK_PER_THREAD))
        longest = max(batch, default=1)
        return max(1, min(most or threads(), least, longest))

    def steps_per_call(self, rows: int, multiple: int) -> int:
        """Steps of a batch after which to look for an interruption, a multiple of a number."""
        steps = WORK_PER_CALL // max(1, rows * self.work)
        return max(1, steps // multiple) * multiple

    def run(self, batch: tuple[int, ...], arrays: list[np.ndarray], out: tuple[np.ndarray, ...], workers: int) -> None:
        """All rows, in this thread or in several."""
        ufunc = self.built.ufunc
        if workers <= 1 or not batch:
            ufunc(*arrays, out=out)
            return
        axis = int(np.argmax(batch))
        cores = [len(names) for names in self.cores]
        spread = [
            np.broadcast_to(x, batch + x.shape[x.ndim - core :])
            for x, core in zip(arrays, cores[: len(arrays)], strict=True)
        ]
        edges = np.linspace(0, batch[axis], workers + 1).astype(int)
        before = (slice(None),) * axis

        def part(k: int) -> None:
            cut = (*before, slice(edges[k], edges[k + 1]))
            ufunc(*(x[cut] for x in spread), out=tuple(x[cut] for x in out))

        share(part, workers)

    @property
    @kept
    def cores(self) -> list[list[str]]:
        """Core dimensions of the operands of a call."""
        from neuler.compiler.looptext import dimensions

        return dimensions(self.program)
