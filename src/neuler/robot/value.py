"""What robots and machines share as immutable values: changed copies, and pickles of their data alone."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any, ClassVar, Self, TypeVar

from neuler.errors import RobotError
from neuler.naming import listed


class Value:
    """Mixed into frozen dataclasses whose fields are the arguments of their constructor."""

    _called: ClassVar[str] = "value"
    """What it is called in messages."""

    def _fields(self) -> dict[str, object]:
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}  # type: ignore[arg-type]

    def replace(self, **changes: object) -> Self:
        """A copy with the given fields changed."""
        fields = self._fields()
        unknown = set(changes) - set(fields)
        if unknown:
            name = sorted(unknown)[0]
            raise RobotError(f"a {self._called} has no field {name!r}; its fields are {listed(name, fields)}")
        return type(self)(**{**fields, **changes})

    def __getstate__(self) -> dict[str, object]:
        """Pickle the data alone; compiled kernels are found again in the cache."""
        return self._fields()

    def __setstate__(self, state: dict[str, object]) -> None:
        for key, value in state.items():
            object.__setattr__(self, key, value)


Result = TypeVar("Result")


def kept(function: Callable[[Any], Result]) -> Callable[[Any], Result]:
    """A function of one value whose result is stored with that value, and goes with it.

    A cache of the module's own would keep values, and the compiled kernels on them, alive. A function that returns an
    empty dict is a cache for its caller to fill. Where two threads are first, both get the result of one.
    """
    name = f"{function.__module__}.{function.__qualname__}"

    @functools.wraps(function)
    def look(value: Any) -> Result:
        held = value.__dict__
        if name not in held:
            return held.setdefault(name, function(value))
        return held[name]

    return look
