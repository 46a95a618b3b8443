"""URDF files: what they say is what the robot is; real files against Pinocchio."""

import importlib.metadata
import math
import re
from pathlib import Path

import numpy as np
import pytest

from neuler.errors import FormatError
from neuler.formats import load, load_urdf
from neuler.robot import Coupling, Limits
from neuler.robot.expand import expand
from neuler.robot.inertia_matrix import inertia_matrix
from random_robots import tenth

UNLIMITED = "revolute and prismatic joints without a <limit>, taken as unlimited: 'hinge'"


def rotation(axis, angle):
    k = np.cross(axis, np.eye(3)).T
    return np.eye(3) + math.sin(angle) * k + (1 - math.cos(angle)) * k @ k


def poses(robot, q):
    found = {robot.links[0].name: np.eye(4)}
    q = iter(q)
    for joint in robot.joints:
        moved = np.eye(4)
        if joint.kind == "revolute":
            moved[:3, :3] = rotation(joint.axis, next(q))
        elif joint.kind == "prismatic":
            moved[:3, 3] = np.multiply(joint.axis, next(q))
        found[joint.child] = found[joint.parent] @ joint.placement.matrix @ moved
    return found


INERTIAL = """<inertial><origin xyz="0.1 0 0" rpy="0 0 1.5707963267948966"/><mass value="2"/>
  <inertia ixx="1" ixy="0" ixz="0" iyy="2" iyz="0" izz="2.5"/></inertial>"""


def urdf(joint="", kind="revolute", link=INERTIAL, extra=""):
    return f"""<?xml version="1.0"?><robot name="arm"><link name="base"/><link name="hand">{link}</link>
    <joint name="hinge" type="{kind}"><parent link="base"/><child link="hand"/>{joint}</joint>{extra}</robot>"""


def test_inertia_is_turned_and_moved_to_the_link_frame():
    link = load_urdf(urdf()).links[1]
    assert link.mass == 2
    assert link.com == (0.1, 0, 0)
    np.testing.assert_allclose(link.inertia_about_com, np.diag([2, 1, 2.5]), atol=1e-15)


def test_defaults():
    robot = load_urdf(urdf(link=""))
    assert robot.links[1].mass == 0
    assert robot.gravity == (0, 0, -9.81)
    joint = robot.joints[0]
    assert joint.axis == (1, 0, 0)
    assert joint.limits == Limits()
    assert (joint.viscous, joint.coulomb, joint.gear_ratio) == (0, 0, 1)
    assert robot.notes == (UNLIMITED,)


def test_joint_data():
    joint = load_urdf(
        urdf(
            '<origin xyz="1 2 3" rpy="0 0 0.5"/><axis xyz="0 3 4"/><dynamics damping="1e-3" friction=".5"/>'
            '<limit lower="-1" upper="+2." velocity="3" effort="inf"/>'
        )
    ).joints[0]
    assert joint.placement.translation == (1, 2, 3)
    np.testing.assert_allclose(joint.placement.rotation, rotation((0, 0, 1), 0.5), atol=1e-15)
    assert joint.axis == pytest.approx((0, 0.6, 0.8))
    assert joint.limits == Limits(-1, 2, 3, math.inf)
    assert (joint.viscous, joint.coulomb) == (1e-3, 0.5)


def test_roll_pitch_yaw_turn_about_fixed_axes():
    joint = load_urdf(urdf('<origin rpy="0.3 0.4 0.5"/>')).joints[0]
    expected = rotation((0, 0, 1), 0.5) @ rotation((0, 1, 0), 0.4) @ rotation((1, 0, 0), 0.3)
    np.testing.assert_allclose(joint.placement.rotation, expected, atol=1e-15)


@pytest.mark.parametrize("axis", ["1e-200 0 0", "1e200 0 0", "3 0 0", " 1\t0\n0 "])
def test_any_length_of_axis(axis):
    assert load_urdf(urdf(f'<axis xyz="{axis}"/>')).joints[0].axis == (1, 0, 0)


def test_continuous_has_no_position_limits():
    joint = load_urdf(urdf('<limit lower="-1" upper="1" effort="5" velocity="6"/>', "continuous")).joints[0]
    assert joint.kind == "revolute"
    assert joint.limits == Limits(velocity=6, effort=5)


