"""What a study gives back: its table, failures, summary and pictures, also of damaged, empty and failed studies."""

import io
import json
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuler.errors import FormatError, InputError
from neuler.studies import drawing, pictures
from neuler.studies.columns import Outcome, encode, table_of
from neuler.studies.result import Study
from neuler.studies.statistics import Moments, Statistics, entry_names


@dataclass
class Part:
    first: int
    last: int
    kind: str
    data: bytes
    reads: int = 0

    def read(self):
        self.reads += 1
        return self.data


def study(columns, results, *, cut=7, kind="npz", rows=None, skip=(), notes=()):
    """A study of columns and outcomes (or columns of results), cut into parts; ``skip``: parts that are not done."""
    n = len(next(iter(columns.values())))
    parts = []
    for k, first in enumerate(range(0, n, cut)):
        last = min(n, first + cut)
        some = {name: values[first:last] for name, values in columns.items()}
        own = results[first:last] if isinstance(results, list) else {name: x[first:last] for name, x in results.items()}
        if k not in skip:
            parts.append(Part(first, last, kind, encode(table_of(first, some, own), kind)))
    return Study(Path("out"), n if rows is None else rows, tuple(columns), parts, notes)


def ok(**values):
    return Outcome("ok", "", values)


def mixed(**options):
    """Twenty rows: one in five failed, one timed out, one is NaN."""
    outcomes = [ok(peak=float(k), torque=np.array([k, -k], float), good=k % 2 == 0, word="x") for k in range(20)]
    for k in range(0, 20, 5):
        outcomes[k] = Outcome("failed", "ValueError: no solution", None)
    outcomes[7] = Outcome("timeout", "took more than 1 s", None)
    outcomes[8] = ok(peak=math.nan, torque=np.array([math.inf, 0.0]), good=True, word="x")
    return study({"payload": np.linspace(0.0, 1.9, 20)}, outcomes, **options)


# ---- tables --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["npz", "parquet"])
def test_the_table_has_all_rows_in_order(kind):
    found = mixed(kind=kind)
    table = found.table()
    assert list(table) == ["row", "payload", "peak", "torque", "good", "word", "status", "message"]
    assert table["row"].tolist() == list(range(20))
    assert table["peak"][1] == 1.0
    assert math.isnan(table["peak"][0])
    assert table["torque"].shape == (20, 2)
    assert table["status"][7] == "timeout"
    assert len(found) == found.rows == found.done == 20
    assert found.complete


def test_columns_that_are_asked_for_in_their_order():
    found = mixed()
    assert list(found.table(["status", "peak"])) == ["status", "peak"]
    assert list(found.table("peak")) == ["peak"]
    with pytest.raises(InputError, match="no column 'peek'; did you mean 'peak'"):
        found.table(["peek"])
    with pytest.raises(InputError, match="columns must be a name or names"):
        found.table([3])


def test_a_column_that_only_a_later_part_has():
    outcomes = [Outcome("failed", "", None)] * 7 + [ok(late=1.0)] * 7
    found = study({"a": np.arange(14.0)}, outcomes)
    assert np.isnan(found.table(["late"])["late"][:7]).all()
    assert [list(part) for part in found.tables(["late"])] == [[], ["late"]]


def test_tables_part_by_part():
    found = mixed()
    parts = list(found.tables())
    assert [len(part["row"]) for part in parts] == [7, 7, 6]
    assert np.concatenate([part["row"] for part in parts]).tolist() == list(range(20))
    with pytest.raises(InputError, match="no column 'peek'"):
        list(found.tables(["peek"]))
    lazy = mixed()
    next(lazy.tables())
    assert [part.reads for part in lazy._parts] == [1, 0, 0]


def test_a_study_that_is_not_complete():
    found = mixed(skip=(1,))
    assert not found.complete
    assert len(found) == 20
    assert found.done == 13
    assert found.table(["row"])["row"].tolist() == [*range(7), *range(14, 20)]
    assert "20 rows, 13 done" in repr(found)
    assert found.summary()["done"] == 13
    assert found.summary()["complete"] is False


