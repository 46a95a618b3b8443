"""One step of an integrator, as recipes over the variables of a time loop.

    euler   qd' = qd + dt qdd(q, qd), then q' along qd' (semi-implicit, first order)
    rk4     the classical fourth-order scheme; positions by Munthe-Kaas (1999): a way from the step's start is
            integrated, which keeps the order where rotations do not commute

tau is held over the step. With loops every position, also those within a step, is closed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

from neuler.compiler.program import StepPart
from neuler.rollouts.angles import Angle, angles_of, both, further, reach, tell
from neuler.rollouts.events import alarm
from neuler.rollouts.friction import spared
from neuler.rollouts.loop_recipes import LoopRecipes, Written, time_of, unique
from neuler.rollouts.model import Model, Values
from neuler.rollouts.rk4_stages import STAGES, ahead, times
from neuler.rollouts.slides import Signs, signs_of, tell_directions
from neuler.trace.graph import Graph, Node, Scalar
from neuler.trace.recipe import Recipe
from neuler.trace.scalars import less, where


@dataclass(frozen=True)
class Scheme:
    """What is done before the first step, and in every one."""

    parts: tuple[StepPart, ...]
    once: tuple[Recipe, ...] = ()


def euler(model: Model) -> Scheme:
    """A step of the semi-implicit Euler method."""
    recipes = LoopRecipes(model)
    held = recipes.braked
    more, left = recipes.before

    def faster(values: Values) -> Written:
        vn = ahead(values["qd"], values["dt"][0], values["qdd"])
        way = times(values["dt"][0], vn)
        return {"vn": vn, "way": way, **recipes.crossing(values, vn, way)}

    def end(values: Values) -> Written:
        (dt,) = values["dt"]
        qd = values["vn"]
        q = recipes.moved(values, times(dt, qd), qd) if model.holds else model.moved(values["q"], qd, dt)
        return {"q": q, "qd": qd, "alarm": [alarm(model, values, q, qd)]}

    def whole(values: Values) -> Written:
        found = recipes.begin(values)
        values = _joined(values, found)
        return {**found, **end(_joined(values, faster(values)))}

    reads = unique("q", "qd", *recipes.outside, *recipes.ends, *more)
    if not held:
        return Scheme((StepPart(recipes.make(reads, ["q", "qd", "alarm", *left], whole)),))
    first = recipes.make(reads, ["qdd", *recipes.BEGUN, *left], recipes.begin)
    second = recipes.make(unique("qd", "qdd", "dt", *recipes.crosses), ["vn", "way", "cross"], faster)
    last = recipes.make(unique("q", "vn", "dt", "met", *recipes.ends), ["q", "qd", "alarm"], end)
    rest = recipes.rest("q", lambda values: values)
    return Scheme((StepPart(first), *rest, StepPart(second), *recipes.stopping(), StepPart(last)))


def rk4(model: Model) -> Scheme:
    """Runge and Kutta's classical scheme: k1 ... k4 are accelerations, r1 ... r4 rates of the way.

    One copy of the accelerations is called four times, at the state (qs, vs): it stays in the cache of instructions.
    Its sines are computed at the step's beginning; those of later stages follow from them.
    """
    recipes = LoopRecipes(model)
    held, timed = recipes.braked, model.timed
    inside = [name for name in recipes.outside if name not in ("dt", "t")]
    clock = ["ts"] if timed else []

    def accelerations(values: Values) -> list[Scalar]:
        t = values["ts"][0] if timed else 0.0
        return model.accelerations(values, values["qs"], values["vs"], t)

    more, left = recipes.before
    angles, signs = _known(recipes, ["qs", "vs", *clock, *inside], accelerations)
    for name in ("s", "c", "s0", "c0"):
        recipes.sizes[name] = (len(angles),)

    def known(values: Values) -> Values:
        graph = _graph(values["qs"])
        tell(graph, angles, values["qs"], values["s"], values["c"])
        if values["told"]:
            tell_directions(model, values, values["qs"], values["vs"], signs, values["told"])
        return values

    def sines(values: Values) -> Written:
        s, c = both(angles, values["qs"])
        return {"s": s, "c": c}

    def repaired(values: Values) -> Written:
        near = less(values["reach"][0], 1.0)
        full = sines(values)
        return {name: [where(near, x, y) for x, y in zip(values[name], full[name], strict=True)] for name in ("s", "c")}

    def begin(values: Values) -> Written:
        _, found = recipes.sampled({**known({**values, "told": []}), "q": values["qs"]} if more else values)
        return {"ts": values["t"], **recipes.resting(_joined(values, found), values["qs"], values["qd"]), **found}

    def again(values: Values) -> Written:
        start: Written = {
            "qs": values["q"],
            "vs": values["qd"],
            "s": values["s0"],
            "c": values["c0"],
            "ts": values["t"],
        }
        return {**start, **spared(model, values, values["k1"])}

    def commit(values: Values) -> Written:
        qd = values["vn"]
        q = recipes.moved(values, values["way"], qd)
        return {"q": q, "qd": qd, "qs": q, "vs": qd, "alarm": [alarm(model, values, q, qd)]}

    def update(number: int) -> Recipe:
        change, reads, writes = STAGES[number], *_USES[number]
        late = (0.5, 0.5, 1.0, 0.0)[number]

        def trace(values: Values) -> Written:
            (dt,) = values["dt"]
            found = change(model, values, values["qdd"])
            if number == 3:
                found |= recipes.crossing(values, found["vn"], found["way"], values["k1"])
                return found if held else found | commit(_joined(values, found))
            base = ("s", "c") if number == 0 else ("s0", "c0")
            way, rates, lasting = _ways(model, found, values)
            s, c = further(angles, values[base[0]], values[base[1]], way)
            found |= {"s": s, "c": c, "s0": values["s"], "c0": values["c"]}
            found["reach"] = [reach(angles, rates, lasting)]
            return {**found, "ts": [time_of(values) + late * dt]}

        ahead = ["t"] if timed and number < 3 else []
        trig = [["s", "c"], ["s0", "c0"], ["s0", "c0"], []][number]
        made = [["s", "c", "s0", "c0"], ["s", "c"], ["s", "c"], []][number]
        ends = [] if number < 3 else recipes.crosses if held else recipes.ends
        writes = ["vn", "way", "cross", "strong"] if number == 3 and held else writes
        state = [*clock, *(["reach"] if angles else [])] if number < 3 else []
        return recipes.make(unique("qdd", "dt", *reads, *trig, *ahead, *ends), [*writes, *made, *state], trace)

    slope = recipes.make(
        ["qs", "vs", *clock, *inside, "s", "c", "told"], ["qdd"], lambda values: {"qdd": accelerations(known(values))}
    )

    def still(number: int) -> list[StepPart]:
        weight = (1 / 6, 1 / 3, 1 / 3, 1 / 6)[number]
        return recipes.rest("qs", lambda values: known({**values, "told": []}), weight) if held else []

    start = recipes.make(["q", "qd"], ["qs", "vs"], lambda values: {"qs": values["q"], "vs": values["qd"]})
    found: list[StepPart] = []
    repair = recipes.make(["qs", "s", "c", "reach"], ["s", "c"], repaired)
    if angles:
        found.append(StepPart(recipes.make(["qs"], ["s", "c"], sines)))
    if timed or more or held:
        reads = unique(*(["t"] if timed else []), *more, *(["qs", "s", "c"] if more else []), "qd")
        if held:
            reads = unique(*reads, "qs", "tau", *recipes.ends, *(operand.name for operand in model.held))
        found.append(StepPart(recipes.make(reads, [*clock, *left, *(recipes.BEGUN if held else [])], begin)))
    first = len(found)
    for number in range(4):
        found.append(StepPart(slope))
        found += [*still(number), StepPart(update(number))]
        if angles and number < 3:
            found.append(StepPart(repair, unless="reach"))
    if held:
        reads = unique("q", "qd", "k1", "dt", "told", "early", "rows", "s0", "c0", *(["t"] if timed else []))
        writes = ["told", "early", "push", "qs", "vs", "s", "c", *clock]
        found.append(StepPart(recipes.make(reads, writes, again), "strong", back=len(found) - first))
        found += recipes.stopping()
        after = unique("q", "vn", "way", "met", *recipes.ends)
        found.append(StepPart(recipes.make(after, ["q", "qd", "qs", "vs", "alarm"], commit)))
    return Scheme(tuple(found), (start,))


def _joined(values: Values, found: Written) -> Values:
    return {**values, **{name: list(x) for name, x in found.items()}}


def _graph(values: Sequence[Scalar]) -> Graph:
    first = values[0]
    assert isinstance(first, Node)
    return first.graph


def _known(
    recipes: LoopRecipes, reads: Sequence[str], accelerations: Callable[[Values], list[Scalar]]
) -> tuple[list[Angle], Signs]:
    """Angles of which the accelerations need sines, and velocities of which they need the direction."""
    graph = Graph()
    nodes = {name: graph.inputs(name, prod(recipes.sizes[name])) for name in reads}
    values: Values = {name: list(nodes.get(name, [])) for name in recipes.sizes}
    found = accelerations(values)
    return angles_of(found, nodes["qs"]), signs_of(recipes.model, values, values["qs"], values["vs"], found)


def _ways(model: Model, found: Written, values: Values) -> tuple[list[Scalar], list[Scalar], Scalar]:
    """By the numbers of positions: the way of a stage, and rates and a time of which it is the product."""
    if model.robot.loops:
        way = [a - b for a, b in zip(found["qs"], values["q"], strict=True)]
        return way, way, 1.0
    (lasting,) = found["lasting"]
    ways: list[Scalar] = []
    rates: list[Scalar] = []
    for entry in model.robot.coordinates:
        for many, few in ((ways, found["way"]), (rates, found["rates"])):
            many += few[entry.v] if entry.quaternion is None else [0.0] * entry.nq
    return ways, rates, lasting


_USES = (
    (["q", "qd"], ["k1", "qs", "vs"]),
    (["q", "qd", "vs"], ["k2", "r2", "qs", "vs"]),
    (["q", "qd", "vs", "r2"], ["k3", "r3", "qs", "vs"]),
    (["q", "qd", "vs", "k1", "k2", "k3", "r2", "r3"], ["q", "qd", "qs", "vs", "alarm"]),
)
"""What the four stages read and write."""
