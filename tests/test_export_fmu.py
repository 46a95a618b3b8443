"""Functional Mock-up Units: what importers read, what their library does, and the same through FMPy."""

import ctypes
import dataclasses
import re
import runpy
import shutil
import struct
import zipfile
from ctypes import POINTER, byref, c_char, c_double, c_size_t, c_void_p
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import neuler
from fmu_calls import CO_SIMULATION, DISCARD, ERROR, MODEL_EXCHANGE, Importer, built
from neuler.cli import main
from neuler.export import compilers as used_compilers
from neuler.export.fmu.binaries import this_platform

DT = 1e-3


def free_arm():
    robot = neuler.robots.two_link()
    base = neuler.Link(robot.links[0].name, 2.0, (0.0, 0.0, 0.0), (0.1, 0.1, 0.1, 0.0, 0.0, 0.0))
    return robot.replace(links=[base, *robot.links[1:]]).with_free_base()


def standing_arm():
    """A two-link arm that gravity pulls."""
    return neuler.robots.two_link().with_gravity([0.0, -9.81, 0.0])


def sticking_arm():
    """The same with dry friction that its weight can overcome in the first joint alone."""
    return standing_arm().with_friction("joint1", neuler.Coulomb(1.0)).with_friction("joint2", neuler.Coulomb(5.0))


def between(most, robot=None):
    """An arm whose joints have limits."""
    robot, limits = robot or standing_arm(), neuler.Limits(-most, most)
    joints = [dataclasses.replace(joint, limits=limits) if joint.moves else joint for joint in robot.joints]
    return robot.replace(joints=joints)


ELASTIC = neuler.Motor("m", "joint2", 50, inertia=1e-4, stiffness=100.0)


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


# ---- the description ---------------------------------------------------------------------------------------------


def test_what_the_description_says():
    robot = standing_arm()
    unit = robot.fmu(DT, frames="tool", external="link2", parameters={"link2.mass": 0.7}, q0=[0.1, 0.2], platforms=())
    root = ElementTree.fromstring(unit.description)
    assert [x.get("modelIdentifier") for x in (*root.iter("ModelExchange"), *root.iter("CoSimulation"))] == [
        "two_link"
    ] * 2
    every = list(root.iter("ScalarVariable"))
    assert [int(x.get("valueReference")) for x in every] == list(range(len(every)))
    said = {x.get("name"): (x.get("causality"), x[0].get("unit"), x[0].get("start")) for x in every}
    assert said["q.joint2"] == ("output", "rad", "0.2")
    assert said["qdd.joint1"] == ("output", "rad/s2", None)
    assert said["tau.joint1"] == ("input", "N.m", "0.0")
    assert said["wrench.link2.mz"] == ("input", "N.m", "0.0")
    assert said["parameter.link2.mass"] == ("parameter", "kg", "0.7")
    assert said["pose.tool.x"] == ("output", "m", None)
    assert said["pose.tool.r12"] == ("output", None, None)
    assert said["der(q.joint1)"] == ("local", "rad/s", None)
    units = {x.get("name"): x[0].attrib for x in root.iter("Unit")}
    assert units["N.m"] == {"kg": "1", "m": "2", "s": "-2"}
    names = list(said)
    structure = {
        part.tag: [(names[int(x.get("index")) - 1], x.get("dependencies")) for x in part]
        for part in root.find("ModelStructure")
    }
    assert [name for name, _ in structure["Derivatives"]] == [
        "der(q.joint1)",
        "der(q.joint2)",
        "qdd.joint1",
        "qdd.joint2",
    ]
    assert dict(structure["Outputs"])["pose.tool.x"] == "1 2"  # of q alone: no loop through the forces
    assert dict(structure["Outputs"])["qd.joint1"] == "3"
    assert dict(structure["Outputs"])["qdd.joint1"] is None  # of everything
    files = {x.get("name") for x in root.iter("File")}
    assert files == {name for name in unit.sources if name.endswith(".c")}


