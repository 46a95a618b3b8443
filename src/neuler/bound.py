"""Kernels and functions with arrays of their own for one state: called without arguments, for controllers."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from neuler.compiler import one_state
from neuler.compiler.one_state import DirectCall
from neuler.errors import InputError

if TYPE_CHECKING:
    from neuler.compiled import Compiled


@one_state.vectorcalled
class BoundKernel(DirectCall):
    """A kernel for one state with arrays of its own, allocated once: write into them, call it, read the result.

    Its arrays are attributes named like the kernel's inputs and outputs, and stand in ``inputs`` and ``outputs``. A
    call takes no arguments, computes in place and returns the result (a tuple of arrays where there are several):
    nothing is checked and nothing allocated, a result that is not finite comes without a word. The arrays are chosen
    once: attributes can be neither set nor deleted. ``address`` is that of a C function
    ``void f(double **operands, void *pool)`` on dense arrays, inputs first, with ``pool`` as it is here.

    >>> import neuler
    >>> torque = neuler.robots.two_link().inverse_dynamics.bind()
    >>> torque.qdd[:] = 1.0, 0.0
    >>> torque() is torque.tau
    True
    """

    kernel: Compiled
    inputs: tuple[np.ndarray, ...]
    outputs: tuple[np.ndarray, ...]
    address: int
    pool: int
    _attributes: Mapping[str, Any] = MappingProxyType({})

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> np.ndarray:
            """The arrays, by the names of the kernel's inputs and outputs."""

        def __call__(self) -> Any:
            """Compute, and return the result."""

    def __new__(cls, kernel: Compiled) -> Self:
        """Arrays of zeros, and a frame with their addresses."""
        bound: Self = super().__new__(cls)
        operands = (*kernel.inputs, *kernel.outputs)
        # views own no memory, so that no array can be resized, which would move its numbers
        arrays = tuple(np.zeros(operand.shape, kernel.dtype).view() for operand in operands)
        inputs, outputs = arrays[: len(kernel.inputs)], arrays[len(kernel.inputs) :]
        code = kernel._one_state
        named = {operand.name: array for operand, array in zip(operands, arrays, strict=True)}
        facts = {"kernel": kernel, "inputs": inputs, "outputs": outputs, "address": code.one, "pool": code.pool}
        for name, value in {**named, **facts, "_attributes": MappingProxyType({**named, **facts})}.items():
            object.__setattr__(bound, name, value)
        result = outputs[0] if len(outputs) == 1 else outputs
        words = one_state.bound_frame(code.one, code.pool, arrays, result)
        one_state.ready(bound, words, "bound", arrays, result, code)
        return bound

    @property
    def __dict__(self) -> Mapping[str, Any]:  # type: ignore[override]
        """The attributes of the kernel with its arrays, to be read only."""
        return self._attributes

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._attributes})

    def __reduce__(self) -> Any:
        raise TypeError("cannot pickle or copy a bound kernel, it computes on arrays of its own; bind its kernel again")

    def __setattr__(self, name: str, value: Any) -> None:
        if value is not self._attributes.get(name, self):  # bound.q += 1 writes into the array, then sets the same one
            raise self._refusal(name, "set")

    def __delattr__(self, name: str) -> None:
        raise self._refusal(name, "deleted")

    def _refusal(self, name: str, what: str) -> InputError:
        arrays = {operand.name: operand for operand in (*self.kernel.inputs, *self.kernel.outputs)}
        one = arrays.get(name) or next(iter(arrays.values()))
        where = "the array" if name in arrays else "its arrays"
        return InputError(
            f"bound {self.kernel._called}: {name!r} cannot be {what}, it computes on arrays of its own; "
            f"write into {where}: .{one.name}{'[:]' if one.shape else '[...]'} = x"
        )
