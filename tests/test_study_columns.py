"""Columns of the results of a study: from what tasks return to files and back, damaged files, parts joined."""

import io
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from neuler.errors import FormatError, InputError
from neuler.studies.columns import (
    KINDS,
    RESERVED,
    Outcome,
    decode,
    encode,
    joined,
    problem_of,
    problem_of_batch,
    table_of,
)

PAYLOAD = {"payload": np.array([1.0, 2.0, 3.0])}


def ok(**values):
    return Outcome("ok", "", values)


FAILED = Outcome("failed", "ValueError: no solution", None)


def of_rows(*outcomes, first=0):
    return table_of(first, {"payload": np.arange(float(len(outcomes)))}, outcomes)


# ---- what a task may return ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"a": 1.5, "b": True, "c": 3, "d": "text", "e": np.float32(1), "f": np.int8(1), "g": np.bool_(True)},
        {"a": float("nan"), "b": float("-inf"), "c": np.zeros((2, 3)), "d": np.zeros(0), "e": np.array(1.0)},
        {"a": [1.0, 2.0], "b": (1, 2), "c": [[True, False]], "d": np.float16(1), "e": [], "f": np.str_("x")},
        {"a": 2**63 - 1, "b": -(2**63), "c": np.array([2**63 - 1], dtype=np.uint64), "d": np.zeros(2, ">f8")},
        {"peak torque [N m]": 1.0, "ärger": 2.0, "a.b[0]": 3.0},
    ],
)
def test_what_a_task_may_return(values):
    assert problem_of(values, ["payload"]) is None
    table = of_rows(Outcome("ok", "", values))
    for kind in KINDS:
        assert decode(encode(table, kind), kind) == table


@pytest.mark.parametrize(
    ("values", "told"),
    [
        (None, "returned None"),
        (3.5, "returned 3.5; it must return a dict"),
        ([1.0], "must return a dict"),
        ({1: 2.0}, "result 1 has no text as its name"),
        ({"": 2.0}, "empty"),
        ({" ": 2.0}, "empty"),
        ({"a\0b": 2.0}, "cannot be printed"),
        ({"\ud800": 2.0}, "cannot be printed"),
        ({"row": 2.0}, "every study uses itself"),
        ({"status": 2.0}, "every study uses itself"),
        ({"payload": 2.0}, "has the name of a setting"),
        ({"a": 1j}, "is complex; return its real and imaginary parts"),
        ({"a": np.zeros(2, complex)}, "is complex"),
        ({"a": np.array([1, None])}, "array of objects"),
        ({"a": [None, 1.0]}, "array of objects"),
        ({"a": object()}, "is a object; return numbers"),
        ({"a": {1.0, 2.0}}, "is a set"),
        ({"a": b"bytes"}, "is a bytes"),
        ({"a": {"b": 1.0}}, "is a dict; flatten it"),
        ({"a": None}, "is None; leave it out, or return float"),
        ({"a": 2**63}, "beyond the whole numbers of 64 bits"),
        ({"a": [2**70, 1]}, "beyond the whole numbers of 64 bits"),
        ({"a": np.array([2**63], np.uint64)}, "beyond the whole numbers of 64 bits"),
        ({"a": 10**5000}, "beyond the whole numbers of 64 bits"),
        ({"a": [[1.0], [1.0, 2.0]]}, "differ in length"),
        ({"a": ["x", "y"]}, "array of texts"),
        ({"a": np.datetime64("2020-01-01")}, "datetime64"),
        ({"a": np.zeros(2, np.longdouble)}, "convert it to float64"),
        ({"a": np.ma.masked_array([1.0], [True])}, "masked"),
        ({"a": "x\0"}, "NUL"),
        ({"a": "\ud800"}, "half characters"),
        ({"a": np.zeros(2, [("x", float)])}, "return numbers"),
    ],
)
def test_what_a_task_may_not_return(values, told):
    assert told in problem_of(values, ["payload"])


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ([1.0, 2.0, 3.0], "must return a dict"),
        ({"a": 1.0}, "one entry a row"),
        ({"a": np.float64(1.0)}, "one entry a row"),
        ({"a": "text"}, "one entry a row"),
        ({"a": np.zeros(2)}, "has the shape (2,); its leading axis must be the 3 rows"),
        ({"a": np.zeros((2, 3))}, "leading axis must be the 3 rows"),
        ({"a": np.array(1.0)}, "leading axis must be the 3 rows"),
        ({"a": np.zeros(3, complex)}, "complex"),
        ({"a": [1.0, None, 2.0]}, "objects"),
        ({"a": [[1.0], [1.0, 2.0], []]}, "differ in length"),
        ({"a": [["x"], ["y"], ["z"]]}, "several texts a row"),
        ({"a": ["x", "y\0z", "z"]}, "NUL"),
        ({"a": None}, "None"),
        ({"a": {"b": np.zeros(3)}}, "flatten"),
        ({"payload": np.zeros(3)}, "name of a setting"),
        ({"message": np.zeros(3)}, "every study uses itself"),
        ({"a": np.full(3, 2**63, np.uint64)}, "64 bits"),
    ],
)
def test_what_a_batch_may_not_return(values, told):
    assert told in problem_of_batch(values, 3, ["payload"])


