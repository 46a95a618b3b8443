"""Values of parameters by name: which numbers of the input ``parameters`` they are, and the array that it takes.

The arrays may be NumPy's, JAX's or PyTorch's: names are placed here once, for all of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from neuler.dask_arrays import is_dask, refuse_dask
from neuler.errors import InputError, NeulerError
from neuler.passes.parameters import Parameter, parse
from neuler.robot import Robot
from neuler.tables import take_columns


@dataclass(frozen=True)
class Placing:
    """Names under which values are given, what the numbers of each are, and the order in which the input takes them."""

    names: tuple[str, ...]
    parts: tuple[tuple[str, ...], ...]
    order: tuple[int, ...]
    """By number of the input, its place among all values side by side; empty where that is their order already."""


def placing(
    called: str, robot: Robot, names: Sequence[str], has: Sequence[Parameter] = (), chosen: Sequence[str] = ()
) -> Placing:
    """Where values by these names are put in an input of the parameters ``has``, each of which must be given once.

    Names are those of ``parse``, or of single numbers as ``parameter_names`` lists them. ``chosen`` are the names that
    the input was made with, for the message. Without ``has`` the input is made of these names, in their order.
    """
    if not has:
        parts = tuple(tuple(each.part for each in parse(robot, name)) for name in names)
        return Placing(tuple(names), parts, ())
    own = {each.name: each for each in has}
    groups = []
    for name in names:
        try:
            groups.append([own[name]] if name in own else list(parse(robot, name)))
        except NeulerError:  # it is none of this robot's
            groups.append([])
    found = [each.name for group in groups for each in group]
    place = {name: k for k, name in enumerate(found)}
    if not all(groups) or place.keys() != own.keys() or len(place) < len(found):
        said = f"{called}: this kernel has the parameters {', '.join(map(repr, chosen))}; got "
        said += ", ".join(map(repr, names)) or "none"
        missing = [name for name in own if name not in place]
        if names and all(groups) and place.keys() <= own.keys():
            twice = [name for k, name in enumerate(found) if k != place[name]]
            said += f"; {missing[0]!r} is not given" if missing else f"; {twice[0]!r} is given twice"
        raise InputError(said)
    order = tuple(place[name] for name in own)
    parts = tuple(tuple(each.part for each in group) for group in groups)
    return Placing(tuple(names), parts, () if order == tuple(range(len(order))) else order)


def _array(called: str, what: str, value: Any) -> Any:
    """An array of NumPy; a Dask array stays one, and must have a shape that is known, so that it can be broadcast."""
    if is_dask(value):
        if any(math.isnan(n) for n in value.shape):
            raise InputError(
                f"{called}: {what} has blocks of unknown size, got shape {value.shape}; its compute_chunk_sizes() "
                "finds them out"
            )
        return value
    refuse_dask(called, what, value)
    try:
        return np.asarray(value)
    except ValueError:
        raise InputError(f"{called}: {what} is not a regular array of numbers") from None


def joined(
    called: str,
    placing: Placing,
    given: Mapping[str, Any],
    library: Any = np,
    array: Callable[[str, str, Any], Any] = _array,
) -> Any:
    """Values by name side by side: batch axes lead and broadcast. ``array`` makes arrays of a ``library`` of them."""
    parts = []
    for name, own in zip(placing.names, placing.parts, strict=True):
        what, size = f"parameters[{name!r}]", len(own)
        part = array(called, what, take_columns(called, what, given[name], name, own))
        shape = tuple(part.shape)
        if size == 1 and shape[-1:] != (1,):
            part = part[..., None]
        if tuple(part.shape[-1:]) != (size,):
            raise InputError(f"{called}: expected {what} with last axis {size}, got shape {shape}")
        parts.append(part)
    try:
        batch = library.broadcast_shapes(*(tuple(part.shape[:-1]) for part in parts))
    except (ValueError, RuntimeError):  # RuntimeError: PyTorch's
        shapes = ", ".join(str(tuple(part.shape)) for part in parts)
        raise InputError(f"{called}: the batch axes of parameters do not broadcast: {shapes}") from None
    parts = [library.broadcast_to(part, (*batch, part.shape[-1])) for part in parts]
    found = library.concatenate(parts, axis=-1)
    if placing.order:
        found = library.concatenate([found[..., k : k + 1] for k in placing.order], axis=-1)
    return found


def stacked(called: str, robot: Robot, given: Mapping[str, Any]) -> Any:
    """Values by name side by side, as an input ``parameters`` made of these names takes them.

    Where a value is a Dask array so is the result.
    """
    return joined(called, placing(called, robot, tuple(given)), given)
