"""xacro files: expanded by xacro, with arguments and packages; whatever is wrong is said with file and remedy."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

import neuler
from neuler import FormatError
from neuler.cli import main
from neuler.files.problem_robots import read_robot
from neuler.files.problems import Problem
from neuler.formats import xacro
from neuler.formats.source import files_of

pytest.importorskip("xacrodoc")

HEAD = '<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">'
MACRO = """<robot xmlns:xacro="http://www.ros.org/wiki/xacro">
  <xacro:property name="length" value="${0.5 * 2}"/>
  <xacro:macro name="pendulum" params="prefix mass:=1">
    <link name="${prefix}base"/>
    <link name="${prefix}bob">
      <visual><geometry><mesh filename="package://no_such_package/bob.stl"/></geometry></visual>
      <inertial><origin xyz="0 0 ${-length}"/><mass value="${mass}"/>
        <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial>
    </link>
    <joint name="${prefix}hinge" type="continuous">
      <parent link="${prefix}base"/><child link="${prefix}bob"/><axis xyz="0 ${cos(pi) * -1} 0"/>
    </joint>
  </xacro:macro>
</robot>
"""
ARM = f"""<?xml version="1.0"?>
{HEAD}
  <xacro:arg name="prefix" default=""/>
  <xacro:arg name="heavy" default="false"/>
  <xacro:include filename="$(find pendulum_description)/urdf/pendulum.xacro"/>
  <xacro:if value="$(arg heavy)"><xacro:pendulum prefix="$(arg prefix)" mass="5"/></xacro:if>
  <xacro:unless value="$(arg heavy)"><xacro:pendulum prefix="$(arg prefix)"/></xacro:unless>
