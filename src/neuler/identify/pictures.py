"""Pictures of a fit: forces as measured and as predicted, what is left of them, and how that is distributed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from neuler.identify.series import Series, autocorrelation
from neuler.plain import shown
from neuler.view.diagrams import plain_axes
from neuler.view.space import HINGE, INK, plotting, sized

if TYPE_CHECKING:
    from neuler.identify.result import Identification

Array = NDArray[np.float64]

MEASURED, PREDICTED, BEFORE, REST = "#8fb4e3", HINGE, "#8b96a3", "#e8ecf1"
"""Colours: what was measured, the identified robot, the given one, rows at which the joint rests."""
_POINTS = 700
"""Buckets into which a long curve is divided; of each its least and its largest number are drawn."""
_LAGS, _SHARE = 60, 0.05
"""Autocorrelations that are drawn, over this share of the run."""
_PLACES = ((0.07, 0.44, 0.7, 0.54), (0.07, 0.14, 0.7, 0.25), (0.84, 0.56, 0.145, 0.42), (0.84, 0.14, 0.145, 0.24))
"""Left, bottom, width and height of the panels of a force, the same for all, so that they are aligned down a page."""
_MOST_PANELS = 48
"""Panels of the overview."""


def envelope(t: Array, y: Array, buckets: int = _POINTS) -> tuple[Array, Array]:
    """A curve (n,) with fewer points that looks the same: of each bucket its least and its largest number, in order.

    >>> t, y = envelope(np.arange(10_000.0), np.where(np.arange(10_000) == 4321, 1.0, 0.0), 100)
    >>> len(t) <= 200, float(y.max())
    (True, 1.0)
    """
    if len(t) <= 2 * buckets:
        return t, y
    size = -(-len(t) // buckets)
    whole = len(t) // size * size
    parts = y[:whole].reshape(-1, size)
    starts = np.arange(len(parts)) * size
    ends = np.sort(np.stack([parts.argmin(axis=1), parts.argmax(axis=1)], axis=1), axis=1)
    kept = np.unique(np.concatenate([(starts[:, None] + ends).ravel(), [0, len(t) - 1], np.arange(whole, len(t))[-1:]]))
    return t[kept], y[kept]


def force_picture(run: Series, k: int, unit: str) -> Any:
    """One force of a run: measured and predicted, the residual below; its autocorrelation and histogram beside them."""
    figure = plotting()(figsize=(10.4, 3.1))
    top, below, above, beside = (figure.add_axes(place) for place in _PLACES)
    below.sharex(top)
    _forces(top, run, k)
    plain_axes(top, unit)
    top.set_xlabel("")
    top.tick_params(labelbottom=False)
    _residual(below, run, k)
    plain_axes(below, f"residual, {unit}")
    _correlation(above, run, k)
    _histogram(beside, run.residual[:, k], below.get_ylim())
    for ax in (top, below):
        ax.yaxis.set_label_coords(-0.065, 0.5)
    return figure


def _forces(ax: Any, run: Series, k: int) -> None:
    ax.axhline(0.0, color="#dfe4ea", linewidth=0.8)
    ax.plot(*envelope(run.t, run.measured[:, k]), color=MEASURED, linewidth=3.4)
    ax.plot(*envelope(run.t, run.predicted[:, k]), color=PREDICTED, linewidth=1.1)
    low, high = ax.get_ylim()  # the given robot may be far off: it does not set the scale
    ax.plot(*envelope(run.t, run.given[:, k]), color=BEFORE, linewidth=0.9, linestyle=(0, (4, 2)), zorder=1)
    ax.set_ylim(low, high)


def _residual(ax: Any, run: Series, k: int) -> None:
    residual = run.residual[:, k]
    most = 1.1 * float(np.abs(residual).max(initial=0.0)) or 1.0
    for first, last in _stretches(~run.moving[:, k]):
        ax.axvspan(run.t[first], run.t[min(last, len(run.t) - 1)], color=REST, linewidth=0)
    ax.axhline(0.0, color="#aab4c0", linewidth=0.8)
    ax.plot(*envelope(run.t, residual), color=INK, linewidth=0.8)
    ax.set_ylim(-most, most)


def _stretches(mask: NDArray[np.bool_], most: int = 150) -> list[tuple[int, int]]:
    """Where a mask is true, from row to row; the longest of many."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]]).astype(np.int8)))
    pairs = [(int(first), int(last)) for first, last in zip(edges[::2], edges[1::2], strict=True)]
    return sorted(pairs, key=lambda pair: pair[0] - pair[1])[:most]


