"""Settings of a study: the same rows whoever gives them and however they are cut; what is wrong is named by row."""

import contextlib
import fractions
import io
import itertools
import os
import pickle
import subprocess
import sys
import tracemalloc
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from neuler import FormatError, InputError
from neuler.studies import Settings, digests, settings_of
from neuler.studies.settings import ColumnSettings
from neuler.studies.values import MOST_COLUMNS

ROWS = [
    {"payload": 0.5, "count": 1, "robot": "panda", "hold": True, "q": [0.0, 1.0, 2.0]},
    {"payload": np.nan, "count": -2, "robot": "größer", "hold": False, "q": [3.0, 4.0, np.nan]},
    {"payload": -0.0, "count": 2**62, "robot": "", "hold": True, "q": [5.0, 6.0, 7.0]},
]
KINDS = {"payload": "f", "count": "i", "robot": "U", "hold": "b", "q": "f"}
SHAPES = {"payload": (), "count": (), "robot": (), "hold": (), "q": (3,)}


def in_columns():
    return {name: np.array([row[name] for row in ROWS]) for name in ROWS[0]}


def as_records():
    columns = in_columns()
    types = [(name, column.dtype, column.shape[1:]) for name, column in columns.items()]
    found = np.zeros(3, dtype=types)
    for name, column in columns.items():
        found[name] = column
    return found


def as_arrow():
    columns = {name: pa.array(list(column)) for name, column in in_columns().items() if name != "q"}
    q = pa.FixedSizeListArray.from_arrays(pa.array(in_columns()["q"].ravel()), 3)
    return pa.table({**columns, "q": q})


def as_parquet(folder, **options):
    pq.write_table(as_arrow(), folder / "rows.parquet", **options)
    return folder / "rows.parquet"


GIVEN = {
    "list of dicts": lambda folder: ROWS,
    "iterator": lambda folder: iter(ROWS),
    "tuple": lambda folder: tuple(ROWS),
    "array of dicts": lambda folder: np.array(ROWS, dtype=object),
    "columns": lambda folder: in_columns(),
    "lists": lambda folder: {name: column.tolist() for name, column in in_columns().items()},
    "series": lambda folder: {name: pd.Series(list(column)) for name, column in in_columns().items()},
    "other order": lambda folder: dict(reversed(in_columns().items())),
    "records": lambda folder: as_records(),
    "recarray": lambda folder: as_records().view(np.recarray),
    "big endian": lambda folder: as_records().astype(as_records().dtype.newbyteorder(">")),
    "DataFrame": lambda folder: pd.DataFrame({name: list(column) for name, column in in_columns().items()}),
    "frame with an index": lambda folder: pd.DataFrame(ROWS, index=["x", "y", "z"]),
    "Table": lambda folder: as_arrow(),
    "chunked Table": lambda folder: pa.concat_tables([as_arrow().slice(0, 1), as_arrow().slice(1)]),
    "Parquet": lambda folder: as_parquet(folder),
    "row groups": lambda folder: str(as_parquet(folder, row_group_size=1)),
    "Settings": lambda folder: settings_of(ROWS),
}


@pytest.mark.parametrize("way", GIVEN)
def test_the_same_rows_however_they_are_given(tmp_path, way):
    found = settings_of(GIVEN[way](tmp_path))
    assert isinstance(found, Settings)
    assert len(found) == 3
    assert set(found.names) == set(ROWS[0])
    columns = found.columns()
    assert tuple(columns) == found.names
    for name, wanted in in_columns().items():
        assert columns[name].dtype.kind == KINDS[name]
        assert columns[name].shape == (3, *SHAPES[name])
        assert columns[name].dtype.isnative
        np.testing.assert_array_equal(columns[name], wanted)
        assert columns[name].flags.writeable
    assert found.fingerprint() == settings_of(ROWS).fingerprint()
    assert found.duplicate() is None
    for first, last in ((0, 1), (1, 3), (0, 3)):
        part = found.part(first, last)
        assert part.fingerprint() == settings_of(ROWS[first:last]).fingerprint()
        sent = pickle.loads(pickle.dumps(part))
        assert sent.fingerprint() == part.fingerprint()
        assert sent.part(0, 1).fingerprint() == settings_of(ROWS[first : first + 1]).fingerprint()