def test_pandas_has_a_column_an_entry():
    pytest.importorskip("pandas")
    frame = mixed().to_pandas()
    assert list(frame) == ["row", "payload", "peak", "torque[0]", "torque[1]", "good", "word", "status", "message"]
    assert frame["torque[1]"][3] == -3.0
    assert list(mixed().to_pandas(["peak"])) == ["peak"]
    matrix = study({"a": np.arange(3)}, {"m": np.zeros((3, 2, 2)), "none": np.zeros((3, 0))}).to_pandas()
    assert list(matrix)[2:6] == ["m[0,0]", "m[0,1]", "m[1,0]", "m[1,1]"]


def test_without_pandas_it_says_so(monkeypatch):
    from neuler.studies import result

    monkeypatch.setattr(result.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match="needs pandas: pip install pandas"):
        mixed().to_pandas()


def test_failures():
    found = mixed().failures()
    assert list(found) == ["row", "payload", "status", "message"]
    assert found["row"].tolist() == [0, 5, 7, 10, 15]
    assert found["payload"][1] == pytest.approx(0.5)
    assert found["message"][2] == "took more than 1 s"
    assert mixed().failures(2)["row"].tolist() == [0, 5]
    assert mixed().failures(0)["row"].tolist() == []
    assert study({"a": np.arange(3.0)}, [ok(b=1.0)] * 3).failures()["row"].tolist() == []
    with pytest.raises(InputError, match="most must be a whole number"):
        mixed().failures(-1)


def test_a_sample_is_spread_over_the_rows():
    found = study({"a": np.arange(5000.0)}, {"b": np.arange(5000.0)}, cut=500)
    some = found.sample(["a", "b"], 1000)
    assert 850 < len(some["a"]) < 1150
    assert np.array_equal(some["a"], some["b"])
    assert np.all(np.diff(some["a"]) > 0)
    assert np.all(np.histogram(some["a"], 10)[0] > 60)
    assert np.array_equal(some["a"], found.sample(["a"], 1000)["a"])
    assert len(found.sample(["a"], 5000)["a"]) == 5000


# ---- numbers -------------------------------------------------------------------------------------------------------


def test_summary():
    told = mixed(notes=("a note",)).summary()
    assert json.loads(json.dumps(told, allow_nan=False)) == told
    assert told["rows"] == told["done"] == 20
    assert told["counts"] == {"ok": 15, "failed": 4, "timeout": 1, "killed": 0}
    assert told["messages"][0] == {"status": "failed", "message": "ValueError: no solution", "count": 4, "row": 0}
    assert told["messages"][1]["row"] == 7
    assert told["notes"] == ["a note"]
    peak = told["results"]["peak"]
    good = [k for k in range(20) if k % 5 and k not in (7, 8)]
    assert (peak["count"], peak["missing"], peak["nan"], peak["infinite"]) == (15, 5, 1, 0)
    assert peak["min"] == 1.0
    assert peak["mean"] == pytest.approx(np.mean(good), rel=1e-14)
    assert peak["std"] == pytest.approx(np.std(good), rel=1e-14)
    assert (peak["row_of_min"], peak["row_of_max"]) == (1, 19)
    assert told["results"]["torque[0]"]["infinite"] == 1
    assert told["results"]["good"]["mean"] == pytest.approx(np.mean([k % 2 == 0 for k in [*good, 8]]))
    assert told["results"]["word"] == {"count": 15, "missing": 5}


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(st.floats(-1e9, 1e9) | st.just(math.nan) | st.just(-math.inf), max_size=8), max_size=6))
def test_moments_of_parts_are_those_of_all(parts):
    moments, at = Moments(), 0
    for part in parts:
        moments.add(np.array(part, dtype=float), np.arange(at, at + len(part)))
        at += len(part)
    every = np.array([x for part in parts for x in part], dtype=float)
    good = every[np.isfinite(every)]
    told = moments.told(at + 3)
    assert told["count"] == len(every)
    assert told["missing"] == 3
    assert told["nan"] == np.isnan(every).sum()
    assert told["infinite"] == np.isinf(every).sum()
    if len(good):
        size = float(np.abs(good).max())
        assert told["mean"] == pytest.approx(good.mean(), abs=1e-12 * size)
        assert told["std"] == pytest.approx(good.std(), abs=1e-12 * size)
        assert every[told["row_of_min"]] == told["min"] == good.min()
        assert every[told["row_of_max"]] == told["max"] == good.max()
    else:
        assert told["min"] is told["mean"] is told["std"] is told["max"] is told["row_of_max"] is None


