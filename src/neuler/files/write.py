"""Results as CSV, chunk by chunk, or as NPZ; what was kept of the states' table goes first."""

from __future__ import annotations

import csv
import io
import zipfile
from collections.abc import Iterable, Sequence
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from neuler.errors import FormatError
from neuler.files.cells import write_row
from neuler.files.match import refuse_clash
from neuler.kernels import Kernel
from neuler.robot.columns import column_names

Array = NDArray[np.float64]
Results = tuple[tuple[Array, ...], dict[str, NDArray[Any]]]
"""The outputs of a kernel, and what is kept beside them."""


def write_csv(
    file: IO[bytes], path: str, source: str, kernel: Kernel, chunks: Iterable[Results]
) -> tuple[int, list[str]]:
    """One state a row; gives the number of states and the names of columns that were kept."""
    results = [name for operand in kernel.outputs for name in column_names(kernel.robot, operand, kernel.options)]
    states = 0
    names: list[str] | None = None
    for outputs, kept in chunks:
        batch = _batch(kernel, outputs)
        if len(batch) > 1:
            raise FormatError(f"{path}: CSV holds one state a row, the input has batch axes {batch}; write .npz")
        beside = [_flat(source, name, value, batch) for name, value in kept.items()]
        flat = [np.reshape(x, (-1, o.size)) for x, o in zip(outputs, kernel.outputs, strict=True)]
        together = np.concatenate(flat, axis=1)
        text = io.StringIO()
        if names is None:
            names = [name for found, _ in beside for name in found]
            refuse_clash(source, kernel, names, results)
            write_row(text, [*names, *results])
        if names:
            cells = zip(*(column for _, columns in beside for column in columns), strict=True)
            for left, right in zip(cells, together.tolist(), strict=True):
                write_row(text, [*left, *right])
        else:
            csv.writer(text, lineterminator="\n").writerows(together.tolist())
        file.write(text.getvalue().encode("utf-8"))
        states += len(together)
    return states, names or []


def _batch(kernel: Kernel, outputs: Sequence[Array]) -> tuple[int, ...]:
    return outputs[0].shape[: outputs[0].ndim - len(kernel.outputs[0].shape)]


def _flat(source: str, name: str, value: NDArray[Any], batch: tuple[int, ...]) -> tuple[list[str], list[list[Any]]]:
    """Columns of an array that has one entry, or several, for every state."""
    if value.shape[: len(batch)] != batch:
        raise FormatError(
            f"{source}: array {name!r} is no input and would be kept, but its shape {value.shape} does not give "
            f"one row to each of {batch[0]} states; leave it out with --ignore {name!r}, or write .npz"
        )
    rest = value.shape[len(batch) :]
    names = [name] if not rest else [f"{name}[{','.join(map(str, spot))}]" for spot in np.ndindex(*rest)]
    return names, value.reshape(int(np.prod(batch)), -1).T.tolist()


def write_npz(
    file: IO[bytes], path: str, source: str, kernel: Kernel, chunks: Iterable[Results]
) -> tuple[int, list[str]]:
    """One array an output, and one for each that is kept; gives the number of states and the names of those."""
    collected = list(chunks)
    outputs = [_merged(parts) for parts in zip(*(found for found, _ in collected), strict=True)]
    kept = {name: _values(_merged([beside[name] for _, beside in collected])) for name in collected[0][1]}
    names = [operand.name for operand in kernel.outputs]
    refuse_clash(source, kernel, kept, names)
    whole = io.BytesIO()  # an archive is written to and fro, which a pipe cannot
    with zipfile.ZipFile(whole, "w") as archive:
        for name, value in (kept | dict(zip(names, outputs, strict=True))).items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
                np.lib.format.write_array(entry, np.asanyarray(value), allow_pickle=False)
    file.write(whole.getbuffer())
    return outputs[0].size // max(kernel.outputs[0].size, 1), list(kept)


def _merged(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _values(column: NDArray[Any]) -> NDArray[Any]:
    """Cells as numbers where all of them are, else as text."""
    if column.dtype != object:
        return column
    try:
        return column.astype(float)
    except ValueError:
        return column.astype(str)
