"""What happens to rows: marked with step, joint and reason, frozen; the others go on."""

import dataclasses
import signal
import warnings

import numpy as np
import pytest

import neuler
from neuler import InputError, Limits
from neuler.rollouts import loop
from neuler.rollouts.events import CONTROLLER, DIVERGED, LIMIT, NOT_FINITE, OK, SINGULAR
from neuler.rollouts.rollout import Interrupted

METHODS = ("euler", "rk4", "implicit")
ARM = neuler.robots.puma560().without_friction()


def starts(rows, seed=0):
    return np.random.default_rng(seed).uniform(-1, 1, (rows, 6)), np.zeros((rows, 6))


@pytest.mark.parametrize("method", METHODS)
def test_a_row_that_is_not_finite_or_diverges_does_not_touch_the_others(method):
    q, qd = starts(13)
    tau = np.zeros((13, 50, 6))
    good = ARM.rollout(q, qd, tau, 1e-3, method=method)
    tau[3, 20, 2], tau[5, 30, 0], tau[7, 10, 4] = np.nan, np.inf, 1e12
    q[9, 1] = np.nan
    found = ARM.rollout(q, qd, tau, 1e-3, method=method)
    assert found.status[[3, 5, 7, 9]].tolist() == [NOT_FINITE, NOT_FINITE, found.status[7], NOT_FINITE]
    assert found.status[7] in (NOT_FINITE, DIVERGED)  # a stage of a step may overflow before its end is too fast
    assert found.step[[3, 5, 7, 9]].tolist() == [21, 31, 11, 0]
    assert found.joint[3] == 2
    assert found.joint[5] == 0
    assert found.joint[9] == -1
    rest = found.status == OK
    assert rest.sum() == 9
    np.testing.assert_array_equal(found.q[rest], good.q[rest])
    np.testing.assert_array_equal(found.qd[rest], good.qd[rest])
    for row in (3, 5, 7, 9):
        last = max(0, found.step[row] - 1)
        np.testing.assert_array_equal(found.q[row, :last], good.q[row, :last])
        assert np.isnan(found.q[row, last:]).all()
        assert np.isnan(found.qd[row, last:]).all()


def test_all_rows_of_a_vector_may_end():
    q, qd = starts(9)
    tau = np.zeros((9, 40, 6))
    tau[:, 7] = np.nan
    tau[2, 7] = 0.0
    found = ARM.rollout(q, qd, tau, 1e-3, every=4)
    assert found.status.tolist() == [1, 1, 0, 1, 1, 1, 1, 1, 1]
    assert (found.step[found.status == 1] == 8).all()
    assert found.step[2] == 40
    assert np.isfinite(found.q[2]).all()
    assert np.isnan(found.q[0, 1:]).all()
    assert np.isfinite(found.q[0, 0]).all()


@pytest.mark.parametrize("method", METHODS)
def test_diverged_by_speed(method):
    spinning = neuler.robots.two_link().without_friction()
    rate = np.array([[0.0, 0.0], [0.0, 9e5], [0.0, 0.0]])
    push = np.zeros((3, 40, 2))
    push[1, :, 1] = 1e9
    found = spinning.rollout(np.zeros((3, 2)), rate, push, 1e-6, method=method)
    assert found.status[1] == DIVERGED
    assert found.joint[1] == 1
    assert found.status[[0, 2]].tolist() == [OK, OK]
    before = found.qd[1, : found.step[1] - 1]
    assert np.isfinite(before).all()
    assert np.linalg.norm(before, axis=-1).max() < 1e6


@pytest.mark.parametrize("method", METHODS)
def test_limits_stop_a_row_where_they_are_asked_to(method):
    limited = ARM.replace(joints=[dataclasses.replace(joint, limits=Limits(-1.1, 1.1)) for joint in ARM.joints])
    q, qd = starts(8)
    qd = qd + 2.0
    free = limited.rollout(q, qd, np.zeros((1, 6)), 1e-3, steps=300, method=method)
    assert not free.status.any()
    found = limited.rollout(q, qd, np.zeros((1, 6)), 1e-3, steps=300, method=method, limits="stop")
    assert (found.status == LIMIT).sum() > 4
    for row in np.flatnonzero(found.status == LIMIT):
        step, joint = found.step[row], found.joint[row]
        np.testing.assert_array_equal(found.q[row, :step], free.q[row, :step])  # the first state beyond is kept
        assert np.abs(found.q[row, step - 1, joint]) > 1.1
        assert np.abs(found.q[row, : step - 1]).max() <= 1.1
        assert np.isnan(found.q[row, step:]).all()
    q[3, 4] = 1.2
    begun = limited.rollout(q, qd, np.zeros((1, 6)), 1e-3, steps=3, method=method, limits="stop")
    assert (begun.status[3], begun.step[3], begun.joint[3]) == (LIMIT, 0, 4)


