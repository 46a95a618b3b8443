"""Which formats there are: by what suffix and what beginning each is known, how it is read and written."""

from __future__ import annotations

import inspect
import itertools
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from neuler.errors import FormatError
from neuler.formats import mjcf_write, par, urdf_write
from neuler.formats.mjcf import load_mjcf
from neuler.formats.source import Source, file_chunks
from neuler.formats.urdf import SDF, load_urdf
from neuler.formats.xacro import load_xacro
from neuler.formats.xml import root_tag
from neuler.robot import Robot

HEAD = 2**16
"""Bytes at the beginning of a text that tell its format."""


@dataclass(frozen=True)
class Format:
    """A format of robot files. One row of the table below is all that ``load`` and ``save`` know of it."""

    name: str
    suffixes: tuple[str, ...]
    opens: str
    """What its text begins with, blanks left out: so it is told from a path."""
    begins: Callable[[str], bool]
    """Whether a text that begins so is of this format, among those with the same suffix."""
    read: Callable[..., Robot]
    """From a path or text, and options."""
    write: Callable[[Robot], str] | None = None
    told: str = ""
    """Where it is known by more than its suffixes."""

    @property
    def options(self) -> tuple[str, ...]:
        """Names of what its reader may be told."""
        return tuple(name for name in inspect.signature(self.read).parameters if name != "source")

    def __str__(self) -> str:
        return f"{self.name} ({self.told or ', '.join(self.suffixes)})"


FORMATS: tuple[Format, ...] = (
    Format(
        "URDF", (".urdf", ".xml"), "<", lambda head: root_tag(head) == "robot", load_urdf, urdf_write.write,
        told=".urdf, or .xml with the root element <robot>",
    ),
    Format(
        "MJCF", (".mjcf", ".xml"), "<", lambda head: root_tag(head) in ("mujoco", "mujocoinclude"), load_mjcf,
        mjcf_write.write, told=".mjcf, or .xml with the root element <mujoco>",
    ),
    Format("SYMORO+", (".par",), "(*", lambda head: head.startswith("(*"), par.read, par.write),
    Format("xacro", (".xacro",), "<", lambda head: False, load_xacro, told=".xacro, .urdf.xacro"),
)  # fmt: skip
"""Text that none recognises is given to the first."""

MADE_BY_OTHERS = {
    ".sdf": SDF, ".world": SDF,
    ".mjb": "is a compiled model of MuJoCo, which has no names of what it left out; load the MJCF file it was made of",
}  # fmt: skip
"""Suffixes of other descriptions of robots, and what to do with these."""


def suffixes() -> tuple[str, ...]:
    """Of all formats.

    >>> suffixes()
    ('.urdf', '.xml', '.mjcf', '.par', '.xacro')
    """
    return tuple(dict.fromkeys(itertools.chain.from_iterable(form.suffixes for form in FORMATS)))


def is_text(source: Source) -> bool:
    """Whether the source is a robot's text rather than a path to it: bytes, or what begins like a format.

    >>> is_text("arm.urdf"), is_text("<robot name='arm'/>")
    (False, True)
    """
    if isinstance(source, bytes):
        return True
    return isinstance(source, str) and _bare(source).startswith(tuple(form.opens for form in FORMATS))


def format_of(source: Source) -> Format:
    """The format of a path, by its suffix, or of text, by its beginning."""
    if is_text(source):
        known = FORMATS
    else:
        suffix = os.path.splitext(os.fsdecode(source))[1].lower()
        if suffix in MADE_BY_OTHERS:
            raise FormatError(f"{_shown(source)}: {MADE_BY_OTHERS[suffix]}")
        known = tuple(form for form in FORMATS if suffix in form.suffixes)
        if not known:
            what = f"the suffix {suffix!r}" if suffix else "no suffix"
            there = ", ".join(map(str, FORMATS))
            ready = "; neuler.robots.get(name) makes a robot of the catalogue, neuler.robots.names() lists them"
            ready = ready if os.fsdecode(source).isidentifier() else ""
            raise FormatError(f"{_shown(source)}: a file with {what} is not supported; supported: {there}{ready}")
    if len(known) == 1:
        return known[0]
    head = _head(source)
    return next((form for form in known if form.begins(head)), known[0])


def _head(source: Source) -> str:
    """The first of a text or of a file, without the blanks before it."""
    if not is_text(source):
        source = next(file_chunks(os.fsdecode(source), "robot", 2**62), b"")
    start = os.fspath(source)[:HEAD]
    return _bare(start if isinstance(start, str) else start.decode("utf-8", "replace"))


def _bare(text: str) -> str:
    return text.lstrip("\ufeff \t\r\n")


def checked(form: Format, options: dict[str, Any]) -> dict[str, Any]:
    """The options, if the format's reader knows them all."""
    for name in options:
        if name not in form.options:
            known = ", ".join(form.options)
            raise FormatError(f"load: unknown option {name!r}; {form.name} files take {known}, floating_base, strict")
    return options


def _shown(source: Source) -> str:
    text = os.fsdecode(source)
    return repr(text if len(text) <= 120 else text[:117] + "...")
