"""A controller's law as a compiled function that knows its robot: other languages get its name, names and units."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from neuler.functions.function import Function
from neuler.robot import Robot
from neuler.robot.columns import labels
from neuler.trace.listing import Listing
from neuler.trace.recipe import Operand


class LawFunction(Function):
    """(t, q, qd[, memory][, reference]) -> tau[, next_memory] of one controller."""

    def __init__(self, listing: Listing, name: str, robot: Robot, about: tuple[str, ...]) -> None:
        super().__init__(listing, name)
        self.robot, self.about = robot, about

    @property
    def _name_parts(self) -> tuple[str, ...]:
        return (self.robot.name, self.name)

    def _about(self) -> tuple[str, ...]:
        return self.about

    def _labels(self, operand: Operand) -> Sequence[tuple[str, str]]:
        return [("", "s")] if operand.name == "t" else labels(self.robot, operand)

    def _sample_states(self, count: int) -> dict[str, np.ndarray]:
        found = super()._sample_states(count)
        found["q"][:] = self.robot.random_configuration(0, count)
        return found

    def __reduce__(self) -> Any:
        plain, arguments = super().__reduce__()
        return _again, (plain, arguments, self.robot, self.about)


def _again(plain: Any, arguments: Any, robot: Robot, about: tuple[str, ...]) -> LawFunction:
    function = plain(*arguments)
    found = LawFunction(function._listing, function.name, robot, about)
    found.threads = function.threads
    return found
