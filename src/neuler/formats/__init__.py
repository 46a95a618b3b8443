"""In and out: tables and files that describe robots."""

from __future__ import annotations

import inspect
import os
from typing import Any

from neuler.errors import FormatError
from neuler.formats.dh import DHRow, KhalilRow, from_dh
from neuler.formats.urdf import load_urdf
from neuler.formats.urdf_xml import Source, is_text
from neuler.robot.model import Robot

__all__ = ["DHRow", "KhalilRow", "from_dh", "load", "load_urdf"]

_SUPPORTED = "URDF (.urdf, or .xml with the root element <robot>)"


def load(source: Source, **options: Any) -> Robot:
    """A robot from a file, read by its suffix; text that begins with ``<`` and bytes are read as XML.

    Supported: URDF (``.urdf``, or ``.xml`` with the root element ``<robot>``); the options are
    those of :func:`load_urdf`.

    >>> load("<robot name='block'><link name='base'/></robot>").link_names
    ('base',)
    """
    if not isinstance(source, (str, bytes, os.PathLike)):
        raise FormatError(f"expected the path or the text of a robot file, got {type(source).__name__}")
    suffix = ".xml" if is_text(source) else os.path.splitext(os.fsdecode(source))[1].lower()
    if suffix in (".urdf", ".xml"):
        known = inspect.signature(load_urdf).parameters
        for name in options:
            if name not in known or name == "source":
                takes = ", ".join(key for key in known if key != "source")
                raise FormatError(f"load: unknown option {name!r}; URDF files take {takes}")
        return load_urdf(source, **options)
    if suffix == ".xacro":
        raise FormatError(f"{_shown(source)}: is a xacro file; run xacro first and load the URDF that it prints")
    what = f"the suffix {suffix!r}" if suffix else "no suffix"
    raise FormatError(f"{_shown(source)}: a file with {what} is not supported; supported: {_SUPPORTED}")


def _shown(source: Source) -> str:
    text = os.fsdecode(source)
    return repr(text if len(text) <= 120 else text[:117] + "...")
