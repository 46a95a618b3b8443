"""The types of a robot's verbs, written from the declarations: ``python -m neuler.quantities.stubs`` refreshes them."""

from __future__ import annotations

import textwrap
from pathlib import Path

from neuler.quantities.catalogue import QUANTITIES
from neuler.quantities.declare import Quantity

FILE = Path(__file__).resolve().parent.parent / "signatures.pyi"
_HEAD = '''"""Types of the verbs of a robot. Written by neuler.quantities.stubs from the declarations; do not edit."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuler.kernels import Kernel

Array = NDArray[np.float64]
'''


def _class_name(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_"))


def _class(quantity: Quantity) -> str:
    name = _class_name(quantity.name)
    lines = []
    result = "Array"
    if len(quantity.results) > 1:
        result = f"{name}Result"
        lines += [f"class {result}(NamedTuple):", *(f"    {each}: Array" for each in quantity.results), ""]
    text = textwrap.indent(quantity.text.replace('"""', "'''"), "    ").strip()
    arguments = "".join(f", {each}: ArrayLike" for each in quantity.arguments)
    lines += [
        f"class {name}(Kernel):",
        f'    """{text}\n    """' if "\n" in text else f'    """{text}"""',
        "",
        f"    def __call__(self{arguments}, *more: ArrayLike, out: Any = None, **named: ArrayLike) -> {result}: ...",
        "",
    ]
    return "\n".join(lines)


def signatures() -> str:
    """The text of the file.

    >>> "inverse_dynamics: InverseDynamics" in signatures()
    True
    """
    verbs = "\n".join(f"    {name}: {_class_name(name)}" for name in QUANTITIES)
    classes = "\n".join(_class(each) for each in QUANTITIES.values())
    return f'{_HEAD}\n{classes}\nclass Verbs:\n    """Every quantity of a robot as a kernel."""\n\n{verbs}\n'


if __name__ == "__main__":
    FILE.write_text(signatures(), encoding="utf-8")