def test_what_columns_gives_is_the_callers_own(tmp_path):
    mine = in_columns()
    for found in (settings_of(mine), settings_of(as_parquet(tmp_path)), settings_of(as_arrow())):
        found.columns()["q"][:] = 9.0
        assert found.columns()["q"][0, 1] == 1.0
    assert mine["q"][0, 1] == 1.0


def test_it_is_shown_on_one_line(tmp_path):
    assert repr(settings_of(ROWS)) == "<settings: 3 rows of 'payload', 'count', 'robot', 'hold', 'q'>"
    assert repr(settings_of([{"a": 1}])) == "<settings: 1 row of 'a'>"
    many = repr(settings_of({f"c{k}": [1] for k in range(50)}))
    assert "c11' and 38 more" in many
    assert "\n" not in many
    assert "rows.parquet': 3 rows of 'payload'" in repr(settings_of(as_parquet(tmp_path)))


def test_numbers_of_many_kinds():
    def column(values):
        return settings_of({"a": values}).columns()["a"]

    assert column([1, 2.5]).tolist() == [1.0, 2.5]
    assert column([fractions.Fraction(1, 4), Decimal("0.5")]).tolist() == [0.25, 0.5]
    assert column([np.float32(0.5), 2]).dtype == np.float64
    assert column(np.array([1, 2], dtype=np.uint8)).dtype == np.int64
    assert column(range(3)).dtype == np.int64
    assert column([np.int16(3), 4]).dtype == np.int64
    assert column([[1, 2], [3, 4.5]]).dtype == np.float64
    assert column([np.array([1, 2]), [3, 4]]).dtype == np.int64
    assert column(np.zeros((2, 3, 3))).shape == (2, 3, 3)
    assert column([np.array(1.0), 2]).tolist() == [1.0, 2.0]
    assert column([np.bool_(True), False]).dtype == np.bool_
    assert column([np.str_("a"), "bc"]).tolist() == ["a", "bc"]
    assert column(pd.Series([1, 2], dtype="Int64")).dtype == np.int64
    assert column(pd.Series(["a", "b"], dtype="category")).tolist() == ["a", "b"]
    assert column([np.inf, np.nan])[0] == np.inf


# ---- fingerprints --------------------------------------------------------------------------------------------------


def test_a_fingerprint_knows_names_types_and_values():
    different = [
        {"a": [1.0, 2.0]}, {"b": [1.0, 2.0]}, {"a": [1, 2]}, {"a": [1.0, 3.0]}, {"a": [2.0, 1.0]}, {"a": [1.0]},
        {"a": [[1.0], [2.0]]}, {"a": ["1.0", "2.0"]}, {"a": ["1.02", ".0"]}, {"a": [True, False]}, {"a": [0.0, 0.0]},
        {"a": [-0.0, 0.0]}, {"a": [np.nan, 0.0]}, {"a": [1.0, 2.0], "b": [1.0, 2.0]}, {"a": [[1.0, 2.0]]},
    ]  # fmt: skip
    found = [settings_of(given).fingerprint() for given in different]
    assert len(set(found)) == len(different)
    assert all(len(text) == 32 and int(text, 16) for text in found)


def test_a_fingerprint_is_the_same_in_every_process():
    """Also where Python's own hashes differ. The digits stand here, so that studies of older versions are found."""
    code = (
        "from neuler.studies import *\n"
        "print(settings_of([{'a': 1.5, 'b': 'x'}]).fingerprint(), product(a=[1, 2], b='x').fingerprint(),"
        " random(10, a=(0, 1), b=choice(['x', 'y'])).fingerprint(), sobol(8, a=(0, 1)).fingerprint())"
    )
    with contextlib.redirect_stdout(io.StringIO()) as shown:
        exec(code, {})
    here = shown.getvalue().split()
    there = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONHASHSEED": "1", "PYTHONPATH": os.pathsep.join(sys.path)},
    ).stdout.split()  # fmt: skip
    assert here == there
    assert len(set(here)) == 4
    assert here[0] == settings_of({"b": ["x"], "a": [1.5]}).fingerprint()
    assert here[0] == "2106fdae40460c969eef99d325a916a8"


