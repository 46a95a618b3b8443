"""Libraries of Functional Mock-up Units, called as the standard says: steps, derivatives, states, messages."""

import ctypes
from ctypes import POINTER, byref, c_char, c_double, c_size_t, c_void_p

import numpy as np
import pytest

import neuler
from fmu_calls import CO_SIMULATION, DISCARD, ERROR, MODEL_EXCHANGE, Importer, built
from fmu_robots import DT, between, free_arm, simulated, standing_arm, sticking_arm
from shown_robots import all_kinds


@pytest.fixture(scope="module")
def arm(tmp_path_factory):
    """An importer of an arm with all that there is."""
    unit = standing_arm().fmu(
        DT, frames="tool", external="link2", loads="link1", parameters=("gravity", "link2.mass"), effort="clip",
        platforms=(),
    )  # fmt: skip
    return Importer(unit, built(unit, tmp_path_factory.mktemp("arm")))


@pytest.fixture(scope="module")
def rough(tmp_path_factory):
    """One of an arm with dry friction: co-simulation alone."""
    unit = sticking_arm().fmu(DT, platforms=())
    return Importer(unit, built(unit, tmp_path_factory.mktemp("rough")))


@pytest.fixture(scope="module")
def floating(tmp_path_factory):
    """One of an arm on a free base: q has a quaternion."""
    unit = free_arm().fmu(DT, frames="link2", platforms=())
    return Importer(unit, built(unit, tmp_path_factory.mktemp("floating")))


@pytest.fixture(scope="module")
def kinds(tmp_path_factory):
    """One of a tree with planar, spherical, helical and other joints."""
    unit = all_kinds().fmu(DT, frames=["c", "f"], loads="c", parameters=("a", "d.mass"), platforms=())
    return Importer(unit, built(unit, tmp_path_factory.mktemp("kinds")))


# ---- co-simulation -----------------------------------------------------------------------------------------------


def test_co_simulation_is_a_rollout(arm):
    """Forces beyond the limits of effort are cut off; wrenches act."""
    robot, rng = standing_arm(), np.random.default_rng(0)
    q, qd, taus = rng.normal(size=2), rng.normal(size=2), rng.normal(scale=8.0, size=(50, 2))
    push, load = rng.normal(size=6), rng.normal(size=6)
    one = arm.instance().begin(q=q, qd=qd, wrench=push, load=load)
    found = simulated(one, taus, 4 * DT)
    wanted = robot.rollout(
        q, qd, np.repeat(taus, 4, axis=0), DT, every=4, external={"link2": push}, loads={"link1": load}, effort="clip"
    )
    np.testing.assert_allclose(found, np.hstack([wanted.q, wanted.qd]), rtol=0, atol=1e-12)
    np.testing.assert_allclose(one.get("pose")[:3], robot.link_poses(found[-1, :2], frame="tool")[:3, 3], atol=1e-14)
    tau = np.clip(taus[-1], -10, 10)
    qdd = robot.compile("forward_dynamics", external="link2", loads="link1")(
        found[-1, :2], found[-1, 2:], tau, push, load
    )
    np.testing.assert_allclose(one.get("qdd"), qdd, rtol=1e-12)


def test_dry_friction_holds(rough):
    """And accelerations are those that the next step has: none, where a joint rests."""
    robot = sticking_arm()
    q, taus = [0.3, 0.1], np.tile([0.5, 0.2], (100, 1))
    one = rough.instance().begin(q=q)
    assert one.get("qdd")[1] == 0.0
    assert one.get("qdd")[0] < -1.0
    found = simulated(one, taus)
    wanted = robot.rollout(q, np.zeros(2), taus, DT)
    np.testing.assert_allclose(found, np.hstack([wanted.q, wanted.qd]), rtol=0, atol=1e-12)
    assert (found[:, 3] == 0.0).all()
    assert np.abs(found[:, 2]).max() > 1e-2
    after = robot.rollout(found[-1, :2], found[-1, 2:], taus[:1], DT)
    np.testing.assert_allclose(one.get("qdd"), (after.qd[0] - found[-1, 2:]) / DT, rtol=0, atol=1e-9)
    assert rough.instance(MODEL_EXCHANGE) is None
    assert "has no model exchange" in rough.said[-1][2]