def _correlation(ax: Any, run: Series, k: int) -> None:
    """Autocorrelation of the residual, with the band in which that of white noise lies."""
    stride = max(1, round(_SHARE * len(run.t) / _LAGS))
    lags = min(_LAGS * stride, len(run.t) - 1)
    r = autocorrelation(run.residual[:, k], lags)[::stride]
    step = 1e3 * stride * float(run.t[-1] - run.t[0]) / max(1, len(run.t) - 1)
    band = 1.96 / np.sqrt(len(run.t))
    ax.axhspan(-band, band, color=REST, linewidth=0)
    ax.axhline(0.0, color="#aab4c0", linewidth=0.8)
    ax.vlines(step * np.arange(1, len(r)), 0.0, r[1:], color=INK, linewidth=1.1)
    ax.set_ylim(min(-0.25, 1.1 * float(r.min())), 1.05)
    plain_axes(ax, "autocorrelation")
    ax.set_xlabel("lag / ms", fontsize=8, color=INK)


def _histogram(ax: Any, residual: Array, span: tuple[float, float]) -> None:
    """How often which residual is, on its side, with the normal distribution of the same deviation."""
    counts, edges = np.histogram(residual, bins=36, range=span)
    ax.barh(edges[:-1], counts, np.diff(edges), align="edge", color="#c9d1da", linewidth=0)
    sd = float(residual.std())
    if sd > 0.0:
        y = np.linspace(*span, 121)
        bell = np.exp(-0.5 * ((y - residual.mean()) / sd) ** 2) / (sd * np.sqrt(2 * np.pi))
        ax.plot(bell * len(residual) * (edges[1] - edges[0]), y, color=INK, linewidth=1.0)
    plain_axes(ax, "")
    ax.set_ylim(*span)
    ax.set_xlim(left=0.0)
    ax.tick_params(labelleft=False)
    ax.set_xlabel("samples", fontsize=8, color=INK)


def overview(result: Identification, figure: Any = None) -> Any:
    """A row of panels a force, a column a run: measured and predicted."""
    runs = result.runs[: max(1, min(4, _MOST_PANELS // max(1, len(result.forces))))]
    forces = list(zip(result.forces, result.units, strict=True))[:_MOST_PANELS]
    figure = sized(figure, (0.8 + 4.6 * max(2, len(runs)), 0.9 + 1.5 * len(forces)))
    axes = figure.subplots(len(forces), len(runs), squeeze=False, sharex="col")
    for k, (name, unit) in enumerate(forces):
        for column, run in enumerate(runs):
            ax = axes[k, column]
            _forces(ax, run, k)
            plain_axes(ax, f"{shown(name)}, {unit}" if column == 0 else unit)
            if k < len(forces) - 1:
                ax.set_xlabel("")
            if k == 0:
                told = f"{run.name}, held out" if run.held_out else run.name
                ax.set_title(shown(told), fontsize=9, color=INK, parse_math=False)
    figure.align_ylabels()
    marks = [(MEASURED, "measured", "-"), (PREDICTED, "identified robot", "-"), (BEFORE, "given robot", (0, (4, 2)))]
    lines = [axes[0, 0].plot([], [], color=colour, linestyle=style)[0] for colour, _, style in marks]
    figure.legend(lines, [name for _, name, _ in marks], loc="outside lower center", ncols=3, fontsize=8, frameon=False)
    return figure
