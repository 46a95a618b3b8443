"""A unit as it is handed over: an archive of a description, sources and libraries, equal bytes for equal content."""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from neuler.errors import InputError

_DATE = (1980, 1, 1, 0, 0, 0)
"""Of every file: the earliest that archives can have."""


@dataclass(frozen=True, eq=False)
class FMU:
    """A Functional Mock-up Unit, FMI 2.0: what ``robot.fmu`` returns."""

    name: str
    """The model identifier: of the library, and a good name of the file."""
    description: str
    """``modelDescription.xml``."""
    sources: Mapping[str, str]
    """C99, by the names of files; all that is needed to build the library anywhere."""
    binaries: Mapping[str, bytes]
    """Libraries, by their paths in the archive."""
    notes: tuple[str, ...] = ()
    """What this unit does not do, and why."""

    @property
    def archive(self) -> bytes:
        """The bytes of the file."""
        files = {"modelDescription.xml": self.description.encode()}
        files |= {path: self.binaries[path] for path in sorted(self.binaries)}
        files |= {f"sources/{name}": self.sources[name].encode() for name in sorted(self.sources)}
        whole = io.BytesIO()
        with zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as archive:
            for path, content in files.items():
                entry = zipfile.ZipInfo(path, _DATE)
                entry.compress_type = zipfile.ZIP_DEFLATED
                entry.create_system = 3
                entry.external_attr = (0o755 if path in self.binaries else 0o644) << 16
                archive.writestr(entry, content)
        return whole.getvalue()

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the file; a folder gets one of the unit's name. Returns where it is."""
        target = Path(path)
        if target.is_dir():
            target /= f"{self.name}.fmu"
        if target.suffix != ".fmu":
            raise InputError(f"fmu: a file that ends with .fmu is expected, got {os.fspath(path)!r}")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(self.archive)
        return target

    def __repr__(self) -> str:
        """Name, kinds, platforms."""
        kinds = [kind for kind in ("ModelExchange", "CoSimulation") if f"<{kind} " in self.description]
        built = ", ".join(sorted(path.split("/")[1] for path in self.binaries)) or "sources only"
        return f"<FMU {self.name}: {' and '.join(kinds)}; {built}>"
