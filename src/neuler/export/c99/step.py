"""A step that is run many times as C99: the simulation of a rollout, one call a step, its state in a struct.

The parts of the step, and when they are skipped or repeated, are those of ``compiler/program.py``; every part is a
function over the struct's array.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from neuler.compiler.program import ALARM, TIME, Program
from neuler.errors import InputError
from neuler.export.c99.arithmetic import Arithmetic
from neuler.export.c99.code import CCode, not_a_test, preamble, undefined
from neuler.export.c99.function import parameters, signature
from neuler.export.c99.harness import Run, cmake, step_program
from neuler.export.c99.header import OF_STEPS, RESTRICT, stack_bytes
from neuler.export.c99.pieces import Pieces
from neuler.export.c99.sincos import FAR, functions
from neuler.export.interface import Interface, Label
from neuler.export.names import comment
from neuler.export.saving import WRITTEN
from neuler.inputs import choice
from neuler.trace.recipe import Operand, Operations, Recipe


@dataclass(frozen=True)
class Start:
    """What a run may not begin with."""

    finite: tuple[str, ...] = ()
    """Variables whose numbers must all be finite."""
    rotations: tuple[tuple[int, int], ...] = ()
    """Of each quaternion its first place in q, and the number of the joint."""
    within: tuple[tuple[int, int, float, float], ...] = ()
    """Of each limit the place in q, the number of the joint, and the bounds."""
    slack: float = 0.0
    """How far the square of a quaternion's length may be from one."""
    statuses: tuple[int, int] = (1, 3)
    """What is returned where numbers are not finite or no rotation, and beyond limits."""


@dataclass(frozen=True, eq=False)
class Stepping:
    """A time loop whose clock runs at one pace, and what is said of it."""

    name: str
    program: Program
    fixed: Mapping[str, np.ndarray]
    """Values of operands that are read once and are the same for every run: the time step, limits, parameters."""
    period: int = 1
    """Steps from one sample of the controller to the next."""
    about: tuple[str, ...] = ()
    labels: Mapping[str, Sequence[Label]] = field(default_factory=dict)
    statuses: Sequence[str] = ()
    """What the numbers say that a step returns."""
    clipped: Mapping[str, np.ndarray] = field(default_factory=dict)
    """Of operands that are read at every step, the largest size of each number; others are cut off there."""
    start: Start = field(default_factory=lambda: Start())
    built_in: tuple[str, ...] = ()
    """Lines about values that are the same for every run."""
    real: str = "double"
    """Of all numbers: double or float."""

    @property
    def given(self) -> tuple[Operand, ...]:
        """Read once, and different for every run."""
        return tuple(x for x in self.program.given if x.name not in self.fixed)

    @property
    def fed(self) -> tuple[Operand, ...]:
        """Read at every step, or at every sample."""
        return (*self.program.streams, *self.program.samples)

    def interface(self, inputs: Sequence[Operand], outputs: Sequence[Operand]) -> Interface:
        """Names and labels of some operands."""
        recipe = Recipe(tuple(inputs), tuple(outputs), lambda values: [])
        return Interface(self.name, recipe, self.about, self.labels)


def c_step(stepping: Stepping, *, far: str = "libm", run: Run | None = None) -> CCode:
    """C99 of a step: ``NAME_begin``, ``NAME`` and ``NAME_read`` over a struct ``NAME_state``.

    ``run`` is what the test repeats.
    """
    choice("c: far", far, FAR)
    name, program = stepping.name, stepping.program
    if program.lookups:
        raise InputError(f"{name}: a loop that looks tables up has no C")
    stepping.interface((), ())  # refuses a bad name
    not_a_test(name)
    c = Arithmetic(stepping.real, name, saturates=True)
    schedules, operations = program.schedules(fma=True)
    slots = max(schedule.slots for schedule in schedules)
    body: list[str] = []
    waiting = 0
    for number, schedule in enumerate(schedules, 1):
        pieces = Pieces(schedule, c, f"{name}_part{number}")
        lines = "\n".join(f"    {line}" for line in pieces.calls)
        waiting = max(waiting, pieces.waiting)
        body += [*pieces.functions, f"static void {name}_part{number}({c.real} *m)\n{{\n{lines}\n}}\n"]
    sines = functions(c, far) if any(f"{name}_sincos(" in text for text in body) else []
    numbers = {id(recipe): number for number, recipe in enumerate(program.recipes, 1)}
    source = [
        *preamble(name, sines=bool(sines), limits=True),
        *c.helpers(),
        *sines,
        *body,
        *_begin(stepping, numbers),
        *_step(stepping, numbers),
        *_read(stepping),
        *undefined(c, sines=bool(sines)),
        "",
    ]
    given, fed, read = ({x.name: x.size for x in side} for side in (stepping.given, stepping.fed, program.kept))
    arguments = stepping.interface((*stepping.given, *stepping.fed), program.kept).arguments()
    test = "" if run is None else step_program(c, given, fed, read, run, arguments)
    size = 4 if c.single else 8
    state = 8 * math.ceil(size * slots / 8) + 24  # the slots; steps, wait, status, joint
    header = _header(stepping, state, operations, stack_bytes(size * waiting, OF_STEPS), slots)
    return CCode(name, header, "\n".join(source), test, cmake(), operations, size * slots)


