"""Functional Mock-up Units: what importers read, what is refused, and the command."""

import re
import zipfile
from xml.etree import ElementTree

import numpy as np
import pytest

import neuler
from fmu_calls import ERROR, Importer, built
from fmu_robots import DT, hostile, standing_arm
from neuler.cli import main
from neuler.export import compilers as used_compilers
from neuler.export.fmu.binaries import this_platform

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


_PART = r"(?:[A-Za-z_][A-Za-z0-9_]*|'[A-Za-z0-9_!#$%&()*+,\-./:;<>=?@\[\]^{}|~ ]+')"


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
        ("two_link", {"platforms": 5}, "platforms must be names among linux64, win64, darwin64, or () for none, got 5"),
        ("two_link", {"platforms": ["linux64", None]}, "platforms must be one of"),
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
        for useless in ("true", "false"):  # commands that write nothing
            monkeypatch.setenv("CC", useless)
            with pytest.raises(neuler.CompileError, match=r"wrote no library; CC names another.*platforms=\(\)"):
                neuler.robots.two_link().fmu(DT)
    monkeypatch.delenv("CC")
    monkeypatch.setattr(used_compilers.shutil, "which", lambda name: None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    for chosen in ("win64", "linux64", "darwin64"):
        with pytest.raises(neuler.CompileError, match=r"pip install ziglang.*platforms=\(\)"):
            neuler.robots.two_link().fmu(DT, platforms=chosen)


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
