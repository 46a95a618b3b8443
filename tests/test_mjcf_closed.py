"""Equality constraints of MJCF files: couplings, loops, joints that are held, beside MuJoCo's constraints."""

import mujoco
import numpy as np
import pytest

import neuler
from mjcf_models import EVERYTHING, FOUR_BAR, full_matrix, joint_names, switched_off
from neuler import FormatError, layouts

PAIR = """<mujoco><option gravity="0 0 0"/><worldbody><body name="a"><joint name="x" ref="20"/>
<geom size=".1" pos="1 0 0"/></body><body name="b"><joint name="y" ref="-10"/><geom size=".1" pos="1 0 0"/></body>
</worldbody><equality>{}</equality></mujoco>"""


def residual(model, data):
    """Of MuJoCo's equality constraints, and their Jacobian."""
    mujoco.mj_fwdPosition(model, data)
    rows = np.array(data.efc_type) == mujoco.mjtConstraint.mjCNSTR_EQUALITY
    dense = np.zeros((data.nefc, model.nv))
    if mujoco.mj_isSparse(model):
        mujoco.mju_sparse2dense(dense, data.efc_J, data.efc_J_rownnz, data.efc_J_rowadr, data.efc_J_colind)
    else:
        dense[:] = np.array(data.efc_J).reshape(data.nefc, model.nv)
    return np.array(data.efc_pos)[rows], dense[rows]


def whole(text):
    model = switched_off(mujoco.MjModel.from_xml_string(text))
    model.opt.jacobian = mujoco.mjtJacobian.mjJAC_DENSE
    return model, mujoco.MjData(model)


@pytest.mark.parametrize(
    "polynomial", ["0 1 0 0 0", "0.2 -0.5 0 0 0", "0.1 0.5 0.2 -0.1 0.05", "0 0 1 0 0"], ids=["equal", "line", "4", "2"]
)
def test_a_joint_that_follows_another(polynomial):
    text = PAIR.format(f'<joint joint1="y" joint2="x" polycoef="{polynomial}"/>')
    robot = neuler.load(text)
    assert robot.joint_names == ("x",)
    model, data = whole(text)
    for x in (-0.4, 0.0, 1.3):
        data.qpos[:] = x, robot.couplings[0].at([x])[0]
        gap, slope = residual(model, data)
        assert np.allclose(gap, 0.0, atol=1e-14)
        rate = robot.couplings[0].at([x])[1][0]
        assert np.allclose(slope @ [1.0, rate], 0.0, atol=1e-13)


@pytest.mark.parametrize(
    ("equality", "names"),
    [
        ('<tendon tendon1="t"/>', ("x",)),
        ('<tendon tendon1="t" polycoef="0.3 0 0 0 0"/>', ("x",)),
        ('<tendon tendon1="t" tendon2="u" polycoef="0.1 2 0 0 0"/>', ("x", "y")),
    ],
)
def test_fixed_tendons_that_are_held(equality, names):
    text = PAIR.format(equality).replace(
        "<equality>",
        '<tendon><fixed name="t"><joint joint="x" coef="1"/><joint joint="y" coef="-3"/></fixed>'
        '<fixed name="u"><joint joint="z" coef="2"/></fixed></tendon><equality>',
    )
    text = text.replace("</worldbody>", '<body><joint name="z" ref="5"/><geom size=".1"/></body></worldbody>')
    if "tendon2" not in text:
        names = (*names, "z")
    robot = neuler.load(text)
    assert robot.joint_names == names
    model, data = whole(text)
    (coupling,) = robot.couplings
    values = {"x": 0.4, "y": -0.2, "z": 1.1}
    values[coupling.joint] = coupling.at([values[name] for name in coupling.of])[0]
    data.qpos[:] = [values[name] for name in "xyz"]
    mujoco.mj_fwdPosition(model, data)
    assert np.allclose(residual(model, data)[0], 0.0, atol=1e-14)


def test_a_joint_that_is_held():
    robot = neuler.load(PAIR.format('<joint joint1="y" polycoef="0.3 0 0 0 0"/>'))
    assert robot.joint_names == ("x",)
    assert "y" in {joint.name for joint in robot.joints}
    model, data = whole(PAIR.format('<joint joint1="y" polycoef="0.3 0 0 0 0"/>'))
    data.qpos[:] = 0.0, np.radians(-10) + 0.3
    assert np.allclose(residual(model, data)[0], 0.0, atol=1e-15)
    mujoco.mj_kinematics(model, data)
    assert np.allclose(robot.link_poses([0.0], frame="b")[:3, :3].ravel(), data.body("b").xmat, atol=1e-15)


def constrained(model, data, tau):
    """Accelerations that keep the constraints exactly, of MuJoCo's matrices; the bias by a difference."""
    slope = residual(model, data)[1]
    mujoco.mj_fwdVelocity(model, data)
    matrix, force = full_matrix(model, data), tau - data.qfrc_bias + data.qfrc_passive
    qpos, qvel, step = data.qpos.copy(), data.qvel.copy(), 1e-6
    slopes = []
    for side in (step, -step):
        data.qpos[:] = qpos
        mujoco.mj_integratePos(model, data.qpos, qvel, side)
        slopes.append(residual(model, data)[1])
    data.qpos[:] = qpos
    drift = (slopes[0] - slopes[1]) / (2 * step) @ qvel
    rows = len(slope)
    system = np.block([[matrix, slope.T], [slope, np.zeros((rows, rows))]])
    return np.linalg.lstsq(system, np.concatenate([force, -drift]), rcond=None)[0][: model.nv]