def test_what_a_batch_may_return():
    values = {"a": np.zeros(3), "b": np.zeros((3, 2, 2), np.float32), "c": [1, 2, 3], "d": ["x", "yy", ""]}
    values |= {"e": np.zeros((3, 0)), "f": [True, False, True], "g": np.array(["x", "y", "z"], dtype=object)}
    assert problem_of_batch(values, 3, ["payload"]) is None
    table = table_of(0, PAYLOAD, values)
    for kind in KINDS:
        assert decode(encode(table, kind), kind) == table
    found = joined([table])
    assert {name: (found[name].dtype.kind, found[name].shape) for name in values} == {
        "a": ("f", (3,)), "b": ("f", (3, 2, 2)), "c": ("i", (3,)), "d": ("U", (3,)), "e": ("f", (3, 0)),
        "f": ("b", (3,)), "g": ("U", (3,)),
    }  # fmt: skip
    assert found["b"].dtype == np.float32
    assert found["status"].tolist() == ["ok"] * 3
    assert found["message"].tolist() == [""] * 3


# ---- there and back ------------------------------------------------------------------------------------------------

NUMBERS = st.one_of(
    st.floats(), st.booleans(), st.integers(-(2**63), 2**63 - 1), st.floats(width=32).map(np.float32), st.just(-0.0)
)
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=5)
ARRAYS = hnp.arrays(
    st.sampled_from([np.float64, np.float32, np.int64, np.int32, np.bool_]),
    hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3),
)
VALUES = st.one_of(NUMBERS, TEXTS, ARRAYS)
NAMES = st.one_of(
    st.sampled_from(["a", "a.b", "a.shape", "a.list.element", "a there", "neuler", "b.npy", "x/y"]),
    st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=4),
).filter(lambda name: name not in ("payload", "vector", "text", *RESERVED))
OUTCOMES = st.one_of(
    st.builds(Outcome, st.just("ok"), st.just(""), st.dictionaries(NAMES, VALUES, max_size=4)),
    st.builds(Outcome, st.sampled_from(["failed", "timeout", "killed"]), st.text(max_size=8), st.none()),
)


@settings(max_examples=40, deadline=None)
@given(st.lists(OUTCOMES, max_size=6), st.sampled_from(KINDS), st.integers(0, 2**40))
def test_files_hold_any_mix(outcomes, kind, first):
    n = len(outcomes)
    columns = {"payload": np.arange(n), "vector": np.ones((n, 3)), "text": np.array(["x"] * n, dtype=str)}
    assert all(problem_of(each.values, columns) is None for each in outcomes if each.values is not None)
    table = table_of(first, columns, outcomes)
    data = encode(table, kind)
    assert decode(data, kind) == table
    names = list(table.columns)[::2]
    some = decode(data, kind, names)
    assert list(some.columns) == names
    assert all(some.columns[name] == table.columns[name] for name in names)
    found = joined([table])
    assert list(found) == list(table.columns)
    assert all(len(column) == n for column in found.values())


