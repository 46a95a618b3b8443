"""``neuler_fmu_model.h``, for which ``neuler_fmu.c`` is compiled: where values are, their starts, functions to call."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import resources

import numpy as np

from neuler.export.c99.arithmetic import Arithmetic
from neuler.export.fmu.names import c_string
from neuler.export.saving import WRITTEN
from neuler.trace.recipe import Operand

FIXED = ("neuler_fmi2.h", "neuler_fmu.c", "neuler_fmu_instance.h", "neuler_fmu_values.h", "neuler_fmu_runs.h")
"""Sources that are the same for every unit."""


@dataclass(frozen=True)
class Layout:
    """Where the values of a model are: states and inputs, parameters, then what is computed."""

    operands: Sequence[Operand]
    """q, qd, tau, wrenches, parameters; then qdd, rates of q, poses, some of them empty."""

    @property
    def places(self) -> dict[str, int]:
        """By operand the place of its first number."""
        found, at = {}, 0
        for operand in self.operands:
            found[operand.name] = at
            at += operand.size
        return found

    @property
    def size(self) -> int:
        """The number of all values."""
        return sum(operand.size for operand in self.operands)

    def at(self, names: Sequence[str], values: str = "v") -> list[str]:
        """Arguments of a function in C."""
        return [f"{values} + {self.places[name]}" for name in names]


@dataclass(frozen=True)
class Calls:
    """What functions in C take and give, by the names of operands; those that are missing are not there."""

    begin: Sequence[str] = ()
    step: Sequence[str] = ()
    dynamics: tuple[Sequence[str], Sequence[str]] | None = None
    poses: tuple[Sequence[str], Sequence[str]] | None = None
    slopes: tuple[Sequence[str], Sequence[str]] | None = None
    """Operands whose change is given, and those whose change is found."""
    gaps: bool = False
    """Whether there are loops that start values must close."""


@dataclass(frozen=True)
class Model:
    """A model, as it is told to C."""

    identifier: str
    layout: Layout
    calls: Calls
    dt: float
    starts: np.ndarray
    """Of states, inputs and parameters."""
    joints: Sequence[str]
    loop_names: Sequence[str]
    statuses: Sequence[str]
    rotations: Sequence[tuple[int, int]]
    """Of each quaternion its first place, and the number of its joint."""
    unit: float
    """How far the square of a quaternion's length may be from one."""
    open: float
    """By how much (m, rad) loops may be open at the start."""
    model_exchange: bool
    co_simulation: bool
    trial: bool
    """Whether accelerations are those of the next step."""
    most: np.ndarray = field(default_factory=lambda: np.empty(0))
    """Limits at which forces are cut off, also outside of steps; none, where they are not."""

    def header(self, guid: str) -> str:
        """Sizes, places and functions with which ``neuler_fmu.c`` is compiled; ``guid`` is that of the unit."""
        layout, calls, name = self.layout, self.calls, self.identifier
        at = layout.places
        own = {"step": calls.begin, "dynamics": calls.dynamics, "poses": calls.poses, "slopes": calls.slopes,
               "gaps": calls.gaps}  # fmt: skip
        sizes = {x.name: x.size for x in layout.operands}
        numbers = {
            "NQ": sizes["q"], "NV": sizes["qd"], "NU": sizes["tau"], "QD": at["qd"], "TAU": at["tau"],
            "PARAMETERS": at.get("parameters", at["qdd"]), "QDD": at["qdd"], "RATES": at["rates"],
            "POSES": at["poses"], "VALUES": layout.size, "ROTATIONS": len(self.rotations),
            "ME": int(self.model_exchange), "CS": int(self.co_simulation), "TRIAL": int(self.trial),
            "SLOPES": int(calls.slopes is not None), "LOOPS": len(self.loop_names),
        }  # fmt: skip
        number = Arithmetic("double", name).number
        lines = [f"/* The model {name}. {WRITTEN} */", f"#ifndef NEULER_{name}_MODEL_H"]
        lines += [f"#define NEULER_{name}_MODEL_H", ""]
        lines += [f'#include "{name}_{each}.h"' for each, there in own.items() if there]
        lines += ["", f'#define FMU_GUID "{guid}"', f"#define FMU_DT {number(self.dt)}"]
        lines += [f"#define FMU_UNIT {number(self.unit)}", f"#define FMU_OPEN {number(self.open)}"]
        lines += [*(f"#define FMU_{key} {x}" for key, x in numbers.items()), ""]
        lines += _table("static const double fmu_starts[FMU_QDD]", [number(float(x)) for x in self.starts])
        if self.co_simulation:
            lines += _table("static const char *const fmu_statuses[]", [c_string(x) for x in self.statuses])
        if self.co_simulation or self.rotations:
            lines += _table("static const char *const fmu_joints[]", [c_string(x) for x in self.joints])
        if self.loop_names:
            lines += _table("static const char *const fmu_loops[]", [c_string(x) for x in self.loop_names])
        if self.rotations:
            rows = [f"{{{first}, {joint}}}" for first, joint in self.rotations]
            lines += _table("static const struct { int first, joint; } fmu_rotations[FMU_ROTATIONS]", rows)
        return "\n".join([*lines, "", *self._functions(), "#endif", ""])

    def _functions(self) -> list[str]:
        layout, calls, name = self.layout, self.calls, self.identifier
        lines: list[str] = []
        if calls.begin:
            begin = ["dt" if x == "dt" else f"v + {layout.places[x]}" for x in calls.begin]
            lines += [f"typedef {name}_step_state fmu_run;", ""]
            lines += _function(
                "static int fmu_begin(fmu_run *run, const double *v, double dt)",
                [f"return {_call(f'{name}_step_begin', ['run', *begin])};"],
            )
            lines += _function(
                "static int fmu_advance(fmu_run *run, const double *v)",
                [f"return {_call(f'{name}_step', ['run', *layout.at(calls.step)])};"],
            )
            lines += _function(
                "static void fmu_read(const fmu_run *run, double *q, double *qd)", [f"{name}_step_read(run, q, qd);"]
            )
        if calls.dynamics and not self.trial:
            takes, gives = calls.dynamics
            before, given = self._cut(takes)
            call = _call(f"{name}_dynamics", [*given, *layout.at(gives)])
            lines += _function("static void fmu_accelerate(double *v)", [*before, f"{call};"])
        if calls.poses:
            takes, gives = calls.poses
            call = _call(f"{name}_poses", layout.at([*takes, *gives]))
            lines += _function("static void fmu_place(double *v)", [f"{call};"])
        if calls.gaps:
            call = _call(f"{name}_gaps", [*layout.at(["q"]), "open", "upright"])
            lines += _function("static void fmu_measure(const double *v, double *open, double *upright)", [f"{call};"])
        if calls.slopes:
            lines += self._slopes(*calls.slopes)
        return lines

    def _cut(self, takes: Sequence[str]) -> tuple[list[str], list[str]]:
        """Forces within their limits, where they have some: statements, and the arguments of a call."""
        given = self.layout.at(takes)
        if not len(self.most):
            return [], given
        lines = [f"double tau[{len(self.most)}];"]
        number = Arithmetic("double", self.identifier).number
        for k, most in enumerate(self.most.tolist()):
            x = f"v[{self.layout.places['tau'] + k}]"
            if np.isfinite(most):
                high, low = number(most), number(-most)
                lines.append(f"tau[{k}] = {x} > {high} ? {high} : {x} < {low} ? {low} : {x};")
            else:
                lines.append(f"tau[{k}] = {x};")
        return lines, ["tau" if x == "tau" else text for x, text in zip(takes, given, strict=True)]

    def _slopes(self, takes: Sequence[str], gives: Sequence[str]) -> list[str]:
        """A force that is cut off has no effect when it changes."""
        before, given = self._cut(takes)
        along = self.layout.at(takes, "along")
        at = self.layout.places["tau"]
        if len(self.most):
            count = len(self.most)
            before.append(f"double changes[{count}];")
            before += [f"changes[{k}] = tau[{k}] == v[{at + k}] ? along[{at + k}] : 0.0;" for k in range(count)]
            along = ["changes" if x == "tau" else text for x, text in zip(takes, along, strict=True)]
        call = _call(f"{self.identifier}_slopes", [*given, *along, *self.layout.at(gives, "rates")])
        head = "static void fmu_differentiate(const double *v, const double *along, double *rates)"
        return _function(head, [*before, f"{call};"])


def fixed_sources() -> dict[str, str]:
    """Sources that are the same for every unit."""
    here = resources.files("neuler.export.fmu")
    return {name: (here / name).read_text(encoding="utf-8") for name in FIXED}


def _table(head: str, entries: Sequence[str]) -> list[str]:
    return [f"{head} = {{", *(f"    {line}" for line in _filled(entries)), "};"]


def _filled(entries: Sequence[str]) -> list[str]:
    """Entries with commas, in lines of bounded length; entries themselves stay whole."""
    lines, line = [], ""
    for k, each in enumerate(entries):
        text = each + ("," if k + 1 < len(entries) else "")
        if line and len(line) + len(text) > 110:
            lines.append(line)
            line = ""
        line += f" {text}" if line else text
    return [*lines, line]


def _call(name: str, arguments: Sequence[str]) -> str:
    return f"{name}({', '.join(arguments)})"


def _function(head: str, body: Sequence[str]) -> list[str]:
    lines = [wrapped for line in body for wrapped in textwrap.wrap(line, 106, subsequent_indent="    ")]
    return [head, "{", *(f"    {line}" for line in lines), "}", ""]
