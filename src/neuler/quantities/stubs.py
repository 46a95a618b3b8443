"""The types of a robot's verbs, written from the declarations: ``python -m neuler.quantities.stubs`` refreshes them."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Iterable, Mapping
from pathlib import Path

from neuler.quantities.catalogue import QUANTITIES
from neuler.quantities.declare import Quantity
from neuler.quantities.setup import PARAMETERS, WRENCHES

FILE = Path(__file__).resolve().parent.parent / "signatures.pyi"
_HEAD = '''"""Types of the verbs of a robot. Written by neuler.quantities.stubs from the declarations; do not edit."""

from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuler.kernels import Kernel

Array = NDArray[np.float64]
Names = str | Iterable[str]
Values = Names | Mapping[str, ArrayLike]
'''
_GROWS = {
    "reactions": ("Literal[True]", "Literal[False]", ("reactions", "cuts")),
    "order": ("Literal[2]", "Literal[1]", ("tau_rate2",)),
}
"""Options that add results: the value that does, the value that does not, and the results.

Only robots with loops have cuts.
"""
_DOUBLE = 'Literal["float64"] | type[np.float64]'


def _class_name(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_"))


def _options(quantity: Quantity) -> dict[str, str]:
    """Every option with its type."""
    declared = inspect.signature(quantity.make).parameters
    types = {name: str(declared[name].annotation) if name in declared else "Names" for name in quantity.options}
    return {name: "Values" if name in (PARAMETERS, *WRENCHES) else kind for name, kind in types.items()}


def _call(quantity: Quantity, result: str, options: Mapping[str, str]) -> str:
    """The signature of a call with these options, as text."""
    own = "".join(f", {each}: ArrayLike" for each in quantity.arguments)
    chosen = "".join(f", {name}: {kind}" for name, kind in options.items())
    return (
        f"    def __call__(self{own}, *more: ArrayLike{chosen}, out: Any = None, **named: ArrayLike) -> {result}: ..."
    )


def _calls(quantity: Quantity, result: str, grown: str) -> list[str]:
    """All signatures: with results that an option adds, as usual, and whatever a checker cannot tell apart."""
    every = _options(quantity)
    wide = {name: f"{kind} = ..." for name, kind in every.items()}
    usual = {name: f"{_GROWS[name][1]} = ..." if name in _GROWS else kind for name, kind in wide.items()}
    usual["dtype"] = f"{_DOUBLE} = ..."
    found = [_call(quantity, grown, {**usual, name: _GROWS[name][0]}) for name in every if name in _GROWS]
    found += [_call(quantity, result, usual), _call(quantity, "Any", {**wide, "dtype": "Any = ..."})]
    return [line for each in found for line in ("    @overload", each)]


def _tuple(name: str, fields: Iterable[str]) -> list[str]:
    return [f"class {name}(NamedTuple):", *(f"    {each}: Array" for each in fields), ""]


def _grown(name: str, fields: Iterable[str]) -> list[str]:
    """A tuple whose length depends on the robot, with its fields by name."""
    lines = [f"class {name}(tuple[Array, ...]):"]
    for each in fields:
        lines += ["    @property", f"    def {each}(self) -> Array: ..."]
    return [*lines, ""]


def _class(quantity: Quantity) -> str:
    name = _class_name(quantity.name)
    lines = []
    result = "Array"
    if len(quantity.results) > 1:
        result = f"{name}Result"
        lines += _tuple(result, quantity.results)
    more = [field for option in quantity.options if option in _GROWS for field in _GROWS[option][2]]
    if more:
        lines += _grown(f"{name}More", (*quantity.results, *more))
    text = textwrap.indent(quantity.text.replace('"""', "'''"), "    ").strip()
    lines += [
        f"class {name}(Kernel):",
        f'    """{text}\n    """' if "\n" in text else f'    """{text}"""',
        "",
        *_calls(quantity, result, f"{name}More"),
        "",
    ]
    return "\n".join(lines)


def _compile(quantity: Quantity) -> str:
    """``robot.compile`` with options after which the kernel is called like the verb."""
    plain = {name: kind for name, kind in _options(quantity).items() if name not in _GROWS}
    names = "".join(f", {name}: {'Names' if kind == 'Values' else kind} = ..." for name, kind in plain.items())
    return f'    def compile(self, quantity: Literal["{quantity.name}"], *{names}) -> {_class_name(quantity.name)}: ...'


def signatures() -> str:
    """The text of the file.

    >>> "inverse_dynamics: InverseDynamics" in signatures()
    True
    """
    verbs = "\n".join(f"    {name}: {_class_name(name)}" for name in QUANTITIES)
    classes = "\n".join(_class(each) for each in QUANTITIES.values())
    general = "    def compile(self, quantity: str, **options: Any) -> Kernel: ..."
    compiles = "\n".join(f"    @overload\n{each}" for each in (*map(_compile, QUANTITIES.values()), general))
    return (
        f'{_HEAD}\n{classes}\nclass Verbs:\n    """Every quantity of a robot as a kernel."""\n\n{verbs}\n\n{compiles}\n'
    )


if __name__ == "__main__":
    FILE.write_text(signatures(), encoding="utf-8")
