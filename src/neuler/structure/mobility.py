"""What the loops of a robot leave free: found with numbers, once, when the robot is made.

From a position at which the loops are closed, and some near it, the rank of W (Khalil (4)) says how many
constraints are independent; the robot's mobility is what is left of its joints' velocities. Of these some are chosen
as independent: those that the robot names, else first those of joints whose forces stand in tau.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from neuler.errors import RobotError
from neuler.naming import listed
from neuler.passes.trees import fused_tree
from neuler.plain import degrees
from neuler.recursions.positions import integrate
from neuler.robot import Robot
from neuler.robot.configuration import neutral_positions, random_positions
from neuler.structure.closed import Choice, Constraints

Array = NDArray[np.float64]

CLOSED = 1e-12
"""Metres and radians by which a closed loop may be open."""
_RANK = 1e-8
_TRIES = 40
_NEARBY = 6
"""Positions of each distance that are tried around a singular reference."""


@dataclass(frozen=True)
class Mobility:
    """Of a robot with loops, at its reference position and near it."""

    reference: tuple[float, ...]
    """A position at which all loops are closed."""
    constraints: int
    rank: int
    freedoms: int
    """The mobility: velocities of the joints less independent constraints."""
    redundant: tuple[str, ...]
    """Loops with constraints that others already set, and how many: 'cut (3)'."""
    rows: tuple[int, ...]
    """Independent rows of W."""
    independent: tuple[str, ...]
    """Joints whose velocities are the robot's own and decide all others; ``ball.wx``: only some of a joint's."""
    active: tuple[str, ...]
    """Of every number of tau, the joint whose force it is."""
    driven: int
    """How many degrees of freedom these determine; the robot is under-actuated where they are fewer than it has."""
    choice: Choice = field(repr=False)
    active_numbers: tuple[int, ...] = field(repr=False)
    """Of every number of tau, the number of its velocity among those of the joints with coordinates."""
    motions: Array = field(repr=False)
    """A basis of the velocities that the loops allow at the reference: a column for each degree of freedom."""

    def __repr__(self) -> str:
        lost = f"; redundant: {', '.join(self.redundant)}" if self.redundant else ""
        return (
            f"<mobility: {degrees(self.freedoms)}, {self.rank} independent of {self.constraints} constraints; "
            f"independent: {', '.join(self.independent) or 'none'}{lost}; closed at "
            f"({', '.join(f'{x:.6g}' for x in self.reference)})>"
        )


class Numbers:
    """The constraints of a robot on plain numbers."""

    def __init__(self, robot: Robot) -> None:
        self.constraints = Constraints(fused_tree(robot.tree), robot)
        self.joints = robot.moving_joints
        self.dof = len(self.constraints.names)

    def open_by(self, q: Array) -> Array:
        """How far every constraint of the loops is from being met, Khalil (3)."""
        return np.array([float(x) for x in self.constraints.open_by(q.tolist())])

    def jacobian(self, q: Array) -> Array:
        """The Jacobian W of the loops' constraints, a row a constraint."""
        rows = self.constraints.jacobian(q.tolist())
        matrix = np.zeros((len(rows), self.dof))
        for i, row in enumerate(rows):
            for k, x in row.items():
                matrix[i, k] = float(x)
        return matrix

    def upright(self, q: Array) -> bool:
        """Whether no loop is closed the wrong way round."""
        return all(float(x) > 0 for x in self.constraints.turned_over(q.tolist()))

    def moved(self, q: Array, step: Array) -> Array:
        """q after a step along velocities."""
        return np.array([float(x) for x in integrate(self.joints, q.tolist(), step.tolist(), 1.0)])

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


_found: dict[str, tuple[Array, Mobility]] = {}
"""By geometry: robots that differ in masses, friction or gravity have the same mobility."""
_MOST = 256


def _geometry(robot: Robot) -> str:
    joints = [(j.name, j.kind, j.parent, j.child, j.placement, j.axis, j.limits, j.role, j.pitch) for j in robot.joints]
    whole = (joints, robot.frames, robot.loops, robot.couplings, robot.reference)
    return hashlib.sha256(repr(whole).encode()).hexdigest()


