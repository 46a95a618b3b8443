"""Arguments of kernels: numbers of any kind are taken or refused by name; what is not finite stays in its row."""

from __future__ import annotations

import dataclasses
import warnings

import numpy as np
import pytest

import neuler
from gufunc_states import ROBOT, N, states


def test_numbers_of_other_types_become_double():
    expected = ROBOT.inverse_dynamics([0.0] * N, [1.0] * N, [1.0] * N)
    for kind in (np.int8, np.uint16, np.int64, np.float16, np.float32, bool, "f4", ">f8"):
        ones = np.ones(N, kind)
        found = ROBOT.inverse_dynamics(np.zeros(N, kind), ones, ones)
        assert found.dtype == np.float64
        np.testing.assert_array_equal(found, expected)


def test_nan_stays_in_its_row():
    q, qd, qdd = states((16,))
    clean = ROBOT.inverse_dynamics(q, qd, qdd)
    qdd[5, 3] = np.nan
    found = ROBOT.inverse_dynamics(q, qd, qdd)
    assert np.isnan(found[5]).any()
    np.testing.assert_array_equal(np.delete(found, 5, 0), np.delete(clean, 5, 0))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("which", [0, 1, 2])
def test_what_is_not_finite_is_not_hidden(bad, which):
    q, qd, qdd = (a.copy() for a in states(()))
    (q, qd, qdd)[which][N - 2] = bad
    with np.errstate(invalid="ignore"):
        found = ROBOT.inverse_dynamics(q, qd, qdd)
    assert not np.isfinite(found[N - 2])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((np.zeros(5), np.zeros(6), np.zeros(6)), r"expected q with last axis 6 \(one per .*got shape \(5,\)"),
        ((np.zeros(6), np.zeros((3, 7)), np.zeros(6)), r"expected qd with last axis 6.*got shape \(3, 7\)"),
        ((0.5, np.zeros(6), np.zeros(6)), r"expected q with last axis 6.*got shape \(\)"),
        ((["a"] * 6, np.zeros(6), np.zeros(6)), "q must be real numbers, got values of type <U1"),
        ((np.zeros(6), np.zeros(6, complex), np.zeros(6)), "qd must be real numbers, got complex numbers"),
        ((np.zeros(6), [None] * 6, np.zeros(6)), "qd must be real numbers, got values of type NoneType"),
        ((np.zeros(6), [[1, 2], [3]], np.zeros(6)), "qd is not a regular array of numbers"),
        ((np.zeros(6), np.zeros(6)), r"takes 3 arrays \(q, qd, qdd\), got 2"),
        ((), r"takes 3 arrays \(q, qd, qdd\), got 0"),
        ((np.zeros(6),) * 4, r"takes 3 arrays \(q, qd, qdd\), got 4"),
        ((np.zeros((2, 6)), np.zeros((3, 6)), np.zeros(6)), r"batch axes do not broadcast: q \(2, 6\), qd \(3, 6\)"),
        ((np.zeros((2, 6)).tolist(), np.zeros((3, 6)), np.zeros(6)), "batch axes do not broadcast"),
        ((np.zeros(6, "M8[s]"), np.zeros(6), np.zeros(6)), "q must be real numbers"),
        ((np.zeros(6, np.longdouble), np.zeros(6), np.zeros(6)), "convert it to float64"),
    ],
)  # fmt: skip
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(neuler.InputError, match=message):
        ROBOT.inverse_dynamics(*arguments)


@pytest.mark.parametrize(
    ("out", "message"),
    [
        (np.zeros(5), "out"),
        ("nothing", "out"),
        (np.zeros(6, np.int32), "out"),
        ((np.zeros(6), np.zeros(6)), "out"),
    ],
)
def test_bad_outputs_are_named(out, message):
    for q in (np.zeros(6), [0.0] * 6):
        with pytest.raises(neuler.InputError, match=message):
            ROBOT.inverse_dynamics(q, np.zeros(6), np.zeros(6), out=out)


def test_read_only_output():
    out = np.zeros(6)
    out.flags.writeable = False
    for q in (np.zeros(6), [0.0] * 6):
        with pytest.raises(neuler.InputError, match="read-only"):
            ROBOT.inverse_dynamics(q, np.zeros(6), np.zeros(6), out=out)


