"""Base-parameter regrouping: inertial parameters that act together are gathered on one link.

What a link carries that its own joint cannot show is moved to its antecedent, exactly, after
Gautier and Khalil (1990):

across a revolute joint, for instance, a body that does not change when it is turned about the axis and has no
inertia about it; every kind of joint says by ``split`` what it lets pass.

Afterwards a revolute link has M = MZ = YY = 0, a prismatic one J = 0, a spherical one M = 0; a free link keeps all
it has. Joint forces, the inertia matrix and all that follows from them are unchanged; the reaction
wrenches, the potential energy and the momentum are not, and are computed from the parameters as
they were.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from neuler.algebra.pose import Pose
from neuler.algebra.ten import Ten
from neuler.passes.tree import REVOLUTE, Body, Tree
from neuler.robot import Link, Transform
from neuler.trace.graph import Node


def regroup(tree: Tree) -> Tree:
    """The tree with its inertial parameters regrouped, from the tips to the base."""
    bodies = list(tree.bodies)
    for number in range(len(bodies) - 1, 0, -1):
        body = bodies[number]
        parent = bodies[body.antecedent]
        assert body.joint is not None
        if _constant(body) and _constant(parent):
            kept, moved = body.kind.split(_link(body), body.joint)
            bodies[number] = _with(body, kept)
            bodies[body.antecedent] = _with(parent, _link(parent).merged(moved.seen_from(zero_pose(body))))
        else:
            shown, passed = body.kind.split(_ten(body), body.joint)
            seat = body.seat or _as_pose(zero_pose(body))
            bodies[number] = _with(body, shown)
            bodies[body.antecedent] = _with(parent, _ten(parent).merged(passed.seen_from(seat)))
    bodies = [_rotor_on_link(tree, body) for body in bodies]
    return dataclasses.replace(tree, bodies=tuple(bodies))


def _constant(body: Body) -> bool:
    """Whether its parameters and its place are numbers."""
    return body.seat is None and not any(
        isinstance(x, Node) for x in (body.mass, *body.first_moment, *body.inertia)
    )  # fmt: skip


def _as_pose(placement: Transform) -> Pose:
    return Pose(placement.rotation, placement.translation)


def zero_pose(body: Body) -> Transform:
    """The body's frame in its antecedent's at position zero (what moves across is the same at any position)."""
    if not body.kind.has_axis:
        return body.mount
    (cg, sg), (ca, sa) = body.gamma, body.alpha
    theta = Transform.rot_z(body.quarters * np.pi / 2 + body.offset)
    turn = np.array([[cg, -sg, 0], [sg, cg, 0], [0, 0, 1]], dtype=float)
    tilt = np.array([[1, 0, 0], [0, ca, -sa], [0, sa, ca]], dtype=float)
    rotation = turn @ tilt @ np.array(theta.rotation)
    rows = tuple(tuple(row) for row in rotation.tolist())
    return Transform(rows, tuple((turn @ np.array(body.p)).tolist()))  # type: ignore[arg-type]


def _rotor_on_link(tree: Tree, body: Body) -> Body:
    """On the base and orthogonal to it, a joint's rotor turns exactly as its link does: one parameter."""
    rotor = body.drive.rotor_inertia
    if body.sigma != REVOLUTE or not (isinstance(rotor, Node) or rotor):
        return body
    below = tree.bodies[body.antecedent]
    first = body.antecedent == 0
    second = below.antecedent == 0 and below.sigma == REVOLUTE and body.alpha[0] == 0.0
    if not (first or second) or body.seat or below.seat:
        return body
    xx, yy, zz, xy, xz, yz = body.inertia
    inertia = (xx, yy, zz + rotor, xy, xz, yz)
    return dataclasses.replace(body, inertia=inertia, drive=dataclasses.replace(body.drive, rotor_inertia=0.0))


def _link(body: Body) -> Link:
    return Link(body.name, body.mass, body.first_moment, body.inertia)  # type: ignore[arg-type]


def _ten(body: Body) -> Ten:
    return Ten(body.name, body.mass, body.first_moment, body.inertia)


def _with(body: Body, link: Link | Ten) -> Body:
    return dataclasses.replace(body, mass=link.mass, first_moment=link.first_moment, inertia=link.inertia)
