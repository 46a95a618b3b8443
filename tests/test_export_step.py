"""Steps of rollouts as C99: the same states as a rollout, bit for bit where the machine fuses."""

import ctypes
import dataclasses

import numpy as np
import pytest

import neuler
from c_code import compiled, ran, same
from neuler.control import ComputedTorque, GravityPD, sines
from random_robots import later

DT, STEPS = 1e-3, 200


def stepped(code, folder, begin, fed, kept, steps=STEPS, dtype=float):
    """States after every step, and the status of the last."""
    library = compiled(code, folder)
    assert code.header.split(f"int {code.name}_begin(")[1].split(");")[0].count(",") == len(begin)
    state = (ctypes.c_char * (code.memory + 64))()
    pointer = ctypes.byref(state)
    arrays = [np.ascontiguousarray(x, dtype) for x in begin]
    getattr(library, f"{code.name}_begin")(pointer, *(x.ctypes.data_as(ctypes.c_void_p) for x in arrays))
    found = [np.empty((steps, size), dtype) for size in kept]
    status = 0
    for k in range(steps):
        rows = [np.ascontiguousarray(x[k], dtype) for x in fed]
        status = getattr(library, code.name)(pointer, *(x.ctypes.data_as(ctypes.c_void_p) for x in rows))
        read = [each[k : k + 1].ctypes.data_as(ctypes.c_void_p) for each in found]
        getattr(library, f"{code.name}_read")(pointer, *read)
    return found, status


def start(robot, seed=0):
    rng = np.random.default_rng(seed)
    return robot.random_configuration(rng), 0.3 * rng.normal(size=robot.nv), rng.normal(size=(STEPS, robot.nu))


@pytest.mark.parametrize("method", ["euler", "rk4", "implicit"])
@pytest.mark.parametrize("name", ["two_link", "puma560"])
def test_the_states_of_a_rollout(name, method, tmp_path):
    """The PUMA has dry friction, which holds joints at rest."""
    robot = neuler.robots.get(name)
    q, qd, tau = start(robot)
    wanted = robot.rollout(q, qd, tau, DT, method=method)
    found, status = stepped(robot.step_c(DT, method=method), tmp_path, (q, qd), (tau,), (robot.nq, robot.nv))
    assert status == 0 == wanted.status
    same(found, [wanted.q, wanted.qd])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["four_bar", "stanford", "rx90", "gough_stewart", "hua_3r"])
def test_other_machines(name, tmp_path):
    robot = neuler.robots.get(name)
    q, qd, tau = start(robot)
    q, qd = (q, 0.1 * qd) if robot.loops else (q, qd)
    wanted = robot.rollout(q, qd, 0.1 * tau, 1e-4)
    assert wanted.status == 0
    found, _ = stepped(robot.step_c(1e-4), tmp_path, (q, qd), (0.1 * tau,), (robot.nq, robot.nv))
    same(found, [wanted.q, wanted.qd])


def test_a_free_base(tmp_path):
    robot = neuler.robots.two_link()
    base = neuler.Link(robot.links[0].name, 2.0, (0.0, 0.0, 0.0), (0.1, 0.1, 0.1, 0.0, 0.0, 0.0))
    robot = robot.replace(links=[base, *robot.links[1:]]).with_free_base()
    q, qd, tau = start(robot)
    wanted = robot.rollout(q, qd, tau, DT)
    found, _ = stepped(robot.step_c(DT), tmp_path, (q, qd), (tau,), (robot.nq, robot.nv))
    same(found, [wanted.q, wanted.qd])


@pytest.mark.parametrize("period", [1, 5])
def test_with_a_controller(period, tmp_path):
    """Held between its samples; its reference is a function of the time."""
    robot = neuler.robots.two_link()
    path = sines([0.9, 0.7], [0.6, 0.9], 1.0)
    for law in (
        GravityPD(robot, kp=60.0, kd=8.0, reference=path, period=period * DT),
        ComputedTorque(robot, kp=100.0, reference=path, period=period * DT),
    ):
        q, qd = np.split(np.asarray(path(0.0))[:4], 2)
        wanted = robot.rollout(q, qd, law, DT, STEPS)
        code = robot.step_c(DT, law, f"{type(law).__name__.lower()}_{period}")
        found, status = stepped(code, tmp_path, (q, qd), (), (2, 2, 2))
        assert status == 0
        same(found, [wanted.q, wanted.qd, wanted.tau])


