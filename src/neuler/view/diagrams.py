"""Curves and maps: joint forces along a motion, matrices in colours."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler.plain import number
from neuler.view.space import HINGE, INK, MASS, SLIDE, plotting

Array = NDArray[np.float64]


LIMIT = "#6b7280"
"""The colour in which limits are drawn."""
NEAR = 0.5
"""Share of its limit from which a force is drawn beside it."""


def near_limit(force: Array, limit: float) -> bool:
    """Whether a force comes so near its limit that both are drawn; a limit of zero, or below, is none."""
    return 0.0 < limit < np.inf and float(np.abs(force).max()) >= NEAR * limit


def shows(still: Array, force: Array) -> bool:
    """Whether there is anything to draw of what standing still takes."""
    return float(np.abs(still).max()) > max(1e-3 * float(np.abs(force).max()), 1e-12)


def force_figure(times: Array, force: Array, gravity: Array, unit: str, limit: float = np.inf) -> Any:
    """The force of one joint along a motion, the share that gravity takes, and its limit where that is near."""
    figure = plotting()(figsize=(3.6, 1.9), layout="constrained")
    ax = figure.add_subplot()
    ax.axhline(0.0, color="#aab4c0", linewidth=0.8)
    if shows(gravity, force):
        ax.fill_between(times, gravity, color=MASS, alpha=0.22, linewidth=0)
        ax.plot(times, gravity, color=MASS, linewidth=1.1, linestyle=(0, (4, 2)))
    ax.plot(times, force, color=HINGE, linewidth=1.9)
    if near_limit(force, limit):
        for side in (limit,) * bool(force.max() >= NEAR * limit) + (-limit,) * bool(force.min() <= -NEAR * limit):
            ax.axhline(side, color=LIMIT, linewidth=1.2, linestyle=(0, (1, 1.5)))
    plain_axes(ax, unit)
    if max(float(np.abs(force).max()), float(np.abs(gravity).max())) < 1e-9:  # do not zoom into rounding
        ax.set_ylim(-1.0, 1.0)
    return figure


NAMED = 64
"""Joints up to which a map of a matrix names them."""


DECADES = 4
"""Of its largest entry, that a map of a matrix tells apart."""


def scale(matrix: Array) -> tuple[Any, str]:
    """How a map's colours stand for numbers, and that in words: by decades where entries differ much."""
    colors = importlib.import_module("matplotlib.colors")
    sizes = np.abs(matrix[matrix != 0.0])
    most = float(sizes.max(initial=0.0)) or 1.0
    least = max(float(sizes.min(initial=most)), most * 10.0**-DECADES)
    if least > 0.03 * most:
        return colors.Normalize(-most, most), ""
    near = 10.0 ** np.floor(np.log10(least))
    return colors.SymLogNorm(near, vmin=-most, vmax=most, base=10), f"logarithmic beyond \N{PLUS-MINUS SIGN}{near:g}"


def matrix_figure(matrix: Array, names: Sequence[str], rows: str, columns: str, across: Sequence[str] = ()) -> Any:
    """A matrix as colours: white is zero, red positive, blue as much negative; ``across`` names its columns."""
    n = max(matrix.shape)
    below, names = short_names(across or names), short_names(names)
    room = max((len(name) for name in (*names, *below)), default=0) if n <= NAMED else 0
    side = min(max(0.3 * n, 2.4), 9.0) + 0.05 * room
    size = min(7.5, 0.62 * 72 * min(0.3, 9.0 / n))  # of letters on ticks: no row on the next
    figure = plotting()(figsize=(side + 1.2, side), layout="constrained")
    ax = figure.add_subplot()
    most = float(np.abs(matrix).max(initial=0.0))
    norm, told = scale(np.where(np.abs(matrix) > 1e-12 * most, matrix, 0.0))
    shown = np.ma.masked_where(np.abs(matrix) <= 1e-12 * most, matrix)
    image = ax.imshow(shown, cmap="RdBu_r", norm=norm, interpolation="nearest")
    bar = figure.colorbar(image, ax=ax, shrink=1.0 if n < 9 else 0.8, pad=0.02)
    if told:
        _decades(bar, norm)
    bar.set_label(told, fontsize=7.5, color="#5b6876")
    bar.ax.tick_params(labelsize=7.5, colors="#5b6876")
    bar.outline.set_visible(False)
    if n <= NAMED:
        ax.set_xticks(range(len(below)), below, rotation=90, parse_math=False)
        ax.set_yticks(range(len(names)), names, parse_math=False)
        ax.set_xticks(np.arange(len(below) + 1) - 0.5, minor=True)
        ax.set_yticks(np.arange(len(names) + 1) - 0.5, minor=True)
        ax.grid(which="minor", color="#e3e7ec", linewidth=0.5)
        ax.tick_params(which="minor", length=0)
    ax.tick_params(labelsize=size, colors="#5b6876", length=2)
    ax.spines[:].set_color("#e3e7ec")
    ax.set_xlabel(columns, fontsize=8, color=INK)
    ax.set_ylabel(rows, fontsize=8, color=INK)
    return figure


