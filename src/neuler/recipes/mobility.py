"""What the loops of a mechanism leave free: found with numbers, once, before anything is compiled.

From a position at which the loops are closed, and some near it, the rank of W (Khalil (4)) says how many
constraints are independent; the mechanism's mobility is what is left of its tree's velocities.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from neuler.errors import RobotError
from neuler.naming import listed
from neuler.passes.tree import Tree
from neuler.recipes.setup import fused_tree, refuse_inertialess, usual_inertias
from neuler.recursions.closed import Chart, Constraints
from neuler.recursions.configuration import integrate
from neuler.robot import Mechanism
from neuler.robot.inertia_matrix import Samples, inertia_matrix
from neuler.robot.value import kept

Array = NDArray[np.float64]

CLOSED = 1e-12
"""Metres and radians by which a closed loop may be open."""
_RANK = 1e-8
_SHAKY = 1e4
"""Condition of the motions by the independent velocities above which a position is too near a singular one."""
_TRIES = 40
_NEARBY = 6
"""Positions of each distance that are tried around a singular reference."""


@dataclass(frozen=True)
class Mobility:
    """Of a mechanism, at its reference position and near it."""

    reference: tuple[float, ...]
    """A position at which all loops are closed."""
    constraints: int
    rank: int
    freedoms: int
    """The mobility: velocities of the tree less independent constraints."""
    redundant: tuple[str, ...]
    """Loops with constraints that others already set, and how many: 'cut (3)'."""
    rows: tuple[int, ...]
    """Independent rows of W."""
    independent: tuple[str, ...]
    """Active joints whose motion decides all others; none where the mechanism is under-actuated."""
    motions: Array = field(repr=False)
    """A basis of the velocities that the loops allow at the reference: a column a freedom."""

    def __repr__(self) -> str:
        lost = f"; redundant: {', '.join(self.redundant)}" if self.redundant else ""
        return (
            f"<mobility: {_freedoms(self)}, {self.rank} independent of {self.constraints} constraints; independent: "
            f"{', '.join(self.independent) or 'no active joints'}{lost}; closed at "
            f"({', '.join(f'{x:.6g}' for x in self.reference)})>"
        )


class Numbers:
    """The constraints of a mechanism on plain numbers."""

    def __init__(self, mechanism: Mechanism) -> None:
        self.tree: Tree = fused_tree(mechanism.tree)
        self.constraints = Constraints(self.tree, mechanism)

    def open_by(self, q: Array) -> Array:
        """Khalil (3)."""
        return np.array([float(x) for x in self.constraints.open_by(q.tolist())])

    def jacobian(self, q: Array) -> Array:
        """W."""
        rows = self.constraints.jacobian(q.tolist())
        matrix = np.zeros((len(rows), self.tree.dof))
        for i, row in enumerate(rows):
            for k, x in row.items():
                matrix[i, k] = float(x)
        return matrix

    def upright(self, q: Array) -> bool:
        """Whether no loop is closed the wrong way round."""
        return all(float(x) > 0 for x in self.constraints.turned_over(q.tolist()))

    def moved(self, q: Array, step: Array) -> Array:
        """q after a step along velocities."""
        return np.array([float(x) for x in integrate(self.tree, q.tolist(), step.tolist(), 1.0)])

    def close(self, guess: Array, iterations: int = 60) -> tuple[Array, float]:
        """The nearest position at which the loops are closed, by damped least squares over all joints."""
        q, damping = guess, 1e-3
        gap = self.open_by(q)
        size = float(np.linalg.norm(gap))
        for _ in range(iterations):
            if size < CLOSED / 10:
                break
            w = self.jacobian(q)
            damped = np.vstack([w, np.sqrt(damping * size) * np.eye(w.shape[1])])
            step = np.linalg.lstsq(damped, np.concatenate([-gap, np.zeros(w.shape[1])]), rcond=None)[0]
            longest = float(np.abs(step).max(initial=0.0))
            trial = self.moved(q, step * min(1.0, 0.5 / longest) if longest else step)
            gap_there = self.open_by(trial)
            there = float(np.linalg.norm(gap_there))
            if there < size:
                q, gap, size, damping = trial, gap_there, there, damping / 10
            elif damping > 1e8:
                break
            else:
                damping *= 10
        return q, size


@kept
def mobility(mechanism: Mechanism) -> Mobility:
    """Close the loops, then count."""
    numbers = Numbers(mechanism)
    for loop, closure in zip(mechanism.loops, numbers.constraints.closures, strict=True):
        if closure.bodies[0] == closure.bodies[1]:
            raise RobotError(
                f"mechanism {mechanism.name!r}, loop {loop.name!r}: fixed joints make one body of the links that carry "
                "its frames; it closes no loop"
            )
    reference = _reference(mechanism, numbers)
    regular = _regular(mechanism, numbers, reference)
    if mechanism.reference is None:
        reference = regular
    samples = [numbers.jacobian(q) for q in (regular, *_neighbours(numbers, regular))]
    ranks = [_rank(w) for w in samples]
    rank = max(ranks)
    rows = _independent_rows(samples, rank)
    w = samples[int(np.argmax(ranks))] if ranks[0] < rank else samples[0]
    _, _, vt = np.linalg.svd(w)
    return Mobility(
        tuple(reference.tolist()),
        len(w),
        rank,
        numbers.tree.dof - rank,
        _redundant(mechanism, rows),
        rows,
        _independent(mechanism, vt[rank:].T),
        vt[rank:].T,
    )


def chart(mechanism: Mechanism, independent: Sequence[str] | None = None, *, held: bool = False) -> Chart:
    """Independent velocities: those of the named joints, by default as many active ones as there are freedoms.

    They have the order of the names, by default that of the tree. ``held``: the named joints may have more velocities
    than there are freedoms; all are kept as they are given.
    """
    facts = mobility(mechanism)
    numbers = velocity_numbers(mechanism, mechanism.active_names if independent is None else independent)
    named = [k for k, _ in numbers]
    chosen = _pivots(facts.motions[named], facts.freedoms, 1.0)  # a basis: its columns have the length one
    if len(chosen) < facts.freedoms:
        raise RobotError(_undetermined(mechanism, facts, independent, len(chosen)))
    rows = facts.rows
    if independent is None:
        picked = tuple(sorted(named[k] for k in chosen))
    elif len(named) == facts.freedoms:
        picked = tuple(named)
    elif held:
        picked, rows = tuple(named), tuple(range(facts.constraints))
    else:
        raise RobotError(
            f"mechanism {mechanism.name!r} has {_freedoms(facts)}; {', '.join(independent)} have {len(named)} "
            "velocities, which cannot all be independent"
        )
    return Chart(picked, tuple(k for k in range(mechanism.tree.nv) if k not in picked), rows)


def reduced_inertias(mechanism: Mechanism, independent: Sequence[int], names: Sequence[str]) -> Samples | None:
    """A_c of Khalil (58) near the reference, by these independent velocities of the tree, where they decide all."""
    numbers = Numbers(mechanism)
    facts = mobility(mechanism)
    regular = _regular(mechanism, numbers, np.array(facts.reference))
    matrices, most = [], []
    for q in (regular, *_neighbours(numbers, regular)):
        motions = np.linalg.svd(numbers.jacobian(q))[2][facts.rank :].T
        chosen = motions[list(independent)]
        if chosen.shape[0] != chosen.shape[1] or np.linalg.cond(chosen) > _SHAKY:
            continue
        g = motions @ np.linalg.inv(chosen)
        tree = inertia_matrix(mechanism.tree, q)
        matrices.append(g.T @ tree @ g)
        most.append(np.abs(np.diag(tree)) @ np.square(g))
    return Samples(matrices, np.max(most, axis=0), tuple(names)) if matrices else None


def usual_reduced(
    mechanism: Mechanism, quantity: str, independent: Sequence[int], names: Sequence[str]
) -> dict[int, float]:
    """By independent velocity: the inertia that it usually feels, where that may vanish; else nothing.

    Motions without inertia in any position are refused.
    """
    if not usual_inertias(mechanism.tree):
        return {}
    samples = reduced_inertias(mechanism, independent, names)
    if samples is None:
        return {}
    refuse_inertialess(f"{quantity} of {mechanism.name!r}", samples, range(len(names)))
    return dict(enumerate(samples.usual.tolist()))


def _independent(mechanism: Mechanism, motions: Array) -> tuple[str, ...]:
    named = velocity_numbers(mechanism, mechanism.active_names)
    chosen = _pivots(motions[[k for k, _ in named]], motions.shape[1], 1.0)
    if len(chosen) < motions.shape[1]:
        return ()
    return tuple(named[k][1] for k in sorted(chosen))


def velocity_numbers(mechanism: Mechanism, joints: Sequence[str]) -> list[tuple[int, str]]:
    """(number of the velocity, joint) of all velocities of named joints, in the order of the names."""
    for name in joints:
        if name not in mechanism.joint_names:
            raise RobotError(
                f"mechanism {mechanism.name!r} has no moving joint {name!r}; it has "
                f"{listed(name, mechanism.joint_names)}"
            )
    if len(set(joints)) != len(joints):
        raise RobotError(f"mechanism {mechanism.name!r}: a joint is named twice in {', '.join(joints)}")
    every = [joint.name for joint in mechanism.tree.moving_joints for _ in range(joint.nv)]
    return [(k, name) for name in joints for k, other in enumerate(every) if other == name]


def _reference(mechanism: Mechanism, numbers: Numbers) -> Array:
    given = mechanism.reference
    guesses = [np.array(given)] if given is not None else [mechanism.tree.neutral()]
    rng = np.random.default_rng(0)
    best, least = guesses[0], np.inf
    for k in range(1 if given is not None else _TRIES):
        guess = guesses[0] if k == 0 else mechanism.tree.random_configuration(rng)
        q, size = numbers.close(guess)
        if size < CLOSED and numbers.upright(q):
            return q
        if size < least:
            best, least = q, size
    where = "from its reference" if given is not None else f"from {_TRIES} guesses"
    if not numbers.upright(best):
        reason = "axes that should be equal are opposite, the wrong way round"
    else:
        gaps = _by_loop(mechanism, numbers.open_by(best))
        worst = max(gaps, key=lambda name: gaps[name])
        reason = f"{worst!r} stays open by {gaps[worst]:.2g} (m, rad)"
    raise RobotError(
        f"mechanism {mechanism.name!r}: its loops cannot be closed {where}; {reason}. "
        "Check the frames and lengths, or give another reference= position"
    )


def _regular(mechanism: Mechanism, numbers: Numbers, reference: Array) -> Array:
    """The reference, or where it is singular (a folded linkage, say) a closed position nearby that is not.

    Best is where most constraints are independent, then where the active joints decide most of the motion, where most
    of them move, and then where all that is so by the widest margin.
    """
    active = [k for k, _ in velocity_numbers(mechanism, mechanism.active_names)]

    def score(q: Array) -> tuple[int, int, int, float]:
        _, sizes, vt = np.linalg.svd(numbers.jacobian(q))
        rank = _rank(numbers.jacobian(q))
        motions = vt[rank:].T[active]
        decided = len(_pivots(motions, motions.shape[1], 1.0))
        margin = float(sizes[rank - 1] / sizes[0]) if rank else 1.0
        moving = int((np.linalg.norm(motions, axis=1) > _RANK).sum())
        return rank, decided, moving, margin * float(np.prod(np.linalg.svd(motions, compute_uv=False)[:decided]))

    here = score(reference)
    ranks = [_rank(numbers.jacobian(q)) for q in _neighbours(numbers, reference)]
    freedoms = numbers.tree.dof - here[0]
    if max(ranks, default=0) <= here[0] and here[1] >= min(len(active), freedoms):
        return reference
    rng = np.random.default_rng(2)
    found = [reference]
    for size in np.repeat((0.1, 0.3, 0.6, 1.0), _NEARBY):
        q, gap = numbers.close(numbers.moved(reference, size * rng.normal(size=numbers.tree.dof)))
        if gap < CLOSED and numbers.upright(q):
            found.append(q)
    best = max(found, key=score)
    return best if score(best)[:2] > here[:2] else reference


def _by_loop(mechanism: Mechanism, gap: Array) -> dict[str, float]:
    found, at = {}, 0
    for loop in mechanism.loops:
        found[loop.name] = float(np.abs(gap[at : at + loop.constraints]).max())
        at += loop.constraints
    for coupling, x in zip(mechanism.couplings, gap[at:], strict=True):
        found[f"{coupling.joint} of {coupling.of}"] = abs(float(x))
    return found


def _neighbours(numbers: Numbers, reference: Array) -> list[Array]:
    """Closed positions near the reference, in directions that the loops allow."""
    rng = np.random.default_rng(1)
    found = []
    for size in (0.05, 0.2, 0.4):
        w = numbers.jacobian(reference)
        _, _, vt = np.linalg.svd(w)
        free = vt[_rank(w) :]
        if not len(free):
            break
        step = rng.normal(size=len(free)) @ free
        q, gap = numbers.close(numbers.moved(reference, size * step / np.linalg.norm(step)))
        if gap < CLOSED:
            found.append(q)
    return found


def _rank(w: Array) -> int:
    s = np.linalg.svd(w, compute_uv=False)
    return int((s > _RANK * max(s.max(initial=0.0), 1e-300)).sum())


def _pivots(rows: Array, most: int, scale: float) -> list[int]:
    """Numbers of independent rows, found one after another: always the one with most left of it.

    Of rows of this size, what is left is rounding where it is ``_RANK`` times less.
    """
    left = rows.copy()
    chosen: list[int] = []
    for _ in range(most if len(rows) else 0):
        sizes = np.linalg.norm(left, axis=1)
        # of rows that are nearly as good the first: the order of the joints, not rounding, decides
        k = int(np.argmax(sizes > 0.5 * sizes.max()))
        if sizes[k] <= _RANK * scale:
            break
        chosen.append(k)
        direction = left[k] / sizes[k]
        left = left - np.outer(left @ direction, direction)
    return chosen


def _independent_rows(samples: Sequence[Array], rank: int) -> tuple[int, ...]:
    rows = np.hstack(samples)
    return tuple(sorted(_pivots(rows, rank, float(np.linalg.norm(rows, axis=1).max(initial=0.0)))))


def _redundant(mechanism: Mechanism, rows: Sequence[int]) -> tuple[str, ...]:
    found, at = [], 0
    sizes = [(loop.name, loop.constraints) for loop in mechanism.loops]
    sizes += [(f"{coupling.joint} of {coupling.of}", 1) for coupling in mechanism.couplings]
    for name, size in sizes:
        lost = sum(k not in rows for k in range(at, at + size))
        if lost:
            found.append(f"{name} ({lost})")
        at += size
    return tuple(found)


def _undetermined(mechanism: Mechanism, facts: Mobility, independent: Sequence[str] | None, reached: int) -> str:
    names = mechanism.active_names if independent is None else tuple(independent)
    what = "active joints" if independent is None else "joints"
    remedy = "Name other joints, or give another reference= position"
    if independent is None:
        remedy = "Drive more joints (role 'driven'), name others with independent=, or give another reference= position"
    return (
        f"mechanism {mechanism.name!r} has {_freedoms(facts)}, but the {what} ({', '.join(names) or 'none'}) decide "
        f"{reached} of them at its reference: {'it is under-actuated' if independent is None else 'too few'}, or the "
        f"reference is singular. {remedy}"
    )


def _freedoms(facts: Mobility) -> str:
    return "1 freedom" if facts.freedoms == 1 else f"{facts.freedoms} freedoms"
