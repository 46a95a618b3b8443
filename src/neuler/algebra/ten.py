"""The ten inertial parameters of a rigid body over any scalar: what a Link is over numbers."""

from __future__ import annotations

from dataclasses import dataclass

from neuler.algebra import vector as vec
from neuler.algebra.pose import Pose
from neuler.algebra.vector import Matrix, Symmetric, Vector
from neuler.trace.graph import Scalar


@dataclass(frozen=True)
class Ten:
    """Mass, first moment, and inertia about the origin (xx, yy, zz, xy, xz, yz), all in one frame."""

    name: str
    mass: Scalar = 0.0
    first_moment: Vector = vec.ZERO
    inertia: Symmetric = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)

    def seen_from(self, pose: Pose) -> Ten:
        """The same body described in a frame in which this one has ``pose``.

        R J R^T + 2 (s . p) 1 - s p^T - p s^T + m (p . p 1 - p p^T) with s = R MS.
        """
        p, s = pose.position, pose.up(self.first_moment)
        turned: Matrix = pose.matrix_up(vec.full(self.inertia))
        both = vec.add(s, vec.scale(0.5 * self.mass, p))  # s p^T + p s^T + m p p^T = both p^T + p both^T
        level = 2.0 * vec.dot(both, p)

        def entry(i: int, k: int) -> Scalar:
            cross = both[i] * p[k] + p[i] * both[k]
            return turned[i][k] + level - cross if i == k else turned[i][k] - cross

        pairs = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
        xx, yy, zz, xy, xz, yz = (entry(i, k) for i, k in pairs)
        return Ten(self.name, self.mass, vec.add(s, vec.scale(self.mass, p)), (xx, yy, zz, xy, xz, yz))

    def merged(self, other: Ten) -> Ten:
        """This body with another one, described in the same frame, rigidly added to it."""
        inertia = vec.add_symmetric(self.inertia, other.inertia)
        return Ten(self.name, self.mass + other.mass, vec.add(self.first_moment, other.first_moment), inertia)