def test_deviation_far_from_zero_is_kept():
    moments = Moments()
    values = 1e9 + np.random.default_rng(0).normal(0.0, 1e-3, 3000)
    for part in np.split(values, 30):
        moments.add(part, np.arange(100))
    assert moments.told(3000)["std"] == pytest.approx((values - 1e9).std(), rel=1e-12)


def test_numbers_that_overflow_are_none():
    moments = Moments()
    moments.add(np.array([1e308, 1.7e308, -1e308]), np.arange(3))
    moments.add(np.array([1e308]), np.arange(1))
    told = moments.told(4)
    assert told["max"] == 1.7e308
    assert told["std"] is None


def test_messages_are_bounded(monkeypatch):
    from neuler.studies import statistics

    monkeypatch.setattr(statistics, "_DIFFERENT", 20)
    outcomes = [Outcome("failed", f"row {k} failed", None) for k in range(100)] + [
        Outcome("failed", "row 3 failed", None)
    ]
    told = study({"a": np.arange(101.0)}, outcomes).summary()["messages"]
    assert len(told) == 11
    assert told[0] == {"status": "failed", "message": "row 3 failed", "count": 2, "row": 3}
    assert told[-1] == {"status": "", "message": "other messages", "count": 90, "row": None}


def test_long_and_ragged_arrays_are_only_counted():
    outcomes = [ok(long=np.zeros(13), ragged=np.zeros(k)) for k in range(3)]
    told = study({"a": np.arange(3.0)}, outcomes).summary()["results"]
    assert told == {"long": {"count": 3, "missing": 0}, "ragged": {"count": 3, "missing": 0}}


def test_entries_are_named():
    assert entry_names("m", (2, 2)) == ["m[0,0]", "m[0,1]", "m[1,0]", "m[1,1]"]
    assert Statistics.of([]).results() == {}


# ---- words ---------------------------------------------------------------------------------------------------------


def test_what_is_printed():
    found = mixed(notes=("2 rows were computed again",))
    assert repr(found) == "<study in 'out', 20 rows: 15 ok, 4 failed, 1 timeout>"
    lines = str(found).splitlines()
    assert lines[0] == "study in out: 20 rows: 15 ok, 4 failed, 1 timeout"
    assert lines[1] == "most common failure (4 rows): ValueError: no solution"
    assert lines[2] == "settings: payload"
    assert lines[3].split() == ["result", "least", "mean", "most", "NaN"]
    assert lines[-1] == "note: 2 rows were computed again"
    page = found._repr_html_()
    assert "15 ok" in page
    assert "<th" in page


def test_what_is_printed_cannot_steer_a_terminal_or_a_page():
    outcomes = [Outcome("failed", "\x1b[2J<script>", None), ok(**{"<b>": 1.0})]
    found = study({"a": np.arange(2.0)}, outcomes)
    assert "\x1b" not in str(found)
    assert "<script>" not in found._repr_html_()
    assert "<b>:" not in found._repr_html_()


def test_many_results_are_cut():
    found = study({"a": np.arange(2.0)}, {f"r{k}": np.zeros(2) for k in range(30)})
    assert "and 22 results more" in str(found)


# ---- empty, failed, damaged ----------------------------------------------------------------------------------------


def test_an_empty_study():
    found = Study(Path("out"), 10, ("payload",), [])
    table = found.table()
    assert {name: len(values) for name, values in table.items()} == {
        "row": 0, "payload": 0, "status": 0, "message": 0
    }  # fmt: skip
    assert found.failures()["row"].size == 0
    assert found.counts == {"ok": 0, "failed": 0, "timeout": 0, "killed": 0}
    assert found.summary()["results"] == {}
    assert repr(found) == "<study in 'out', 10 rows, 0 done>"
    assert str(found)
    assert found._repr_html_()
    assert list(found.tables()) == []
    with pytest.raises(InputError, match="no column 'peak'"):
        found.table(["peak"])
    with pytest.raises(InputError, match="is done yet"):
        found.plot()


def test_all_rows_failed():
    found = study({"a": np.arange(4.0)}, [Outcome("killed", f"{k % 2}", None) for k in range(4)])
    assert list(found.table()) == ["row", "a", "status", "message"]
    assert found.summary()["counts"]["killed"] == 4
    figure = found.plot()
    assert figure._suptitle.get_text() == "4 rows, 4 killed"
    assert len(figure.axes[0].patches) == 2
    with pytest.raises(InputError, match="no column 'peak'"):
        found.plot("peak")


