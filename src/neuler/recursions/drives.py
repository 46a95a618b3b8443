"""What drives a joint and what it loses: friction, spring, rotor, Khalil (31), (69), (70)."""

from __future__ import annotations

from collections.abc import Sequence

from neuler.passes.tree import Body
from neuler.trace.graph import Scalar, sign


def friction(body: Body, rate: Scalar) -> Scalar:
    """F_s sign(qd) + F_v qd, Khalil (31); the Coulomb part may differ between the two directions."""
    joint = body.joint
    if joint is None or not body.columns:
        return 0.0
    forward = joint.coulomb
    reverse = forward if joint.coulomb_reverse is None else joint.coulomb_reverse
    loss = joint.viscous * rate
    if forward or reverse:
        s = sign(rate)
        loss = loss + (forward + reverse) / 2 * s + (forward - reverse) / 2 * (s * s)
    return loss


def spring(body: Body, q: Sequence[Scalar]) -> Scalar:
    """K (q - q0): what it takes to hold the joint's spring, Khalil (69), (70)."""
    joint = body.joint
    if joint is None or not joint.stiffness or body.coordinate is None:
        return 0.0
    return joint.stiffness * (q[body.position] - joint.rest)


def passive(body: Body, q: Sequence[Scalar], rate: Scalar) -> Scalar:
    """What friction and spring take of the joint's force along a velocity of its."""
    return friction(body, rate) + spring(body, q)


def rotor(body: Body) -> float:
    """Ia: inertia of rotor and gears on the joint's side."""
    return body.joint.rotor_inertia if body.joint else 0.0


def joint_name(body: Body) -> str:
    """The name that the user gave it."""
    return body.joint.name if body.joint else body.name
