"""The table [robot] of a problem file: a robot by file or by name, and what is changed of it."""

from __future__ import annotations

import contextlib
import dataclasses
import os
from collections.abc import Mapping
from typing import Any

from neuler import formats, robots
from neuler.errors import FormatError, NeulerError
from neuler.files.problems import Section
from neuler.formats.mjcf_refused import FEATURES
from neuler.formats.source import files_of
from neuler.formats.strict import refuse_errors
from neuler.inputs import told
from neuler.robot import Friction, Motor, Robot, Transform
from neuler.robot.friction import LAWS

_FILE_OPTIONS = {"mimic": ("refuse", "couple", "independent"), "floating": ("free", "fixed", "refuse"),
                 "missing": ("refuse", "zero")}  # fmt: skip
"""Options of robot files, and what they may be; ``values``, ``arguments`` and ``packages`` stand beside them."""
NEUTRAL = "neutral"
"""Where a joint is held of which no position is given."""


def read_robot(section: Section) -> Robot:
    """The robot of a table: ``file`` or ``name``, then changes.

    ``mimic``, ``floating``, ``missing``, ``values``, ``arguments``, ``packages``, ``without``: of the file's format.
    ``strict = true`` refuses a robot in which ``robot.check()`` finds errors. ``fixed``: joints that are held, names or
    a table of positions. ``free_base``, ``gravity``, ``friction = false``, ``passive``, ``independent``; tables
    [[robot.payload]] (frame, mass, com, inertia), [[robot.spring]] (joint, stiffness, rest, role), [[robot.frame]]
    (name, link, at), [[robot.motor]] (the fields of ``Motor``), [[robot.friction_law]] (joint, law, its numbers).

    >>> from neuler.files.problems import Problem
    >>> problem = Problem.of_text('[robot]\\nname = "two_link"\\ngravity = [0.0, 0.0, 0.0]\\nfree_base = true')
    >>> robot = read_robot(problem.root.section("robot"))
    >>> robot.name, robot.nv, robot.gravity
    ('two_link', 8, (0.0, 0.0, 0.0))
    """
    return read_robots(section)[0]


def read_robots(section: Section) -> tuple[Robot, Robot]:
    """The robot of a table, and as its controller knows it: without the payloads that are marked ``known = false``.

    Without such payloads both are the same object, and share their compiled code.

    >>> from neuler.files.problems import Problem
    >>> text = '[robot]\\nname = "two_link"\\n[[robot.payload]]\\nframe = "link2"\\nmass = 0.5\\nknown = false'
    >>> robot, model = read_robots(Problem.of_text(text).root.section("robot"))
    >>> robot.links[2].mass - model.links[2].mass
    0.5
    """
    known = _known_robots(section)
    if known is not None:
        return known
    file = _file(section)
    before = {} if file is None else {file: _state(file)}
    try:
        loaded = _loaded(section)
        robot = changed(section, loaded)
        payloads = section.table.get("payload", [])  # checked above
        hidden = any(each.get("known") is False for each in (payloads if isinstance(payloads, list) else [payloads]))
        model = changed(section, loaded, known_only=True) if hidden else robot
        if section.flag("strict"):
            refuse_errors(robot)
            refuse_errors(model)
        _remember(section, (robot, model), before)
        return robot, model
    except NeulerError as error:
        if isinstance(error, FormatError):
            raise
        raise section.refusal(str(error)) from None


_Robots = tuple[Robot, Robot]
_ROBOTS: dict[str, tuple[_Robots, dict[str, object]]] = {}
"""By table: the robots, and the state of every file that they were read from."""
_MOST_ROBOTS = 8


def _known_robots(section: Section) -> _Robots | None:
    """The robots of an equal table that was read before, if no file has changed since.

    They have the code of their kernels: a study reads the same table for every row.
    """
    found = _ROBOTS.get(_key(section))
    if found is None or any(_state(file) != state for file, state in found[1].items()):
        return None
    section.known.extend(section.table)  # all of it was read, and found right
    return found[0]


def _remember(section: Section, robots: _Robots, before: dict[str, object]) -> None:
    """Keep the robots of a table; ``before`` has the state of its file before it was read."""
    states = {name: _state(name) for file in before for name in files_of(file)}
    while len(_ROBOTS) >= _MOST_ROBOTS:
        del _ROBOTS[next(iter(_ROBOTS))]
    _ROBOTS[_key(section)] = robots, states | before


def _key(section: Section) -> str:
    return repr((_file(section), section.table))


def _file(section: Section) -> str | None:
    file = section.table.get("file")
    return os.path.abspath(section.problem.folder / file) if isinstance(file, str) and "\0" not in file else None


def _state(file: str) -> object:
    with contextlib.suppress(OSError):
        state = os.stat(file)
        return state.st_mtime_ns, state.st_size
    return None


def _loaded(section: Section) -> Robot:
    options: dict[str, Any] = {}
    for key, among in _FILE_OPTIONS.items():
        value = section.text(key, None, among=among)
        if value is not None:
            options[key] = value
    values = section.section("values")
    if values.table:
        options["values"] = {name: values.number(name) for name in values.table}
    options.update(_xacro(section))
    if "without" in section:
        options["without"] = section.names("without", among=tuple(FEATURES))
    if ("file" in section) == ("name" in section):
        raise section.refusal("expected either 'file', a robot file, or 'name', of the catalogue")
    if "file" in section:
        return formats.load(section.path("file"), **options)
    if options:
        raise section.error(next(iter(options)), "is for robot files, and the robot is one of the catalogue")
    return robots.get(section.text("name", among=robots.names()))


