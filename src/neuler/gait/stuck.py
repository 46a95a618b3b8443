"""Which solves lead nowhere: still far from feasible where others are not, or crawling."""

from __future__ import annotations

import time
from dataclasses import dataclass

from neuler.optimize.programme import Progress, Report

FAR = 0.05
"""Violation of rows, as the solver sees them, from which on a point is far from feasible."""
LONG = 100
"""Iterations after which a solve that is far from feasible ends: others are near by then."""
SLOW, IN_A_ROW = 4.0, 4
"""Times the quickest iteration so far, and in how many iterations one after the other. The linear systems of rows that
contradict each other are singular, and take the solver many times as long."""


@dataclass(eq=False)
class Stuck:
    """Stops a solve that leads nowhere, and tells others of its progress.

    Time is that of this process, so that other work on the machine does not count.
    """

    report: Report | None = None
    stopped: bool = False

    def __post_init__(self) -> None:
        self._last = time.process_time()
        self._quickest = float("inf")
        self._slow = 0

    def __call__(self, progress: Progress) -> bool | None:
        """False where the solve is to stop."""
        now = time.process_time()
        took, self._last = now - self._last, now
        answer = None if self.report is None else self.report(progress)
        if progress.iteration > 0:
            self._quickest = min(self._quickest, took)
            self._slow = self._slow + 1 if took > SLOW * self._quickest else 0
        crawls = self._slow >= IN_A_ROW or progress.iteration > LONG
        if crawls and progress.infeasibility > FAR:
            self.stopped = answer is not False
            return False
        return answer
