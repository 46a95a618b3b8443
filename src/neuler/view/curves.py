"""Curves of a simulated motion: positions with what was asked for, velocities, forces, energy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler.plain import shown
from neuler.view.charts import plain_axes, short_names
from neuler.view.space import INK, plotting

Array = NDArray[np.float64]
Curves = tuple[str, Array, Sequence[str], Sequence[str]]
"""What they are ("q"), numbers (n, k), and names and units of each."""

NAMED = 14
"""Curves of a panel up to which each is named."""
_TITLES = {"q": "positions", "qd": "velocities", "tau": "forces", "error": "errors"}


def run_figure(t: Array, groups: Sequence[Curves], goal: Array | None, energy: Array, drift: Array) -> Any:
    """One panel a group and a unit, then energy and its drift; dashed: what the reference asks for."""
    panels = [(name, unit) for name, _, _, units in groups for unit in dict.fromkeys(units)]
    rows = (len(panels) + 2 + 1) // 2
    figure = plotting()(figsize=(11.0, 2.6 * rows), layout="constrained")
    axes = figure.subplots(rows, 2, squeeze=False).ravel()
    place = iter(axes)
    for name, values, called, units in groups:
        for unit in dict.fromkeys(units):
            chosen = [k for k, other in enumerate(units) if other == unit]
            ax = next(place)
            _panel(ax, t, values[:, chosen], [called[k].removeprefix(f"{name}_") for k in chosen])
            if name == "q" and goal is not None:
                _dashed(ax, t, goal[:, chosen])
            plain_axes(ax, f"{_TITLES[name]}, {unit}" if unit else f"{_TITLES[name]}, quaternion")
    for values, told in ((energy, "energy, J"), (drift, "energy drift, J")):
        ax = next(place)
        ax.plot(t, values, color=INK, linewidth=1.4)
        plain_axes(ax, told)
    for ax in place:
        ax.set_visible(False)
    return figure


def _panel(ax: Any, t: Array, values: Array, names: Sequence[str]) -> None:
    short = short_names([shown(name) for name in names])
    for k, name in enumerate(short):
        ax.plot(t, values[:, k], linewidth=1.3, label=name.lstrip("_") or name)
    if len(names) <= NAMED:
        legend = ax.legend(fontsize=7, frameon=False, ncols=1 + (len(names) > 6), loc="center left",
                           bbox_to_anchor=(1.0, 0.5))  # fmt: skip
        for text in legend.get_texts():
            text.set_parse_math(False)


def _dashed(ax: Any, t: Array, values: Array) -> None:
    colours = [line.get_color() for line in ax.lines]
    for k, colour in enumerate(colours):
        ax.plot(t, values[:, k], color=colour, linewidth=1.0, linestyle=(0, (4, 2)), alpha=0.7)
