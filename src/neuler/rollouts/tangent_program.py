"""The derivative of a whole time loop along a direction, forward: a program to the program that carries tangents, too.

Every recipe y = f(x) of the loop becomes (y, dy) = (f(x), f'(x) dx), by the pass of ``trace.differentiate``; what the
loop decides while it runs (which parts it skips or repeats, which joints rest) is decided by the values alone. So this
is the derivative of the numbers that the loop computes, with controllers, friction that holds joints, stops and all, at
every point at which a small change changes no decision.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence

from neuler.compiler.program import ALARM, Program, StepPart, Work
from neuler.trace.differentiate import tangents
from neuler.trace.graph import Graph, Node, Scalar
from neuler.trace.recipe import Operand, Recipe


def tangent_name(name: str) -> str:
    """The variable that holds the tangent of a variable."""
    return f"d_{name}"


def with_tangents(program: Program, seeds: Iterable[str], kept: Sequence[str]) -> Program:
    """The loop, which also carries tangents; it takes those of all that moves, and keeps those of ``kept`` alone.

    ``seeds`` are variables that the loop is given and that may move of themselves. The new loop is given the tangents
    of all given variables that move, in the order of these, and writes at its end what a run goes on from.
    """
    moving = _moving(program, seeds)
    work = program.work
    made = {id(recipe): _tangent(recipe, moving) for recipe in program.recipes if recipe is not work.diagnose}

    def make() -> Work:
        return Work(
            tuple(StepPart(made[id(x.recipe)], x.unless, x.times, x.back) for x in work.parts),
            work.diagnose,
            tuple(made[id(recipe)] for recipe in work.control),
            tuple(made[id(recipe)] for recipe in work.once),
        )

    sizes = {operand.name: operand for operand in (*program.given, *program.kept)}
    return dataclasses.replace(
        program,
        given=(*program.given, *_of(program.given, moving)),
        kept=tuple(Operand(tangent_name(name), sizes[name].shape) for name in kept),
        last=(*program.last, *_of(program.last, moving)),
        make=make,
    )


def _of(operands: Iterable[Operand], moving: set[str]) -> tuple[Operand, ...]:
    """The tangents of those operands that move."""
    return tuple(Operand(tangent_name(x.name), x.shape) for x in operands if x.name in moving)


def _tangent(recipe: Recipe, moving: set[str]) -> Recipe:
    """A recipe with the tangents of its outputs, as functions of its inputs and their tangents."""
    inputs, outputs = _of(recipe.inputs, moving), _of(recipe.outputs, moving)

    def trace(values: Mapping[str, list[Scalar]]) -> list[Sequence[Scalar]]:
        found = [list(x) for x in recipe.trace(values)]
        rates = _rates(recipe, values, found, moving)
        return [*found, *(rates[x.name] for x in recipe.outputs if x.name in moving)]

    return Recipe((*recipe.inputs, *inputs), (*recipe.outputs, *outputs), trace)


def _rates(
    recipe: Recipe, values: Mapping[str, list[Scalar]], found: Sequence[Sequence[Scalar]], moving: set[str]
) -> dict[str, list[Scalar]]:
    """Tangents of what was traced, by the name of the output."""
    seeds: dict[Node, Scalar] = {}
    for operand in recipe.inputs:
        if operand.name in moving:
            pairs = zip(values[operand.name], values[tangent_name(operand.name)], strict=True)
            seeds |= {x: rate for x, rate in pairs if isinstance(x, Node)}
    wanted = [k for k, operand in enumerate(recipe.outputs) if operand != ALARM]
    rates = iter(tangents([x for k in wanted for x in found[k]], seeds))
    return {recipe.outputs[k].name: [next(rates) for _ in found[k]] for k in wanted}


def _moving(program: Program, seeds: Iterable[str]) -> set[str]:
    """Variables that change with the seeds: none but those are carried. Each recipe is traced once for it."""
    traced: list[tuple[Recipe, dict[str, list[Scalar]], list[list[Scalar]]]] = []
    for recipe in program.recipes:
        if recipe is not program.work.diagnose:
            graph = Graph()
            values: dict[str, list[Scalar]] = {x.name: list(graph.inputs(x.name, x.size)) for x in recipe.inputs}
            found = [list(x) for x in recipe.trace(values)]
            values |= {tangent_name(x.name): list(graph.inputs(tangent_name(x.name), x.size)) for x in recipe.inputs}
            traced.append((recipe, values, found))
    moving, before = set(seeds), -1
    while len(moving) > before:
        before = len(moving)
        for recipe, values, found in traced:
            rates = _rates(recipe, values, found, moving)
            moving |= {name for name, x in rates.items() if any(isinstance(rate, Node) or rate != 0.0 for rate in x)}
    return moving
