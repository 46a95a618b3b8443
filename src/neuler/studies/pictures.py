"""Which picture of a study is drawn: a map, curves, points or distributions, by what its settings and results are."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from neuler.errors import InputError
from neuler.inputs import names as names_of
from neuler.plain import shown
from neuler.studies import drawing
from neuler.studies.columns import RESERVED, PartColumn, PartTable
from neuler.studies.statistics import entry_names
from neuler.view.space import INK, sized

if TYPE_CHECKING:
    from neuler.studies.result import Study

Array = NDArray[np.float64]

POINTS = 20_000
"""Rows up to which all are drawn."""
_NUMBERS = 200_000
"""Rows up to which all are in a distribution."""
_CELLS = 4_000_000
"""Cells up to which a grid is read whole."""
_PANELS = 4
"""Results, and settings, that are drawn where none are chosen."""
_CANDIDATES = 24
"""Results that are looked at for that: those that vary are drawn."""
_MAPS = 6
"""Entries of an array that have a map each."""
_CATEGORIES = 12
"""Different texts up to which each has a place of its own."""
_ENTRY = re.compile(r"(.+)\[([0-9, ]+)\]")


@dataclass(frozen=True)
class Drawn:
    """A column, or one entry of a column of arrays."""

    label: str
    column: str
    place: tuple[int, ...] | None = None


@dataclass(frozen=True)
class DrawnRows:
    """Columns of the rows that are drawn."""

    columns: dict[str, NDArray[Any]]

    @property
    def good(self) -> NDArray[np.bool_]:
        """Which rows are ok."""
        return np.asarray(self.columns["status"] == "ok", dtype=bool)

    def values(self, quantity: Drawn) -> NDArray[Any]:
        """Texts (n,), or floats (n, ...), NaN where there is no value."""
        found = self.columns[quantity.column]
        if found.dtype.kind == "U":
            return found
        if found.dtype.kind == "O":
            found = _of_objects(quantity.column, found)
            if found.dtype.kind == "U":
                return found
        if quantity.place is not None:
            if not _inside(quantity.place, found.shape[1:]):
                shape = f"arrays of shape {found.shape[1:]}" if found.ndim > 1 else "one number a row"
                raise InputError(f"Study.plot: there is no {quantity.label!r}; {quantity.column!r} has {shape}")
            index: tuple[Any, ...] = (slice(None), *quantity.place)
            found = found[index]
        return found.astype(np.float64)


def _inside(place: tuple[int, ...], shape: tuple[int, ...]) -> bool:
    return len(place) == len(shape) and all(k < size for k, size in zip(place, shape, strict=True))


def _of_objects(name: str, found: NDArray[Any]) -> NDArray[Any]:
    """Truth values with None among them as floats, long texts as texts; arrays whose shapes differ are refused."""
    kinds = {type(value) for value in found.ravel()} - {type(None)}
    if kinds <= {bool, np.bool_}:
        return np.where(found == None, np.nan, found).astype(np.float64)  # noqa: E711  # entry by entry
    if kinds <= {str}:
        return found.astype(str)
    raise InputError(
        f"Study.plot: the arrays of {name!r} differ in shape from row to row, and cannot be drawn together; return a "
        "number of them from the task (a peak, a final value), or draw those of Study.table() one by one"
    )


def draw(study: Study, look: PartTable | None, y: Any, x: Any, figure: Any) -> Any:
    """The figure of :meth:`Study.plot`; ``look`` is a part that says which columns there are."""
    if look is None:
        raise InputError(
            f"Study.plot: no row of the study in {str(study.folder)!r} is done yet; there is nothing to draw"
        )
    if y is None and not study.counts["ok"]:
        return drawing.failures(sized(figure, (7.0, 3.0)), study.summary()["messages"], _facts(study, ""))
    results = _default_results(look) if y is None else _quantities(look, "y", y)
    if not results:
        raise InputError("Study.plot: no result is a number that all rows share; choose a column with y=")
    if x is None:
        settings = _numeric(look, look.settings)
    else:
        settings = [] if isinstance(x, list | tuple) and not x else _quantities(look, "x", x)
    columns = dict.fromkeys(each.column for each in (*results, *settings))
    texts = [name for name in look.settings if look.columns[name].words is not None] if x is None else []
    rows = DrawnRows(study.sample([*columns, *texts, "status"], POINTS))
    if y is None:
        results = ([each for each in results if _varies(rows.values(each))] or results)[:_PANELS]
    if x is None:
        settings = [each for each in _entries(rows, settings) if _varies(rows.values(each))]
    for each in results:
        if rows.values(each).dtype.kind == "U":
            raise InputError(f"Study.plot: {each.label!r} is a column of texts; choose numbers for y=")
    if len(settings) == 2 and (grid := _grid(study, rows, results, settings)) is not None:
        return _maps(study, grid, results, settings, figure)
    if len(settings) == 2 and x is not None:
        return _coloured(study, rows, results, settings, figure)
    scalars = [each for each in results if rows.values(each).ndim == 1]
    if len(settings) == 1 and (scalars or x is not None or drawing.is_sorted(rows.values(settings[0]))):
        return _over_one(study, rows, results, settings[0], figure)
    if settings and scalars:
        return _points(study, rows, scalars, settings if x is not None else settings[:_PANELS], figure)
    groups = [Drawn(name, name) for name in texts if _varies(rows.values(Drawn(name, name)))]
    if groups and scalars:
        return _over_one(study, rows, results, groups[0], figure)
    if study.done > POINTS:
        rows = DrawnRows(study.sample([*dict.fromkeys(each.column for each in results), "status"], _NUMBERS))
    return _distributions(study, rows, results, figure)


# ---- which columns -------------------------------------------------------------------------------------------------


def _quantities(look: PartTable, which: str, given: Any) -> list[Drawn]:
    return [_quantity(look, name) for name in names_of(f"Study.plot: {which}", given)]


def _quantity(look: PartTable, name: str) -> Drawn:
    """A column by its name, or an entry of one; whether there is such a column is found out where it is read."""
    entry = None if name in look.columns else _ENTRY.fullmatch(name)
    if entry is None:
        return Drawn(name, name)
    return Drawn(name, entry[1], tuple(int(k) for k in entry[2].split(",") if k.strip()))


def _default_results(look: PartTable) -> list[Drawn]:
    """Numbers, else arrays, else truth values; the first of them."""
    names = [name for name in look.columns if name not in (*RESERVED, *look.settings)]
    columns = {each.column: look.columns[each.column] for each in _numeric(look, names)}
    scalars = [name for name, column in columns.items() if column.values.ndim == 1]
    numbers = [name for name in scalars if columns[name].values.dtype.kind != "b"]
    arrays = [name for name, column in columns.items() if column.values.ndim > 1 and column.values[:1].size]
    return [Drawn(name, name) for name in (numbers or arrays or scalars)[:_CANDIDATES]]


def _numeric(look: PartTable, names: Sequence[str]) -> list[Drawn]:
    return [Drawn(name, name) for name in names if _is_numeric(look.columns[name])]


def _is_numeric(column: PartColumn) -> bool:
    return column.words is None and column.shapes is None


def _entries(rows: DrawnRows, quantities: Sequence[Drawn]) -> list[Drawn]:
    """Each quantity, or each of its entries where it is an array."""
    found = []
    for each in quantities:
        shape = rows.values(each).shape[1:]
        places = [tuple(map(int, place)) for place in np.ndindex(*shape)] if shape else [each.place]
        labels = entry_names(each.label, shape) if shape else [each.label]
        found += [Drawn(label, each.column, place) for label, place in zip(labels, places, strict=True)]
    return found


def _varies(values: NDArray[Any]) -> bool:
    return len(values) > 1 and bool(np.any(values != values[:1]))


# ---- figures -------------------------------------------------------------------------------------------------------


def _facts(study: Study, marked: str, rows: DrawnRows | None = None, lost: int = 0) -> str:
    """The title: how many rows there are, how they ended, how many are drawn; ``marked`` says how failures are."""
    told = [f"{study.rows:,} row{'s' * (study.rows != 1)}"]
    if not study.complete:
        told.append(f"{study.done:,} done")
    bad = [f"{n:,} {status}" for status, n in study.counts.items() if n and status != "ok"]
    if bad:
        told.append(" and ".join(bad) + (f" ({marked})" if marked else ""))
    if rows is not None and len(rows.good) < study.done:
        told.append(f"{len(rows.good):,} of them drawn")
    if lost:
        told.append(f"{lost:,} not finite{' (dotted)' * (marked == 'hatched')}")
    return ", ".join(told)


def _lost(rows: DrawnRows, quantities: Sequence[Drawn]) -> int:
    """Rows that are ok and have a number that is not finite."""
    bad = np.zeros(len(rows.good), dtype=bool)
    for each in quantities:
        values = rows.values(each)
        bad |= ~np.isfinite(values.reshape(len(values), -1)).all(axis=1)
    return int((bad & rows.good).sum())


def _finish(figure: Any, title: str) -> Any:
    figure.suptitle(shown(title), fontsize=10, color=INK, parse_math=False)
    return figure


def _grid(study: Study, rows: DrawnRows, results: list[Drawn], settings: list[Drawn]) -> DrawnRows | None:
    """All rows, where two settings form a grid in which most cells have a row, and no cell has two; else None."""
    sizes = [len(np.unique(values)) for each in settings if (values := rows.values(each)).ndim == 1]
    if len(sizes) != 2 or min(sizes) < 2 or study.done > _CELLS or np.prod(sizes) >= 2 * study.done:
        return None
    every = DrawnRows(study.table([*dict.fromkeys(each.column for each in (*results, *settings)), "status"]))
    places = [np.unique(every.values(each), return_inverse=True) for each in settings]
    cells = places[0][1] * len(places[1][0]) + places[1][1]
    full = len(np.unique(cells)) == len(cells) and 2 * len(cells) > len(places[0][0]) * len(places[1][0])
    return every if full else None


def _maps(study: Study, rows: DrawnRows, results: list[Drawn], settings: list[Drawn], figure: Any) -> Any:
    shown_entries = _entries(rows, results)[:_MAPS]
    across = 1 if len(shown_entries) == 1 else 2 if len(shown_entries) <= 4 else 3
    down = -(-len(shown_entries) // across)
    figure = sized(figure, (0.8 + 4.6 * across, 0.6 + 3.5 * down))
    axes = figure.subplots(down, across, squeeze=False, sharex=True, sharey=True).ravel()
    x, y = (np.unique(rows.values(each), return_inverse=True) for each in settings)
    for ax, each in zip(axes, shown_entries, strict=False):
        cells, bad = np.full((len(y[0]), len(x[0])), np.nan), np.zeros((len(y[0]), len(x[0])), dtype=int)
        cells[y[1], x[1]] = rows.values(each)
        bad[y[1], x[1]] = np.where(rows.good, np.where(np.isfinite(rows.values(each)), 0, 1), 2)
        drawing.heat_map(figure, ax, x[0], y[0], cells, bad)
        ax.set_title(shown(each.label), fontsize=9, color=INK, parse_math=False)
        drawing.labels(ax, settings[0].label, settings[1].label)
    drawing.hide(axes[len(shown_entries) :])
    drawing.outer(axes[: len(shown_entries)], across)
    return _finish(figure, _facts(study, "hatched", None, _lost(rows, shown_entries)))


def _coloured(study: Study, rows: DrawnRows, results: list[Drawn], settings: list[Drawn], figure: Any) -> Any:
    """Points in the plane of two settings, each in the colour of its result."""
    chosen = _entries(rows, results)[:_MAPS]
    across = 1 if len(chosen) == 1 else 2
    down = -(-len(chosen) // across)
    figure = sized(figure, (0.8 + 4.6 * across, 0.6 + 3.5 * down))
    axes = figure.subplots(down, across, squeeze=False).ravel()
    x, y = (_scalar(rows, each) for each in settings)
    for ax, each in zip(axes, chosen, strict=False):
        drawing.coloured_points(figure, ax, x, y, rows.values(each), rows.good)
        ax.set_title(shown(each.label), fontsize=9, color=INK, parse_math=False)
        drawing.labels(ax, settings[0].label, settings[1].label)
    drawing.hide(axes[len(chosen) :])
    return _finish(figure, _facts(study, "crosses", rows, _lost(rows, chosen)))


def _scalar(rows: DrawnRows, each: Drawn) -> NDArray[Any]:
    values = rows.values(each)
    if values.ndim > 1:
        entry = entry_names(each.label, values.shape[1:])[0] if values.size else f"{each.label}[0]"
        raise InputError(f"Study.plot: {each.label!r} is an array; choose an entry for x=, such as {entry!r}")
    return values


def _over_one(study: Study, rows: DrawnRows, results: list[Drawn], setting: Drawn, figure: Any) -> Any:
    """Every result over one setting: points and curves, or a distribution for each of a few texts."""
    x = _scalar(rows, setting)
    words = list(dict.fromkeys(x.tolist())) if x.dtype.kind == "U" else []
    if len(words) > _CATEGORIES:
        raise InputError(
            f"Study.plot: {setting.label!r} has {len(words)} different texts, and at most {_CATEGORIES} can be drawn"
        )
    across = 1 if len(results) == 1 else 2
    down = -(-len(results) // across)
    figure = sized(figure, (1.2 + 5.2 * across, 0.6 + 3.2 * down))
    axes = figure.subplots(down, across, squeeze=False).ravel()
    for ax, each in zip(axes, results, strict=False):
        values = rows.values(each)
        if not words:
            drawing.curves(ax, x, values, rows.good, entry_names("", values.shape[1:]) if values.ndim > 1 else [])
            drawing.labels(ax, setting.label, each.label)
        elif values.ndim == 1:
            drawing.violins(ax, [values[(x == word) & rows.good] for word in words], words)
            drawing.labels(ax, setting.label, each.label)
        else:
            raise InputError(
                f"Study.plot: {each.label!r} is an array; choose an entry for y= beside the texts of {setting.label!r}"
            )
    drawing.hide(axes[len(results) :])
    return _finish(figure, _facts(study, "" if words else "crosses", rows, _lost(rows, results)))


def _points(study: Study, rows: DrawnRows, results: list[Drawn], settings: list[Drawn], figure: Any) -> Any:
    """Every result over every setting, in a grid of axes."""
    figure = sized(figure, (1.0 + 2.9 * len(settings), 0.7 + 2.4 * len(results)))
    axes = figure.subplots(len(results), len(settings), squeeze=False, sharex="col", sharey="row")
    for line, each in zip(axes, results, strict=True):
        for ax, setting in zip(line, settings, strict=True):
            drawing.points(ax, _scalar(rows, setting), rows.values(each), rows.good)
            drawing.labels(ax, setting.label, each.label)
    drawing.outer(axes.ravel(), len(settings))
    return _finish(figure, _facts(study, "crosses", rows, _lost(rows, results)))


def _distributions(study: Study, rows: DrawnRows, results: list[Drawn], figure: Any) -> Any:
    """A histogram of every number, and a violin of every entry of an array."""
    across = 1 if len(results) == 1 else 2
    down = -(-len(results) // across)
    figure = sized(figure, (1.0 + 5.0 * across, 0.6 + 3.2 * down))
    axes = figure.subplots(down, across, squeeze=False).ravel()
    for ax, each in zip(axes, results, strict=False):
        values = rows.values(each)[rows.good]
        if values.ndim == 1:
            drawing.histogram(ax, values)
            drawing.labels(ax, each.label, "rows")
        else:
            names = [name.strip("[]") for name in entry_names("", values.shape[1:])]
            drawing.entries(ax, values.reshape(len(values), -1), names)
            drawing.labels(ax, f"entry of {each.label}", each.label)
    drawing.hide(axes[len(results) :])
    return _finish(figure, _facts(study, "", rows, _lost(rows, results)))
