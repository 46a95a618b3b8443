"""Profiles: the splines of a phase, its grid, and the places of its variables among all.

Control points P (m, profiles) and the duration T are variables. At a share s of the phase profiles are q = B(s) P, and
their rates B'(s) P / T, B''(s) P / T^2, ...: what a traced function takes, B P, B' P, B'' P, ... and T, is linear in
the variables, Barman (4.13)-(4.15). In loops the positions of the other joints are variables at every grid point; so
are, at the points of integrals, bounds of magnitudes that are integrated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from neuler.moments.contact import PROFILES
from neuler.moments.moving_robot import MovingRobot
from neuler.moments.tracing import MAGNITUDES, PAYLOAD, is_force, is_profile
from neuler.motions import splines
from neuler.optimize.programme import Array

FORCE_DEGREE = 3
"""Degree of the splines of forces of contacts."""


@dataclass(frozen=True, eq=False)
class Profiles:
    """Splines of one phase, and the places of their variables.

    These are control points, T, dependent positions, bounds of magnitudes, and control points of forces.

    :meth:`inputs` gives what a function takes at shares of the phase as matrices of the variables, from which blocks
    are made: ``c0`` are the profiles, ``c1`` their derivatives by the share, and so on, ``T`` is the duration.
    """

    count: int
    """How many profiles there are."""
    degree: int
    knots: Array
    grid: Array
    """Shares at which functions are evaluated, increasing."""
    weights: Array
    """Weights of the grid's points in integrals over the share."""
    first: int = 0
    """The place of its first variable among all."""
    dependent: int = 0
    """How many positions loops decide at every grid point."""
    payload: Array | None = None
    """Numbers of payloads."""
    magnitudes: int = 0
    """How many bounds of magnitudes are variables at every grid point that has a weight."""
    force_count: int = 0
    """How many profiles give forces of contacts: splines of their own, on the same breaks."""
    nodes: Array | None = None
    """Points of the grid at which forces of contacts are values, linear between them; None: they are splines."""

    @classmethod
    def of(
        cls, robot: MovingRobot, degree: int, knots: Array, grid: Array, weights: Array, magnitudes: int = 0
    ) -> Profiles:
        """Return the profiles of the robot of a phase, the first variable at 0."""
        dependent, payload = len(robot.dependent), robot.payload_numbers
        return cls(
            robot.profile_count, degree, knots, grid, weights, 0, dependent, payload, magnitudes, robot.force_count,
            grid if robot.support is not None and robot.support.split == PROFILES else None,
        )  # fmt: skip

    @cached_property
    def control_point_count(self) -> int:
        """How many control points a profile has."""
        return len(self.knots) - self.degree - 1

    @property
    def duration(self) -> int:
        """The place of T."""
        return self.first + self.control_point_count * self.count

    @property
    def first_dependent(self) -> int:
        """The place of the first position that loops decide."""
        return self.duration + 1

    @property
    def first_magnitude(self) -> int:
        """The place of the first bound of a magnitude."""
        return self.first_dependent + self.dependent * len(self.grid)

    @property
    def first_force(self) -> int:
        """The place of the first control point of forces of contacts."""
        return self.first_magnitude + self.magnitudes * int((self.weights != 0.0).sum())

    @cached_property
    def force_knots(self) -> Array:
        """Knots of the forces of contacts: those of the profiles, each once, or the nodes."""
        edges = np.unique(self.knots) if self.nodes is None else self.nodes
        return splines.clamped(len(edges) - 1 + self.force_degree, self.force_degree, edges)

    @property
    def force_degree(self) -> int:
        """Degree of the splines of forces of contacts."""
        return FORCE_DEGREE if self.nodes is None else 1

    @property
    def last(self) -> int:
        """The place behind its variables."""
        points = len(self.force_knots) - self.force_degree - 1 if self.force_count else 0
        return self.first_force + points * self.force_count

    def force_points(self, x: Array) -> Array:
        """Control points of the forces of contacts among all variables, (m, forces)."""
        return x[self.first_force : self.last].reshape(-1, max(self.force_count, 1))

    def control_points(self, x: Array) -> Array:
        """Control points among all variables, (m, profiles)."""
        return x[self.first : self.duration].reshape(self.control_point_count, self.count)

    def dependent_positions(self, x: Array) -> Array:
        """Positions that loops decide, among all variables: (grid, dependent)."""
        return x[self.first_dependent : self.first_magnitude].reshape(len(self.grid), self.dependent)

    def evaluate(self, x: Array, shares: Array, order: int) -> list[Array]:
        """Profiles and their derivatives by the share, (shares, profiles) each."""
        first, values = splines.basis(self.knots, self.degree, shares, order)
        near = self.control_points(x)[first[:, None] + np.arange(self.degree + 1)]
        return [np.einsum("na,nak->nk", values[k], near) for k in range(order + 1)]

    # ---- what is linear in the variables ------------------------------------------------------------------------

    def condition(self, share: float, derivative: int, k: int, value: float) -> dict[int, float]:
        """Coefficients whose sum is zero (of a position: the value) where a derivative per second has a value.

        Of derivatives above the first, zero alone is linear in control points and duration.
        """
        terms = self.coefficients(share, derivative, k)
        if derivative == 1 and value:
            terms[self.duration] = -value  # c' = v T
        return terms

    def coefficients(self, share: float, derivative: int, k: int, side: str = "right") -> dict[int, float]:
        """By variable, of a derivative (by the share) of profile k at one point."""
        first, values = splines.basis(self.knots, self.degree, [share], derivative, side)  # type: ignore[arg-type]
        at = self.first + (int(first[0]) + np.arange(self.degree + 1)) * self.count + k
        return {int(c): float(v) for c, v in zip(at, values[derivative, 0], strict=True) if v != 0.0}

    def input_matrix(
        self, names: Sequence[str], shares: Array, n: int, places: Any = None, others: Mapping[str, int] | None = None
    ) -> Any:
        """z = L x: what a function takes at ``shares``, by the names of its inputs, point by point; (shares z, n).

        ``places`` are the numbers of the shares in the grid, where dependent positions or magnitudes are asked for;
        ``others`` are the places of other variables by their names.
        """
        if not names:
            return sparse.csr_matrix((0, n))
        width = sum(self.width(name) for name in names)
        rows: list[Any] = []
        columns: list[Any] = []
        entries: list[Any] = []
        at = 0
        made = self._profile_entries(names, shares)
        for name in names:
            if name in made:
                row, column, value = made[name]
            elif name == "dependent":
                row, numbers = np.arange(self.dependent), np.arange(self.dependent)
                column = self.first_dependent + np.asarray(places)[:, None] * self.dependent + numbers
                value = np.ones(1)
            elif name == MAGNITUDES:  # none at points without a weight
                row = numbers = np.arange(self.magnitudes)
                weighted = self.weights != 0.0
                place = np.maximum(np.cumsum(weighted) - 1, 0)[places][:, None]
                column = self.first_magnitude + place * self.magnitudes + numbers
                value = 1.0 * weighted[places][:, None]
            else:
                row, value = np.zeros(1, dtype=np.intp), np.ones(1)
                column = np.full((len(shares), 1), self.duration if name == "T" else (others or {})[name])
            row = (np.arange(len(shares)) * width + at).reshape(-1, *[1] * (column.ndim - 1)) + row
            for found, part in zip((rows, columns, entries), np.broadcast_arrays(row, column, value), strict=True):
                found.append(part.ravel())
            at += self.width(name)
        data = np.concatenate(entries)
        used = data != 0.0
        where = np.concatenate(rows)[used], np.concatenate(columns)[used]
        return sparse.csr_matrix((data[used], where), shape=(len(shares) * width, n))

    def inputs(self, names: Sequence[str], shares: Array, n: int) -> dict[str, Any]:
        """Matrices of ``n`` variables by the names of inputs, each (shares times its size, n): maps of a block."""
        return {name: self.input_matrix([name], np.atleast_1d(shares), n) for name in names}

    def _profile_entries(self, names: Sequence[str], shares: Array) -> dict[str, tuple[Any, Any, Any]]:
        """By input: the row within its part of z, the variable and the coefficient, points first."""
        found: dict[str, tuple[Any, Any, Any]] = {}
        for letter, mine, knots, degree, begin, count in (
            ("c", is_profile, self.knots, self.degree, self.first, self.count),
            ("f", is_force, self.force_knots, self.force_degree, self.first_force, self.force_count),
        ):
            orders = [int(name[1:]) for name in names if mine(name)]
            if not orders:
                continue
            first, values = splines.basis(knots, degree, shares, max(orders))
            profiles = np.arange(count)[:, None]
            near = begin + (first[:, None] + np.arange(degree + 1)) * count  # of the first one
            column = near[:, None, :] + profiles
            found |= {f"{letter}{k}": (profiles, column, values[k][:, None, :]) for k in orders}
        return found

    def inputs_at(self, x: Array, names: Sequence[str], shares: Array) -> dict[str, Array]:
        """Inputs that are variables, in numbers: what :meth:`input_matrix` times x gives, by name."""
        orders = [int(name[1:]) for name in names if is_profile(name)]
        values = self.evaluate(x, shares, max(orders, default=0))
        found = {f"c{k}": values[k] for k in orders}
        rates = [int(name[1:]) for name in names if is_force(name)]
        if rates:
            first, basis = splines.basis(self.force_knots, self.force_degree, shares, max(rates))
            near = self.force_points(x)[first[:, None] + np.arange(self.force_degree + 1)]
            found |= {f"f{k}": np.einsum("na,nak->nk", basis[k], near) for k in rates}
        if "T" in names:
            found["T"] = np.full(len(shares), x[self.duration])
        return found

    def constants_at(self, shares: Array) -> dict[str, Array]:
        """Inputs that are not variables, by name."""
        found = {"share": shares}
        if self.payload is not None and len(self.payload):
            found[PAYLOAD] = np.broadcast_to(self.payload, (len(shares), len(self.payload)))
        return found

    def width(self, name: str) -> int:
        """How many numbers an input has."""
        if is_profile(name):
            return self.count
        if is_force(name):
            return self.force_count
        return {"dependent": self.dependent, MAGNITUDES: self.magnitudes}.get(name, 1)


def placed(phases: Sequence[Profiles]) -> list[Profiles]:
    """The same with their variables one behind the other."""
    found, first = [], 0
    for each in phases:
        found.append(replace(each, first=first))
        first = found[-1].last
    return found