def begin_head(stepping: Stepping, end: str = "") -> list[str]:
    """``NAME_begin``: the state of a run at its start."""
    takes = parameters(stepping.interface(stepping.given, ()), stepping.real)
    return signature(f"int {stepping.name}_begin", [f"{stepping.name}_state *state", *takes], end)


def step_head(stepping: Stepping, end: str = "") -> list[str]:
    """``NAME``: one step."""
    takes = parameters(stepping.interface(stepping.fed, ()), stepping.real)
    return signature(f"int {stepping.name}", [f"{stepping.name}_state *state", *takes], end)


def read_head(stepping: Stepping, end: str = "") -> list[str]:
    """``NAME_read``: what the state holds."""
    gives = parameters(stepping.interface((), stepping.program.kept), stepping.real)
    return signature(f"void {stepping.name}_read", [f"const {stepping.name}_state *state", *gives], end)


def _begin(stepping: Stepping, numbers: Mapping[int, int]) -> list[str]:
    c, program = Arithmetic(stepping.real, stepping.name), stepping.program
    names = stepping.interface(stepping.given, ()).arguments()
    lines = [
        f"{c.real} *m = state->m;",
        "int k;",
        f"for (k = 0; k < {stepping.name}_SLOTS; k++) {{",
        f"    m[k] = {c.number(0.0)};",
        "}",
    ]
    for operand in program.given:
        first, size = program.variables[operand.name]
        if operand.name in stepping.fixed:
            values = np.asarray(stepping.fixed[operand.name], dtype=float).reshape(-1)
            lines += [f"m[{first + k}] = {c.number(float(x))};" for k, x in enumerate(values)]
        else:
            lines += _taken(names[operand.name], operand, first, size)
    lines += ["state->steps = 0;", "state->wait = 0;", "state->status = 0;", "state->joint = -1;"]
    lines += _looked_at(stepping, c)
    lines += [f"{stepping.name}_part{numbers[id(recipe)]}(m);" for recipe in program.work.once]
    lines.append("return state->status;")
    return [*begin_head(stepping), "{", *(f"    {line}" for line in lines), "}", ""]


def _looked_at(stepping: Stepping, c: Arithmetic) -> list[str]:
    """Numbers that are not finite, quaternions that are no rotations, positions beyond limits: the run is over."""
    variables, start = stepping.program.variables, stepping.start
    size_of, most = c.call("fabs"), "FLT_MAX" if c.single else "DBL_MAX"
    lines: list[str] = []

    def over(condition: str, status: int, joint: str) -> list[str]:
        return [
            f"if (state->status == 0 && {condition}) {{",
            f"    state->status = {status};",
            f"    state->joint = {joint};",
            "}",
        ]

    for name in start.finite:
        first, size = variables[name]
        inside = over(f"!({size_of}(m[{first} + k]) <= {most})", start.statuses[0], "-1")
        lines += [f"for (k = 0; k < {size}; k++) {{", *(f"    {line}" for line in inside), "}"]
    at = variables["q"][0]
    for first, joint in start.rotations:
        squares = " + ".join(f"m[{at + first + k}] * m[{at + first + k}]" for k in range(4))
        away = f"{size_of}({squares} - {c.number(1.0)})"
        lines += over(f"!({away} < {c.number(start.slack)})", start.statuses[0], str(joint))
    for place, joint, lower, upper in start.within:
        bounds = [f"m[{at + place}] < {c.number(lower)}"] if math.isfinite(lower) else []
        bounds += [f"m[{at + place}] > {c.number(upper)}"] if math.isfinite(upper) else []
        if bounds:
            lines += over(f"({' || '.join(bounds)})", start.statuses[1], str(joint))
    return lines


def _taken(name: str, operand: Operand, first: int, size: int) -> list[str]:
    if not operand.shape:
        return [f"m[{first}] = {name};"]
    return [f"for (k = 0; k < {size}; k++) {{", f"    m[{first} + k] = {name}[k];", "}"]


