"""Space on paper: 3-D axes with equal scales, what surrounds a robot, figures as SVG."""

from __future__ import annotations

import importlib
import io
import itertools
import re
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler.errors import NeulerError
from neuler.extras import install

Array = NDArray[np.float64]

INK, STEEL, HINGE, SLIDE, MASS = "#1d2733", "#46586b", "#c2410c", "#0f766e", "#3b6fb6"
"""Text, links, joints that turn, joints that slide, centres of mass."""
CUT, SPRING, ROTOR = "#a16207", "#7e22ce", "#4d7c0f"
"""Loops and couplings, springs, rotors of motors."""


def plotting() -> Any:
    """matplotlib's Figure, or a clear error; no window system is touched. Notebooks show such a figure by itself."""
    try:
        return importlib.import_module("neuler.view.picture").Picture
    except ImportError as error:
        raise NeulerError(
            f"drawing needs matplotlib, which is not installed ({error}); install it with: {install('view')}"
        ) from None


def known_figure(**options: Any) -> Any:
    """A figure that ``matplotlib.pyplot.show()`` shows, for users; one of its own where there is no backend."""
    kind = plotting()
    if threading.current_thread() is not threading.main_thread():  # windows belong to the main thread
        return kind(**options)
    try:
        return importlib.import_module("matplotlib.pyplot").figure(FigureClass=kind, **options)
    except Exception:  # a backend was chosen that cannot run here; the figure can be saved all the same
        return kind(**options)


def sized(figure: Any, inches: tuple[float, float], dpi: float | None = None) -> Any:
    """A figure of this size with room for its labels: the one that is given, or one that pyplot knows."""
    options = {} if dpi is None else {"dpi": dpi}
    if figure is None:
        return known_figure(figsize=inches, layout="constrained", **options)
    figure.set_size_inches(*inches)
    figure.set_layout_engine("constrained")
    figure.set(**options)
    return figure


def box_around(points: Array, least: float = 0.18) -> tuple[Array, Array]:
    """Corners of a box around points, with a margin; half its least side is ``least`` of its largest, or more."""
    low, high = points.min(axis=0), points.max(axis=0)
    size = max(float((high - low).max()), 0.1)
    middle, half = (low + high) / 2, np.maximum((high - low) / 2, least * size) + 0.06 * size
    return middle - half, middle + half


def ground(ax: Any, low: Array, high: Array, normal: int = 2) -> None:
    """A light grid under the robot, or behind one that moves in the plane orthogonal to axis ``normal``."""
    step = _round_step(float((high - low).max()) / 6)
    style = {"color": "#d9dee5", "linewidth": 0.7, "zorder": 0}
    behind = low[normal] if normal == 2 else high[normal]
    for along, across in itertools.permutations([k for k in range(3) if k != normal]):
        for x in np.arange(np.ceil(low[along] / step), np.floor(high[along] / step) + 1) * step:
            ends = np.empty((2, 3))
            ends[:, along], ends[:, normal] = x, behind
            ends[:, across] = low[across], high[across]
            ax.plot(*ends.T, **style)


def _round_step(x: float) -> float:
    power = 10.0 ** np.floor(np.log10(x))
    return float(power * min((1, 2, 5, 10), key=lambda m: abs(m * power - x)))


VIEWS = {0: (0, 0), 1: (0, -90), 2: (90, -90)}
"""Elevation and azimuth (degrees) for looking along an axis."""


def frame(ax: Any, low: Array, high: Array, normal: int | None = None, azimuth: float = -58) -> None:
    """Limits, equal scales and the point of view: from above and the side, or straight along axis ``normal``."""
    for name, a, b in zip("xyz", low, high, strict=True):
        getattr(ax, f"set_{name}lim")(a, b)
        axis = getattr(ax, f"{name}axis")
        axis.set_pane_color((1, 1, 1, 0))
        axis.line.set_color("#aab4c0")
        axis.set_major_locator(importlib.import_module("matplotlib.ticker").MaxNLocator(3))
    ax.set_box_aspect(high - low, zoom=0.98)
    if normal is None:
        ax.set_proj_type("persp", focal_length=1.6)
        ax.view_init(elev=22, azim=azimuth)
    else:
        ax.set_proj_type("ortho")
        ax.view_init(*VIEWS[normal])
    ax.grid(False)
    ax.tick_params(labelsize=7.5, colors="#5b6876", pad=-1)
    ax.tick_params(axis="z", pad=2)
    ax.set_xlabel("x / m", fontsize=8, color=INK, labelpad=-1)
    ax.set_ylabel("y / m", fontsize=8, color=INK, labelpad=-1)
    ax.set_zlabel("z / m", fontsize=8, color=INK, labelpad=1)
    if normal is not None:
        _flat(ax, low, high, normal)


