"""Physical consistency of a link's ten parameters: is there a distribution of mass that has them?

The ten are those of ``neuler.robot.Link``: mass (kg), first moment mx, my, mz (kg m), and the entries xx, yy, zz, xy,
xz, yz of the inertia matrix I about the frame's origin (kg m^2; xy is the entry of the matrix, minus the integral of
x y). Their pseudo-inertia (Wensing, Kim and Slotine 2018) is the matrix of second moments of the mass,

    J = integral of (r, 1) (r, 1)^T dm = [[S, h], [h^T, m]],    S = tr(I) / 2 - I,

linear in the ten, and a distribution of positive mass that fills space has them if and only if J is positive definite:
the mass is positive, and the principal moments about the centre of mass satisfy the triangle inequalities.

All functions take the ten on the last axis and any axes before it.

>>> import numpy as np
>>> from neuler.robot import Link
>>> rod = Link.from_com("rod", mass=2.0, com=(0.5, 0, 0), inertia=(0.001, 0.1, 0.1))
>>> ten = np.array([rod.mass, *rod.first_moment, *rod.inertia])
>>> bool(is_consistent(ten)), bool(is_consistent(-ten))
(True, False)
>>> np.allclose(from_log_cholesky(to_log_cholesky(ten)), ten)
True
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler.algebra.pseudo_inertia import BASIS
from neuler.errors import InputError
from neuler.inputs import array, number

Array = NDArray[np.float64]


def pseudo_inertia(ten: Any) -> Array:
    """J (..., 4, 4) of the ten (..., 10).

    >>> pseudo_inertia([2, 0, 0, 0, 3, 4, 5, 0, 0, 0]).diagonal().tolist()
    [3.0, 2.0, 1.0, 2.0]
    """
    return np.tensordot(_ten("pseudo_inertia", ten), BASIS, axes=1)


def from_pseudo_inertia(J: Any) -> Array:
    """The ten (..., 10) of a symmetric J (..., 4, 4): I = tr(S) - S."""
    J = array("from_pseudo_inertia", "J", J, (4, 4))
    S, trace = J[..., :3, :3], np.trace(J[..., :3, :3], axis1=-2, axis2=-1)
    parts = [J[..., 3, 3], *(J[..., k, 3] for k in range(3)), *(trace - S[..., k, k] for k in range(3))]
    return np.stack([*parts, -S[..., 0, 1], -S[..., 0, 2], -S[..., 1, 2]], axis=-1) + 0.0


def is_consistent(ten: Any, least: float = 0.0) -> NDArray[np.bool_]:
    """Whether every eigenvalue of J is above ``least`` (kg, kg m^2)."""
    return np.linalg.eigvalsh(pseudo_inertia(ten))[..., 0] > least


def inconsistency(ten: Any) -> str:
    """Why one link's ten are those of no body, in words; empty if they are consistent.

    >>> inconsistency([1, 0, 0, 0, 1, 1, 3, 0, 0, 0])
    'the principal moments about the centre of mass, 1, 1, 3 kg m^2, violate the triangle inequality'
    """
    ten = _ten("inconsistency", ten)
    if ten.shape != (10,):
        raise InputError(f"inconsistency: expected the ten parameters of one link, got shape {ten.shape}")
    J = pseudo_inertia(ten)
    if not ten[0] > 0:
        return f"the mass, {ten[0]:.4g} kg, is not positive"
    about = J[:3, :3] - np.outer(J[:3, 3], J[:3, 3]) / ten[0]
    second = np.linalg.eigvalsh(about)
    if second[0] > 0:
        return ""
    moments = np.sort(second.sum() - second)
    shown = ", ".join(f"{x:.4g}" for x in moments)
    what = "are not all positive" if moments[0] <= 0 else "violate the triangle inequality"
    return f"the principal moments about the centre of mass, {shown} kg m^2, {what}"


# ---- log-Cholesky --------------------------------------------------------------------------------------------------

_UPPER = ((0, 1), (1, 2), (0, 2))


def from_log_cholesky(theta: Any) -> Array:
    """The ten (..., 10) of theta = (a, d1, d2, d3, s12, s23, s13, t1, t2, t3) (Rucker and Wensing 2022).

    J = U U^T with U = e^a [[e^d1, s12, s13, t1], [0, e^d2, s23, t2], [0, 0, e^d3, t3], [0, 0, 0, 1]]: consistent for
    every theta, and every consistent link has exactly one. Complex numbers pass, for derivatives by complex steps.
    """
    return _from_symmetric(_product(_root("from_log_cholesky", theta)))


def to_log_cholesky(ten: Any) -> Array:
    """theta (..., 10) of consistent ten; others are refused (``nearest_consistent`` makes them consistent)."""
    ten = _ten("to_log_cholesky", ten)
    flipped = pseudo_inertia(ten)[..., ::-1, ::-1]
    try:
        U = np.linalg.cholesky(flipped)[..., ::-1, ::-1]
    except np.linalg.LinAlgError:
        raise InputError(
            "to_log_cholesky: the parameters are those of no body with mass and extension in every direction; "
            "nearest_consistent() gives the nearest that are"
        ) from None
    scale = U[..., 3, 3]
    U = U / scale[..., None, None]
    diagonal = [np.log(U[..., k, k]) for k in range(3)]
    return np.stack(
        [np.log(scale), *diagonal, *(U[..., i, j] for i, j in _UPPER), *(U[..., k, 3] for k in range(3))], -1
    )


def log_cholesky_jacobian(theta: Any) -> Array:
    """d ten / d theta (..., 10, 10), exactly: dJ = dU U^T + U dU^T."""
    U = _root("log_cholesky_jacobian", theta)
    theta = np.asarray(theta)
    scale = U[..., 3, 3]
    changes = [U]
    for k in range(3):
        change = np.zeros_like(U)
        change[..., k, k] = U[..., k, k]
        changes.append(change)
    for i, j in (*_UPPER, (0, 3), (1, 3), (2, 3)):
        change = np.zeros_like(U)
        change[..., i, j] = scale
        changes.append(change)
    columns = [change @ np.swapaxes(U, -1, -2) for change in changes]
    return np.stack([_from_symmetric(dJ + np.swapaxes(dJ, -1, -2)) for dJ in columns], axis=-1)


def _root(called: str, theta: Any) -> NDArray[Any]:
    theta = np.asarray(theta) if np.iscomplexobj(theta) else array(called, "theta", theta, (10,))
    U = np.zeros((*theta.shape[:-1], 4, 4), dtype=theta.dtype)
    for k in range(3):
        U[..., k, k] = np.exp(theta[..., 1 + k])
        U[..., k, 3] = theta[..., 7 + k]
    for k, (i, j) in enumerate(_UPPER):
        U[..., i, j] = theta[..., 4 + k]
    U[..., 3, 3] = 1.0
    return U * np.exp(theta[..., 0])[..., None, None]


def _product(U: NDArray[Any]) -> NDArray[Any]:
    return U @ np.swapaxes(U, -1, -2)


def _from_symmetric(J: NDArray[Any]) -> NDArray[Any]:
    if not np.iscomplexobj(J):
        return from_pseudo_inertia(J)
    return from_pseudo_inertia(J.real) + 1j * from_pseudo_inertia(J.imag)


# ---- distances -----------------------------------------------------------------------------------------------------


def nearest_consistent(ten: Any, prior: Any = None, least: float = 1e-6) -> Array:
    """The nearest ten with J >= ``least`` P, in the metric || P^(-1/2) (J' - J) P^(-1/2) || (Frobenius).

    P is the pseudo-inertia of the consistent ``prior`` (10,): the distance is then dimensionless and does not depend on
    the frame (Lee, Wensing and Park 2020). Without a prior P is one in SI units. Links that have J >= ``least`` P are
    returned as they are.

    >>> nearest_consistent([-0.1, 0, 0, 0, 1, 1, 1, 0, 0, 0], least=0.01).round(9).tolist()
    [0.01, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0]
    """
    least = number("nearest_consistent: least", least, least=0.0)
    ten = _ten("nearest_consistent", ten)
    root = np.eye(4) if prior is None else np.linalg.cholesky(_definite("nearest_consistent", "prior", prior))
    inverse = np.linalg.inv(root)
    values, vectors = np.linalg.eigh(inverse @ pseudo_inertia(ten) @ np.swapaxes(inverse, -1, -2))
    turned = root @ vectors
    lifted = (turned * np.maximum(values, least)[..., None, :]) @ np.swapaxes(turned, -1, -2)
    return np.where((values[..., :1] >= least), ten, from_pseudo_inertia(lifted))


def bregman(ten: Any, prior: Any) -> tuple[Array, Array, Array]:
    """Entropic divergence tr(X) - log det X - 4, X = P^-1 J, its gradient (..., 10) and Hessian (..., 10, 10).

    It is the Bregman divergence of -log det, convex in the ten, zero at the prior alone and infinite at the boundary of
    consistency; both ``ten`` and ``prior`` must be consistent. Near the prior it is half the squared distance of
    ``nearest_consistent``.
    """
    J, P = _definite("bregman", "ten", ten), _definite("bregman", "prior", prior)
    inverse, before = np.linalg.inv(J), np.linalg.inv(P)
    value = np.einsum("...ij,...ji->...", before, J) - 4 - np.linalg.slogdet(J)[1] + np.linalg.slogdet(P)[1]
    gradient = np.einsum("...ij,kji->...k", before - inverse, BASIS)
    turned = np.einsum("...ij,kjl->...kil", inverse, BASIS)
    return value, gradient, np.einsum("...kij,...lji->...kl", turned, turned)


def affine_distance(ten: Any, prior: Any) -> tuple[Array, Array]:
    """Half the squared affine-invariant distance, (1/2) sum_i log^2 lambda_i(P^-1 J), and its gradient (..., 10).

    The distance is symmetric, independent of units and frame, but not convex in the ten. The gradient is
    d = tr(log(P^-1 J) J^-1 dJ).
    """
    J, P = _definite("affine_distance", "ten", ten), _definite("affine_distance", "prior", prior)
    inverse = np.linalg.inv(np.linalg.cholesky(P))
    values, vectors = np.linalg.eigh(inverse @ J @ np.swapaxes(inverse, -1, -2))
    logs = np.log(values)
    turned = np.swapaxes(inverse, -1, -2) @ vectors
    weighing = (turned * (logs / values)[..., None, :]) @ np.swapaxes(turned, -1, -2)
    return 0.5 * (logs**2).sum(axis=-1), np.einsum("...ij,kji->...k", weighing, BASIS)


def prior_metric(prior: Any) -> Array:
    """M (..., 10, 10) with || P^(-1/2) (J - P) P^(-1/2) ||^2 = (ten - prior)^T M (ten - prior)."""
    return bregman(prior, prior)[2]


def _ten(called: str, value: Any) -> Array:
    found = array(called, "ten", value, (10,), ": mass, mx, my, mz, xx, yy, zz, xy, xz, yz")
    if not np.isfinite(found).all():
        raise InputError(f"{called}: the ten parameters must be finite, got {found.tolist()}")
    return found


def _definite(called: str, name: str, value: Any) -> Array:
    ten = _ten(called, value)
    J = pseudo_inertia(ten)
    bad = ~(np.linalg.eigvalsh(J)[..., 0] > 0)
    if bad.any():
        why = inconsistency(ten[bad][0] if ten.ndim > 1 else ten) or "a direction has no extension"
        raise InputError(f"{called}: {name} is not consistent: {why}; nearest_consistent() gives the nearest that is")
    return J
