"""The inertia matrix by composite links: each joint moves all that it carries as one body."""

from __future__ import annotations

from collections.abc import Sequence

from neuler.algebra.inertia import Inertia
from neuler.passes.tree import Place, Tree
from neuler.recursions.drives import rotor
from neuler.recursions.kinematics import placements
from neuler.trace.graph import Scalar


def composite_inertias(tree: Tree, places: Sequence[Place]) -> list[Inertia]:
    """Jc_j = J_j + sum_k T_k^T Jc_k T_k, Khalil (95)."""
    inertia = [Inertia.rigid(b.mass, b.first_moment, b.inertia) for b in tree.bodies]
    for number in range(len(tree.bodies) - 1, 0, -1):
        parent = tree.bodies[number].antecedent
        if parent:
            inertia[parent] = inertia[parent] + places[number].inertia_up(inertia[number])
    return inertia


def mass_matrix(tree: Tree, q: Sequence[Scalar]) -> list[list[Scalar]]:
    """A(q) of Khalil (7), rotor inertia on the diagonal.

    The force that accelerates the composite link j along its joint is felt by every joint
    between it and the base.
    """
    places = placements(tree, q)
    composite = composite_inertias(tree, places)
    matrix: list[list[Scalar]] = [[0.0] * tree.dof for _ in range(tree.dof)]
    for number, body in enumerate(tree.bodies):
        for row, column in body.freedoms:
            f, m = composite[number].along(column)
            for other, k in body.freedoms:
                matrix[row][other] = k.dot((f, m))
            matrix[row][row] = matrix[row][row] + rotor(body)
            at = number
            while tree.bodies[at].antecedent:
                f, m = places[at].wrench_up(f, m)
                at = tree.bodies[at].antecedent
                above = tree.bodies[at]
                for other, k in above.freedoms:
                    matrix[row][other] = matrix[other][row] = k.dot((f, m))
    return matrix
