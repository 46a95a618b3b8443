"""Arrays of other libraries: taken without a copy where they lie in this process's memory, else refused by name.

Known by the protocol of DLPack and by what NumPy cannot tell: no other library is imported.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from neuler.errors import InputError, NeulerError

_PLAIN = (float, int, list, tuple, np.ndarray)
_CPU = (1, 3)
"""DLPack's numbers of memory that the CPU reads: its own, and what CUDA has pinned."""
_DEVICES = {
    2: "a CUDA device",
    4: "an OpenCL device",
    7: "a Vulkan device",
    8: "Metal",
    10: "a ROCm device",
    14: "oneAPI",
}
_SYMBOLS = {"sympy": "kernel.sympy()", "casadi": "kernel.casadi()"}
"""Libraries whose scalars are symbols, and what computes with them."""


def taken(called: str, name: str, value: Any, *, error: type[NeulerError] = InputError) -> Any:
    """What NumPy can read, the same memory where it may be; arrays whose numbers are elsewhere are refused.

    >>> taken("f", "q", [1.0, 2.0])
    [1.0, 2.0]
    """
    kind = type(value)
    if kind in _PLAIN or isinstance(value, np.ndarray | np.generic):
        return value
    library = kind.__module__.partition(".")[0]
    what = f"{called}: {name} is a {library} {kind.__name__}"
    if library in _SYMBOLS:
        numbers = _evaluated(library, value)
        if numbers is not None:
            return numbers
        raise error(f"{what}, and numbers are needed; {_SYMBOLS[library]} computes with such symbols")
    if "Tracer" in kind.__name__ and library in ("jax", "jaxlib"):
        raise error(
            f"{what}: inside a function that JAX transforms there are no numbers yet; neuler.jax.wrap(kernel) is a "
            "function of JAX, with derivatives"
        )
    if (hasattr(value, "toarray") and hasattr(value, "nnz")) or getattr(value, "is_sparse", False) is True:
        raise error(f"{what}, which is sparse; .toarray() or .to_dense() gives all its numbers")
    if getattr(value, "requires_grad", False) is True:
        keeps = "neuler.torch.wrap(kernel) keeps them, " if library == "torch" else ""
        raise error(
            f"{what} that requires gradients, which would be lost silently; {keeps}.detach() gives its numbers, "
            "neuler.function(kernel).jacobian() and .vjp() compute derivatives"
        )
    if not hasattr(kind, "__dlpack__") or not hasattr(kind, "__dlpack_device__"):
        return value
    try:
        device = int(value.__dlpack_device__()[0])
    except Exception as problem:  # whatever the other library raises
        raise error(f"{what} without numbers that can be read: {problem}") from None
    if device not in _CPU:
        raise error(f"{what} on {_DEVICES.get(device, f'device {device} of DLPack')}; copy it to the CPU first")
    try:
        return np.from_dlpack(value)
    except Exception:  # types that NumPy does not have, or data that it must not write: it may still read them
        pass
    try:
        found = np.asarray(value)
        if found.dtype == object and found.shape == ():
            raise TypeError("it has no numbers that NumPy understands")
        return found
    except Exception as problem:  # whatever the other library raises
        raise error(f"{what}, and NumPy cannot read it: {problem}; convert it to float64") from None


def values_said(value: Any) -> str:
    """What an array holds that are no real numbers; of objects the first (of others than traced ones, if there are).

    >>> values_said(np.array([1.0, {}], dtype=object)), values_said(np.array([1j])), values_said(np.array(["a"]))
    ('values of type dict', 'complex numbers', 'values of type <U1')
    """
    if value.dtype.kind == "c":
        return "complex numbers"
    if value.dtype.kind != "O" or not isinstance(value, np.ndarray):
        return f"values of type {value.dtype}"
    strange = [x for x in value.flat if not isinstance(x, float | int | np.number)] or [value]
    first = next((x for x in strange if _library(x) != "neuler"), strange[0])
    library, kind = _library(first), type(first).__name__
    if library == "builtins":
        return f"values of type {kind}"
    remedy = f"; {_SYMBOLS[library]} computes with such symbols" if library in _SYMBOLS else ""
    return f"values of type {library} {kind}{remedy}"


def _library(x: Any) -> str:
    return type(x).__module__.partition(".")[0]


def _evaluated(library: str, value: Any) -> Any:
    """Numbers of a symbolic library that are numbers already; None of symbols."""
    try:
        if library == "casadi":
            found = np.asarray(value.full(), dtype=float)  # of DM alone
            return found[:, 0] if found.shape[1] == 1 else found
        return np.asarray(value.tolist() if hasattr(value, "tolist") else value, dtype=float)
    except (AttributeError, TypeError, ValueError):
        return None