def test_a_controller_with_memory_and_a_reference(tmp_path):
    """Integral control towards a goal that is fed."""

    def law(t, q, qd, memory, reference):
        error = reference - q
        return 40.0 * error - 8.0 * qd + memory, memory + 0.1 * error

    robot = neuler.robots.two_link()
    goal = np.linspace([0.0, 0.0], [0.5, -0.4], STEPS)
    wanted = robot.rollout([0.1, 0.0], [0.0, 0.0], law, DT, STEPS, memory=[0.0, 0.1], reference=goal)
    code = robot.step_c(DT, law, memory=[0.0, 0.0], reference=goal)
    found, _ = stepped(code, tmp_path, ([0.1, 0.0], [0.0, 0.0], [0.0, 0.1]), (goal,), (2, 2, 2))
    same(found, [wanted.q, wanted.qd, wanted.tau])


def test_limits_end_a_run(tmp_path):
    """With its status and the joint; from then on a step does nothing."""
    robot = neuler.robots.two_link()
    limits = neuler.Limits(-1.0, 1.0)
    joints = [dataclasses.replace(joint, limits=limits) if joint.moves else joint for joint in robot.joints]
    robot = robot.replace(joints=joints)
    tau = np.tile([5.0, 0.0], (STEPS * 5, 1))
    wanted = robot.rollout([0.0, 0.0], [0.0, 0.0], tau, DT, limits="stop")
    assert wanted.status == 3
    code = robot.step_c(DT, limits="stop")
    found, status = stepped(code, tmp_path, ([0.0, 0.0], [0.0, 0.0]), (tau,), (2, 2), len(tau))
    assert status == 3
    done = int(wanted.step) - 1
    same([found[0][:done]], [wanted.q[:done]])
    np.testing.assert_array_equal(found[0][done:], np.tile(found[0][done], (len(tau) - done, 1)))


def test_the_test_that_comes_along(tmp_path):
    done = ran(neuler.robots.puma560().step_c(DT), tmp_path)
    assert done.returncode == 0
    assert "50 steps agree" in done.stdout


def test_what_is_refused():
    robot = neuler.robots.two_link()
    for arguments, options, said in (
        (([1e-3, 2e-3],), {}, "one number of seconds"),
        ((0.0,), {}, "above zero"),
        ((DT, [1.0, 2.0]), {}, "tau is a controller, or None"),
        ((DT,), {"steps": 5}, "called as often as it is wanted"),
        ((DT,), {"method": "heun"}, "method must be one of"),
        ((DT, None, "a b"), {}, "letters, digits"),
        ((DT,), {"far": "never"}, "far must be one of"),
        ((DT,), {"limit": "stop"}, "there is no option 'limit'; did you mean 'limits'"),
        ((DT,), {"called": "x"}, "there is no option 'called'"),
        ((DT,), {"external": {"link2": np.zeros((3, 6))}}, "of one run"),
        ((DT,), {"limits": "bounce"}, "step_c: limits must be one of"),
    ):
        with pytest.raises(neuler.InputError, match=said):
            robot.step_c(*arguments, **options)


def test_efforts_cut_forces_off(tmp_path):
    """Of forces that are fed, as a rollout cuts them off."""
    robot = neuler.robots.two_link()
    tau = np.tile([50.0, -40.0], (STEPS, 1))  # the limits are 10 N m
    wanted = robot.rollout([0.1, 0.2], [0.0, 0.0], tau, DT, effort="clip")
    found, _ = stepped(robot.step_c(DT, effort="clip"), tmp_path, ([0.1, 0.2], [0.0, 0.0]), (tau,), (2, 2))
    same(found, [wanted.q, wanted.qd])


