"""Derivatives that are kept beside the kernels: the same as made anew, and made anew where what is kept is broken."""

import numpy as np
import pytest

import neuler
from neuler.compiler import cache
from neuler.functions import differentiated, stored


@pytest.fixture
def empty(monkeypatch, tmp_path):
    monkeypatch.setenv("NEULER_CACHE_DIR", str(tmp_path))
    return tmp_path


def torque():
    return neuler.function(neuler.robots.puma560().inverse_dynamics)


@pytest.mark.parametrize("kind", ["jacobian", "hessian"])
def test_what_is_kept_is_what_is_made(empty, monkeypatch, kind):
    made = getattr(torque(), kind)("q", sparse=True)
    monkeypatch.setattr(differentiated, f"{kind}_of", lambda *_, **__: pytest.fail("made again"))
    again = getattr(torque(), kind)("q", sparse=True)
    assert again._listing.digest == made._listing.digest
    assert dict(again._listing.structure) == dict(made._listing.structure)
    assert [x.name for x in again.inputs] == [x.name for x in made.inputs]


def test_what_is_broken_is_made_anew(empty):
    made = torque().jacobian("q", sparse=True)
    for path in empty.rglob("*"):
        if path.is_file():
            path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    again = torque().jacobian("q", sparse=True)
    assert again._listing.digest == made._listing.digest
    state = np.linspace(-1.0, 1.0, 18).reshape(3, 6)
    np.testing.assert_array_equal(again(*state), made(*state))


def test_small_functions_are_not_kept(empty, monkeypatch):
    monkeypatch.setattr(cache, "store", lambda *_, **__: pytest.fail("kept"))
    small = neuler.function(lambda x: x[0] * x[1], {"x": 2})
    assert len(small._listing.body) < stored.LEAST
    assert small.jacobian().outputs[0].shape == (2,)
