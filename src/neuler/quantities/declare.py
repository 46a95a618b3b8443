"""What a quantity is: name, arguments, results, options, text and recipe in one place.

From a declaration come the robot's verb, its signature and help, the command line's list, the names of columns and
the page of all quantities.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from neuler import elsewhere
from neuler.errors import InputError, RobotError
from neuler.naming import closest
from neuler.passes.parameters import parse
from neuler.quantities.setup import PARAMETERS, WRENCHES, RobotRecipe, with_parameters
from neuler.robot import Robot

Names = str | Iterable[str]
"""An option that names frames."""
DTYPE = "dtype"
"""The option that every quantity has, whatever its recipe: the precision."""


@dataclass(frozen=True)
class Quantity:
    """Something that can be computed of a robot."""

    name: str
    arguments: tuple[str, ...]
    results: tuple[str, ...]
    make: Callable[..., RobotRecipe]
    only: str = ""
    """What a robot must have for it, "loops" or "springs" (of motors); empty where every robot has it."""

    @property
    def text(self) -> str:
        """What it is: equation, shapes, units, an example."""
        return inspect.getdoc(self.make) or ""

    @cached_property
    def options(self) -> Mapping[str, object]:
        """Names and defaults, without the precision."""
        own = {name: each.default for name, each in list(inspect.signature(self.make).parameters.items())[1:]}
        return {**own, PARAMETERS: ()}

    @cached_property
    def signature(self) -> inspect.Signature:
        """Signature of its verb: the arguments, more of them where an option adds some, the options, and ``out``."""
        kinds = inspect.Parameter
        own = [kinds(name, kinds.POSITIONAL_OR_KEYWORD, annotation="ArrayLike") for name in self.arguments]
        more = kinds("more", kinds.VAR_POSITIONAL, annotation="ArrayLike")
        options = {**self.options, DTYPE: "float64", "out": None}
        return inspect.Signature([*own, more, *(kinds(x, kinds.KEYWORD_ONLY, default=y) for x, y in options.items())])

    @cached_property
    def help(self) -> str:
        """How it is called, and what it is."""
        arguments = ", ".join(self.arguments)
        options = ", ".join(f"{name}={default!r}" for name, default in self.options.items())
        return f"{self.name}({arguments}, *, {options}, dtype='float64', out=None)\n\n{self.text}"

    def of(self, robot: Robot) -> bool:
        """Whether the robot has it."""
        has = {"": True, "loops": bool(robot.loops), "springs": any(motor.elastic for motor in robot.motors)}
        return has[self.only]

    @property
    def whose(self) -> str:
        """What robots have that have it."""
        return {"loops": "loops", "springs": "motors behind springs"}.get(self.only, "")

    def check(self, options: Mapping[str, object]) -> None:
        """Refuse unknown options by name, and values of a wrong kind."""
        known = self.options
        for name, value in options.items():
            if name not in known:
                raise InputError(f"{self.name}: unknown option {name!r}; {self.remedy(name)}")
            if isinstance(known[name], bool) and not isinstance(value, bool):
                raise InputError(f"{self.name}: option {name!r} must be True or False, got {value!r}")
            if isinstance(known[name], str) and not isinstance(value, str):
                raise InputError(f"{self.name}: option {name!r} must be a name, got {value!r}")
            if isinstance(known[name], tuple) and not isinstance(value, str | tuple | list):
                table = ", or in a call a mapping from names to values" if name in (PARAMETERS, *WRENCHES) else ""
                raise InputError(
                    f"{self.name}: option {name!r} must be a name or a list of names{table}, got {value!r}"
                )

    def remedy(self, name: str, inputs: Iterable[str] = ()) -> str:
        """What to do about a name that is no option: the likely one among options and inputs, and all options."""
        listed = f"its options are {', '.join((*self.options, DTYPE))}"
        if name in _OF_THE_ROBOT:
            return f"{listed}. {_OF_THE_ROBOT[name]}"
        likely = closest(name, (*inputs, *self.options, DTYPE))
        return f"did you mean {likely!r}? I{listed[1:]}" if likely else listed

    def recipe(self, robot: Robot, **options: object) -> RobotRecipe:
        """For one robot; what it cannot have is refused by name."""
        self.check(options)
        if not self.of(robot):
            raise InputError(
                f"{self.name}: robot {robot.name!r} has no {self.whose}; it exists for robots with {self.whose} alone"
            )
        chosen = options.pop(PARAMETERS, ())
        try:
            made = self.make(robot.mechanism, **options)
        except RobotError as error:
            hint = "; with parameters= the robot's own values must do, too: give it some" if chosen else ""
            raise RobotError(f"{error}{hint}") from None
        if chosen:
            made = with_parameters(robot.mechanism, made, parse(robot.mechanism, chosen))  # type: ignore[arg-type]
        names = [operand.name for operand in made.inputs]
        for name in names:
            if names.count(name) > 1:
                raise InputError(
                    f"{self.name}: two inputs would be named {name!r}; rename the frame that external or loads names"
                )
        return made


def quantity(signature: str, *, only: str = "", name: str = "") -> Callable[[Callable[..., RobotRecipe]], Quantity]:
    """Declare the function below as a quantity: ``@quantity("q, qd, qdd -> tau")``."""
    sides = [tuple(part.strip() for part in side.split(",")) for side in signature.split("->")]

    def declared(make: Callable[..., RobotRecipe]) -> Quantity:
        return Quantity(name or make.__name__, sides[0], sides[1], make, only)

    return declared


_OF_THE_ROBOT = {
    "gravity": "Gravity is the robot's: robot.with_gravity((0, 0, -1.62)) is the same robot elsewhere",
    "payload": "A payload is the robot's: robot.with_payload(frame, mass) is the same robot with one",
    "friction": "Friction is the robot's: robot.without_friction() is the same robot without",
    "rotor_inertia": "Rotor inertia is the robot's: robot.without_motors() is the same robot without",
    "floating": "The base is the robot's: robot.with_free_base() is the same robot with a free one",
    "floating_base": "The base is the robot's: robot.with_free_base() is the same robot with a free one",
    "independent": "Independent joints are the robot's: robot.with_independent(names) is the same robot with others",
    "threads": "kernel.threads = 1 limits the threads of a kernel, NEULER_THREADS those of all",
}
"""What options are taken for that are none."""


def unknown(quantity: object, offered: Mapping[str, Quantity]) -> InputError:
    """The error for a quantity that does not exist."""
    other = elsewhere.quantity(quantity)
    likely = other if other in offered else closest(quantity, offered)
    meant = f"did you mean {likely!r}? " if likely else ""
    return InputError(f"there is no quantity {quantity!r}; {meant}there are: {', '.join(offered)}")