def analysed(robot: Robot) -> Mobility:
    """Close the loops and count, once for a geometry; and choose. Without loops all is free."""
    if not robot.loops:
        return _all_free(robot)
    key = _geometry(robot)
    if key not in _found:
        while len(_found) >= _MOST:
            _found.pop(next(iter(_found)))
        _found[key] = _analyse(robot)
    facts = _found[key][1]
    choice = choose(robot, facts)
    return replace(facts, independent=robot.coordinates.names_of(choice.independent), choice=choice)


def nearby(robot: Robot, numbers: Numbers) -> list[Array]:
    """A regular closed position and some near it: where inertias are looked at."""
    key = _geometry(robot)
    regular = _found[key][0] if key in _found else _analyse(robot)[0]
    return [regular, *_neighbours(numbers, regular)]


def _all_free(robot: Robot) -> Mobility:
    names = tuple(entry.name for entry in robot.coordinates.owners("qd", every=True))
    every, n = tuple(range(len(names))), len(names)
    reference = tuple(neutral_positions(robot).tolist())
    return Mobility(reference, 0, 0, n, (), (), robot.joint_names, names, n, Choice(every, (), ()), every, np.eye(n))


def _analyse(robot: Robot) -> tuple[Array, Mobility]:
    """And a regular position: the reference itself unless it is singular."""
    numbers = Numbers(robot)
    for loop, closure in zip(robot.loops, numbers.constraints.closures, strict=True):
        if closure.bodies[0] == closure.bodies[1]:
            raise RobotError(
                f"robot {robot.name!r}, loop {loop.name!r}: fixed joints make one body of the links that carry "
                "its frames; it closes no loop"
            )
    reference = _reference(robot, numbers)
    active = _active(robot, numbers, reference)
    regular = _regular(numbers, reference, active)
    if robot.reference is None:
        reference = regular
    samples = [numbers.jacobian(q) for q in (regular, *_neighbours(numbers, regular))]
    ranks = [_rank(w) for w in samples]
    rank = max(ranks)
    rows = _independent_rows(samples, rank)
    w = samples[int(np.argmax(ranks))] if ranks[0] < rank else samples[0]
    motions = np.linalg.svd(w)[2][rank:].T
    names = numbers.constraints.names
    decided = _pivots(motions[active], motions.shape[1], 1.0)
    facts = Mobility(
        tuple(reference.tolist()),
        len(w),
        rank,
        numbers.dof - rank,
        _redundant(robot, rows),
        rows,
        (),
        tuple(names[k] for k in active),
        len(decided),
        Choice((), (), ()),
        tuple(active),
        motions,
    )
    return regular, facts


def _active(robot: Robot, numbers: Numbers, reference: Array) -> list[int]:
    """Numbers of the velocities whose forces stand in tau: of joints that no loop moves all, else the driven ones."""
    moved = {k for row in numbers.constraints.jacobian(reference.tolist()) for k in row}
    roles = [entry.joint.role for entry in robot.coordinates.owners("qd", every=True)]
    return [k for k, role in enumerate(roles) if role == "driven" or k not in moved]


