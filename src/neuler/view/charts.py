"""Curves beside a player, with a cursor at the time that it shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler.plain import shown

Array = NDArray[np.float64]

COLOURS = ("#3b6fb6", "#c2410c", "#0f766e", "#7e22ce", "#a16207", "#46586b")


@dataclass(frozen=True)
class Chart:
    """Curves over the times of a motion, (n,) each, by name."""

    title: str
    unit: str
    curves: Mapping[str, Array]
    colours: tuple[str, ...] = COLOURS
    """Of the curves, in turn."""

    def values(self, kept: NDArray[np.intp]) -> Array:
        """All curves at some of the times, (times, curves); what is not finite is zero."""
        return np.nan_to_num(np.stack([np.asarray(x, dtype=float)[kept] for x in self.curves.values()], axis=-1))

    def as_dict(self) -> dict[str, Any]:
        """Its words and colours as plain data for a page."""
        names = [
            {"name": shown(name), "colour": self.colours[k % len(self.colours)]} for k, name in enumerate(self.curves)
        ]
        return {"title": shown(self.title), "unit": shown(self.unit), "curves": names}
