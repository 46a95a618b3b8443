"""From a Python function over arrays to a listing: names and shapes checked, what it returns taken apart."""

from __future__ import annotations

import inspect
import keyword
import operator
from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from neuler.dask_arrays import lazy
from neuler.errors import InputError
from neuler.naming import fresh
from neuler.trace.graph import Node, Scalar
from neuler.trace.listing import Listing, written
from neuler.trace.recipe import Operand
from neuler.trace.symbols import SymbolGraph, number

MOST = 1 << 20
"""Numbers that the inputs of a function may have together: each is a value of its own in the graph."""
_AXES = 8
"""Of one input: those of its Hessian and of a batch must fit into an array, too."""
_TAKEN = ("out", "kernel", "inputs", "outputs", "address", "pool")
"""Names that calls and bound functions have for something else."""


def check_name(called: str, what: str, name: object) -> str:
    """A name that can stand in a call and in a namedtuple."""
    if not isinstance(name, str) or not name.isidentifier() or keyword.iskeyword(name) or name.startswith("_"):
        raise InputError(f"{called}: {what} must have a name that Python takes for an argument, got {name!r}")
    if name in _TAKEN:
        raise InputError(f"{called}: {what} may not be named {name!r}, which means something else; choose another name")
    return name


def check_shape(called: str, name: str, shape: object) -> tuple[int, ...]:
    """A length, or lengths of axes; () for one number."""
    axes = shape if isinstance(shape, tuple | list) else (shape,)
    try:
        found = tuple(operator.index(n) for n in axes)
    except TypeError:
        found = (0,)
    if len(found) > _AXES:
        raise InputError(f"{called}: {name} has {len(found)} axes, at most {_AXES} can be traced")
    if any(n < 1 for n in found) or any(isinstance(n, bool) for n in axes):
        raise InputError(
            f"{called}: the shape of {name} must be a length, lengths of axes or () for one number, got {shape!r}"
        )
    return found


def operands(called: str, inputs: Any) -> tuple[Operand, ...]:
    """Names and shapes of a function's inputs; what is none is refused by name."""
    if not isinstance(inputs, Mapping) or not inputs:
        raise InputError(f"{called}: inputs must map names to shapes, {{'x': 3, 'u': ()}}, got {inputs!r}")
    found = []
    for name, shape in inputs.items():
        checked = check_name(called, "an input", name)
        found.append(Operand(checked, check_shape(called, checked, shape)))
    total = sum(prod(operand.shape) for operand in found)
    if total > MOST:
        raise InputError(f"{called}: the inputs have {total} numbers together, at most {MOST} can be traced")
    return tuple(found)


def listing_of(called: str, f: Callable[..., Any], inputs: Any, outputs: Any) -> Listing:
    """Run the function on traced values, once."""
    takes = operands(called, inputs)
    wanted = _wanted(called, outputs, [operand.name for operand in takes])
    graph = SymbolGraph()
    nodes = {operand.name: graph.inputs(operand.name, operand.size) for operand in takes}
    arrays = [_array(nodes[operand.name], operand.shape) for operand in takes]
    found = _called(called, f, arrays, [operand.name for operand in takes])
    results = _named(called, found, wanted, [operand.name for operand in takes])
    gives, values = [], []
    for name, result in results.items():
        shape, flat = _flat(called, name, result, graph)
        if wanted and wanted[name] not in (None, shape):
            raise InputError(f"{called}: output {name} should have shape {wanted[name]}, the function gave {shape}")
        gives.append(Operand(name, shape))
        values.extend(flat)
    return Listing(takes, tuple(gives), written([x for operand in takes for x in nodes[operand.name]], values))


def _array(nodes: Sequence[Node], shape: tuple[int, ...]) -> Any:
    if not shape:
        return nodes[0]
    made = np.empty(len(nodes), object)
    made[:] = nodes
    return made.reshape(shape)


def _called(called: str, f: Callable[..., Any], arrays: Sequence[Any], names: Sequence[str]) -> Any:
    if not callable(f):
        raise InputError(f"{called}: a function is needed, got {type(f).__name__}")
    try:
        signature = inspect.signature(f)
    except (TypeError, ValueError):  # not all that can be called can tell
        signature = None
    if signature is not None:
        try:
            signature.bind(*arrays)
        except TypeError as error:
            shown = ", ".join(names)
            raise InputError(f"{called}: the function is called with its inputs ({shown}): {error}") from None
    try:
        return f(*arrays)
    except (AttributeError, TypeError, ValueError) as error:
        if _of_linear_algebra(error):
            raise InputError(
                f"{called}: numpy.linalg takes numbers alone, and traced values are none yet; "
                "neuler.math.solve(A, b) solves linear equations, neuler.math.solve(A, np.eye(n)) inverts a matrix"
            ) from error
        if "no callable" in str(error) or "'float' object has no attribute" in str(error):  # from NumPy's loops
            raise InputError(
                f"{called}: {error}; neuler.math has functions that take numbers beside traced values"
            ) from error
        raise


