"""A transcribed plan: its programme, how to read its variables, and a solution on other grids as a start."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from neuler.errors import InputError
from neuler.motions.profiles import Profiles
from neuler.optimize.block_programme import BlockProgramme
from neuler.optimize.elimination import Elimination
from neuler.optimize.programme import Array, Solution
from neuler.plan.phase_blocks import FromClearance, FromPath, Origin


@dataclass(eq=False)
class Transcribed:
    """A programme on some grids, and how to read its variables."""

    profiles: list[Profiles]
    slacks: dict[str, int]
    """Places of the variables that peaks stay below."""
    elimination: Elimination
    programme: BlockProgramme
    origins: list[Origin]
    """Where each of its blocks comes from."""

    def x(self, y: Array) -> Array:
        """All variables from those of the programme."""
        return np.asarray(self.elimination.Z @ y + self.elimination.c)

    def path_multipliers(self, solution: Solution) -> list[Array]:
        """Of every phase, the multipliers of its path, (grid, rows); zero where there is no row."""
        found = [np.zeros((len(mine.grid), 0)) for mine in self.profiles]
        for origin, values in zip(self.origins, self.programme.multipliers_of(solution.multipliers)[0], strict=True):
            if isinstance(origin, FromPath):
                found[origin.phase] = values
        return found

    def without_multipliers(self) -> Solution:
        """The start as a warm one: near a motion of least time it is far quicker than from well inside all bounds."""
        programme = self.programme
        none = np.zeros(programme.n)
        return Solution(
            x=programme.start, objective=np.nan, rows=np.zeros(programme.m), multipliers=np.zeros(programme.m),
            bound_multipliers=(none, none), status="", message="", iterations=0, seconds=0.0, function_seconds=0.0,
            solver="", infeasibility=np.inf,
        )  # fmt: skip

    def check_count(self) -> None:
        """Refuse a programme whose equalities leave the objective nothing to decide."""
        programme, equal = self.programme, dict[str, int]()
        for block in programme.blocks:
            low, high = block.bounds
            equal[block.name] = equal.get(block.name, 0) + int((low == high).sum())
        free = programme.n - int((programme.lower == programme.upper).sum())
        if sum(equal.values()) > free:
            many = ", ".join(f"{count} of {name}" for name, count in equal.items() if count)
            raise InputError(
                f"plan: there are more equality rows than free variables: {sum(equal.values())} rows ({many}) and "
                f"{free} variables; ask for less at ends, contacts and limits that are equalities, or use more control "
                "points"
            )

    def warm(self, before: Transcribed, solution: Solution) -> Solution:
        """A solution on other grids or splines as a start here: its multipliers per share, on the grids of this one."""
        old, rest = before.programme.multipliers_of(solution.multipliers)
        found = []
        blocks = zip(self.origins, self.programme.blocks, before.origins, before.programme.blocks, old, strict=True)
        for origin, block, origin_before, mine, values in blocks:
            new = np.zeros(block.bounded.shape)
            if isinstance(origin, FromClearance) and isinstance(origin_before, FromClearance):
                new[:, 0] = origin.carried(origin_before, values[:, 0])
            elif isinstance(origin, FromPath):
                k = origin.phase
                for row in np.flatnonzero(values.any(axis=0)):
                    here, there = block.bounded[:, row], mine.bounded[:, row]
                    grid, grid_before = self.profiles[k].grid[here], before.profiles[k].grid[there]
                    new[here, row] = respread(grid_before, values[there, row], grid)
            elif block.points == mine.points:
                new = values
            found.append(new)
        count = self.programme.m - sum(block.count for block in self.programme.blocks)
        if len(rest) != count:  # of other splines
            rest = np.zeros(count)
        lower, upper = solution.bound_multipliers
        if len(self.elimination.free) != len(lower):  # positions at new grid points, other control points
            lower = upper = np.zeros(len(self.elimination.free))
        return replace(
            solution,
            x=self.programme.start,
            rows=np.zeros(self.programme.m),
            multipliers=self.programme.with_multipliers(found, rest),
            bound_multipliers=(lower, upper),
        )


def respread(grid: Array, values: Array, new: Array) -> Array:
    """Parts of an integral at the points of a grid as parts at the points of another one; the same on the same grid.

    Each is the integrand times the share that the point stands for: half the way to its neighbours on both sides.

    >>> respread(np.array([0.0, 0.5, 1.0]), np.array([0.25, 0.5, 0.25]), np.array([0.0, 0.25, 0.5, 1.0]))
    array([0.125, 0.25 , 0.375, 0.25 ])
    """
    if not len(new) or not len(grid):
        return np.zeros(len(new))
    found: Array = np.interp(new, grid, values / _stands_for(grid)) * _stands_for(new)
    return found


def _stands_for(grid: Array) -> Array:
    """Half the way between the neighbours of every point."""
    if len(grid) < 2:
        return np.ones(len(grid))
    beside = np.concatenate([grid[:1], grid, grid[-1:]])
    return np.maximum(0.5 * (beside[2:] - beside[:-2]), 1e-15)  # of points that are all but the same
