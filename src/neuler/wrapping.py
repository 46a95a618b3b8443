"""What kernels in other libraries share: calls that give values of parameters by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from neuler.compiled import Compiled
from neuler.dask_arrays import refuse_dask
from neuler.errors import InputError
from neuler.foreign_arrays import taken
from neuler.kernels import Kernel
from neuler.passes.parameter_values import Placing
from neuler.quantities.setup import PARAMETERS
from neuler.tables import take_columns


class Call:
    """The arguments of calls of one wrapped kernel or function."""

    def __init__(self, compiled: Compiled) -> None:
        self._compiled, self._called = compiled, compiled._called
        inputs = [operand.name for operand in compiled.inputs]
        options = compiled._option_names if isinstance(compiled, Kernel) else frozenset()
        self._options = options.difference(inputs)
        self._place = len(inputs) - (PARAMETERS in inputs) if options else -1
        """Among the arguments, where values by name may be; nowhere for functions."""

    def split(
        self, arrays: tuple[Any, ...], named: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any], Mapping[str, Any] | None]:
        """The arguments without values of parameters by name, and these, where there are some."""
        values = None
        if self._place >= 0:
            if len(arrays) == self._place + 1 and isinstance(arrays[-1], Mapping):
                if PARAMETERS in named:
                    raise InputError(f"{self._called}: parameters are given twice, by their place and by their name")
                arrays, values = arrays[:-1], arrays[-1]
            elif isinstance(named.get(PARAMETERS), Mapping):
                values = named[PARAMETERS]
                named = {name: x for name, x in named.items() if name != PARAMETERS}
            if values is not None and not values and PARAMETERS in self._options:
                values = None
        for name in named:
            if name in self._options:
                raise InputError(
                    f"{self._called}: {name!r} is an option; options are given to robot.compile, before wrapping"
                )
        return arrays, named, values

    def placing(self, names: tuple[str, ...]) -> tuple[Kernel, Placing]:
        """The kernel that a call with values by these names means, and which of its parameters they are."""
        assert isinstance(self._compiled, Kernel)
        return self._compiled._placing(names)


def plain(called: str, what: str, value: Any, prefix: str = "", entries: Sequence[str] = ()) -> Any:
    """What another library makes an array of without losing what it says: tables become arrays by their columns.

    Masked arrays, Dask arrays, and arrays whose numbers this process cannot read are refused, as kernels refuse them.
    """
    if type(value) in (np.ndarray, float, int):
        return value
    if isinstance(value, np.ma.MaskedArray):
        raise InputError(f"{called}: {what} is a masked array; fill or drop what is masked first")
    refuse_dask(called, what, value)
    return taken(called, what, take_columns(called, what, value, prefix, entries))