def test_fixed_links_keep_their_mass():
    robot = load_urdf(urdf('<axis xyz="0 0 0"/>', "fixed"))
    assert (robot.nq, robot.mass, robot.link_names) == (0, 2, ("base", "hand"))


def test_base_may_have_mass():
    assert load_urdf(f'<robot name="r"><link name="base">{INERTIAL}</link></robot>').mass == 2


@pytest.mark.parametrize("normal", [(0, 0, 1), (0, 0, -1), (1, 0, 0), (0.3, -0.5, 0.2), (1e-9, 0, -1), (2e-6, 0, -1)])
def test_planar_is_one_joint_with_three_coordinates(normal):
    axis = " ".join(map(str, normal))
    robot = load_urdf(urdf(f'<origin xyz="1 2 3" rpy="1 2 3"/><axis xyz="{axis}"/><limit effort="3"/>', "planar"))
    assert (robot.joint_names, robot.link_names) == (("hinge",), ("base", "hand"))
    assert (robot.joints[0].kind, robot.nq, robot.nv) == ("planar", 3, 3)
    parts = expand(robot)
    assert [joint.kind for joint in parts.joints] == ["prismatic", "prismatic", "revolute"]
    axes = np.array([joint.axis for joint in parts.joints])
    np.testing.assert_allclose(axes @ axes.T, np.eye(3), atol=1e-15)
    assert np.linalg.det(axes) == pytest.approx(1)
    np.testing.assert_allclose(axes[2], np.array(normal) / np.linalg.norm(normal), atol=1e-15)
    assert robot.mass == 2
    assert robot.notes == ("ignored: <limit> in <joint type=planar> (1)",)
    pose = robot.compile("link_poses", frame="hand")([0.3, -0.2, 0.5])
    seat = robot.joints[0].placement.matrix
    np.testing.assert_allclose(pose[:3, 3], seat[:3, 3] + seat[:3, :3] @ axes.T @ [0.3, -0.2, 0], atol=1e-14)


def test_planar_friction_is_refused():
    with pytest.raises(FormatError, match="friction of a planar joint"):
        load_urdf(urdf('<dynamics damping="1"/>', "planar"))


def chain(*joints, robot="arm"):
    """Links l0, l1 ... and joints j1, j2 ... between them: (type, what the joint holds, parent) each."""
    body = INERTIAL.replace("\n", "")
    links = "".join(f'<link name="l{k}">{body}</link>' for k in range(len(joints) + 1))
    made = "".join(
        f'<joint name="j{k}" type="{kind}"><parent link="l{parent}"/><child link="l{k}"/>{inside}</joint>\n'
        for k, (kind, inside, parent) in enumerate(joints, start=1)
    )
    return f'<robot name="{robot}">{links}\n{made}</robot>'


def test_floating_joints_are_free():
    robot = load_urdf(chain(("fixed", "", 0), ("floating", '<origin xyz="1 2 3"/>', 1), ("revolute", "", 2)))
    free = robot.joints[1]
    assert (free.kind, free.role, free.placement.translation) == ("free", "passive", (1, 2, 3))
    assert (robot.nq, robot.nv, robot.notes) == (8, 7, (UNLIMITED.replace("hinge", "j3"),))
    assert robot.joint_names == ("j2", "j3")


def test_floating_joints_may_stand_anywhere():
    text = chain(("revolute", "", 0), ("fixed", "", 1), ("floating", "", 2))
    robot = load_urdf(text)
    assert (robot.joint_names, robot.nq, robot.nv) == (("j1", "j3"), 8, 7)
    assert load_urdf(text, floating="fixed").nq == 1


def test_floating_options():
    with pytest.raises(FormatError, match=r"joint 'hinge': is floating; floating=.free.*floating=.fixed"):
        load_urdf(urdf(kind="floating"), floating="refuse")
    robot = load_urdf(urdf(kind="floating"), floating="fixed")
    assert robot.nq == 0
    assert robot.notes == ("floating joints taken as fixed: 'hinge'",)
    robot = load_urdf(urdf('<limit effort="1"/><dynamics damping="1"/>', "floating"))
    assert robot.notes == (
        "ignored: <dynamics> in <joint type=floating> (1)",
        "ignored: <limit> in <joint type=floating> (1)",
    )


