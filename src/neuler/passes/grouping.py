"""What the forces of a tree depend on: Gautier and Khalil's rules, for joints of every kind and any geometry.

A body has the pseudo-inertia P = integral of (r, 1) (r, 1)^T dm. Moving by a twist A = [[w]x, v; 0, 0] its points have
the velocities A (r, 1), so that two twists have the kinetic energy tr(A P B^T) = <A^T B, P>: what is seen of a body
is a space of symmetric matrices Q, and the numbers <Q, P> matter. For the body k behind a joint with the twists S let

V   be the twists that it may have at all: those of its parent, seen from k at every position of the joint, and S. The
    base has gravity, an acceleration, for a twist.
F   be what is seen of bodies that move with respect to k: what its parent's F sees of them at every position of the
    joint, and S^T A for all A in V, the joint's own force.
H   be what is seen of bodies that are fixed to k: S^T A, and of the parent's F only what the joint makes vary,
    Q S + S^T Q. The rest looks the same at every position, and is seen of the parent.

Spaces that hold "at every position" are closed under A S - S A, and under Q S + S^T Q. With K the pseudo-inertia of k
and all bodies behind it at position zero, joint forces depend on <Q, K>, Q in H, of all bodies, and on nothing else. A
rotor adds its inertia to S^T S alone. These numbers are independent: as many are the base parameters. Wensing, Niemeyer
and Slotine (2024) find the same set in another way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from neuler.algebra.pseudo_inertia import BASIS, DUAL
from neuler.algebra.screw import Screw
from neuler.algebra.ten import Ten
from neuler.passes.parameters import TEN, Parameter, parametrised
from neuler.passes.regroup import zero_pose
from neuler.passes.tree import Body, Tree
from neuler.robot import Robot
from neuler.trace.differentiate import jacobian
from neuler.trace.graph import Graph, Scalar

Array = NDArray[np.float64]
_NEW = 1e-7
"""Share of a vector's length that must be new for it to widen a space: axes nearer to each other are parallel."""
_ONE = np.eye(10)


def grouping(robot: Robot, parameters: Sequence[Parameter]) -> Array:
    """Combinations of a tree's inertial parameters and rotor inertias that joint forces depend on, (rows, parameters).

    Each body has rows of its own, which all parameters of the links and rotors together make independent.

    >>> import neuler
    >>> from neuler.passes.parameters import parse
    >>> found = grouping(neuler.robots.two_link(), parse(neuler.robots.two_link(), "links"))
    >>> found.shape[1], int(np.linalg.matrix_rank(found))
    (30, 4)
    """
    numbers = Graph().inputs("parameters", len(parameters))
    tree = parametrised(robot, parameters, numbers).fused
    entries = jacobian([x for body in tree.bodies for x in _numbers(body)], numbers)
    given = np.zeros((len(tree.bodies), len(TEN) + 1, len(parameters)))
    for (place, column), x in entries.items():
        assert isinstance(x, float), "bodies are linear in their links"
        given[(*divmod(place, len(TEN) + 1), column)] = x
    whole = np.einsum("kij,nkp->nijp", BASIS, given[:, :-1])  # pseudo-inertias, then with what is behind
    poses = [_pose(body) for body in tree.bodies]
    for k in range(len(tree.bodies) - 1, 0, -1):
        whole[tree.bodies[k].antecedent] += np.einsum("ai,bj,ijp->abp", poses[k], poses[k], whole[k])
    rows = []
    for k, (seen, rotors) in enumerate(_seen(tree, poses), start=1):
        rows.append(np.einsum("nij,ijp->np", seen, whole[k]) + np.outer(rotors, given[k, -1]))
    return np.concatenate(rows) if rows else np.zeros((0, len(parameters)))