@pytest.mark.parametrize(
    ("limits", "q", "status"),
    [("ignore", [np.nan, 0.0], 1), ("ignore", [np.inf, 0.0], 1), ("stop", [1.5, 0.0], 3), ("hold", [0.0, -1.5], 3)],
)
def test_a_run_that_may_not_begin(limits, q, status, tmp_path):
    robot = neuler.robots.two_link()
    bounds = neuler.Limits(-1.0, 1.0)
    joints = [dataclasses.replace(joint, limits=bounds) if joint.moves else joint for joint in robot.joints]
    robot = robot.replace(joints=joints)
    wanted = robot.rollout(q, [0.0, 0.0], np.zeros((5, 2)), DT, limits=limits)
    assert (wanted.status, wanted.step) == (status, 0)
    library = compiled(robot.step_c(DT, limits=limits), tmp_path)
    state = (ctypes.c_char * 20_000)()
    arrays = [np.array(x, float).ctypes.data_as(ctypes.c_void_p) for x in (q, [0.0, 0.0], [0.0, 0.0])]
    assert library.two_link_step_begin(ctypes.byref(state), *arrays[:2]) == status
    assert library.two_link_step(ctypes.byref(state), arrays[2]) == status


def test_a_quaternion_that_is_no_rotation(tmp_path):
    robot = neuler.robots.two_link()
    base = neuler.Link(robot.links[0].name, 2.0, (0.0, 0.0, 0.0), (0.1, 0.1, 0.1, 0.0, 0.0, 0.0))
    robot = robot.replace(links=[base, *robot.links[1:]]).with_free_base()
    library = compiled(robot.step_c(DT), tmp_path)
    q, qd = robot.neutral(), np.zeros(robot.nv)
    state = (ctypes.c_char * 20_000)()
    for size, status in ((1.0, 0), (2.0, 1), (0.0, 1)):
        q[6] = size
        arrays = [x.ctypes.data_as(ctypes.c_void_p) for x in (q, qd)]
        assert library.two_link_step_begin(ctypes.byref(state), *arrays) == status


def test_the_header_of_a_step():
    """What is given where, frames by their own names, what is built in."""
    robot = neuler.robots.puma560()
    law = GravityPD(robot, kp=100.0, kd=20.0, period=5 * DT)
    header = robot.step_c(DT, law, "s", external={"link6": np.zeros(6)}, limits="stop", reference=np.zeros(12)).header
    for text in (
        "s_begin:",
        "fx on frame 'link6'",
        "every 5 steps",
        "Limits of the joints: stop.",
        "s_read:",
        "q[6] (out)",
    ):
        assert text in header
    assert "q_2" not in header
    assert "tau);" in header.split("s_read(")[1]
    assert "tau" not in header.split("int s_begin(")[1].split(");")[0]


@pytest.mark.parametrize(
    "name", ["two_link", *later(["puma560", "stanford", "rx90", "human", "shuttle_arm"], "puma560")]
)
def test_in_single_precision(name, tmp_path):
    """For a Cortex-M4: near the rollout; the PUMA has dry friction, the human a free base."""
    robot = neuler.robots.get(name)
    code = robot.step_c(DT, dtype="float32")
    assert " double" not in code.source
    assert ran(code, tmp_path, None, "-Wdouble-promotion").returncode == 0
    q, qd, tau = (np.float32(x) for x in start(robot))
    wanted = robot.rollout(q.astype(float), qd.astype(float), tau.astype(float), DT)
    found, status = stepped(code, tmp_path, (q, qd), (tau,), (robot.nq, robot.nv), dtype=np.float32)
    assert status == 0 == wanted.status
    for ours, theirs in zip(found, (wanted.q, wanted.qd), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=2e-3 * np.abs(theirs).max())


def test_what_single_precision_is_not_for():
    with pytest.raises(neuler.InputError, match="float32 is not for loops"):
        neuler.robots.four_bar().step_c(1e-3, dtype="float32")
    with pytest.raises(neuler.InputError, match="float32 is not for method 'implicit'"):
        neuler.robots.two_link().step_c(1e-3, method="implicit", dtype="float32")
    with pytest.raises(neuler.InputError, match="step_c: dtype must be one of"):
        neuler.robots.two_link().step_c(1e-3, dtype="float16")