def test_loops_that_cannot_close_are_marked():
    robot = neuler.robots.four_bar().without_friction()
    q = np.tile(robot.neutral(), (3, 1))
    qd = np.zeros((3, robot.nv))
    qd[1] = 5000.0  # far in one step
    found = robot.rollout(q, qd, np.zeros((1, robot.nu)), 1e-3, steps=20)
    assert found.status.tolist() == [OK, SINGULAR, OK]
    assert found.step[1] == 1
    assert found.joint[1] == -1


def test_quaternions_that_are_no_rotation_never_start():
    robot = ARM.with_free_base()
    q = np.tile(robot.neutral(), (3, 1))
    q[1, 6] = 2.0
    found = robot.rollout(q, np.zeros(12), np.zeros((1, 12)), 1e-3, steps=5, method="euler")
    assert found.status.tolist() == [0, 1, 0]
    assert found.joint.tolist() == [-1, 0, -1]


def test_controllers_that_fail_are_marked():
    def control(t, q, qd, memory, reference):
        return np.sqrt(0.01 - t) * np.ones(6) + 1e-9 * reference, memory

    q, qd = starts(5)
    goal = np.zeros((5, 1, 6))
    goal[2, 0, 3] = np.nan
    found = ARM.rollout(q, qd, control, 1e-3, steps=30, reference=goal)
    assert (found.status == CONTROLLER).all()
    assert found.step.tolist() == [12, 12, 1, 12, 12]
    assert found.joint.tolist() == [0, 0, 3, 0, 0]
    assert np.isnan(found.tau[:, 11:]).all()
    assert np.isfinite(found.tau[0, :11]).all()


def test_interruption_keeps_what_was_computed(monkeypatch):
    monkeypatch.setattr(loop, "WORK_PER_CALL", 1)
    calls = []
    run = loop.LoopKernel.run

    def interrupted(self, *arguments):
        run(self, *arguments)
        calls.append(1)
        if len(calls) == 14:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(loop.LoopKernel, "run", interrupted)
    q, qd = starts(3)
    with pytest.raises(Interrupted) as caught:
        ARM.rollout(q, qd, np.zeros((1, 6)), 1e-3, steps=50, every=5)
    monkeypatch.undo()
    partial = caught.value.rollout
    whole = ARM.rollout(q, qd, np.zeros((1, 6)), 1e-3, steps=50, every=5)
    done = int(partial.step[0])
    assert 5 < done < 50
    assert done % 5, "pieces end between kept states, too"
    np.testing.assert_array_equal(partial.q[:, : done // 5], whole.q[:, : done // 5])
    assert np.isnan(partial.q[:, done // 5 :]).all()
    assert isinstance(caught.value, KeyboardInterrupt)


# ---- bad input --------------------------------------------------------------------------------------


_SAME = np.zeros((20, 6))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"q0": np.zeros(5)}, ["q0", "last axis 6", "(5,)"]),
        ({"qd0": np.zeros((4, 7))}, ["qd0", "last axis 6"]),
        ({"q0": np.zeros((3, 6)), "qd0": np.zeros((4, 6))}, ["broadcast", "(3, 6)", "(4, 6)"]),
        ({"q0": ["a"] * 6}, ["q0", "real numbers"]),
        ({"q0": np.zeros(6, complex)}, ["q0", "real numbers"]),
        ({"tau": np.zeros(6)}, ["tau", "held", "steps=1000"]),
        ({"tau": np.zeros((10, 5))}, ["tau", "6"]),
        ({"tau": np.zeros((0, 6))}, ["tau", "no steps"]),
        ({"tau": np.zeros((10, 6)), "steps": 20}, ["tau", "10", "20"]),
        ({"dt": 0.0}, ["dt", "above zero"]),
        ({"dt": -1e-3}, ["dt", "above zero"]),
        ({"dt": np.nan}, ["dt", "nan"]),
        ({"steps": 0}, ["steps", "1 or more"]),
        ({"steps": 1.5}, ["steps", "whole number"]),
        ({"every": 0}, ["every", "1 or more"]),
        ({"every": 7, "steps": 20}, ["every = 7", "does not divide", "20"]),
        ({"method": "rk5"}, ["method", "'rk4'", "rk5"]),
        ({"limits": "yes"}, ["limits", "'stop'"]),
        ({"memory": np.zeros(3)}, ["memory", "controllers"]),
        ({"reference": np.zeros((1, 3))}, ["reference", "controllers"]),
        ({"external": {"nowhere": np.zeros(6)}}, ["nowhere"]),
        ({"external": {"link6": np.zeros(3)}}, ["link6", "6", "force"]),
        ({"external": np.zeros(6)}, ["external", "names"]),
        ({"loads": {"link6": lambda t, q, qd: [t, t]}}, ["link6", "6 numbers", "2"]),
        ({"parameters": {"link1.mas": 1.0}}, ["link1.mas", "did you mean"]),
        ({"parameters": {"payload:link6": np.zeros(4)}}, ["payload:link6", "10"]),
        ({"out": np.zeros((20, 6))}, ["out", "tuple"]),
        ({"out": (np.zeros((20, 6)), np.zeros((19, 6)))}, ["out", "(20, 6)"]),
        ({"out": (np.zeros((20, 6)),)}, ["out", "2 arrays", "1 of them"]),
        ({"out": (_SAME, _SAME)}, ["out", "shares memory"]),
        ({"start": -1}, ["start"]),
        ({"threads": "2"}, ["threads", "whole number"]),
        ({"threads": 0}, ["threads", "1 or more"]),
    ],
)
def test_bad_arguments_are_named(changes, words):
    given = {"q0": np.zeros(6), "qd0": np.zeros(6), "tau": np.zeros((1, 6)), "dt": 1e-3, "steps": 20, **changes}
    if "tau" in changes and "steps" not in changes:
        given["steps"] = None
    with pytest.raises(InputError if "nowhere" not in str(changes) else neuler.NeulerError) as caught:
        ARM.rollout(**given)
    for word in words:
        assert word in str(caught.value), str(caught.value)