def test_damaged_parts_are_named():
    found = mixed()
    part = found._parts[1]
    part.data = part.data[:-9]
    with pytest.raises(FormatError, match=r"rows 7 to 13: .*cannot be read.*start the study again"):
        found.table()
    with pytest.raises(FormatError, match="rows 7 to 13"):
        found.summary()
    assert "a part cannot be read" in repr(found)
    part.data = b""
    with pytest.raises(FormatError, match="rows 7 to 13"):
        found.table(["peak"])


def test_parts_with_other_rows_are_named():
    found = mixed()
    found._parts[1].data = found._parts[0].data
    with pytest.raises(FormatError, match=r"rows 7 to 13: .*other rows"):
        found.table()


def test_one_row():
    found = study({"a": np.zeros(1)}, [ok(b=1.0, v=np.zeros(3))])
    assert found.summary()["results"]["b"]["std"] == 0.0
    assert repr(found) == "<study in 'out', 1 row: 1 ok>"
    assert found.plot()._suptitle.get_text() == "1 row"
    assert found.plot("v").axes[0].get_xlabel() == "entry of v"


# ---- pictures ------------------------------------------------------------------------------------------------------

RANDOM = np.random.default_rng(1)


def title(figure):
    return figure._suptitle.get_text()


def drawn(figure):
    """The figure is laid out and rendered, as a user would see it."""
    figure.savefig(io.BytesIO(), format="png", dpi=40)
    return figure


def grid(failed=(), **more):
    a, b = (x.ravel() for x in np.meshgrid(np.linspace(0, 4, 6), np.linspace(1, 2, 5), indexing="ij"))
    outcomes = [ok(cost=float(x * y + 1.0), time=float(x + y)) for x, y in zip(a, b, strict=True)]
    for k in failed:
        outcomes[k] = Outcome("failed", "infeasible", None)
    return study({"payload [kg]": a, "speed": b} | more, outcomes)


def test_a_grid_is_a_map():
    figure = drawn(grid(failed=(3, 4)).plot())
    assert title(figure) == "30 rows, 2 failed (hatched)"
    assert [ax.get_title() for ax in figure.axes[:2]] == ["cost", "time"]
    assert figure.axes[0].get_xlabel() == "payload [kg]"
    assert figure.axes[0].get_ylabel() == "speed"
    hatched = [each for each in figure.axes[0].collections if each.get_hatch() == "////"]
    assert len(hatched[0].get_paths()) == 2
    one = drawn(grid().plot("cost"))
    assert len(one.axes) == 2  # and its bar of colours


def test_a_grid_that_is_not_complete_is_a_map():
    a, b = (x.ravel() for x in np.meshgrid(np.arange(6.0), np.arange(5.0), indexing="ij"))
    found = study({"a": a, "b": b}, {"cost": a * b}, skip=(1,))
    assert title(drawn(found.plot())) == "30 rows, 23 done"


@pytest.mark.slow
def test_a_logarithmic_grid():
    a, b = (x.ravel() for x in np.meshgrid(np.logspace(-3, 3, 7), np.arange(3.0), indexing="ij"))
    figure = drawn(study({"a": a, "b": b}, {"cost": a * (b + 1)}).plot())
    assert figure.axes[0].get_xscale() == "log"


def test_values_that_are_not_finite_are_counted():
    a, b = (x.ravel() for x in np.meshgrid(np.arange(3.0), np.arange(3.0), indexing="ij"))
    cost = np.where(a == 1, np.nan, a)
    cost[-1] = np.inf
    assert title(drawn(study({"a": a, "b": b}, {"cost": cost}).plot())) == "9 rows, 4 not finite (dotted)"


def test_one_setting_is_a_curve():
    figure = drawn(mixed().plot("peak"))
    ax = figure.axes[0]
    assert title(figure) == "20 rows, 4 failed and 1 timeout (crosses), 1 not finite"
    assert ax.lines[0].get_linewidth() > 0
    assert len(ax.lines[-1].get_xdata()) == 5
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("payload", "peak")
    unsorted = study({"a": RANDOM.random(30)}, {"b": RANDOM.random(30)})
    assert not drawn(unsorted.plot()).axes[0].lines