@settings(max_examples=60, deadline=None)
@given(st.lists(st.dictionaries(st.just("a"), ARRAYS, min_size=1), min_size=1, max_size=4), st.sampled_from(KINDS))
def test_arrays_of_one_kind_keep_their_bits(rows, kind):
    dtype = np.result_type(*(row["a"].dtype for row in rows))
    rows = [{"a": row["a"].astype(dtype)} for row in rows]
    table = of_rows(*(Outcome("ok", "", row) for row in rows))
    found = joined([decode(encode(table, kind), kind)])["a"]
    for row, value in zip(rows, found, strict=True):
        assert np.shape(value) == row["a"].shape
        kept = dtype if dtype != np.int32 else np.dtype(np.int64)
        assert np.asarray(value, kept).tobytes() == row["a"].astype(kept).tobytes()


def test_the_same_table_has_the_same_bytes():
    table = of_rows(ok(a=1.0, b=np.zeros(2)), FAILED)
    for kind in KINDS:
        assert encode(table, kind) == encode(table, kind)


def test_text_that_no_file_holds_is_escaped():
    outcome = Outcome("failed", "half \ud800 and nul \0", None)
    for kind in KINDS:
        table = of_rows(outcome)
        assert joined([decode(encode(table, kind), kind)])["message"].tolist() == ["half \\ud800 and nul \\0"]


def test_kinds_that_differ_from_row_to_row():
    found = joined([of_rows(ok(a=1, b=1, c=True, d=1.5), ok(a=2.5, b="x", c=3, d=[1.0, 2.0]))])
    assert found["a"].tolist() == [1.0, 2.5]
    assert found["b"].tolist() == ["1", "x"]
    assert found["c"].tolist() == [1, 3]
    assert found["c"].dtype == np.int64
    assert [value.tolist() for value in found["d"]] == [1.5, [1.0, 2.0]]


def test_readers_of_parquet_find_sensible_columns():
    pandas = pytest.importorskip("pandas")
    table = of_rows(
        ok(peak=1.5, n=2, torque=np.array([1.0, 2.0]), matrix=np.eye(2), good=True, word="x", long=np.zeros(3)),
        FAILED,
        ok(peak=float("nan"), n=3, torque=np.zeros(2), matrix=np.eye(2), good=False, word="y", long=np.zeros(1)),
    )
    frame = pandas.read_parquet(io.BytesIO(encode(table, "parquet")))
    assert list(frame) == [
        "row", "payload", "peak", "n", "torque", "matrix", "good", "word", "long", "status", "message"
    ]  # fmt: skip
    assert frame["torque"][0].tolist() == [1.0, 2.0]
    assert frame["torque"][1] is None
    assert frame["matrix"][0].tolist() == [1.0, 0.0, 0.0, 1.0]
    assert frame["long"][2].tolist() == [0.0]
    assert frame["status"].tolist() == ["ok", "failed", "ok"]
    assert frame["peak"].isna().tolist() == [False, True, True]


def test_readers_of_parquet_see_what_is_null_and_what_is_nan():
    parquet = pytest.importorskip("pyarrow.parquet")
    data = encode(of_rows(ok(peak=float("nan")), FAILED), "parquet")
    column = parquet.read_table(io.BytesIO(data))["peak"]
    assert [value is None for value in column.to_pylist()] == [False, True]


def test_readers_of_npz_find_numbers_by_name():
    with np.load(io.BytesIO(encode(table_of(0, PAYLOAD, {"peak": np.eye(3)}), "npz")), allow_pickle=False) as file:
        assert file["peak"].tolist() == np.eye(3).tolist()
        assert file["payload"].tolist() == [1.0, 2.0, 3.0]


