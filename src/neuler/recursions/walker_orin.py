"""Direct dynamics from inverse dynamics, Khalil 3.3.1 (Walker and Orin 1982).

Independent of the articulated-body recursion: it checks it.
"""

from __future__ import annotations

from collections.abc import Sequence

from neuler.algebra import vector as vec
from neuler.algebra.screw import Wrench
from neuler.passes.tree import Tree
from neuler.recursions.drives import rotors_alone
from neuler.recursions.factor import Factor
from neuler.recursions.hybrid import hybrid
from neuler.trace.graph import Scalar


def inertia_matrix_and_bias(
    tree: Tree,
    q: Sequence[Scalar],
    qd: Sequence[Scalar],
    external: dict[int, list[Wrench]] | None = None,
) -> tuple[list[list[Scalar]], list[Scalar]]:
    """A and H of (7): H is tau at qdd = 0; column i of A is tau at qdd = u_i, qd = 0, g = 0, no external wrench."""
    n = tree.dof
    bare = rotors_alone(tree)
    motion_given = [True] * n
    still: list[Scalar] = [0.0] * n
    bias = hybrid(tree, q, qd, still, motion_given, external).coordinates
    columns = []
    for i in range(n):
        unit: list[Scalar] = [0.0] * n
        unit[i] = 1.0
        columns.append(hybrid(bare, q, still, unit, motion_given, gravity=vec.ZERO).coordinates)
    return [[columns[max(i, j)][min(i, j)] for j in range(n)] for i in range(n)], bias


def forward_dynamics(
    tree: Tree,
    q: Sequence[Scalar],
    qd: Sequence[Scalar],
    tau: Sequence[Scalar],
    external: dict[int, list[Wrench]] | None = None,
) -> list[Scalar]:
    """qdd = A^-1 (tau - H), (8) with its sign put right."""
    matrix, bias = inertia_matrix_and_bias(tree, q, qd, external)
    return Factor(matrix, tree.freedom_names, tree.usual).solve([t - h for t, h in zip(tau, bias, strict=True)])
