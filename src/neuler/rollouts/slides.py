"""Slides: the motions of a robot that dry friction resists, or that a joint's stop ends.

A slide is a motion u = g . qd: one of the robot's own velocities, or several at once (the output of a differential, a
dependent joint of a loop). All friction along one velocity is one slide.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from neuler.passes.tree import Drive
from neuler.recursions import drives
from neuler.robot.value import kept
from neuler.rollouts.events import limited
from neuler.rollouts.model import Model, Values
from neuler.structure.chart import Chart
from neuler.trace.graph import MUL, NEG, SIGN, Graph, Node, Scalar, sign
from neuler.trace.scalars import absolute, less, less_equal, mask, where

ROUNDING = 1e-12
"""Of the velocities that meet in a slide: below this their sum is zero."""
STOP = 1e100
"""N m or N that a joint's stop bears."""


@dataclass(frozen=True)
class Brake:
    """A drive's friction along a slide, behind a gear of a ratio, and the force of tau that loads it."""

    drive: Drive
    ratio: Scalar
    tau: Scalar

    def edges(self, speed: Scalar) -> tuple[Scalar, Scalar]:
        """Least and greatest force on the slide at a speed of it."""
        n = self.ratio
        forward, reverse = drives.held(self.drive, self.tau, n * speed)
        if not isinstance(n, Node):
            return (-n * reverse, n * forward) if n > 0 else (n * forward, -n * reverse)
        ahead, size = less(0.0, n), absolute(n)
        return -size * where(ahead, reverse, forward), size * where(ahead, forward, reverse)


@dataclass(frozen=True)
class Slide:
    """A motion that dry friction or a stop can hold: u = sum of row[k] qd_k."""

    row: Mapping[int, Scalar]
    brakes: tuple[Brake, ...] = ()
    ends: tuple[tuple[Scalar, Scalar, Scalar], ...] = ()
    """(position, lower, upper) of the joint that has a stop."""

    @property
    def velocity(self) -> int | None:
        """Which of the robot's own it is; None where it is several at once."""
        return next(iter(self.row)) if len(self.row) == 1 else None

    def rate(self, qd: Sequence[Scalar]) -> Scalar:
        """The velocity u = g . qd along the slide."""
        total: Scalar = 0.0
        for k, x in self.row.items():
            total = total + x * qd[k]
        return total

    def still(self, qd: Sequence[Scalar]) -> Scalar:
        """One where u is zero, but for a rounding error of several velocities."""
        if self.velocity is not None:
            return less_equal(absolute(self.rate(qd)), 0.0)
        size: Scalar = 0.0
        for k, x in self.row.items():
            size = size + absolute(x * qd[k])
        return less_equal(absolute(self.rate(qd)), ROUNDING * size)

    def holds(self, direction: Scalar) -> Scalar:
        """One where it is at rest, so that it has no direction, and something could hold it."""
        still = 1.0 - absolute(direction)
        return still if self.brakes else still * self.stopped

    @property
    def stopped(self) -> Scalar:
        """One where the joint is at a stop."""
        return sum((less_equal(q, low) + less_equal(high, q) for q, low, high in self.ends), 0.0)

    def edges(self, speed: Scalar, ends: bool = True) -> tuple[Scalar, Scalar]:
        """The least and the greatest force of all friction along it, and of a stop at which it is."""
        low: Scalar = 0.0
        high: Scalar = 0.0
        for brake in self.brakes:
            least, most = brake.edges(speed)
            low, high = low + least, high + most
        for q, lower, upper in self.ends if ends else ():
            low = low - mask(less_equal(q, lower), STOP)
            high = high + mask(less_equal(upper, q), STOP)
        return low, high


def slides(model: Model, values: Values, q: Sequence[Scalar]) -> list[Slide]:
    """All of a robot: those of one velocity in order, then those of several."""
    chart = model.chart(q)
    single: dict[int, list[Brake]] = {}
    several: list[Slide] = []
    for _, row, drive, tau in _rough(model, values, chart):
        if len(row) == 1:
            ((velocity, ratio),) = row.items()
            single.setdefault(velocity, []).append(Brake(drive, ratio, tau))
        else:
            several.append(Slide(row, (Brake(drive, 1.0, tau),)))
    ends = _ends(model, values, q)
    ones = sorted({*single, *ends})
    return [Slide({k: 1.0}, tuple(single.get(k, ())), ends.get(k, ())) for k in ones] + several


def _rough(model: Model, values: Values, chart: Chart) -> list[tuple[int, dict[int, Scalar], Drive, Scalar]]:
    """Of every velocity of the tree with dry friction: its number, row and drive, and its joint's force."""
    columns = None if chart.trivial else chart.columns()
    places = _places(model)
    found: list[tuple[int, dict[int, Scalar], Drive, Scalar]] = []
    for body in model.tree(values).bodies:
        place, drive = places.get(body.joint_name), body.drive
        if place is None and drives.loaded(drive):  # it acts on forces of tau alone
            drive = dataclasses.replace(drive, law=None)
        if all(drives.none(x) for x in drives.held(drive, 1.0, 0.0)):
            continue
        for number, (k, _) in enumerate(body.freedoms):
            row: dict[int, Scalar] = {k: 1.0}
            if columns is not None:
                row = {i: column[k] for i, column in enumerate(columns) if not drives.none(column[k])}
            tau = values["tau"][place + number] if place is not None and values["tau"] else 0.0
            if row:
                found.append((k, row, drive, tau))
    return found


