"""MJCF files before MuJoCo sees them: which it would open, and what would fill the memory or never end."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from neuler.formats.source import Source, label_of, remember
from neuler.formats.xml import MAX_ELEMENTS, Element, is_text, read_xml

MOST_FILES = 200
"""Files that a model may include."""
DEEPEST = 300
"""Levels of elements, those of files that include each other together."""
MOST_COPIES = 10_000
"""Bodies that <replicate>, <composite> and the like may make."""
MOST_NUMBERS = 10_000_000
"""Numbers of a user's own that a model may hold, and those of its height fields."""
FINEST = 1_000
"""Parameters of meshes that MuJoCo makes itself."""
_COPIED = ("replicate", "composite", "flexcomp")
_SIZES = ("nuserdata", "nkey", "nuser_body", "nuser_jnt", "nuser_geom", "nuser_site", "nuser_cam", "nuser_tendon",
          "nuser_actuator", "nuser_sensor")  # fmt: skip
_ASSETS = ("mesh", "hfield", "texture", "skin", "flexcomp")
_FOLDERS = ("meshdir", "texturedir", "assetdir")


def checked(source: Source) -> tuple[Element, list[Mapping[str, str]]]:
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
    other_suffix = not is_text(source) and not os.fsdecode(source).endswith(".xml")
    walk = _Walk(folder, other_suffix)
    walk.model(root, folder, open_files, 1)
    walk.check_assets()
    if open_files:
        remember(os.fsdecode(source), [*map(str, open_files), *walk.read])
    return root, walk.compilers


@dataclass
class _Model:
    """A model with all that it includes: what it attaches, and how many elements it makes."""

    weights: dict[str, int] = field(default_factory=dict)
    """Of the models that it may attach, by their names."""
    attached: list[tuple[Element, int]] = field(default_factory=list)
    weight: int = 0

    def total(self) -> int:
        """All elements, those of what is attached each time that it is."""
        total = self.weight
        for element, copies in self.attached:
            total += copies * self.weights.get(element.attributes.get("model", ""), 1)
            if total > MAX_ELEMENTS:
                raise element.error(f"<attach> makes more than {MAX_ELEMENTS:,} elements; no robot needs so many")
        return total


class _Walk:
    """Through a model and all files that it includes or attaches."""

    def __init__(self, main: Path, other_suffix: bool) -> None:
        self.main = main
        self.other_suffix = other_suffix
        self.read: list[str] = []
        self.compilers: list[Mapping[str, str]] = []
        self.copies = self.numbers = 0
        self.assets: list[tuple[Element, Path]] = []
        self.folders = {""}

    def model(self, root: Element, folder: Path, opened: list[Path], depth: int) -> int:
        """A whole model; how many elements it makes."""
        model = _Model()
        self.visit(root, folder, opened, 1, depth, model)
        return model.total()

    def visit(self, element: Element, folder: Path, opened: list[Path], copies: int, depth: int, model: _Model) -> None:
        """An element and all below it, which is made so many times."""
        if depth > DEEPEST:
            raise element.error(f"elements nested more than {DEEPEST} deep; no robot needs so many levels")
        self.check(element)
        given = element.attributes
        if element.tag == "compiler":
            self.compilers.append(given)
            self.folders.update(given[name] for name in _FOLDERS if name in given)
        if element.tag in _ASSETS and "file" in given:
            self.assets.append((element, folder))
        if element.tag in _COPIED:
            copies *= _count(element)
        if copies > 1 and element.tag in ("body", "geom", "site", *_COPIED):
            self.copies += copies
            if self.copies > MOST_COPIES:
                raise element.error(f"<{element.tag}> makes more than {MOST_COPIES:,} copies; no robot needs so many")
        model.weight += copies
        if element.tag == "attach":
            model.attached.append((element, copies))
        if element.tag in ("include", "model") and "file" in given:
            self.enter(element, folder, opened, copies, depth, model)
        for child in element.children:
            self.visit(child, folder, opened, copies, depth + 1, model)

    def enter(self, element: Element, folder: Path, opened: list[Path], copies: int, depth: int, model: _Model) -> None:
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
        root = read_xml(str(found), "MJCF")
        if element.tag == "include":
            self.visit(root, found.parent, [*opened, whole], copies, depth + 1, model)
            return
        self.compilers.append({})  # it has one of its own
        weight = self.model(root, found.parent, [*opened, whole], depth + 1)
        own = root.attributes.get("model") or root.attributes.get("name", "")
        model.weights[element.attributes.get("name") or own] = weight

    def check(self, element: Element) -> None:
        """No NaN, which MuJoCo lets pass, and no memory without bounds."""
        _check_numbers(element)
        self.numbers += max(0, _numbers(element))
        if self.numbers > MOST_NUMBERS:
            raise element.error(f"<{element.tag}> makes more than {MOST_NUMBERS:,} numbers; no robot needs so many")

    def check_assets(self) -> None:
        """No file of a mesh or an image is a pipe or a device, at which MuJoCo would wait."""
        for element, folder in self.assets:
            for path in self.places(element.attributes["file"], folder):
                if os.path.exists(path) and not os.path.isfile(path):
                    raise element.error(f"<{element.tag}> names {label_of(path)!r}, which is not a regular file")

    def places(self, name: str, folder: Path) -> Iterator[str]:
        """Where MuJoCo may look for a file."""
        for base in {str(folder), str(self.main), ""}:
            for between in self.folders:
                for each in {name, os.path.basename(name)} - {""}:
                    yield os.path.join(base, between, each)


def _check_numbers(element: Element) -> None:
    """No attribute is NaN, or a size beyond reason."""
    for name, value in element.attributes.items():
        if "nan" in value.lower() and any(part.lower().lstrip("+-") == "nan" for part in value.split()):
            raise element.error(f"attribute {name!r} of <{element.tag}> is not finite: {value[:60]!r}")
    for name in _SIZES if element.tag == "size" else ():
        if whole(element.attributes.get(name, "0")) > MOST_NUMBERS:
            raise element.error(f"{name!r} of <{element.tag}> is more than {MOST_NUMBERS:,}; no robot needs so many")
    params = element.attributes.get("params", "") if element.tag == "mesh" and "builtin" in element.attributes else ""
    if any(whole(part) > FINEST for part in params.split()):
        raise element.error(f"'params' of <mesh> has more than {FINEST:,}; no robot needs so fine a mesh")


def _numbers(element: Element) -> int:
    """How many numbers an element stands for that are not in the file."""
    given = element.attributes
    if element.tag == "hfield":
        return whole(given.get("nrow", "0")) * whole(given.get("ncol", "0"))
    return whole(given.get("size", "0")) if element.tag == "numeric" else 0


def _count(element: Element) -> int:
    """How many copies an element makes, at least."""
    product = 1
    for part in element.attributes.get("count", "1").split()[:4]:
        product *= max(1, min(whole(part), MOST_COPIES + 1))
    return product


def whole(text: str) -> int:
    """The whole number that a text begins with; zero where it has none.

    >>> whole("3 1 1"), whole("1e99"), whole("three")
    (3, 1000000000000000000, 0)
    """
    try:
        value = float(text.split()[0]) if text.split() else 0.0
    except ValueError:
        return 0  # MuJoCo says what is wrong with it
    return int(value) if math.isfinite(value) and abs(value) < 1e18 else 10**18