def test_a_loop_moves_as_mujocos_constraint_says():
    robot = neuler.load(FOUR_BAR)
    assert [loop.kind for loop in robot.loops] == ["spherical"]
    assert (robot.nv, robot.nu, robot.active_names) == (1, 1, ("crank",))
    model, data = whole(FOUR_BAR)
    layout = layouts.mujoco(robot.tree, joint_names(model))
    q = robot.assemble([0.7]).q
    for speed, tolerance in ((0.0, 1e-10), (2.0, 1e-7)):
        data.qpos[:], data.qvel[:] = layout.q(q), layout.v(lifted(robot, q, speed), q)
        gap, slope = residual(model, data)
        assert np.allclose(gap, 0.0, atol=1e-9)
        assert np.allclose(slope @ data.qvel, 0.0, atol=1e-9)
        theirs = constrained(model, data, layout.tau([1.5, 0, 0], q))
        assert np.allclose(theirs[0], robot.forward_dynamics(q, [speed], [1.5])[0], rtol=0, atol=tolerance * 10)


def lifted(robot, q, speed):
    """Velocities of all joints of the loop, by a difference."""
    step = 1e-6
    ahead, behind = (robot.integrate(q, [speed], side) for side in (step, -step))
    return (ahead - behind) / (2 * step)


def test_a_weld_and_a_connect_between_sites():
    text = """<mujoco><worldbody><body name="a"><freejoint name="f"/><geom size=".1"/><site name="s" pos="0 0 .2"/>
      <body name="b" pos="0 0 .2"><joint name="j" axis="0 1 0"/><geom size=".1" pos=".1 0 0"/></body></body>
      <body name="c" pos="0 0 .2"><joint name="k" axis="0 0 1"/><geom size=".1" pos=".2 0 0"/></body></worldbody>
      <equality>{}</equality></mujoco>"""
    welded = neuler.load(text.format('<weld name="w" body1="a" body2="c"/>'))
    assert [(loop.name, loop.kind) for loop in welded.loops] == [("w", "fixed")]
    model, data = whole(text.format('<weld name="w" body1="a" body2="c"/>'))
    layout = layouts.mujoco(welded.tree, joint_names(model))
    data.qpos[:] = layout.q(welded.random_configuration(0))
    assert np.allclose(residual(model, data)[0], 0.0, atol=1e-9)
    held = neuler.load(text.format('<weld body1="a" body2="c" torquescale="0"/>'))
    assert [(loop.name, loop.kind) for loop in held.loops] == [("equality0", "spherical")]
    with_anchor = '<weld body1="a" body2="c" anchor=".1 .2 .3" relpose="0 0 .2 1 0 0 1"/>'
    robot = neuler.load(text.format(with_anchor))
    model, data = whole(text.format(with_anchor))
    data.qpos[:] = layouts.mujoco(robot.tree, joint_names(model)).q(robot.neutral())
    assert np.allclose(residual(model, data)[0], 0.0, atol=1e-9)


def test_welds_of_sites_are_mujocos():
    text = """<mujoco><worldbody><body name="a"><joint name="x" axis="0 1 0"/><geom size=".1"/>
      <site name="s" pos="1 0 0" euler="10 20 30"/></body><body name="b"><joint name="y" axis="0 1 0"/><geom size=".1"/>
      <site name="t" pos="1 0 0" euler="10 20 30"/></body></worldbody>
      <equality><weld name="w" site1="s" site2="t"/></equality></mujoco>"""
    robot = neuler.load(text)
    assert [(loop.name, loop.kind) for loop in robot.loops] == [("w", "fixed")]
    model, data = whole(text)
    data.qpos[:] = robot.assemble([0.4]).q
    gap, slope = residual(model, data)
    assert np.allclose(gap, 0.0, atol=1e-9)
    assert model.nv - np.linalg.matrix_rank(slope, tol=1e-7) == robot.nv == 1


def test_constraints_between_bodies_that_nothing_moves_apart_are_noted():
    rigid = FOUR_BAR.replace("</worldbody>", '<body name="wall"/></worldbody>').replace(
        "</equality>", '<connect name="still" body1="wall" anchor="0 0 1"/></equality>'
    )
    robot = neuler.load(rigid)
    assert [loop.name for loop in robot.loops] == ["cut"]
    assert any("nothing moves apart: 'still'" in note for note in robot.notes)


def test_constraints_that_are_switched_off_are_noted():
    inactive = neuler.load(PAIR.format('<joint name="e" joint1="y" joint2="x" active="false"/>'))
    assert inactive.joint_names == ("x", "y")
    assert any("not active: 'e'" in note for note in inactive.notes)
    off = neuler.load(
        EVERYTHING.replace("<option", '<option jacobian="dense"').replace(
            '-9"/>', '-9"><flag equality="disable"/></option>'
        )
    )
    assert off.joint_names[-1] == "h4"
    assert any("equality constraints (1)" in note for note in off.notes)
    text = PAIR.format('<weld name="w" body1="a" body2="m"/>').replace(
        "</worldbody>", '<body name="m" mocap="true"/></worldbody>'
    )
    mocap = neuler.load(text)
    assert not mocap.loops
    assert any("mocap bodies: 'w'" in note for note in mocap.notes)


def test_constraints_that_contradict_each_other_are_refused():
    twice = PAIR.format('<joint joint1="y" joint2="x"/><joint joint1="y" joint2="x" polycoef="0 2 0 0 0"/>')
    with pytest.raises(FormatError, match=r"'y' follows another already.*without=\['equality'\]"):
        neuler.load(twice)
    assert len(neuler.load(twice, without=["equality"]).couplings) == 1
    circle = PAIR.format('<joint joint1="y" joint2="x"/><joint joint1="x" joint2="y"/>')
    with pytest.raises(FormatError, match="joint 'x' would lead itself"):
        neuler.load(circle)
