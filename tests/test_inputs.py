"""Numbers, arrays and names from users: what is taken, what is refused, and how the messages read."""

import fractions

import numpy as np
import pytest

from neuler.errors import FormatError, InputError, RobotError
from neuler.inputs import array, choice, named, names, number, real, row, several, vector, whole


class TestTaken:
    def test_numbers(self):
        for given in (2, 2.0, np.float32(2), np.int64(2), np.array(2.0), fractions.Fraction(2)):
            assert number("x", given) == 2.0
        assert number("x", -0.0).hex() == "0x0.0p+0"
        assert number("x", -np.inf, finite=False) == -np.inf
        assert number("x", 0.0, least=0.0) == 0.0

    def test_whole_numbers(self):
        assert [whole("n", given, 1, 5) for given in (1, np.int32(3), 5)] == [1, 3, 5]

    def test_arrays(self):
        assert vector("v", (1, 2, 3), 3).tolist() == [1.0, 2.0, 3.0]
        assert row("r", np.arange(3)).tolist() == [0.0, 1.0, 2.0]
        assert row("r", [], least=0).shape == (0,)
        given = np.zeros((4, 2))
        assert array("f", "q", given, (2,)) is given
        assert np.isnan(array("f", "q", [[np.nan, 1]], (2,))[0, 0])
        assert array("f", "q", [fractions.Fraction(1, 2)], (1,)).tolist() == [0.5]

    def test_names(self):
        assert names("n", "a") == ("a",)
        assert names("n", ["a", "b"]) == ("a", "b")
        assert named("n", {"a": 1}) == {"a": 1}
        assert several("n", 1.5, float, "f()") == [1.5]
        assert several("n", None, float, "f()") == []


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("2", "x must be a number, got '2'"),
        (None, "x must be a number, got None"),
        (True, "x must be a number, got True"),
        (1j, "x must be a number, got 1j"),
        ([1.0], r"x must be a number, got \[1.0\]"),
        ({}, "x must be a number"),
        pytest.param(10**5000, "x must be a number, got an int that cannot be shown", id="many digits"),
        (np.nan, "x must be finite, got nan"),
        (-np.inf, "x must be finite, got -inf"),
        (0.0, r"x must be above zero \(s\), got 0.0"),
    ],
)
def test_no_number(given, message):
    for error in (InputError, RobotError, FormatError):
        with pytest.raises(error, match=message):
            number("x", given, above=0.0, unit="s", error=error)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: number("x", np.nan, finite=False), "x must be a number, got nan"),
        (lambda: number("x", 1.0, above=2.0), "x must be above 2"),
        (lambda: number("x", 1.0, least=2.0), "x must be 2 or more, got 1.0"),
        (lambda: number("x", -1.0, least=0.0), "x must not be negative, got -1.0"),
        (lambda: whole("n", 2.0, 0), "n must be a whole number, 0 or more, got 2.0"),
        (lambda: whole("n", True, 0), "n must be a whole number, 0 or more, got True"),
        (lambda: whole("n", 9, 1, 8), "n must be a whole number from 1 to 8, got 9"),
        (
            lambda: choice("c", "stp", ("stop", "hold")),
            "c must be one of 'stop', 'hold', got 'stp'; did you mean 'stop'",
        ),
        (lambda: choice("c", [], ("stop", "hold")), r"c must be one of 'stop', 'hold', got \[\]$"),
        (lambda: vector("v", "abc", 3), "v must be 3 numbers, got 'abc'"),
        (lambda: vector("v", [1, 2], 3), r"v must be 3 numbers, got shape \(2,\)"),
        (lambda: vector("v", [1, None, 3], 3), "v must be 3 numbers, got"),
        (lambda: vector("v", [1, np.nan, 3], 3), r"v must be finite, got \[1.0, nan, 3.0\]"),
        (lambda: row("r", []), "r must be a list of finite numbers"),
        (lambda: row("r", [[1.0]]), "r must be a list of finite numbers"),
        (lambda: array("f", "q", [[1], [2, 3]], (2,)), "f: q is not a regular array of numbers"),
        (lambda: array("f", "q", ["a", "b"], (2,)), "f: q must be real numbers, got values of type <U1"),
        (lambda: array("f", "q", [None, 1], (2,)), "f: q must be real numbers, got values of type NoneType"),
        (lambda: array("f", "q", [1j, 1], (2,)), "f: q must be real numbers, got complex numbers"),
        (lambda: array("f", "q", np.ma.ones(2), (2,)), "f: q is a masked array"),
        (lambda: array("f", "q", np.zeros(2, np.longdouble), (2,)), "convert it to float64"),
        (lambda: array("f", "q", 0.0, (2,), " (a, b)"), r"f: expected q with last axis 2 \(a, b\), got shape \(\)"),
        (lambda: array("f", "T", np.eye(3), (4, 4)), r"f: expected T with last axes \(4, 4\), got shape \(3, 3\)"),
        (lambda: names("n", []), r"n must be a name or names, got \[\]"),
        (lambda: names("n", 3), "n must be a name or names, got 3"),
        (lambda: named("n", ["a"]), "n must map names to values, .* got list"),
        (lambda: several("limits", [1], float, "within()"), r"limits are made by within\(\), got 1"),
    ],
)
def test_bad_input_is_refused_by_name(call, message):
    with pytest.raises(InputError, match=message):
        call()


def test_what_is_not_real_is_none():
    for given in ("1", b"1", {"a": 1}, [1, [2]], [1j], [True], [None], np.ma.ones(2), [object()], 10**5000):
        assert real(given) is None


def test_tables_are_never_taken_by_the_order_of_their_columns():
    pd = pytest.importorskip("pandas")
    with pytest.raises(InputError, match="columns with names"):
        real(pd.DataFrame({"a": [1.0], "b": [2.0]}))
    with pytest.raises(InputError, match="f: the table q has columns with names"):
        array("f", "q", pd.DataFrame({"a": [1.0], "b": [2.0]}), (2,))
    assert real(pd.Series([1.0, 2.0])).tolist() == [1.0, 2.0]
