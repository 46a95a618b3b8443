"""In and out: tables and files that describe robots."""

from __future__ import annotations

import inspect
import os
from typing import Any

from neuler.errors import FormatError, RobotError
from neuler.formats import par
from neuler.formats.dh import DHRow, KhalilRow, from_dh
from neuler.formats.urdf import load_urdf
from neuler.formats.urdf_xml import Source, is_text
from neuler.robot import Mechanism, Robot

__all__ = ["DHRow", "KhalilRow", "from_dh", "load", "load_urdf", "par"]

_SUPPORTED = "URDF (.urdf, or .xml with the root element <robot>), SYMORO+ (.par)"


def load(source: Source, *, floating_base: bool = False, **options: Any) -> Robot | Mechanism:
    """A robot from a file, read by its suffix, or from its text.

    Supported: URDF (``.urdf``, or ``.xml`` with the root element ``<robot>``) with the options of
    :func:`load_urdf`; SYMORO+ (``.par``) with those of :func:`neuler.formats.par.read`, such as
    ``values={"D3": 0.45}``. Text that begins with ``(*`` is read as SYMORO+, other text that begins
    with ``<`` and other bytes as XML. Closed loops and couplings give a :class:`Mechanism`.

    ``floating_base=True`` frees the base: :meth:`Robot.with_free_base`.

    >>> load("<robot name='block'><link name='base'/></robot>").link_names
    ('base',)
    >>> load("<robot name='block'><link name='base'/></robot>", floating_base=True).nv
    6
    """
    if not isinstance(source, (str, bytes, os.PathLike)):
        raise FormatError(f"expected the path or the text of a robot file, got {type(source).__name__}")
    if not len(os.fspath(source)) or not os.fspath(source).strip():
        raise FormatError("got an empty text: give the path of a robot file (.urdf, .xml, .par), or its whole text")
    if not isinstance(floating_base, bool):
        raise FormatError(f"option 'floating_base' must be True or False, got {floating_base!r}")
    if _is_par(source):
        suffix = ".par"
    else:
        suffix = ".xml" if is_text(source) else os.path.splitext(os.fsdecode(source))[1].lower()
    if suffix in (".urdf", ".xml"):
        found = load_urdf(source, **_known("URDF", load_urdf, options))
    elif suffix == ".par":
        found = par.read(source, **_known("SYMORO+", par.read, options))
    elif suffix == ".xacro":
        raise FormatError(f"{_shown(source)}: is a xacro file; run xacro first and load the URDF that it prints")
    else:
        what = f"the suffix {suffix!r}" if suffix else "no suffix"
        raise FormatError(f"{_shown(source)}: a file with {what} is not supported; supported: {_SUPPORTED}")
    return _freed(found) if floating_base else found


def _is_par(source: Source) -> bool:
    if isinstance(source, bytes):
        return source.lstrip(b"\xef\xbb\xbf \t\r\n")[:2] == b"(*"
    return isinstance(source, str) and source.lstrip("\ufeff \t\r\n").startswith("(*")


def _known(what: str, reader: Any, options: dict[str, Any]) -> dict[str, Any]:
    known = [name for name in inspect.signature(reader).parameters if name != "source"]
    for name in options:
        if name not in known:
            raise FormatError(f"load: unknown option {name!r}; {what} files take {', '.join(known)}, floating_base")
    return options


def _freed(machine: Robot | Mechanism) -> Robot | Mechanism:
    tree = machine if isinstance(machine, Robot) else machine.tree
    try:
        tree = tree.with_free_base()
    except RobotError as error:
        raise FormatError(
            f"floating_base=True: {error}; load it as it is and choose names: with_free_base(joint=..., world=...)"
        ) from None
    if isinstance(machine, Robot):
        return tree
    reference = None if machine.reference is None else (0, 0, 0, 0, 0, 0, 1, *machine.reference)
    return machine.replace(tree=tree, reference=reference)


def _shown(source: Source) -> str:
    text = os.fsdecode(source)
    return repr(text if len(text) <= 120 else text[:117] + "...")