# ---- equal rows ----------------------------------------------------------------------------------------------------


def test_equal_rows_are_found():
    assert settings_of({"a": [1.0, 2.0, 1.0], "b": ["x", "y", "x"]}).duplicate() == (0, 2)
    assert settings_of({"a": [1.0, 2.0, 1.0], "b": ["x", "y", "z"]}).duplicate() is None
    assert settings_of({"a": [np.nan, 2.0, np.nan]}).duplicate() == (0, 2)
    assert settings_of({"a": [0.0, -0.0]}).duplicate() == (0, 1)
    assert settings_of({"a": ["ab", "a", "ab"], "b": ["c", "bc", "c"]}).duplicate() == (0, 2)
    assert settings_of({"a": [True, False, True]}).duplicate() == (0, 2)
    assert settings_of({"q": [[1, 2], [2, 1], [2, 1]]}).duplicate() == (1, 2)
    assert settings_of({"a": [1.0] * 5}).duplicate() == (0, 1)
    assert settings_of({"a": [1.0]}).duplicate() is None


def test_equal_hashes_are_not_taken_for_equal_rows(monkeypatch):
    monkeypatch.setattr(digests, "row_hashes", lambda columns: np.zeros(len(columns["a"]), dtype=np.uint64))
    assert settings_of({"a": np.arange(100)}).duplicate() is None
    assert settings_of({"a": [0, 1, 2, 1]}).duplicate() == (1, 3)
    monkeypatch.setattr(digests, "_LOOKED_AT", 1)
    monkeypatch.setattr(digests, "row_hashes", lambda columns: (columns["a"] // 2).astype(np.uint64))
    assert settings_of({"a": [0, 1, 2, 3, 4, 4]}).duplicate() == (4, 5)


def test_equal_rows_in_far_blocks_are_found_in_little_memory():
    rows = 1_000_000
    a = np.arange(rows)
    a[-1] = 7
    found = settings_of({"a": a, "q": np.zeros((rows, 6))})
    tracemalloc.start()
    try:
        assert found.duplicate() == (7, rows - 1)
        assert tracemalloc.get_traced_memory()[1] < 40e6
    finally:
        tracemalloc.stop()


# ---- cutting -------------------------------------------------------------------------------------------------------

COLUMNS = st.one_of(
    hnp.arrays(np.float64, (7,)),
    hnp.arrays(np.int64, (7,)),
    hnp.arrays(np.bool_, (7,)),
    hnp.arrays(np.float64, (7, 2)),
    st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=5), min_size=7, max_size=7),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(COLUMNS, min_size=1, max_size=4), st.sets(st.integers(1, 6)))
def test_cutting_changes_no_rows(columns, edges):
    whole = settings_of({f"c{k}": column for k, column in enumerate(columns)})
    kept = whole.columns()
    bounds = [0, *sorted(edges), 7]
    parts = [whole.part(first, last) for first, last in itertools.pairwise(bounds)]
    for name in whole.names:
        joined = np.concatenate([pickle.loads(pickle.dumps(part)).columns()[name] for part in parts])
        np.testing.assert_array_equal(joined, kept[name])
    assert settings_of([row for part in parts for row in as_rows(part)]).fingerprint() == whole.fingerprint()
    pair = whole.duplicate()
    same = [(a, b) for b in range(7) for a in range(b) if equal(kept, a, b)]
    assert pair == (same[0] if same else None)


def as_rows(part):
    columns = part.columns()
    return [{name: column[row] for name, column in columns.items()} for row in range(len(part))]


def equal(columns, a, b):
    return all(np.array_equal(x[a], x[b], equal_nan=x.dtype.kind == "f") for x in columns.values())


