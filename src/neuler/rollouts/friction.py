"""Coulomb friction in time: joints at rest are held, joints that stop stop, none chatters.

A joint that rests at the beginning of a step is held while the force that this takes is within its friction's cone;
else it breaks away against the friction at the cone's edge. Both at once for all such joints, which feel each other
through M: the accelerations x satisfy

    M x = r - f,   lower <= f <= upper,   x = 0 or f at an edge, moving away from it

Over a step the direction of friction is that of the velocity at its beginning. Where a velocity has turned round at
its end, an impulse of the friction, as much as it could give since, stops it; or it goes on, the other way, against
the friction. The same equations, of impulses.

Principal pivots for all joints at once (Kostreva 1978) solve them: those whose force is beyond an edge are let go at
it, those that come back are held again, until none changes. Only steps in which a joint rests or turns round pay for
this, and they are rounds of one recipe, as many as are needed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from neuler.algebra.linear import times
from neuler.passes.tree import Drive
from neuler.recursions import drives
from neuler.recursions.factor import Factor
from neuler.robot.value import kept
from neuler.rollouts.model import Model, Values
from neuler.trace.graph import MUL, SIGN, Graph, Node, Scalar
from neuler.trace.scalars import absolute, less, less_equal, mask, where

TOGETHER, ROUNDS = 8, 200
"""Rounds in which all joints may change between held and moving; then one does at a time, which always comes to an
end (Murty 1974); and rounds after which the last is believed."""


@dataclass(frozen=True)
class Brake:
    """What friction does along one of the robot's own velocities: a drive behind a gear of a ratio."""

    drive: Drive
    ratio: Scalar

    def cone(self, load: Scalar) -> tuple[Scalar, Scalar]:
        """The force that it resists at rest, forward and in reverse, under a load."""
        n = self.ratio
        forward, reverse = drives.held(self.drive, load / n if not isinstance(n, Node) else 0.0)
        if not isinstance(n, Node):
            return (n * forward, n * reverse) if n > 0 else (-n * reverse, -n * forward)
        ahead = less(0.0, n)
        size = absolute(n)
        return size * where(ahead, forward, reverse), size * where(ahead, reverse, forward)


def brakes(model: Model, values: Values, q: Sequence[Scalar]) -> dict[int, list[Brake]]:
    """By the robot's own velocity: the friction that can hold it. What acts on several at once holds none."""
    tree, chart = model.tree(values), model.chart(q)
    columns = None if chart.trivial else chart.columns()
    found: dict[int, list[Brake]] = {}
    for body in tree.bodies:
        if all(drives.none(x) for x in drives.held(body.drive, 1.0)):
            continue
        for k, _ in body.freedoms:
            own = {k: 1.0} if columns is None else _entries([column[k] for column in columns])
            if len(own) == 1:
                ((velocity, ratio),) = own.items()
                found.setdefault(velocity, []).append(Brake(body.drive, ratio))
    return dict(sorted(found.items()))


def _entries(row: Sequence[Scalar]) -> dict[int, Scalar]:
    return {k: x for k, x in enumerate(row) if not drives.none(x)}


@kept
def braked(model: Model) -> tuple[int, ...]:
    """The robot's own velocities that friction can hold."""
    values = _symbols(model)
    return tuple(brakes(model, values, values["q"]))


def _symbols(model: Model) -> dict[str, list[Scalar]]:
    graph = Graph()
    return {x.name: list(graph.inputs(x.name, x.size)) for x in model.recipe.inputs}


def tell_directions(
    graph: Graph, signs: Sequence[tuple[int, float]], vs: Sequence[Scalar], at: Mapping[int, Scalar]
) -> None:
    """From now on the graph takes these for the signs of velocities."""
    for k, factor in signs:
        x = vs[k] * factor
        assert isinstance(x, Node)
        turned = at[k] if factor > 0 else -at[k]
        graph.know(SIGN, x, turned)