def test_equal_bytes_and_what_is_in_them(tmp_path):
    first, again = (standing_arm().fmu(DT, name="arm", platforms=()) for _ in range(2))
    assert first.archive == again.archive
    other = standing_arm().fmu(2 * DT, name="arm", platforms=())
    guids = {ElementTree.fromstring(x.description).get("guid") for x in (first, other)}
    assert len(guids) == 2
    path = first.save(tmp_path)
    assert path == tmp_path / "arm.fmu"
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        assert {f"sources/{name}" for name in first.sources} | {"modelDescription.xml"} == set(archive.namelist())
    with pytest.raises(neuler.InputError, match=r"ends with \.fmu"):
        first.save(tmp_path / "arm.zip")


HOSTILE = ('a"<&>\n', "a'*/ \\??/", "\x00ß.\ud800]]>", "#r1#%s")
_PART = r"(?:[A-Za-z_][A-Za-z0-9_]*|'[A-Za-z0-9_!#$%&()*+,\-./:;<>=?@\[\]^{}|~ ]+')"


def hostile():
    """A chain whose joints and links have such names."""
    links = [neuler.Link("base")]
    joints = []
    for k, name in enumerate(HOSTILE):
        links.append(neuler.Link.from_com(f"{name} {k}", mass=1.0, com=(0.1, 0, 0), inertia=(0.1, 0.1, 0.1)))
        joints.append(
            neuler.Joint(name, "revolute", links[-2].name, links[-1].name, axis=(0, 0, 1), coulomb=0.1 * (k == 0))
        )
    return neuler.Robot('r"<\n*/', links, joints)


def test_names_that_could_break_it(tmp_path):
    robot = hostile()
    unit = robot.fmu(DT, frames=[link.name for link in robot.links[1:3]], parameters=robot.links[1].name, platforms=())
    root = ElementTree.fromstring(unit.description)
    names = [x.get("name") for x in root.iter("ScalarVariable")]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(rf"{_PART}(\.{_PART})*", name) for name in names), names
    assert unit.description.encode("utf-8")
    importer = Importer(unit, built(unit, tmp_path))
    one = importer.instance()
    one.begin()
    one.set(tau=[np.nan, *[0.0] * 3])
    assert one.step(0.0, DT) == ERROR
    assert 'not finite, joint a"<&>' in importer.said[-1][2]


def test_names_that_would_be_equal():
    joints = [
        neuler.Joint(name, "revolute", a, b, axis=(0, 0, 1)) for name, a, b in (("é", "0", "1"), ("e\u0301", "1", "2"))
    ]
    links = [
        neuler.Link("0"),
        *(neuler.Link.from_com(name, mass=1.0, com=(1, 0, 0), inertia=(1, 1, 1)) for name in "12"),
    ]
    text = neuler.Robot("twins", links, joints).fmu(DT, platforms=()).description
    assert '"q.e"' in text
    assert '"q.e_2"' in text


# ---- what is refused ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("puma560", {"kinds": "model_exchange"}, "no model exchange: joint 'joint1' has dry friction"),
        ("four_bar", {"kinds": ["model_exchange"]}, "no model exchange: robot 'four_bar' has loops"),
        ("two_link", {"kinds": "model_exchange", "limits": "stop"}, "limits='stop' is what steps do"),
        ("two_link", {"kinds": "both"}, "kinds must be one of"),
        ("two_link", {"kinds": ()}, "kinds names none"),
        ("two_link", {"platforms": "linux32"}, "did you mean 'linux64'"),
        ("two_link", {"name": "a b"}, "name must be letters"),
        ("two_link", {"name": "x" * 61}, "at most 60"),
        ("two_link", {"dt": [1e-3, 2e-3]}, "one number of seconds"),
        ("two_link", {"dt": 0.0}, "fmu: dt must be above zero"),
        ("two_link", {"method": "heun"}, "fmu: method must be one of"),
        ("two_link", {"frames": "nowhere"}, "fmu: frames: robot 'two_link' has no link or frame 'nowhere'"),
        ("two_link", {"frames": ["tool", "tool"]}, "named twice"),
        ("two_link", {"external": {"tool": np.zeros(6)}}, "external are names of frames"),
        ("two_link", {"parameters": "link9.mass"}, "none called 'link9.mass'"),
        ("two_link", {"parameters": {"link2.mass": np.ones((3, 1))}}, "of one robot and one start"),
        ("two_link", {"parameters": {"link2.mass": np.nan}}, "no run begins"),
        ("two_link", {"q0": [0.0]}, "fmu: expected q0 with last axis 2"),
        ("two_link", {"q0": [np.inf, 0.0]}, "no run begins"),
    ],
)
def test_what_is_refused(name, options, said):
    with pytest.raises(neuler.NeulerError, match=re.escape(said)):
        neuler.robots.get(name).fmu(**{"platforms": (), **options})


