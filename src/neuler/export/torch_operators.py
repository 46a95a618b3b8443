"""A compiled function as an operator of PyTorch: shapes, batching by ``vmap``, derivatives in both modes.

An operator's name is made of what the function computes, so that the same function is registered once, and different
ones never share a name. Derivatives are products with vectors, never matrices. All those of a function, of any order,
are one second operator, which is told by a text which one is meant: compilers store their graphs on disk, and what
such a graph calls in another process must be there as soon as the function itself is.

``torch.library.custom_op`` is not used because its autograd rule has a backward pass alone: forward mode then gives
zero tangents without an error. The rule here is one ``autograd.Function`` with both modes, called in the dispatcher,
where every transformation of PyTorch arrives one level at a time.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from neuler.errors import InputError
from neuler.trace.recipe import Operand

NAMESPACE = "neuler"
"""Operators are ``torch.ops.neuler.NAME``."""


class Source(Protocol):
    """What an operator is made of: a compiled function in both precisions, and its products with vectors."""

    called: str
    """Its name in messages."""
    inputs: tuple[Operand, ...]
    outputs: tuple[Operand, ...]

    def at(self, dtype: str) -> Callable[..., Any]:
        """The function on arrays of one precision."""

    def derived(self, what: str, wrt: Sequence[int], of: Sequence[int]) -> Source:
        """Its "jvp" or "vjp" with respect to some inputs, of some outputs, by their places."""


class Operator:
    """Two operators of PyTorch: ``name`` takes a tensor an input; ``name_product`` computes derivatives."""

    def __init__(self, name: str, source: Source) -> None:
        import torch

        self.name = name
        self.function = Differentiable(self, "", source)
        self._known = {"": self.function}
        library, product = _library(), f"{name}_product"
        takes = ", ".join(f"Tensor in_{k}" for k in range(len(source.inputs)))
        gives = ", ".join("Tensor" for _ in source.outputs)
        tags = (torch.Tag.pt2_compliant_tag,)
        library.define(f"{name}({takes}) -> {gives if len(source.outputs) == 1 else f'({gives})'}", tags=tags)
        library.define(f"{product}(str path, Tensor[] tensors) -> Tensor[]", tags=tags)
        namespace = getattr(torch.ops, NAMESPACE)
        self.call, self.product = getattr(namespace, name).default, getattr(namespace, product).default

        def of_function(method: Callable[..., Any]) -> Callable[..., Any]:
            return lambda *tensors: _bare(method(self.function, *tensors))

        def of_product(method: Callable[..., Any]) -> Callable[..., Any]:
            return lambda path, tensors: list(method(self.at(path), *tensors))

        def mapped(info: Any, axes: Any, *tensors: Any) -> Any:
            return _bare(self.function.mapped(self.function.call, axes, tensors)), 0

        def mapped_product(info: Any, axes: Any, path: str, tensors: Any) -> Any:
            asked = self.at(path)
            return list(asked.mapped(asked.call, axes[1], tensors)), 0

        for own, made, batched in ((name, of_function, mapped), (product, of_product, mapped_product)):
            library.impl(own, made(Differentiable.computed), "CPU")
            library.impl(own, made(Differentiable.differentiable), "Autograd")
            library.impl(own, made(Differentiable.gradients_batched), "Batched")
            torch.library.register_fake(f"{NAMESPACE}::{own}", made(Differentiable.shaped), lib=library)
            torch.library.register_vmap(f"{NAMESPACE}::{own}", batched, lib=library)

    def at(self, path: str) -> Differentiable:
        """The function that a path leads to: "vjp:0,2:0 jvp:1:0" is a jvp of a vjp; places of ``wrt``, then ``of``."""
        found = self._known.get(path)
        if found is None:
            before, _, last = path.rpartition(" ")
            what, *sides = last.split(":")
            wrt, of = ([int(k) for k in side.split(",")] for side in sides)
            source = self.at(before).source
            with _lock:
                found = self._known.get(path)
                if found is None:
                    found = self._known[path] = Differentiable(self, path, source.derived(what, wrt, of))
        return found


class Differentiable:
    """The function of an operator, or a derivative of it, with the rules that PyTorch asks for. Results are tuples."""

    def __init__(self, operator: Operator, path: str, source: Source) -> None:
        self.operator, self.path, self.source = operator, path, source
        self._derived: dict[tuple[Any, ...], Differentiable] = {}

    def call(self, *tensors: Any) -> tuple[Any, ...]:
        """By way of PyTorch's dispatcher."""
        if self.path:
            return tuple(self.operator.product(self.path, tensors))
        return _tuple(self.operator.call(*tensors))

    def derived(self, what: str, wrt: tuple[int, ...], of: tuple[int, ...]) -> Differentiable:
        """A product with respect to some inputs, of some outputs, by their places."""
        found = self._derived.get((what, wrt, of))
        if found is None:
            step = f"{what}:{','.join(map(str, wrt))}:{','.join(map(str, of))}"
            found = self._derived[what, wrt, of] = self.operator.at(f"{self.path} {step}".strip())
        return found

    # ---- numbers and shapes -----------------------------------------------------------------------------------

    def computed(self, *tensors: Any) -> tuple[Any, ...]:
        """Results of the compiled function, as tensors on the CPU that share the memory of its arrays."""
        import torch

        found = _tuple(self.source.at(self._precision(tensors))(*map(as_array, tensors)))
        return tuple(torch.from_numpy(np.asarray(x, order="C")) for x in found)

    def shaped(self, *tensors: Any) -> tuple[Any, ...]:
        """Tensors of the results' shapes, for tracing."""
        import torch

        self._precision(tensors)
        sides = list(zip(tensors, self.source.inputs, strict=True))
        for x, operand in sides:
            check_shape(self.source.called, operand, x)
        batch = torch.broadcast_shapes(*(x.shape[: x.ndim - len(operand.shape)] for x, operand in sides))
        return tuple(tensors[0].new_empty((*batch, *operand.shape)) for operand in self.source.outputs)

    def _precision(self, tensors: Sequence[Any]) -> str:
        import torch

        dtypes = {x.dtype for x in tensors}
        for name, dtype in (("float64", torch.float64), ("float32", torch.float32)):
            if dtypes == {dtype}:
                return name
        said = ", ".join(f"{o.name} {x.dtype}" for o, x in zip(self.source.inputs, tensors, strict=True))
        raise InputError(f"{self.source.called}: all tensors must be float64, or all float32, got {said}")

    def mapped(self, call: Callable[..., Any], axes: Sequence[int | None], tensors: Sequence[Any]) -> tuple[Any, ...]:
        """The results of ``vmap``: the mapped axis leads all others, which broadcast as before."""
        sides = list(zip(tensors, axes, self.source.inputs, strict=True))
        ranks = [x.ndim - len(operand.shape) - (axis is not None) for x, axis, operand in sides]
        most = max(ranks)
        return call(*(
            x if axis is None else x.movedim(axis, 0)[(slice(None), *[None] * (most - rank))]
            for (x, axis, _), rank in zip(sides, ranks, strict=True)
        ))  # fmt: skip

    def gradients_batched(self, *tensors: Any) -> tuple[Any, ...]:
        """The results where ``autograd.grad(is_grads_batched=True)`` and the like map, which have their own ``vmap``.

        Its tensors do not say which of its levels they belong to: all levels become axes in front, of size one where a
        tensor has none.
        """
        import torch

        depth = torch._C._vmapmode_increment_nesting() - 1
        torch._C._vmapmode_decrement_nesting()
        ranks = [x.ndim - len(operand.shape) for x, operand in zip(tensors, self.source.inputs, strict=True)]
        plain = []
        for x, rank in zip(tensors, ranks, strict=True):
            for level in range(depth, 0, -1):
                x = torch._remove_batch_dim(x, level, 1, 0)
            plain.append(x[(*[slice(None)] * depth, *[None] * (max(ranks) - rank))])
        found = []
        for y in self.call(*plain):
            for level in range(1, depth + 1):
                y = y[0] if y.shape[0] == 1 else torch._add_batch_dim(y, 0, level)
            found.append(y)
        return tuple(found)

    # ---- derivatives ------------------------------------------------------------------------------------------

    def differentiable(self, *tensors: Any) -> tuple[Any, ...]:
        """One level of differentiation, whichever transformation of PyTorch it belongs to."""
        from torch._functorch.utils import enable_single_level_autograd_function

        with enable_single_level_autograd_function():
            return self._rule.apply(*tensors)

    @cached_property
    def _rule(self) -> Any:
        import torch
        from torch.autograd.forward_ad import _set_fwd_grad_enabled
        from torch.autograd.function import _SingleLevelFunction

        def forward(*tensors: Any) -> Any:
            # A Function turns derivatives off while it runs; the levels below this one have theirs still to take.
            with torch.enable_grad(), _set_fwd_grad_enabled(True), torch._C._AutoDispatchBelowAutograd():
                return self.call(*tensors)

        return self._made(_SingleLevelFunction, {"forward": forward}, lambda derived: derived.call)

    @cached_property
    def apply(self) -> Callable[..., tuple[Any, ...]]:
        """The same as an ``autograd.Function`` that PyTorch's transformations take apart themselves."""
        import torch

        def forward(*tensors: Any) -> Any:
            with torch._C._AutoDispatchBelowAutograd():
                return self.call(*tensors)

        def vmap(info: Any, axes: Any, *tensors: Any) -> Any:
            return self.mapped(made.apply, axes, tensors), 0

        made = self._made(torch.autograd.Function, {"forward": forward, "vmap": vmap}, lambda derived: derived.apply)
        return made.apply

    def _made(self, base: Any, own: dict[str, Any], way: Callable[[Differentiable], Callable[..., Any]]) -> Any:
        """A Function with derivatives in both modes, which are computed the same way."""
        every = tuple(range(len(self.source.outputs)))

        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.set_materialize_grads(False)
            ctx.save_for_backward(*inputs)
            ctx.save_for_forward(*inputs)

        def backward(ctx: Any, *weights: Any) -> Any:
            inputs = ctx.saved_tensors
            wrt = tuple(k for k, needed in enumerate(ctx.needs_input_grad) if needed)
            of = tuple(k for k in every if weights[k] is not None)
            slopes = [None] * len(inputs)
            if wrt and of:
                found = way(self.derived("vjp", wrt, of))(*inputs, *(weights[k] for k in of))
                for k, slope in zip(wrt, found, strict=True):
                    own = inputs[k].shape  # where it was broadcast, slopes are summed
                    slopes[k] = slope if slope.shape == own else slope.sum_to_size(own)
            return tuple(slopes)

        def jvp(ctx: Any, *rates: Any) -> Any:
            wrt = tuple(k for k, rate in enumerate(rates) if rate is not None)
            return way(self.derived("jvp", wrt, every))(*ctx.saved_tensors, *(rates[k] for k in wrt))

        methods = {**own, "setup_context": setup_context, "backward": backward, "jvp": jvp}
        return type(self.operator.name, (base,), {name: staticmethod(x) for name, x in methods.items()})


