"""What stands beside exported C: a program that compares it with the kernel's values, and how CMake builds both."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from neuler.export.c99.arithmetic import Arithmetic
from neuler.export.interface import Interface
from neuler.export.samples import Samples
from neuler.export.saving import WRITTEN

TOLERANCES = {"double": 1e-10, "float": 1e-3}
"""Of each result, relative to its largest entry."""
_ROUNDINGS = 100.0
"""Times what the last digits of the inputs change is not wrong either: sums that cancel are nothing but rounding."""


def test_program(interface: Interface, c: Arithmetic, samples: Samples) -> str:
    """The program, whose return value is 0 where results agree."""
    recipe, names, name = interface.recipe, interface.arguments(), interface.name
    count = len(samples.results[0])
    lines = [
        f"/* Compares {name} with values of neuler's kernel at {count} states; 0 where they agree.",
        f" * {WRITTEN} */",
        f'#include "{name}.h"',
        "",
        "#include <math.h>",
        "#include <stdio.h>",
        "",
    ]
    given = [(x, samples.states[x.name]) for x in recipe.inputs]
    for operand, values in [*given, *zip(recipe.outputs, samples.results, strict=True)]:
        lines += _table(c, f"{names[operand.name]}_of_", np.asarray(values, dtype=float).reshape(count, operand.size))
    tolerance = TOLERANCES[c.real]
    arguments = [f"{names[x.name]}_of_[i]" if x.shape else f"{names[x.name]}_of_[i][0]" for x in recipe.inputs]
    arguments += [names[x.name] for x in recipe.outputs]
    lines += ["int main(void)", "{", "    int wrong_ = 0;", "    int i, k;"]
    lines += [f"    for (i = 0; i < {count}; i++) {{"]
    for x in recipe.outputs:
        lines.append(f"        {c.real} {names[x.name]}[{x.size}];")
    lines.append("        double scale_, error_;")
    lines.append(f"        {name}({', '.join(arguments)});")
    for x, noise in zip(recipe.outputs, samples.noise, strict=True):
        own = names[x.name]
        least = max(_ROUNDINGS * noise / tolerance, 1e-300)
        lines += [f"        {line}" for line in _compared(own, f"{own}_of_[i]", x.size, tolerance, "i", least)]
    agree = f"all {count} states agree"
    if samples.finite < count:
        agree += f", {count - samples.finite} of them by NaN"
    lines += [
        "    }",
        f'    printf(wrong_ ? "{name}: wrong\\n" : "{name}: {agree}\\n");',
        "    return wrong_;",
        "}",
        "",
    ]
    return "\n".join(lines)


@dataclass(frozen=True, eq=False)
class Run:
    """A run that a test repeats: operands at its beginning, fed at every step (or held), read at its end."""

    steps: int
    given: Mapping[str, np.ndarray]
    fed: Mapping[str, np.ndarray]
    read: Mapping[str, np.ndarray]


def step_program(
    c: Arithmetic,
    given: Mapping[str, int],
    fed: Mapping[str, int],
    read: Mapping[str, int],
    run: Run,
    arguments: Mapping[str, str],
) -> str:
    """The program for a step that is run many times; sizes by operand, and what they are called in C."""
    name = c.prefix
    lines = [
        f"/* Compares {run.steps} steps of {name} with a rollout of neuler's; 0 where they agree.",
        f" * {WRITTEN} */",
        f'#include "{name}.h"',
        "",
        "#include <math.h>",
        "#include <stdio.h>",
        "",
    ]
    for sizes, values in ((given, run.given), (fed, run.fed), (read, run.read)):
        for operand, size in sizes.items():
            suffix = "_end_" if values is run.read else "_of_"
            lines += _table(
                c, f"{arguments[operand]}{suffix}", np.asarray(values[operand], dtype=float).reshape(-1, size)
            )
    begin = [f"{arguments[x]}_of_[0]" for x in given]
    step = [
        f"{arguments[x]}_of_[{'i' if np.asarray(run.fed[x]).reshape(-1, n).shape[0] > 1 else 0}]"
        for x, n in fed.items()
    ]
    lines += [
        "int main(void)",
        "{",
        f"    {name}_state state;",
        "    int wrong_ = 0, i = 0, k;",
        "    double scale_, error_;",
    ]
    lines += [f"    {c.real} {arguments[x]}[{n}];" for x, n in read.items()]
    lines += [
        f"    if ({name}_begin({', '.join(['&state', *begin])}) != 0) {{",
        "        return 1;",
        "    }",
        f"    for (i = 0; i < {run.steps}; i++) {{",
        f"        if ({name}({', '.join(['&state', *step])}) != 0) {{",
        '            printf("step %d: status %d, joint %d\\n", i, state.status, state.joint);',
        "            return 1;",
        "        }",
        "    }",
        f"    {name}_read({', '.join(['&state', *(arguments[x] for x in read)])});",
    ]
    for x, n in read.items():
        own = arguments[x]
        lines += [f"    {line}" for line in _compared(own, f"{own}_end_[0]", n, _OF_RUNS[c.real], "i")]
    agree = f'"{name}: {run.steps} steps agree\\n"'
    lines += [f'    printf(wrong_ ? "{name}: wrong\\n" : {agree});', "    return wrong_;", "}", ""]
    return "\n".join(lines)


_OF_RUNS = {"double": 1e-6, "float": 1e-2}
"""Of what a run ends with: rounding grows along it where machines do not fuse."""


def _table(c: Arithmetic, name: str, rows: np.ndarray) -> list[str]:
    """Numbers as a constant array of two axes."""
    lines = [f"static const {c.real} {name}[{len(rows)}][{rows.shape[1]}] = {{"]
    for row in rows:
        numbers = textwrap.wrap(", ".join(c.number(float(x)) for x in row), 100)
        lines += ["    {", *(f"        {line}" for line in numbers), "    },"]
    return [*lines, "};", ""]


def _compared(own: str, wanted: str, size: int, tolerance: float, state: str, least: float = 1e-300) -> list[str]:
    """Lines that compare an array with another, relative to its largest entry, or to the least that counts."""
    # in single precision it may hang on the last digit whether a loop counts as open
    nan = f"isnan({wanted}[k])" if tolerance >= TOLERANCES["float"] else f"isnan({own}[k]) && isnan({wanted}[k])"
    return [
        f"scale_ = {least!r};",
        f"for (k = 0; k < {size}; k++) {{",
        f"    scale_ = isfinite({wanted}[k]) ? fmax(scale_, fabs((double){wanted}[k])) : scale_;",
        "}",
        f"for (k = 0; k < {size}; k++) {{",
        f"    error_ = {own}[k] == {wanted}[k] ? 0.0 : fabs((double){own}[k] - (double){wanted}[k]) / scale_;",
        f"    if (!(error_ < {tolerance!r}) && !({nan})) {{",
        f'        printf("%d: {own}[%d] is %.17g, expected %.17g\\n", {state}, k, (double){own}[k],',
        f"               (double){wanted}[k]);",
        "        wrong_ = 1;",
        "    }",
        "}",
    ]


def cmake() -> str:
    """A library for every header of the folder, and a test where one stands beside it: the same for all functions."""
    return (
        f"# {WRITTEN}\n"
        + """cmake_minimum_required(VERSION 3.10)
project(neuler_exports C)
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release)
endif()
option(NEULER_NATIVE "instructions of this machine, among them fused operations" OFF)
set(CMAKE_C_STANDARD 99)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
if(CMAKE_C_COMPILER_ID MATCHES "GNU|Clang")
  add_compile_options(-ffp-contract=off)
  if(NEULER_NATIVE)
    add_compile_options(-march=native)
  endif()
endif()
enable_testing()
file(GLOB headers CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.h)
foreach(header ${headers})
  get_filename_component(name ${header} NAME_WE)
  if(NOT EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${name}.c)
    continue()
  endif()
  add_library(neuler_${name} STATIC ${name}.c)
  target_include_directories(neuler_${name} PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
  if(UNIX)
    target_link_libraries(neuler_${name} PUBLIC m)
  endif()
  if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${name}_test.c)
    add_executable(neuler_${name}_test ${name}_test.c)
    target_link_libraries(neuler_${name}_test PRIVATE neuler_${name})
    add_test(NAME ${name} COMMAND neuler_${name}_test)
  endif()
endforeach()
"""
    )