def test_an_array_over_one_setting_is_a_curve_an_entry():
    figure = drawn(mixed().plot("torque"))
    assert [text.get_text() for text in figure.axes[0].get_legend().get_texts()] == ["[0]", "[1]"]
    assert figure.axes[0].get_ylabel() == "torque"
    assert drawn(mixed().plot("torque[1]")).axes[0].get_ylabel() == "torque[1]"


def test_many_settings_are_points():
    n = 300
    columns = {"a": RANDOM.random(n), "b": RANDOM.random(n), "v": RANDOM.random((n, 3)), "c": np.full(n, 2.0)}
    results = {f"r{k}": RANDOM.random(n) for k in range(6)}
    figure = drawn(study(columns, results, cut=100).plot())
    assert len(figure.axes) == 16
    assert [ax.get_xlabel() for ax in figure.axes[-4:]] == ["a", "b", "v[0]", "v[1]"]
    assert [ax.get_ylabel() for ax in figure.axes[::4]] == ["r0", "r1", "r2", "r3"]


def test_points_are_thinned_out_and_counted(monkeypatch):
    monkeypatch.setattr(pictures, "POINTS", 200)
    n = 2000
    found = study(
        {"a": RANDOM.random(n), "b": RANDOM.random(n), "c": RANDOM.random(n)}, {"r": RANDOM.random(n)}, cut=500
    )
    figure = drawn(found.plot())
    points = len(figure.axes[0].collections[0].get_offsets())
    assert 130 < points < 270
    assert title(figure) == f"2,000 rows, {points} of them drawn"


def test_only_the_columns_that_are_drawn_are_read(monkeypatch):
    found, asked = grid(), []
    inner = Study._read
    monkeypatch.setattr(Study, "_read", lambda self, names=None: asked.append(names) or inner(self, names))
    found.plot("cost", "speed")
    assert asked[0] is None  # the first part, to see what there is
    assert all(names is not None and "time" not in names for names in asked[1:])


def test_two_names_for_x_ask_for_colours():
    n = 60
    found = study({"a": RANDOM.random(n), "b": RANDOM.random(n), "c": RANDOM.random(n)}, {"r": RANDOM.random(n)})
    figure = drawn(found.plot("r", ["a", "c"]))
    assert (figure.axes[0].get_xlabel(), figure.axes[0].get_ylabel()) == ("a", "c")
    assert figure.axes[0].get_title() == "r"


@pytest.mark.slow
def test_texts_are_categories():
    n = 80
    kinds = np.array(["pd", "lqr"])[np.arange(n) % 2]
    figure = drawn(study({"kind": kinds}, {"error": 10.0 ** RANDOM.uniform(-4, 1, n)}).plot())
    assert [label.get_text() for label in figure.axes[0].get_xticklabels()] == ["pd", "lqr"]
    assert figure.axes[0].get_yscale() == "log"
    assert drawn(study({"kind": kinds, "a": np.arange(80.0)}, {"e": RANDOM.random(n)}).plot(x="kind"))
    many = study({"kind": np.array([f"k{k}" for k in range(n)])}, {"e": RANDOM.random(n)})
    with pytest.raises(InputError, match="80 different texts"):
        many.plot(x="kind")


def test_no_setting_that_varies_is_a_histogram():
    n = 90
    found = study({"a": np.ones(n)}, {"r": RANDOM.random(n), "s": 10.0 ** RANDOM.uniform(-4, 1, n)})
    figure = drawn(found.plot())
    assert [ax.get_xlabel() for ax in figure.axes] == ["r", "s"]
    assert figure.axes[1].get_xscale() == "log"
    assert figure.axes[0].get_ylabel() == "rows"
    nothing = study({"a": np.ones(3)}, {"r": np.full(3, np.nan)})
    assert title(drawn(nothing.plot())) == "3 rows, 3 not finite"


