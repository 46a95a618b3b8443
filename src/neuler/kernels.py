"""Kernels: compiled quantities of robots, callable on arrays of any batch shape."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from neuler.compiled import Bound, Compiled, Traced, apart, precision, threads
from neuler.compiler import direct
from neuler.compiler.build import compile_recipe
from neuler.errors import InputError
from neuler.recipes.mobility import mobility
from neuler.recipes.quantities import Subject, catalogue, check_options, recipe
from neuler.recipes.setup import RobotRecipe
from neuler.robot import Robot, verbs
from neuler.trace.recipe import Operand
from neuler.watch import MachineWatch, Watch

__all__ = ["Bound", "Kernel", "plain_options", "threads"]


def plain_options(quantity: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Options as values that mean the same in every process: text, truth, or names in a given order."""
    plain: dict[str, Any] = {}
    for name, value in options.items():
        if isinstance(value, list | tuple) and all(isinstance(x, str) for x in value):
            plain[name] = tuple(str(x) for x in value)
        elif value is None or isinstance(value, str | bool | int):
            plain[name] = value
        else:
            raise InputError(
                f"{quantity}: option {name!r} must be a name, a list of names in order, a number or a truth value, "
                f"got {type(value).__name__}"
            )
    return plain


@direct.vectorcalled
class Kernel(Compiled):
    """A compiled quantity of one robot.

    Call it on arrays whose last axes are ``inputs``' shapes; all leading axes broadcast.
    ``out=`` takes an array (or a tuple of arrays) to write into. ``operations`` counts the work
    for one state, ``ufunc`` is the NumPy gufunc itself, ``threads`` may be set to limit the
    cores that a large batch uses (None: ``NEULER_THREADS`` or all).

    >>> import neuler
    >>> robot = neuler.robots.two_link()
    >>> kernel = robot.inverse_dynamics
    >>> kernel([0.1, 0.2], [0.0, 0.0], [1.0, 0.0]).shape
    (2,)
    >>> kernel.ufunc.signature
    '(2),(2),(2)->(2)'

    A quaternion that is no rotation (its length is not one) is an error in one state; in a batch its state gives NaN,
    and a warning says which. Machines give NaN at singular poses, at positions where their loops are open and for
    motions that their legs do not allow, with a warning that says why.
    """

    recipe: RobotRecipe

    def __init__(self, robot: Subject, quantity: str, *, dtype: str = "float64", **options: Any) -> None:
        self.robot = robot
        self.quantity = self._called = quantity
        check_options(robot, quantity, options)
        self.options = plain_options(quantity, options)
        self.dtype = precision(quantity, dtype)
        self.recipe = recipe(robot, quantity, **self.options)
        self.__doc__ = catalogue(robot)[quantity].__doc__
        identity = (robot.content_hash, quantity, tuple(sorted(self.options.items())))
        self._compiled = compile_recipe(
            self.recipe, quantity, self.__doc__ or "", self.dtype.name, identity, origin=__name__
        )
        held = robot.__dict__.setdefault("compiled", {})  # as long as the robot lives, its code need not be made again
        held[quantity, self.dtype.name, tuple(sorted(self.options.items()))] = self._compiled
        self.ufunc = self._compiled.ufunc
        self._watch = self._find_watch()
        self._measure(self.operations)
        self._direct()

    def _find_watch(self) -> Watch | MachineWatch | None:
        """Who says why a result is NaN; None where nothing but NaN in the arguments makes it so."""
        if not isinstance(self.robot, Robot):
            return None if self.recipe.unmarked else MachineWatch(self)
        vanishing = self.recipe.may_vanish
        turns = self.robot.nq != self.robot.nv and Operand("q", (self.robot.nq,)) in self.inputs
        if not vanishing and not turns:
            return None
        return Watch(self.robot, self.quantity, self.inputs, self.outputs, vanishing).find(self.ufunc, self.dtype)

    def _general(self, *arrays: Any, out: Any = None) -> Any:
        """A call that is not one state in plain arrays: any batch, any numbers, results that are not finite."""
        try:
            return self._checked(arrays, out) if self._watch is None else self._watched(self._watch, arrays, out)
        except Traced:
            pass
        return self._inlined(arrays, out)

    def _watched(self, watch: Watch | MachineWatch, arrays: Sequence[Any], out: Any) -> Any:
        """The results, looked at for NaN; what is needed to say why is kept before it is written over."""
        found = None
        try:
            if arrays[0].size < self._split_size and len(arrays) == self._takes and self._one_array:
                if out is None:
                    found = self.ufunc(*arrays)
                elif apart(arrays, out):
                    found = self.ufunc(*(*arrays, out))
                if type(found) is not np.ndarray:
                    found = None
                elif watch.unseen(found):
                    return found
        except (AttributeError, IndexError, TypeError, ValueError):
            pass
        kept = arrays if out is None else watch.kept(arrays, out)
        return watch.named(self._checked(kept, out) if found is None else found, kept)

    def _hint(self, operand: Operand) -> str:
        if operand.size != self.robot.nv or self.robot.nv != len(self.robot.joint_names):
            return ""
        names = self.robot.joint_names
        return f" (one per moving joint: {', '.join(names[:6])}{', ...' if len(names) > 6 else ''})"

    def __repr__(self) -> str:
        sides = [", ".join(f"{o.name} {o.shape}" for o in side) for side in (self.inputs, self.outputs)]
        return f"<kernel {self.quantity} of {self.robot.name!r}: {sides[0]} -> {sides[1]}; {self.operations}>"

    def __reduce__(self) -> Any:
        return _again, (self.robot, self.quantity, self.dtype.name, self.options, self.threads)


def _again(robot: Subject, quantity: str, dtype: str, options: dict[str, Any], threads: int | None) -> Kernel:
    kernel = Kernel(robot, quantity, dtype=dtype, **options)
    kernel.threads = threads
    return kernel


verbs.provide(Kernel)
verbs.provide_analysis(mobility)