# ---- damage --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_cut_and_strange_bytes_are_refused(kind):
    data = encode(of_rows(ok(a=1.0), FAILED), kind)
    for hurt in (b"", b"PAR1", data[: len(data) // 2], data[:-1], b"\0" * 1000):
        with pytest.raises(FormatError):
            decode(hurt, kind)
    for other in KINDS:
        if other != kind:
            with pytest.raises(FormatError):
                decode(data, other)


@pytest.mark.parametrize("kind", KINDS)
def test_bytes_that_are_no_part(kind):
    for body in (b"", b"PAR1", b"PK\x05\x06" + b"\0" * 18):
        with pytest.raises(FormatError, match=kind if kind == "parquet" else "part of a study"):
            decode(body, kind)


@settings(max_examples=100, deadline=None)
@given(st.data(), st.sampled_from(KINDS))
def test_damage_that_no_checksum_showed_never_crashes(data, kind):
    made = bytearray(encode(of_rows(ok(a=1.0, b=np.zeros(2), c="x"), FAILED, ok(b=np.zeros((1, 1)))), kind))
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(made) - 1))
        made[place] ^= data.draw(st.integers(1, 255))
    try:
        table = decode(bytes(made), kind)
    except FormatError:
        return
    assert len(table) >= 0


def _npz(head, **arrays):
    file = io.BytesIO()
    arrays["neuler"] = np.frombuffer(json.dumps(head).encode(), np.uint8)
    np.savez(file, **arrays)
    return file.getvalue()


@pytest.mark.parametrize(
    ("about", "values"),
    [
        ({"words": ["ok"]}, np.array([0, 7])),
        ({"words": ["ok"]}, np.array([0.0, 0.0])),
        ({}, np.zeros(3)),
        ({}, np.array(["a", "b"])),
        ({"shapes": [[2], [2]]}, np.zeros(3)),
        ({"shapes": [[2]]}, np.zeros(2)),
        ({"there": "a"}, np.zeros(5)),
        ({"entry": "missing"}, np.zeros(2)),
    ],
)
def test_hand_made_npz_that_does_not_fit(about, values):
    column = {"name": "a", "entry": "a", "words": None, "shapes": None} | about
    head = {"version": 1, "rows": 2, "settings": [], "columns": [column]}
    with pytest.raises(FormatError):
        decode(_npz(head, a=values), "npz")


def test_other_versions_are_refused():
    with pytest.raises(FormatError, match="another version"):
        decode(_npz({"version": 2, "rows": 0, "settings": [], "columns": []}), "npz")
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    file = io.BytesIO()
    parquet.write_table(arrow.table({"a": [1.0]}), file)
    with pytest.raises(FormatError, match="another version"):
        decode(file.getvalue(), "parquet")


def test_unknown_kinds_are_named():
    table = of_rows(ok(a=1.0))
    with pytest.raises(InputError, match="did you mean 'parquet'"):
        encode(table, "parqet")
    with pytest.raises(InputError, match="kind must be one of"):
        decode(b"", "csv")


def test_parquet_without_pyarrow_says_what_to_install(monkeypatch):
    from neuler import extras

    monkeypatch.setattr(extras.importlib.util, "find_spec", lambda name: None)
    data = encode(of_rows(ok(a=1.0)), "npz")
    assert decode(data, "npz").rows == 1
    with pytest.raises(ImportError, match="pip install pyarrow"):
        encode(of_rows(ok(a=1.0)), "parquet")


# ---- joined --------------------------------------------------------------------------------------------------------


def test_parts_are_joined_in_the_order_of_rows():
    parts = [of_rows(ok(a=3.0), first=2), of_rows(ok(a=1.0), ok(a=2.0), first=0)]
    found = joined(parts)
    assert found["row"].tolist() == [0, 1, 2]
    assert found["a"].tolist() == [1.0, 2.0, 3.0]
    assert found["row"].dtype == np.int64


def test_order_of_columns():
    parts = [of_rows(FAILED), of_rows(ok(b=1.0, a=1.0), first=1), of_rows(ok(c=1.0, a=1.0), first=2)]
    assert list(joined(parts)) == ["row", "payload", "b", "a", "c", "status", "message"]