@pytest.mark.slow
def test_arrays_over_random_settings_are_violins_or_bands():
    n = 200
    columns = {"a": RANDOM.random(n), "b": RANDOM.random(n)}
    results = {"peak": RANDOM.random((n, 7)), "long": RANDOM.random((n, 50)), "m": RANDOM.random((n, 2, 2))}
    found = study(columns, results, cut=50)
    figure = drawn(found.plot())
    assert [ax.get_xlabel() for ax in figure.axes[:3]] == ["entry of peak", "entry of long", "entry of m"]
    assert [label.get_text() for label in figure.axes[2].get_xticklabels()] == ["0,0", "0,1", "1,0", "1,1"]
    assert drawn(found.plot("m[1,0]", "a")).axes[0].get_ylabel() == "m[1,0]"


def test_a_distribution_of_equal_numbers():
    found = study({"a": np.arange(5.0)[::-1]}, {"v": np.ones((5, 2))})
    assert drawn(found.plot("v")).axes[0].get_xlabel() == "entry of v"


def test_distributions_on_request():
    """Also where settings vary, over which results would be drawn."""
    found = study({"a": np.arange(20.0)}, {"y": np.arange(20.0) ** 2})
    assert drawn(found.plot("y")).axes[0].get_xlabel() == "a"
    assert drawn(found.plot("y", [])).axes[0].get_xlabel() == "y"


def test_settings_chosen_by_ratios_have_a_logarithmic_axis():
    """And there are no contour lines across a jump."""
    gains, masses = np.meshgrid([100.0, 200.0, 400.0, 800.0, 1600.0], [0.0, 1.0, 2.0, 3.0], indexing="ij")
    smooth = (1.0 + masses) / np.sqrt(gains)
    for jump, lines in ((0.0, 1), (10.0, 0)):
        values = (smooth + jump * (gains == 1600.0) * (masses == 3.0)).ravel()
        ax = drawn(study({"gain": gains.ravel(), "mass": masses.ravel()}, {"error": values}).plot()).axes[0]
        assert (ax.get_xscale(), ax.get_yscale()) == ("log", "linear")
        assert sum(type(each).__name__ == "QuadContourSet" for each in ax.collections) == lines


def test_truth_values_are_drawn_where_there_is_nothing_else():
    outcomes = [ok(good=True), Outcome("failed", "", None), ok(good=False)] * 3
    figure = drawn(study({"a": np.zeros(9)}, outcomes).plot())
    assert figure.axes[0].get_xlabel() == "good"


def test_what_cannot_be_drawn_is_refused_by_name():
    outcomes = [ok(ragged=np.zeros(k), word="x", v=np.zeros(2)) for k in range(4)]
    found = study({"a": np.arange(4.0), "w": np.zeros((4, 2))}, outcomes)
    with pytest.raises(InputError, match="arrays of 'ragged' differ in shape from row to row"):
        found.plot("ragged")
    with pytest.raises(InputError, match="'word' is a column of texts"):
        found.plot("word")
    with pytest.raises(InputError, match="no column 'peak'"):
        found.plot("peak")
    with pytest.raises(InputError, match="no column 'peak'"):
        found.plot("peak[0]")
    with pytest.raises(InputError, match=r"there is no 'v\[2\]'; 'v' has arrays of shape \(2,\)"):
        found.plot("v[2]")
    with pytest.raises(InputError, match=r"there is no 'a\[0\]'; 'a' has one number a row"):
        found.plot("v", "a[0]")
    with pytest.raises(InputError, match=r"'w' is an array; choose an entry for x=, such as 'w\[0\]'"):
        found.plot("v", "w")
    with pytest.raises(InputError, match="y must be a name or names"):
        found.plot(3)
    only = study({"a": np.arange(4.0)}, [ok(word="x")] * 4)
    with pytest.raises(InputError, match="no result is a number"):
        only.plot()


def test_a_figure_that_is_given_is_drawn_into():
    from matplotlib.figure import Figure

    figure = Figure()
    assert grid().plot(figure=figure) is figure
    assert figure.axes


def test_names_with_mathematical_signs_are_drawn_as_they_are():
    found = study({"$a": np.arange(5.0)}, {"b_{": np.arange(5.0), "$c$": np.arange(5.0)})
    assert drawn(found.plot()).axes[1].get_ylabel() == "$c$"


def test_which_axes_are_logarithmic():
    assert drawing.is_logarithmic(np.logspace(-5, 0, 30))
    assert not drawing.is_logarithmic(np.linspace(0.0, 1e6, 30))
    assert not drawing.is_logarithmic(np.array([]))
    assert not drawing.is_logarithmic(np.array([np.nan, np.inf]))
