"""Derivatives of samples over time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neuler.extras import require

Array = NDArray[np.float64]


def differentiated(t: Array, values: Array) -> tuple[Array, Array]:
    """First and second derivatives of series (..., n, columns) at times t (n,), those of quintic splines through them.

    Central differences would lose 2 % of a velocity of 6 Hz at 100 Hz; splines lose nothing there.

    >>> t = np.linspace(0.0, 1.0, 101)
    >>> rate, acceleration = differentiated(t, np.sin(6.0 * t)[:, None])
    >>> bool(np.abs(acceleration[:, 0] + 36.0 * np.sin(6.0 * t)).max() < 1e-3)
    True
    """
    require("scipy", "differentiation of samples needs SciPy", "control")
    from scipy.interpolate import make_interp_spline

    spline = make_interp_spline(t, values, k=5, axis=-2)
    return np.asarray(spline(t, 1)), np.asarray(spline(t, 2))
