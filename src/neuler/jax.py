"""Kernels and functions as functions of JAX: :func:`wrap`. On the CPU, XLA calls their machine code itself.

JAX is imported when something is wrapped. ``docs/export-jax.md`` has examples, speed and limits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from neuler import extras
from neuler.compiled import Compiled, results_type
from neuler.errors import InputError
from neuler.export import jax_functions, xla_ffi
from neuler.export.xla_ffi import Code
from neuler.functions.differentiated import Opened
from neuler.functions.function import Function, function
from neuler.inputs import choice
from neuler.kernels import Kernel
from neuler.passes.parameter_values import joined
from neuler.trace.dependence import dependence
from neuler.trace.recipe import Operand
from neuler.wrapping import Call, plain

__all__ = ["JaxFunction", "targets", "wrap"]


def wrap(kernel: Compiled, *, mode: str = "both") -> JaxFunction:
    """A kernel or a :func:`neuler.function` as a function of JAX arrays, for jit, vmap, grad, scan and the like.

    ``mode="both"`` gives derivatives of any order in forward and reverse mode, by compiled Jacobians.
    ``mode="reverse"`` gives gradients (jax.grad, jax.vjp, jax.jacrev) by a compiled vector-Jacobian product, which is
    faster; jax.jvp and jax.jacfwd of the function are refused by JAX, jax.hessian works. Derivatives are compiled when
    they are first asked for, with respect to the arguments that are differentiated alone::

        import jax, neuler, neuler.jax
        jax.config.update("jax_enable_x64", True)
        torque = neuler.jax.wrap(neuler.robots.puma560().inverse_dynamics)
        slope = jax.jit(jax.jacobian(torque))(q, qd, qdd)  # (6, 6)

    Kernels compute in float64 unless they are compiled with ``dtype="float32"``; float64 needs ``jax_enable_x64``.
    """
    if not isinstance(kernel, Compiled):
        raise InputError(
            f"jax.wrap: a kernel (robot.inverse_dynamics, robot.compile(...)) or a neuler.function is needed, got "
            f"{type(kernel).__name__}"
        )
    extras.require("jax", "functions of JAX need JAX", "jax")
    return JaxFunction(kernel, choice("jax.wrap: mode", mode, (jax_functions.BOTH, jax_functions.REVERSE)))


def targets() -> tuple[str, ...]:
    """Names under which XLA knows functions of this process, derivatives too, in the order of their first calls.

    ``jax.export`` asks for them, because it stores a name where the code should be::

        jax.jit(step).lower(*state)  # all that step calls is registered
        checks = [jax.export.DisabledSafetyCheck.custom_call(name) for name in neuler.jax.targets()]
        exported = jax.export.export(jax.jit(step), disabled_checks=checks)(*state)
    """
    return xla_ffi.names()


class JaxFunction:
    """A function of JAX arrays, made by :func:`wrap`.

    Call it as the kernel: arrays in the order of ``inputs`` or by their names, leading axes are a batch and broadcast.
    It returns one array or the named tuple of the kernel, of the kernel's type. Whole numbers and truth values are
    converted, and so are floats of another precision. Parameters are given as to the kernel: an array, or a mapping of
    names to values, at its place or by its name; names that the kernel has not been compiled with get a kernel of their
    own. Results are NaN where the kernel's are, without its warnings.
    """

    def __init__(self, kernel: Compiled, mode: str) -> None:
        self.kernel, self.mode = kernel, mode
        self.inputs, self.outputs, self.dtype = kernel.inputs, kernel.outputs, kernel.dtype
        self.__name__ = self.__qualname__ = kernel._called
        self.__doc__ = kernel.__doc__
        self._source, self._call = _Source(kernel), Call(kernel)

    @property
    def structure(self) -> dict[str, tuple[np.ndarray, ...]]:
        """Of a sparse function: by output, index arrays (one an axis) of its entries in the dense array."""
        return self.kernel.structure

    def __call__(self, /, *arrays: Any, **named: Any) -> Any:
        """Results for arrays of JAX, or of numbers."""
        kernel = self.kernel
        arrays, named, values = self._call.split(arrays, named)
        if values is not None:
            return self._with_parameters(values, arrays, named)
        if named:
            arrays = kernel._ordered(arrays, named)
        if len(arrays) != len(kernel.inputs):
            raise kernel._explain(arrays, TypeError())
        found = []
        for x, operand in zip(arrays, kernel.inputs, strict=True):
            array = self._array(operand.name, x, operand.name, kernel._entries(operand))
            if array.ndim < len(operand.shape) or array.shape[array.ndim - len(operand.shape) :] != operand.shape:
                raise InputError(kernel._shape_message(operand, array))
            found.append(array)
        try:
            axes = len(jax_functions.batch_shape(found, [len(operand.shape) for operand in kernel.inputs]))
        except ValueError:
            kernel._batch_shape(found)  # says which do not
            raise
        aligned = [_with_axes(x, axes + len(o.shape)) for x, o in zip(found, kernel.inputs, strict=True)]
        results = jax_functions.wrapped(self._source, self.mode)(*jax_functions.alike(aligned))
        names = tuple(operand.name for operand in kernel.outputs)
        return results[0] if len(results) == 1 else results_type(kernel._called, names)(*results)

    def _array(self, what: str, value: Any, prefix: str = "", entries: Sequence[str] = ()) -> Any:
        """An argument as an array of JAX."""
        import jax

        if not isinstance(value, jax.Array) and not hasattr(value, "__jax_array__"):
            value = plain(self.kernel._called, what, value, prefix, entries)
        return jax_functions.converted(self.kernel._called, what, value, self.dtype.name)

    def _with_parameters(self, values: Mapping[str, Any], arrays: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """The results for values of parameters by their names."""
        import jax.numpy as jnp

        kernel, placing = self._call.placing(tuple(values))
        joint = joined(self.kernel._called, placing, values, jnp, lambda _, what, value: self._array(what, value))
        return (self if kernel is self.kernel else JaxFunction(kernel, self.mode))(*arrays, **named, parameters=joint)

    def __repr__(self) -> str:
        return f"<JAX function, mode {self.mode!r}, of {self.kernel!r}>"

    def __reduce__(self) -> Any:
        return _again, (self.kernel, self.mode)


def _again(kernel: Compiled, mode: str) -> JaxFunction:
    return wrap(kernel, mode=mode)


def _with_axes(x: Any, axes: int) -> Any:
    return x if x.ndim == axes else x.reshape((1,) * (axes - x.ndim) + x.shape)


class _Source:
    """What JAX's rules ask of a compiled function."""

    def __init__(self, compiled: Compiled) -> None:
        self.compiled = compiled
        self.called, self.dtype = compiled._called, compiled.dtype.name
        self.inputs, self.outputs = compiled.inputs, compiled.outputs

    @cached_property
    def name(self) -> str:
        """The digest tells functions apart in all processes. A kernel and its function may differ in the last bit."""
        kind = "kernel" if isinstance(self.compiled, Kernel) else "function"
        return f"neuler_{kind}_{self.called}_{self.dtype}_{self.compiled._listing.digest}"

    def code(self) -> Code:
        """The machine code, and who owns it."""
        built = self.compiled._compiled
        return Code(built.code.loop, built.code.pool, built)

    def evaluate(self, arrays: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
        """Results for NumPy arrays, by the same code."""
        with np.errstate(all="ignore"):
            found = self.compiled.ufunc(*arrays)
        return [np.asarray(x) for x in (found if isinstance(found, tuple) else (found,))]

    @cached_property
    def _function(self) -> Function:
        own = self.compiled
        return own if isinstance(own, Function) else function(own, dtype=own.dtype)

    @cached_property
    def _dependence(self) -> list[set[int]]:
        """By output the inputs that it depends on."""
        listing = self.compiled._listing
        opened = Opened(listing, [x.name for x in listing.outputs], [x.name for x in listing.inputs])
        owner = [k for k, operand in enumerate(listing.inputs) for _ in range(operand.size)]
        found = iter(dependence(opened.variables, opened.results))
        return [{owner[i] for _ in range(x.size) for i in next(found)} for x in listing.outputs]

    def reached(self, wrt: Sequence[int]) -> list[int]:
        """Numbers of the outputs that depend on some of these inputs."""
        return [k for k, felt in enumerate(self._dependence) if not felt.isdisjoint(wrt)]

    def jacobian(self, of: Sequence[int], wrt: Sequence[int]) -> jax_functions.Source:
        """For each of these outputs d(out)/d(in), with one last axis for all numbers of these inputs."""
        return _Source(self._function.jacobian(self._names(self._function.inputs, wrt), self._outputs(of)))

    def vjp(self, of: Sequence[int], wrt: Sequence[int]) -> jax_functions.Source:
        """Weights of these outputs times the Jacobian: for each of these inputs a gradient."""
        return _Source(self._function.vjp(self._names(self._function.inputs, wrt), self._outputs(of)))

    def _outputs(self, of: Sequence[int]) -> list[str]:
        return self._names(self._function.outputs, of)

    @staticmethod
    def _names(operands: Sequence[Operand], numbers: Sequence[int]) -> list[str]:
        return [operands[k].name for k in numbers]
