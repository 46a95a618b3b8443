"""MJCF files before MuJoCo sees them: which are read, what is unsafe, and which meshes no inertia needs."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from neuler import extras
from neuler.errors import FormatError
from neuler.formats.source import Source, label_of, remember
from neuler.formats.xml import Element, is_text, read_xml

MOST_FILES = 200
"""Files that a model may include."""
MOST_COPIES = 10_000
"""Bodies that <replicate>, <composite> and the like may make."""
MOST_NUMBERS = 1_000_000
"""Numbers of a user's own that a model may hold."""
_COPIED = ("replicate", "composite", "flexcomp")
_ALL_GROUPS = "0 5"
"""Of geoms; MuJoCo's default."""
_SIZES = ("nuserdata", "nkey", "nuser_body", "nuser_jnt", "nuser_geom", "nuser_site", "nuser_cam", "nuser_tendon",
          "nuser_actuator", "nuser_sensor")  # fmt: skip


def compiled(source: Source) -> tuple[Any, Any, list[str]]:
    """MuJoCo's ``MjSpec`` of a file or text, the ``MjModel`` that it compiles to, and notes: its warnings, sensors.

    Meshes, textures and height fields that no inertia comes from are left out, so that they need not be there.
    """
    extras.require("mujoco", "MJCF files are read by MuJoCo's own compiler", "mjcf")
    import mujoco

    if not hasattr(mujoco, "MjSpec"):
        raise ImportError(f"MJCF files need MuJoCo 3.3 or newer, got {mujoco.__version__}; install a newer one")
    root, compilers = _checked(source)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        spec, model, sensors = _compiled(mujoco, source, root, compilers)
    notes = [f"MuJoCo: {warning.message}" for warning in said]
    return spec, model, [*notes, f"ignored: sensors ({sensors})"] if sensors else notes


def _compiled(mujoco: Any, source: Source, root: Element, compilers: list[Mapping[str, str]]) -> tuple[Any, Any, int]:
    try:
        if is_text(source):
            spec = mujoco.MjSpec.from_string(_text(source))
        elif os.fsdecode(source).lower().endswith(".xml"):
            spec = mujoco.MjSpec.from_file(os.fsdecode(source))
        else:  # MuJoCo opens files by their suffix
            spec = mujoco.MjSpec.from_string(_text(Path(os.fsdecode(source)).read_bytes()))
            spec.modelfiledir = str(Path(os.fsdecode(source)).resolve().parent)
        sensors = len(spec.sensors)
        _without_shapes(mujoco, spec, Inertias.of(spec, mujoco, compilers))
        spec.compiler.fusestatic = False
        return spec, spec.compile(), sensors
    except (ValueError, RuntimeError, mujoco.FatalError) as error:
        raise FormatError(f"{root.file}: MuJoCo's compiler refuses it: {_one_line(error)}") from None


def _text(source: Source) -> str:
    text = source if isinstance(source, str) else bytes(source).decode("utf-8")  # type: ignore[arg-type]
    return text.lstrip("\ufeff \t\r\n")


def _one_line(error: Exception) -> str:
    text = "; ".join(line.strip() for line in str(error).splitlines() if line.strip())
    if "opening file" in text or ("not found" in text and "file" in text):
        text += "; a mesh is needed where a body has no <inertial>: add the file, or the inertia"
    return text


# ---- what is unsafe ----------------------------------------------------------------------------------------


def _checked(source: Source) -> tuple[Element, list[Mapping[str, str]]]:
    """The root of a model whose files are all regular, small, and free of circles and of floods of copies.

    With it what the compilers of the models that it attaches are told.
    """
    root = read_xml(source, "MJCF")
    if root.tag == "mujocoinclude":
        raise root.error("<mujocoinclude> is a part of a model; load the file that includes it")
    if root.tag != "mujoco":
        raise root.error(f"expected the root element <mujoco> of an MJCF file, got <{root.tag}>")
    folder = Path.cwd() if is_text(source) else Path(os.fsdecode(source)).parent
    open_files = [] if is_text(source) else [Path(os.fsdecode(source)).resolve()]
    other_suffix = not is_text(source) and not os.fsdecode(source).lower().endswith(".xml")
    walk = _Walk(folder, other_suffix)
    walk.visit(root, folder, open_files, 1)
    if open_files:
        remember(os.fsdecode(source), [*map(str, open_files), *walk.read])
    return root, walk.compilers


