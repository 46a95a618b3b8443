"""From a graph to a schedule: what is computed when, and where each value lives in between.

A schedule is a list of stages over one scratch buffer of numbered slots. Arithmetic is cut into
chunks of bounded size (so that compile time grows linearly with the graph); sines and cosines
are stages of their own between them. Values that cross a stage live in a slot, and a slot is
used again as soon as its value is dead, so that the scratch stays small.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from neuler.compiler.sums import Sums
from neuler.trace.graph import COS, INPUT, SIN, Node, Scalar
from neuler.trace.recipe import Operand, Operations

WHOLE = 1500
"""Operations up to which all arithmetic between sines is one function of the emitted code."""
CHUNK, SMALL = 400, 100
"""Operations in one function where there are more: few enough for LLVM to keep most values in registers.

The small ones are for graphs with many results, whose values wait long to be used.
"""
MANY = 40
"""Operations a result, below which there are many."""


@dataclass
class Chunk:
    """Arithmetic nodes in order; ``stores`` are the values that later stages or outputs need."""

    nodes: list[Node]
    stores: list[tuple[Node, int]] = field(default_factory=list)


@dataclass
class Trig:
    """Sine and cosine of the value in one slot, into two others."""

    argument: int
    sine: int
    cosine: int
    angle: Node
    waves: tuple[Node | None, Node | None]
    """The nodes of sine and cosine; None where nobody wants it."""


@dataclass
class Schedule:
    """Stages over ``slots`` scratch values: inputs first, then outputs, then what crosses stages."""

    stages: list[Chunk | list[Trig]]
    slot: dict[Node, int]
    slots: int
    constants: list[tuple[int, float]]
    sums: Sums
    inputs: tuple[Operand, ...] = ()
    outputs: tuple[Operand, ...] = ()
    operations: Operations = field(default_factory=Operations)

    def kept(self, chunk: Chunk) -> dict[int, Node]:
        """By slot, the values that a chunk finds there and reads."""
        read = {x for node in chunk.nodes if node not in self.sums.vanished for x in self.sums.reads(node)}
        read |= {node for node, _ in chunk.stores}
        own = set(chunk.nodes)
        return {self.slot[x]: x for x in read if x in self.slot and x not in own}


@dataclass(frozen=True)
class Homes:
    """Where inputs and outputs live: slots, some of which may be both; from ``first`` on slots are free."""

    inputs: Sequence[int]
    outputs: Sequence[int]
    first: int

    @classmethod
    def in_order(cls, inputs: int, outputs: int) -> Homes:
        """Slots of inputs, then those of outputs, in one row."""
        both = inputs + outputs
        return cls(range(inputs), range(inputs, both), both)


def schedule(
    inputs: Sequence[Node],
    outputs: Sequence[Scalar],
    *,
    fma: bool,
    chunk: int | None = None,
    homes: Homes | None = None,
) -> Schedule:
    """Order the live part of a graph and give every value that crosses a stage a slot.

    Work goes from the last output to the first. Of a large graph, the order in which the recursion made the
    outputs is tried too: what is made together shares values, and the schedule that keeps fewer of them is taken.
    """
    homes = homes or Homes.in_order(len(inputs), len(outputs))
    graph = inputs[0].graph if inputs else next((o.graph for o in outputs if isinstance(o, Node)), None)
    live = graph.live(outputs) if graph else []
    first = _scheduled(live, inputs, outputs, fma, chunk, homes)
    if graph is None or len(live) <= WHOLE:
        return first
    made = sorted({out for out in outputs if isinstance(out, Node)}, key=lambda node: node.id)
    second = _scheduled(graph.live(made), inputs, outputs, fma, chunk, homes)
    return second if second.slots < first.slots else first


def _scheduled(
    live: list[Node], inputs: Sequence[Node], outputs: Sequence[Scalar], fma: bool, chunk: int | None, homes: Homes
) -> Schedule:
    sums = Sums(live, outputs, fma=fma)
    stages = _stages(live, chunk or _chunk(live, outputs))

    slot: dict[Node, int] = dict(zip(inputs, homes.inputs, strict=True))
    shared = set(homes.inputs)
    constants: list[tuple[int, float]] = []
    goals: dict[Node, list[int]] = {}
    late: list[tuple[Node, int]] = []
    for out, number in zip(outputs, homes.outputs, strict=True):
        if not isinstance(out, Node):
            constants.append((number, float(out)))
        elif number in shared:
            late.append((out, number))
        else:
            goals.setdefault(out, []).append(number)
    slots, stages_out = _place(stages, slot, goals, late, sums, homes.first)
    return Schedule(stages_out, slot, slots, constants, sums)


def _chunk(live: list[Node], outputs: Sequence[Scalar]) -> int:
    if len(live) <= WHOLE:
        return WHOLE
    return SMALL if MANY * sum(isinstance(out, Node) for out in outputs) > len(live) else CHUNK


def _stages(live: list[Node], chunk: int) -> list[list[Node]]:
    """Nodes by the number of sines they stand behind, arithmetic cut into chunks."""
    level = [0] * (max((node.id for node in live), default=-1) + 1)  # by the node's number
    arithmetic: list[list[Node]] = [[]]
    trig: list[list[Node]] = [[]]
    for node in live:
        depth = 0
        for operand in node.operands:
            if level[operand.id] > depth:
                depth = level[operand.id]
        if node.op is SIN or node.op is COS:
            depth += 1
        level[node.id] = depth
        while len(arithmetic) <= depth:
            arithmetic.append([])
            trig.append([])
        if node.op is SIN or node.op is COS:
            trig[depth].append(node)
        elif node.op is not INPUT:
            arithmetic[depth].append(node)
    stages: list[list[Node]] = []
    for waves, nodes in zip(trig, arithmetic, strict=True):
        if waves:
            stages.append(waves)
        pieces = max(1, -(-len(nodes) // chunk))
        size = -(-len(nodes) // pieces)
        stages.extend(nodes[k : k + size] for k in range(0, len(nodes), max(size, 1)))
    return stages


def _place(
    stages: list[list[Node]],
    slot: dict[Node, int],
    goals: dict[Node, list[int]],
    late: list[tuple[Node, int]],
    sums: Sums,
    spare: int,
) -> tuple[int, list[Chunk | list[Trig]]]:
    """Slots for the values that cross stages, freed after their last use. ``spare`` is for unwanted sines.

    ``late`` are results whose slots belong to inputs: written when all else is done.
    """
    next_slot = spare + 1
    last: dict[Node, int] = {}
    home: dict[Node, int] = {node: k for k, nodes in enumerate(stages) for node in nodes}
    for k, nodes in enumerate(stages):
        for node in nodes:
            if node not in sums.vanished:
                for read in sums.reads(node):
                    last[read] = k
    for node, _ in late:
        last[node] = len(stages)
    free: list[int] = []
    dying: dict[int, list[int]] = {}

    def take(node: Node, k: int) -> int:
        nonlocal next_slot
        if node in goals:
            return goals[node][0]
        if free:
            number = heapq.heappop(free)
        else:
            number = next_slot
            next_slot += 1
        dying.setdefault(last.get(node, k), []).append(number)
        return number

    placed: list[Chunk | list[Trig]] = []
    direct = [(node, number) for node, numbers in goals.items() if node.op is INPUT for number in numbers]
    if direct:
        placed.append(Chunk([], direct))
    for k, nodes in enumerate(stages):
        if nodes and (nodes[0].op is SIN or nodes[0].op is COS):
            pairs, copies = _trig_stage(nodes, slot, goals, take, k, spare)
            placed.append(pairs)
            if copies:
                placed.append(Chunk([], copies))
        else:
            chunk = Chunk(nodes)
            for node in nodes:
                if node in sums.vanished:
                    continue
                if node in goals:
                    slot[node] = goals[node][0]
                    chunk.stores.extend((node, number) for number in goals[node])
                elif last.get(node, k) > home[node]:
                    slot[node] = take(node, k)
                    chunk.stores.append((node, slot[node]))
            placed.append(chunk)
        for number in dying.pop(k, ()):
            heapq.heappush(free, number)
    if late:
        if not placed or not isinstance(placed[-1], Chunk):
            placed.append(Chunk([]))
        end = placed[-1]
        assert isinstance(end, Chunk)
        waiting = {slot[node] for node, _ in late if home.get(node) == len(stages) - 1 and node not in goals}
        end.stores = [(node, number) for node, number in end.stores if number not in waiting] + late
    return next_slot, placed


def _trig_stage(
    nodes: list[Node],
    slot: dict[Node, int],
    goals: dict[Node, list[int]],
    take: Callable[[Node, int], int],
    k: int,
    spare: int,
) -> tuple[list[Trig], list[tuple[Node, int]]]:
    pairs: dict[Node, dict[str, Node]] = {}
    for node in nodes:
        assert isinstance(node.a, Node)
        pairs.setdefault(node.a, {})[node.op] = node
    stage: list[Trig] = []
    copies: list[tuple[Node, int]] = []
    for argument, pair in pairs.items():
        numbers = []
        for op in (SIN, COS):
            wave = pair.get(op)
            if wave is None:
                numbers.append(spare)
                continue
            slot[wave] = take(wave, k)
            numbers.append(slot[wave])
            copies.extend((wave, number) for number in goals.get(wave, [])[1:])
        sine, cosine = numbers
        stage.append(Trig(slot[argument], sine, cosine, argument, (pair.get(SIN), pair.get(COS))))
    return stage, copies