def test_floating_base():
    robot = load(urdf())
    assert load(urdf(), floating_base=True) == robot.with_free_base()
    assert load(urdf(), floating_base=False) == robot
    machine = load(chain(("revolute", "", 0), ("revolute", MIMIC, 1)), floating_base=True)
    assert machine.tree.joint_names == ("root_joint", "j1", "j2")
    assert (machine.joint_names, machine.nv) == (("root_joint", "j1"), 7)
    assert load('<robot name="r"><link name="world"/></robot>', floating_base=True).link_names == ("world_", "world")
    with pytest.raises(FormatError, match="option 'floating_base' must be True or False, got 'yes'"):
        load(urdf(), floating_base="yes")


MIMIC = '<mimic joint="j1" multiplier="-2" offset="0.5"/>'


def test_mimic():
    text = urdf('<mimic joint="other" multiplier="2" offset="1"/>')
    with pytest.raises(FormatError, match=r"joint 'hinge': mimics joint 'other'.*mimic=.couple.*mimic=.independent"):
        load_urdf(text, mimic="refuse")
    robot = load_urdf(text, mimic="independent")
    assert robot.joint_names == ("hinge",)
    assert robot.notes == ("mimic joints with coordinates of their own: 'hinge'", UNLIMITED)


def test_mimic_joints_are_coupled():
    machine = load_urdf(
        chain(("prismatic", "", 0), ("revolute", MIMIC, 1), ("continuous", '<mimic joint="j1"/>', 1)), mimic="couple"
    )
    assert machine.couplings == (Coupling("j2", "j1", -2.0, 0.5), Coupling("j3", "j1", 1.0, 0.0))
    assert machine.active_names == machine.joint_names == ("j1",)
    assert (machine.name, machine.loops, machine.nv) == ("arm", (), 1)
    assert machine.notes == (UNLIMITED.replace("'hinge'", "'j1', 'j2'"),)
    forward = load_urdf(chain(("revolute", '<mimic joint="j2"/>', 0), ("revolute", "", 1)), mimic="couple")
    assert forward.couplings == (Coupling("j1", "j2"),)
    assert load_urdf(urdf(), mimic="couple") == load_urdf(urdf())
    chained = load_urdf(chain(("revolute", "", 0), ("revolute", MIMIC, 1), ("revolute", '<mimic joint="j2"/>', 2)))
    assert (chained.joint_names, chained.couplings[1]) == (("j1",), Coupling("j3", "j2"))


@pytest.mark.parametrize(
    ("joints", "message"),
    [
        ([("revolute", '<mimic joint="j9"/>', 0)], "joint 'j1': mimics joint 'j9', which does not exist"),
        ([("revolute", '<mimic joint="j1"/>', 0)], "joint 'j1': mimics itself"),
        ([("fixed", "", 0), ("revolute", MIMIC, 1)], "joint 'j2': mimics joint 'j1', which is not revolute"),
        ([("floating", "", 0), ("revolute", MIMIC, 1)], "mimics joint 'j1', which is not revolute or prismatic"),
        ([("planar", "", 0), ("revolute", MIMIC, 1)], "mimics joint 'j1', which is not revolute or prismatic"),
        ([("revolute", "", 0), ("planar", MIMIC, 1)], "joint 'j2': a planar joint cannot mimic another"),
        (
            [("revolute", '<mimic joint="j2"/>', 0), ("revolute", MIMIC, 1)],
            "line 2: joint 'j1': mimic joints lead in a circle: 'j1' of 'j2' of 'j1'; one must move by itself",
        ),
        (
            [("revolute", '<mimic joint="j2"/>', 0), ("revolute", '<mimic joint="j3"/>', 1),
             ("revolute", '<mimic joint="j2"/>', 2)],
            "line 3: joint 'j2': mimic joints lead in a circle: 'j2' of 'j3' of 'j2'; one must move by itself",
        ),
        ([("revolute", "", 0), ("revolute", MIMIC.replace("-2", "x"), 1)], "'multiplier' of <mimic> must be a number"),
        ([("revolute", "", 0), ("revolute", '<mimic multiplier="1"/>', 1)], "<mimic> needs the attribute 'joint'"),
        ([("revolute", "", 0), ("revolute", MIMIC + MIMIC, 1)], "expected one <mimic>, got 2"),
    ],
)  # fmt: skip
def test_mimic_joints_that_cannot_be_coupled(joints, message):
    with pytest.raises(FormatError, match=message) as caught:
        load_urdf(chain(*joints), mimic="couple")
    assert re.match(r"URDF text, line \d", str(caught.value))