class _Walk:
    """Through a model and all files that it includes or attaches."""

    def __init__(self, main: Path, other_suffix: bool) -> None:
        self.main = main
        self.other_suffix = other_suffix
        self.read: list[str] = []
        self.compilers: list[Mapping[str, str]] = []
        self.copies = 0

    def visit(self, element: Element, folder: Path, opened: list[Path], copies: int) -> None:
        """An element and all below it, which is made so many times."""
        _check_numbers(element)
        if element.tag == "compiler":
            self.compilers.append(element.attributes)
        if element.tag in _COPIED:
            copies *= _count(element)
        if copies > 1 and element.tag in ("body", "geom", "site", *_COPIED):
            self.copies += copies
            if self.copies > MOST_COPIES:
                raise element.error(f"<{element.tag}> makes more than {MOST_COPIES:,} copies; no robot needs so many")
        if (element.tag == "include" or element.tag == "model") and "file" in element.attributes:
            self.enter(element, folder, opened, copies)
        for child in element.children:
            self.visit(child, folder, opened, copies)

    def enter(self, element: Element, folder: Path, opened: list[Path], copies: int) -> None:
        """The file that an element names, beside the file that it stands in or beside the model's."""
        name = element.attribute("file", f"<{element.tag}>")
        if self.other_suffix:
            raise element.error("MuJoCo lets only files named .xml name others; rename the model")
        found = next((path for base in (folder, self.main) if (path := base / name).exists()), None)
        if found is None:
            raise element.error(f"<{element.tag}> names {name!r}, and there is no such file beside the model")
        whole = found.resolve()
        if whole in opened:
            circle = " includes ".join(label_of(path.name) for path in [*opened[opened.index(whole) :], whole])
            raise element.error(f"files include each other in a circle: {circle}")
        self.read.append(str(whole))
        if len(self.read) > MOST_FILES:
            raise element.error(f"more than {MOST_FILES} files are included; no robot needs so many")
        if element.tag == "model":  # has a compiler of its own
            self.compilers.append({})
        self.visit(read_xml(str(found), "MJCF"), found.parent, [*opened, whole], copies)


def _check_numbers(element: Element) -> None:
    """No NaN, which MuJoCo lets pass, and no memory without bounds."""
    for name, value in element.attributes.items():
        if "nan" in value.lower() and any(part.lower().lstrip("+-") == "nan" for part in value.split()):
            raise element.error(f"attribute {name!r} of <{element.tag}> is not finite: {value[:60]!r}")
    sizes = _SIZES if element.tag == "size" else ("size",) if element.tag == "numeric" else ()
    for name in sizes:
        if _whole(element.attributes.get(name, "0")) > MOST_NUMBERS:
            raise element.error(f"{name!r} of <{element.tag}> is more than {MOST_NUMBERS:,}; no robot needs so many")


def _count(element: Element) -> int:
    """How many copies an element makes, at least."""
    product = 1
    for part in element.attributes.get("count", "1").split()[:4]:
        product *= max(1, min(_whole(part), MOST_COPIES + 1))
    return product


def _whole(text: str) -> int:
    try:
        value = float(text.split()[0]) if text.split() else 0.0
    except ValueError:
        return 0  # MuJoCo says what is wrong with it
    return int(value) if math.isfinite(value) and abs(value) < 1e18 else 10**18


# ---- what is not needed ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Inertias:
    """Which geoms give a body its inertia; of a model that attaches others, all that any of their compilers takes."""

    always: bool
    """Also where there is an ``<inertial>``."""
    never: bool
    first: int
    last: int

    @classmethod
    def of(cls, spec: Any, mujoco: Any, compilers: Iterable[Mapping[str, str]]) -> Inertias:
        """From the model's own compiler, and what others are told."""
        way = mujoco.mjtInertiaFromGeom
        names = {way.mjINERTIAFROMGEOM_TRUE: "true", way.mjINERTIAFROMGEOM_FALSE: "false"}
        ways = {names.get(spec.compiler.inertiafromgeom, "auto")}
        groups = list(spec.compiler.inertiagrouprange)
        for each in compilers:
            ways.add(each.get("inertiafromgeom", "auto"))
            groups += [_whole(part) for part in each.get("inertiagrouprange", _ALL_GROUPS).split()[:2]]
        return cls("true" in ways, ways == {"false"}, min(groups), max(groups))

    def come_from(self, body: Any, geom: Any) -> bool:
        """Whether a geom may decide the inertia of its body."""
        if body.name == "world" or self.never or (body.explicitinertial and not self.always):
            return False
        weightless = geom.density == 0.0 if math.isnan(geom.mass) else geom.mass == 0.0
        return bool(self.first <= geom.group <= self.last and not weightless)


def _without_shapes(mujoco: Any, spec: Any, inertias: Inertias) -> None:
    """Every shape from a file that decides no inertia becomes a ball, so that its file is not opened.

    Deleting it would break what names it: sensors, pairs, tendons. A height field of a body that moves has a mass, too.
    """
    shapes = mujoco.mjtGeom
    files = (shapes.mjGEOM_MESH, shapes.mjGEOM_HFIELD, shapes.mjGEOM_SDF)
    kept = set()
    for body in spec.bodies:
        moves = _moves(body)
        for geom in body.geoms:
            if geom.type not in files and not geom.meshname:
                continue
            field = geom.type == shapes.mjGEOM_HFIELD
            if inertias.come_from(body, geom) and (moves or not field):
                kept |= {geom.meshname, geom.hfieldname}
                continue
            if field:
                geom.mass = 0.0
            geom.type, geom.meshname, geom.hfieldname, geom.size = shapes.mjGEOM_SPHERE, "", "", [1e-3, 0.0, 0.0]
    for material in spec.materials:
        material.textures = [""] * len(material.textures)
    touch = getattr(mujoco.mjtSensor, "mjSENS_TACTILE", None)  # names a mesh
    shapes_of = (each for each in [*spec.hfields, *spec.meshes] if each.name not in kept)
    for thing in [*(x for x in spec.sensors if x.type == touch), *spec.textures, *spec.skins, *shapes_of]:
        if hasattr(spec, "delete"):
            spec.delete(thing)
        else:  # in older versions of MuJoCo
            thing.delete()


def _moves(body: Any) -> bool:
    """Whether a body, or one that carries it, has a joint."""
    while body is not None and body.name != "world":
        if len(body.joints):
            return True
        body = body.parent
    return False
