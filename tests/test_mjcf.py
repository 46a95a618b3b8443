"""MJCF files: trees, what their joints have, and what is noted, beside MuJoCo itself."""

import os
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path

import mujoco
import numpy as np
import pytest

import neuler
from mjcf_models import EVERYTHING, body, compiled, disagreement, joint_names, smooth_tree, switched_off
from neuler import FormatError, Frame, Limits, layouts

GYMNASIUM = Path(find_spec("gymnasium").origin).parent / "envs" / "mujoco" / "assets"
EXACT = 1e-12


def agree(robot, model, tolerance=EXACT):
    found = disagreement(robot, model)
    assert max(found.values()) < tolerance, found


def test_everything_agrees_with_mujoco():
    robot = neuler.load(EVERYTHING)
    agree(robot, compiled(EVERYTHING))
    assert robot.name == "everything"
    assert robot.link_names[:3] == ("world", "a", "b_h1")
    assert robot.joint_names == ("root", "h1", "s1", "h2", "ball", "h3")
    assert robot.gravity == (1.0, 2.0, -9.0)


def test_what_joints_have():
    robot = neuler.load(EVERYTHING)
    joints = {joint.name: joint for joint in robot.joints}
    h1 = joints["h1"]
    assert (h1.viscous, h1.coulomb, h1.rotor_inertia, h1.stiffness) == (0.2, 0.3, 0.01, 5.0)
    assert h1.rest == pytest.approx(np.radians(10))
    assert h1.limits == Limits(-np.pi / 2, np.pi / 2, effort=3 * 20 + 5)
    assert (joints["s1"].kind, joints["s1"].rotor_inertia, joints["s1"].limits.lower) == ("prismatic", 0.3, -1.0)
    assert joints["h3"].limits.effort == 8.0
    assert joints["h3"].gear_ratio == 2.0
    roles = {name: joints[name].role for name in ("h1", "h2", "h3", "s1", "ball")}
    assert roles == {"h1": "driven", "h2": "driven", "h3": "driven", "s1": "passive", "ball": "passive"}
    assert isinstance(robot.frames[0], Frame)
    assert (robot.frames[0].name, robot.frames[0].link) == ("tip", "a")
    assert np.allclose(robot.frames[0].placement.rotation, [[0, 0, 1], [0, 1, 0], [-1, 0, 0]])


def test_without_actuators_all_joints_are_driven():
    assert neuler.load(body('<joint name="j"/>')).joints[0].role == "driven"
    assert neuler.load(body('<joint name="j" stiffness="2"/>')).joints[0].role == "driven"
    one = neuler.load(
        body('<joint name="j" stiffness="2"/><joint name="k" axis="1 0 0"/>', '<actuator><motor joint="k"/></actuator>')
    )
    assert [joint.role for joint in one.moving_joints] == ["elastic", "driven"]


def test_notes_name_what_has_no_effect():
    notes = "\n".join(neuler.load(EVERYTHING).notes)
    for said in ("contacts (6 geoms", "sensors (1)", "mocap bodies taken as fixed: 'e'", "laws ignored: 'servo'"):
        assert said in notes
    more = neuler.load(body(
        '<joint name="j"/><joint name="k" type="ball" limited="true" range="0 30"/>',
        '<option density="1" viscosity="2"/>'
        '<tendon><fixed name="t" limited="true" range="0 1"><joint joint="j" coef="1"/></fixed></tendon>',
    ))  # fmt: skip
    notes = "\n".join(more.notes)
    for said in ("fluid of density 1 and viscosity 2", "tendons 't'", "limits of ball and free joints 'k'"):
        assert said in notes


def test_names_are_unique():
    robot = neuler.load(
        '<mujoco><worldbody><body name="a"><joint/><geom size=".1"/><site name="a"/><site/>'
        '<body><joint name="a"/><geom size=".1"/></body></body></worldbody></mujoco>'
    )
    assert robot.link_names == ("world", "a", "body2")
    assert robot.joint_names == ("joint0", "a")
    assert robot.frame_names[-1] == "a_"
    assert any("the site 'a' is 'a_'" in note for note in robot.notes)


def test_keyframes_are_named_positions():
    robot = neuler.load(EVERYTHING)
    home = robot.named_positions["home"]
    assert home.tolist() == [1, 2, 3, 0, 0, 0, 1, 0.1, 0.2, 0.3, 1, 0, 0, 0, 0.4]  # h4 follows h3: no coordinate
    model = mujoco.MjModel.from_xml_string(EVERYTHING)
    drawn = layouts.mujoco(robot.tree, joint_names(model)).from_q(model.qpos0)
    assert np.allclose(robot.named_positions["qpos0"], drawn[:-1], atol=1e-15)
    unnamed = neuler.load(body('<joint name="j"/>', '<keyframe><key qpos="0.3"/></keyframe>'))
    assert dict(unnamed.named_positions.numbers()) == {"key0": (0.3,)}
    run = neuler.simulate(unnamed, None, ("key0", None), 0.01)
    assert run.q[0, 0] == 0.3


