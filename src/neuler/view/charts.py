"""Curves and maps: joint forces along a motion, matrices in colours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler.view.space import HINGE, INK, MASS, SLIDE, plotting

Array = NDArray[np.float64]


def force_figure(times: Array, force: Array, gravity: Array, unit: str) -> Any:
    """The force of one joint along a motion, and the share that gravity takes."""
    figure = plotting()(figsize=(3.6, 1.9), layout="constrained")
    ax = figure.add_subplot()
    ax.axhline(0.0, color="#aab4c0", linewidth=0.8)
    ax.fill_between(times, gravity, color=MASS, alpha=0.22, linewidth=0)
    ax.plot(times, gravity, color=MASS, linewidth=1.1, linestyle=(0, (4, 2)))
    ax.plot(times, force, color=HINGE, linewidth=1.9)
    _plain(ax, unit)
    if max(float(np.abs(force).max()), float(np.abs(gravity).max())) < 1e-9:  # do not zoom into rounding
        ax.set_ylim(-1.0, 1.0)
    return figure


NAMED = 40
"""Joints up to which a map of a matrix names them."""


def matrix_figure(matrix: Array, names: Sequence[str], rows: str, columns: str, across: Sequence[str] = ()) -> Any:
    """A matrix as colours: white is zero, red positive, blue as much negative; ``across`` names its columns."""
    n = max(matrix.shape)
    below = across or names
    room = max((len(name) for name in (*names, *across)), default=0) if n <= NAMED else 0
    side = min(max(0.3 * n, 2.2), 8.0) + 0.05 * min(room, 24)
    figure = plotting()(figsize=(side + 1.0, side), layout="constrained")
    ax = figure.add_subplot()
    most = float(np.abs(matrix).max(initial=0.0)) or 1.0
    image = ax.imshow(np.ma.masked_equal(matrix, 0.0), cmap="RdBu_r", vmin=-most, vmax=most, interpolation="nearest")
    bar = figure.colorbar(image, ax=ax, shrink=0.8, pad=0.02)
    bar.ax.tick_params(labelsize=7.5, colors="#5b6876")
    bar.outline.set_visible(False)
    if n <= NAMED:
        ax.set_xticks(range(len(below)), [_short(name) for name in below], rotation=90, parse_math=False)
        ax.set_yticks(range(len(names)), [_short(name) for name in names], parse_math=False)
        ax.set_xticks(np.arange(len(below) + 1) - 0.5, minor=True)
        ax.set_yticks(np.arange(len(names) + 1) - 0.5, minor=True)
        ax.grid(which="minor", color="#e3e7ec", linewidth=0.5)
        ax.tick_params(which="minor", length=0)
    ax.tick_params(labelsize=7.5, colors="#5b6876", length=2)
    ax.spines[:].set_color("#e3e7ec")
    ax.set_xlabel(columns, fontsize=8, color=INK)
    ax.set_ylabel(rows, fontsize=8, color=INK)
    return figure


def _short(name: str) -> str:
    return name if len(name) <= 24 else f"{name[:23]}\N{HORIZONTAL ELLIPSIS}"


def margin_figure(times: Array, margin: Array) -> Any:
    """A positive number along a motion, from zero up."""
    figure = plotting()(figsize=(3.6, 1.9), layout="constrained")
    ax = figure.add_subplot()
    ax.plot(times, margin, color=SLIDE, linewidth=1.9)
    ax.set_ylim(0.0, 1.1 * float(np.nanmax(margin, initial=1e-12)))
    _plain(ax, "margin")
    return figure


def _plain(ax: Any, unit: str) -> None:
    ax.set_xlabel("t / s", fontsize=8, color=INK)
    ax.set_ylabel(unit, fontsize=8, color=INK)
    ax.tick_params(labelsize=8, colors="#5b6876")
    ax.margins(x=0)
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color("#aab4c0")
