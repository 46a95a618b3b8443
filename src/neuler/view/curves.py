"""Curves of a simulated motion: positions with what was asked for, velocities, forces, energy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler.plain import number, shown
from neuler.view.diagrams import plain_axes, short_names
from neuler.view.space import INK, sized

Array = NDArray[np.float64]
Curves = tuple[str, Array, Sequence[str], Sequence[str]]
"""What they are ("q"), numbers (n, k), and names and units of each."""

_ROUNDING = 1e-9
"""Share of an energy by which it changes where it does not."""
NAMED = 14
"""Curves of a panel up to which each is named."""
_TITLES = {"q": "positions", "qd": "velocities", "tau": "forces", "error": "errors"}


def run_figure(
    t: Array, groups: Sequence[Curves], goal: Array | None, energy: Array, drift: Array, figure: Any = None,
    title: str = "",
) -> Any:  # fmt: skip
    """One panel a group and a unit, then energy and its drift; dashed: what the reference asks for.

    ``figure``: an empty one to draw into; else one that pyplot knows is made.

    Where a few moments are far beyond all others, a panel shows the others, and says what it leaves out.
    """
    panels = [(name, unit) for name, _, _, units in groups for unit in dict.fromkeys(units)]
    rows = (len(panels) + 2 + 1) // 2
    figure = sized(figure, (11.0, 2.6 * rows))
    axes = figure.subplots(rows, 2, squeeze=False).ravel()
    place = iter(axes)
    for name, values, called, units in groups:
        for unit in dict.fromkeys(units):
            chosen = [k for k, other in enumerate(units) if other == unit]
            ax = next(place)
            _panel(ax, t, values[:, chosen], [called[k].removeprefix(f"{name}_") for k in chosen])
            if name == "q" and goal is not None:
                _dashed(ax, t, goal[:, chosen])
            _cut(ax, t, values[:, chosen])
            plain_axes(ax, f"{_TITLES[name]}, {unit}" if unit else f"{_TITLES[name]}, quaternion")
    for values, told in ((energy, "energy, J"), (drift, "energy drift, J")):
        ax = next(place)
        ax.plot(t, values, color=INK, linewidth=1.4)
        plain_axes(ax, told)
        good = values[np.isfinite(values)]
        if values is energy and len(good) and np.ptp(good) < _ROUNDING * np.abs(good).max():  # do not zoom into that
            ax.set_ylim(good.mean() - 1e-3 * abs(good.mean()), good.mean() + 1e-3 * abs(good.mean()))
    for ax in place:
        ax.set_visible(False)
    if title:
        figure.suptitle(shown(title), fontsize=10, color=INK, parse_math=False)
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


def span(values: Array) -> tuple[float, float] | None:
    """Least and largest number of a panel without the few moments far beyond the others; None where there are none.

    Of every curve, (n, k), the quantiles count: one percent of its moments on either side may be left out.

    >>> calm = np.sin(np.linspace(0.0, 10.0, 1000))[:, None]
    >>> span(calm) is None
    True
    >>> spike = np.where(np.arange(1000)[:, None] == 0, 500.0, calm)
    >>> [round(x, 1) for x in span(spike)]
    [-1.0, 1.0]
    """
    good = values[np.isfinite(values).all(axis=1)]
    if len(good) < MOMENTS:
        return None
    low, high = (float(f(np.quantile(good, q, axis=0))) for f, q in ((np.min, RARE), (np.max, 1.0 - RARE)))
    return (low, high) if 0.0 < BEYOND * (high - low) < float(good.max() - good.min()) else None


RARE, BEYOND, MOMENTS = 0.01, 3.0, 200
"""Share of a curve's moments that may be cut off on a side, how much larger the whole must be, and of how many."""


def _cut(ax: Any, t: Array, values: Array) -> None:
    """Scale a panel by what most moments show; what is beyond is told in its corner."""
    found = span(values)
    if found is None:
        return
    low, high = found
    room = 0.15 * (high - low)
    ax.set_ylim(low - room, high + room)
    at = np.unravel_index(np.nanargmax(np.abs(values - 0.5 * (low + high))), values.shape)
    told = f"cut off: {number(float(values[at]), 4)} at {number(float(t[at[0]]), 3)} s"
    ax.text(0.99, 0.97, told, transform=ax.transAxes, ha="right", va="top", fontsize=7, color="#5b6876")


def _dashed(ax: Any, t: Array, values: Array) -> None:
    colours = [line.get_color() for line in ax.lines]
    for k, colour in enumerate(colours):
        ax.plot(t, values[:, k], color=colour, linewidth=1.0, linestyle=(0, (4, 2)), alpha=0.7)