def _seen(tree: Tree, poses: Sequence[Array]) -> list[tuple[Array, Array]]:
    """H of every body but the base, (n, 4, 4), and how much of its rotor's inertia each shows, (n,)."""
    gravity = _twist((tree.gravity, (0.0, 0.0, 0.0)))
    twists = [_space(gravity[None])]
    moving = [np.zeros((0, 4, 4))]
    found = []
    for body, pose in zip(tree.bodies[1:], poses[1:], strict=True):
        S = np.array([_twist((c.linear, c.angular)) for c in body.columns]).reshape(-1, 4, 4)
        turned = S if _carries(body) else S[:0]
        below = np.linalg.inv(pose) @ twists[body.antecedent] @ pose
        below = _closed(below, lambda A, s: A @ s - s @ A, turned)
        above = pose.T @ moving[body.antecedent] @ pose
        above = _closed(above, lambda Q, s: Q @ s + s.T @ Q, turned)
        forces = _symmetric(np.concatenate([s.T @ below for s in S])) if len(S) else np.zeros((0, 4, 4))
        own = _symmetric(np.concatenate([s.T @ S for s in S])) if len(S) else np.zeros((0, 4, 4))
        varied = np.concatenate([np.zeros((0, 4, 4)), *(above @ s + s.T @ above for s in turned)])
        every = np.concatenate([forces, varied, own]).reshape(-1, 16)
        rotor = np.zeros(len(every))
        rotor[len(every) - len(own) :] = 1.0 if len(S) == 1 else 0.0
        fixed = _space(np.column_stack([every, rotor]))
        found.append((_shown(body, fixed[:, :16].reshape(-1, 4, 4)), fixed[:, 16]))
        twists.append(_space(np.concatenate([below, S])))
        moving.append(_space(np.concatenate([above, forces, own])))
    return found


def _shown(body: Body, seen: Array) -> Array:
    """Without what the joint's kind moves to the parent whatever is seen: a body that spins is round."""
    if _carries(body) or body.joint is None:
        return seen
    kept = [body.kind.split(Ten("", m, (x, y, z), tuple(J)), body.joint)[0] for m, x, y, z, *J in _ONE]
    split = np.array([[ten.mass, *ten.first_moment, *ten.inertia] for ten in kept], dtype=float)
    of_ten = np.einsum("nij,kij->nk", seen, BASIS) @ split.T
    return np.einsum("nk,kij->nij", of_ten, DUAL)


def _carries(body: Body) -> bool:
    """Whether the body's frame moves with its joint: that of a body that spins does not."""
    return not body.kind.has_axis or body.joint is None or any(body.kind.travel(body.joint, 1.0))


def _numbers(body: Body) -> list[Scalar]:
    return [body.mass, *body.first_moment, *body.inertia, body.drive.rotor_inertia]


def _pose(body: Body) -> Array:
    """The body's frame in its antecedent's at position zero, (4, 4)."""
    found = np.eye(4)
    if body.joint is not None:
        place = zero_pose(body)
        found[:3, :3], found[:3, 3] = place.rotation, place.translation
    return found


def _twist(screw: Screw) -> Array:
    """[[w]x, v; 0, 0]."""
    (a, b, c), (x, y, z) = screw
    return np.array([[0, -z, y, a], [z, 0, -x, b], [-y, x, 0, c], [0, 0, 0, 0]], dtype=float)


# ---- spaces ---------------------------------------------------------------------------------------------------------


def _space(vectors: Array) -> Array:
    """An orthonormal basis of what vectors (n, ...) span."""
    rows = vectors.reshape(len(vectors), int(np.prod(vectors.shape[1:])))
    sizes = np.linalg.norm(rows, axis=1)
    rows = rows[sizes > _NEW * sizes.max(initial=0.0)]
    if not len(rows) or not sizes.any():
        return vectors[:0]
    _, s, basis = np.linalg.svd(rows / np.linalg.norm(rows, axis=1)[:, None], full_matrices=False)
    return np.asarray(basis[s > _NEW * s[0]]).reshape(-1, *vectors.shape[1:])


def _closed(vectors: Array, change: Callable[[Array, Array], Array], by: Array) -> Array:
    """A basis of the smallest space with these vectors that every change stays in."""
    basis = _space(vectors)
    while True:
        wider = _space(np.concatenate([basis, *(change(basis, s) for s in by)]))
        if len(wider) == len(basis):
            return basis
        basis = wider


def _symmetric(matrices: Array) -> Array:
    return (matrices + matrices.transpose(0, 2, 1)) / 2