def _flat(ax: Any, low: Array, high: Array, normal: int) -> None:
    """Ticks on the lines of the grid, none along the axis that is looked along."""
    ax.tick_params(pad=2)
    tickers = importlib.import_module("matplotlib.ticker")
    step = _round_step(float((high - low).max()) / 6)
    for k, name in enumerate("xyz"):
        axis = getattr(ax, f"{name}axis")
        if k == normal:
            axis.set_major_locator(tickers.NullLocator())
            getattr(ax, f"set_{name}label")("")
            axis.line.set_visible(False)
        else:
            axis.set_major_locator(tickers.MultipleLocator(2 * step))
    for name, pad in zip(("yz", "xz", "xy")[normal], (3.0, 1.0), strict=True):  # along the page, and up
        getattr(ax, f"{name}axis").labelpad = pad


def azimuth(plates: Sequence[Array]) -> float:
    """From where plates, polygons of points (n, 3), are seen best; the usual side unless another is much better."""
    best, most = -58.0, 0.0
    for angle in (-58.0, -32.0, -148.0, 32.0):
        c, s = np.cos(np.radians(angle)), np.sin(np.radians(angle))
        eye = np.array([c * np.cos(np.radians(22.0)), s * np.cos(np.radians(22.0)), np.sin(np.radians(22.0))])
        seen = sum(abs(float(np.linalg.svd(plate - plate.mean(axis=0))[2][2] @ eye)) for plate in plates)
        seen *= 1.3 if angle == -58.0 else 1.0
        if seen > most:
            best, most = angle, seen
    return best


def on_paper(ax: Any, points: Array) -> Array:
    """Points of space (..., 3) as the axes show them: (..., 2), in pixels of the figure."""
    ax.apply_aspect()
    seen = np.concatenate([points, np.ones((*np.shape(points)[:-1], 1))], axis=-1) @ ax.get_proj().T
    flat = (seen[..., :2] / seen[..., 3:]).reshape(-1, 2)
    return np.asarray(ax.transData.transform(flat)).reshape(*np.shape(points)[:-1], 2)


def drawn(figure: Any, low: Array, high: Array, room: float = 0.5, points: Array | None = None) -> Any:
    """The part of the figure (inches) that the space between two corners fills, with room for tick labels.

    With ``points`` of what is drawn there, nothing above these and the upright axis.
    """
    ax = figure.axes[0]
    inches = on_paper(ax, np.array(list(itertools.product(*zip(low, high, strict=True))))) / figure.dpi
    box = importlib.import_module("matplotlib.transforms").Bbox([inches.min(axis=0), inches.max(axis=0)]).padded(room)
    if points is not None:
        axis = inches[inches[:, 0] > inches[:, 0].max() - 0.05 * np.ptp(inches[:, 0]), 1]
        box.y1 = max(float(axis.max()), float((on_paper(ax, points) / figure.dpi)[:, 1].max())) + _ABOVE
    return box


_ABOVE = 0.45
"""Inches over what is drawn: for discs, axes and names."""


def png(figure: Any, box: Any = None) -> bytes:
    """The figure (or a box of it) as pixels."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", bbox_inches=box)
    return buffer.getvalue()


def svg(figure: Any, box: Any = None) -> bytes:
    """The figure (or a box of it) as SVG, the same bytes for the same figure; letters are shapes, it needs no font."""
    import matplotlib

    buffer = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "neuler", "svg.fonttype": "path"}):
        figure.savefig(buffer, format="svg", bbox_inches=box, metadata={"Date": None, "Creator": None})
    return _short(buffer.getvalue())


_PLACES = re.compile(rb'( d=| x=| y=| points=)"[^"]*"|translate\([^)]*\)')
"""Coordinates in an SVG: scales and widths are not among them."""
_NUMBER = re.compile(rb"-?\d+\.\d+")
_NAMES = re.compile(rb' id="[A-Za-z.0-9]+_\d+"|<!--.*?-->', re.DOTALL)
"""Of groups, to which nothing refers: clip paths and markers have names without a number at their end."""
_SPACES = ((rb">\s+<", b"><"), (rb"\s*([MLQCz])\s*", rb"\1"), (rb"([:;]) ", rb"\1"))
_LETTER = re.compile(rb'"(#?)DejaVuSans-([0-9a-f]+)"')
_ALONE = re.compile(rb"<g>(<use [^>]*/>)</g>")


def _short(text: bytes) -> bytes:
    """The same picture in fewer bytes: coordinates to a hundredth of a point, no names of groups, no indentation."""
    found = _PLACES.sub(lambda part: _NUMBER.sub(_rounded, part.group()), _NAMES.sub(b"", text))
    found = re.sub(_SPACES[0][0], _SPACES[0][1], found)
    found = re.sub(rb' d="[^"]*"', lambda part: b' d="' + re.sub(*_SPACES[1], part.group()[4:-1]) + b'"', found)
    found = re.sub(rb' style="[^"]*"', lambda part: re.sub(*_SPACES[2], part.group()), found)
    found = _LETTER.sub(rb'"\1g\2"', found)
    return _ALONE.sub(rb"\1", _ALONE.sub(rb"\1", found))


def _rounded(number: re.Match[bytes]) -> bytes:
    return f"{float(number.group()):.2f}".rstrip("0").rstrip(".").encode()