def choose(robot: Robot, facts: Mobility, named: Sequence[str] | None = None, *, held: bool = False) -> Choice:
    """Independent velocities: those of the named joints, by default of the robot's own, else found.

    Found are as many as there are freedoms, of the joints in tau first, then of those behind springs; they have the
    order of the joints. Beside named joints theta of elastic drives is always independent. ``held``: the named joints
    may have more velocities than there are freedoms; all are kept as they are given.
    """
    rows, every = facts.rows, range(len(facts.motions))
    names = robot.independent if named is None else tuple(named)
    if names is None:
        first = list(facts.active_numbers)
        sprung = {entry.drives for entry in robot.coordinates if entry.elastic}
        owners = [entry.name for entry in robot.coordinates.owners("qd", every=True)]
        order = first + sorted((k for k in every if k not in first), key=lambda k: owners[k] not in sprung)
        chosen = [first[k] for k in _pivots(facts.motions[first], facts.freedoms, 1.0)]
        if len(chosen) < facts.freedoms:
            chosen = _filled(facts, chosen, order)
        picked = tuple(sorted(chosen))
    else:
        shafts = [entry.name for entry in robot.coordinates if entry.elastic and entry.name not in names]
        numbers = [k for k, _ in velocity_numbers(robot, (*names, *shafts))]
        decided = _pivots(facts.motions[numbers], facts.freedoms, 1.0)  # a basis: its columns have the length one
        if len(decided) < facts.freedoms:
            raise RobotError(_undetermined(robot, facts, names, len(decided)))
        picked = tuple(numbers)
        if len(numbers) > facts.freedoms:
            if not held:
                raise RobotError(
                    f"robot {robot.name!r} has {degrees(facts.freedoms)}; {', '.join(names)} have {len(numbers)} "
                    "velocities, which cannot all be independent"
                )
            rows = tuple(range(facts.constraints))
    return Choice(picked, tuple(k for k in every if k not in picked), rows)


def _filled(facts: Mobility, chosen: list[int], order: Sequence[int]) -> list[int]:
    """More velocities, so that all freedoms are decided: each where most of a motion is left that the others lack."""
    while len(chosen) < facts.freedoms:
        rows = facts.motions[chosen]
        basis = np.linalg.qr(rows.T)[0][:, : len(chosen)] if chosen else np.zeros((facts.freedoms, 0))
        left = facts.motions[list(order)]
        left = left - left @ basis @ basis.T
        sizes = np.linalg.norm(left, axis=1)
        chosen = [*chosen, order[int(np.argmax(sizes > 0.5 * sizes.max()))]]
    return chosen


def completed(robot: Robot, joints: Sequence[str]) -> Choice:
    """The velocities of named joints, then of others, as many as there are freedoms."""
    facts = robot.mobility
    told = [k for k, _ in velocity_numbers(robot, joints)]
    if len(_pivots(facts.motions[told], facts.freedoms, 1.0)) < len(told):
        raise RobotError(
            f"robot {robot.name!r} has {degrees(facts.freedoms)}; the motions of {', '.join(joints)} ({len(told)} "
            "velocities) depend on each other, so that not all of them can be given"
        )
    every = range(len(facts.motions))
    first = [k for k in facts.active_numbers if k not in told]
    picked = _filled(facts, told, [*first, *(k for k in every if k not in told and k not in first)])
    return Choice(tuple(picked), tuple(k for k in every if k not in picked), facts.rows)


def refuse_undriven(robot: Robot, quantity: str) -> None:
    """Where the forces in tau do not decide all freedoms there is no force for some motions."""
    if not robot.loops or robot.mobility.driven == robot.mobility.freedoms:
        return
    facts = robot.mobility
    raise RobotError(
        f"{quantity}: robot {robot.name!r} has {degrees(facts.freedoms)}, of which its motors "
        f"({', '.join(robot.active_names) or 'none'}) decide {facts.driven} at its reference: it is under-actuated, or "
        "the reference is singular. Drive more joints (role 'driven'), or give another reference= position"
    )


def refuse_forceless(robot: Robot, quantity: str) -> None:
    """Where tau has no numbers there is nothing to tell, and no row of a matrix: loops, and no joint that is driven."""
    if robot.loops and robot.mobility.freedoms and not robot.mobility.active:
        raise RobotError(
            f"{quantity}: robot {robot.name!r} has no driven joint, so that tau has no numbers; drive one (role "
            "'driven'). constrained_dynamics takes the forces of all joints, mass_matrix and bias_force need none"
        )