def as_array(x: Any) -> np.ndarray:
    """The numbers of a tensor, in the same memory."""
    plain = x.detach()
    found: np.ndarray = (plain.resolve_neg() if plain.is_neg() else plain).numpy()
    return found


def check_shape(called: str, operand: Operand, x: Any) -> None:
    """Refuse a tensor whose last axes are not those of an input."""
    core = len(operand.shape)
    if x.ndim < core or tuple(x.shape[x.ndim - core :]) != operand.shape:
        axes = f"last axis {operand.shape[0]}" if core == 1 else f"last axes {operand.shape}"
        raise InputError(f"{called}: expected {operand.name} with {axes}, got shape {tuple(x.shape)}")


def _tuple(found: Any) -> tuple[Any, ...]:
    return found if isinstance(found, tuple) else (found,)


def _bare(found: tuple[Any, ...]) -> Any:
    return found[0] if len(found) == 1 else found


_operators: dict[str, Operator] = {}
_held: list[Any] = []
_lock = threading.RLock()


def _renew_lock() -> None:
    """In a forked child, a worker of a DataLoader say: whoever held the lock is not there."""
    global _lock
    _lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock)


def operator(name: str, source: Source) -> Operator:
    """The operator of a name that says what it computes, registered when it is first asked for, and kept for ever."""
    found = _operators.get(name)
    if found is None:
        with _lock:
            found = _operators.get(name)
            if found is None:
                found = _operators[name] = Operator(name, source)
    return found


def _library() -> Any:
    """PyTorch removes the operators of a library that nobody holds."""
    import torch

    with _lock:
        if not _held:
            _held.append(torch.library.Library(NAMESPACE, "FRAGMENT"))
    return _held[0]