</robot>
"""


@pytest.fixture
def arm(tmp_path, monkeypatch):
    """A file that needs a package of another folder."""
    for name in ("ROS_PACKAGE_PATH", "AMENT_PREFIX_PATH"):
        monkeypatch.delenv(name, raising=False)
    package = tmp_path / "workspace" / "src" / "pendulum_description"
    (package / "urdf").mkdir(parents=True)
    (package / "package.xml").write_text("<package><name>pendulum_description</name></package>")
    (package / "urdf" / "pendulum.xacro").write_text(MACRO)
    (package / "urdf" / "arm.urdf.xacro").write_text(ARM)
    path = tmp_path / "here" / "arm.urdf.xacro"
    path.parent.mkdir()
    path.write_text(ARM)
    return path


# ---- what is read ---------------------------------------------------------------------------------------------


def test_a_robot_with_arguments_and_packages(arm, tmp_path):
    package = tmp_path / "workspace" / "src" / "pendulum_description"
    plain = neuler.load(arm, packages=tmp_path / "workspace")
    assert plain.joint_names == ("hinge",)
    assert plain.moving_joints[0].axis == (0.0, 1.0, 0.0)
    assert plain.links[1].com == (0.0, 0.0, -1.0)
    assert plain.notes == ("expanded by xacro from 'arm.urdf.xacro'",)
    for packages in (
        [tmp_path / "here", str(tmp_path / "workspace")],
        {"pendulum_description": package},
        package,
    ):
        left = neuler.load(str(arm), packages=packages, arguments={"prefix": "left_", "heavy": True})
        assert left.joint_names == ("left_hinge",)
        assert left.mass == 5.0
    assert left.notes[0] == "expanded by xacro from 'arm.urdf.xacro', prefix='left_', heavy='true'"
    assert neuler.load(arm, packages=package, floating_base=True, gravity=(0, 0, 0)).nv == 7


def test_packages_above_the_file_and_in_the_environment(arm, tmp_path, monkeypatch):
    inside = tmp_path / "workspace" / "src" / "pendulum_description" / "urdf" / "arm.urdf.xacro"
    assert neuler.load(inside).nv == 1
    monkeypatch.setenv("ROS_PACKAGE_PATH", str(tmp_path / "workspace"))
    assert neuler.load(arm).nv == 1
    monkeypatch.delenv("ROS_PACKAGE_PATH")
    installed = tmp_path / "install" / "share" / "pendulum_description"
    installed.parent.mkdir(parents=True)
    (tmp_path / "workspace" / "src" / "pendulum_description").rename(installed)
    monkeypatch.setenv("AMENT_PREFIX_PATH", f"{tmp_path / 'none'}{os.pathsep}{tmp_path / 'install'}")
    assert neuler.load(arm).nv == 1


def test_includes_stand_beside_the_file_wherever_one_is(tmp_path, monkeypatch):
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "pendulum.xacro").write_text(MACRO)
    (tmp_path / "parts" / "all.xacro").write_text(f'{HEAD}<xacro:include filename="pendulum.xacro"/></robot>')
    path = tmp_path / "a.xacro"
    path.write_text(f'{HEAD}<xacro:include filename="parts/all.xacro"/><xacro:pendulum prefix="p_"/></robot>')
    assert neuler.load(path).joint_names == ("p_hinge",)
    monkeypatch.chdir(tmp_path / "parts")
    assert neuler.load("../a.xacro").joint_names == ("p_hinge",)
    assert set(files_of("../a.xacro")) == {
        str(tmp_path / "a.xacro"), str(tmp_path / "parts" / "all.xacro"), str(tmp_path / "parts" / "pendulum.xacro"),
    }  # fmt: skip


def test_what_xacro_warns_of_is_a_note(tmp_path):
    path = tmp_path / "a.xacro"
    path.write_text(f"{HEAD}<link name=\"${{xacro.warning('check the masses')}}base\"/></robot>")
    robot = neuler.load(path)
    assert robot.link_names == ("base",)
    assert robot.notes[1:] == ("xacro: check the masses",)


def test_a_missing_package_of_a_mesh_prevents_nothing():
    mesh = '<visual><geometry><mesh filename="package://gone/a.stl"/></geometry></visual>'
    assert neuler.load(f'<robot name="r"><link name="base">{mesh}</link></robot>').link_names == ("base",)


# ---- what is refused ---------------------------------------------------------------------------------------------


def doubling(levels):
    """A macro that calls two, each of which calls two, and so on."""
    calls = "".join(f'<xacro:macro name="a{k}"><xacro:a{k + 1}/><xacro:a{k + 1}/></xacro:macro>' for k in range(levels))
    return f'{HEAD}{calls}<xacro:macro name="a{levels}"><link name="x"/></xacro:macro><xacro:a0/></robot>'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f'{HEAD}<link name="${{size}}"/></robot>', "name 'size' is not defined .*; define it with <xacro:property>"),
        (f'{HEAD}<link name="${{1/0}}"/></robot>', "division by zero when evaluating expression '1/0'; mend it there"),
        (f'{HEAD}<link name="${{1 +}}"/></robot>', "invalid syntax"),
        (f'{HEAD}<link name="$(arg side)"/></robot>', "the argument side has no value; pass arguments={'side': ...}"),
        (f'{HEAD}<link name="$(env NO_SUCH)"/></robot>', "xacro: environment variable 'NO_SUCH' is not set; mend"),
        (
            f'{HEAD}<link name="$(find gone)"/></robot>',
            "no package 'gone'; say where it is: packages=.*ROS_PACKAGE_PATH",
        ),
        (f'{HEAD}<xacro:include filename="a.xacro"/></robot>', "a.xacro includes a.xacro, without an end; leave out"),
        (f'{HEAD}<xacro:include filename="no.xacro"/></robot>', r"cannot read .*no\.xacro: No such file"),
        (f"{HEAD}<link name=\"${{xacro.load_yaml('no.yaml')}}\"/></robot>", r"cannot read .*no\.yaml: No such file"),
        (f"{HEAD}<xacro:arm/></robot>", "unknown macro name: xacro:arm; include the file that defines it"),
        (
            f'{HEAD}<xacro:macro name="a" params="b"/><xacro:a/></robot>',
            "in macro 'a': Undefined parameters",
        ),
        (
            f'{HEAD}<xacro:macro name="a"><xacro:a/></xacro:macro><xacro:a/></robot>',
            "in macro 'a': macros or properties lead to one another without an end",
        ),
        (
            f'{HEAD}<xacro:property name="p" value="${{q}}"/><xacro:property name="q" value="${{p}}"/>'
            '<link name="${p}"/></robot>',
            "circular variable definition: p -> q -> p",
        ),
        (f"{HEAD}<link name=\"${{len('a' * 10**11)}}\"/></robot>", "takes more than 4 GiB"),
        pytest.param(doubling(30), "more than 100,000 elements are expanded", marks=pytest.mark.slow),
        (f'{HEAD}<link name="${{(1).__class__}}"/></robot>', "names that begin with two underscores are not allowed"),
        (f'{HEAD}<link name="${{[x.__class__ for x in [1]]}}"/></robot>', "names that begin with two underscores"),
        (f'{HEAD}<link name="${{(lambda __a: 1)(1)}}"/></robot>', "names that begin with two underscores"),
        (f"{HEAD}<link name=\"${{open('/etc/passwd').read()}}\"/></robot>", "name 'open' is not defined"),
        (
            '<!DOCTYPE r [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><robot name="&b;"/>',
            "line 1: a document type .DOCTYPE. is not accepted",
        ),
        ("robot", r"a\.xacro, line 1, column 1: syntax error; is it XML"),
        ("", r"a\.xacro: is empty; expected XML"),
        (f"{HEAD}<link>", r"a\.xacro, line 1, column .*: no element found; the file may be cut off"),
        ("<mujoco/>", r"a\.xacro, expanded, line 2: expected the root element <robot>"),
        ("<sdf/>", r"a\.xacro, expanded, line 2: is SDF"),
        (f"{HEAD}</robot>", r"a\.xacro, expanded, line 2: <robot> has no <link>"),
        (f'{HEAD}<link name="a"/><joint name="j" type="ball"/></robot>', "joint 'j': type must be one of revolute"),
    ],
)
def test_what_is_wrong_is_said_with_file_and_remedy(text, message, tmp_path):
    path = tmp_path / "a.xacro"
    path.write_text(text)
    with pytest.raises(FormatError, match=message) as caught:
        neuler.load(path)
    assert str(caught.value).startswith(str(path) if len(str(path)) <= 200 else str(path)[:90])


def test_an_error_in_a_file_that_is_included_names_it(tmp_path):
    (tmp_path / "part.xacro").write_text(f'{HEAD}<link name="${{size}}"/></robot>')
    (tmp_path / "torn.xacro").write_text(f"{HEAD}<link")
    path = tmp_path / "a.xacro"
    for part in ("part", "torn"):
        path.write_text(f'{HEAD}<xacro:include filename="{part}.xacro"/></robot>')
        with pytest.raises(FormatError, match=rf"^\S+{part}\.xacro"):
            neuler.load(path)


def test_circles_of_includes_are_named(tmp_path):
    for this, other in (("a", "b"), ("b", "c"), ("c", "b")):
        (tmp_path / f"{this}.xacro").write_text(f'{HEAD}<xacro:include filename="{other}.xacro"/></robot>')
    with pytest.raises(FormatError, match=r"b\.xacro includes c\.xacro includes b\.xacro, without an end"):
        neuler.load(tmp_path / "a.xacro")


def test_an_include_that_may_be_missing(tmp_path):
    path = tmp_path / "a.xacro"
    path.write_text(f'{HEAD}<xacro:include filename="no.xacro" optional="true"/><link name="a"/></robot>')
    assert neuler.load(path).link_names == ("a",)


def test_what_never_ends_is_ended(tmp_path, monkeypatch):
    monkeypatch.setattr(xacro, "SECONDS", 1.5)
    path = tmp_path / "a.xacro"
    path.write_text(f'{HEAD}<link name="${{10**10**9}}"/></robot>')
    with pytest.raises(FormatError, match=r"a\.xacro: xacro: its expansion takes more than 1.5 s"):
        neuler.load(path)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"arguments": {"prefx": "a"}}, "has no xacro argument 'prefx'; it asks for 'prefix', 'heavy'"),
        ({"arguments": {"prefix": None}}, "argument 'prefix' must be a text, a number, True or False, got None"),
        ({"arguments": {"": 1}}, "an argument needs a name"),
        ({"arguments": ["prefix"]}, "arguments must be a table of names and values"),
        ({"packages": "no such folder"}, "option 'packages': there is no folder 'no such folder'"),
        ({"packages": 3}, "option 'packages' must be folders"),
        ({"packages": [3]}, "option 'packages' must name folders, got 3"),
        ({"mimic": "yes"}, "option 'mimic' of load_xacro must be one of"),
        ({"values": {"a": 1}}, "load: unknown option 'values'; xacro files take arguments, packages, mimic, floating"),
    ],
)
def test_options_that_are_wrong(arm, tmp_path, options, message):
    with pytest.raises(FormatError, match=message):
        neuler.load(arm, **{"packages": tmp_path / "workspace", **options})


def test_arguments_are_those_of_xacro_alone():
    with pytest.raises(FormatError, match="unknown option 'arguments'; URDF files take"):
        neuler.load("<robot name='r'><link name='a'/></robot>", arguments={"a": 1})
    with pytest.raises(FormatError, match="xacro is expanded from a file"):
        xacro.load_xacro(f"{HEAD}</robot>")
    with pytest.raises(FormatError, match=r"this is a xacro file; give it the suffix \.xacro"):
        neuler.load(f"{HEAD}<xacro:arm/></robot>")


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(FormatError, match=r"no\.xacro: there is no such file"):
        neuler.load(tmp_path / "no.xacro")
    (tmp_path / "folder.xacro").mkdir()
    with pytest.raises(FormatError, match=r"folder\.xacro: is a directory"):
        neuler.load(tmp_path / "folder.xacro")


def test_without_the_extra(arm, tmp_path):
    """In a process that cannot import xacrodoc; the message is the whole of what a user gets."""
    code = (
        "import importlib.util, neuler\n"
        "find = importlib.util.find_spec\n"
        "importlib.util.find_spec = lambda name, *more: None if name == 'xacrodoc' else find(name, *more)\n"
        f"neuler.load({str(arm)!r})"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "reading xacro needs the extra 'xacro': pip install xacrodoc" in run.stderr


@pytest.mark.parametrize("name", ["a.sdf", "a.world", "a.SDF"])
def test_sdf_is_refused_with_what_converts_it(name, tmp_path):
    with pytest.raises(FormatError, match=r"is SDF, Gazebo's format, .*; convert the model: sdf2urdf .* sdf2mjcf"):
        neuler.load(tmp_path / name)
    for source in ("<sdf version='1.7'/>", b"<sdf version='1.7'><world/></sdf>"):
        with pytest.raises(FormatError, match="URDF text, line 1: is SDF"):
            neuler.load(source)
    (tmp_path / "a.xml").write_text("<?xml version='1.0'?><sdf/>")
    with pytest.raises(FormatError, match=r"a\.xml, line 1: is SDF"):
        neuler.load(tmp_path / "a.xml")


# ---- commands and problem files ------------------------------------------------------------------------------------


def test_commands_take_arguments_and_packages(arm, tmp_path, capsys):
    more = ["--packages", str(tmp_path / "workspace")]
    assert main(["info", str(arm), *more, "--argument", "prefix=left_", "--argument", "heavy=true"]) == 0
    told = capsys.readouterr().out
    assert "left_hinge" in told
    assert "expanded by xacro from 'arm.urdf.xacro', prefix='left_', heavy='true'" in told
    states, out = tmp_path / "in.csv", tmp_path / "out.csv"
    states.write_text("q_hinge,qd_hinge,qdd_hinge\n0,0,0\n")
    named = f"pendulum_description={tmp_path / 'workspace' / 'src' / 'pendulum_description'}"
    assert (
        main(["eval", "inverse_dynamics", str(arm), "--packages", named, "--in", str(states), "--out", str(out)]) == 0
    )
    run = ["simulate", str(arm), *more, "--duration", "0.1", "--step", "0.01", "--json"]
    assert main(run) == 0
    capsys.readouterr()
    for flags, message in (
        ([], "say where it is: --packages FOLDER, a folder with packages"),
        (more + ["--argument", "prefix"], "--argument expects NAME=VALUE, for example prefix=left_, got 'prefix'"),
        (more + ["--argument", "side=a"], "has no xacro argument 'side'"),
        (more + ["--packages", "a=b"], "is a folder without a name and 'a=b' has one"),
        (["--packages", "gone"], "--packages: there is no folder 'gone'"),
    ):
        assert main(["info", str(arm), *flags]) == 2
        assert message in capsys.readouterr().err
    assert main(["info", "two_link", "--argument", "a=b"]) == 2
    assert "--argument is for robot files; 'two_link' is a robot of the catalogue" in capsys.readouterr().err


def problem(folder, text):
    return Problem.of_text(text, folder).root.section("robot")


def test_problem_files(arm, tmp_path):
    text = (
        '[robot]\nfile = "here/arm.urdf.xacro"\npackages = ["workspace"]\narguments = {prefix = "p_", heavy = true}\n'
    )
    robot = read_robot(problem(tmp_path, text))
    assert robot.joint_names == ("p_hinge",)
    assert robot.mass == 5.0
    assert read_robot(problem(tmp_path, text)) is robot
    named = text.replace('["workspace"]', '{pendulum_description = "workspace/src/pendulum_description"}')
    assert read_robot(problem(tmp_path, named)) == robot
    with pytest.raises(FormatError, match=r"\[robot\.arguments\] prefix: expected a text, a number, true or false"):
        read_robot(problem(tmp_path, text.replace('"p_"', "[1]")))


def test_a_robot_is_read_again_when_an_included_file_has_changed(arm, tmp_path):
    text = '[robot]\nfile = "here/arm.urdf.xacro"\npackages = ["workspace"]\n'
    assert read_robot(problem(tmp_path, text)).mass == 1.0
    part = tmp_path / "workspace" / "src" / "pendulum_description" / "urdf" / "pendulum.xacro"
    part.write_text(MACRO.replace("mass:=1", "mass:=17"))
    assert read_robot(problem(tmp_path, text)).mass == 17.0


def test_a_simulation_of_a_problem_file(arm, tmp_path, capsys):
    path = tmp_path / "run.toml"
    path.write_text(
        '[robot]\nfile = "here/arm.urdf.xacro"\npackages = ["workspace"]\narguments = {prefix = "p_"}\n'
        "[simulate]\nduration = 0.1\nstep = 0.01\n"
    )
    assert main(["simulate", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["robot"] == "r"
    assert main(["simulate", str(path), "--argument", "prefix=a"]) == 2
    assert "--argument is for robot files; a problem file has it in its table [robot]" in capsys.readouterr().err


def test_the_numbers_are_those_of_the_urdf(arm, tmp_path):
    robot = neuler.load(arm, packages=tmp_path / "workspace")
    np.testing.assert_allclose(robot.mass_matrix([0.3]), [[1.1]])
