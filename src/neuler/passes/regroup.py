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

from neuler.passes.tree import REVOLUTE, Body, Tree
from neuler.robot import Link, Transform


def regroup(tree: Tree) -> Tree:
    """The tree with its inertial parameters regrouped, from the tips to the base."""
    bodies = list(tree.bodies)
    for number in range(len(bodies) - 1, 0, -1):
        body = bodies[number]
        assert body.joint is not None
        kept, moved = body.kind.split(_link(body), body.joint)
        bodies[number] = _with(body, kept)
        parent = bodies[body.antecedent]
        bodies[body.antecedent] = _with(parent, _link(parent).merged(moved.seen_from(_zero_pose(body))))
    bodies = [_rotor_on_link(tree, body) for body in bodies]
    return dataclasses.replace(tree, bodies=tuple(bodies))


def _zero_pose(body: Body) -> Transform:
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
    """On the base and square to it, a joint's rotor turns exactly as its link does: one parameter."""
    joint = body.joint
    if joint is None or body.sigma != REVOLUTE or not joint.rotor_inertia:
        return body
    below = tree.bodies[body.antecedent]
    first = body.antecedent == 0
    second = below.antecedent == 0 and below.sigma == REVOLUTE and body.alpha[0] == 0.0
    if not (first or second):
        return body
    xx, yy, zz, xy, xz, yz = body.inertia
    inertia = (xx, yy, zz + joint.rotor_inertia, xy, xz, yz)
    return dataclasses.replace(body, inertia=inertia, joint=dataclasses.replace(joint, rotor_inertia=0.0))


def _link(body: Body) -> Link:
    return Link(body.name, body.mass, body.first_moment, body.inertia)


def _with(body: Body, link: Link) -> Body:
    return dataclasses.replace(body, mass=link.mass, first_moment=link.first_moment, inertia=link.inertia)