def _step(stepping: Stepping, numbers: Mapping[int, int]) -> list[str]:
    name, program = stepping.name, stepping.program
    names, variables = stepping.interface(stepping.fed, ()).arguments(), program.variables

    def part(recipe: Recipe) -> str:
        return f"{name}_part{numbers[id(recipe)]}(m);"

    work = program.work
    c = Arithmetic(stepping.real, name)
    lines = [f"{c.real} *m = state->m;"]
    copies = any(operand.shape for operand in stepping.fed)
    counts = any(each.unless and not each.back for each in work.parts)
    lines += ["int k;"] * copies + ["int n;"] * counts
    lines += ["if (state->status != 0) {", "    return state->status;", "}"]
    for operand in program.streams:
        lines += _taken(names[operand.name], operand, *variables[operand.name])
        first = variables[operand.name][0]
        for k, most in enumerate(np.asarray(stepping.clipped.get(operand.name, ()), dtype=float).tolist()):
            if math.isfinite(most):
                x, high, low = f"m[{first + k}]", c.number(most), c.number(-most)
                lines.append(f"{x} = {x} > {high} ? {high} : {x} < {low} ? {low} : {x};")
    if TIME in variables:
        lines.append(f"m[{variables[TIME][0]}] = ({c.real})state->steps * m[{variables['dt'][0]}];")
    if work.control:
        inside = [line for x in program.samples for line in _taken(names[x.name], x, *variables[x.name])]
        inside += [part(recipe) for recipe in work.control]
        lines += ["if (state->wait == 0) {", *(f"    {line}" for line in inside)]
        lines += [f"    state->wait = {stepping.period};", "}", "state->wait--;"]
    targets = {k - each.back for k, each in enumerate(work.parts) if each.back}
    for k, each in enumerate(work.parts):
        if k in targets:
            lines.append(f"again{k}:")
        if not each.unless:
            lines.append(part(each.recipe))
            continue
        wanted = f"!(m[{variables[each.unless][0]}] < {c.number(1.0)})"
        if each.back:
            lines += [f"if ({wanted}) {{", f"    {part(each.recipe)}", f"    goto again{k - each.back};", "}"]
        else:
            lines += [f"for (n = 0; n < {each.times} && {wanted}; n++) {{", f"    {part(each.recipe)}", "}"]
    status, joint = (variables[x.name][0] for x in work.diagnose.outputs)
    lines += [
        "state->steps++;",
        f"if (!(m[{variables[ALARM.name][0]}] < {c.number(1.0)})) {{",
        f"    {part(work.diagnose)}",
        f"    state->status = (int)m[{status}];",
        f"    state->joint = (int)m[{joint}];",
        "}",
        "return state->status;",
    ]
    body = [line if line.endswith(":") else f"    {line}" for line in lines]
    return [*step_head(stepping), "{", *body, "}", ""]


def _read(stepping: Stepping) -> list[str]:
    program = stepping.program
    names = stepping.interface((), program.kept).arguments()
    lines = [f"const {stepping.real} *m = state->m;", "int k;"]
    for operand in program.kept:
        first, size = program.variables[operand.name]
        lines += [f"for (k = 0; k < {size}; k++) {{", f"    {names[operand.name]}[k] = m[{first} + k];", "}"]
    return [*read_head(stepping), "{", *(f"    {line}" for line in lines), "}", ""]


def _header(stepping: Stepping, state: int, operations: Operations, stack: int, slots: int) -> str:
    name, guard = stepping.name, f"NEULER_{stepping.name}_H"
    text = [comment(line) for line in stepping.about]
    sides = (("_begin", stepping.given, ()), ("", stepping.fed, ()), ("_read", (), stepping.program.kept))
    for suffix, takes, gives in sides:
        interface = stepping.interface(takes, gives)
        names = interface.arguments()
        text += ["", f"{name}{suffix}:"] if takes or gives else []
        for operand in (*takes, *gives):
            size = f"[{operand.size}]" if operand.shape else ""
            text.append(f"    {names[operand.name]}{size}{' (out)' if gives else ''}")
            text += [f"        {comment(line)}" for line in interface.described(operand)]
    text += ["", *(comment(line) for line in stepping.built_in)] if stepping.built_in else []
    if stepping.statuses:
        meanings = ", ".join(f"{k} {what}" for k, what in enumerate(stepping.statuses))
        text += [
            "",
            f"A step returns a status: {meanings}.",
            f"With any but 0 the run is over, and joint is the number of the joint, or -1; {name}_read gives the state",
            "at which it ended, where a rollout has NaN.",
        ]
    text += [
        "",
        f"{operations} a step, what is repeated counted once. The state takes {state} bytes, a step by gcc",
        f"about {stack} bytes of the stack at most, without the C library's; nothing is allocated, and there is no",
        "other state: several runs and threads are fine.",
    ]
    lines = [f"/* {name}.h", " *", *(f" * {line}".rstrip() for line in text), f" * {WRITTEN} */"]
    lines += [f"#ifndef {guard}", f"#define {guard}", "", "#include <stdint.h>", "", *RESTRICT, ""]
    lines += ["#ifdef __cplusplus", 'extern "C" {', "#endif", "", f"#define {name}_SLOTS {slots}", ""]
    lines += [
        "typedef struct {",
        f"    {stepping.real} m[{slots}];",
        "    uint64_t steps;",
        "    int wait;",
        "    int status;",
        "    int joint;",
        f"}} {name}_state;",
        "",
        "/* Set the state at the beginning of a run; returns its status. */",
        *begin_head(stepping, ";"),
        "",
        "/* Do one step. */",
        *step_head(stepping, ";"),
        "",
        "/* Copy what the state holds. */",
        *read_head(stepping, ";"),
        "",
        "#ifdef __cplusplus",
        "}",
        "#endif",
        "",
        "#endif",
        "",
    ]
    return "\n".join(lines)