def test_blocks_of_wide_rows_are_small():
    wide = settings_of({"q": np.zeros((300, 2**20 // 8))})
    assert [len(columns["q"]) for _, columns in wide._blocks()] == [128, 128, 44]


@pytest.mark.parametrize(("first", "last"), [(0, 0), (-1, 2), (2, 1), (0, 4), (3, 4)])
def test_parts_that_there_are_not(first, last):
    with pytest.raises(InputError, match="expected rows from 0 to 3"):
        settings_of(ROWS).part(first, last)


# ---- what is refused -----------------------------------------------------------------------------------------------

BAD = {
    "row 7 has no 'payload'": [{"payload": 1, "a": 1}] * 7 + [{"a": 1}],
    r"row 9 has 'paylod', which row 0 has not; did you mean 'payload'\?": [{"payload": 1}] * 9 + [{"paylod": 1}],
    "row 1 has 'x', which row 0 has not; give every row": [{"payload": 1}, {"payload": 1, "x": 2}],
    "there are no rows": [],
    "'a' has 2 rows, and": {"b": [1, 2, 3], "a": [1, 2]},
    "no rows; give": {"a": []},
    "there are no columns": [{}],
    "no columns; give": {},
    "row 1 must be a dict of values by name, got 3": [{"a": 1}, 3],
    "column 'a': row 2 is a text, 'x', and row 0 is a number": {"a": [1, 2.0, "x"]},
    "'b': row 1 is a number, 1, and row 0 is a truth value": [{"b": True}, {"b": 1}],
    "'c': row 1 is a vector, .*, and row 0 is a number": [{"c": 1}, {"c": [1, 2]}],
    r"'q': row 1 has shape \(3,\), and row 0 has \(2,\)": {"q": [[1, 2], [1, 2, 3]]},
    "row 0 is a ragged list": {"q": [[[1], [1, 2]]]},
    "row 0 is .*; a vector must have real numbers alone": {"q": [["a", 1]]},
    "'o': row 1 is <object object.*expected a number, a truth value, a text": {"o": [1, object()]},
    "'n': row 0 is None": [{"n": None}],
    "row 0 is {'a': 1}": [{"n": {"a": 1}}],
    "row 0 is b'x'": [{"n": b"x"}],
    "row 0 is complex": [{"n": 1j}],
    "row 1 is complex": {"n": [[1.0], np.array([1j])]},
    "has complex numbers; give real": {"n": np.array([1j])},
    "'status': the name is reserved": [{"status": 1}],
    "'row': the name is": {"row": [1]},
    "'message': the name": pd.DataFrame({"message": [1]}),
    "name of column 0 must be a text, got 7": {7: [1]},
    "name of column 0 must be a text, got 0": pd.DataFrame(np.zeros((2, 2))),
    "column 1 has an empty name": {"a": [1], " ": [2]},
    "cannot be printed": {"a\0": [1]},
    "two columns 'a'": pd.DataFrame([[1, 2]], columns=["a", "a"]),
    "two columns 'b'": pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["b", "b"]),
    f"the most is {MOST_COLUMNS}; put": {f"c{k}": [1] for k in range(MOST_COLUMNS + 1)},
    "'a' has one value; for a single row": {"a": 1, "b": "x"},
    "column 'a' must have one value a row, got 1": {"a": 1, "b": [1, 2]},
    "is a set, which has no order": {"a": {1, 2}},
    "masked array; fill": {"a": np.ma.masked_array([1, 2], [True, False])},
    "a masked array": np.ma.masked_array([(1,)], dtype=[("a", int)]),
    "an array of float64 have no names": np.zeros((3, 2)),
    r"must have one axis, the rows; got shape \(1, 1\)": np.zeros((1, 1), dtype=[("a", float)]),
    "has records; give each": np.zeros(1, dtype=[("a", [("b", float)])]),
    "has bytes; give texts": np.zeros(1, dtype=[("a", "S3")]),
    "has dates; give": pd.DataFrame({"a": pd.to_datetime(["2020-01-01"])}),
    "row 1 is <NA>": pd.DataFrame({"a": pd.array([1, None], dtype="Int64").astype(object)}),
    "row 1 is a number, nan, and row 0 is a text": pd.DataFrame({"a": ["x", np.nan]}),
    "row 1 has no value": pa.table({"a": [1, None]}),
    "row 2 has no value": pa.chunked_array([["x"], ["y", None]]),
    "row 1 has 1 numbers, and row 0 has 2": pa.table({"a": [[1, 2], [3]]}),
    "values of type timestamp": pa.table({"a": pa.array([0], type=pa.timestamp("s"))}),
    "vectors of string": pa.table({"a": [["x"]]}),
    "values of type struct": pa.table({"a": [{"b": 1}]}),
    "row 0 has no value; fill": pa.table({"a": pa.array([None, None])}),
    "no rows; give at": pa.table({"a": pa.array([], type=pa.float64())}),
    "'t': row 1 has a NUL character": {"t": ["a", "b\0"]},
    "row 0 is no valid Unicode": {"t": ["\ud800"]},
    "has vectors of texts": {"t": np.array([["a", "b"]])},
    "row 1 is beyond 64-bit whole numbers": {"i": [1, 2**63]},
    "row 0 is beyond 64-bit whole": {"i": np.array([2**63], dtype=np.uint64)},
    "vectors without entries": {"q": np.zeros((2, 0))},
    "convert it to float64": {"q": np.zeros(2, dtype=np.longdouble)},
    "must have one value a row, got one value": {"q": [1], "r": np.array(2.0)},
    "a series is one row or one column": pd.Series([1, 2], index=["a", "b"]),
    "all 100000 rows take as much room": {"t": ["a" * 100_000] + ["b"] * 99_999},
    "got the function 'settings_of'; call it": settings_of,
    "settings must be a list of dicts, .* got 3": 3,
    "settings must be .* got None": None,
    "settings must be .* got b'rows'": b"rows",
}


@pytest.mark.parametrize("message", BAD)
def test_what_is_wrong_is_said(message):
    given = BAD[message]
    with pytest.raises(InputError, match=message) as caught:
        settings_of(pa.table({"a": given}) if isinstance(given, pa.ChunkedArray) else given)
    assert len(str(caught.value)) < 500


# ---- CSV -----------------------------------------------------------------------------------------------------------


def csv(folder, text, name="rows.csv"):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_csv_columns_are_whole_numbers_numbers_or_texts(tmp_path):
    text = '\ufeffcount, payload ,robot,note,odd\n1,0.5,panda,,1_0\n-2,nan,"a,b\nc",,2\n+3,inf,7,,3\n\n'
    found = settings_of(csv(tmp_path, text, "ROWS.CSV"))
    assert found.names == ("count", "payload", "robot", "note", "odd")
    columns = found.columns()
    assert columns["count"].dtype == np.int64
    assert columns["count"].tolist() == [1, -2, 3]
    assert columns["payload"].tolist()[::2] == [0.5, np.inf]
    assert columns["robot"].tolist() == ["panda", "a,b\nc", "7"]
    assert columns["note"].tolist() == ["", "", ""]
    assert columns["odd"].tolist() == ["1_0", "2", "3"]
    same = settings_of({name: column.tolist() for name, column in columns.items()})
    assert found.fingerprint() == same.fingerprint()
    assert isinstance(pickle.loads(pickle.dumps(found.part(0, 1))), ColumnSettings)


@pytest.mark.parametrize("block", [1, 2, 3, 100])
def test_csv_columns_have_one_type_however_late_it_shows(tmp_path, monkeypatch, block):
    monkeypatch.setattr("neuler.studies.csv_files._CELLS", 4 * block)
    rows = ["1,1,1,007", "2,2,2,1e3", "3,3.5,3,-0.0", "4,4,x,2", "5,5,,y"]
    columns = settings_of(csv(tmp_path, "\n".join(["a,b,c,d", *rows]))).columns()
    assert columns["a"].tolist() == [1, 2, 3, 4, 5]
    assert columns["a"].dtype == np.int64
    assert columns["b"].tolist() == [1.0, 2.0, 3.5, 4.0, 5.0]
    assert columns["c"].tolist() == ["1", "2", "3", "x", ""]
    assert columns["d"].tolist() == ["007", "1e3", "-0.0", "2", "y"]
    with pytest.raises(FormatError, match="line 4, column 'b': is empty among numbers; write nan"):
        settings_of(csv(tmp_path, "a,b\n1,2\n1,3\n1,\n1,4.5"))


BAD_CSV = {
    "rows.csv': is empty": "",
    "is empty; expected a header that names": "\n",
    "there are no rows; expected a header": "a,b\n",
    "two columns 'a'; rename one": "a,b, a\n1,2,3\n",
    "column 1 has an empty name": "a,\n1,2\n",
    "column 'row': the name is reserved": "row\n1\n",
    "line 3 has 1 cells, the header has 2": "a,b\n1,2\n3\n",
    "line 2 has 3 cells, the header has 2": "a,b\n1,2,3\n",
    "line 3 is empty, with rows after it": "a,b\n1,2\n\n3,4\n",
    "line 3: is not CSV, or is cut": 'a,b\n1,2\n3,"x',
    "line 2 has a NUL byte": "a,b\n1,\0\n",
    "is not UTF-8 text": "a,b\n1,ä\n".encode("latin-1"),
    "not UTF-8 text:": "a,b\n1,2\n".encode("utf-16"),
    "is no CSV but a Parquet file": b"PAR1xxxx",
    "is no CSV but a ZIP archive": b"PK\x03\x04xxxx",
    "separated by ';'; separate them by commas": "a;b\n1;2\n",
    "there are 1000000 columns, the most": ",".join(f"c{k}" for k in range(1_000_000)) + "\n1\n",
    "line 1 has 16,777,216 characters or more": "a" * (2**24 + 5),
    "field larger than field limit": "a,b\n1," + "x" * 200_000,
    "column 'a': line 2: '9+' is beyond 64-bit whole numbers": "a\n" + "9" * 20,
    "column 'a': line 3: '1e999' is beyond 64-bit numbers": "a\n1\n1e999\n",
    "is beyond 64-bit numbers": "a\n" + "9" * 5000,
}


@pytest.mark.parametrize("message", BAD_CSV)
def test_bad_csv_is_named(tmp_path, message):
    with pytest.raises(FormatError, match=message) as caught:
        settings_of(csv(tmp_path, BAD_CSV[message]))
    assert "rows.csv" in str(caught.value)
    assert len(str(caught.value)) < 500


# ---- Parquet -------------------------------------------------------------------------------------------------------


def test_parquet_is_read_by_row_groups(tmp_path, monkeypatch):
    rows = 10_000
    values = {"simulate.step": np.arange(rows) * 0.5, "simulate": np.arange(rows), "t": [f"r{k}" for k in range(rows)]}
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table(values), path, row_group_size=700)
    read = []
    plain = pq.ParquetFile.read_row_groups
    monkeypatch.setattr(pq.ParquetFile, "read_row_groups", lambda file, which: read.append(which) or plain(file, which))
    found = settings_of(path)
    assert len(found) == rows
    assert read == [[0]]
    part = found.part(1_000, 2_000)
    assert len(part) == 1_000
    assert read == [[0]]
    np.testing.assert_array_equal(part.columns()["simulate"], np.arange(1_000, 2_000))
    assert part.part(5, 6).columns()["t"].tolist() == ["r1005"]
    assert read == [[0], [1, 2]]
    read.clear()
    for first in range(0, rows, 100):
        np.testing.assert_array_equal(
            found.part(first, first + 100).columns()["simulate.step"], values["simulate.step"][first : first + 100]
        )
    assert len(read) == 15
    sent = pickle.dumps(part.part(400, 500))
    path.unlink()
    assert pickle.loads(sent).columns()["simulate"].tolist() == list(range(1400, 1500))


def test_parquet_of_pandas(tmp_path):
    """Its NaN are nulls, its index may be a column without a name, its texts may be dictionaries."""
    frame = pd.DataFrame(
        {"a": [1.0, np.nan, 2.0], "b": pd.Categorical(["x", "y", "x"]), "q": [[1.0], [2.0], [np.nan]]}, index=[5, 3, 9]
    )
    frame.to_parquet(tmp_path / "rows.parquet")
    assert "__index_level_0__" in pq.read_schema(tmp_path / "rows.parquet").names
    found = settings_of(tmp_path / "rows.parquet")
    assert found.names == ("a", "b", "q")
    assert found.fingerprint() == settings_of(frame).fingerprint()


def test_parquet_of_matrices(tmp_path):
    pq.write_table(pa.table({"m": [[[1.0, 2.0], [3.0, 4.0]]] * 2}), tmp_path / "rows.parquet")
    assert settings_of(tmp_path / "rows.parquet").columns()["m"].shape == (2, 2, 2)


def test_bad_parquet_is_named(tmp_path):
    path = as_parquet(tmp_path)
    whole = path.read_bytes()
    for data in (whole[:-20], whole[: len(whole) // 2], b"PAR1", b"a,b\n1,2\n", b"\0" * 1000):
        path.write_bytes(data)
        with pytest.raises(FormatError, match=r"rows\.parquet': is not Parquet, or is cut or damaged"):
            settings_of(path)
    path.write_bytes(b"")
    with pytest.raises(FormatError, match="is empty"):
        settings_of(path)
    tables = {
        "there are no rows": pa.table({"a": pa.array([], type=pa.float64())}),
        "column 'row': the name": pa.table({"row": [1]}),
        "column 'a' has values of type": pa.table({"a": [{"x": 1}]}),
        "column 'a': row 0 has no value": pa.table({"a": pa.array([None], type=pa.int64())}),
    }
    for message, table in tables.items():
        pq.write_table(table, path)
        with pytest.raises(FormatError, match=message):
            settings_of(path)


def test_parquet_that_goes_wrong_later_is_named_by_row(tmp_path):
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"a": [1, 2, None]}), path, row_group_size=1)
    with pytest.raises(FormatError, match="column 'a': row 2 has no value; fill it in"):
        settings_of(path).fingerprint()
    pq.write_table(pa.table({"a": [[1, 2], [3, 4], [5]]}), path, row_group_size=1)
    with pytest.raises(FormatError, match=r"column 'a': row 2 has shape \(1,\), and row 0 has \(2,\)"):
        settings_of(path).part(2, 3).columns()
    pq.write_table(pa.table({"a": np.arange(50)}), path, row_group_size=10)
    found = settings_of(path)
    pq.write_table(pa.table({"a": np.arange(60)}), path, row_group_size=10)
    with pytest.raises(FormatError, match="was changed while its rows were in use"):
        found.fingerprint()
    path.unlink()
    with pytest.raises(FormatError, match="cannot be read any more"):
        found.fingerprint()


def test_damaged_bytes_of_parquet_never_crash(tmp_path):
    path = as_parquet(tmp_path, row_group_size=2)
    whole = bytearray(path.read_bytes())
    rng = np.random.default_rng(0)
    told = []
    for _ in range(150):
        data = whole.copy()
        for place in rng.integers(0, len(data), 3):
            data[place] = rng.integers(0, 256)
        path.write_bytes(data)
        try:
            settings_of(path).fingerprint()
        except FormatError as error:
            told.append(str(error))
    assert told
    assert all("rows.parquet" in message for message in told)


def test_files_that_there_are_not(tmp_path):
    with pytest.raises(FormatError, match="there is no such file"):
        settings_of(tmp_path / "none.csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(FormatError, match="is a folder"):
        settings_of(tmp_path / "folder.csv")
    with pytest.raises(FormatError, match=r"ends in \.csv or \.parquet"):
        settings_of("rows.xlsx")
    with pytest.raises(FormatError, match=r"made by neuler\.studies\.product, random, sobol"):
        settings_of("sobol")


def test_parquet_without_pyarrow(tmp_path, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ImportError, match="Parquet needs pyarrow: pip install pyarrow"):
        settings_of(as_parquet(tmp_path))
