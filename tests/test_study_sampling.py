"""Samplers of settings: recipes whose rows do not depend on how they are cut, and distributions that are right."""

import itertools
import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kstest, norm, qmc

from neuler import InputError
from neuler.studies import choice, latin_hypercube, log_uniform, normal, product, random, sampling, sobol, whole
from neuler.studies.settings import ColumnSettings, settings_of
from work import calls

RANGES = {
    "payload": (0.0, 3.0),
    "q": ([-1.0, -2.0, -3.0], [1.0, 2.0, 3.0]),
    "noise": normal([0.0, 5.0], [1.0, 0.1]),
    "friction": log_uniform(1e-3, 1e3),
    "count": whole(-2, 5),
    "robot": choice(["panda", "ur5", "iiwa14"]),
    "vector": choice([[1.0, 2.0], [3.0, 4.0]]),
    "gain": 2.5,
    "label": "x",
    "hold": True,
    "simulate.step": (1e-4, 1e-3),
}
SAMPLERS = {
    "random": lambda rows: random(rows, RANGES, seed=3),
    "sobol": lambda rows: sobol(rows, RANGES, seed=3),
    "latin_hypercube": lambda rows: latin_hypercube(rows, RANGES, seed=3),
    "product": lambda rows: product(a=[1, 2, 3], b=["x", "yy"], q=np.eye(4), c=np.arange(50)).part(100, 100 + rows),
}


def equal(a, b):
    assert list(a) == list(b)
    for name, column in a.items():
        assert column.dtype.kind == b[name].dtype.kind
        np.testing.assert_array_equal(column, b[name], err_msg=name)


# ---- recipes -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SAMPLERS)
@settings(max_examples=25, deadline=None)
@given(rows=st.integers(1, 300), data=st.data())
def test_cutting_changes_no_bit(name, rows, data):
    made = SAMPLERS[name](rows)
    assert len(made) == rows
    edges = sorted(data.draw(st.sets(st.integers(1, rows - 1), max_size=5))) if rows > 1 else []
    bounds = [0, *edges, rows]
    parts = [made.part(first, last) for first, last in itertools.pairwise(bounds)]
    columns = [pickle.loads(pickle.dumps(part)).columns() for part in parts]
    equal({key: np.concatenate([part[key] for part in columns]) for key in made.names}, made.columns())
    inner = data.draw(st.integers(0, len(parts[-1]) - 1))
    row = parts[-1].part(inner, inner + 1).columns()
    equal(row, made.part(bounds[-2] + inner, bounds[-2] + inner + 1).columns())


@pytest.mark.parametrize("name", ["random", "sobol"])
def test_more_rows_leave_the_first_ones(name):
    few, many = SAMPLERS[name](10), SAMPLERS[name](50)
    equal(few.columns(), many.part(0, 10).columns())
    assert few.fingerprint() == many.part(0, 10).fingerprint()


def test_a_random_column_depends_on_its_name_and_the_seed_alone():
    alone = random(20, a=(0.0, 1.0)).columns()["a"]
    beside = random(20, b=normal(0, 1), a=(0.0, 1.0)).columns()
    np.testing.assert_array_equal(alone, beside["a"])
    assert not np.isin(random(20, c=(0.0, 1.0)).columns()["c"], alone).any()
    assert not np.isin(random(20, a=(0.0, 1.0), seed=1).columns()["a"], alone).any()
    assert random(20, a=(0, 1), b=2).fingerprint() == random(20, b=2, a=(0, 1)).fingerprint()


def test_random_numbers_are_those_of_philox():
    """Known values, so that a study of today is the same in later versions."""
    found = random(3, a=(0.0, 1.0), seed=5).columns()["a"]
    assert found.tolist() == [0.5089802106272907, 0.5046214529954388, 0.5669791004071882]
    far = random(2**61, q=(np.zeros(3), 1.0)).part(2**60, 2**60 + 2).columns()["q"]
    assert len(np.unique(far)) == 6


def test_recipes_are_small_and_cost_nothing():
    big = product(a=range(1000), b=np.linspace(0, 1, 1000), c=[f"k{k}" for k in range(1000)])
    assert len(big) == 10**9
    assert len(pickle.dumps(big.part(10**8, 10**8 + 65_536))) < 40_000
    assert big.part(10**9 - 1, 10**9).columns()["c"].tolist() == ["k999"]
    for made in (random(2**62, RANGES), sobol(2**30, RANGES)):
        assert len(pickle.dumps(made.part(2**20, 2**21))) < 3_000
        assert made.part(10, 12).columns()["q"].shape == (2, 3)


