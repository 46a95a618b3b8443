"""What commands share: the robot they are about, progress, JSON, notes."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from neuler import formats, robots
from neuler.errors import InputError
from neuler.plain import shown
from neuler.progress import progress_bar
from neuler.robot import Robot


def robot_command(
    commands: Any,
    name: str,
    run: Callable[[Any], int | None],
    help: str,
    epilog: str | None = None,
    quantity: str | None = None,
    logs: str | None = None,
) -> argparse.ArgumentParser:
    """A command about a robot, with flags that say how to load it.

    ``quantity`` is the help of one more argument before the robot, ``logs`` that of any number of them.
    """
    command: argparse.ArgumentParser = commands.add_parser(
        name, help=help, description=help[0].upper() + help[1:] + ".", epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    if quantity:
        command.add_argument("quantity", metavar="QUANTITY", help=quantity)
    if logs:
        command.add_argument("logs", nargs="*", metavar="LOG", help=logs)
    command.add_argument(
        "robot", metavar="FILE|NAME", help="a robot file (URDF, xacro, MJCF, SYMORO+), or a name of the catalogue"
    )
    command.add_argument("--mimic", choices=("refuse", "couple", "independent"), help="joints that mimic others (URDF)")
    command.add_argument(
        "--floating", nargs="?", const="base", choices=("free", "fixed", "refuse", "base"),
        help="alone (or base): let the robot's base move freely; else what to make of floating joints (URDF)",
    )  # fmt: skip
    command.add_argument(
        "--value", action="append", default=[], metavar="SYMBOL=NUMBER", help="the value of a symbol (SYMORO+)"
    )
    command.add_argument(
        "--values", action="append", default=[], metavar="FILE", help="values of symbols (SYMORO+): lines D3 = 0.45"
    )
    command.add_argument(
        "--argument", action="append", default=[], metavar="NAME=VALUE", help="an argument of a xacro file"
    )
    command.add_argument(
        "--packages", action="append", default=[], metavar="[NAME=]FOLDER",
        help="where a xacro file finds packages: a folder with some in it, or that of the package NAME",
    )  # fmt: skip
    command.add_argument(
        "--without",
        metavar="FEATURE,...",
        help="what is not supported, and is to be left out all the same (MJCF)",
    )
    command.add_argument("--missing", choices=("refuse", "zero"), help="dynamic parameters without a value (SYMORO+)")
    command.add_argument(
        "--independent", metavar="JOINT,...", help="joints of a robot with loops whose velocities are its own"
    )
    command.set_defaults(run=run)
    return command


def add_measured(command: argparse.ArgumentParser) -> None:
    """Flags of what is measured."""
    command.add_argument("--batch", type=positive, default=4096, metavar="N", help="states in a batch; default 4096")
    command.add_argument("--verbs", nargs="+", metavar="VERB", help="what to measure; default: the common quantities")


def positive(text: str) -> int:
    """A number that is at least one."""
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"expected a positive whole number, got {text!r}")
    return number


def load_robot(chosen: Any) -> Robot:
    """The robot that the command is about."""
    options = {key: getattr(chosen, key) for key in ("mimic", "missing") if getattr(chosen, key) is not None}
    if chosen.floating not in (None, "base"):
        options["floating"] = chosen.floating
    values = dict(pair for path in chosen.values for pair in _values(path))
    values.update(_value(text) for text in chosen.value)
    if values:
        options["values"] = values
    if chosen.argument:
        options["arguments"] = dict(_argument(text) for text in chosen.argument)
    if chosen.packages:
        options["packages"] = _packages(chosen.packages)
    if chosen.without is not None:
        options["without"] = _names(chosen.without)
    found = _named(chosen.robot, options)
    if chosen.floating == "base":
        found = found.with_free_base()
    return found if chosen.independent is None else found.with_independent(*_names(chosen.independent))


def _names(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _named(name: str, options: dict[str, Any]) -> Robot:
    if os.path.exists(name):
        return formats.load(name, **options)
    looks_like_file = os.sep in name or bool(os.path.splitext(name)[1])
    if looks_like_file:
        raise InputError(f"there is no file {name!r}; the catalogue has: {', '.join(robots.names())}")
    if name not in robots.names():
        raise InputError(
            f"there is neither a file nor a robot of the catalogue named {name!r}; "
            f"the catalogue has: {', '.join(robots.names())}"
        )
    if options:
        option = {"values": "value or --values", "arguments": "argument"}.get(next(iter(options)), next(iter(options)))
        raise InputError(f"--{option} is for robot files; {name!r} is a robot of the catalogue")
    return robots.get(name)


def _argument(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise InputError(f"--argument expects NAME=VALUE, for example prefix=left_, got {text!r}")
    return name.strip(), value


def _packages(texts: Sequence[str]) -> list[str] | dict[str, str]:
    """Folders, or all by the names of packages."""
    named = {text: text.partition("=") for text in texts if "=" in text and not os.path.isdir(text)}
    if named and len(named) < len(texts):
        other = next(text for text in texts if text not in named)
        raise InputError(f"--packages: {other!r} is a folder without a name and {next(iter(named))!r} has one; give "
                         "names of packages to all of them, or to none")  # fmt: skip
    return {name.strip(): place for name, _, place in named.values()} or list(texts)


def _value(text: str) -> tuple[str, float]:
    key, equals, value = text.partition("=")
    try:
        if not equals or not key.strip():
            raise ValueError
        return key.strip(), float(value)
    except ValueError:
        raise InputError(f"--value expects SYMBOL=NUMBER, for example D3=0.45, got {text!r}") from None


def _values(path: str) -> list[tuple[str, float]]:
    """Symbols from a file of lines D3 = 0.45 (TOML), or from a JSON object."""
    from neuler.files.problems import LARGEST, Problem
    from neuler.formats.source import check_size
    from neuler.inputs import told

    with open(path, "rb") as file:
        data = file.read(LARGEST + 1)
    check_size(path, len(data), LARGEST)
    try:
        text = data.decode("utf-8-sig")
        found = json.loads(text) if text.lstrip().startswith("{") else Problem.of_text(text).table
    except (ValueError, RecursionError) as error:  # also not UTF-8, not JSON, not TOML
        raise InputError(f"--values {path}: expected lines such as D3 = 0.45, or a JSON object: {error}") from None
    for name, value in found.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > sys.float_info.max:
            raise InputError(f"--values {path}: {name!r} must be a finite number, got {told(value)}")
    return [(name, float(value)) for name, value in found.items()]


def steps(title: str) -> Callable[[Sequence[Any]], Iterable[Any]]:
    """Items as they are worked through, under a progress bar that says which one it is."""

    def walk(items: Sequence[Any]) -> Iterator[Any]:
        with progress_bar(len(items), title) as step:
            for item in items:
                step(0, shown(str(item)))
                yield item
                step(1)

    return walk


def print_json(data: object) -> None:
    """On standard output."""
    print(json.dumps(data, indent=2, allow_nan=False))


def note(text: str) -> None:
    """What is worth knowing, on standard error."""
    print(f"neuler: note: {shown(text)}", file=sys.stderr)