@pytest.mark.parametrize("option", [{"mimic": "yes"}, {"floating": True}])
def test_options_are_checked(option):
    with pytest.raises(FormatError, match=r"option .* must be one of (couple, independent|free, fixed)"):
        load_urdf(urdf(), **option)
    with pytest.raises(
        FormatError, match="unknown option 'values'; URDF files take mimic, floating, gravity, floating_"
    ):
        load(urdf(), values={})


NEW = """<transmission name="t"><type>transmission_interface/SimpleTransmission</type>
 <joint name="hinge"/><actuator name="m"><mechanicalReduction>-50.5</mechanicalReduction></actuator></transmission>"""
OLD = """<transmission name="t" type="SimpleTransmission"><actuator name="m"/><joint name="hinge"/>
 <mechanicalReduction> -50.5 </mechanicalReduction></transmission>"""


@pytest.mark.parametrize("text", [NEW, OLD])
def test_simple_transmissions_give_the_gear_ratio(text):
    robot = load_urdf(urdf(extra=text))
    assert robot.joints[0].gear_ratio == -50.5
    assert robot.notes == (UNLIMITED, "gear ratios without a rotor's inertia, which have no effect: 'hinge'")


def test_other_transmissions_are_noted_by_name():
    text = "".join(
        f'<transmission name="{name}"><type>a/Differential</type><joint name="x"/></transmission>' for name in "pq"
    )
    text += NEW.replace('"hinge"', '"gone"') + '<transmission name="bare"/>'
    assert load_urdf(urdf(extra=text)).notes == (
        UNLIMITED,
        "transmissions of type 'a/Differential' ignored: 'p', 'q'",
        "transmissions of joints that do not exist, ignored: 't'",
        "transmissions of type 'without a type' ignored: 'bare'",
    )


def test_what_is_ignored_is_noted_with_its_count():
    extra = '<gazebo/><gazebo><joint name="loop"/></gazebo><sensor name="s"/><material name="m"/>'
    robot = load_urdf(urdf('<safety_controller k_velocity="1"/><dynamics spring="1"/><calibration/>', extra=extra))
    assert robot.notes == (
        UNLIMITED,
        "joints of the simulator alone, in <gazebo>, ignored: 'loop'",
        "ignored: <calibration> in <joint> (1)",
        "ignored: <gazebo> (2)",
        "ignored: <safety_controller> in <joint> (1)",
        "ignored: <sensor> (1)",
        "ignored: attribute 'spring' of <dynamics> (1)",
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (urdf('<axis xyz="0 0 0"/>'), "line 3: joint 'hinge': the axis has no direction"),
        (urdf('<axis xyz="1 0"/>'), "joint 'hinge': 'xyz' of <axis> must be three numbers, got '1 0'"),
        (urdf('<axis xyz="1,0,0"/>'), "separate them by blanks, not commas"),
        (urdf('<axis xyz="1, 0, 0"/>'), "'xyz' of <axis> must be a number.*'1,'"),
        (urdf('<origin xyz="nan 0 0"/>'), "got 'nan'; it must be finite"),
        (urdf('<origin xyz="inf 0 0"/>'), "got 'inf'; it must be finite"),
        (urdf('<origin xyz="1e999 0 0"/>'), "too large"),
        (urdf('<origin xyz="1_0 0 0"/>'), "got '1_0'"),
        (urdf('<origin xyz="0x10 0 0"/>'), "got '0x10'"),
        (urdf('<origin xyz="٣ 0 0"/>'), "must be a number"),
        (urdf('<origin xyz="${x} 0 0"/>'), "give it the suffix .xacro"),
        (urdf('<origin quat_xyzw="0 0 0 1"/>'), "quat_xyzw.*rpy"),
        (urdf("<origin/><origin/>"), "joint 'hinge': expected one <origin>, got 2"),
        (urdf('<limit lower="nan"/>'), "'lower' of <limit> must be a number"),
        (urdf('<dynamics damping="0,1"/>'), "decimal separator is a point"),
        (urdf('<parent link="x"/>'), "expected one <parent>, got 2"),
        (urdf(kind="ball"), "joint 'hinge': type must be one of revolute.*got 'ball'"),
        (urdf(kind=""), "joint 'hinge': <joint> needs the attribute 'type'"),
        (urdf(link="<inertial/>"), "link 'hand': <inertial> has no <mass>"),
        (urdf(link='<inertial><mass value="1"/></inertial>'), "link 'hand': <inertial> has no <inertia>"),
        (urdf(link='<inertial><mass value="1"/><inertia ixx="1"/></inertial>'), "needs the attribute 'iyy'"),
        (urdf(link='<inertial><mass/><inertia ixx="1"/></inertial>'), "<mass> needs the attribute 'value'"),
        (urdf(extra='<link name="hand"/>'), "two links are named 'hand'"),
        (urdf(extra='<link name="island"/>'), "has 2 roots, 'base', 'island'"),
        (urdf(extra='<link name=""/>'), "<link> needs the attribute 'name'"),
        (
            urdf(
                extra='<loop_joint name="close" type="continuous"><link1 link="base"/><link2 link="hand"/></loop_joint>'
            ),
            r"<loop_joint> 'close': loop constraints are not supported.*loops=.Loop\('close', .revolute., ",
        ),
        (urdf(extra='<drake:loop_joint xmlns:drake="d" name="c"/>'), "<drake:loop_joint> 'c': loop constraints"),
        (urdf(extra='<xacro:macro name="m"/>'), "give it the suffix .xacro"),
        (urdf(extra=NEW.replace("-50.5", "0")), "transmission 't': <mechanicalReduction> must not be zero"),
        (urdf(extra=NEW.replace("-50.5", "x")), "transmission 't': <mechanicalReduction> must be a number"),
        ('<robot name="r"/>', "has no <link>"),
        ("<mujoco/>", "expected the root element <robot>.*got <mujoco>"),
        ('<robot><link name="a"/><joint name="j" type="fixed"><child link="a"/></joint></robot>', "has no <parent>"),
    ],
)
def test_refusals_name_the_thing_and_the_remedy(text, message):
    with pytest.raises(FormatError, match=message) as caught:
        load_urdf(text)
    assert str(caught.value).startswith("URDF text")


