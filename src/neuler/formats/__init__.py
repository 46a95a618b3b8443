"""In and out: tables and files that describe robots."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from neuler.errors import FormatError
from neuler.formats import par
from neuler.formats.dh import DHRow, KhalilRow, from_dh
from neuler.formats.mjcf import load_mjcf
from neuler.formats.registry import FORMATS, checked, format_of, suffixes
from neuler.formats.source import Source
from neuler.formats.strict import refuse_errors
from neuler.formats.urdf import load_urdf
from neuler.formats.xacro import load_xacro
from neuler.robot import Robot

__all__ = ["DHRow", "KhalilRow", "from_dh", "load", "load_mjcf", "load_urdf", "load_xacro", "par", "save"]


def load(source: Source, *, floating_base: bool = False, strict: bool = False, **options: Any) -> Robot:
    """A robot from a file, read by its suffix, or from its text.

    ============  ============================================  ==================================================
    format        known by                                      options
    ============  ============================================  ==================================================
    URDF          ``.urdf``, or ``.xml`` with ``<robot>``       :func:`load_urdf`
    MJCF, MuJoCo  ``.mjcf``, or ``.xml`` with ``<mujoco>``      :func:`load_mjcf`: ``without=["gravcomp"]``
    xacro         ``.xacro``; its expressions are evaluated,    :func:`load_xacro`: ``arguments={"prefix": "left_"}``
                  as those of a program
    SYMORO+       ``.par``                                      :func:`par.read`: ``values={"D3": 0.45}``
    ============  ============================================  ==================================================

    Text that begins with ``(*`` is read as SYMORO+, other text that begins with ``<`` and other bytes as XML. Closed
    loops and mimic joints are loops and couplings of the robot.

    ``floating_base=True`` frees the base: :meth:`Robot.with_free_base`. ``strict=True`` refuses a robot that cannot
    be, in which :meth:`Robot.check` finds errors; else a negative mass gives a warning.

    >>> load("<robot name='block'><link name='base'/></robot>").link_names
    ('base',)
    >>> load("<robot name='block'><link name='base'/></robot>", floating_base=True).nv
    6
    """
    if not isinstance(source, (str, bytes, os.PathLike)):
        raise FormatError(f"expected the path or the text of a robot file, got {type(source).__name__}")
    if not os.fspath(source).strip():
        known = ", ".join(suffixes())
        raise FormatError(f"got an empty text: give the path of a robot file ({known}), or its whole text")
    for name, value in (("floating_base", floating_base), ("strict", strict)):
        if not isinstance(value, bool):
            raise FormatError(f"option {name!r} must be True or False, got {value!r}")
    form = format_of(source)
    found = form.read(source, **checked(form, options))
    if strict:
        refuse_errors(found)
    return found.with_free_base() if floating_base else found


def save(robot: Robot, path: str | os.PathLike[str], *, format: str | None = None) -> None:
    """Write a robot to a file, in the format of its suffix: SYMORO+ (``.par``), which holds the most, URDF or MJCF.

    ``format``, one of ``"SYMORO+"``, ``"URDF"`` and ``"MJCF"``, goes before the suffix. Without it an ``.xml`` file
    that exists keeps its format, and a new one is URDF. What a format cannot hold is refused by name; nothing is
    written then. What each holds: :func:`neuler.formats.par.write`, :func:`neuler.formats.urdf_write.write`,
    :func:`neuler.formats.mjcf_write.write`.

    >>> import tempfile, neuler
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(neuler.robots.rx90(), folder + "/arm.par")
    ...     save(neuler.robots.rx90(), folder + "/arm.xml", format="MJCF")
    ...     load(folder + "/arm.par") == neuler.robots.rx90()
    True
    """
    text = _writer(path, format)(robot)
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise FormatError(f"{os.fsdecode(path)}: cannot be written: {error.strerror or error}") from None


def _writer(path: str | os.PathLike[str], wanted: str | None) -> Callable[[Robot], str]:
    """How a robot is written: in the wanted format, else in that of the suffix."""
    known = [form for form in FORMATS if form.write is not None]
    if wanted is not None:
        for form in known:
            if isinstance(wanted, str) and form.name.lower() == wanted.lower():
                assert form.write is not None
                return form.write
        raise FormatError(f"option 'format' must be one of {', '.join(form.name for form in known)}, got {wanted!r}")
    suffix = os.path.splitext(os.fsdecode(path))[1].lower()
    fitting = [form for form in known if suffix in form.suffixes]
    if len(fitting) > 1 and Path(path).is_file():
        fitting = [format_of(path)]
    for form in fitting:
        if form.write is not None:
            return form.write
    told = ", ".join(f"{form.name} ({', '.join(form.suffixes)})" for form in known)
    raise FormatError(
        f"{os.fsdecode(path)!r}: robots are written as {told}; give the file such a suffix, or say format="
    )