def _places(model: Model) -> dict[str, int]:
    """By joint: the number of its first force in tau."""
    places = {velocity: place for place, velocity in enumerate(model.machine.coordinates.active)}
    return {entry.name: places[entry.v.start] for entry in model.machine.coordinates if entry.v.start in places}


def _ends(model: Model, values: Values, q: Sequence[Scalar]) -> dict[int, tuple[tuple[Scalar, Scalar, Scalar], ...]]:
    """By velocity: the stops of its joint."""
    return {
        velocity: ((q[k], values["lower"][number], values["upper"][number]),) for number, k, velocity in stops(model)
    }


def stops(model: Model) -> list[tuple[int, int, int]]:
    """(number among ``limited``, number in q, the robot's own velocity) of every position that can have a stop.

    Those of joints with one position; in loops of independent ones.
    """
    if not model.holds:
        return []
    table = model.robot.coordinates
    own = {velocity: k for k, velocity in enumerate(table.independent)}
    velocities = {entry.q.start: own[entry.v.start] for entry in table if entry.one and entry.v.start in own}
    return [(number, k, velocities[k]) for number, (k, _) in enumerate(limited(model)) if k in velocities]


@kept
def braked(model: Model) -> tuple[tuple[int, ...], ...]:
    """Of every slide the robot's own velocities that it consists of."""
    values = _symbols(model)
    return tuple(tuple(slide.row) for slide in slides(model, values, values["q"]))


def rough(model: Model) -> tuple[int, ...]:
    """The robot's own velocities that dry friction acts on."""
    values = _symbols(model)
    return tuple(sorted({k for _, row, _, _ in _rough(model, values, model.chart(values["q"])) for k in row}))


def _symbols(model: Model) -> dict[str, list[Scalar]]:
    graph = Graph()
    sizes = {x.name: x.size for x in model.recipe.inputs}
    sizes |= dict.fromkeys(("lower", "upper"), len(limited(model)) if model.bounded else 0)
    return {name: list(graph.inputs(name, size)) for name, size in sizes.items()}


# ---- directions ------------------------------------------------------------------------------------


def _bases(
    model: Model, values: Values, q: Sequence[Scalar], qd: Sequence[Scalar]
) -> list[tuple[Node | None, int, Scalar]]:
    """(velocity, number of the slide, its sign for that of the slide): of what the signs may be asked."""
    chart = model.chart(q)
    rates = chart.velocities(qd)
    found: list[tuple[Node | None, int, Scalar]] = []
    rows = braked(model)
    for number, row in enumerate(rows):
        if len(row) == 1:
            found.append(_plain(qd[row[0]], number, 1.0))
    several = iter([number for number, row in enumerate(rows) if len(row) > 1])
    single = {row[0]: number for number, row in enumerate(rows) if len(row) == 1}
    for k, row_of, _, _ in _rough(model, values, chart):
        if len(row_of) == 1:
            ((velocity, ratio),) = row_of.items()
            found.append(_plain(rates[k], single[velocity], sign(ratio)))
        else:
            found.append(_plain(rates[k], next(several), 1.0))
    return found


def _plain(x: Scalar, number: int, side: Scalar) -> tuple[Node | None, int, Scalar]:
    if not isinstance(x, Node):
        return None, number, side
    if x.op is NEG:
        assert isinstance(x.a, Node)
        return x.a, number, -side
    return x, number, side


Signs = list[tuple[int, float]]


def signs_of(
    model: Model, values: Values, q: Sequence[Scalar], qd: Sequence[Scalar], outputs: Sequence[Scalar]
) -> Signs:
    """(which of the velocities, factor): signs of slides' velocities times a number that results need."""
    places: dict[Node, int] = {}
    for place, (node, _, _) in enumerate(_bases(model, values, q, qd)):
        if node is not None:
            places.setdefault(node, place)
    found: Signs = []
    graph = next((x.graph for x in outputs if isinstance(x, Node)), None)
    for node in graph.live(outputs) if graph is not None and places else ():
        if node.op is not SIGN or not isinstance(node.a, Node):
            continue
        x, factor = node.a, 1.0
        if x not in places and x.op is MUL and len(x.operands) == 1:
            factor = float(x.b if isinstance(x.a, Node) else x.a)
            (x,) = x.operands
        if x in places:
            found.append((places[x], factor))
    return found


def tell_directions(
    model: Model, values: Values, q: Sequence[Scalar], qd: Sequence[Scalar], signs: Signs, at: Sequence[Scalar]
) -> None:
    """From now on the graph takes these for the signs of the slides' velocities, at a state within the step."""
    if not signs:
        return
    bases = _bases(model, values, q, qd)
    for place, factor in signs:
        node, number, side = bases[place]
        if node is None:
            continue
        x = node * abs(factor)
        assert isinstance(x, Node)
        x.graph.know(SIGN, x, side * at[number])


# ---- as they were at the beginning of a step -----------------------------------------------------------


def rows_of(model: Model, values: Values) -> list[dict[int, Scalar]]:
    """Of every slide the entries of g, by velocity."""
    entries = iter(values["rows"])
    return [{row[0]: 1.0} if len(row) == 1 else {k: next(entries) for k in row} for row in braked(model)]


def rate(row: Mapping[int, Scalar], x: Sequence[Scalar]) -> Scalar:
    """g . x: velocities, accelerations or impulses of the robot, along a slide."""
    return Slide(row).rate(x)


def moves(row: Mapping[int, Scalar], x: Sequence[Scalar]) -> Scalar:
    """g . x, zero where it is a rounding error of the velocities that meet in it."""
    return rate(row, x) if len(row) == 1 else mask(1.0 - Slide(row).still(x), rate(row, x))
