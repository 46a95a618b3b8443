"""A robot as a Functional Mock-up Unit: forward dynamics for the importer's solver, and the step of a rollout."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from neuler.errors import InputError
from neuler.export.c99.code import CCode, c_code
from neuler.export.c99.step import Stepping, c_step
from neuler.export.fmu.archive import FMU
from neuler.export.fmu.binaries import checked_platforms, libraries
from neuler.export.fmu.description import CO_SIMULATION, MODEL_EXCHANGE, Description
from neuler.export.fmu.model import Calls, Layout, Model, fixed_sources
from neuler.export.interface import Interface
from neuler.export.names import LONGEST, identifier
from neuler.inputs import choice, names
from neuler.passes.parameters import parse
from neuler.quantities.setup import named
from neuler.robot import Robot
from neuler.robot.configuration import quaternions
from neuler.rollouts.efforts import efforts
from neuler.rollouts.embedded import labelled, start_of
from neuler.rollouts.events import REASONS
from neuler.rollouts.fmu_recipes import Recipes
from neuler.rollouts.fmu_variables import variables
from neuler.rollouts.rollout import Call, checked
from neuler.rollouts.slides import rough
from neuler.tolerances import OPEN, UNIT
from neuler.trace.recipe import Recipe

CALLED = "fmu"
KINDS = {"model_exchange": MODEL_EXCHANGE, "co_simulation": CO_SIMULATION}


def fmu(
    robot: Robot,
    dt: Any,
    name: str | None,
    *,
    method: Any,
    frames: Any,
    external: Any,
    loads: Any,
    parameters: Any,
    limits: Any,
    effort: Any,
    q0: Any,
    qd0: Any,
    kinds: Any,
    platforms: Any,
) -> FMU:
    """See ``Robot.fmu``."""
    own = _identifier(robot, name)
    chosen = checked_platforms(CALLED, platforms)
    if np.ndim(dt):
        raise InputError(f"{CALLED}: dt must be one number of seconds")
    call = _looked_at(
        robot, dt, method, q0, qd0, limits=limits, effort=effort, parameters=_parameters(robot, parameters),
        external={frame: np.zeros(6) for frame in _frames(robot, "external", external)},
        loads={frame: np.zeros(6) for frame in _frames(robot, "loads", loads)},
    )  # fmt: skip
    recipes = Recipes(call.kernel.model, _frames(robot, "frames", frames))
    recipes.refuse_open(call.arrays["q"].tolist())
    found, notes = _kinds(call, kinds)
    return _Writer(robot, own, call, recipes, found, clips=effort == "clip").unit(chosen, notes)


def _identifier(robot: Robot, name: str | None) -> str:
    if name is None:
        found = identifier(robot.name, otherwise="robot", longest=LONGEST - len("_step"))
        return f"{found}robot" if found.endswith("_") else found
    if not isinstance(name, str) or len(name) > LONGEST or identifier(name) != name:
        raise InputError(
            f"{CALLED}: name must be letters, digits and single underscores, at most {LONGEST}, and no word of C or "
            f"Python, got {name!r:.80}"
        )
    return name


def _several(option: str, given: Any) -> tuple[str, ...]:
    """One name, several, or none."""
    nothing = given is None or (isinstance(given, Sequence) and not len(given))
    return () if nothing else names(f"{CALLED}: {option}", given)


def _frames(robot: Robot, option: str, given: Any) -> tuple[str, ...]:
    if isinstance(given, Mapping):
        raise InputError(f"{CALLED}: {option} are names of frames; wrenches on them are inputs of the unit")
    return named(robot, f"{CALLED}: {option}", _several(option, given))


def _parameters(robot: Robot, given: Any) -> dict[str, Any]:
    """Values by name: those that are given, or the robot's own."""
    if isinstance(given, Mapping):
        return dict(given)
    chosen = _several("parameters", given)
    found = {name: [each.value for each in parse(robot.mechanism, name)] for name in chosen}
    if len(found) != len(chosen):
        raise InputError(f"{CALLED}: parameters: one is named twice in {chosen}")
    return found


def _looked_at(robot: Robot, dt: Any, method: Any, q0: Any, qd0: Any, **options: Any) -> Call:
    """As a rollout looks at its arguments; and whether it would begin."""
    q0 = robot.neutral() if q0 is None else q0
    qd0 = np.zeros(robot.nv) if qd0 is None else qd0
    try:
        call = checked(robot, q0, qd0, None, dt, 1, method, **options)
    except InputError as error:
        raise InputError(str(error).replace("rollout:", f"{CALLED}:", 1)) from None
    if call.batch:
        raise InputError(f"{CALLED}: a unit is of one robot and one start; arrays have the batch axes {call.batch}")
    status, _, joint = (int(x) for x in call.arrays["event"])
    if status:
        owner = f", joint {robot.joint_names[joint]!r}" if joint >= 0 else ""
        raise InputError(f"{CALLED}: no run begins at these q0, qd0 and parameters: {REASONS[status]}{owner}")
    return call