@pytest.mark.parametrize(
    ("quantity", "options", "message"),
    [
        ("inverse_dynamic", {}, "there is no quantity 'inverse_dynamic'"),
        ("inverse_dynamics", {"method": "nasser"}, "unknown option 'method'"),
        ("forward_dynamics", {"method": "magic"}, "method must be one of articulated, nasser, walker_orin"),
        ("inverse_dynamics", {"external": ("hand",)}, "no link or frame 'hand'"),
        ("inverse_dynamics", {"external": ("link1", "link1")}, "named twice"),
        ("jacobian", {"frame": "nose"}, "no link or frame 'nose'"),
        ("jacobian", {"reference": "moon"}, "reference must be 'link' or 'world'"),
        ("hybrid_dynamics", {"motion": ("joint9",)}, "no moving joint 'joint9'"),
        ("inverse_dynamics", {"dtype": "float16"}, "dtype must be float64 or float32"),
        ("forward_dynamics", {"method": "walker_orin", "reactions": True}, "has no reactions"),
    ],
)
def test_bad_variants_are_named(quantity, options, message):
    with pytest.raises((neuler.InputError, neuler.RobotError), match=message):
        ROBOT.compile(quantity, **options)


def test_a_robot_that_cannot_move():
    block = neuler.Robot("block", [neuler.Link("base", 1.0)])
    for ask in (lambda: block.compile("inverse_dynamics"), lambda: block.inverse_dynamics([], [], [])):
        with pytest.raises(neuler.RobotError, match="'block' has no joint that moves"):
            ask()


@pytest.mark.parametrize("method", ["articulated", "nasser", "walker_orin"])
def test_a_joint_that_moves_nothing_is_named(method):
    finger = neuler.Robot(
        "finger",
        [neuler.Link("base"), neuler.Link("bone", 1.0, (0.1, 0, 0), (0.1, 0.1, 0.1)), neuler.Link("tip")],
        [neuler.Joint("knuckle", "revolute", "base", "bone"), neuler.Joint("last", "revolute", "bone", "tip")],
    )
    with pytest.raises(neuler.RobotError, match="joint 'last' moves no inertia"):
        finger.compile("forward_dynamics", method=method)
    assert finger.inverse_dynamics([0.1, 0.2], [0, 0], [1, 1])[1] == 0.0
    geared = finger.replace(joints=[*finger.joints[:1], dataclasses.replace(finger.joints[1], rotor_inertia=0.01)])
    assert np.isfinite(geared.compile("forward_dynamics", method=method)([0.1, 0.2], [0, 0], [1, 1])).all()


def test_masked_arrays_are_refused_and_subclasses_are_plain():
    q, qd, qdd = states((3,))
    with pytest.raises(neuler.InputError, match="qd is a masked array"):
        ROBOT.inverse_dynamics(q, np.ma.masked_array(qd, qd > 0), qdd)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PendingDeprecationWarning)
        found = ROBOT.mass_matrix(np.asmatrix(q))
    assert type(found) is np.ndarray
    np.testing.assert_array_equal(found, ROBOT.mass_matrix(q))


def test_arrays_of_other_libraries_are_taken():
    class Tensor:
        def __init__(self, values):
            self.values = values

        def size(self):
            return self.values.size

        def __array__(self, dtype=None, copy=None):
            return self.values

    q, qd, qdd = states(())
    expected = ROBOT.inverse_dynamics(q, qd, qdd)
    np.testing.assert_array_equal(ROBOT.inverse_dynamics(Tensor(q), Tensor(qd), Tensor(qdd)), expected)


def test_single_precision_refuses_what_does_not_fit():
    heavy = neuler.Robot(
        "star", [neuler.Link("base"), neuler.Link("sun", 1e39)], [neuler.Joint("slide", "prismatic", "base", "sun")]
    )
    with pytest.raises(neuler.InputError, match=r"1e\+39 does not fit in single precision"):
        heavy.compile("inverse_dynamics", dtype="float32")
