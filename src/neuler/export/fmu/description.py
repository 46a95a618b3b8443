"""``modelDescription.xml``: what an importer reads before it loads anything."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from xml.etree import ElementTree as XML

from neuler.export.fmu import units
from neuler.export.fmu.names import text
from neuler.version import __version__

MODEL_EXCHANGE, CO_SIMULATION = "ModelExchange", "CoSimulation"
CATEGORIES = ("logStatusError", "logStatusDiscard")
"""Of messages, as ``fmu.c`` has them."""


@dataclass(frozen=True)
class Variable:
    """A real number of the model; its value reference is its place among all variables."""

    name: str
    causality: str
    """"input", "output", "parameter" or "local"."""
    about: str
    unit: str = ""
    start: float | None = None
    derivative: int | None = None
    """The place of the state whose rate it is."""
    depends: tuple[int, ...] | None = None
    """Places of the inputs and states that it is computed from; None: of all."""

    @property
    def computed(self) -> bool:
        """Whether it is an unknown, also when a run begins."""
        return self.start is None


@dataclass(frozen=True)
class Description:
    """A model: its name, its variables, what it is simulated with."""

    name: str
    identifier: str
    """What the library and the functions in it are called."""
    about: str
    variables: Sequence[Variable]
    kinds: Sequence[str]
    """``MODEL_EXCHANGE``, ``CO_SIMULATION``, or both."""
    dt: float
    slopes: bool = False
    """Whether directional derivatives are computed."""

    def xml(self, sources: Mapping[str, str]) -> tuple[str, str]:
        """The text, and the GUID, which tells that a library was made of it: it follows from both."""
        said = self._text(sources, "")
        content = repr((said, sorted(sources.items()))).encode()
        guid = f"{{{uuid.UUID(bytes=hashlib.blake2s(content, digest_size=16).digest())}}}"
        return self._text(sources, guid), guid

    def _text(self, sources: Mapping[str, str], guid: str) -> str:
        root = XML.Element(
            "fmiModelDescription",
            fmiVersion="2.0",
            modelName=text(self.name) or self.identifier,
            guid=guid,
            description=text(self.about),
            generationTool=f"neuler {__version__}",
            variableNamingConvention="structured",
            numberOfEventIndicators="0",
        )
        for kind in self.kinds:
            element = XML.SubElement(root, kind, self._abilities(kind))
            files = XML.SubElement(element, "SourceFiles")
            for name in sorted(sources):
                if name.endswith(".c"):
                    XML.SubElement(files, "File", name=name)
        self._units(root)
        categories = XML.SubElement(root, "LogCategories")
        for name in CATEGORIES:
            XML.SubElement(categories, "Category", name=name)
        XML.SubElement(root, "DefaultExperiment", startTime="0", stopTime="1", tolerance="1e-6", stepSize=repr(self.dt))
        variables = XML.SubElement(root, "ModelVariables")
        for place, each in enumerate(self.variables):
            _variable(variables, place, each)
        self._structure(XML.SubElement(root, "ModelStructure"))
        XML.indent(root)
        return f'<?xml version="1.0" encoding="UTF-8"?>\n{XML.tostring(root, encoding="unicode")}\n'

    def _abilities(self, kind: str) -> dict[str, str]:
        found = {"modelIdentifier": self.identifier}
        found |= {"canGetAndSetFMUstate": "true", "canSerializeFMUstate": "true"}
        if self.slopes:
            found["providesDirectionalDerivative"] = "true"
        own = "completedIntegratorStepNotNeeded" if kind == MODEL_EXCHANGE else "canHandleVariableCommunicationStepSize"
        return {**found, own: "true"}

    def _units(self, root: XML.Element) -> None:
        used = sorted({each.unit for each in self.variables} - {""})
        if not used:
            return
        parent = XML.SubElement(root, "UnitDefinitions")
        for unit in used:
            element = XML.SubElement(parent, "Unit", name=units.name(unit))
            XML.SubElement(element, "BaseUnit", {base: str(k) for base, k in units.powers(unit).items()})

    def _structure(self, parent: XML.Element) -> None:
        rates = [(k, each) for k, each in enumerate(self.variables) if each.derivative is not None]
        rates.sort(key=lambda pair: pair[1].derivative or 0)  # in the order of the states
        outputs = [(k, each) for k, each in enumerate(self.variables) if each.causality == "output"]
        unknown = [(k, each) for k, each in enumerate(self.variables) if each.computed]
        for name, found in (("Outputs", outputs), ("Derivatives", rates), ("InitialUnknowns", unknown)):
            if not found:
                continue
            element = XML.SubElement(parent, name)
            for k, each in found:
                more: dict[str, str] = {}
                if each.depends is not None and name != "InitialUnknowns":
                    more["dependencies"] = " ".join(str(place + 1) for place in sorted(each.depends))
                XML.SubElement(element, "Unknown", {"index": str(k + 1), **more})


def _variable(parent: XML.Element, place: int, each: Variable) -> None:
    said = {"name": each.name, "valueReference": str(place), "description": text(each.about)}
    said["causality"] = each.causality
    said["variability"] = "tunable" if each.causality == "parameter" else "continuous"
    if each.causality != "input":
        said["initial"] = "calculated" if each.computed else "exact"
    element = XML.SubElement(parent, "ScalarVariable", said)
    real = {"unit": units.name(each.unit)} if each.unit else {}
    if each.start is not None:
        real["start"] = repr(float(each.start))
    if each.derivative is not None:
        real["derivative"] = str(each.derivative + 1)
    XML.SubElement(element, "Real", real)
