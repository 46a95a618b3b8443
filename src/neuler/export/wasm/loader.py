"""The script that loads a module of WebAssembly in browsers and Node, and its types for TypeScript."""

from __future__ import annotations

import functools
import json
import re
import textwrap
from collections.abc import Sequence
from importlib import resources
from typing import Any

from neuler.export.interface import Interface, shape
from neuler.export.names import comment
from neuler.export.saving import WRITTEN
from neuler.plain import shown
from neuler.trace.recipe import Operand, Operations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_WORDS = _words("""
    abstract arguments async await boolean break byte case catch char class const constructor continue debugger
    default delete do double else enum eval export extends false final finally float for function get goto if
    implements import in instanceof int interface let long native new null number of package private protected
    public return set short static string super switch synchronized this throw throws transient true try typeof
    undefined var void volatile while with yield
""")
"""Of JavaScript and TypeScript; names of parameters must be others."""


def loader(interface: Interface, operations: Operations, mark: str) -> str:
    """The script: ``load()`` gives a function of arrays, with ``batch`` for many states; of the module so marked."""
    known = {
        "comment": "\n   ".join(_said(interface, operations)),
        "file": f"{interface.name}.wasm",
        "data": _json(_data(interface)),
        "mark": mark,
    }
    return re.sub(r"\$(comment|file|data|mark)\b", lambda found: known[found[1]], _template())


@functools.cache
def _template() -> str:
    return (resources.files("neuler.export.wasm") / "loader.js").read_text(encoding="utf-8")


def _data(interface: Interface) -> dict[str, Any]:
    """What the script must know: names, shapes, and of every number its name and unit."""
    names, recipe = interface.arguments(()), interface.recipe

    def side(operands: Sequence[Operand]) -> list[dict[str, Any]]:
        found = []
        for operand in operands:
            each: dict[str, Any] = {"name": names[operand.name], "shape": list(operand.shape), "size": operand.size}
            labels = interface.labels.get(operand.name, ())
            if labels:
                each["labels"] = [[shown(label), unit] for label, unit in labels]
            places = recipe.structure.get(operand.name)
            if places:
                each["places"] = [list(axis) for axis in places]
            found.append(each)
        return found

    return {"name": interface.name, "inputs": side(recipe.inputs), "outputs": side(recipe.outputs)}


def _json(data: object) -> str:
    """JSON in ASCII that ends no script element either, an entry a line."""
    text = json.dumps(data, separators=(", ", ": "), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _said(interface: Interface, operations: Operations) -> list[str]:
    """Lines about a function: what it computes, what goes in and comes out, what it costs."""
    names, recipe = interface.arguments(()), interface.recipe
    lines = [line for each in interface.about for line in _folded(each)]
    for side, operands in (("in ", recipe.inputs), ("out", recipe.outputs)):
        for operand in operands:
            lines.append(comment(f"{side} {names[operand.name]}{shape(operand)}"))
            lines += [f"    {line}" for each in interface.described(operand) for line in _folded(each)]
    lines.append(f"{operations} for one state. {WRITTEN}")
    return lines


def _folded(text: str) -> list[str]:
    """In lines that may stand in a comment, also where the script stands inside a page."""
    return textwrap.wrap(comment(text).replace("<", "< "), 104, break_long_words=False) or [""]


# ---- types --------------------------------------------------------------------------------------------------------


def types(interface: Interface, operations: Operations) -> str:
    """Declarations of the script."""
    names, recipe = interface.arguments(()), interface.recipe
    lone = len(recipe.outputs) == 1
    result = "Float64Array" if lone else "Outputs"
    arguments = ", ".join(f"{_parameter(names[x.name])}: Numbers" for x in recipe.inputs)
    lines = [
        *_doc(_said(interface, operations), ""),
        "",
        "/** A number, or an array of numbers, flat or nested; matrices row by row. */",
        "export type Numbers = number | ArrayLike<number> | ReadonlyArray<Numbers>;",
        "",
        "/** All inputs by name. */",
        "export interface Inputs {",
        *_fields(interface, recipe.inputs, "Numbers"),
        "}",
        "",
        "/** All outputs by name, each flat, row by row. */",
        "export interface Outputs {",
        *_fields(interface, recipe.outputs, "Float64Array"),
        "}",
        "",
        "/** An input or an output: its shape and size for one state, and of every number its name and unit. */",
        "export interface Operand {",
        "  readonly name: string;",
        "  readonly shape: readonly number[];",
        "  readonly size: number;",
        "  readonly labels?: readonly (readonly [string, string])[];",
        "  /** Of a sparse output, the index of every entry along each axis. */",
        "  readonly places?: readonly (readonly number[])[];",
        "}",
        "",
        "export interface Model {",
        "  /** Results for one state. */",
        f"  ({arguments}): {result};",
        f"  (inputs: Inputs): {result};",
        "  /** The same for many states one behind another; an input may hold one state for all of them. */",
        f"  batch({arguments}): {result};",
        f"  batch(inputs: Inputs): {result};",
        "  readonly inputs: readonly Operand[];",
        "  readonly outputs: readonly Operand[];",
        "  /** What the module exports: memory, start, run and batch over byte offsets. */",
        "  readonly exports: WebAssembly.Exports;",
        "}",
        "",
        "/** Load the module from bytes, an address, a response or a compiled module; by default NAME.wasm. */",
        "export function load(",
        "  source?: ArrayBuffer | ArrayBufferView | string | URL | Response | Promise<Response> | WebAssembly.Module,",
        "): Promise<Model>;",
        "export default load;",
        "",
    ]
    return "\n".join(lines)


def _parameter(name: str) -> str:
    return f"{name}_" if name in _WORDS else name


def _fields(interface: Interface, operands: Sequence[Operand], kind: str) -> list[str]:
    names, lines = interface.arguments(()), []
    for operand in operands:
        said = [line for each in interface.described(operand) for line in _folded(each)]
        lines += _doc([f"{list(operand.shape) if operand.shape else 'One number'}", *said], "  ")
        lines.append(f"  {_json(names[operand.name])}: {kind};")
    return lines


def _doc(lines: Sequence[str], before: str) -> list[str]:
    if len(lines) == 1:
        return [f"{before}/** {lines[0]} */"]
    return [f"{before}/**", *(f"{before} * {line}".rstrip() for line in lines), f"{before} */"]
