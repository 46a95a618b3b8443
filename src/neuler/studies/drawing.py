"""Axes of the pictures of a study: maps, points, curves, distributions, drawn from numbers that are checked."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler.plain import number, shown
from neuler.view.diagrams import short_names
from neuler.view.space import CUT, HINGE, INK, MASS, ROTOR, SLIDE, SPRING, STEEL

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

_SOFT, _LINE = "#5b6876", "#aab4c0"
"""Ticks and frames."""
_COLOURS = (MASS, HINGE, SLIDE, SPRING, CUT, ROTOR, STEEL, INK)
"""Of curves that stand together."""
_DECADES = 1e3
"""Ratio of the largest to the least number from which an axis is logarithmic, if most of them are small."""
_TREND = 200
"""Points from which the median is drawn through them."""
_TURNS = 4.0
"""How often, on average, numbers may run through their whole range along an axis of a map with contour lines."""
_JUMP = 0.6
"""Share of their whole range by which numbers of neighbouring cells may differ on a map with contour lines."""
_SMOOTHED = 5000
"""Numbers from which the outline of a distribution is made."""
_NAMED = 12
"""Entries up to which each is named and drawn by itself."""


def labels(ax: Any, x: str, y: str) -> None:
    """Names beside axes, small letters and no frame."""
    ax.set_xlabel(shown(x), fontsize=8.5, color=INK, parse_math=False)
    ax.set_ylabel(shown(y), fontsize=8.5, color=INK, parse_math=False)
    ax.tick_params(labelsize=8, colors=_SOFT)
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(_LINE)


def hide(axes: Sequence[Any]) -> None:
    """Leave places empty."""
    for ax in axes:
        ax.set_visible(False)


def outer(axes: Sequence[Any], across: int) -> None:
    """Names only below the lowest axes and left of the leftmost, where all share them."""
    for k, ax in enumerate(axes):
        lowest = k + across >= len(axes)
        ax.xaxis.label.set_visible(lowest)
        ax.yaxis.label.set_visible(k % across == 0)
        ax.tick_params(labelbottom=lowest, labelleft=k % across == 0)


def is_logarithmic(values: Array) -> bool:
    """Whether numbers are spread over decades.

    >>> is_logarithmic(np.logspace(-3, 3, 50)), is_logarithmic(np.linspace(1.0, 1e4, 50))
    (True, False)
    """
    good = values[np.isfinite(values)]
    if not len(good) or good.min() <= 0.0 or good.max() / good.min() < _DECADES:
        return False
    return bool(np.median(good) < 0.1 * good.max())


def is_geometric(values: Array) -> bool:
    """Whether numbers were chosen by their ratios: sorted, their logarithms are about evenly spaced.

    >>> is_geometric(np.array([1.0, 2.0, 5.0, 10.0, 20.0])), is_geometric(np.array([1.0, 2.0, 4.0, 6.0, 8.0]))
    (True, False)
    """
    if len(values) < 4 or values[0] <= 0.0 or values[-1] < 10.0 * values[0]:
        return False
    ratios = np.diff(np.log(values))
    return bool(ratios.max() < 2.0 * ratios.min())


def _scale(ax: Any, axis: str, values: Array) -> None:
    if is_logarithmic(values) or (axis == "x" and is_geometric(np.unique(values))):
        getattr(ax, f"set_{axis}scale")("log")


def _bar(figure: Any, ax: Any, drawn: Any) -> None:
    bar = figure.colorbar(drawn, ax=ax, pad=0.02, aspect=28)
    bar.ax.tick_params(labelsize=8, colors=_SOFT)
    bar.outline.set_visible(False)


def _norm(values: Array) -> Any:
    colours = importlib.import_module("matplotlib.colors")
    good = values[np.isfinite(values)]
    if is_logarithmic(good):
        return colours.LogNorm(good.min(), good.max())
    return colours.Normalize(*((good.min(), good.max()) if len(good) else (0.0, 1.0)))


# ---- two settings --------------------------------------------------------------------------------------------------


def heat_map(figure: Any, ax: Any, x: Array, y: Array, cells: Array, bad: NDArray[np.int_]) -> None:
    """Colours and contour lines of cells (len(y), len(x)); ``bad``: 1 where not finite, 2 where rows failed."""
    edges = [_edges(ax, "x", x), _edges(ax, "y", y)]
    masked = np.ma.masked_where(~np.isfinite(cells), cells)
    drawn = ax.pcolormesh(*edges, masked, cmap="viridis", norm=_norm(cells), rasterized=True)
    _bar(figure, ax, drawn)
    if _is_smooth(cells):
        spread = masked.compressed()
        levels = _decades(spread.min(), spread.max()) if is_logarithmic(spread) else 6
        lines = ax.contour(x, y, masked, levels=levels, colors="white", linewidths=0.8, alpha=0.85)
        ax.clabel(lines, fontsize=7, fmt=lambda level: number(float(level), 3))
    patches = importlib.import_module("matplotlib.collections")
    for kind, hatch in ((1, "...."), (2, "////")):
        corners = [
            [(edges[0][k], edges[1][j]), (edges[0][k + 1], edges[1][j]), (edges[0][k + 1], edges[1][j + 1]),
             (edges[0][k], edges[1][j + 1])]
            for j, k in zip(*np.nonzero(bad == kind), strict=True)
        ]  # fmt: skip
        if corners:
            ax.add_collection(
                patches.PolyCollection(
                    corners, facecolor="#f1f3f5", edgecolor=HINGE if kind == 2 else _SOFT, hatch=hatch, linewidth=0.0
                )
            )
    ax.set_xlim(edges[0][0], edges[0][-1])
    ax.set_ylim(edges[1][0], edges[1][-1])


def _decades(low: float, high: float) -> list[float]:
    """Round numbers between two others, far apart: 1, 2 and 5 times powers of ten, or only these where they are many.

    >>> _decades(3e-3, 4.0)
    [0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0]
    >>> _decades(3e-3, 40.0)
    [0.01, 0.1, 1.0, 10.0]
    """
    powers = range(int(np.floor(np.log10(low))), int(np.ceil(np.log10(high))) + 1)
    few = (1, 2, 5) if high < 1e4 * low else (1,)
    return [level for k in powers for m in few if low < (level := float(f"{m}e{k}")) < high]


def _is_smooth(cells: Array) -> bool:
    """Whether contour lines say something: along each axis, numbers neither jump nor go up and down all the time."""
    good = cells[np.isfinite(cells)]
    if min(cells.shape) < 3 or len(good) < 9 or np.ptp(good) <= 1e-12 * np.abs(good).max():
        return False
    if is_logarithmic(good):
        cells, good = np.log(np.where(np.isfinite(cells), cells, np.nan)), np.log(good)
    ways, jumps = [], []
    for axis in (0, 1):
        steps = np.abs(np.diff(cells, axis=axis))
        fine = steps[np.isfinite(steps)]
        ways.append(float(fine.mean()) * steps.shape[axis] if len(fine) else 0.0)
        jumps.append(float(fine.max()) if len(fine) else 0.0)
    spread = float(np.ptp(good))
    return max(ways) <= _TURNS * spread and max(jumps) <= _JUMP * spread


def _edges(ax: Any, axis: str, centres: Array) -> Array:
    """Ends of cells, half-way between their centres on the scale of the axis: logarithmic where ratios are equal."""
    logarithmic = is_logarithmic(centres) or is_geometric(centres)
    at = np.log(centres) if logarithmic else centres
    inner = (at[1:] + at[:-1]) / 2
    edges = np.concatenate([[2 * at[0] - inner[0]], inner, [2 * at[-1] - inner[-1]]])
    if logarithmic:
        getattr(ax, f"set_{axis}scale")("log")
    return np.exp(edges) if logarithmic else edges


def coloured_points(figure: Any, ax: Any, x: Array, y: Array, values: Array, good: Mask) -> None:
    """Points (n,) of a plane in the colours of their values, crosses where rows failed."""
    fine = good & np.isfinite(values)
    drawn = ax.scatter(
        x[fine], y[fine], c=values[fine], cmap="viridis", norm=_norm(values[fine]), s=_size(int(fine.sum())),
        linewidth=0, rasterized=True,
    )  # fmt: skip
    _bar(figure, ax, drawn)
    ax.plot(x[~good], y[~good], "x", color=HINGE, markersize=4.5, markeredgewidth=1.0)
    _scale(ax, "x", x)
    _scale(ax, "y", y)


def _size(n: int) -> float:
    """Area of a point among so many."""
    return float(np.clip(12_000.0 / max(n, 1), 4.0, 22.0))


# ---- one setting ---------------------------------------------------------------------------------------------------


def points(ax: Any, x: Array, y: Array, good: Mask) -> None:
    """Points (n,), with the median of their neighbours where they are many; crosses at the bottom: failed rows."""
    fine = good & np.isfinite(x) & np.isfinite(y)
    n = int(fine.sum())
    ax.scatter(
        x[fine], y[fine], s=_size(n), color=MASS, alpha=float(np.clip(1500.0 / max(n, 1), 0.15, 0.8)), linewidth=0,
        rasterized=n > 2000,
    )  # fmt: skip
    _scale(ax, "x", x[np.isfinite(x)])
    _scale(ax, "y", y[fine])
    if n >= _TREND:
        ax.plot(*_median(x[fine], y[fine]), color=INK, linewidth=1.4)
    crosses(ax, x[~good])


def crosses(ax: Any, x: Array) -> None:
    """Marks at the bottom of the axes where rows failed."""
    if not len(x):
        return
    ax.plot(
        x, np.full(len(x), 0.02), "x", transform=ax.get_xaxis_transform(), color=HINGE, markersize=4.5,
        markeredgewidth=0.9, alpha=0.8, clip_on=False,
    )  # fmt: skip


def _median(x: Array, y: Array) -> tuple[Array, Array]:
    """Medians of neighbouring points, in bins with about as many each; of every value of x where there are few."""
    values = np.unique(x)
    if len(values) <= 20 or len(x) >= 5 * len(values):
        return values, np.array([np.median(y[x == value]) for value in values])
    groups = np.array_split(np.argsort(x, kind="stable"), 16)
    return np.array([np.median(x[g]) for g in groups]), np.array([np.median(y[g]) for g in groups])


def is_sorted(x: NDArray[Any]) -> bool:
    """Whether numbers only rise, so that a line through them says something."""
    return x.dtype.kind == "f" and len(x) > 1 and bool(np.all(np.diff(x) > 0))


def curves(ax: Any, x: Array, values: Array, good: Mask, names: Sequence[str]) -> None:
    """A number (n,), or each entry of arrays (n, ...), over x: joined by lines where x only rises."""
    values, joined = values.reshape(len(x), -1), is_sorted(x)
    if values.shape[1] == 1 and not joined:
        points(ax, x, values[:, 0], good)
        return
    colours = importlib.import_module("matplotlib").colormaps["viridis"](np.linspace(0.0, 0.92, values.shape[1]))
    few = values.shape[1] <= len(_COLOURS)
    width, size = (1.5, 4.0 if len(x) <= 60 else 0.0) if joined else (0.0, 3.0)
    for k in range(values.shape[1]):
        style = {"color": _COLOURS[k] if few else colours[k], "linewidth": width, "marker": "o", "markersize": size}
        ax.plot(x, np.where(good, values[:, k], np.nan), label=names[k] if names else "", **style)
    _scale(ax, "x", x[np.isfinite(x)])
    _scale(ax, "y", values[good])
    crosses(ax, x[~good])
    if names and len(names) <= _NAMED:
        legend = ax.legend(fontsize=7.5, frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5), handlelength=1.4)
        for text in legend.get_texts():
            text.set_parse_math(False)


# ---- distributions -------------------------------------------------------------------------------------------------


def histogram(ax: Any, values: Array) -> None:
    """How often numbers (n,) occur, with their median."""
    fine = values[np.isfinite(values)]
    if not len(fine):
        _nothing(ax)
        return
    values, counts = np.unique(fine, return_counts=True)
    if len(values) <= _NAMED:
        step = float(np.diff(values).min()) if len(values) > 1 else 1.0
        ax.bar(values, counts, 0.6 * step, color=MASS, alpha=0.75)
        ax.set_xlim(values[0] - step, values[-1] + step)
    else:
        bins: Any = int(np.clip(np.sqrt(len(fine)), 8, 60))
        if is_logarithmic(fine):
            bins = np.geomspace(fine.min(), fine.max(), bins + 1)
            ax.set_xscale("log")
        ax.hist(fine, bins=bins, color=MASS, alpha=0.75, edgecolor="white", linewidth=0.4)
    middle = float(np.median(fine))
    ax.axvline(middle, color=INK, linewidth=1.2)
    ax.text(middle, 1.0, f" median {number(middle, 4)}", transform=ax.get_xaxis_transform(), fontsize=7.5, va="bottom",
            ha="center", color=INK)  # fmt: skip


def _nothing(ax: Any) -> None:
    ax.text(0.5, 0.5, "no finite numbers", transform=ax.transAxes, ha="center", va="center", fontsize=9, color=_SOFT)


def entries(ax: Any, values: Array, names: Sequence[str]) -> None:
    """The distribution of each entry, (n, k): a violin each, or bands over the entries where they are many."""
    if len(names) <= _NAMED:
        violins(ax, [values[:, k] for k in range(values.shape[1])], names)
        return
    fine = values[np.isfinite(values).all(axis=1)]
    if not len(fine):
        _nothing(ax)
        return
    at = np.arange(values.shape[1])
    for low, high, alpha, told in ((0, 100, 0.14, "all"), (5, 95, 0.25, "5 to 95 %"), (25, 75, 0.4, "25 to 75 %")):
        ends = np.percentile(fine, [low, high], axis=0)
        ax.fill_between(at, *ends, color=MASS, alpha=alpha, linewidth=0, label=told)
    ax.plot(at, np.median(fine, axis=0), color=INK, linewidth=1.4, label="median")
    ax.legend(fontsize=7.5, frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5), handlelength=1.4)


def violins(ax: Any, groups: Sequence[Array], names: Sequence[str]) -> None:
    """The distribution of each group of numbers, with its range, quartiles and median; the largest is told."""
    high = low = 0.0
    logarithmic = is_logarithmic(np.concatenate(groups))
    ax.set_yscale("log" if logarithmic else "linear")
    for k, group in enumerate(groups):
        fine = group[np.isfinite(group)]
        if not len(fine):
            continue
        if len(fine) > 1 and np.ptp(fine) > 0:
            heights, widths = _outline(np.log(fine) if logarithmic else fine)
            heights = np.exp(heights) if logarithmic else heights
            ax.fill_betweenx(heights, k - 0.4 * widths, k + 0.4 * widths, color=MASS, alpha=0.4, linewidth=0)
        ends, quarters = (fine.min(), fine.max()), np.percentile(fine, [25, 75])
        ax.plot([k, k], ends, color=STEEL, linewidth=0.9)
        ax.plot([k, k], quarters, color=STEEL, linewidth=4.0, solid_capstyle="butt")
        ax.plot(k, np.median(fine), "o", color="white", markeredgecolor=STEEL, markersize=4.5)
        ax.annotate(number(float(ends[1]), 3), (k, ends[1]), (0, 2), textcoords="offset points", ha="center",
                    va="bottom", fontsize=7.5, color=_SOFT)  # fmt: skip
        low, high = min(low, float(ends[0])), max(high, float(ends[1]))
    turned = max(map(len, names)) * len(names) > 70
    ax.set_xticks(range(len(names)), short_names([shown(name) for name in names]), parse_math=False)
    if turned:
        ax.tick_params(axis="x", labelrotation=30)
    ax.set_xlim(-0.7, len(names) - 0.3)
    ax.margins(y=0.1)
    if low < 0.0 < high:
        ax.axhline(0.0, color=_LINE, linewidth=0.8, zorder=0)


def _outline(values: Array) -> tuple[Array, Array]:
    """Places from the least number to the largest, and the smoothed density there, 1 where it is largest."""
    some = values[:: max(1, len(values) // _SMOOTHED)]
    at = np.linspace(values.min(), values.max(), 100)
    if np.ptp(some) == 0.0:
        return at, np.full(100, 0.1)
    density = importlib.import_module("matplotlib.mlab").GaussianKDE(some).evaluate(at)
    return at, density / density.max()


def failures(figure: Any, messages: Sequence[dict[str, Any]], title: str) -> Any:
    """Where no row is ok: how many rows ended with each message."""
    ax = figure.add_subplot()
    told = [shown(f"{each['status']}: {each['message']}".removeprefix(": ")) for each in messages]
    ax.barh(range(len(told)), [each["count"] for each in messages], color=HINGE, alpha=0.7)
    ax.set_yticks(range(len(told)), short_names(told, 50), parse_math=False)
    ax.invert_yaxis()
    ax.xaxis.get_major_locator().set_params(integer=True)
    labels(ax, "rows", "")
    figure.suptitle(shown(title), fontsize=10, color=INK, parse_math=False)
    return figure