def joints(*pairs):
    links = "".join(f'<link name="{name}"/>' for name in sorted(set("".join(pairs)) - {"?"}))
    return (
        f'<robot name="r">{links}'
        + "".join(
            f'<joint name="{p}{c}" type="fixed"><parent link="{p}"/><child link="{c}"/></joint>' for p, c in pairs
        )
        + "</robot>"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (joints("ab", "ba"), "form a cycle"),
        (joints("ab", "cd", "dc"), "form a cycle"),
        (joints("aa"), "form a cycle"),
        (joints("ab", "ac", "bd", "cd"), "link 'd' is carried by two joints"),
        (joints("a?"), "joint 'a[?]': its child link '[?]' does not exist"),
        (joints("?a"), "joint '[?]a': its parent link '[?]' does not exist"),
    ],
)
def test_only_trees(text, message):
    with pytest.raises(FormatError, match=message):
        load_urdf(text)


def test_load_by_suffix(tmp_path):
    text = urdf()
    for name in ("a.urdf", "a.URDF", "a.xml"):
        path = tmp_path / name
        path.write_text(text)
        assert load(path) == load(str(path)) == load(text) == load(text.encode()) == load_urdf(text)
    assert load(tmp_path / "a.urdf", gravity=(0, 0, 0)).gravity == (0, 0, 0)
    for name, message in (
        ("a.sdf", "is SDF, Gazebo's format.*sdf2urdf .* makes a URDF file"),
        ("a.step", "the suffix '.step' is not supported; supported: URDF"),
        ("a", "no suffix is not supported"),
        ("a.urdf.xacro", "there is no such file"),
    ):
        with pytest.raises(FormatError, match=message):
            load(tmp_path / name)
    (tmp_path / "m.xml").write_text("<sphere/>")
    with pytest.raises(FormatError, match=r"m\.xml, line 1: expected the root element <robot>"):
        load(tmp_path / "m.xml")
    with pytest.raises(FormatError, match="got int"):
        load(3)


# ---- real robots -------------------------------------------------------------------------------------


def real_files():
    try:
        package = importlib.metadata.distribution("example-robot-data")
    except importlib.metadata.PackageNotFoundError:
        return []
    folder = Path(str(package.locate_file("cmeel.prefix/share/example-robot-data/robots")))
    return sorted(folder.rglob("*.urdf"))


REAL = real_files()