@pytest.mark.parametrize("made", [product(a=np.arange(10**5), b=[1, 2]), random(100, a=choice(np.arange(10**5)))])
def test_few_rows_of_a_long_list_travel_without_it(made):
    part = made.part(2, 10)
    data = pickle.dumps(part)
    assert len(data) < 3_000
    assert isinstance(pickle.loads(data), ColumnSettings)
    equal(pickle.loads(data).columns(), part.columns())


def test_they_are_shown_on_one_line():
    assert repr(random(10**6, a=(0, 1), b=2)) == "<random: 1,000,000 rows of 'a', 'b'>"
    assert repr(product(a=[1, 2]).part(0, 1)) == "<product: 1 row of 'a'>"
    assert repr(latin_hypercube(5, a=(0, 1))) == "<latin_hypercube: 5 rows of 'a'>"
    assert repr(normal(0, [1, 2])) == "normal([0.0, 0.0], [1.0, 2.0])"
    assert "\n" not in repr(choice(np.arange(1000.0)))


def test_fingerprints_of_recipes_differ():
    made = [
        random(10, a=(0, 1)), random(11, a=(0, 1)), random(10, a=(0, 1), seed=1), random(10, a=(0, 2)),
        random(10, b=(0, 1)), random(10, a=([0], [1])), random(10, a=log_uniform(0.5, 1)), random(10, a=(0.5, 1)),
        random(10, a=normal(0.5, 1)), random(10, a=whole(0, 1)), random(10, a=choice([0, 1])), random(10, a=0),
        random(10, a=0.0), random(10, a="0"), sobol(10, a=(0, 1)), sobol(10, a=(0, 1), seed=1), sobol(11, a=(0, 1)),
        sobol(10, a=(0, 1), b=(0, 1)), sobol(10, b=(0, 1), a=(0, 1)), latin_hypercube(10, a=(0, 1)),
        product(a=[1, 2], b=[3]), product(a=[1], b=[2, 3]), product(b=[3], a=[1, 2]), product(a=[1.0, 2.0], b=[3]),
        product(a=[1, 2], b=[3]).part(0, 1), product(a=[1, 2], b=[3]).part(1, 2), random(10, a=(0, 1)).part(1, 10),
    ]  # fmt: skip
    found = [one.fingerprint() for one in made]
    assert len(set(found)) == len(made)
    assert product(a=[1, 2], b=[3]).fingerprint() == product({"a": np.array([1, 2])}, b=3).fingerprint()


# ---- equal rows ----------------------------------------------------------------------------------------------------


def test_equal_rows_of_recipes():
    assert product(a=range(1000), b=range(1000), c=range(1000)).duplicate() is None
    assert product(a=[1, 2, 1], b=[1, 2]).duplicate() == (0, 4)
    assert product(a=[1, 2, 1], b=[1, 1]).duplicate() == (0, 1)
    assert product(a=[1, 2, 1], b=[1, 2]).part(1, 6).duplicate() == (0, 4)
    assert product(a=[1, 2, 1], b=[1, 2]).part(1, 4).duplicate() is None
    assert product(q=[[1, 2], [1, 2]]).duplicate() == (0, 1)
    assert product(a=[np.nan, np.nan]).duplicate() == (0, 1)
    for draw in (random, sobol):
        assert draw(2**29, a=(0, 1), b=whole(0, 1)).duplicate() is None
        first, second = draw(50, b=whole(0, 3), c=choice(["x", "y"])).duplicate()
        columns = draw(50, b=whole(0, 3), c=choice(["x", "y"])).columns()
        assert first < second
        assert all(column[first] == column[second] for column in columns.values())
    assert random(2, a=1).duplicate() == (0, 1)
    assert latin_hypercube(100, a=(0, 1)).duplicate() is None


def test_whether_rows_are_equal_is_known_at_once():
    count, error = calls(random(2**62, RANGES).duplicate)
    assert error is None
    assert count < 100


# ---- values --------------------------------------------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(st.lists(st.lists(st.integers(0, 9), min_size=1, max_size=4), min_size=1, max_size=4))
def test_product_is_that_of_itertools(axes):
    made = product({f"a{k}": axis for k, axis in enumerate(axes)}).columns()
    assert list(zip(*(column.tolist() for column in made.values()), strict=True)) == list(itertools.product(*axes))


def test_product_of_many_kinds():
    made = product({"simulate.step": (1e-3, 1e-4)}, q=np.eye(2), robot="panda", hold=[True, False], values=iter([1, 2]))
    columns = made.columns()
    assert len(made) == 16
    assert columns["simulate.step"].tolist() == [1e-3] * 8 + [1e-4] * 8
    assert columns["q"].shape == (16, 2)
    assert columns["robot"].tolist() == ["panda"] * 16
    assert columns["hold"].dtype == np.bool_
    assert columns["values"].tolist() == [1, 2] * 8
    equal(settings_of(made).columns(), columns)


