"""Kernels: compiled quantities of robots, callable on arrays of any batch shape."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from neuler.batches import threads
from neuler.bound import BoundKernel
from neuler.compiled import Compiled, precision, shares_no_memory
from neuler.compiler import one_state
from neuler.diagnose.watch import LoopWatch, Watch
from neuler.errors import InputError
from neuler.passes.parameter_values import Placing, joined, placing, stacked
from neuler.passes.parameters import unit as parameter_unit
from neuler.quantities.catalogue import find
from neuler.quantities.declare import DTYPE
from neuler.quantities.identity import identity
from neuler.quantities.setup import PARAMETERS, WRENCHES, RobotRecipe
from neuler.robot import Robot
from neuler.robot.axes import axis_names, unit_of
from neuler.robot.columns import WRENCH, entry_names, labels
from neuler.robot.value import kept
from neuler.trace.recipe import Operand

if TYPE_CHECKING:
    from neuler.compiler.build import Built

__all__ = ["BoundKernel", "Kernel", "plain_options", "threads"]


@kept
def stored_code(robot: Robot) -> dict[tuple[Any, ...], Built]:
    """By quantity, precision and options, the code that the robot's kernels have: it lives as long as the robot."""
    return {}


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


@one_state.vectorcalled
class Kernel(Compiled):
    """A compiled quantity of one robot.

    Call it on arrays whose last axes are ``inputs``' shapes; all leading axes broadcast.
    ``out=`` takes an array (or a tuple of arrays) to write into. ``operations`` counts the work
    for one state, ``ufunc`` is the NumPy gufunc itself, ``threads`` may be set to limit the
    cores that a large batch uses (None: ``NEULER_THREADS`` or all).

    Machine code is made, or loaded from the cache, when numbers or one of these first ask for it. A kernel that is
    called inside a function that is traced, or comes out of a pickle, has none before that.

    >>> import neuler
    >>> robot = neuler.robots.two_link()
    >>> kernel = robot.inverse_dynamics
    >>> kernel([0.1, 0.2], [0.0, 0.0], [1.0, 0.0]).shape
    (2,)
    >>> kernel.ufunc.signature
    '(2),(2),(2)->(2)'

    Options may be given in the call: the kernel with these options is made once and found again. Where an option names
    frames or parameters, a mapping gives their values at the same time.

    >>> robot.jacobian([0.1, 0.2], frame="link1", reference="world").shape
    (6, 2)
    >>> kernel([0.1, 0.2], [0.0, 0.0], [1.0, 0.0], loads={"link2": [0.0, -5.0, 0.0, 0.0, 0.0, 0.0]}).shape
    (2,)

    A quaternion whose length is not one raises an error in a single state; in a batch the results of its row are NaN,
    and a warning says which. Robots with loops return NaN at singular poses and at positions where their loops are
    open, with a warning that says why.
    """

    _decided = Compiled._decided | {"robot", "quantity", "options"}

    def __init__(self, robot: Robot, quantity: str, *, dtype: str = "float64", **options: Any) -> None:
        self._declare(robot, quantity, dtype, options)
        _ = self.recipe  # what the robot cannot have, or an option cannot be, is refused at once
        if self.dtype != np.float64:  # and so are numbers that single precision cannot hold, which code alone shows
            self._make_ready()

    _watch: Watch | LoopWatch | None
    """Who says why a result is NaN, once the code is made."""
    _option_names: frozenset[str]
    _variants: dict[tuple[Any, ...], Kernel]
    """By options as they were given at calls: the kernels that have them."""

    def _declare(self, robot: Robot, quantity: str, dtype: str, options: Mapping[str, Any]) -> None:
        declared = find(quantity)
        declared.check(options)
        self.robot = robot
        self.quantity = self._called = quantity
        self.options = plain_options(quantity, options)
        self.dtype = precision(quantity, dtype)
        self._option_names = frozenset((*declared.options, DTYPE))
        self._variants = {}
        self.__doc__ = declared.help
        self.__signature__ = declared.signature

    @classmethod
    def later(cls, robot: Robot, quantity: str, *, dtype: str = "float64", **options: Any) -> Kernel:
        """One that looks at the robot when it is first used: for robots that may not have the quantity."""
        kernel = cls.__new__(cls)
        kernel._declare(robot, quantity, dtype, options)
        return kernel

    @property
    def recipe(self) -> RobotRecipe:  # type: ignore[override]
        """Inputs, outputs, and how the quantity is traced."""
        held = self.__dict__
        if "_recipe" not in held:
            held.setdefault("_recipe", find(self.quantity).recipe(self.robot, **self.options))
        found: RobotRecipe = held["_recipe"]
        return found

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """What the numbers of the input ``parameters`` are, in order; none without the option ``parameters=``."""
        return tuple(each.name for each in self.recipe.parameters)

    @property
    def parameter_values(self) -> np.ndarray:
        """The robot's own values of them."""
        return np.array([each.value for each in self.recipe.parameters])

    @property
    def column_names(self) -> tuple[str, ...]:
        """Of a regressor: the parameters that its columns are multiplied by, in order; none of other quantities."""
        return tuple(each.name for each in self.recipe.columns)

    @property
    def column_values(self) -> np.ndarray:
        """The robot's own values of them."""
        return np.array([each.value for each in self.recipe.columns])

    def _general(self, /, *arrays: Any, out: Any = None, **named: Any) -> Any:
        """As of every compiled function; with options it is a call of the variant that has them."""
        if self._option_names.isdisjoint(named):
            return super()._general(*arrays, out=out, **named)
        more = {} if out is None else {"out": out}
        key = *named.items(), *map(type, named.values())
        try:
            variant = self._variants.get(key)
        except TypeError:  # arrays by name, lists of names
            variant = None
        if variant is None:  # not the same options as in an earlier call, and nothing else
            given = self._options_among(named)
            if not given:
                return super()._general(*arrays, out=out, **named)
            variant = self._variant(self._without_values(given, named))
            with contextlib.suppress(TypeError):
                if not named:
                    self._variants[key] = variant
        else:  # what was given by name are the variant's own options: it is not asked for a variant again
            named = {}
        if variant._threads != self._threads:
            variant.threads = self._threads
        return variant(*arrays, **named, **more)

    def _options_among(self, named: dict[str, Any]) -> dict[str, Any]:
        """What among arguments by name is an option, taken out of them.

        ``parameters`` of a kernel that has some are an input: their values, by name too.
        """
        given = {name: named.pop(name) for name in (*named,) if name in self._option_names}
        if PARAMETERS in given and self.options.get(PARAMETERS):
            value = given.pop(PARAMETERS)
            if isinstance(value, Mapping):
                value = joined(self.quantity, self._placing(tuple(value))[1], value)
            named[PARAMETERS] = value
        return given

    def _placing(self, names: tuple[str, ...]) -> tuple[Kernel, Placing]:
        """The kernel whose input ``parameters`` takes values by these names, and which of its numbers they are.

        It is this one where it has parameters, else the one that has these.
        """
        if not all(isinstance(name, str) for name in names):
            raise InputError(f"{self.quantity}: parameters maps names to values, got the names {names!r:.60}")
        own = self.options.get(PARAMETERS)
        if not own:
            return self._variant({PARAMETERS: names}), placing(self.quantity, self.robot.mechanism, names)
        chosen = (own,) if isinstance(own, str) else own
        return self, placing(self.quantity, self.robot.mechanism, names, self.recipe.parameters, chosen)

    def _without_values(self, given: Mapping[str, Any], named: dict[str, Any]) -> dict[str, Any]:
        """Options without values: those that a mapping gives join the arguments by name."""
        options: dict[str, Any] = {}
        for option, value in given.items():
            options[option] = tuple(value) if isinstance(value, Mapping) else value
            if not isinstance(value, Mapping):
                continue
            if not all(isinstance(name, str) for name in value):
                raise InputError(f"{self.quantity}: {option} maps names to values, got {value!r:.60}")
            if option == PARAMETERS:
                values = {PARAMETERS: stacked(self.quantity, self.robot.mechanism, value)} if value else {}
            elif option in WRENCHES:
                values = {f"{WRENCHES[option]}_{frame}": wrench for frame, wrench in value.items()}
            else:
                raise InputError(f"{self.quantity}: option {option!r} is no table of values, got {value!r:.60}")
            for name in values:
                if name in named:
                    raise InputError(f"{self.quantity}: {name} is given twice, by its name and in {option}=")
            named.update(values)
        return options

    def _variant(self, options: Mapping[str, Any]) -> Kernel:
        """The kernel with other options, made when it is first asked for, whatever the order of its options."""
        plain = {name: tuple(x) if isinstance(x, list) else x for name, x in sorted(options.items())}
        key = *plain.items(), *map(type, plain.values())
        try:
            found = self._variants.get(key)
        except TypeError:  # not the value of an option; the kernel says so
            found = None
        if found is None:
            found = Kernel(self.robot, self.quantity, **{DTYPE: self.dtype, **self.options, **plain})
            found = self._variants.setdefault(key, found)
        return found

    def _unknown(self, name: str) -> str:
        others = [*(operand.name for operand in self.inputs), "out"]
        return f"there is no input or option {name!r}; {find(self.quantity).remedy(name, others)}"

    def _build(self, *, one: bool = False) -> Built:
        from neuler.compiler.build import compile_recipe  # where nothing is compiled the compiler is not needed

        options = tuple(sorted(self.options.items()))
        decided = identity(self.robot, self.quantity, self.options)
        built = compile_recipe(
            self.recipe, self.quantity, self.__doc__ or "", self.dtype.name, decided, origin=__name__,
            reports=self._makes_nan, one=one,
        )  # fmt: skip
        stored_code(self.robot)[self.quantity, self.dtype.name, options] = built
        return built

    def _make_ready(self) -> None:
        self.__dict__["_watch"] = self._find_watch()
        super()._make_ready()

    @property
    def _makes_nan(self) -> bool:
        """Whether results may be NaN where all arguments are numbers: such code counts its calls with NaN."""
        if self.robot.loops and not self.recipe.unmarked:
            return True
        if self.recipe.open_loops:
            return False
        turns = any(entry.quaternion is not None for entry in self.robot.coordinates)
        return bool(self.recipe.may_vanish) or (turns and Operand("q", (self.robot.nq,)) in self.inputs)

    def _find_watch(self) -> Watch | LoopWatch | None:
        """Who says why a result is NaN; None where nothing but NaN in the arguments makes it so."""
        if not self._makes_nan:
            return None
        if self.robot.loops and not self.recipe.unmarked:
            return LoopWatch(self)
        watch = Watch(self.robot, self.quantity, self.inputs, self.outputs, self.recipe.may_vanish)
        return watch.find(self.ufunc, self.dtype)

    def _run(self, arrays: Sequence[Any], out: Any) -> Any:
        return self._call_ufunc(arrays, out) if self._watch is None else self._watched(self._watch, arrays, out)

    def _watched(self, watch: Watch | LoopWatch, arrays: Sequence[Any], out: Any) -> Any:
        """The results, explained where the code has seen NaN; what that needs is kept before it is written over."""
        nans = self._compiled.code.nans
        assert nans is not None
        before = nans.value
        kept = arrays if out is None or shares_no_memory(arrays, out) else watch.kept(arrays, out)
        found = self._call_ufunc(kept, out)
        return found if nans.value == before else watch.named(found, kept)

    @staticmethod
    def _is_wrench(operand: Operand) -> bool:
        return operand.name.startswith(tuple(f"{prefix}_" for prefix in WRENCHES.values()))

    def _entries(self, operand: Operand) -> list[str]:
        if self._is_wrench(operand):
            return [name for name, _ in WRENCH]
        return entry_names(self.robot, operand) or []

    @property
    def _name_parts(self) -> tuple[str, ...]:
        options = [
            "_".join(value) if isinstance(value, tuple) else name if value is True else str(value)
            for name, value in self.options.items()
            if value
        ]
        return (self.robot.name, self.quantity, *options)

    def _about(self) -> tuple[str, ...]:
        said = find(self.quantity).text.split("\n\n")[0].split("\n")
        options = ", ".join(f"{name}={value!r}" for name, value in self.options.items())
        return (f"{self.quantity} of the robot {self.robot.name!r}{f', {options}' if options else ''}", *said)

    def _labels(self, operand: Operand) -> list[tuple[str, str]]:
        if operand.name == PARAMETERS and self.parameter_names:
            return [(each.name, parameter_unit(self.robot, each)) for each in self.recipe.parameters]
        if self._is_wrench(operand):
            return list(WRENCH)
        if unit := unit_of(operand):
            return [("", unit)]
        return labels(self.robot, operand)

    def _axes(self, operand: Operand) -> Sequence[Sequence[str]]:
        columns = self.column_names if operand.name.endswith("regressor") else ()
        return axis_names(self.robot, operand, columns)

    def _in(self, dtype: str) -> Kernel:
        return self if self.dtype.name == dtype else self._variant({DTYPE: dtype})

    def _sample_states(self, count: int) -> dict[str, np.ndarray]:
        found = super()._sample_states(count)
        for name, values in found.items():
            if name == PARAMETERS:
                values[:] = self.parameter_values
            elif name == "dt":
                values[:] = np.abs(values) * 1e-2
            elif name in ("q", "q_link"):
                values[:] = self.robot.random_configuration(0, count)[:, : values.shape[1]]
        return found

    def _hint(self, operand: Operand) -> str:
        robot = self.robot
        if self._is_wrench(operand):
            return " (force; moment)"
        names, what = robot.joint_names, "one per moving joint"
        if robot.loops and operand.name in ("qd", "qdd", "tau"):
            forces = operand.name == "tau"
            names = robot.active_names if forces else robot.mobility.independent
            what = "of the joints in tau" if forces else "of the independent joints"
        elif operand.size != robot.nv or robot.nv != len(names):
            return ""
        return f" ({what}: {', '.join(names[:6])}{', ...' if len(names) > 6 else ''})"

    def __repr__(self) -> str:
        if not find(self.quantity).of(self.robot):
            return f"<kernel {self.quantity} of {self.robot.name!r}, which does not have it>"
        sides = [", ".join(f"{o.name} {o.shape}" for o in side) for side in (self.inputs, self.outputs)]
        return f"<kernel {self.quantity} of {self.robot.name!r}: {sides[0]} -> {sides[1]}; {self.operations}>"

    def __reduce__(self) -> Any:
        return _again, (self.robot, self.quantity, self.dtype.name, self.options, self.threads)


def _again(robot: Robot, quantity: str, dtype: str, options: dict[str, Any], threads: int | None) -> Kernel:
    kernel = Kernel.later(robot, quantity, dtype=dtype, **options)
    kernel.threads = threads
    return kernel
