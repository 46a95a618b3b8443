"""Kernels and functions in PyTorch: :func:`wrap`. Needs ``pip install torch``."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from neuler import extras, inputs
from neuler.compiled import Compiled, results_type
from neuler.errors import InputError
from neuler.export.torch_operators import check_shape, operator
from neuler.functions.function import function
from neuler.naming import hint
from neuler.passes.parameter_values import joined
from neuler.wrapping import Call, plain

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from neuler.trace.recipe import Operand


__all__ = ["Wrapped", "wrap"]

OLDEST = 2, 6
"""The first version of PyTorch with which all derivatives are right: 2.5 loses some without an error."""
_LISTS = (list, tuple)


def wrap(kernel: Compiled, *, functional: bool = False) -> Wrapped:
    """A kernel or a :func:`neuler.function` as a function of PyTorch tensors on the CPU, with derivatives.

    Arguments and results have the shapes of the kernel's: leading axes are a batch and broadcast. Several results come
    as a namedtuple. Tensors of float32 are computed in single precision and give float32, float64 in double. Where both
    are given, the result is float64; tensors of whole numbers, lists and numbers take the precision of the others.

    The function is an operator of PyTorch (``torch.ops.neuler``), for eager code, ``torch.compile`` and
    ``torch.export``. Reverse mode, forward mode, ``torch.func`` and derivatives of any order use compiled products with
    vectors. With ``functional=True`` derivatives in eager code are those of a ``torch.autograd.Function`` around the
    operator, the documented way; code that is compiled calls the operator.

    Registered operators live as long as the process. To wrap the same kernel again returns the same operator::

        import neuler, neuler.torch, torch

        arm = neuler.robots.puma560()
        torque = neuler.torch.wrap(arm.inverse_dynamics)
        q, qd, qdd = torch.rand(3, 1000, 6, requires_grad=True)
        torque(q, qd, qdd).square().sum().backward()

    >>> wrap("inverse_dynamics")
    Traceback (most recent call last):
    neuler.errors.InputError: torch.wrap takes a kernel (robot.inverse_dynamics) or a neuler.function, got a str
    """
    if not isinstance(kernel, Compiled):
        raise InputError(
            "torch.wrap takes a kernel (robot.inverse_dynamics) or a neuler.function, got "
            f"{'an' if type(kernel).__name__[0] in 'aeiou' else 'a'} {type(kernel).__name__}"
        )
    if not isinstance(functional, bool):
        raise InputError(f"torch.wrap: functional must be True or False, got {functional!r:.60}")
    extras.require("torch", "neuler.torch needs PyTorch", "torch")
    import torch

    if torch.__version__ < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        raise ImportError(f"neuler.torch needs PyTorch {oldest} or newer, got {torch.__version__}; install a newer one")
    return Wrapped(kernel, functional)


class Wrapped:
    """A function of tensors, made by :func:`wrap`. ``kernel`` is what it computes, ``operator`` PyTorch's operator."""

    def __init__(self, kernel: Compiled, functional: bool = False) -> None:
        made = operator(f"{kernel.export_name}_{kernel._listing.digest[:16]}", _Source(kernel, kernel))
        self.kernel, self.functional = kernel, functional
        self.operator: Callable[..., Any] = made.call
        self.__name__ = made.name
        self._apply: Callable[..., Any] = made.function.apply if functional else made.call
        self._called, self._call = kernel._called, Call(kernel)
        self._variants = _Variants()
        self._inputs = kernel.inputs
        self._shapes = [operand.shape for operand in kernel.inputs]
        self._names = [operand.name for operand in kernel.inputs]
        names = tuple(operand.name for operand in kernel.outputs)
        self._results: Any = None if len(names) == 1 else results_type(kernel._called, names)

    def __call__(self, /, *tensors: Any, **named: Any) -> Any:
        """Results for tensors in the order of the kernel's inputs, or by their names."""
        tensors, named, values = self._call.split(tensors, named)
        if values is not None:
            return self._with_parameters(values, tensors, named)
        if named or len(tensors) != len(self._names):
            tensors = self._ordered(tensors, named)
        if not self._takes(tensors):
            tensors = self._prepared(tensors)
        found = (self._apply if self.functional and not _is_compiling() else self.operator)(*tensors)
        if self._results is None:
            return found[0] if isinstance(found, tuple) else found
        return self._results(*found)

    def _ordered(self, tensors: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...]:
        if named:
            rest = self._names[len(tensors) :]
            for name in named:
                if name not in self._names:
                    raise InputError(
                        f"{self._called}: there is no input {name!r}; {hint(name, self._names)}. Options are given to "
                        "robot.compile, before wrapping"
                    )
                if name not in rest:
                    raise InputError(f"{self._called}: input {name!r} is given twice, by its place and by its name")
            tensors = (*tensors, *(named[name] for name in rest if name in named))
        if len(tensors) != len(self._names):
            raise InputError(
                f"{self._called}: takes {len(self._names)} tensors ({', '.join(self._names)}), got {len(tensors)}"
            )
        return tensors

    def _takes(self, given: tuple[Any, ...]) -> bool:
        """Whether these are tensors of one precision and the right shapes that the CPU can read."""
        import torch

        dtype = getattr(given[0], "dtype", None)
        if dtype is not torch.float64 and dtype is not torch.float32:
            return False
        for x, shape in zip(given, self._shapes, strict=True):
            if not isinstance(x, torch.Tensor) or x.dtype is not dtype or not x.is_cpu or x.layout is not torch.strided:
                return False
            if x.is_nested:
                return False
            if x.shape[x.ndim - len(shape) :] != shape:
                return False
        return True

    def _with_parameters(self, values: Mapping[str, Any], tensors: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """The results for values of parameters by their names."""
        import torch

        dtype = _precision((*tensors, *named.values(), *values.values()))

        def array(called: str, what: str, value: Any) -> Any:
            return self._tensor(what, value, dtype)

        key = self._place(tuple(values))
        variant, placing = getattr(self._variants, key)
        parameters = joined(self._called, placing, values, torch, array)
        return variant(*tensors, **named, parameters=parameters)

    def _place(self, names: tuple[str, ...]) -> str:
        """Make the function whose input ``parameters`` takes values by these names; under which attribute it is."""
        key = "\n".join(names)
        if not hasattr(self._variants, key):
            kernel, placing = self._call.placing(names)
            variant = self if kernel is self.kernel else Wrapped(kernel, self.functional)
            setattr(self._variants, key, (variant, placing))
        return key

    _place._dynamo_marked_constant = True  # type: ignore[attr-defined]  # as torch.compiler.assume_constant_result

    def _prepared(self, given: tuple[Any, ...]) -> tuple[Any, ...]:
        """The same as such tensors; what cannot be one is refused."""
        dtype = _precision(given)
        found = []
        for x, operand in zip(given, self._inputs, strict=True):
            tensor = self._tensor(operand.name, x, dtype, operand)
            check_shape(self._called, operand, tensor)
            found.append(tensor)
        return tuple(found)

    def _tensor(self, what: str, x: Any, dtype: Any, operand: Operand | None = None) -> Any:
        """An argument as a tensor of this precision."""
        import torch

        if not isinstance(x, torch.Tensor):
            if not _is_compiling():  # compilers know lists and arrays, and nothing of tables
                entries = self.kernel._entries(operand) if operand else ()
                x = plain(self._called, what, x, what, entries)
            x = _converted(self._called, what, x, dtype)
        said = f"{self._called}: {what}"
        if x.device.type != "cpu":
            raise InputError(f"{said} is on the device {str(x.device)!r}, kernels run on the CPU: {what}.cpu()")
        if x.layout != torch.strided or x.is_nested:
            layout = "nested rows" if x.is_nested else f"the layout {x.layout}"
            raise InputError(f"{said} has {layout}, expected a dense tensor: {what}.to_dense()")
        if x.is_quantized:
            raise InputError(
                f"{said} is quantized, {x.dtype}; kernels compute in float32 or float64: {what}.dequantize()"
            )
        if x.dtype.is_complex or (x.is_floating_point() and x.dtype not in (torch.float32, torch.float64)):
            raise InputError(f"{said} is {x.dtype}, kernels compute in float32 or float64: {what}.float()")
        return x if x.dtype == dtype else x.to(dtype)

    def __repr__(self) -> str:
        return f"<{'function' if self.functional else 'operator'} of PyTorch {self.__name__}: {', '.join(self._names)}>"

    def __reduce__(self) -> Any:
        return Wrapped, (self.kernel, self.functional)

    def __deepcopy__(self, memo: dict[int, Any]) -> Wrapped:
        return self  # of a module that is copied: nothing in it changes


def _is_compiling() -> bool:
    """Compilers take no ``autograd.Function`` with a forward mode."""
    import torch

    return bool(torch.compiler.is_compiling())


def _precision(given: Sequence[Any]) -> Any:
    """That of the tensors; without tensors of floats that of NumPy's arrays, without either PyTorch's default."""
    import torch

    flat: list[Any] = []
    for x in given:
        flat += _tensors(x) if isinstance(x, _LISTS) else [x]
    tensors = [x.dtype for x in flat if isinstance(x, torch.Tensor) and x.is_floating_point()]
    if tensors:
        return functools.reduce(torch.promote_types, tensors)
    arrays = [getattr(getattr(x, "dtype", None), "name", "") for x in flat]
    if "float64" in arrays:
        return torch.float64
    return torch.float32 if "float32" in arrays else torch.get_default_dtype()


def _tensors(x: Any) -> list[Any]:
    """All tensors in a list and in its lists."""
    import torch

    found: list[Any] = [x] if isinstance(x, torch.Tensor) else []
    for part in x if isinstance(x, _LISTS) else ():
        found += _tensors(part)
    return found


def _converted(called: str, what: str, x: Any, dtype: Any) -> Any:
    """What is no tensor as one of this precision; tensors in lists keep their derivatives."""
    import torch

    if _tensors(x):
        parts = [each if isinstance(each, torch.Tensor) else _converted(called, what, each, dtype) for each in x]
        try:
            return torch.stack(parts)
        except (TypeError, RuntimeError) as error:
            raise InputError(f"{called}: {what} is a list of tensors that make no tensor: {error}") from None
    if not _is_compiling():
        found = np.asarray(inputs.array(called, what, x, ()), order="C")
        x = found if found.flags.writeable else found.copy()
    return torch.as_tensor(x, dtype=dtype, device="cpu")


class _Variants:
    """By names of parameters, the function that takes their values, and how. Compilers look attributes up anew."""


class _Source:
    """A kernel or a derivative, whose precision variants and products with vectors are made when they are needed."""

    def __init__(self, compiled: Compiled, kernel: Compiled) -> None:
        self.compiled, self.kernel = compiled, kernel
        self.called: str = compiled._called
        self.inputs, self.outputs = compiled.inputs, compiled.outputs
        self._variants: dict[str, Any] = {compiled.dtype.name: compiled}

    def at(self, dtype: str) -> Callable[..., Any]:
        found = self._variants.get(dtype)
        if found is None:
            found = self._variants.setdefault(dtype, self.compiled._in(dtype))
        if found._threads != self.kernel._threads:
            found.threads = self.kernel.threads
        return found

    def derived(self, what: str, wrt: Sequence[int], of: Sequence[int]) -> _Source:
        whole = self.compiled
        if whole is self.kernel:  # a function of its own, whose threads may be set
            whole = function(whole, name=whole.export_name, dtype=whole.dtype)
        names = [whole.inputs[k].name for k in wrt], [whole.outputs[k].name for k in of]
        return _Source(getattr(whole, what)(*names), self.kernel)