@pytest.mark.parametrize("name", ["random", "sobol", "latin_hypercube"])
def test_statistics(name):
    """Means and deviations within five standard errors of 20,000 independent draws, and whole distributions."""
    rows = 20_000
    found = SAMPLERS[name](rows).columns()
    cases = {
        "payload": (found["payload"], 1.5, 3 / 12**0.5),
        "q": (found["q"], np.zeros(3), np.array([2, 4, 6]) / 12**0.5),
        "noise": (found["noise"], np.array([0.0, 5.0]), np.array([1.0, 0.1])),
        "friction": (np.log10(found["friction"]), 0.0, 6 / 12**0.5),
        "count": (found["count"], 1.5, (63 / 12) ** 0.5),
        "vector": (found["vector"], np.array([2.0, 3.0]), np.ones(2)),
    }
    for key, (column, mean, deviation) in cases.items():
        error = 5 * deviation / rows**0.5
        assert (abs(column.mean(axis=0) - mean) < error).all(), key
        assert (abs(column.std(axis=0) - deviation) < error).all(), key
    counts = np.unique(found["robot"], return_counts=True)[1]
    assert (abs(counts - rows / 3) < 5 * (rows * 2 / 9) ** 0.5).all()
    assert sorted(set(found["count"].tolist())) == list(range(-2, 6))
    assert found["count"].dtype == np.int64
    assert set(found["gain"].tolist()) == {2.5}
    assert set(found["label"].tolist()) == {"x"}
    assert found["hold"].all()
    assert found["hold"].dtype == np.bool_
    assert kstest(found["noise"][:, 1], norm(5.0, 0.1).cdf).pvalue > 1e-6
    assert kstest(found["payload"] / 3, "uniform").pvalue > 1e-6
    together = np.corrcoef(np.column_stack([found["payload"], found["q"], found["noise"]]).T)
    assert abs(together - np.eye(6)).max() < 5 / rows**0.5


def test_sobol_is_that_of_scipy():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted = qmc.Sobol(3, scramble=True, seed=np.random.default_rng(7)).random(100)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = sobol(100, a=(0.0, 1.0), b=([0.0, 0.0], 1.0), c="constant", seed=7)
        found = made.columns()
        np.testing.assert_array_equal(np.column_stack([found["a"], found["b"]]), wanted)
        np.testing.assert_array_equal(made.part(37, 90).columns()["a"], wanted[37:90, 0])


def test_latin_hypercube_has_one_point_in_each_stratum():
    rows = 1000
    found = latin_hypercube(rows, q=(np.zeros(4), 1.0), noise=normal(0, 1)).columns()
    for column in (*found["q"].T, norm.cdf(found["noise"])):
        assert sorted(np.floor(column * rows).astype(int)) == list(range(rows))


def test_no_draw_is_infinite_or_beyond_its_range(monkeypatch):
    """Also where the numbers between 0 and 1 are at their ends."""

    class Ends:
        def __init__(self, stream):
            pass

        def random(self, shape):
            return np.resize([0.0, 1.0 - 2.0**-53], shape)

    monkeypatch.setattr(np.random, "Generator", Ends)
    edges = np.array([[0.0, 0.0], [1.0, 1.0]])
    for found in (random(2, RANGES).columns(), sampling._split(np.repeat(edges, 4, axis=1)[:, :8], _eight())):
        for name, column in found.items():
            if column.dtype.kind == "f":
                assert np.isfinite(column).all(), name
        assert 0.0 <= found["payload"].min() <= found["payload"].max() <= 3.0
        assert 1e-3 <= found["friction"].min() <= found["friction"].max() <= 1e3
        assert found["count"].tolist() == [-2, 5]
        assert found["robot"].tolist() == ["panda", "iiwa14"]


def _eight():
    """Ranges that take eight numbers a row."""
    names = ("payload", "noise", "friction", "count", "robot", "vector", "simulate.step")
    return {name: sampling.range_of(name, RANGES[name]) for name in names}


def test_a_constant_vector_is_a_choice_of_one():
    for draw in (random, sobol, latin_hypercube):
        found = draw(3, q=choice([[1.0, 2.0]]), robot=choice("panda"), a=(0, 1)).columns()
        assert found["q"].tolist() == [[1.0, 2.0]] * 3
        assert found["robot"].tolist() == ["panda"] * 3
        assert len(draw(3, q=choice([[1.0, 2.0]])).columns()["q"]) == 3