def _of_linear_algebra(error: BaseException) -> bool:
    """Whether NumPy's or SciPy's linear algebra refused arrays of objects."""
    if not isinstance(error, InputError) and "object" not in str(error) and "dtype('O')" not in str(error):
        return False
    frame = error.__traceback__
    while frame is not None:
        if str(frame.tb_frame.f_globals.get("__name__")).startswith(("numpy.linalg", "scipy.linalg")):
            return True
        frame = frame.tb_next
    return False


def _wanted(called: str, outputs: Any, taken: Sequence[str]) -> dict[str, tuple[int, ...] | None]:
    """Names of the outputs, and their shapes where they are given; empty: as they come."""
    if outputs is None:
        return {}
    shapes: dict[str, tuple[int, ...] | None] = {}
    if isinstance(outputs, Mapping):
        for name, shape in outputs.items():
            shapes[name] = check_shape(called, str(name), shape)
    elif isinstance(outputs, str):
        shapes[outputs] = None
    elif isinstance(outputs, list | tuple):
        if len(set(map(str, outputs))) != len(outputs):
            raise InputError(f"{called}: an output is named twice in {outputs!r}")
        shapes = dict.fromkeys(outputs)
    if not shapes:
        raise InputError(f"{called}: outputs must be a name, names or a mapping of names to shapes, got {outputs!r}")
    for name in shapes:
        check_name(called, "an output", name)
        if name in taken:
            raise InputError(f"{called}: {name!r} names an input and an output; choose another name for the output")
    return shapes


def _named(called: str, found: Any, wanted: Mapping[str, Any], taken: Sequence[str]) -> dict[str, Any]:
    """Results by name, in the order of the outputs."""
    if isinstance(found, Mapping):
        names = _wanted(called, list(found), taken)
        if wanted and set(names) != set(wanted):
            raise InputError(f"{called}: the function gave {sorted(names)}, its outputs are {sorted(wanted)}")
        return {name: found[name] for name in wanted or names}
    results = found if isinstance(found, tuple) else (found,)
    if not results:
        raise InputError(f"{called}: the function gave no results")
    if not wanted:
        plain = ["y"] if len(results) == 1 else [f"y{k}" for k in range(len(results))]
        return {fresh(name, taken): result for name, result in zip(plain, results, strict=True)}
    if len(results) != len(wanted):
        raise InputError(
            f"{called}: the function gave {len(results)} results, its outputs are {', '.join(wanted)} "
            "(a tuple is several results, a list is one array)"
        )
    return dict(zip(wanted, results, strict=True))


def _flat(called: str, name: str, result: Any, graph: SymbolGraph) -> tuple[tuple[int, ...], list[Scalar]]:
    """Shape and entries of a result: traced values of this function, or real numbers."""
    if result is None:
        raise InputError(f"{called}: output {name} is None; does the function lack a return?")
    if isinstance(result, np.ma.MaskedArray):
        raise InputError(f"{called}: output {name} is a masked array; fill or drop what is masked first")
    if what := lazy(result):
        raise InputError(
            f"{called}: output {name} is {what}, and a function is traced without numbers; compute() those that are "
            "constants, call the compiled function with Dask arrays for the others"
        )
    try:
        array = np.asarray(result, dtype=object)
    except ValueError:
        raise InputError(f"{called}: output {name} is not a regular array") from None
    if not array.size:
        raise InputError(f"{called}: output {name} has shape {array.shape}: there is nothing in it to compute")
    flat: list[Scalar] = []
    for entry in array.ravel().tolist():
        x = entry.item() if isinstance(entry, np.ndarray) and not entry.ndim else entry
        if isinstance(x, Node):
            if x.graph is not graph:
                raise InputError(
                    f"{called}: output {name} holds a traced value of another function; make it of the inputs"
                )
            flat.append(x)
            continue
        value = number(x)
        if value is None:
            raise InputError(
                f"{called}: output {name} must hold real numbers or traced values, got {type(x).__name__} {x!r:.60}"
            )
        flat.append(value)
    return array.shape, flat
