"""xacro files: URDF with macros, expanded by the xacro that ROS has, through the package xacrodoc."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from typing import Any

from numpy.typing import ArrayLike

from neuler.errors import FormatError
from neuler.extras import install
from neuler.formats.source import Source, clip, file_chunks, label_of, remember
from neuler.formats.urdf import check_options, robot_of
from neuler.formats.xml import MAX_BYTES, read_xml
from neuler.inputs import told
from neuler.robot import Robot

SECONDS = 60.0
"""After which an expansion is given up."""
Packages = str | os.PathLike[str] | Iterable[str | os.PathLike[str]] | Mapping[str, str | os.PathLike[str]]
"""Folders in which packages are looked for, or the folders of packages by their names."""

_BEGIN = """
import json, sys, types
asked = json.load(sys.stdin)
sys.path[:] = asked.pop("sys.path")
for name, folder in asked.pop("modules").items():  # without all that they import
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__path__ = [folder]
from neuler.formats.xacro_child import main
main(asked)
"""


def load_xacro(
    source: Source,
    *,
    arguments: Mapping[str, str | float | bool] | None = None,
    packages: Packages = (),
    mimic: str = "couple",
    floating: str = "free",
    gravity: ArrayLike = (0.0, 0.0, -9.81),
) -> Robot:
    """A robot from a xacro file, by its path; needs the extra ``xacro``.

    ``arguments`` are those that ``<xacro:arg>`` declares, or ``$(arg NAME)`` asks for; True and False become ``true``
    and ``false``. One that the file does not ask for is refused. ``packages`` says where ``$(find PACKAGE)`` looks: a
    folder with packages (with a ``package.xml``) anywhere in it, several such folders, or a table of packages and
    their folders. Folders above the file are searched, too, and those in ``ROS_PACKAGE_PATH`` and
    ``AMENT_PREFIX_PATH``. Includes are found beside the file that names them. ``mimic``, ``floating`` and
    ``gravity`` are those of :func:`load_urdf`. ``robot.notes`` says which file it came from, with what
    arguments, and what xacro warned of.

    **A xacro file is a program.** xacro evaluates Python expressions, ``${...}`` and ``$(eval ...)``, and reads any
    file that is named, and environment variables. It keeps Python's built-in functions and names that begin with two
    underscores from expressions, which hinders accidents, not attacks: load files of strangers only where you would
    run their programs. The expansion runs in a process of its own, for a minute at most.

    ``package://`` in the result is not looked up: meshes are not read.
    """
    check_options("load_xacro", mimic, floating)
    if isinstance(source, bytes) or (isinstance(source, str) and source.lstrip().startswith("<")):
        raise FormatError(
            "xacro is expanded from a file, for its includes stand beside it; save the text as a file .xacro"
        )
    path = os.fsdecode(source)
    label = label_of(path)
    given = _arguments(label, arguments)
    found = expand(path, given, packages)
    root = read_xml(found["text"].encode(), "xacro", label=f"{label}, expanded")
    robot = robot_of(root, mimic, floating, gravity)
    name = os.path.basename(path)
    notes = [f"expanded by xacro from {name!r}" + "".join(f", {key}={value!r}" for key, value in given.items())]
    notes += [f"xacro: {clip(each)[1:-1] if len(each) <= 60 else each}" for each in found["warnings"]]
    return robot.replace(notes=(*notes, *robot.notes))


def expand(path: str, arguments: dict[str, str], packages: Packages = ()) -> dict[str, Any]:
    """The expanded text of a xacro file, what xacro warned of, and the files that it read.

    Raises FormatError with the file, what is wrong and the remedy.
    """
    label = label_of(path)
    if importlib.util.find_spec("xacrodoc") is None:
        raise FormatError(f"{label}: reading xacro needs the extra 'xacro': {install('xacro')}")
    next(file_chunks(path, "xacro", MAX_BYTES), None)  # there, and a file
    here = os.path.dirname(os.path.abspath(__file__))
    folders, by_name = _places(packages)
    asked = {
        "sys.path": sys.path,
        "modules": {"neuler": os.path.dirname(here), "neuler.formats": here},
        "path": path,
        "arguments": arguments,
        "folders": folders,
        "packages": by_name,
    }
    try:
        run = subprocess.run(
            [sys.executable, "-P", "-c", _BEGIN], input=json.dumps(asked).encode(), capture_output=True,
            timeout=SECONDS, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise FormatError(
            f"{label}: xacro: its expansion takes more than {SECONDS:g} s; is there an expression or a macro that "
            "grows without an end?"
        ) from None
    try:
        found: dict[str, Any] = json.loads(run.stdout)
    except ValueError:
        last = (run.stderr.decode("utf-8", "replace").strip().splitlines() or [f"it ended with code {run.returncode}"])[
            -1
        ]
        raise FormatError(f"{label}: xacro: the process that expands it ended early: {last}") from None
    if "error" in found:
        raise FormatError(found["error"])
    remember(path, found["files"])
    return found


def _arguments(label: str, arguments: object) -> dict[str, str]:
    """As xacro takes them: texts."""
    if arguments is None:
        return {}
    if not isinstance(arguments, Mapping):
        raise FormatError(f"{label}: arguments must be a table of names and values, got {told(arguments)}")
    found = {}
    for name, value in arguments.items():
        if not isinstance(name, str) or not name.strip():
            raise FormatError(f"{label}: an argument needs a name, got {told(name)}")
        if not isinstance(value, str | float | int):
            raise FormatError(f"{label}: argument {name!r} must be a text, a number, True or False, got {told(value)}")
        found[name] = (
            value if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else repr(value)
        )
    return found


def _places(packages: object) -> tuple[list[str], dict[str, str]]:
    """Folders to search, and folders by the names of packages; each must be there."""
    by_name: dict[str, str] = {}
    folders: list[str] = []
    if isinstance(packages, Mapping):
        by_name = {str(name): _folder(place) for name, place in packages.items()}
    elif isinstance(packages, str | os.PathLike):
        folders = [_folder(packages)]
    elif isinstance(packages, Iterable) and not isinstance(packages, bytes):
        folders = [_folder(place) for place in packages]
    else:
        raise FormatError(
            f"option 'packages' must be folders, or a table of packages and folders, got {told(packages)}"
        )
    return folders, by_name


def _folder(place: object) -> str:
    if not isinstance(place, str | os.PathLike):
        raise FormatError(f"option 'packages' must name folders, got {told(place)}")
    path = os.path.abspath(os.fsdecode(place))
    if not os.path.isdir(path):
        raise FormatError(f"option 'packages': there is no folder {clip(os.fsdecode(place))}")
    return path