def test_steps_that_are_no_multiple(arm):
    """A communication step ends with a shorter step; what is off by rounding alone does not."""
    robot, q = standing_arm(), [0.3, -0.4]
    one = arm.instance().begin(q=q)
    assert one.step(0.0, 2.5 * DT) == 0
    whole = robot.rollout(q, np.zeros(2), None, DT, steps=2)
    wanted = robot.rollout(whole.q[-1], whole.qd[-1], None, 0.5 * DT, steps=1)
    np.testing.assert_allclose(one.get("q"), wanted.q[-1], rtol=0, atol=1e-13)
    assert one.step(2.5 * DT, 0.0) == 0
    one = arm.instance().begin(time=0.1, q=q)
    time, h = 0.1, 0.003
    for _ in range(100):
        assert one.step(time, h) == 0
        time += h
    np.testing.assert_allclose(one.get("q"), robot.rollout(q, [0, 0], None, DT, steps=300).q[-1], rtol=0, atol=1e-12)
    assert one.step(9.0, h) == ERROR
    assert "a step at t = 9 s, and the unit is at t = 0.4 s" in arm.said[-1][2]
    assert one.step(time, -1.0) == ERROR


def test_parameters_change_between_steps(arm):
    robot = standing_arm()
    one = arm.instance().begin(q=[0.3, 0.1])
    simulated(one, np.zeros((20, 2)))
    one.put({"parameter.link2.mass": 2.0, "parameter.gravity.y": -1.6})
    found = simulated(one, np.zeros((20, 2)), time=20 * DT)
    half = robot.rollout([0.3, 0.1], [0, 0], None, DT, steps=20)
    wanted = robot.rollout(
        half.q[-1], half.qd[-1], None, DT, steps=20, parameters={"link2.mass": 2.0, "gravity": [0, -1.6, 0]}
    )
    np.testing.assert_allclose(found, np.hstack([wanted.q, wanted.qd]), rtol=0, atol=1e-12)


def test_instances_do_not_know_of_each_other(arm):
    before = arm.alive
    one, two = (arm.instance(name=name).begin(q=q) for name, q in (("one", [0.3, 0.1]), ("two", [-0.2, 0.5])))
    alone = simulated(arm.instance().begin(q=[0.3, 0.1]), np.ones((30, 2)))
    rows = []
    for k in range(30):
        one.set(tau=[1.0, 1.0])
        two.set(tau=[-1.0, 0.0])
        assert one.step(k * DT, DT) == two.step(k * DT, DT) == 0
        rows.append(one.get("q"))
    np.testing.assert_array_equal(rows, alone[:, :2])
    one.call("FreeInstance")
    two.call("FreeInstance")
    assert arm.alive == before + 2  # that which ran alone


def test_states_are_copied(arm):
    """Also as bytes, into another instance; bytes of another unit are refused."""
    one, state = arm.instance().begin(q=[0.3, 0.1]), c_void_p()
    simulated(one, np.ones((10, 2)))
    one.do("GetFMUstate", byref(state))
    ahead = simulated(one, np.ones((10, 2)), time=10 * DT)
    one.do("SetFMUstate", state)
    np.testing.assert_array_equal(simulated(one, np.ones((10, 2)), time=10 * DT), ahead)
    size = c_size_t()
    one.do("SerializedFMUstateSize", state, byref(size))
    data = (c_char * size.value)()
    one.do("SerializeFMUstate", state, data, size)
    one.do("FreeFMUstate", byref(state))
    assert state.value is None
    other = arm.instance()
    other.do("DeSerializeFMUstate", data, size, byref(state))
    other.do("SetFMUstate", state)
    np.testing.assert_array_equal(simulated(other, np.ones((10, 2)), time=10 * DT), ahead)
    solved = arm.instance(MODEL_EXCHANGE)
    assert solved.call("SetFMUstate", state) == ERROR
    assert "a state of model exchange is none of co-simulation" in arm.said[-1][2]
    data[3] = b"?"
    assert other.call("DeSerializeFMUstate", data, size, byref(state)) == ERROR
    other.do("FreeFMUstate", byref(state))


def test_errors_have_messages(arm):
    assert arm.instance(guid="{0}") is None
    assert "GUID" in arm.said[-1][2]
    assert arm.instance(7) is None
    assert "neither model exchange nor co-simulation" in arm.said[-1][2]
    one = arm.instance()
    assert one.call("SetupExperiment", 0, c_double(0), c_double(np.nan), 0, c_double(0)) == ERROR
    assert "start time is not finite" in arm.said[-1][2]
    one.put({"parameter.link2.mass": np.nan})
    one.do("EnterInitializationMode")
    assert one.call("ExitInitializationMode") == ERROR
    assert f"reference {arm.references['parameter.link2.mass']} is not finite" in arm.said[-1][2]
    one = arm.instance()
    assert one.step(0.0, DT) == ERROR
    assert arm.said[-1] == (ERROR, "logStatusError", "fmi2DoStep may not be called now")
    one.begin(q=[0.3, 0.1])
    for call, said in (
        (("GetReal", *number(999), (c_double * 1)()), "no real variable with the reference 999"),
        (("SetReal", *number(999), (c_double * 1)()), "there is none"),
        (("SetReal", *one.references(["qdd.joint1"]), (c_double * 1)()), "it is computed"),
        (("SetReal", *one.references(["q.joint1"]), (c_double * 1)()), "before the run begins"),
        (("GetInteger", *number(0), (ctypes.c_int * 1)()), "all variables are real"),
    ):
        assert one.call(*call) == ERROR
        assert said in arm.said[-1][2]
    one.set(tau=[0.0, np.nan])
    one.put({"wrench.link2.fx": np.nan})
    for size in (-DT, np.nan, np.inf):
        assert one.step(0.0, size) == ERROR
        assert f"a step of {size:g} s" in arm.said[-1][2]
    assert one.step(0.0, DT) == ERROR
    place = arm.references["tau.joint2"]
    assert f"t = 0 s: not finite, the variable with the reference {place}" in arm.said[-1][2]
    assert one.step(0.0, DT) == ERROR
    assert "reset it" in arm.said[-1][2]
    one.do("Reset")
    one.begin(q=[0.3, 0.1])
    assert one.step(0.0, DT) == 0
    one.do("Terminate")


