"""States in, results out, as tables: CSV in chunks of bounded memory, or NPZ. Never a half-written file.

A CSV file has one state a row under a header that names the columns. The vector ``q`` of a robot
with the joints ``shoulder`` and ``elbow`` is spelled ``q_shoulder, q_elbow`` or ``q1, q2`` or
``q[0], q[1]``; the same goes for ``qd``, ``qdd``, ``tau``. Results are named likewise:
``tau_shoulder``; a matrix is flattened to ``mass_matrix[0,0], mass_matrix[0,1]``. An NPZ file holds
one array for each input under the input's name, batch axes first. What is no input, such as the time, is kept beside
the results. :mod:`neuler.robot.columns` has all names, :mod:`neuler.files.match` finds them in a header,
:mod:`neuler.files.states` has what is asked of states of machines with loops.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neuler.errors import FormatError
from neuler.files.ends import STANDARD, format_of, name_of, target
from neuler.files.match import Chosen, Note
from neuler.files.read import Part, Report, read_csv, read_npz
from neuler.files.states import closings
from neuler.files.write import Results, write_csv, write_npz
from neuler.kernels import Kernel

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Done:
    """How many states were computed, and which columns (or arrays) were kept."""

    states: int
    kept: list[str]


def evaluate(
    kernel: Kernel,
    source: str,
    target_path: str,
    *,
    formats: tuple[str | None, str | None] = (None, None),
    ignore: Sequence[str] = (),
    drop: bool = False,
    report: Report | None = None,
    assemble: bool = False,
    note: Note = lambda text: None,
) -> Done:
    """Compute ``kernel`` for all states of one table into another; "-" is standard input and output.

    ``formats`` of both ("csv", "npz") are by default those of their suffixes. ``ignore``: names and patterns of columns
    that are left out; ``drop``: keep none that is no input. ``assemble``: loops are closed, with the platform's pose or
    the independent joints as given in the file.
    """
    form = format_of(source, formats[0], "--in-format"), format_of(target_path, formats[1], "--out-format")
    files = STANDARD not in (source, target_path) and os.path.exists(target_path) and os.path.exists(source)
    if files and os.path.samefile(source, target_path):
        raise FormatError(f"{target_path!r}: is the file that the states come from; write the results to another one")
    ways = closings(kernel) if assemble else []
    chosen = Chosen(ignore, drop, note)
    parts: Iterable[Part]
    if form[0] == "npz":
        parts = [read_npz(source, kernel, chosen, ways)]
    else:
        parts = read_csv(source, kernel, chosen, report, ways=ways)
    chunks = ((_outputs(kernel, part.inputs), part.kept) for part in parts)
    write = write_npz if form[1] == "npz" else write_csv
    with target(target_path, form[1]) as file:
        told = name_of(target_path, output=True)
        return Done(*write(file, told, name_of(source), kernel, _counted(kernel, chunks, note)))


def _outputs(kernel: Kernel, arrays: Sequence[Array]) -> tuple[Array, ...]:
    if not kernel.robot.loops:
        found = kernel(*arrays)
    else:
        with np.errstate(invalid="ignore", divide="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # states without a result are counted
            found = kernel(*arrays)
    return found if isinstance(found, tuple) else (found,)


def _counted(kernel: Kernel, chunks: Iterable[Results], note: Note) -> Iterator[Results]:
    """The same; of a machine, states without a result are counted and told."""
    lost = states = 0
    for outputs, kept in chunks:
        core = len(kernel.outputs[0].shape)
        nan = np.isnan(outputs[0]).any(axis=tuple(range(-core, 0)))
        lost, states = lost + int(nan.sum()), states + nan.size
        yield outputs, kept
    if lost and kernel.robot.loops:
        note(
            f"{lost} of {states} states have no result (nan): there the machine is singular, or asked to move as its "
            "loops do not allow"
        )