def test_missing_values_of_every_kind():
    row = {"i": 7, "f": 1.5, "g": np.float32(2), "b": True, "t": "x", "v": np.ones(2), "w": np.ones(2, int)}
    row |= {"flags": np.array([True, False])}
    lacking = joined([of_rows(Outcome("ok", "", row), FAILED)])
    absent = joined([of_rows(Outcome("ok", "", row)), of_rows(FAILED, first=1)])
    for found in (lacking, absent):
        assert found["i"].dtype == np.float64
        np.testing.assert_array_equal(found["i"], [7.0, np.nan])
        np.testing.assert_array_equal(found["f"], [1.5, np.nan])
        assert found["g"].dtype == np.float32
        np.testing.assert_array_equal(found["g"], np.array([2, np.nan], np.float32))
        assert found["b"].tolist() == [True, None]
        assert found["t"].tolist() == ["x", ""]
        np.testing.assert_array_equal(found["v"], [[1.0, 1.0], [np.nan, np.nan]])
        np.testing.assert_array_equal(found["w"], [[1.0, 1.0], [np.nan, np.nan]])
        assert found["flags"].tolist() == [[True, False], [None, None]]
        assert found["status"].tolist() == ["ok", "failed"]
        assert found["message"].tolist() == ["", "ValueError: no solution"]


def test_types_that_differ_between_parts():
    parts = [
        of_rows(ok(a=1, b=np.float32(1), c=np.zeros(2), d=1.0, e=[1.0], t="a")),
        of_rows(ok(a=1.5, b=2.0, c=np.zeros(3), d="x", e=[1], t="long text"), first=1),
    ]
    found = joined(parts)
    assert found["a"].tolist() == [1.0, 1.5]
    assert found["b"].dtype == np.float64
    assert found["c"].dtype == object
    assert [value.shape for value in found["c"]] == [(2,), (3,)]
    assert found["d"].tolist() == ["1.0", "x"]
    assert found["e"].tolist() == [[1.0], [1.0]]
    assert found["t"].tolist() == ["a", "long text"]


def test_ragged_columns_with_missing_rows():
    found = joined([of_rows(ok(a=np.zeros((2, 2))), FAILED, ok(a=np.ones(3))), of_rows(FAILED, first=3)])["a"]
    assert found.dtype == object
    assert [None if value is None else value.shape for value in found] == [(2, 2), None, (3,), None]
    assert found[2].tolist() == [1.0, 1.0, 1.0]


def test_a_long_message_does_not_widen_all_rows():
    outcomes = [Outcome("failed", "x" * 100_000, None)] + [ok(a=1.0)] * 1000
    found = joined([of_rows(*outcomes)])
    assert found["message"].dtype == object
    assert found["message"][0] == "x" * 100_000
    assert found["message"][1] == ""
    assert found["status"].dtype.kind == "U"


def test_nothing_joined():
    assert joined([]) == {}
    empty = table_of(0, {"payload": np.zeros(0)}, [])
    for kind in KINDS:
        assert decode(encode(empty, kind), kind) == empty
    found = joined([empty])
    assert {name: len(column) for name, column in found.items()} == {
        "row": 0, "payload": 0, "status": 0, "message": 0
    }  # fmt: skip


def test_some_rows_of_a_table():
    table = of_rows(ok(a=1.0, b=np.zeros(2), c="x"), FAILED, ok(a=2.0, b=np.zeros(1), c="y"))
    some = joined([table.only(np.array([False, True, True]))])
    assert some["row"].tolist() == [1, 2]
    assert some["c"].tolist() == ["", "y"]
    assert [None if value is None else len(value) for value in some["b"]] == [None, 1]


def test_tables_that_differ_are_not_equal():
    one = of_rows(ok(a=1.0))
    assert one == of_rows(ok(a=1.0))
    assert of_rows(ok(a=float("nan"))) == of_rows(ok(a=float("nan")))
    for other in (ok(a=2.0), ok(a=1), ok(b=1.0), ok(a="1.0"), ok(a=[1.0]), FAILED, ok(a=np.float32(1.0))):
        assert one != of_rows(other)
    assert of_rows(ok(a=0.0)) != of_rows(ok(a=-0.0))