def test_an_unstable_step_is_said_with_joint_and_remedy():
    stiff = neuler.robots.two_link().with_spring("joint2", 1e7, role="driven")
    near, zero = np.array([0.3, 1e-4]), np.zeros(2)
    inverse = np.linalg.inv(stiff.mass_matrix(near))
    frequency = np.sqrt(1e7 * inverse[1, 1])
    for method, most in (("euler", 2.0), ("rk4", 2.0 * np.sqrt(2.0))):
        with pytest.warns(RuntimeWarning, match=r"'joint2'.*implicit") as caught:
            found = stiff.rollout(near, zero, np.zeros((1, 2)), 1e-3, steps=200, method=method)
        assert found.status == DIVERGED
        told = float(str(caught[0].message).partition("take dt = ")[2].partition(" s")[0])
        assert 0.8 * most / frequency < told < most / frequency
        good = stiff.rollout(near, zero, np.zeros((1, 2)), told, steps=200, method=method)
        assert good.status == OK
        assert np.abs(good.q[:, 1]).max() < 3e-4
    found = stiff.rollout(near, zero, np.zeros((1, 2)), 1e-3, steps=200, method="implicit")
    assert found.status == OK
    assert abs(found.q[-1, 1]) < 1e-8


@pytest.mark.parametrize(
    "drive", [{"stiffness": 1e5}, {"viscous": 0.1}, {"friction": neuler.Coulomb(0.0, viscous=0.1)}]
)
def test_an_unstable_step_of_a_motor_is_said(drive):
    arm = neuler.robots.two_link().replace(motors=[neuler.Motor("m2", "joint2", 50, inertia=1e-5, **drive)])
    q = np.array([0.3, 0.2, 0.2])[: arm.nq]
    with pytest.warns(RuntimeWarning, match=r"'joint2(.motor)?'.*implicit"):
        arm.rollout(q, np.zeros(arm.nv), np.zeros((1, arm.nu)), 1e-2, steps=5)


@pytest.mark.parametrize("method", ["rk4", "euler"])
def test_an_unstable_step_names_the_joint_that_is_stiff_not_what_it_shakes(method):
    """A slide beside the middle of a light base that floats turns that faster than it moves itself."""
    bodies = [
        neuler.Link.from_com(name, mass=m, inertia=(k, k, k))
        for name, m, k in (("hull", 0.1, 1e-5), ("rod", 0.1, 1e-5))
    ]
    joints = [
        neuler.Joint("afloat", "free", "world", "hull"),
        neuler.Joint("slide", "prismatic", "hull", "rod", neuler.Transform(translation=(0, 0.1, 0)), axis=(1, 0, 0)),
    ]
    robot = neuler.Robot("raft", [neuler.Link("world"), *bodies], joints)
    rough = robot.with_friction("slide", neuler.Coulomb(5.0)).with_smooth_friction(1e-2)
    with pytest.warns(RuntimeWarning, match=r"unstable at dt = 0.01 s, spring and damping of joint 'slide'"):
        rough.rollout(rough.neutral(), np.zeros(7), None, 1e-2, steps=2, method=method)


@pytest.mark.parametrize("stiffness", [1e80, 1e150, 1e300])
@pytest.mark.parametrize("method", ["rk4", "euler"])
def test_springs_beyond_all_measure_are_marked_not_raised(stiffness, method):
    robot = neuler.robots.two_link().with_spring("joint2", stiffness, role="driven")
    with pytest.warns(RuntimeWarning, match=r"joint 'joint2' are too stiff for it: take method='implicit'"):
        found = robot.rollout([0.1, 0.1], [0.0, 0.0], np.zeros((1, 2)), 1e-3, steps=5, method=method)
    assert found.status in (1, 2)


def test_dry_friction_alone_is_not_too_stiff():
    """It damps nothing: at a step that is far too long nobody blames a spring."""
    robot = neuler.robots.two_link().with_friction("joint1", neuler.Coulomb(1.0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        robot.rollout([0.0, 0.0], [1.0, 1.0], np.zeros((1, 2)), 10.0, steps=1)
