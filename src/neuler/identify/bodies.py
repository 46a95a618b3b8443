"""Links among the columns of a regressor: their ten parameters, priors and bounds, as a cone programme.

>>> links_of(["a.viscous", *(f"arm.{part}" for part in PARTS)])
{'arm': [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]}
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler.algebra.pseudo_inertia import BASIS
from neuler.errors import InputError
from neuler.identify.cones import ConePoint, ConeProgramme
from neuler.identify.physical import from_pseudo_inertia, inconsistency, prior_metric, pseudo_inertia
from neuler.inputs import choice, named, number, real
from neuler.passes.parameters import TEN as PARTS

Array = NDArray[np.float64]
THIN, USUAL = 1e-3, 0.05
"""A prior with a radius of gyration below THIN (m) in some direction, such as a point mass, gets USUAL (m) there."""


def links_of(names: Sequence[str]) -> dict[str, list[int]]:
    """The columns of every link of which all ten are among the names, LINK.mass to LINK.yz, in the order of the ten."""
    at = {name: k for k, name in enumerate(names)}
    owners = [name.removesuffix(".mass") for name in names if name.endswith(".mass")]
    tens = {owner: [at.get(f"{owner}.{part}", -1) for part in PARTS] for owner in owners}
    return {owner: ten for owner, ten in tens.items() if min(ten) >= 0}


def upper_root(M: Array) -> Array:
    """C with C^T C = M, of a symmetric matrix without negative eigenvalues beyond rounding."""
    scale = np.sqrt(np.maximum(np.diag(M), 0.0))
    safe = np.where(scale > 0, scale, 1.0)
    w, V = np.linalg.eigh(M / safe / safe[:, None])
    return (V * np.sqrt(np.maximum(w, 0.0))).T * scale


class Bodies:
    """Which columns are whose ten, their prior and bounds, checked; and the cone programme that they make."""

    def __init__(
        self,
        called: str,
        names: tuple[str, ...],
        prior: Any,
        weight: float,
        metric: str,
        links: Mapping[str, Sequence[int]] | None,
        lower: Mapping[str, float] | None,
        least: float,
    ) -> None:
        self.called, self.names = called, names
        p = len(names)
        self.weight = number(f"{called}: weight", weight, least=0.0)
        self.metric = choice(f"{called}: metric", metric, ("quadratic", "entropic"))
        self.least = number(f"{called}: least", least, least=0.0)
        taken = np.full(p, np.nan) if prior is None else real(prior)
        if taken is None or taken.shape != (p,) or np.isinf(taken).any():
            raise InputError(f"{called}: prior must be {p} numbers, NaN where there is none, one for each column")
        self.prior: Array = taken
        self.notes: list[str] = []
        self.links = self._checked(links_of(names) if links is None else named(f"{called}: links", links))
        self.lower = self._bounds(named(f"{called}: lower", lower))
        self.roots = {link: self._root(link, ten) for link, ten in self.links.items()}
        self.scale = np.ones(p)
        self.priors = np.zeros((p, p))
        """Second derivatives of half the quadratic prior term, without its weight."""
        for k in set(range(p)) - {k for ten in self.links.values() for k in ten}:
            if np.isfinite(self.prior[k]) and self.prior[k] != 0:
                self.scale[k] = abs(self.prior[k])
                self.priors[k, k] = 1 / self.prior[k] ** 2
        for link, ten in self.links.items():
            M = prior_metric(from_pseudo_inertia(self.roots[link] @ self.roots[link].T))
            self.scale[ten] = 1 / np.sqrt(np.diag(M))
            if np.isfinite(self.prior[ten]).all():
                self.priors[np.ix_(ten, ten)] = M

    def _checked(self, links: Mapping[str, Any]) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        seen: set[int] = set()
        for link, columns in links.items():
            ten = [int(k) for k in columns]
            if len(ten) != 10 or len(set(ten)) != 10 or not all(0 <= k < len(self.names) for k in ten):
                raise InputError(
                    f"{self.called}: link {link!r} needs ten different columns below {len(self.names)}, got {ten}"
                )
            if seen & set(ten):
                raise InputError(f"{self.called}: columns of link {link!r} belong to another link, too")
            seen |= set(ten)
            found[link] = ten
        return found

    def _bounds(self, lower: Mapping[str, Any]) -> dict[int, float]:
        for name in lower:
            if name not in self.names:
                raise InputError(
                    f"{self.called}: lower has no column {name!r} to bound; columns are {self.names[:5]}..."
                )
        return {self.names.index(name): number(f"{self.called}: lower[{name!r}]", x) for name, x in lower.items()}

    def _root(self, link: str, ten: list[int]) -> Array:
        """L with L L^T = P, the prior's pseudo-inertia; one in SI units where there is no prior."""
        own = self.prior[ten]
        if not np.isfinite(own).all():
            if np.isfinite(own).any():
                raise InputError(f"{self.called}: the prior of link {link!r} has some of its ten parameters only")
            return np.eye(4)
        P = pseudo_inertia(own)
        mass = P[3, 3]
        about = P[:3, :3] - np.outer(P[:3, 3], P[:3, 3]) / mass if mass > 0 else np.zeros((3, 3))
        second, axes = np.linalg.eigh(about)
        if not mass > 0 or second[0] < -1e-9 * max(abs(second[-1]), mass * THIN**2):
            raise InputError(
                f"{self.called}: the prior of link {link!r} is not consistent: {inconsistency(own)}; use "
                "nearest_consistent(), or leave its columns out"
            )
        if second[0] < mass * THIN**2:
            self.notes.append(f"the prior of link {link!r} has no extension in some direction: {USUAL} m were taken")
            second = np.where(second < mass * THIN**2, mass * USUAL**2, second)
            centre = P[:3, 3] / mass
            P = P.copy()
            P[:3, :3] = (axes * second) @ axes.T + mass * np.outer(centre, centre)
        return np.asarray(np.linalg.cholesky(P), dtype=float)

    def margins(self, values: Array) -> dict[str, float]:
        """Least eigenvalue of P^-1 J of each link."""
        found = {}
        for link, ten in self.links.items():
            inverse = np.linalg.inv(self.roots[link])
            found[link] = float(np.linalg.eigvalsh(inverse @ pseudo_inertia(values[ten]) @ inverse.T)[0])
        return found

    def curvature(self, values: Array) -> Array:
        """Second derivatives of half the prior term at a point, (p, p)."""
        if self.metric == "quadratic":
            return self.weight * self.priors
        H = self.weight * self.priors
        for ten in self.links.values():
            if np.isfinite(self.prior[ten]).all():
                H[np.ix_(ten, ten)] = self.weight * prior_metric(values[ten])
        return H

    def minimised(self, C: Array, d: Array, exact: tuple[Array, Array] | None = None) -> ConePoint:
        """The minimiser x of (1/2) || C x - d ||^2 + the prior's half term, within the constraints, and exact rows."""
        p = len(self.names)
        entropic = [link for link, ten in self.links.items() if np.isfinite(self.prior[ten]).all()]
        entropic = entropic if self.metric == "entropic" and self.weight > 0 else []
        extra = 14 * len(entropic)
        programme = ConeProgramme(p + extra)
        priors = self.weight * self.priors
        for link in entropic:
            priors[np.ix_(self.links[link], self.links[link])] = 0.0
        pull = upper_root(priors)
        pull = pull[np.abs(pull).max(axis=1) > 0] if priors.any() else np.zeros((0, p))
        target = pull @ np.nan_to_num(self.prior)
        if len(C) > p + 1:
            stacked: Array = np.linalg.qr(np.column_stack([C, d]))[1]
            C, d = stacked[:, :-1], stacked[:, -1]
        rows = np.concatenate([C, pull]) * self.scale
        rows = np.concatenate([rows, np.zeros((len(rows), extra))], axis=1)
        if exact is not None:
            programme.equal(np.pad(exact[0] * self.scale, ((0, 0), (0, extra))), exact[1])
        if self.lower:
            at = sorted(self.lower)
            A = np.zeros((len(at), p + extra))
            A[range(len(at)), at] = 1.0
            programme.at_least(A, np.array([self.lower[k] / self.scale[k] for k in at]))
        q = np.zeros(p + extra)
        for link, ten in self.links.items():
            inverse = np.linalg.inv(self.roots[link])
            F = np.zeros((p + extra, 4, 4))
            F[ten] = inverse @ BASIS @ inverse.T * self.scale[ten, None, None]
            programme.semidefinite(F, -self.least * np.eye(4))
            if link in entropic:
                first = p + 14 * entropic.index(link)
                self._entropy(programme, F, first, q, ten)
        point = programme.minimised(rows, np.concatenate([d, target]), q)
        return dataclasses.replace(point, values=point.values[:p] * self.scale)

    def _entropy(self, programme: ConeProgramme, F: Array, first: int, q: Array, ten: list[int]) -> None:
        """weight (tr X - log det X): det X >= product of Z_ii where [[X, Z], [Z^T, diag Z]] >= 0, Z triangular."""
        large = np.zeros((len(F), 8, 8))
        large[:, :4, :4] = F
        pairs = [(i, j) for i in range(4) for j in range(i + 1)]
        for k, (i, j) in enumerate(pairs):
            large[first + k, i, 4 + j] = large[first + k, 4 + j, i] = 1.0
            if i == j:
                large[first + k, 4 + i, 4 + i] = 1.0
                programme.exponential(first + 10 + i, first + k)
        programme.semidefinite(large, np.zeros((8, 8)))
        q[ten] += self.weight * np.trace(F[ten], axis1=1, axis2=2)
        q[first + 10 : first + 14] -= self.weight