def number(reference):
    return (ctypes.c_uint * 1)(reference), c_size_t(1)


def test_limits_end_a_run(tmp_path):
    robot = between(1.0, neuler.robots.two_link())
    unit = robot.fmu(DT, limits="stop", platforms=())
    assert unit.notes == ("No model exchange: limits='stop' is what steps do.",)
    importer = Importer(unit, built(unit, tmp_path))
    one = importer.instance().begin()
    one.set(tau=[5.0, 0.0])
    assert one.step(0.0, 1.0) == ERROR
    wanted = robot.rollout([0, 0], [0, 0], [5.0, 0.0], DT, steps=1000, limits="stop")
    assert f"t = {(wanted.step - 1) * DT:.9g} s: limit, joint joint" in importer.said[-1][2]


def test_a_start_that_opens_a_loop(tmp_path):
    """Said when initialization ends, with the loop and the remedy; after a reset closed ones go on."""
    robot = neuler.robots.four_bar()
    closed = robot.assemble([1.0]).q
    unit = robot.fmu(DT, q0=closed, platforms=())
    importer = Importer(unit, built(unit, tmp_path))
    assert importer.instance().begin().step(0.0, DT) == 0
    one = importer.instance()
    for q, said in (
        (closed + [0.0, 0.2, 0.0], "leave the loop"),
        (closed + [0.0, 1e-2, 0.0], "robot.assemble"),
        (closed * np.nan, "not finite"),
    ):
        one.set(q=q)
        one.do("EnterInitializationMode")
        assert one.call("ExitInitializationMode") == ERROR
        assert said in importer.said[-1][2]
        assert one.step(0.0, DT) == ERROR
        assert "reset it" in importer.said[-1][2]
        one.do("Reset")
    one.begin(q=robot.assemble([1.3]).q)
    assert one.step(0.0, DT) == 0
    with pytest.raises(neuler.InputError, match=r"q0 leaves the loop '.*' open by 0\.\d+ .*q0=robot\.assemble"):
        robot.fmu(DT, q0=closed + [0.0, 0.2, 0.0], platforms=())


def test_a_loop_that_is_turned_over(tmp_path):
    """Closed, but with opposite axes: there a step would fail."""
    robot = turned_over()
    unit = robot.fmu(DT, platforms=())
    importer = Importer(unit, built(unit, tmp_path))
    assert importer.instance().begin().step(0.0, DT) == 0
    one = importer.instance()
    one.set(q=[0.0, np.pi])
    one.do("EnterInitializationMode")
    assert one.call("ExitInitializationMode") == ERROR
    assert "close the loop pin the wrong way round" in importer.said[-1][2]
    with pytest.raises(neuler.InputError, match="'pin' closed the wrong way round"):
        robot.fmu(DT, q0=[0.0, np.pi], platforms=())


def turned_over():
    """A bar whose end turns about its length, pinned to the base at the middle of it."""

    def bar(name):
        return neuler.Link.from_com(name, mass=1.0, com=(0.1, 0, 0), inertia=(0.01, 0.01, 0.01))

    joints = [
        neuler.Joint("swing", "revolute", "base", "a", axis=(0, 0, 1)),
        neuler.Joint("roll", "revolute", "a", "b", axis=(1, 0, 0)),
    ]
    frames = [neuler.Frame("fixed", "base"), neuler.Frame("end", "b")]
    return neuler.Robot(
        "rolled", [neuler.Link("base"), bar("a"), bar("b")], joints, frames=frames,
        loops=[neuler.Loop("pin", "revolute", "fixed", "end")],
    )  # fmt: skip


# ---- model exchange ----------------------------------------------------------------------------------------------


def continuous(importer, **groups):
    one = importer.instance(MODEL_EXCHANGE).begin(**groups)
    one.do("EnterContinuousTimeMode")
    return one