@pytest.mark.slow
@pytest.mark.skipif(not REAL, reason="example-robot-data is not installed")
def test_real_files_load_or_say_why():
    refused = {}
    for path in REAL:
        try:
            load(path)
        except FormatError as error:
            refused[path.name] = str(error)
    assert all(name in message for name, message in refused.items())
    assert "has no <link>" in refused.pop("ur3.urdf")
    assert "'Left_index_q2': mimics joint 'index_q1', which does not exist" in refused.pop("alex_psyonic_hands.urdf")
    assert not refused


@pytest.mark.slow
@pytest.mark.skipif(not REAL, reason="example-robot-data is not installed")
def test_real_mimic_joints_are_coupled():
    coupled = 0
    for path in REAL:
        if path.name == "ur3.urdf" or "mimic joints" not in " ".join(load(path, mimic="independent").notes):
            continue
        if path.name == "alex_psyonic_hands.urdf":
            with pytest.raises(FormatError, match="'Left_index_q2': mimics joint 'index_q1', which does not exist"):
                load(path)
            continue
        machine = load(path)
        assert machine.active_names == machine.joint_names
        assert set(machine.joint_names) == set(machine.tree.joint_names) - {c.joint for c in machine.couplings}
        assert machine.tree.joint_names == load(path, mimic="independent").joint_names
        coupled += 1
    assert coupled >= 5


@pytest.mark.parametrize("path", tenth(REAL), ids=lambda path: path.name)
def test_real_robot_against_pinocchio(path):
    pin = pytest.importorskip("pinocchio")
    if path.name == "ur3.urdf":
        pytest.skip("an empty robot")
    robot = load(path, mimic="independent")
    model = pin.buildModelFromUrdf(str(path))
    data = model.createData()
    assert robot.mass == pytest.approx(sum(inertia.mass for inertia in model.inertias), rel=1e-12)
    assert set(robot.joint_names) == set(model.names[1:])
    rng = np.random.default_rng(0)
    columns = [model.joints[model.getJointId(name)].idx_v for name in robot.joint_names]
    for q in (np.zeros(robot.nq), rng.uniform(-2, 2, robot.nq)):
        theirs = pin.neutral(model)
        for name, value in zip(robot.joint_names, q, strict=True):
            joint = model.joints[model.getJointId(name)]
            theirs[joint.idx_q : joint.idx_q + joint.nq] = (
                value if joint.nq == 1 else [math.cos(value), math.sin(value)]
            )
        pin.framesForwardKinematics(model, data, theirs)
        for name, pose in poses(robot, q).items():
            frame = model.getFrameId(name, pin.FrameType.BODY)
            np.testing.assert_allclose(pose, data.oMf[frame].homogeneous, atol=1e-12, err_msg=name)
        expected = pin.crba(model, data, theirs)
        expected = np.triu(expected) + np.triu(expected, 1).T
        expected = expected[np.ix_(columns, columns)] - np.diag(model.armature[columns])
        scale = max(1.0, float(np.abs(expected).max(initial=0.0)))
        np.testing.assert_allclose(inertia_matrix(robot, q), expected, atol=1e-12 * scale)
    for joint in robot.moving_joints:
        theirs = model.joints[model.getJointId(joint.name)]
        assert model.upperEffortLimit[theirs.idx_v] == pytest.approx(joint.limits.effort)
        assert model.damping[theirs.idx_v] == pytest.approx(joint.viscous)


def test_limits_that_are_missing_are_noted():
    """URDF asks for them on revolute and prismatic joints, not on continuous ones."""
    assert load_urdf(urdf()).notes == (UNLIMITED,)
    assert load_urdf(urdf('<limit effort="1" velocity="1"/>')).notes == ()
    assert load_urdf(chain(("continuous", "", 0), ("fixed", "", 1))).notes == ()


@pytest.mark.parametrize("name", ["ISO-8859-1", "latin-1", "Latin1"])
def test_declared_latin_1_is_read(name):
    text = f'<?xml version="1.0" encoding="{name}"?><robot name="café"><link name="Fuß"/></robot>'
    assert load_urdf(text.encode("latin-1")).link_names == ("Fuß",)
    assert load_urdf(text).name == "café"  # decoded already


def test_an_empty_source_says_so(tmp_path):
    for source in ("", "  \n", b""):
        with pytest.raises(FormatError, match="got an empty text: give the path of a robot file"):
            load(source)