def signs_of(outputs: Sequence[Scalar], vs: Sequence[Node], wanted: Sequence[int]) -> list[tuple[int, float]]:
    """(velocity, factor): signs of a velocity times a number that results need."""
    places = {vs[k]: k for k in wanted}
    found = []
    for node in vs[0].graph.live(outputs):
        if node.op is not SIGN or not isinstance(node.a, Node):
            continue
        x, factor = node.a, 1.0
        if x not in places and x.op is MUL and len(x.operands) == 1:
            factor = float(x.b if isinstance(x.a, Node) else x.a)
            (x,) = x.operands
        if x in places:
            found.append((places[x], factor))
    return found


def rests(qd: Sequence[Scalar], held: Sequence[int]) -> dict[int, Scalar]:
    """One for each that rests."""
    return {k: less_equal(absolute(qd[k]), 0.0) for k in held}


def turning(before: Sequence[Scalar], after: Sequence[Scalar], held: Sequence[int]) -> Scalar:
    """How many have turned round."""
    return sum((less(before[k] * after[k], 0.0) for k in held), 0.0)


# ---- rounds ----------------------------------------------------------------------------------------

STATE = ("locked", "high", "low", "force")
"""Of every braked velocity: whether it is held, at an edge, and with which force."""
EDGES = ("least", "most")


