"""What drives a joint and what it loses: friction, spring, rotor, Khalil (31), (69), (70)."""

from __future__ import annotations

from collections.abc import Sequence

from neuler.passes.tree import Body
from neuler.trace.graph import Node, Scalar, sign


def none(x: Scalar) -> bool:
    """Whether it is the number zero."""
    return not isinstance(x, Node) and x == 0.0


def friction(body: Body, rate: Scalar) -> Scalar:
    """F_s sign(qd) + F_v qd, Khalil (31); the Coulomb part may differ between the two directions."""
    forward, reverse = body.drive.coulomb, body.drive.coulomb_reverse
    loss = body.drive.viscous * rate
    if not none(forward) or not none(reverse):
        s = sign(rate)
        loss = loss + 0.5 * (forward + reverse) * s + 0.5 * (forward - reverse) * (s * s)
    return loss


def spring(body: Body, q: Sequence[Scalar]) -> Scalar:
    """K (q - q0): what it takes to hold the joint's spring, Khalil (69), (70)."""
    if none(body.drive.stiffness) or not body.columns:
        return 0.0
    return body.drive.stiffness * (q[body.position] - body.drive.rest)


def passive(body: Body, q: Sequence[Scalar], rate: Scalar) -> Scalar:
    """What friction and spring take of the joint's force along a velocity of its."""
    return friction(body, rate) + spring(body, q)


def rotor(body: Body) -> Scalar:
    """Ia: inertia of rotor and gears on the joint's side."""
    return body.drive.rotor_inertia


def joint_name(body: Body) -> str:
    """The name that the user gave it."""
    return body.joint.name if body.joint else body.name