def _xacro(section: Section) -> dict[str, Any]:
    """Arguments of a xacro file, and where it finds packages: folders, from that of the problem."""
    options: dict[str, Any] = {}
    arguments = section.section("arguments")
    if arguments.table:
        options["arguments"] = {}
        for name in arguments.table:
            value = arguments.raw(name)
            if not isinstance(value, str | float | int):
                raise arguments.error(name, f"expected a text, a number, true or false, got {told(value)}")
            options["arguments"][name] = value
    if isinstance(section.table.get("packages"), dict):
        named = section.section("packages")
        options["packages"] = {name: named.path(name) for name in named.table}
    elif "packages" in section:
        folders = section.names("packages")
        options["packages"] = [section.problem.path((*section.spot, "packages"), name) for name in folders]
    return options


def changed(section: Section, robot: Robot, known_only: bool = False) -> Robot:
    """A robot with the changes of a table; ``known_only`` leaves out payloads that are marked ``known = false``."""
    if "fixed" in section:
        robot = held(robot, _positions(section, "fixed"))
    for part in section.sections("frame"):
        at = Transform(translation=tuple(part.vector("at", 3, (0.0, 0.0, 0.0))))
        robot = robot.with_frame(part.text("name"), part.text("link", among=robot.link_names), at)
    for part in section.sections("payload"):
        com, inertia = (part.vector(key, 3, (0.0, 0.0, 0.0)) for key in ("com", "inertia"))
        frame, mass = part.text("frame", among=robot.frame_names), part.number("mass")
        if part.flag("known", True) or not known_only:
            robot = robot.with_payload(frame, mass, com, inertia)
    for part in section.sections("spring"):
        joint, stiffness = part.text("joint", among=robot.tree.joint_names), part.number("stiffness", least=0.0)
        role = part.text("role", "elastic", among=("elastic", "driven"))
        robot = robot.with_spring(joint, stiffness, part.number("rest", 0.0), role)
    if not section.flag("friction", True):
        robot = robot.without_friction()
    for part in section.sections("friction_law"):
        robot = robot.with_friction(part.text("joint", among=robot.tree.joint_names), _law(part))
    motors = section.sections("motor")
    if motors:
        robot = robot.replace(motors=(*robot.motors, *(_motor(part, robot) for part in motors)))
    robot = robot.with_passive(*section.names("passive", [], among=robot.tree.joint_names))
    if section.flag("free_base"):
        robot = robot.with_free_base()
    if "gravity" in section:
        robot = robot.with_gravity(section.vector("gravity", 3))
    if "independent" in section:
        robot = robot.with_independent(*section.names("independent", among=robot.joint_names))
    return robot


def held(robot: Robot, positions: Mapping[str, Any]) -> Robot:
    """The robot with joints held still where ``positions`` says, None being a joint's neutral position.

    >>> held(robots.two_link(), {"joint2": None}).joint_names
    ('joint1',)
    """
    neutral, owners = robot.neutral().tolist(), robot.coordinates.owners("q")
    found = {}
    for name, given in positions.items():
        rest = [x for x, owner in zip(neutral, owners, strict=True) if owner.joint.name == name]
        found[name] = given if given is not None else rest[0] if len(rest) == 1 else rest
    return robot.with_fixed(found)


def _positions(section: Section, key: str) -> dict[str, Any]:
    """Of joints that are held: names alone, or a table of numbers, lists of numbers and "neutral"."""
    if not isinstance(section.raw(key), dict):
        return dict.fromkeys(section.names(key))
    below = section.section(key)
    found: dict[str, Any] = {}
    for name in below.table:
        value = below.raw(name)
        found[name] = None if value == NEUTRAL else value if isinstance(value, list) else below.number(name)
    return found


def _law(part: Section) -> Friction:
    """A friction law by its name, and its numbers."""
    kind = LAWS[part.text("law", among=tuple(LAWS))]
    options = {}
    for field in dataclasses.fields(kind):
        if field.default is dataclasses.MISSING or field.name in part:
            options[field.name] = part.number(field.name)
    return kind(**options)


def _motor(part: Section, robot: Robot) -> Motor:
    """A motor, by the fields of ``Motor``; of ``inertia`` one number or three."""
    joint = part.text("joint", among=robot.tree.joint_names)
    options: dict[str, Any] = {"carrier": part.text("carrier", "", among=robot.link_names)}
    for key in ("stiffness", "mass", "damping", "viscous", "coulomb", "coulomb_reverse"):
        value = part.number(key, None, least=0.0)
        if value is not None:
            options[key] = value
    for key in ("axis", "position"):
        place = part.vector(key, 3, None)
        if place is not None:
            options[key] = tuple(place.tolist())
    for key in ("included", "coupled"):
        options[key] = part.flag(key, key == "coupled")
    several = isinstance(part.raw("inertia", 0.0), list)
    options["inertia"] = (
        tuple(part.vector("inertia", 3).tolist()) if several else part.number("inertia", 0.0, least=0.0)
    )
    if isinstance(part.raw("ratio", 1.0), dict):
        ratios = part.section("ratio")
        options["ratio"] = {name: ratios.number(name) for name in ratios.table}
    else:
        options["ratio"] = part.number("ratio", 1.0)
    return Motor(part.text("name", f"{joint}_motor"), joint, **options)
