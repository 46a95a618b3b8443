"""Positions and velocities: q has a position and a quaternion where qd has a screw.

The velocity of a free link has components in its own frame, so that

    dp/dt = R v        d(quaternion)/dt = half quaternion w

and a derivative "to q" is one along these directions: a column for every velocity.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from neuler.robot import Joint
from neuler.robot.coordinates import sizes, slices
from neuler.trace.graph import Scalar

Part = Sequence[Scalar]


def _each(joints: Sequence[Joint], q: Part, qd: Part) -> Iterator[tuple[Joint, Part, Part]]:
    """Every joint with its own positions and velocities."""
    for joint, place, rates in slices(joints):
        yield joint, q[place], qd[rates]


def position_rates(joints: Sequence[Joint], q: Part, qd: Part) -> list[Scalar]:
    """dq/dt of the joints' positions q."""
    return [x for joint, here, rates in _each(joints, q, qd) for x in joint.type.rates(here, rates)]


def velocities_of(joints: Sequence[Joint], q: Part, rates: Part) -> list[Scalar]:
    """Velocities of the joints, from dq/dt: ``position_rates`` the other way."""
    return [x for joint, at, _ in slices(joints) for x in joint.type.velocities(q[at], rates[at])]


def tangent_columns(joints: Sequence[Joint], q: Part) -> list[dict[int, Scalar]]:
    """For every velocity the nonzero entries of dq/d(qd), by their number in q."""
    columns: list[dict[int, Scalar]] = []
    _, n = sizes(joints)
    for k in range(n):
        rates = position_rates(joints, q, [float(i == k) for i in range(n)])
        columns.append({i: x for i, x in enumerate(rates) if not (isinstance(x, float) and x == 0.0)})
    return columns


def along_tangents(
    joints: Sequence[Joint], q: Part, entries: Mapping[tuple[int, int], Scalar], rows: int
) -> list[list[Scalar]]:
    """A Jacobian to the numbers of q, as one to the velocities' directions."""
    columns = tangent_columns(joints, q)
    found: list[list[Scalar]] = [[0.0] * len(columns) for _ in range(rows)]
    for row in range(rows):
        for k, column in enumerate(columns):
            for i, factor in column.items():
                if (row, i) in entries:
                    found[row][k] = found[row][k] + entries[row, i] * factor
    return found


def integrate(joints: Sequence[Joint], q: Part, qd: Part, dt: Scalar) -> list[Scalar]:
    """Where q is after the velocity qd, constant in the links' own frames, has lasted dt: exact for free links."""
    return [x for joint, here, rates in _each(joints, q, qd) for x in joint.type.integrate(here, rates, dt)]


def way_rates(joints: Sequence[Joint], way: Part, qd: Part) -> list[Scalar]:
    """d(way)/dt at the velocity qd, where ``integrate(joints, q, way, 1)`` is the position."""
    return [x for joint, _, at in slices(joints) for x in joint.type.way_rates(way[at], qd[at])]
