"""MJCF files through MuJoCo's compiler, without the meshes that no inertia needs."""

from __future__ import annotations

import math
import os
import threading
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from neuler import extras
from neuler.errors import FormatError
from neuler.formats.mjcf_walk import checked, whole
from neuler.formats.source import Source
from neuler.formats.xml import Element, is_text

_ALL_GROUPS = "0 5"
"""Of geoms; MuJoCo's default."""


_ONE_AT_A_TIME = threading.Lock()
"""Python's warnings, which MuJoCo gives, are of all threads together."""


def compiled(source: Source) -> tuple[Any, Any, list[str]]:
    """MuJoCo's ``MjSpec`` of a file or text, the ``MjModel`` that it compiles to, and notes: its warnings, sensors.

    Meshes, textures and height fields that no inertia comes from are left out, so that they need not be there.
    """
    extras.require("mujoco", "MJCF files are read by MuJoCo's own compiler", "mjcf")
    import mujoco

    if not hasattr(mujoco, "MjSpec"):
        raise ImportError(f"MJCF files need MuJoCo 3.3 or newer, got {mujoco.__version__}; install a newer one")
    root, compilers = checked(source)
    with _ONE_AT_A_TIME, warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        spec, model, sensors = _compiled(mujoco, source, root, compilers)
    notes = [f"MuJoCo: {warning.message}" for warning in said]
    return spec, model, [*notes, f"ignored: sensors ({sensors})"] if sensors else notes


def _compiled(mujoco: Any, source: Source, root: Element, compilers: list[Mapping[str, str]]) -> tuple[Any, Any, int]:
    try:
        if is_text(source):
            spec = mujoco.MjSpec.from_string(_text(source))
        elif os.fsdecode(source).endswith(".xml"):
            spec = mujoco.MjSpec.from_file(os.fsdecode(source))
        else:  # MuJoCo opens files by their suffix
            spec = mujoco.MjSpec.from_string(_text(Path(os.fsdecode(source)).read_bytes()))
            spec.modelfiledir = str(Path(os.fsdecode(source)).resolve().parent)
        sensors = len(spec.sensors)
        _without_shapes(mujoco, spec, Inertias.of(spec, mujoco, compilers))
        _without_sizes(spec)
        return spec, spec.compile(), sensors
    except UnicodeError:
        raise FormatError(f"{root.file}: has text that is not UTF-8, and MuJoCo reads no other; save it so") from None
    except (ValueError, RuntimeError, mujoco.FatalError) as error:
        raise FormatError(f"{root.file}: MuJoCo's compiler refuses it: {_one_line(error)}") from None


def _text(source: Source) -> str:
    text = source if isinstance(source, str) else bytes(source).decode("utf-8")  # type: ignore[arg-type]
    text.encode("utf-8")  # or it has half characters
    return text.lstrip("\ufeff \t\r\n")


def _one_line(error: Exception) -> str:
    text = "; ".join(line.strip() for line in str(error).splitlines() if line.strip())
    if "opening file" in text or ("not found" in text and "file" in text):
        text += "; a mesh is needed where a body has no <inertial>: add the file, or the inertia"
    return text


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
            groups += [whole(part) for part in each.get("inertiagrouprange", _ALL_GROUPS).split()[:2]]
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


def _without_sizes(spec: Any) -> None:
    """What a model reserves, and keyframes that it only counts."""
    spec.nkey = spec.nuserdata = 0
    if hasattr(spec, "memory"):
        spec.memory = -1
    for name in (name for name in dir(spec) if name.startswith("nuser_")):
        setattr(spec, name, -1)


def _moves(body: Any) -> bool:
    """Whether a body, or one that carries it, has a joint."""
    while body is not None and body.name != "world":
        if len(body.joints):
            return True
        body = body.parent
    return False