def sizes(model: Model) -> dict[str, tuple[int, ...]]:
    """Of the variables that the rounds need."""
    n, held = model.robot.nv, len(braked(model))
    small = dict.fromkeys(("dir", *STATE, *EDGES, "target", "may"), (held,))
    one = dict.fromkeys(("rests", "cross", "changes", "turn"), (1,))
    return {**small, **one, "mass": (n * (n + 1) // 2 if held else 0,), "right": (n,), "x": (n,)}


def _begun(model: Model, values: Values, q: list[Scalar], right: Sequence[Scalar] | None) -> dict[str, list[Scalar]]:
    """Nobody at an edge; ``right`` None: M qdd."""
    mass = model.mass_matrix(values, q)
    none: list[Scalar] = [0.0] * len(braked(model))
    return {
        "mass": [mass[i][j] for i in range(len(mass)) for j in range(i + 1)],
        "right": times(mass, values["qdd"]) if right is None else list(right),
        **{name: list(none) for name in ("high", "low", "force")},
        "changes": [1.0],
        "turn": [0.0],
    }


def at_rest(model: Model, values: Values, q: list[Scalar], may: Mapping[int, Scalar]) -> dict[str, list[Scalar]]:
    """Before the rounds that find which joints are held; ``may`` is one where a joint rests."""
    held = brakes(model, values, q)
    tau = model.chart(q).driven(values["tau"])
    edges = [_edges(held[k], tau[k]) for k in held]
    rest = [may[k] for k in held]
    return {
        **_begun(model, values, q, None),
        "may": rest, "locked": list(rest), "target": [0.0] * len(rest),
        "least": [low for low, _ in edges], "most": [high for _, high in edges],
    }  # fmt: skip


def turned_round(
    model: Model, values: Values, q: list[Scalar], before: Sequence[Scalar], after: Sequence[Scalar]
) -> dict[str, list[Scalar]]:
    """Before the rounds that find which joints stop, in a step in which some have turned round: x is what is added."""
    held = brakes(model, values, q)
    tau = model.chart(q).driven(values["tau"])
    (dt,) = values["dt"]
    found = _begun(model, values, q, [0.0] * len(after))
    crossed = [less(before[k] * after[k], 0.0) for k in held]
    least: list[Scalar] = []
    most: list[Scalar] = []
    for k, there in zip(held, crossed, strict=True):
        low, high = _edges(held[k], tau[k])
        since = after[k] / (after[k] - mask(there, before[k]))  # of the step, 0 to 1
        impulse = mask(there, (high - low) * since * dt)
        back = less(before[k], 0.0)
        least.append(-mask(1.0 - back, impulse))
        most.append(mask(back, impulse))
    target = [-after[k] for k in held]
    return {**found, "may": crossed, "locked": list(crossed), "target": target, "least": least, "most": most}


def _edges(some: Sequence[Brake], load: Scalar) -> tuple[Scalar, Scalar]:
    """The least and the greatest force of all friction along a velocity."""
    low: Scalar = 0.0
    high: Scalar = 0.0
    for brake in some:
        forward, reverse = brake.cone(load)
        low, high = low - reverse, high + forward
    return low, high


def loaded(model: Model) -> bool:
    """Whether some friction grows with the load."""
    return any(drives.loaded(body.drive) for body in model.tree(_symbols(model)).bodies)


def one_round(model: Model, values: Values, q: list[Scalar] | None) -> dict[str, list[Scalar]]:
    """x of M x = right - f with those that are locked at their target, and who changes.

    With q the edges follow the load.
    """
    held = braked(model)
    mass = _full(values["mass"], model.robot.nv)
    right = values["right"]
    locked = dict(zip(held, values["locked"], strict=True))
    force = dict(zip(held, values["force"], strict=True))
    target = dict(zip(held, values["target"], strict=True))
    x = _solved(mass, right, force, target, locked)
    pull = times(mass, x)
    loads = brakes(model, values, q) if q is not None else {}
    tau = model.chart(q).driven(values["tau"]) if q is not None else []
    found: dict[str, list[Scalar]] = {name: [] for name in STATE}
    changes: Scalar = 0.0
    (turn,) = values["turn"]
    free: Scalar = 1.0  # whether a joint may change
    for number, k in enumerate(held):
        needed = right[k] - pull[k]
        low, high = values["least"][number], values["most"][number]
        if loads:
            low, high = _edges(loads[k], tau[k] - needed)
        lock, over, under = locked[k], less(high, needed), less(needed, low)
        was_up, was_down = values["high"][number], values["low"][number]
        over, under = free * (lock * over), free * (lock * under)  # let go
        back = free * (was_up * less(x[k], target[k]) + was_down * less(target[k], x[k]))  # held again
        found["force"].append(mask(over, high) + mask(under, low) + mask((1.0 - lock) * (1.0 - back), force[k]))
        found["high"].append(over + was_up * (1.0 - back))
        found["low"].append(under + was_down * (1.0 - back))
        found["locked"].append(lock - over - under + back)
        change = over + under + back
        changes = changes + change
        free = free * (1.0 - change * less(float(TOGETHER), turn))
    return {**found, "x": x, "changes": [changes], "turn": [turn + 1.0]}


def _full(flat: Sequence[Scalar], n: int) -> list[list[Scalar]]:
    """A symmetric matrix from its lower triangle."""
    return [[flat[max(i, j) * (max(i, j) + 1) // 2 + min(i, j)] for j in range(n)] for i in range(n)]


def _solved(
    mass: Sequence[Sequence[Scalar]],
    right: Sequence[Scalar],
    force: Mapping[int, Scalar],
    target: Mapping[int, Scalar],
    locked: Mapping[int, Scalar],
) -> list[Scalar]:
    """x with x_k = target_k where k is locked, and M x = right - force for the others."""
    n = len(right)
    moves: list[Scalar] = [1.0 - locked[k] if k in locked else 1.0 for k in range(n)]
    given: list[Scalar] = [mask(locked[k], target[k]) if k in locked else 0.0 for k in range(n)]
    rows = [[moves[i] * moves[j] * mass[i][j] for j in range(n)] for i in range(n)]
    for k in locked:
        rows[k][k] = rows[k][k] + locked[k]
    pull = times(mass, given)
    sides = [
        moves[k] * (right[k] - force[k] - pull[k]) + given[k] if k in locked else right[k] - pull[k] for k in range(n)
    ]
    x = Factor(rows, [str(k) for k in range(n)]).solve(sides)
    for k in locked:  # exactly
        x[k] = where(locked[k], given[k], x[k])
    return x