def velocity_numbers(robot: Robot, joints: Sequence[str]) -> list[tuple[int, str]]:
    """(number of the velocity, name) of all velocities of named joints, or of parts of them, in this order."""
    found: list[tuple[int, str]] = []
    for name in joints:
        numbers = robot.coordinates.numbers(name)
        if not numbers:
            raise RobotError(
                f"robot {robot.name!r} has no moving joint {name!r}; it has {listed(name, robot.joint_names)}"
            )
        found += [(k, name) for k in numbers]
    if len({k for k, _ in found}) != len(found):
        raise RobotError(f"robot {robot.name!r}: a joint is named twice in {', '.join(joints)}")
    return found


def _reference(robot: Robot, numbers: Numbers) -> Array:
    given = robot.reference
    guesses = [np.array(given)] if given is not None else [neutral_positions(robot)]
    rng = np.random.default_rng(0)
    best, least = guesses[0], np.inf
    for k in range(1 if given is not None else _TRIES):
        guess = guesses[0] if k == 0 else random_positions(robot, rng)
        q, size = numbers.close(guess)
        if size < CLOSED and numbers.upright(q):
            return q
        if size < least:
            best, least = q, size
    where = "from its reference" if given is not None else f"from {_TRIES} guesses"
    if not numbers.upright(best):
        reason = "axes that should be equal are opposite, the wrong way round"
    else:
        gaps = _by_loop(robot, numbers.open_by(best))
        worst = max(gaps, key=lambda name: gaps[name])
        reason = f"{worst!r} stays open by {gaps[worst]:.2g} (m, rad)"
    raise RobotError(
        f"robot {robot.name!r}: its loops cannot be closed {where}; {reason}. "
        "Check the frames and lengths, or give another reference= position"
    )


def _regular(numbers: Numbers, reference: Array, active: Sequence[int]) -> Array:
    """The reference, or where it is singular (a folded linkage, say) a closed position nearby that is not.

    Best is where most constraints are independent, then where the active joints decide most of the motion, where most
    of them move, and then where all that is so by the widest margin.
    """

    def score(q: Array) -> tuple[int, int, int, float]:
        _, sizes, vt = np.linalg.svd(numbers.jacobian(q))
        rank = _rank(numbers.jacobian(q))
        motions = vt[rank:].T[list(active)]
        decided = len(_pivots(motions, motions.shape[1], 1.0))
        margin = float(sizes[rank - 1] / sizes[0]) if rank else 1.0
        moving = int((np.linalg.norm(motions, axis=1) > _RANK).sum())
        return rank, decided, moving, margin * float(np.prod(np.linalg.svd(motions, compute_uv=False)[:decided]))

    here = score(reference)
    ranks = [_rank(numbers.jacobian(q)) for q in _neighbours(numbers, reference)]
    freedoms = numbers.dof - here[0]
    if max(ranks, default=0) <= here[0] and here[1] >= min(len(active), freedoms):
        return reference
    rng = np.random.default_rng(2)
    found = [reference]
    for size in np.repeat((0.1, 0.3, 0.6, 1.0), _NEARBY):
        q, gap = numbers.close(numbers.moved(reference, size * rng.normal(size=numbers.dof)))
        if gap < CLOSED and numbers.upright(q):
            found.append(q)
    best = max(found, key=score)
    return best if score(best)[:2] > here[:2] else reference


def _by_loop(robot: Robot, gap: Array) -> dict[str, float]:
    found, at = {}, 0
    for loop in robot.loops:
        found[loop.name] = float(np.abs(gap[at : at + loop.constraints]).max())
        at += loop.constraints
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


def _redundant(robot: Robot, rows: Sequence[int]) -> tuple[str, ...]:
    found, at = [], 0
    for loop in robot.loops:
        lost = sum(k not in rows for k in range(at, at + loop.constraints))
        if lost:
            found.append(f"{loop.name} ({lost})")
        at += loop.constraints
    return tuple(found)


def _undetermined(robot: Robot, facts: Mobility, names: Sequence[str], reached: int) -> str:
    return (
        f"robot {robot.name!r} has {degrees(facts.freedoms)}, but the joints ({', '.join(names) or 'none'}) decide "
        f"{reached} of them at its reference: too few, or the reference is singular. Name other joints, or give "
        "another reference= position"
    )