def test_wide_and_narrow_ranges_stay_inside():
    found = random(
        1000, a=(1e16, 1e16 + 2), b=(-8e307, 8e307), c=log_uniform(1e-300, 1e300), d=whole(-(2**51), 2**51 - 2)
    )
    for name, (low, high) in {"a": (1e16, 1e16 + 2), "b": (-8e307, 8e307), "c": (1e-300, 1e300)}.items():
        column = found.columns()[name]
        assert low <= column.min() <= column.max() <= high
    assert abs(found.columns()["d"]).max() > 2**50


# ---- what is refused -----------------------------------------------------------------------------------------------

BAD = {
    "random: rows must be a whole number": lambda: random(0, a=(0, 1)),
    "random: rows must be .*got 2.5": lambda: random(2.5, a=(0, 1)),
    "random: seed must be": lambda: random(1, a=(0, 1), seed=-1),
    "sobol: seed must be": lambda: sobol(1, a=(0, 1), seed="x"),
    "sobol: rows must be at most": lambda: sobol(2**30 + 1, a=(0, 1)),
    "sobol: a row has 30000 numbers": lambda: sobol(2, a=(np.zeros(30_000), 1)),
    "random: there are no columns": lambda: random(3),
    "product: there are no columns": lambda: product(),
    "column 'status': the name is reserved": lambda: sobol(3, status=(0, 1)),
    "product: column 'row': the name": lambda: product(row=[1]),
    "column 0 has an empty name": lambda: latin_hypercube(3, {"": 1}),
    "must map names to values": lambda: random(3, {1: (0, 1)}),
    "ranges must map names": lambda: random(3, [(0, 1)]),
    "'a' is given twice": lambda: product({"a": [1]}, a=[2]),
    "product: 'a' has no values": lambda: product(a=[]),
    "product: 'a': row 1 is a text": lambda: product(a=[1, "x"]),
    "product: 'a' is a set": lambda: product(a={1, 2}),
    "more than can be counted": lambda: product({f"a{k}": range(100) for k in range(20)}),
    "range of 'a': low must be below high, got 1 and 1": lambda: random(3, a=(1, 1)),
    "low must be below high, got": lambda: random(3, a=([0, 2], [1, 1])),
    "range of 'a': low must be finite": lambda: random(3, a=(-np.inf, 1)),
    "range of 'a': high must be finite, got nan": lambda: random(3, a=(0, np.nan)),
    "high - low must be finite": lambda: random(3, a=(-1e308, 1e308)),
    "vectors must have one length": lambda: random(3, a=([0, 0], [1, 1, 1])),
    "of texts use choice": lambda: random(3, a=("x", "y")),
    r"range of 'a' must be a pair .* choice\(\[vector\]\)": lambda: random(3, a=[1, 2, 3]),
    "must be a pair .* got None": lambda: random(3, a=None),
    "got array": lambda: random(3, a=np.zeros(2)),
    "range of 'a': row 0 is complex": lambda: random(3, a=1j),
    "low must be a number or a vector": lambda: random(3, a=([[0]], 1)),
    "normal: deviation must be above zero": lambda: normal(0, -1),
    "normal: deviation must be above zero, got 0": lambda: normal(0, 0),
    "normal: mean must be finite": lambda: normal(np.nan, 1),
    "normal: mean must be a number": lambda: normal("x", 1),
    "log_uniform: low must be above zero": lambda: log_uniform(0, 1),
    "log_uniform: low must be below high": lambda: log_uniform(2, 1),
    "log_uniform: high must be finite": lambda: log_uniform(2, np.inf),
    "whole: low and high must be whole numbers": lambda: whole(0.5, 2),
    "whole: low must be below high": lambda: whole(3, 3),
    "whole: at most": lambda: whole(-(2**62), 2**62),
    "whole: low: row 0 is beyond 64-bit": lambda: whole(-(2**70), 0),
    "choice: there are no options": lambda: choice([]),
    "choice: options: row 1 is a number": lambda: choice(["a", 1]),
    "choice: options must have one value": lambda: choice(3),
    "sampler must be one of .* got 'halton'": lambda: sampling.sampler("halton"),
}


@pytest.mark.parametrize("message", BAD)
def test_what_is_wrong_is_said(message):
    with pytest.raises(InputError, match=message) as caught:
        BAD[message]()
    assert len(str(caught.value)) < 500


def test_without_scipy(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    for make in (lambda: sobol(3, a=(0, 1)), lambda: latin_hypercube(3, a=(0, 1)), lambda: normal(0, 1)):
        with pytest.raises(ImportError, match=r"needs SciPy: pip install .*scipy"):
            make()
    assert len(random(3, a=(0, 1), b=log_uniform(1, 2)).columns()["b"]) == 3


def test_a_sampler_by_name():
    assert [sampling.sampler(name) for name in sampling.SAMPLERS] == [product, random, sobol, latin_hypercube]