def test_no_keyframe_is_lost_to_the_name_of_another():
    keys = '<key qpos="1"/><key name="key0" qpos="2"/><key name="qpos0" qpos="3"/>'
    robot = neuler.load(body('<joint name="j" ref="20"/>', f"<keyframe>{keys}</keyframe>"))
    positions = {name: q[0] for name, q in robot.named_positions.numbers()}
    assert positions == {"qpos0_": pytest.approx(np.radians(20)), "key0_": 1.0, "key0": 2.0, "qpos0": 3.0}


def test_what_keyframes_say_beside_positions_is_noted():
    text = EVERYTHING.replace("</keyframe>", '<key name="fast" qvel="1"/></keyframe>')
    notes = "\n".join(neuler.load(text).notes)
    assert "ignored: velocities of keyframes 'fast'" in notes
    assert "stand elsewhere than here: 'home', 'fast'" in notes  # h4 follows h3 with an offset


@pytest.mark.parametrize("flag", ["gravity", "spring", "damper", "frictionloss", "limit"])
def test_switches_of_the_option(flag):
    text = body(
        '<joint name="j" axis="0 1 0" stiffness="2" springref="20" damping="0.3" frictionloss="0.1" limited="true"'
        ' range="-1 1"/>',
        f'<option><flag {flag}="disable"/></option>',
    )  # fmt: skip
    robot, joint = neuler.load(text), neuler.load(text).joints[0]
    agree(robot, compiled(text))
    numbers = {
        "gravity": -robot.gravity[2], "spring": joint.stiffness, "damper": joint.viscous,
        "frictionloss": joint.coulomb, "limit": 0.0 if np.isinf(joint.limits.upper) else 1.0,
    }  # fmt: skip
    assert {name for name, value in numbers.items() if not value} == {flag}


def test_armature_and_damping_of_actuators():
    text = body(
        '<joint name="j" armature="0.1"/>',
        '<actuator><motor joint="j" gear="3" armature="0.5" damping="0.2"/></actuator>',
    )
    robot = neuler.load(text)
    assert robot.joints[0].rotor_inertia == pytest.approx(0.1 + 9 * 0.5)
    assert robot.joints[0].viscous == pytest.approx(9 * 0.2)
    model = mujoco.MjModel.from_xml_string(text)
    agree(robot, switched_off(model, "CONSTRAINT"))


def test_the_actuators_of_a_fixed_tendon_drive_its_joints():
    robot = neuler.load(body(
        '<joint name="j"/><joint name="k" axis="1 0 0"/><joint name="l" axis="0 1 0"/>',
        '<tendon><fixed name="t"><joint joint="j" coef="1"/><joint joint="k" coef="2"/></fixed></tendon>'
        '<actuator><motor tendon="t"/></actuator>',
    ))  # fmt: skip
    assert [joint.role for joint in robot.moving_joints] == ["driven", "driven", "passive"]
    assert robot.moving_joints[0].limits.effort == np.inf


@pytest.mark.parametrize("path", sorted(GYMNASIUM.glob("*.xml")), ids=lambda path: path.stem)
def test_models_of_gymnasium(path):
    robot = neuler.load(path)
    agree(robot, switched_off(mujoco.MjModel.from_xml_path(str(path)), "CONSTRAINT"))
    assert neuler.load(path.read_bytes()) == robot


@pytest.mark.parametrize("name", ["everything", "reacher", "inverted_double_pendulum", "pusher", "half_cheetah"])
def test_a_rollout_is_mujocos(name):
    text = EVERYTHING if name == "everything" else (GYMNASIUM / f"{name}.xml").read_text()
    model = switched_off(mujoco.MjModel.from_xml_string(text), "CONSTRAINT")
    model.opt.integrator, model.opt.timestep = mujoco.mjtIntegrator.mjINT_RK4, 1e-3
    robot = smooth_tree(neuler.load(text))
    layout, data = layouts.mujoco(robot, joint_names(model)), mujoco.MjData(model)
    q, qd = robot.random_configuration(0), np.random.default_rng(1).normal(size=robot.nv)
    data.qpos[:], data.qvel[:] = layout.q(q), layout.v(qd, q)
    found = robot.rollout(q, qd, None, dt=1e-3, steps=100, every=100)
    for _ in range(100):
        mujoco.mj_step(model, data)
    assert np.allclose(layout.from_q(data.qpos), found.q[-1], rtol=0, atol=1e-9)
    assert np.allclose(layout.from_v(data.qvel, data.qpos), found.qd[-1], rtol=0, atol=1e-9)


