"""A constant rigid placement of one frame in another."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from neuler.dask_arrays import refuse_dask
from neuler.errors import RobotError
from neuler.inputs import told

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

Vec3 = tuple[float, float, float]
Mat3 = tuple[Vec3, Vec3, Vec3]

_IDENTITY: Mat3 = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
_ORTHOGONALITY = 1e-6


def exact_cos_sin(angle: float) -> tuple[float, float]:
    """cos and sin, exact where the angle is the nearest double to a multiple of pi/2."""
    if not math.isfinite(angle):
        raise RobotError(f"an angle must be finite, got {angle}")
    quarter = round(angle / (math.pi / 2))
    if angle == quarter * (math.pi / 2):
        return ((1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0))[quarter % 4]
    return math.cos(angle), math.sin(angle)


def _matrix3(rows: Sequence[Sequence[float]]) -> Mat3:
    a = [tuple(float(x) for x in row) for row in rows]
    return a[0], a[1], a[2]  # type: ignore[return-value]


def quaternion(rotation: ArrayLike) -> NDArray[np.float64]:
    """(x, y, z, w) of a rotation matrix, w not negative: an eigenvector, exact to rounding (Bar-Itzhack 2000).

    >>> quaternion(np.eye(3)).tolist()
    [0.0, 0.0, 0.0, 1.0]
    """
    r = np.asarray(rotation, dtype=float)
    k = np.empty((4, 4))
    k[:3, :3] = r + r.T - np.trace(r) * np.eye(3)
    k[3, :3] = k[:3, 3] = r[2, 1] - r[1, 2], r[0, 2] - r[2, 0], r[1, 0] - r[0, 1]
    k[3, 3] = np.trace(r)
    found = np.linalg.eigh(k)[1][:, -1]
    return np.where(found[3] < 0, -found, found) + 0.0


@dataclass(frozen=True)
class Transform:
    """Rotation (row-major 3x3) and translation (m) of a frame, expressed in its reference frame.

    A point with coordinates ``x`` in the frame has coordinates ``rotation @ x + translation``
    in the reference frame.

    >>> Transform.khalil(theta=0.5, d=1.0).translation
    (1.0, 0.0, 0.0)
    """

    rotation: Mat3 = _IDENTITY
    translation: Vec3 = (0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        for name in ("rotation", "translation"):
            refuse_dask("placement", name, getattr(self, name), error=RobotError)
        try:
            r = np.asarray(self.rotation, dtype=float) + 0.0  # no -0.0: equal placements must hash alike
            p = np.asarray(self.translation, dtype=float) + 0.0
        except (TypeError, ValueError, OverflowError):
            raise RobotError(
                f"a placement needs numbers, got {told(self.rotation)} and {told(self.translation)}"
            ) from None
        if r.shape != (3, 3) or p.shape != (3,):
            raise RobotError(f"a placement needs a 3x3 rotation and 3 translations, got shapes {r.shape} and {p.shape}")
        if not (np.isfinite(r).all() and np.isfinite(p).all()):
            raise RobotError("a placement has a number that is not finite")
        error = float(np.abs(r @ r.T - np.eye(3)).max())
        if error > _ORTHOGONALITY:
            raise RobotError(f"a placement's rotation is not a rotation matrix: R R^T differs from 1 by {error:.1e}")
        if np.linalg.det(r) < 0:
            raise RobotError("a placement's rotation is a reflection: its determinant is -1, not 1")
        if error > 1e-14:  # rounded to a few digits: the nearest rotation
            u, _, vt = np.linalg.svd(r)
            r = u @ vt + 0.0
        object.__setattr__(self, "rotation", _matrix3(r.tolist()))
        object.__setattr__(self, "translation", tuple(p.tolist()))

    @property
    def rpy(self) -> Vec3:
        """URDF's angles: about the fixed axes x, y, z in turn. Of several that do it those with yaw 0.

        >>> [round(angle, 12) for angle in Transform.from_rpy(rpy=(0.1, 0.2, 0.3)).rpy]
        [0.1, 0.2, 0.3]
        """
        r = np.array(self.rotation)
        across = float(np.hypot(r[0, 0], r[1, 0]))
        pitch = float(np.arctan2(-r[2, 0], across))
        if across < 1e-12:
            return (float(np.arctan2(-r[1, 2], r[1, 1])), pitch, 0.0)
        return (float(np.arctan2(r[2, 1], r[2, 2])), pitch, float(np.arctan2(r[1, 0], r[0, 0])))

    @classmethod
    def from_rpy(cls, xyz: Sequence[float] = (0, 0, 0), rpy: Sequence[float] = (0, 0, 0)) -> Transform:
        """URDF's origin: roll, pitch, yaw about the fixed axes x, y, z, in this order."""
        for name, value in (("xyz", xyz), ("rpy", rpy)):
            refuse_dask("placement", name, value, error=RobotError)
        (cr, sr), (cp, sp), (cy, sy) = (exact_cos_sin(float(a)) for a in rpy)
        rotation = (
            (cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr),
            (sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr),
            (-sp, cp * sr, cp * cr),
        )
        return cls(rotation, (float(xyz[0]), float(xyz[1]), float(xyz[2])))

    @classmethod
    def khalil(
        cls,
        *,
        gamma: float = 0.0,
        b: float = 0.0,
        alpha: float = 0.0,
        d: float = 0.0,
        theta: float = 0.0,
        r: float = 0.0,
    ) -> Transform:
        """Khalil (1): Rot(z, gamma) Tran(z, b) Rot(x, alpha) Tran(x, d) Rot(z, theta) Tran(z, r)."""
        return cls.rot_z(gamma, b) @ cls.rot_x(alpha, d) @ cls.rot_z(theta, r)

    @classmethod
    def rot_z(cls, angle: float, shift: float = 0.0) -> Transform:
        """Turn by ``angle`` about z and shift along z."""
        c, s = exact_cos_sin(angle)
        return cls(((c, -s, 0.0), (s, c, 0.0), (0.0, 0.0, 1.0)), (0.0, 0.0, shift))

    @classmethod
    def rot_x(cls, angle: float, shift: float = 0.0) -> Transform:
        """Turn by ``angle`` about x and shift along x."""
        c, s = exact_cos_sin(angle)
        return cls(((1.0, 0.0, 0.0), (0.0, c, -s), (0.0, s, c)), (shift, 0.0, 0.0))

    @classmethod
    def rot_y(cls, angle: float, shift: float = 0.0) -> Transform:
        """Turn by ``angle`` about y and shift along y."""
        c, s = exact_cos_sin(angle)
        return cls(((c, 0.0, s), (0.0, 1.0, 0.0), (-s, 0.0, c)), (0.0, shift, 0.0))

    @classmethod
    def from_matrix(cls, matrix: ArrayLike) -> Transform:
        """From a homogeneous 4x4 matrix."""
        refuse_dask("placement", "the matrix", matrix, error=RobotError)
        try:
            m = np.asarray(matrix, dtype=float)
        except (TypeError, ValueError, OverflowError):
            raise RobotError(f"a homogeneous matrix is 4x4 numbers, got {told(matrix)}") from None
        if m.shape != (4, 4):
            raise RobotError(f"a homogeneous matrix is 4x4, got shape {m.shape}")
        if not np.array_equal(m[3], [0, 0, 0, 1]):
            raise RobotError(f"the last row of a homogeneous matrix is (0, 0, 0, 1), got {m[3].tolist()}")
        return cls(_matrix3(m[:3, :3].tolist()), tuple(m[:3, 3].tolist()))

    @classmethod
    def from_quaternion(cls, xyz: Sequence[float], quaternion: Sequence[float]) -> Transform:
        """From a position and a quaternion (x, y, z, w) of length one."""
        x, y, z, w = (float(c) for c in quaternion)
        rotation = (
            (1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)),
            (2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)),
            (2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)),
        )
        return cls(rotation, (float(xyz[0]), float(xyz[1]), float(xyz[2])))

    @property
    def quaternion(self) -> tuple[float, float, float, float]:
        """(x, y, z, w) of the rotation, w not negative."""
        x, y, z, w = quaternion(self.rotation).tolist()
        return (x, y, z, w)

    @property
    def matrix(self) -> NDArray[np.float64]:
        """The homogeneous 4x4 matrix of rotation and translation."""
        m = np.eye(4)
        m[:3, :3] = self.rotation
        m[:3, 3] = self.translation
        return m

    def __matmul__(self, other: Transform) -> Transform:
        a, b = np.asarray(self.rotation), np.asarray(other.rotation)
        p = a @ np.asarray(other.translation) + np.asarray(self.translation)
        return Transform(_matrix3((a @ b).tolist()), tuple(p.tolist()))

    def inverse(self) -> Transform:
        """The placement of the reference frame in this one."""
        rt = np.asarray(self.rotation).T
        return Transform(_matrix3(rt.tolist()), tuple((-rt @ np.asarray(self.translation)).tolist()))
