"""Links: rigid bodies with their ten inertial parameters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuler.dask_arrays import refuse_dask
from neuler.errors import RobotError
from neuler.inputs import told
from neuler.robot.numbers import finite, vector
from neuler.robot.transform import Transform, Vec3

Inertia6 = tuple[float, float, float, float, float, float]
"""xx, yy, zz, xy, xz, yz of a symmetric matrix."""


def inertia6(value: ArrayLike, owner: str = "inertia") -> Inertia6:
    """Six numbers (xx, yy, zz, xy, xz, yz) from six, three (a diagonal) or a symmetric 3x3 matrix."""
    refuse_dask(owner, "inertia", value, error=RobotError)
    try:
        a = np.asarray(value, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise RobotError(f"{owner}: inertia must be 3 or 6 numbers or a 3x3 matrix, got {told(value)}") from None
    if a.shape == (3,):
        a = np.concatenate([a, np.zeros(3)])
    elif a.shape == (3, 3):
        if not np.allclose(a, a.T, rtol=1e-9, atol=1e-12 * float(np.abs(a).max())):
            raise RobotError(f"{owner}: the inertia matrix is not symmetric: {a.tolist()}")
        a = np.array([a[0, 0], a[1, 1], a[2, 2], a[0, 1], a[0, 2], a[1, 2]])
    return vector(owner, "inertia (xx, yy, zz, xy, xz, yz)", a, 6)  # type: ignore[return-value]


@dataclass(frozen=True)
class Link:
    """A rigid body with Khalil's ten inertial parameters, all in the link's frame.

    ``mass`` (kg), ``first_moment`` = mass times centre of mass (kg m), ``inertia`` about the
    origin of the link's frame (kg m^2): xx, yy, zz, xy, xz, yz.

    >>> Link.from_com("rod", mass=2.0, com=(0.5, 0, 0), inertia=(0, 0.1, 0.1)).inertia[2]
    0.6
    """

    name: str
    mass: float = 0.0
    first_moment: Vec3 = (0.0, 0.0, 0.0)
    inertia: Inertia6 = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        owner = f"link {self.name!r}"
        object.__setattr__(self, "mass", finite(owner, "mass", self.mass))
        object.__setattr__(self, "first_moment", vector(owner, "first_moment", self.first_moment, 3))
        object.__setattr__(self, "inertia", inertia6(self.inertia, owner))

    @classmethod
    def from_com(cls, name: str, *, mass: float, com: ArrayLike = (0, 0, 0), inertia: ArrayLike = (0, 0, 0)) -> Link:
        """From the centre of mass (m) and the inertia about it, both in the axes of the link's frame."""
        owner = f"link {name!r}"
        m = finite(owner, "mass", mass)
        c = np.array(vector(owner, "com", com, 3))
        xx, yy, zz, xy, xz, yz = inertia6(inertia, owner)
        about_com = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        about_origin = about_com + m * (c @ c * np.eye(3) - np.outer(c, c))
        return cls(name, m, tuple((m * c).tolist()), inertia6(about_origin, owner))

    @property
    def com(self) -> Vec3:
        """Centre of mass (m); the origin for a link without mass."""
        if self.mass == 0:
            return (0.0, 0.0, 0.0)
        x, y, z = self.first_moment
        return (x / self.mass, y / self.mass, z / self.mass)

    @property
    def inertia_matrix(self) -> NDArray[np.float64]:
        """3x3 inertia about the link frame's origin."""
        xx, yy, zz, xy, xz, yz = self.inertia
        return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])

    @property
    def inertia_about_com(self) -> NDArray[np.float64]:
        """3x3 inertia about the centre of mass."""
        c = np.array(self.com)
        return self.inertia_matrix - self.mass * (c @ c * np.eye(3) - np.outer(c, c))

    def seen_from(self, placement: Transform) -> Link:
        """The same body described in a frame in which this link's frame has ``placement``."""
        r = np.asarray(placement.rotation)
        p = np.asarray(placement.translation)
        s = r @ np.asarray(self.first_moment)
        j = r @ self.inertia_matrix @ r.T
        j += 2 * (s @ p) * np.eye(3) - np.outer(s, p) - np.outer(p, s)
        j += self.mass * (p @ p * np.eye(3) - np.outer(p, p))
        moment = tuple((s + self.mass * p).tolist())
        return Link(self.name, self.mass, moment, inertia6((j + j.T) / 2, self.name))

    def merged(self, other: Link) -> Link:
        """This link with another one, described in the same frame, rigidly added to it."""
        moment = tuple(a + b for a, b in zip(self.first_moment, other.first_moment, strict=True))
        inertia = tuple(a + b for a, b in zip(self.inertia, other.inertia, strict=True))
        return Link(self.name, self.mass + other.mass, moment, inertia)  # type: ignore[arg-type]