def test_derivatives_are_forward_dynamics(arm):
    robot, rng = standing_arm(), np.random.default_rng(1)
    push, load, tau = rng.normal(size=6), rng.normal(size=6), np.array([3.0, 50.0])
    one = continuous(arm, tau=tau, wrench=push, load=load)
    q, qd = rng.normal(size=(2, 2))
    found = one.continuous([*q, *qd])
    model = robot.compile("forward_dynamics", external="link2", loads="link1", parameters=("link2.mass",))
    for mass in (0.5, 2.0):
        wanted = model(q, qd, np.clip(tau, -10, 10), push, load, [mass])
        np.testing.assert_allclose(found, [*qd, *wanted], rtol=1e-12)
        one.do("EnterEventMode")
        one.put({"parameter.link2.mass": 2.0})
        one.do("EnterContinuousTimeMode")
        found = one.continuous([*q, *qd])
    assert one.call("SetReal", *one.references(["parameter.link2.mass"]), (c_double * 1)(1.0)) == ERROR
    assert one.call("GetDerivatives", (c_double * 4)(), c_size_t(3)) == ERROR
    assert "expected 4 numbers, got 3" in arm.said[-1][2]
    x = np.full(4, np.nan)
    one.do("SetContinuousStates", x.ctypes.data_as(c_void_p), c_size_t(4))
    assert one.call("GetDerivatives", x.ctypes.data_as(POINTER(c_double)), c_size_t(4)) == DISCARD


def test_the_rates_of_a_free_base(floating):
    """Positions change by the rotated velocity, the quaternion by half of itself times w, whatever its length is."""
    robot, rng = free_arm(), np.random.default_rng(2)
    q, qd, tau = robot.random_configuration(rng), rng.normal(size=8), rng.normal(size=8)
    one = continuous(floating, tau=tau)
    found = one.continuous([*q, *qd])
    qdd = robot.forward_dynamics(q, qd, tau)
    np.testing.assert_allclose(found[9:], qdd, rtol=1e-11)
    h = 1e-6
    ends = [robot.rollout(q, s * qd, None, h, steps=1, method="euler").q[0] for s in (1, -1)]
    np.testing.assert_allclose(found[:9], (ends[0] - ends[1]) / (2 * h), atol=2e-5)
    longer = q.copy()
    longer[3:7] *= 1.01
    again = one.continuous([*longer, *qd])
    np.testing.assert_allclose(again[[0, 1, 2, *range(7, 17)]], found[[0, 1, 2, *range(7, 17)]], rtol=1e-11)
    np.testing.assert_allclose(again[3:7], 1.01 * found[3:7], rtol=1e-12)


def test_a_quaternion_that_is_no_rotation(floating):
    for kind in (CO_SIMULATION, MODEL_EXCHANGE):
        one = floating.instance(kind)
        one.set(q=2.0 * free_arm().neutral())
        one.do("EnterInitializationMode")
        assert one.call("ExitInitializationMode") == ERROR
        assert "quaternion of joint root_joint have not the length one" in floating.said[-1][2]


@pytest.mark.parametrize("which", ["arm", "floating", "kinds"])
def test_directional_derivatives(which, request):
    importer, rng = request.getfixturevalue(which), np.random.default_rng(3)
    one = continuous(importer, tau=rng.normal(size=len([x for x in importer.references if x.startswith("tau.")])))
    states = [*one.names("q"), *one.names("qd")]
    known = [*states, *one.names("tau"), *one.names("wrench"), *one.names("parameter")]
    unknown = [*one.names("der"), *one.names("qdd"), *one.names("pose"), *one.names("q")]
    at = np.concatenate([one.get(group) for group in ("q", "qd", "tau", "wrench", "parameter")])
    at += 0.3 * rng.normal(size=len(at))
    way, h = rng.normal(size=len(known)), 1e-6

    def value(x):
        one.do("EnterEventMode")
        rest = len(states)
        one.put(dict(zip(known[rest:], x[rest:], strict=True)))
        one.do("EnterContinuousTimeMode")
        one.continuous(x[:rest])
        return np.concatenate([one.get(group) for group in ("der", "qdd", "pose", "q")])

    wanted = (value(at + h * way) - value(at - h * way)) / (2 * h)
    value(at)
    found = one.slope(unknown, dict(zip(known, way, strict=True)))
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-6 * np.abs(wanted).max())


def test_a_force_that_is_cut_off_has_no_slope(arm):
    one = continuous(arm, tau=[0.0, 50.0])
    one.continuous([0.3, 0.2, 0.0, 0.0])
    assert not one.slope(["qdd.joint1", "qdd.joint2"], {"tau.joint2": 1.0}).any()
    assert one.slope(["qdd.joint1", "qdd.joint2"], {"tau.joint1": 1.0}).all()
