"""Compiled recipes that are called on arrays of any batch shape: kernels of robots, functions of users."""

from __future__ import annotations

import functools
import operator
import sys
from collections import namedtuple
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from neuler.batches import WORK_PER_THREAD, call_in_parts, threads
from neuler.bound import BoundKernel
from neuler.compiler import one_state
from neuler.compiler.one_state import DirectCall
from neuler.dask_arrays import any_lazy, is_dask
from neuler.dask_calls import DaskArgument, call
from neuler.errors import InputError
from neuler.export.exported import Exported
from neuler.foreign_arrays import taken, values_said
from neuler.naming import hint
from neuler.tables import is_table, take_columns
from neuler.trace.inlining import inlined, scalars
from neuler.trace.listing import Listing
from neuler.trace.recipe import Operand, Operations, Recipe

if TYPE_CHECKING:
    from neuler.compiler.build import Built
    from neuler.compiler.gufunc import Code

_DTYPES = ("float64", "float32")


class TracedArgument(Exception):
    """Some argument holds traced values: the call is part of a function that is being traced."""


def shares_no_memory(arrays: Sequence[Any], out: Any) -> bool:
    """Whether an array to write into surely shares no memory with the others: it owns its own, which none views."""
    if type(out) is not np.ndarray or out.base is not None:
        return False
    for x in arrays:
        if x is out or type(x) is not np.ndarray:
            return False
        base = x.base
        if base is not None and (base is out or type(base) is not np.ndarray):
            return False
    return True


def precision(called: str, dtype: Any) -> np.dtype[Any]:
    """float64 or float32 of this machine, by name or as NumPy's type."""
    try:
        found = None if dtype is None else np.dtype(dtype)
    except TypeError:
        found = None
    if found is None or found not in [np.dtype(name) for name in _DTYPES]:
        raise InputError(f"{called}: dtype must be float64 or float32, got {dtype!r}")
    return found


@functools.lru_cache(1024)
def results_type(name: str, fields: tuple[str, ...]) -> Any:
    """A namedtuple that other processes understand; a name that Python does not take becomes its place."""

    def reduce(self: Any) -> Any:
        return _results_again, (name, fields, tuple(self))

    return type(name, (namedtuple(name, fields, rename=True),), {"__slots__": (), "__reduce__": reduce})


def _results_again(name: str, fields: tuple[str, ...], values: tuple[Any, ...]) -> Any:
    return results_type(name, fields)(*values)


