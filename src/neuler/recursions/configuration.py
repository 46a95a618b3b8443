"""Positions and velocities: q has a position and a quaternion where qd has a screw.

The velocity of a free link has components in its own frame, so that

    dp/dt = R v        d(quaternion)/dt = half quaternion w

and a derivative "to q" is one along these directions: a column for every velocity.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from neuler.passes.tree import Body, Tree
from neuler.trace.graph import Scalar


def _each(
    tree: Tree,
    q: Sequence[Scalar],
    qd: Sequence[Scalar],
    of: Callable[[Body, Sequence[Scalar], Sequence[Scalar]], list[Scalar]],
) -> list[Scalar]:
    """Of every joint's own positions and velocities, put in the places of its positions."""
    found = list(q)
    for body in tree.bodies:
        if body.coordinate is not None:
            rates = qd[body.coordinate : body.coordinate + body.kind.nv]
            found[body.position : body.position + body.kind.nq] = of(body, body.positions(q), rates)
    return found


def position_rates(tree: Tree, q: Sequence[Scalar], qd: Sequence[Scalar]) -> list[Scalar]:
    """dq/dt."""
    return _each(tree, q, qd, lambda body, here, rates: body.kind.rates(here, rates))


def tangent_columns(tree: Tree, q: Sequence[Scalar]) -> list[dict[int, Scalar]]:
    """For every velocity the nonzero entries of dq/d(qd), by their number in q."""
    columns: list[dict[int, Scalar]] = []
    for k in range(tree.dof):
        unit: list[Scalar] = [0.0] * tree.dof
        unit[k] = 1.0
        rates = position_rates(tree, q, unit)
        columns.append({i: x for i, x in enumerate(rates) if not (isinstance(x, float) and x == 0.0)})
    return columns


def along_tangents(
    tree: Tree, q: Sequence[Scalar], entries: Mapping[tuple[int, int], Scalar], rows: int
) -> list[list[Scalar]]:
    """A Jacobian to the numbers of q, as one to the velocities' directions."""
    columns = tangent_columns(tree, q)
    found: list[list[Scalar]] = [[0.0] * tree.dof for _ in range(rows)]
    for row in range(rows):
        for k, column in enumerate(columns):
            for i, factor in column.items():
                if (row, i) in entries:
                    found[row][k] = found[row][k] + entries[row, i] * factor
    return found


def integrate(tree: Tree, q: Sequence[Scalar], qd: Sequence[Scalar], dt: Scalar) -> list[Scalar]:
    """Where q is after the velocity qd, constant in the links' own frames, has lasted dt: exact for free links."""
    return _each(tree, q, qd, lambda body, here, rates: body.kind.integrate(here, rates, dt))