def _decades(bar: Any, norm: Any) -> None:
    """Ticks at whole decades, zero among them."""
    powers = np.arange(np.floor(np.log10(norm.vmax)), round(np.log10(norm.linthresh)) - 1, -1)
    powers = powers[:: 1 if len(powers) < 5 else 2]
    marks = [*(-(10.0**powers)), 0.0, *(10.0 ** powers[::-1])]
    bar.set_ticks(marks, labels=[f"{x:g}".replace("-", "\N{MINUS SIGN}") for x in marks])
    bar.ax.minorticks_off()


def short_names(names: Sequence[str], most: int = 20) -> list[str]:
    """Names cut in the middle, at most so long; longer where two would look alike.

    >>> short_names(["left_front_leg_upper_joint", "left_front_leg_lower_joint", "neck"])
    ['left_front\N{HORIZONTAL ELLIPSIS}per_joint', 'left_front\N{HORIZONTAL ELLIPSIS}wer_joint', 'neck']
    """
    longest = max(map(len, names), default=0)
    for length in range(most, longest + 1):
        found = [_cut(name, length) for name in names]
        if len(set(found)) == len(set(names)):
            return found
    return list(names)


def _cut(name: str, most: int) -> str:
    end = most - 1 - most // 2
    return name if len(name) <= most else f"{name[: most // 2]}\N{HORIZONTAL ELLIPSIS}{name[len(name) - end :]}"


def margin_figure(times: Array, margin: Array) -> Any:
    """A positive number along a motion, from zero up."""
    figure = plotting()(figsize=(3.6, 1.9), layout="constrained")
    ax = figure.add_subplot()
    ax.plot(times, margin, color=SLIDE, linewidth=1.9)
    ax.set_ylim(0.0, 1.1 * float(np.nanmax(margin, initial=1e-12)))
    plain_axes(ax, "margin")
    return figure


LEAST = 0.01
"""Percent from which a share has a bar."""


def share_figure(names: Sequence[str], shares: Sequence[Array], colours: Sequence[str], unit: str) -> Any:
    """Bars in percent, one of each colour a name, on a logarithmic scale; the numbers stand beside them."""
    names, n = short_names([*names]), len(names)
    figure = plotting()(figsize=(6.4, 0.7 + 0.2 * (len(shares) + 0.6) * n), layout="constrained")
    ax = figure.add_subplot()
    high = max(float(np.max(part, initial=0.0)) for part in shares)
    for k, (part, colour) in enumerate(zip(shares, colours, strict=True)):
        place = np.arange(n) + 0.36 * (k - (len(shares) - 1) / 2)
        ax.barh(place, np.maximum(part - LEAST, 0.0), 0.32, left=LEAST, color=colour)
        for y, x in zip(place, part, strict=True):
            told = f"{number(x, 2 if x < 10 else 3)}%" if x >= LEAST else "0" if x < 1e-7 else f"< {LEAST:g}%"
            ax.text(max(x, LEAST) * 1.12, y, told, va="center", fontsize=7, color=INK)
    ax.set_xscale("log")
    ax.set_xlim(LEAST, max(10.0 * high, 1.0))
    ax.xaxis.set_major_formatter("{x:g}")
    ax.set_yticks(range(n), names, parse_math=False)
    ax.invert_yaxis()
    ax.set_xlabel(unit, fontsize=8, color=INK)
    ax.tick_params(labelsize=8, colors="#5b6876")
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color("#aab4c0")
    return figure


def plain_axes(ax: Any, unit: str) -> None:
    """Over time, small letters and no frame."""
    ax.set_xlabel("t / s", fontsize=8, color=INK)
    ax.set_ylabel(unit, fontsize=8, color=INK)
    ax.tick_params(labelsize=8, colors="#5b6876")
    ax.margins(x=0)
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color("#aab4c0")