def test_without_a_compiler(monkeypatch):
    """The remedy is named; sources need none."""
    monkeypatch.setenv("CC", "no-such-compiler")
    if this_platform() != "darwin64":  # there ziglang comes first
        with pytest.raises(neuler.CompileError, match=r"fmu: CC names 'no-such-compiler'.*platforms=\(\)"):
            neuler.robots.two_link().fmu(DT)
    monkeypatch.delenv("CC")
    monkeypatch.setattr(used_compilers.shutil, "which", lambda name: None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    for chosen in ("win64", "linux64", "darwin64"):
        with pytest.raises(neuler.CompileError, match=r"pip install ziglang.*platforms=\(\)"):
            neuler.robots.two_link().fmu(DT, platforms=chosen)


# ---- co-simulation -----------------------------------------------------------------------------------------------


def simulated(one, taus, h=DT, time=0.0):
    """q and qd after every communication step."""
    rows = []
    for k, tau in enumerate(taus):
        one.set(tau=tau)
        assert one.step(time + k * h, h) == 0
        rows.append(np.concatenate([one.get("q"), one.get("qd")]))
    return np.array(rows)


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
    one.set(tau=[0.0, np.inf])
    one.put({"wrench.link2.fx": np.nan})
    assert one.step(0.0, DT) == ERROR
    assert "t = 0 s: not finite" in arm.said[-1][2]
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
    """The first step finds out; closed ones go on."""
    robot = neuler.robots.four_bar()
    unit = robot.fmu(DT, q0=robot.assemble([1.0]).q, platforms=())
    importer = Importer(unit, built(unit, tmp_path))
    assert importer.instance().begin().step(0.0, DT) == 0
    one = importer.instance().begin(q=robot.assemble([1.0]).q + [0.0, 0.2, 0.0])
    assert one.step(0.0, DT) == ERROR
    assert "loop open or singular" in importer.said[-1][2]


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


@pytest.mark.parametrize("which", ["arm", "floating"])
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


# ---- from the shell ----------------------------------------------------------------------------------------------


def test_from_the_shell(tmp_path, capsys):
    out = tmp_path / "arm.fmu"
    flags = ["--dt", "0.002", "--option", "frames=link2,tool", "--option", "platforms=", "--name", "arm"]
    assert main(["export", "fmu", "two_link", *flags, "-o", str(out)]) == 0
    with zipfile.ZipFile(out) as archive:
        text = archive.read("modelDescription.xml").decode()
    assert 'stepSize="0.002"' in text
    assert "pose.tool.r33" in text
    assert main(["export", "fmu", "puma560", "--option", "platforms=", "-o", str(out)]) == 0
    assert "No model exchange: joint 'joint1' has dry friction" in capsys.readouterr().err
    for more, said in (
        (["--option", "frame=tool", "-o", str(out)], "did you mean 'frames'"),
        (["--lang", "python", "-o", str(out)], "none of --lang"),
        (["-o", "-"], "does not go to standard output"),
    ):
        assert main(["export", "fmu", "two_link", *more]) != 0
        assert said in capsys.readouterr().err


# ---- other people's importers ------------------------------------------------------------------------------------


def fmpy_run(path, kind, robot, tau, stop, h, **more):
    """q and qd after every communication step, as FMPy has them."""
    fmpy = pytest.importorskip("fmpy")
    names = [x.name for x in fmpy.read_model_description(str(path)).modelVariables]
    forces = dict(zip([x for x in names if x.startswith("tau.")], tau, strict=True))
    wanted = [x for x in names if x.startswith(("q.", "qd."))]
    found = fmpy.simulate_fmu(
        str(path), fmi_type=kind, stop_time=stop, output_interval=h, output=wanted,
        start_values={**forces, **more.pop("starts", {})}, **more,
    )  # fmt: skip
    rows = np.array([found[name] for name in wanted]).T[1:]
    return rows[:, : robot.nq], rows[:, robot.nq :]


def machines():
    puma = neuler.robots.puma560()
    elastic = standing_arm().replace(motors=[ELASTIC])
    return {
        "an arm": (standing_arm(), {"frames": "tool", "parameters": ("gravity", "links")}),
        "dry friction": (puma, {"frames": "link6"}),
        "smooth friction": (puma.with_smooth_friction(1e-2), {"method": "implicit"}),
        "a free base": (free_arm(), {"external": "link2"}),
        "loops": (neuler.robots.four_bar(), {}),
        "a platform": (neuler.robots.gough_stewart(), {"frames": neuler.robots.gough_stewart().links[-1].name}),
        "an elastic drive": (elastic, {"method": "implicit", "parameters": "m.stiffness"}),
        "stops": (between(0.05), {"limits": "hold", "method": "euler"}),
    }  # fmt: skip


@pytest.mark.exports
@pytest.mark.parametrize("name", machines())
def test_through_fmpy(name, tmp_path):
    """No message of its checks; co-simulation is the rollout, CVode comes near it."""
    fmpy = pytest.importorskip("fmpy")
    from fmpy.validation import validate_fmu

    robot, options = machines()[name]
    rng = np.random.default_rng(4)
    q = robot.neutral() if robot.loops else robot.random_configuration(rng)
    qd, tau = 0.1 * rng.normal(size=robot.nv), 0.3 * rng.normal(size=robot.nu)
    unit = robot.fmu(DT, q0=q, qd0=qd, **options)
    path = unit.save(tmp_path)
    assert validate_fmu(str(path)) == []
    assert set(fmpy.supported_platforms(str(path))) == {this_platform(), "c-code"}
    own = {key: x for key, x in options.items() if key in ("method", "limits")}
    wanted = robot.rollout(q, qd, tau, DT, steps=200, every=10, **own)
    assert wanted.status == 0
    assert name != "stops" or (wanted.qd[-1] == 0).any()
    found = fmpy_run(path, "CoSimulation", robot, tau, 0.2, 10 * DT)
    np.testing.assert_allclose(found[0], wanted.q, rtol=0, atol=1e-12)
    np.testing.assert_allclose(found[1], wanted.qd, rtol=0, atol=1e-11)
    smooth = name in ("an arm", "smooth friction", "a free base", "an elastic drive")
    assert ("<ModelExchange" in unit.description) == smooth
    if smooth:
        exact = robot.rollout(q, qd, tau, DT / 20, steps=4000, every=200)
        found = fmpy_run(path, "ModelExchange", robot, tau, 0.2, 10 * DT, solver="CVode", relative_tolerance=1e-10)
        np.testing.assert_allclose(found[0], exact.q, rtol=0, atol=1e-6)


@pytest.mark.exports
def test_parameters_through_fmpy(tmp_path):
    pytest.importorskip("fmpy")
    robot = standing_arm()
    path = robot.fmu(DT, parameters=("link2.mass", "joint1.viscous")).save(tmp_path)
    starts = {"parameter.link2.mass": 1.7, "parameter.joint1.viscous": 0.4, "q.joint1": 0.3}
    found = fmpy_run(path, "CoSimulation", robot, [0.1, 0.2], 0.2, DT, starts=starts)
    changed = {"link2.mass": 1.7, "joint1.viscous": 0.4}
    wanted = robot.rollout([0.3, 0.0], [0, 0], [0.1, 0.2], DT, steps=200, parameters=changed)
    np.testing.assert_allclose(found[0], wanted.q, rtol=0, atol=1e-12)


@pytest.mark.exports
def test_hostile_names_through_fmpy(tmp_path):
    pytest.importorskip("fmpy")
    from fmpy.validation import validate_fmu

    robot = hostile()
    path = robot.fmu(DT, frames=robot.links[2].name).save(tmp_path)
    assert validate_fmu(str(path)) == []
    wanted = robot.rollout(np.zeros(4), np.zeros(4), np.ones(4), DT, steps=100, every=10)
    found = fmpy_run(path, "CoSimulation", robot, np.ones(4), 0.1, 10 * DT)
    np.testing.assert_allclose(found[0], wanted.q, rtol=0, atol=1e-12)


@pytest.mark.exports
def test_sources_that_an_importer_compiles(tmp_path):
    """A unit without a library: FMPy builds it with CMake."""
    fmpy = pytest.importorskip("fmpy")
    build = pytest.importorskip("fmpy.build")
    if shutil.which("cmake") is None:
        pytest.skip("there is no CMake")
    robot = standing_arm()
    path = robot.fmu(DT, q0=[0.3, 0.2], platforms=()).save(tmp_path)
    assert fmpy.supported_platforms(str(path)) == ["c-code"]
    folder = tmp_path / "unit"
    fmpy.extract(str(path), unzipdir=str(folder))
    (tmp_path / "build").mkdir()
    build.build_platform_binary(folder, tmp_path / "build", cmake_options={"CMAKE_C_STANDARD": "99"})
    found = fmpy_run(folder, "CoSimulation", robot, [0.5, 0.0], 0.1, DT)
    wanted = robot.rollout([0.3, 0.2], [0, 0], [0.5, 0.0], DT, steps=100)
    np.testing.assert_allclose(found[0], wanted.q, rtol=0, atol=1e-12)


@pytest.mark.slow
@pytest.mark.exports
def test_libraries_for_other_platforms():
    """Built, not run: what they are, by their first bytes, and the functions that they export by name."""
    pytest.importorskip("ziglang")
    unit = standing_arm().fmu(DT, platforms=("linux64", "darwin64", "win64"))
    ends = {path.split("/")[1]: data for path, data in unit.binaries.items()}
    assert list(unit.binaries) == [
        f"binaries/{x}/two_link.{end}" for x, end in (("linux64", "so"), ("darwin64", "dylib"), ("win64", "dll"))
    ]
    assert ends["linux64"][:5] == b"\x7fELF\x02"
    assert ends["win64"][:2] == b"MZ"
    magic, count = struct.unpack_from(">II", ends["darwin64"])
    assert (magic, count) == (0xCAFEBABE, 2)
    processors = set()
    for k in range(count):
        processor, _, at, size, _ = struct.unpack_from(">IIIII", ends["darwin64"], 8 + 20 * k)
        processors.add(processor)
        assert ends["darwin64"][at : at + 4] == b"\xcf\xfa\xed\xfe"
        assert at % 2**14 == 0
        assert at + size <= len(ends["darwin64"])
    assert processors == {0x01000007, 0x0100000C}  # x86-64 and ARM64
    for data in ends.values():
        assert b"fmi2DoStep\0" in data
        assert b"fmi2GetDirectionalDerivative\0" in data
        assert b"neuler-fmu-" not in data  # no path of this machine


@pytest.mark.exports
def test_the_example(capsys):
    pytest.importorskip("fmpy")
    example = Path(__file__).parent.parent / "examples" / "fmu_arm.py"
    runpy.run_path(str(example), run_name="__main__")
    said = re.findall(r"(\w+): (\S+) rad from the rollout", capsys.readouterr().out)
    assert [kind for kind, _ in said] == ["CoSimulation", "ModelExchange"]
    assert float(said[0][1]) < 1e-12
    assert float(said[1][1]) < 1e-4