def _kinds(call: Call, given: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What the unit is simulated with, and what is to be said of it."""
    why = _not_smooth(call)
    if given is None:
        if why is None:
            return (MODEL_EXCHANGE, CO_SIMULATION), ()
        return (CO_SIMULATION,), (f"No model exchange: {why}.",)
    chosen = [choice(f"{CALLED}: kinds", each, KINDS) for each in _several("kinds", given)]
    if not chosen:
        raise InputError(f"{CALLED}: kinds names none of {', '.join(KINDS)}")
    if why is not None and "model_exchange" in chosen:
        raise InputError(f"{CALLED}: no model exchange: {why}; kinds='co_simulation' works")
    return tuple(kind for key, kind in KINDS.items() if key in chosen), ()


def _not_smooth(call: Call) -> str | None:
    """What a solver outside could not do, that rollouts do between steps."""
    model = call.kernel.model
    robot = model.robot
    if robot.loops:
        return f"robot {robot.name!r} has loops, which a step closes again"
    held = rough(model)
    if held:
        joint = robot.coordinates.owners("qd")[held[0]].name
        return (
            f"joint {joint!r} has dry friction, which a step holds at rest; robot.with_smooth_friction(width) and "
            "robot.without_friction() have none"
        )
    if model.bounded:
        return f"limits={model.limits!r} is what steps do"
    return None


@dataclasses.dataclass
class _Writer:
    """All that a unit is made of."""

    robot: Robot
    name: str
    call: Call
    recipes: Recipes
    kinds: tuple[str, ...]
    clips: bool

    def unit(self, platforms: Sequence[str], notes: tuple[str, ...]) -> FMU:
        """Description, sources, libraries."""
        call, recipes = self.call, self.recipes
        me, cs = (kind in self.kinds for kind in (MODEL_EXCHANGE, CO_SIMULATION))
        trial = not me and (bool(rough(call.kernel.model)) or call.kernel.model.holds)
        layout = recipes.layout(rates=me)
        held = [x.name for x in call.kernel.model.held]
        stepping = self._stepping()
        files: dict[str, str] = fixed_sources()
        calls = Calls()
        if cs:
            files |= _texts(c_step(stepping))
            calls = dataclasses.replace(calls, begin=[x.name for x in stepping.given], step=["tau"])
        if not trial:
            files |= self._function("dynamics", recipes.dynamics(rates=me))
            gives = ["qdd", "rates"] if me else ["qdd"]
            calls = dataclasses.replace(calls, dynamics=(["q", "qd", "tau", *held], gives))
        if recipes.frames:
            poses = recipes.poses
            files |= self._function("poses", poses)
            calls = dataclasses.replace(calls, poses=([x.name for x in poses.inputs], ["poses"]))
        if self.robot.loops:
            files |= self._function("gaps", recipes.gaps)
            calls = dataclasses.replace(calls, gaps=True)
        if me:
            files |= self._function("slopes", recipes.slopes)
            gives = [*gives, *(["poses"] if recipes.frames else [])]
            calls = dataclasses.replace(calls, slopes=(["q", "qd", "tau", *held], gives))
        model = Model(
            self.name, layout, calls, float(call.arrays["dt"]), self._starts(layout), self.robot.joint_names,
            [loop.name for loop in self.robot.loops], REASONS,
            [(first, self.robot.joint_names.index(joint)) for joint, first in quaternions(self.robot)], UNIT, OPEN,
            me, cs, trial, self._most(),
        )  # fmt: skip
        header = "neuler_fmu_model.h"
        said = Description(
            self.robot.name, self.name, self._about(notes), variables(recipes, layout, model.starts), self.kinds,
            model.dt, slopes=me,
        )  # fmt: skip
        description, guid = said.xml({**files, header: model.header("")})
        files[header] = model.header(guid)
        return FMU(self.name, description, files, libraries(self.name, files, platforms), notes)

    def _about(self, notes: Iterable[str]) -> str:
        method = self.call.kernel.method
        step = f" Co-simulation by steps of {float(self.call.arrays['dt']):g} s, method {method}."
        said = step if CO_SIMULATION in self.kinds else ""
        return f"Dynamics of the robot {self.robot.name}.{said} {' '.join(notes)}".strip()

    def _stepping(self) -> Stepping:
        """The step of a rollout whose time step, parameters and wrenches are read whenever steps begin."""
        call, robot = self.call, self.robot
        program = call.kernel.program
        fixed: dict[str, np.ndarray] = {key: call.arrays[key] for key in ("lower", "upper") if key in call.arrays}
        about = (f"One step of the robot {robot.name!r}, method {call.kernel.method}, tau held over the step.",)
        every = (*program.given, *program.streams, *program.kept)
        own = {operand.name: labelled(robot, operand, call.kernel.model) for operand in every}
        clip = {"tau": efforts(robot)} if self.clips else {}
        return Stepping(f"{self.name}_step", program, fixed, 1, about, own, REASONS, clip, start_of(call, False))

    def _function(self, what: str, recipe: Recipe) -> dict[str, str]:
        return _texts(c_code(Interface(f"{self.name}_{what}", recipe), sized=False))

    def _starts(self, layout: Layout) -> np.ndarray:
        found = []
        for operand in layout.operands:
            if operand.name == "qdd":
                break
            given = np.zeros(operand.size) if operand.name == "tau" else self.call.arrays[operand.name]
            found.append(np.asarray(given, dtype=float).reshape(-1))
        return np.concatenate(found)

    def _most(self) -> np.ndarray:
        most = efforts(self.robot) if self.clips else np.empty(0)
        return most if np.isfinite(most).any() else np.empty(0)


def _texts(code: CCode) -> dict[str, str]:
    """A header and a source."""
    return {f"{code.name}.h": code.header, f"{code.name}.c": code.source}
