"""Logs that hold the measurements of another one, under whatever name: they say nothing that the other does not.

Noise is never the same twice. Rows that have the positions and forces of another log to the last digit were measured
once and copied.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from neuler.errors import InputError
from neuler.identify.prepared import Prepared

_FEW = 0.05
"""Share of moving rows up to which they may be alike by chance, where sensors have coarse steps."""


def refuse_same(logs: Sequence[Prepared], again: Sequence[Prepared]) -> None:
    """Refuse instruments whose positions are those of a log that is fitted: their noise is not another."""
    for other in again:
        for each in logs:
            copied = _copied(other, each)
            if np.array_equal(other.log.q, each.log.q):
                told = "the positions"
            elif copied.sum() > _FEW * _moves(other).sum():
                told = f"{copied.sum()} rows"
            else:
                continue
            raise InputError(
                f"fit: instruments: log {other.name!r} has {told} of {each.name!r}, which is fitted, to the last "
                "digit; an instrument must have noise of its own: run the same motion again, measure it, and give that "
                "log, or controller="
            )


def judged_by_themselves(logs: Sequence[Prepared], others: Sequence[Prepared]) -> list[str]:
    """Notes of held-out logs whose rows are fitted, too."""
    found = []
    for other in others:
        moves = _moves(other)
        copied, names = np.zeros_like(moves), []
        for each in logs:
            own = _copied(other, each)
            if own.sum() > _FEW * moves.sum():
                copied |= own
                names.append(repr(each.name))
        if names:
            rows = "" if copied.sum() == moves.sum() else f"in {copied.sum()} of {moves.sum()} rows that move "
            found.append(
                f"{other.name!r} is held out, and {rows}has the measurements of {' and '.join(names)}, which "
                f"{'is' if len(names) == 1 else 'are'} fitted: its errors there say nothing of other motions"
            )
    return found


def _copied(log: Prepared, of: Prepared) -> NDArray[np.bool_]:
    """Which rows of a log that move, as it was measured, are rows of another one."""
    one, two = (np.concatenate([each.log.q, each.log.tau], axis=1) for each in (log, of))
    mixed = np.random.default_rng(0).normal(size=one.shape[1])  # a number that differs where rows do
    alike = np.isin((one * mixed).sum(axis=1), (two * mixed).sum(axis=1))
    return np.asarray(alike & _moves(log), dtype=bool)


def _moves(log: Prepared) -> NDArray[np.bool_]:
    """Rows of a log, as it was measured, whose positions are others than those of the row before."""
    steps = np.diff(log.log.q, axis=0, prepend=np.nan * log.log.q[:1])
    return np.asarray(steps.any(axis=1), dtype=bool)
