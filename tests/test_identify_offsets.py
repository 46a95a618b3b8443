"""Constant offsets of torques: said with their size, and found as columns of one's own."""

import dataclasses
import functools
import re

import numpy as np
import pytest

from neuler import InputError, identify
from test_identify_fit import errors, log, puma

pytest.importorskip("clarabel")


@functools.cache
def symmetric():
    """The PUMAs with the same friction in both directions, which no offset can hide in."""
    return tuple(
        robot.replace(joints=[dataclasses.replace(joint, coulomb_reverse=None) for joint in robot.joints])
        for robot in puma()
    )


@functools.cache
def plain():
    return log(*symmetric(), 1)


def shifted(*offsets):
    return dataclasses.replace(plain(), tau=plain().tau + np.array(offsets))


def said(found):
    return [note for note in found.notes if "offset" in note or "driving it" in note]


def test_without_offsets_nothing_is_said():
    assert said(identify.fit(plain())) == []


@pytest.mark.parametrize("offsets", [(0.0, 0.0, 3.0, 0.0, 0.0, -0.2), (-8.0, 6.0, 4.0, 0.5, -0.4, 0.3)])
def test_offsets_are_named_with_their_size(offsets):
    (note,) = said(identify.fit(shifted(*offsets)))
    found = {int(k): float(x) for k, x in re.findall(r"tau_joint(\d) (-?[0-9.]+) N m", note)}
    assert sorted(found) == [k + 1 for k, x in enumerate(offsets) if x]
    np.testing.assert_allclose(list(found.values()), [x for x in offsets if x], rtol=0.1, atol=0.05)
    assert "own=identify.offsets(robot)" in note


def test_what_not_all_is_looked_for_cannot_tell():
    assert said(identify.fit(shifted(0.0, 0.0, 3.0, 0.0, 0.0, 0.0), columns="friction")) == []


def test_columns_that_find_them():
    offsets = np.array([-40.0, 6.0, 4.0, 0.5, -0.4, 0.3])  # the first is larger than the Coulomb friction
    true, _ = symmetric()
    found = identify.fit(shifted(*offsets), own=identify.offsets(true))
    np.testing.assert_allclose(list(found.own.values()), offsets, rtol=0.05, atol=0.05)
    assert errors(found.robot, true).max() < 0.6
    assert said(found) == []


@pytest.mark.parametrize("method", ["weighted", "consistent"])
def test_offsets_beyond_coulomb_friction_are_no_friction(method):
    offsets = (-40.0, 0.0, 12.0, 0.0, 0.0, 0.0)
    (note,) = said(identify.fit(shifted(*offsets), friction="offset", method=method))
    assert "the offset of 'joint1', 'joint3' is larger than the Coulomb friction there" in note
    assert said(identify.fit(plain(), friction="offset", method=method)) == []


def test_names():
    true, _ = symmetric()
    assert list(identify.offsets(true, "joint2")) == ["joint2.offset"]
    with pytest.raises(InputError, match="offsets: 'elbow' has no torque; joints that have one are joint1, joint2"):
        identify.offsets(true, ["joint1", "elbow"])
