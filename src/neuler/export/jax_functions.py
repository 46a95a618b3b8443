"""A compiled function as one of JAX: calls through XLA or a callback, and the rules by which JAX differentiates it.

Derivatives are compiled functions too, wrapped in the same way when they are first needed: so are theirs, to any order.
Arrays here have the function's type and batch axes of one number; lengths are those of the batch, or 1.
"""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable, Sequence
from math import prod
from typing import Any, Protocol

import numpy as np

from neuler import inputs
from neuler.errors import InputError, caller
from neuler.export import xla_ffi
from neuler.trace.recipe import Operand

BOTH, REVERSE = "both", "reverse"
FIRST = 0, 5
"""The first version of JAX whose interface to foreign functions is used."""

_told: set[str] = set()
"""Reasons for callbacks that have been said."""


class Source(Protocol):
    """What is wrapped. The name says what it computes: two with one name are the same function."""

    called: str
    dtype: str
    inputs: tuple[Operand, ...]
    outputs: tuple[Operand, ...]

    @property
    def name(self) -> str:
        """Of the target: what it computes."""

    def code(self) -> xla_ffi.Code:
        """The machine code."""

    def evaluate(self, arrays: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
        """Results for NumPy arrays, by the same code."""

    def reached(self, wrt: Sequence[int]) -> list[int]:
        """Numbers of the outputs that depend on some of these inputs."""

    def jacobian(self, of: Sequence[int], wrt: Sequence[int]) -> Source:
        """For each of these outputs d(out)/d(in), with one last axis for all numbers of these inputs."""

    def vjp(self, of: Sequence[int], wrt: Sequence[int]) -> Source:
        """Weights of these outputs, further inputs, times the Jacobian: for each of these inputs a gradient."""


Wrapped = Callable[..., tuple[Any, ...]]
_wrapped: dict[tuple[str, str], Wrapped] = {}


def wrapped(source: Source, mode: str) -> Wrapped:
    """The function of JAX arrays; asked for again, the same one, so that what JAX has traced is found again."""
    key = source.name, mode
    if key not in _wrapped:
        _wrapped.setdefault(key, {BOTH: _both, REVERSE: _reverse}[mode](source))
    return _wrapped[key]


# ---- calls ---------------------------------------------------------------------------------------------------------


def _call(source: Source, arrays: Sequence[Any]) -> tuple[Any, ...]:
    import jax

    batch, varying = _batch(source, arrays), _varying(arrays)
    results = [jax.ShapeDtypeStruct((*batch, *operand.shape), source.dtype) for operand in source.outputs]
    reason = _refusal() or _registered(source)
    if not reason:
        found = jax.ffi.ffi_call(source.name, results, vmap_method="expand_dims")(*arrays)
        return tuple(_as_varying(x, varying) for x in found)
    if reason not in _told:
        _told.add(reason)
        text = f"neuler.jax: functions are called back in Python, which is slower, because {reason}"
        warnings.warn(text, stacklevel=caller())

    def evaluate(*values: Any) -> tuple[np.ndarray, ...]:
        return tuple(source.evaluate([np.asarray(x) for x in values]))

    batched = {"vmap_method": "expand_dims"}
    if "vmap_method" not in inspect.signature(jax.pure_callback).parameters:  # before 0.4.34: row by row
        batched = {}
    return tuple(_as_varying(x, varying) for x in jax.pure_callback(evaluate, tuple(results), *arrays, **batched))


def _registered(source: Source) -> str:
    """Why XLA does not take the function, or nothing."""
    sides = source.inputs, source.outputs
    error = xla_ffi.register(source.name, source.code(), source.called, *sides, source.dtype)
    return error and f"XLA refuses ours: {error}"


def _refusal() -> str:
    """Why functions cannot be called by XLA itself here, or nothing."""
    import jax

    if tuple(jax.__version_info__[:2]) < FIRST:
        return f"jax is {jax.__version__}; from {'.'.join(map(str, FIRST))} on, XLA calls machine code itself"
    platform = jax.default_backend()
    return "" if platform == "cpu" else f"JAX computes on the platform {platform!r} here, and machine code is the CPU's"


def _batch(source: Source, arrays: Sequence[Any]) -> tuple[int, ...]:
    return batch_shape(arrays, [len(operand.shape) for operand in source.inputs])


def batch_shape(arrays: Sequence[Any], cores: Sequence[int]) -> tuple[int, ...]:
    """What the leading axes broadcast to; lengths may be symbols of `jax.export`."""
    import jax.numpy as jnp

    return jnp.broadcast_shapes(*(x.shape[: x.ndim - core] for x, core in zip(arrays, cores, strict=True)))


# ---- devices -------------------------------------------------------------------------------------------------------
# Inside `jax.shard_map` the type of an array says along which axes of the mesh devices may have other numbers. Calls of
# foreign functions take arrays of one such type alone, and would pretend that their results are the same everywhere.


def alike(arrays: Sequence[Any]) -> list[Any]:
    """Arrays whose types all say that devices may differ where one of them does; gradients are then added up."""
    varying = _varying(arrays)
    return [_as_varying(x, varying) for x in arrays]


def _varying(arrays: Sequence[Any]) -> frozenset[Any]:
    """Axes of the mesh along which one of these may differ; none where JAX does not say."""
    import jax

    found: frozenset[Any] = frozenset()
    if hasattr(jax, "typeof"):
        for kind in map(jax.typeof, arrays):
            own = getattr(kind, "vma", None)
            found |= own if own is not None else getattr(getattr(kind, "mat", None), "varying", frozenset())
    return found


def _as_varying(x: Any, axes: frozenset[Any]) -> Any:
    import jax

    axes = axes - _varying([x]) if axes else axes
    if not axes:
        return x
    names = tuple(sorted(axes, key=str))
    return jax.lax.pcast(x, names, to="varying") if hasattr(jax.lax, "pcast") else jax.lax.pvary(x, names)


# ---- both modes ----------------------------------------------------------------------------------------------------


def _both(source: Source) -> Wrapped:
    """Tangents are products with our Jacobian, which JAX transposes: forward and reverse mode."""
    import jax
    from jax.custom_derivatives import SymbolicZero

    def primal(*arrays: Any) -> tuple[Any, ...]:
        return _call(source, arrays)

    function = jax.custom_jvp(primal)

    def rule(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        results = function(*primals)
        wrt = [k for k, tangent in enumerate(tangents) if type(tangent) is not SymbolicZero]
        of = source.reached(wrt) if wrt else []
        rates = [_as_varying(jax.numpy.zeros_like(x), _varying([x])) for x in results]
        if of:
            slopes = wrapped(source.jacobian(of, wrt), BOTH)(*primals)
            batch = _batch(source, primals)
            direction = _stacked([tangents[k] for k in wrt], [source.inputs[k] for k in wrt], batch)
            for k, slope in zip(of, slopes, strict=True):
                rates[k] = _product(slope, direction, source.outputs[k].shape)
        return results, tuple(rates)

    function.defjvp(rule, symbolic_zeros=True)
    return _named(function, source)


def _stacked(arrays: Sequence[Any], operands: Sequence[Operand], batch: tuple[int, ...]) -> Any:
    """Arrays of all numbers of some operands, flat and one behind the other."""
    import jax.numpy as jnp

    parts = []
    for x, operand in zip(arrays, operands, strict=True):
        flat = x.reshape((*x.shape[: x.ndim - len(operand.shape)], prod(operand.shape)))
        parts.append(jnp.broadcast_to(flat, (*batch, flat.shape[-1])))
    return parts[0] if len(parts) == 1 else jnp.concatenate(parts, axis=-1)


def _product(slope: Any, direction: Any, shape: tuple[int, ...]) -> Any:
    """A Jacobian, (..., *shape, n), times a vector, (..., n). As a sum of products it takes 1.5 times as long."""
    import jax.numpy as jnp

    batch = direction.shape[:-1]
    flat = slope.reshape((*batch, prod(shape), direction.shape[-1]))
    return jnp.einsum("...on,...n->...o", flat, direction, precision="highest").reshape((*batch, *shape))


# ---- reverse mode --------------------------------------------------------------------------------------------------


def _reverse(source: Source) -> Wrapped:
    """Gradients by our vector-Jacobian product, without a matrix; JAX refuses forward mode by itself."""
    import jax
    from jax.custom_derivatives import SymbolicZero

    def primal(*arrays: Any) -> tuple[Any, ...]:
        return _call(source, arrays)

    function = jax.custom_vjp(primal)

    def forward(*primals: Any) -> Any:
        arrays = tuple(x.value for x in primals)
        moved = tuple(() if x.perturbed else None for x in primals)  # said by the structure: numbers would be traced
        return wrapped(source, BOTH)(*arrays), (arrays, moved)

    def backward(kept: Any, weights: Sequence[Any]) -> tuple[Any, ...]:
        arrays, moved = kept
        wrt = [k for k, mark in enumerate(moved) if mark is not None]
        of = [k for k in source.reached(wrt) if type(weights[k]) is not SymbolicZero]
        gradients: list[Any] = [None] * len(arrays)
        if of:
            found = wrapped(source.vjp(of, wrt), BOTH)(*arrays, *(weights[k] for k in of))
            for k, gradient in zip(wrt, found, strict=True):
                gradients[k] = _summed(gradient, arrays[k].shape)
        return tuple(gradients)

    function.defvjp(forward, backward, symbolic_zeros=True)
    return _named(function, source)


def _summed(gradient: Any, shape: tuple[int, ...]) -> Any:
    """Over the axes along which an argument was the same for all rows."""
    axes = tuple(k for k, n in enumerate(shape) if n == 1 and gradient.shape[k] != 1)
    return gradient.sum(axis=axes, keepdims=True) if axes else gradient


def _named(function: Any, source: Source) -> Wrapped:
    @functools.wraps(function)
    def call(*arrays: Any) -> tuple[Any, ...]:
        return tuple(function(*arrays))

    call.__name__ = call.__qualname__ = source.called
    return call


# ---- arguments -----------------------------------------------------------------------------------------------------


def converted(called: str, what: str, value: Any, dtype: str) -> Any:
    """An argument as a JAX array of the function's type; what has no real numbers is refused."""
    import jax
    import jax.numpy as jnp

    if jax.dtypes.canonicalize_dtype(np.float64) != np.float64 and dtype == "float64":
        raise InputError(
            f"{called}: computes in float64, and JAX would make float32 of it; "
            'call jax.config.update("jax_enable_x64", True) at the start, or compile with dtype="float32"'
        )
    if not _is_jax(value):  # of NumPy's or of Python's numbers; JAX would take None for NaN, or refuse with other words
        value = inputs.array(called, what, value, ())
    array = jnp.asarray(value)
    if not any(jnp.issubdtype(array.dtype, kind) for kind in (jnp.floating, jnp.integer, jnp.bool_)):
        raise InputError(f"{called}: {what} must be real numbers, got {array.dtype}")
    return array.astype(dtype)


def _is_jax(value: Any) -> bool:
    """An array of JAX, what it makes one of, or a list with some; or numbers of types that NumPy does not have."""
    import jax
    import jax.numpy as jnp

    if isinstance(value, list | tuple):
        return any(map(_is_jax, value))
    if isinstance(value, jax.Array) or hasattr(value, "__jax_array__"):
        return True
    return (
        isinstance(value, np.ndarray | np.generic)
        and value.dtype.kind == "V"
        and jnp.issubdtype(value.dtype, jnp.floating)
    )