def test_meshes_that_decide_no_inertia_need_not_be_there(tmp_path):
    text = """<mujoco><asset><mesh name="m" file="none.stl"/><texture name="t" type="2d" file="none.png"/>
      <hfield name="h" file="none.png" size="1 1 1 1"/><material name="s" texture="t"/></asset>
      <worldbody><geom type="hfield" hfield="h"/><body name="b"><joint name="j"/>
      <inertial pos="0 0 1" mass="2" diaginertia="1 1 1"/>
      <geom name="shown" type="mesh" mesh="m" material="s"/></body>
      <body name="c"><joint/><geom size=".1"/><geom type="mesh" mesh="m" mass="0" contype="0"/></body></worldbody>
      <sensor><framepos objtype="geom" objname="shown"/></sensor></mujoco>"""
    (tmp_path / "arm.xml").write_text(text)
    robot = neuler.load(tmp_path / "arm.xml")
    assert robot.links[1].mass == 2.0
    assert robot.links[2].mass == pytest.approx(1000 * 4 / 3 * np.pi * 1e-3)
    (tmp_path / "arm.xml").write_text(text.replace('mass="0" contype="0"', ""))
    with pytest.raises(FormatError, match=r"none\.stl.*no <inertial>"):
        neuler.load(tmp_path / "arm.xml")
    assert neuler.load(text).links == robot.links


def test_files_that_are_included(tmp_path):
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "arm.xml").write_text('<mujocoinclude><include file="hand.xml"/></mujocoinclude>')
    (tmp_path / "parts" / "hand.xml").write_text(
        '<mujocoinclude><body name="hand"><joint/><geom size=".1"/></body></mujocoinclude>'
    )
    (tmp_path / "robot.xml").write_text('<mujoco><worldbody><include file="parts/arm.xml"/></worldbody></mujoco>')
    assert neuler.load(tmp_path / "robot.xml").link_names == ("world", "hand")
    (tmp_path / "pair.xml").write_text(
        '<mujoco><asset><model name="m" file="robot.xml"/></asset><worldbody>'
        '<attach model="m" body="hand" prefix="left_"/>'
        '<frame pos="1 0 0"><attach model="m" body="hand" prefix="right_"/></frame></worldbody></mujoco>'
    )
    assert neuler.load(tmp_path / "pair.xml").link_names == ("world", "left_hand", "right_hand")


@pytest.mark.parametrize("more", ['alignfree="true"', 'boundmass=".5" boundinertia=".1"'])
def test_bodies_that_mujoco_fuses_are_fused(more):
    """What MuJoCo makes of a body, such as its frame and its least mass, depends on what it has fused into it."""
    text = f"""<mujoco><compiler fusestatic="true" {more}/><worldbody><body name="a" pos="1 0 0"><freejoint name="f"/>
      <geom size=".1" pos=".2 0 0"/><body name="b" pos="0 1 0"><geom size=".05"/><site name="s"/></body></body>
      </worldbody></mujoco>"""
    robot = neuler.load(text)
    agree(robot, compiled(text))
    assert robot.link_names == ("world", "a")
    assert robot.frame_names[-1] == "s"


def test_threads_that_load_at_once():
    """What MuJoCo warns of goes to the robot that it is about, and Python's filters are as before."""
    texts = [body('<joint name="j"/>'), body('<joint name="j"/>', '<compiler settotalmass="3"/>')]
    alone, filters, start = [neuler.load(text) for text in texts], list(warnings.filters), threading.Barrier(8)

    def load(k):
        start.wait()
        return [neuler.load(texts[k % 2]) == alone[k % 2] for _ in range(20)]

    with ThreadPoolExecutor(8) as pool:
        assert all(all(found) for found in pool.map(load, range(8)))
    assert warnings.filters == filters


def test_a_folder_of_models():
    """Every model below NEULER_MJCF_MODELS, such as a copy of MuJoCo Menagerie, agrees or is refused by name."""
    folder = os.environ.get("NEULER_MJCF_MODELS")
    if not folder:
        pytest.skip("NEULER_MJCF_MODELS names no folder of MJCF models")
    paths = [path for path in sorted(Path(folder).rglob("*.xml")) if b"<mujoco" in path.read_bytes()]
    assert paths, folder
    for path in paths:
        try:
            model = mujoco.MjModel.from_xml_path(str(path))
        except ValueError:
            continue  # a part of another model
        try:
            robot = neuler.load(path)
        except FormatError as error:
            if not any(reason in str(error) for reason in ("not supported", "loop")):
                raise
            continue
        if not robot.nv:
            continue  # a scene, or a part of one
        found = disagreement(robot, switched_off(model, "CONSTRAINT"))
        assert max(found.values()) < 1e-8, f"{path}: {found}"  # MuJoCo takes 1e-9 m off an origin for none
