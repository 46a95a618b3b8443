"""Fourier series as the profiles of a phase: periodic motions with a bounded spectrum.

q(s) = c_0 + sum over k = 1 ... h of (a_k sin 2 pi k s + b_k cos 2 pi k s) / k,    s = t / T

Position and every derivative at s = 1 are those at s = 0. Like the control points of splines, the coefficients c_0,
a_1 ... a_h, b_1 ... b_h are the variables in which a motion is linear, so that all of a plan applies to them, except
that a range of positions bounds rows and not coefficients. They are divided by k so that equal coefficients give equal
velocities.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from neuler.moments.tracing import is_profile
from neuler.motions.profiles import Profiles
from neuler.optimize.programme import Array

SMOOTH = 99
"""The degree of a series beside that of splines: no derivative that a measure may use jumps."""


@dataclass(frozen=True, eq=False)
class FourierProfiles(Profiles):
    """Fourier series of one phase in the place of splines; ``knots`` only divide its grid into spans."""

    harmonics: int = 1

    @property
    def control_point_count(self) -> int:
        """How many coefficients a profile has."""
        return 2 * self.harmonics + 1

    def evaluate(self, x: Array, shares: Array, order: int) -> list[Array]:
        """Profiles and their derivatives by the share, (shares, profiles) each."""
        coefficients = self.control_points(x)
        return [fourier_basis(self.harmonics, shares, k) @ coefficients for k in range(order + 1)]

    def coefficients(self, share: float, derivative: int, k: int, side: str = "right") -> dict[int, float]:
        """By variable, of a derivative (by the share) of profile k at one point."""
        values = fourier_basis(self.harmonics, np.array([share]), derivative)[0]
        at = self.first + np.arange(len(values)) * self.count + k
        return {int(c): float(v) for c, v in zip(at, values, strict=True) if abs(v) > 1e-12 * np.abs(values).max()}

    def _profile_entries(self, names: Any, shares: Array) -> dict[str, tuple[Any, Any, Any]]:
        """By input: the row within its part of z, the variable and the coefficient, points first."""
        profiles = np.arange(self.count)[:, None]
        column = (self.first + np.arange(self.control_point_count) * self.count + profiles)[None]
        return {
            name: (profiles, column, fourier_basis(self.harmonics, shares, int(name[1:]))[:, None, :])
            for name in names
            if is_profile(name)
        }


def fourier_basis(harmonics: int, shares: Array, derivative: int = 0) -> Array:
    """A derivative by the share of 1, sin(2 pi k s) / k and cos(2 pi k s) / k, (shares, 2 harmonics + 1).

    >>> fourier_basis(1, np.array([0.0, 0.25]), 1).round(3).tolist()
    [[0.0, 6.283, 0.0], [0.0, 0.0, -6.283]]
    """
    k = np.arange(1, harmonics + 1)
    w = 2.0 * np.pi * k
    angle = w * np.asarray(shares)[:, None] + 0.5 * np.pi * derivative  # each derivative is a quarter of a turn ahead
    size = w**derivative / k
    constant = np.full((len(angle), 1), 1.0 if derivative == 0 else 0.0)
    return np.hstack([constant, size * np.sin(angle), size * np.cos(angle)]) + 0.0
