"""Clearance of a phase: distances of all pairs of balls and obstacles at any share, and as rows of its programme.

One compiled function gives the centres of all balls; it knows the robot and the frames that balls are on, and takes
their centres in these frames as numbers. Distances are functions of the centres (:mod:`neuler.moments.pairs`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler.errors import InputError
from neuler.moments.clearance import Clearance, placed_center
from neuler.moments.measures import Distances
from neuler.moments.moment import Moment
from neuler.moments.moving_robot import MovingRobot
from neuler.moments.pairs import PairTable
from neuler.motions.profiles import Profiles
from neuler.motions.spline_motion import SplineMotion
from neuler.optimize.composed import ComposedBlock
from neuler.optimize.programme import Array
from neuler.plan.limits import Limit
from neuler.plan.phase_blocks import rows_block
from neuler.plan.rows import LIMIT, Family, Rows, trace_rows

SCALE = 0.1
"""What distances are divided by as rows of a programme (m)."""


@dataclass(frozen=True, eq=False)
class ClearanceRows:
    """The rows of a limit on clearance in a phase, one for each pair: bounds and labels in ``family``."""

    clearance: Clearance
    centers: Rows
    """Centres of all balls in the base frame, three rows for each."""
    family: Family
    table: PairTable = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "table", PairTable.of(self.clearance))

    @classmethod
    def of(cls, robot: MovingRobot, limit: Limit, points: int) -> ClearanceRows:
        """Return the rows of a limit; ``points``: at about how many its functions are evaluated at a time."""
        assert isinstance(limit.measure.rows, Distances)
        clearance = limit.measure.rows.clearance
        for frame in clearance.frames:
            robot.robot.locate(frame)
        balls = [ball.frame for ball in clearance.balls]

        def rows(moment: Moment) -> Any:
            poses = {frame: np.asarray(moment.pose(frame)) for frame in clearance.frames}
            parts = (moment.given[3 * k : 3 * k + 3] for k in range(len(balls)))
            return [x for frame, at in zip(balls, parts, strict=True) for x in placed_center(poses[frame], list(at))]

        def labels(count: int) -> Sequence[str]:
            return [f"{ball}.{axis}" for ball in range(len(balls)) for axis in "xyz"]

        centers = Family("centers", "clearance", rows, labels)
        family = Family(LIMIT, limit.measure.name, limit.measure.rows, lambda n: clearance.labels, limit)
        family.place(0, len(clearance.labels))
        try:
            traced = trace_rows(robot, [centers], "balls", given=3 * len(balls), points=points)
        except InputError as error:
            if "depends on nothing" in str(error):
                frames = ", ".join(clearance.frames)
                raise InputError(f"clearance: nothing moves {frames}; put balls on links that move") from None
            raise
        return cls(clearance, traced, family)

    @property
    def count(self) -> int:
        """How many pairs there are."""
        return self.table.count

    @property
    def limit(self) -> Limit:
        """The limit that these are the rows of."""
        assert self.family.limit is not None
        return self.family.limit

    @cached_property
    def _given(self) -> Array:
        """Centres of the balls in their frames."""
        return np.array([x for ball in self.clearance.balls for x in ball.center])

    def compile(self) -> None:
        """Make the machine code of all functions, if it is not there."""
        self.centers.derivatives.compile()
        self.table.compile()

    def within(self, shares: Array) -> NDArray[np.bool_]:
        """Which shares of the phase lie in the limit's window."""
        begin, end = self.limit.when
        return np.asarray((shares >= begin - 1e-12) & (shares <= end + 1e-12))

    def distances(self, motion: SplineMotion, phase: int, shares: Array) -> Array:
        """Of all pairs along a motion (m), (shares, pairs)."""
        return self.table.distances(self._centers(motion, phase, shares))

    def _centers(self, motion: SplineMotion, phase: int, shares: Array) -> Array:
        given = np.broadcast_to(self._given, (len(shares), len(self._given)))
        centers = motion.values(self.centers.function, phase, shares, {"given": given})
        return centers.reshape(len(shares), len(self.clearance.balls), 3)

    def near(self, motion: SplineMotion, phase: int, shares: Array, share: float) -> tuple[NDArray[np.bool_], float]:
        """Which pairs are near their bounds at ``shares`` of a motion, (shares, pairs), and how near that is (m).

        That is a ``share`` of the room that balls take up along it.
        """
        centers = self._centers(motion, phase, shares)
        spread = np.linalg.norm(np.ptp(centers.reshape(-1, 3), axis=0))
        reach = share * float(spread + 2.0 * max(ball.radius for ball in self.clearance.balls))
        found = self.table.distances(centers)
        return np.asarray((found - self.family.lower < reach) | (self.family.upper - found < reach)), reach

    def block(
        self, profiles: Profiles, n: int, slacks: Mapping[str, int], margin: Array | None, left_out: Any
    ) -> tuple[ComposedBlock, Array]:
        """Distances as rows at points of the grid, and the share of each row.

        ``margin`` (grid, pairs) tightens bounds; ``left_out`` (grid, pairs) are not posed.
        """
        low, high = self.family.lower, self.family.upper
        posed = np.tile(np.isfinite(low) | np.isfinite(high), (len(profiles.grid), 1))
        posed &= self.within(profiles.grid)[:, None]
        if left_out is not None:
            posed &= ~left_out
        point, pair = np.nonzero(posed)
        used, at = np.unique(point, return_inverse=True)
        none = np.full(self.centers.count, np.inf)
        inner = rows_block(self.centers, profiles, profiles.grid[used], n, slacks, -none, none, self._given)
        more = 0.0 if margin is None else margin[point, pair]
        lower, upper = low[pair] + more, high[pair] - more
        pairs, places = pair.astype(np.intp), at.ravel().astype(np.intp)
        block = ComposedBlock(
            inner, self.table, places, pairs, lower[:, None], upper[:, None], SCALE, name=self.family.name
        )
        return block, profiles.grid[point]


def is_clearance(limit: Limit) -> bool:
    """Whether a limit is on distances of balls, which have rows of their own."""
    return isinstance(limit.measure.rows, Distances)
