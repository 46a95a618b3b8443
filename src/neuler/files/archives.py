"""NPZ: arrays by name from a file that may be damaged, encrypted or lying; whatever is wrong is a FormatError."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from neuler.errors import FormatError

_MAGIC = b"\x93NUMPY"
_HEADERS: dict[tuple[int, int], Callable[[Any], tuple[Any, bool, np.dtype[Any]]]] = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}
"""By version: how shape and type of an array are read."""


class Archive:
    """An NPZ file that is open: ``names`` of its arrays, each read when it is asked for. Nothing is unpickled."""

    def __init__(self, file: IO[bytes], told: str) -> None:
        self.told = told
        try:
            found = np.load(file, allow_pickle=False)
        except Exception as error:  # of ZIP, and of NumPy
            raise FormatError(f"{told}: cannot be read as an .npz archive of numbers: {_reason(error)}") from None
        if not isinstance(found, np.lib.npyio.NpzFile):
            raise FormatError(f"{told}: is a single array, not an .npz archive of named arrays")
        self._held = found
        self.names: list[str] = list(found.files)

    def read(self, name: str, remedy: str = "") -> NDArray[Any]:
        """One array; ``remedy`` ends the message where it cannot be read."""
        try:
            self._refuse(name)
            return np.asarray(self._held[name])
        except Exception as error:  # of ZIP, of its compressions, of NumPy's header, of Python's own parser
            raise FormatError(f"{self.told}: array {name!r} cannot be read: {_reason(error)}{remedy}") from None

    def _refuse(self, name: str) -> None:
        """What is encrypted, no array, or says that it is larger than it is: NumPy makes room before it reads."""
        archive: Any = self._held.zip
        entry = archive.getinfo(name if name in archive.namelist() else f"{name}.npy")
        if entry.flag_bits & 1:
            raise ValueError("it is encrypted; write the archive without a password")
        with archive.open(entry) as file:
            if file.read(len(_MAGIC)) != _MAGIC:
                raise ValueError("it is no array of NumPy")
        with archive.open(entry) as file:
            version = np.lib.format.read_magic(file)
            if version not in _HEADERS:
                raise ValueError(f"its header has the version {version}")
            shape, _, dtype = _HEADERS[version](file)
            needed, there = math.prod(shape) * dtype.itemsize, entry.file_size - file.tell()
        if needed > there and not dtype.hasobject:
            raise ValueError(f"it says that its shape is {shape}, {needed:,} bytes, and has {there:,}")


def _reason(error: Exception) -> str:
    if isinstance(error, MemoryError):
        return "it does not fit into memory"
    return str(error) or type(error).__name__