@one_state.vectorcalled
class Compiled(DirectCall, Exported):
    """A recipe and its machine code. It knows nothing of what it computes: who derives says so.

    Call it on arrays whose last axes are ``inputs``' shapes; all leading axes broadcast.
    """

    recipe: Recipe
    dtype: np.dtype[Any]
    _called: str
    """What it is called in messages."""
    _threads: int | None = None
    _rows_per_thread: int
    _takes: int
    _one_array: bool
    _results: Any
    _split_size: int
    """Numbers in the first argument from which a batch is looked at closely, and shared among threads."""

    _is_ready = False
    _one_first = False
    """Whether the first call is one with one state: code for it is then made with that for batches."""
    _one_waits = -1
    """Axes of the first array of one state, while its code waits for a call that emitted code could take; else -1."""

    _decided: frozenset[str] = frozenset(("recipe", "dtype"))
    """Attributes that decide the code: they are set once."""

    def __setattr__(self, name: str, value: Any) -> None:
        known = getattr(type(self), name, None)
        if self._fixed(name) or (hasattr(known, "__get__") and getattr(known, "fset", None) is None):
            raise self._refusal(name, "set")
        super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        if self._fixed(name):
            raise self._refusal(name, "deleted")
        super().__delattr__(name)

    def _fixed(self, name: str) -> bool:
        """Whether an attribute must stay as it is: the code was made for it, or reads it."""
        private = name.startswith("_") and not name.endswith("__")
        return name in ("__class__", "__dict__") or (name in self.__dict__ and (private or name in self._decided))

    def _refusal(self, name: str, what: str) -> InputError:
        called = self.__dict__.get("_called", type(self).__name__)
        return InputError(
            f"{called}: {name!r} cannot be {what}, the machine code was made for it; make another kernel "
            "(robot.compile) or function (neuler.function). threads can be set"
        )

    def _build(self, *, one: bool = False) -> Built:
        """The machine code; with ``one`` that for one state, too."""
        raise NotImplementedError

    @property
    def _compiled(self) -> Built:
        held = self.__dict__
        if "_built" not in held:
            held.setdefault("_built", self._build(one=self._one_first))  # the first of two threads decides
        built: Built = held["_built"]
        return built

    @property
    def ufunc(self) -> Any:
        """The NumPy gufunc that is called on arrays."""
        return self._compiled.ufunc

    @property
    def _one_state(self) -> Code:
        """The machine code for one state, made when it is first asked for."""
        built = self._compiled
        if built.one_state is None:
            built.one_state = self._build(one=True).one_state
        assert built.one_state is not None
        return built.one_state

    def _make_ready(self) -> None:
        """Get the code, decide how batches are shared, and let emitted code take calls with one state."""
        cost = self.operations.weight
        names = tuple(operand.name for operand in self.outputs)
        self.__dict__.update(
            _rows_per_thread=max(64, WORK_PER_THREAD // max(cost, 1)),
            _takes=len(self.inputs),
            _one_array=len(self.outputs) == 1 and bool(self.outputs[0].shape),
            _results=None if len(names) == 1 else results_type(self._called, names),
        )
        self._limit()
        one_state.ready(self, None, "call", self._compiled.code)
        if self._takes_one_state:
            self.__dict__["_one_waits"] = len(self.inputs[0].shape)
            if self._compiled.one_state is not None:
                self._take_one_state()
        self.__dict__["_is_ready"] = True

    def _take_one_state(self) -> None:
        """Let emitted code take calls with one state. The words that it reads live as long as the object."""
        code, shapes = self._one_state, [operand.shape for operand in self.inputs]
        words = one_state.frame(code.one, code.pool, shapes, self.outputs[0].shape)
        kept: Any = self.__dict__.setdefault("_frame", (*words, code))  # the first of two threads decides
        one_state.ready(self, kept[0], "call", *kept[1:], self._compiled.code)
        self.__dict__["_one_waits"] = -1

    @property
    def _takes_one_state(self) -> bool:
        """Whether there are calls that emitted code takes."""
        single = len(self.outputs) == 1 and bool(self.outputs[0].shape)
        return single and self.dtype == np.float64 and 0 < len(self.inputs) <= one_state.MOST

    def _is_one_state(self, arrays: Sequence[Any]) -> bool:
        """Whether emitted code takes a call with these."""
        if len(arrays) != len(self.inputs) or not self._takes_one_state:
            return False
        sides = zip(arrays, self.inputs, strict=True)
        return all(type(x) is np.ndarray and x.shape == o.shape and x.dtype == np.float64 for x, o in sides)

    def bind(self) -> BoundKernel:
        """The kernel with arrays of its own for one state, for controllers: see :class:`BoundKernel`."""
        return BoundKernel(self)

    @property
    def inputs(self) -> tuple[Operand, ...]:
        """Names and core shapes of the arguments."""
        return self.recipe.inputs

    @property
    def outputs(self) -> tuple[Operand, ...]:
        """Names and core shapes of the results."""
        return self.recipe.outputs

    @property
    def structure(self) -> dict[str, tuple[np.ndarray, ...]]:
        """Of a sparse variant: by output, index arrays (one an axis) of its entries in the dense array."""
        return {name: tuple(np.array(axis) for axis in axes) for name, axes in self.recipe.structure.items()}

    @property
    def operations(self) -> Operations:
        """Multiplications, additions, divisions and sines for one state."""
        return self._compiled.operations

    @property
    def cached(self) -> bool:
        """Whether the machine code came from the cache on disk."""
        return self._compiled.cached

    @property
    def compiled_in(self) -> float:
        """How long making the machine code took when it was made, on this machine, also where it was stored since."""
        return self._compiled.compiled_in

    @property
    def compile_seconds(self) -> float:
        """How long it took to get the machine code, from the trace or from the cache."""
        return self._compiled.seconds

    def __call__(self, /, *arrays: Any, **named: Any) -> Any:
        """Results for arrays in the order of ``inputs``, or by their names; ``out=`` takes arrays to write into.

        Before the code is made calls come here; afterwards emitted code takes them, and comes back to ``_general``.
        """
        return self._general(*arrays, **named)

    def _general(self, /, *arrays: Any, out: Any = None, **named: Any) -> Any:
        """A call that is not one state in plain arrays: the first, any batch, any numbers, results not finite."""
        quick = not named
        out = tuple(out) if isinstance(out, tuple) else out  # the named tuple of an earlier call is one, too
        if named:
            arrays = self._ordered(arrays, named)
        if not self._is_ready:
            if any_lazy(arrays):  # code is made where blocks are computed
                return self._of_blocks(arrays, out)
            if any(map(self._is_traced, arrays)):  # inside another function no code is needed
                return self._inlined(arrays, out)
            self.__dict__["_one_first"] = quick and self._is_one_state(arrays)
            self._make_ready()
        first = arrays[0] if quick and arrays else None
        if type(first) is np.ndarray and first.ndim == self._one_waits and self._is_one_state(arrays):
            self._take_one_state()
        try:
            found = self._run(arrays, out)
        except TracedArgument:
            return self._inlined(arrays, out)
        except DaskArgument:
            pass  # errors of what follows stand alone
        else:
            return found if self._results is None else self._results(*found)
        return self._of_blocks(arrays, out)

    def _run(self, arrays: Sequence[Any], out: Any) -> Any:
        """The results, several as a tuple."""
        return self._call_ufunc(arrays, out)

    def _ordered(self, arrays: Sequence[Any], named: Mapping[str, Any]) -> tuple[Any, ...]:
        """Arguments in the order of the inputs."""
        names = [operand.name for operand in self.inputs]
        for name in named:
            if name not in names:
                raise InputError(f"{self._called}: {self._unknown(name)}")
            if name in names[: len(arrays)]:
                raise InputError(f"{self._called}: input {name!r} is given twice, by its place and by its name")
        rest = names[len(arrays) :]
        for name in rest:
            if name not in named:
                raise InputError(f"{self._called}: input {name!r} is not given; it takes {', '.join(names)}")
        return (*arrays, *(named[name] for name in rest))

    def _unknown(self, name: str) -> str:
        """What to say of a name that no input has."""
        return f"there is no input {name!r}; {hint(name, [operand.name for operand in self.inputs])}"

    @property
    def _listing(self) -> Listing:
        """The operations, to stand inside a function that is being traced."""
        held = self.__dict__
        if "_listed" not in held:
            held.setdefault("_listed", Listing.of(self.recipe))
        listed: Listing = held["_listed"]
        return listed

    @staticmethod
    def _is_traced(x: Any) -> bool:
        """Whether an argument holds traced values."""
        try:
            value = np.asarray(x)
        except (ValueError, TypeError, RuntimeError):  # RuntimeError: of tensors that require gradients
            return False
        return value.dtype == object and scalars(value)[1]

    def _inlined(self, arrays: Sequence[Any], out: Any) -> Any:
        """The results for traced values, as traced values."""
        if out is not None:
            raise InputError(f"{self._called}: traced values cannot be written into out; use what the call returns")
        if len(arrays) != len(self.inputs):
            raise self._explain(arrays, TypeError())
        values = [self._as_array(x, o, traced=True) for x, o in zip(arrays, self.inputs, strict=True)]
        found = inlined(self._called, self._listing, values, self._batch_shape(values))
        names = tuple(operand.name for operand in self.outputs)
        return found[0] if len(found) == 1 else results_type(self._called, names)(*found)

    def _of_blocks(self, arrays: Sequence[Any], out: Any) -> Any:
        """The results for Dask arrays, as Dask arrays."""
        found = call(self, arrays, out)
        names = tuple(operand.name for operand in self.outputs)
        return found[0] if len(found) == 1 else results_type(self._called, names)(*found)

    def _call_ufunc(self, arrays: Sequence[Any], out: Any) -> Any:
        size = 0
        given = out if isinstance(out, tuple) else (out,)
        for x in (*arrays, *(() if out is None else given)):
            if type(x) is not np.ndarray:  # lists, numbers, matrices, masked arrays: looked at one by one
                return self._batch(arrays, out)
            size = max(size, x.size)
        if size >= self._split_size or len(arrays) != self._takes:
            return self._batch(arrays, out)
        try:
            return self.ufunc(*arrays) if out is None else self.ufunc(*arrays, out=out)
        except (TypeError, ValueError) as error:
            if not any(x.dtype == object for x in arrays):
                raise self._explain(arrays, error, out) from None
        return self._batch(arrays, out)  # numbers or traced values

    @property
    def threads(self) -> int | None:
        """The most threads that a call may use; None for NEULER_THREADS or all cores."""
        return self._threads

    @threads.setter
    def threads(self, count: int | None) -> None:
        if count is not None:
            if isinstance(count, bool) or not hasattr(count, "__index__") or operator.index(count) < 1:
                raise InputError(f"threads must be a positive whole number or None, got {count!r}")
            count = operator.index(count)
        self.__dict__["_threads"] = count
        if self._is_ready:
            self._limit()

    def _limit(self) -> None:
        rows = 2 * self._rows_per_thread if self._threads != 1 else sys.maxsize
        size = rows * self.inputs[0].size if self.dtype == np.float64 else 0
        self.__dict__["_split_size"] = size

    # ---- large batches ------------------------------------------------------------------------

    def _batch(self, arrays: Sequence[Any], out: Any) -> Any:
        if any_lazy(arrays):
            raise DaskArgument
        if len(arrays) != len(self.inputs):
            raise self._explain(arrays, TypeError())
        values = [self._cast(x, operand) for x, operand in zip(arrays, self.inputs, strict=True)]
        batch = self._batch_shape(values)
        given = self._outputs(out)
        rows = int(np.prod(batch, dtype=np.int64))
        workers = min(self.threads or threads(), rows // self._rows_per_thread)
        try:
            if workers < 2 or not batch:
                return self.ufunc(*values, out=given) if given is not None else self.ufunc(*values)
            return self._split(values, batch, given, workers)
        except (TypeError, ValueError) as error:
            raise self._explain(arrays, error, out) from None

    def _batch_shape(self, values: Sequence[np.ndarray]) -> tuple[int, ...]:
        batches = [x.shape[: x.ndim - len(o.shape)] for x, o in zip(values, self.inputs, strict=True)]
        try:
            return np.broadcast_shapes(*batches)
        except ValueError:
            shown = ", ".join(f"{o.name} {x.shape}" for x, o in zip(values, self.inputs, strict=True))
            raise InputError(f"{self._called}: the batch axes do not broadcast: {shown}") from None

    def _cast(self, x: Any, operand: Operand) -> np.ndarray:
        value = self._as_array(x, operand)
        return value if value.dtype == self.dtype else value.astype(self.dtype)

    def _as_array(self, x: Any, operand: Operand, *, traced: bool = False) -> np.ndarray:
        """An argument as an array of real numbers, or (``traced``) of objects with traced values among them."""
        if operand.shape and is_table(x):
            x = take_columns(self._called, operand.name, x, operand.name, self._entries(operand))
        if isinstance(x, np.ma.MaskedArray):
            raise InputError(f"{self._called}: {operand.name} is a masked array; fill or drop what is masked first")
        x = taken(self._called, operand.name, x)
        try:
            value = np.asarray(x)
        except ValueError:
            raise InputError(f"{self._called}: {operand.name} is not a regular array of numbers") from None
        if value.dtype.kind == "O":
            value, symbolic = scalars(value)
            if symbolic and not traced:
                raise TracedArgument
        self._check_array(value, operand, traced=value.dtype.kind == "O" and symbolic)
        return value

    def _check_array(self, value: Any, operand: Operand, *, traced: bool = False) -> None:
        """Refuse an array, of NumPy or Dask, whose type or last axes are not those of an input."""
        kind = value.dtype.kind
        if kind not in "fiub" and not traced:
            raise InputError(f"{self._called}: {operand.name} must be real numbers, got {values_said(value)}")
        if value.dtype.char == "g":
            raise InputError(f"{self._called}: {operand.name} is {value.dtype}; convert it to float64")
        core = value.shape[value.ndim - len(operand.shape) :] if value.ndim >= len(operand.shape) else None
        if core != operand.shape:
            raise InputError(self._shape_message(operand, value))

    def _shape_message(self, operand: Operand, value: Any) -> str:
        axes = f"last axis {operand.shape[0]}" if len(operand.shape) == 1 else f"last axes {operand.shape}"
        return f"{self._called}: expected {operand.name} with {axes}{self._hint(operand)}, got shape {value.shape}"

    def _entries(self, operand: Operand) -> list[str]:
        """Names of an argument's numbers, by which the columns of a table are known; none where they have none."""
        return []

    def _hint(self, operand: Operand) -> str:
        """What an argument's numbers stand for, for messages."""
        return ""

    def _outputs(self, out: Any) -> tuple[Any, ...] | None:
        if out is None:
            return None
        given = out if isinstance(out, tuple) else (out,)
        if len(given) != len(self.outputs):
            raise InputError(f"{self._called}: out must be {len(self.outputs)} arrays, got {len(given)}")
        for array, operand in zip(given, self.outputs, strict=True):
            if is_dask(array):
                raise InputError(
                    f"{self._called}: out for {operand.name} is a Dask array, which cannot be written into; leave out "
                    "away, and use what the call returns"
                )
            if array is not None and (not isinstance(array, np.ndarray) or isinstance(array, np.ma.MaskedArray)):
                raise InputError(f"{self._called}: out for {operand.name} must be an array, got {type(array).__name__}")
            if array is not None and not array.flags.writeable:
                raise InputError(f"{self._called}: out for {operand.name} is read-only")
        return given

    def _split(
        self, values: Sequence[np.ndarray], batch: tuple[int, ...], given: tuple[Any, ...] | None, workers: int
    ) -> Any:
        """The results of a large batch, computed by several threads; where out and inputs may overlap, by this one."""
        results = []
        for k, operand in enumerate(self.outputs):
            array = given[k] if given is not None else None
            if array is None:
                array = np.empty(batch + operand.shape, self.dtype)
            elif array.shape != batch + operand.shape or any(np.may_share_memory(array, x) for x in values):
                return self.ufunc(*values, out=given)
            results.append(array)
        cores = [len(operand.shape) for operand in self.inputs]
        call_in_parts(self.ufunc, batch, values, cores, results, workers)
        return results[0] if len(results) == 1 else tuple(results)

    # ---- errors that explain themselves -----------------------------------------------------------

    def _explain(self, arrays: Sequence[Any], error: Exception, out: Any = None) -> Exception:
        names = ", ".join(operand.name for operand in self.inputs)
        if len(arrays) != len(self.inputs):
            return InputError(f"{self._called}: takes {len(self.inputs)} arrays ({names}), got {len(arrays)}")
        try:
            self._batch_shape([self._cast(x, operand) for x, operand in zip(arrays, self.inputs, strict=True)])
            self._outputs(out)
        except InputError as better:
            return better
        if out is not None:
            shapes = ", ".join(f"{o.name} {o.shape}" for o in self.outputs)
            return InputError(f"{self._called}: out does not fit (batch axes + {shapes}): {error}")
        return InputError(f"{self._called}: {error}")
