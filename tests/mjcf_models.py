"""MJCF models for tests, and MuJoCo's dynamics of them beside neuler's."""

import dataclasses

import mujoco
import numpy as np

from neuler import layouts

EVERYTHING = """<mujoco model="everything">
<compiler angle="degree"/>
<option gravity="1 2 -9"/>
<default><joint armature="0.01" damping="0.2"/>
  <default class="x"><joint type="slide" axis="1 1 0" armature="0.3"/></default></default>
<worldbody>
  <body name="a" pos="1 2 3" euler="10 20 30">
    <freejoint name="root"/>
    <inertial pos=".1 .2 .3" mass="2" fullinertia="1 2 2.5 .1 .2 .3"/>
    <site name="tip" pos=".1 0 0" euler="0 90 0"/>
    <body name="b" pos="0 0 1" quat="1 2 3 4">
      <joint name="h1" axis="1 2 3" pos=".1 .2 .3" ref="30" range="-90 90" limited="true" stiffness="5" springref="10"
        frictionloss=".3"/>
      <joint name="s1" class="x" pos="1 1 1" ref="0.2" range="-1 1"/>
      <joint name="h2" axis="0 1 0" pos="0 0 .2"/>
      <geom type="box" size=".1 .2 .3" pos=".1 0 0" euler="5 6 7"/>
      <body pos="0 .3 0"><joint type="ball" name="ball" armature="0" pos=".1 0 .2"/><geom type="capsule" size=".1 .2"/>
        <body name="plate" pos="1 0 0"><geom type="ellipsoid" size=".1 .2 .3"/></body></body>
    </body>
  </body>
  <frame pos="0 0 -1" euler="0 0 90"><body name="c"><joint name="h3" ref="20"/><geom size=".1" pos=".3 0 0"/>
    <body name="d" pos=".5 0 0"><joint name="h4" ref="40"/><geom size=".1" pos=".3 0 0"/></body></body></frame>
  <body name="e" mocap="true" pos="9 9 9"><geom size=".1"/></body>
</worldbody>
<equality><joint joint1="h4" joint2="h3" polycoef="0.1 0.5 0.2 -.1 .05"/></equality>
<actuator>
  <motor name="m1" joint="h1" gear="20" forcerange="-2 3"/><position name="servo" joint="h2" kp="3"/>
  <motor joint="h3" gear="2" ctrlrange="-4 4"/><motor joint="h1" gear="5" ctrlrange="-1 1"/>
</actuator>
<sensor><jointpos joint="h1"/></sensor>
<keyframe><key name="home" qpos="1 2 3 1 0 0 0 .1 .2 .3 0 2 0 0 .4 .5"/></keyframe>
</mujoco>"""
"""Joints of all kinds, several in a body, off its origin, with positions at which they are drawn."""

FOUR_BAR = """<mujoco model="four_bar">
<option gravity="0 0 -9.81"/>
<worldbody>
  <body name="crank"><joint name="crank" axis="0 1 0" damping="0.01"/>
    <inertial pos="0 0 .1" mass="1" diaginertia=".01 .01 .001"/>
    <body name="coupler" pos="0 0 .2"><joint name="j2" axis="0 1 0"/>
      <inertial pos=".3 0 0" mass="2" diaginertia=".001 .05 .05"/></body></body>
  <body name="rocker" pos=".6 0 0"><joint name="j3" axis="0 1 0"/>
    <inertial pos="0 0 .1" mass="1" diaginertia=".01 .01 .001"/></body>
</worldbody>
<equality><connect name="cut" body1="coupler" body2="rocker" anchor=".6 0 0"/></equality>
<actuator><motor joint="crank"/></actuator>
</mujoco>"""
"""A parallelogram whose coupler a connect joins to the rocker; one motor."""


def switched_off(model, *names):
    """The model without contacts, actuators, constraints and fluid."""
    bits = mujoco.mjtDisableBit
    for name in ("CONTACT", "ACTUATION", *names):
        model.opt.disableflags |= int(getattr(bits, f"mjDSBL_{name}"))
    model.opt.density = model.opt.viscosity = 0.0
    return model


def joint_names(model):
    """Names in MuJoCo's order; joints without one have their numbers."""
    return [model.joint(k).name or f"joint{k}" for k in range(model.njnt)]


def full_matrix(model, data):
    """MuJoCo's mass matrix."""
    found = np.zeros((model.nv, model.nv))
    try:
        mujoco.mj_fullM(model, data, found)
    except TypeError:  # before MuJoCo 4
        mujoco.mj_fullM(model, found, data.qM)
    return found


def smooth_tree(robot):
    """The tree without Coulomb friction, which is a constraint in MuJoCo."""
    tree = robot.tree
    return tree.replace(joints=[dataclasses.replace(joint, coulomb=0.0) for joint in tree.joints])


def disagreement(robot, model, seed=0):
    """The largest relative differences between the robot's tree and a model, by quantity, at random states."""
    tree = smooth_tree(robot)
    layout, data, rng = layouts.mujoco(tree, joint_names(model)), mujoco.MjData(model), np.random.default_rng(seed)
    found = {"mass_matrix": 0.0, "bias_force": 0.0, "forward_dynamics": 0.0, "link_poses": 0.0}
    for q in tree.random_configuration(seed, 3):
        qd, tau = rng.normal(size=(2, tree.nv))
        data.qpos[:], data.qvel[:] = layout.q(q), layout.v(qd, q)
        data.qfrc_applied[:] = layout.tau(tau, q)
        mujoco.mj_forward(model, data)
        matrix = layout.from_tau(layout.from_tau(full_matrix(model, data), data.qpos).T, data.qpos)
        acceleration = layout.from_a(data.qacc, data.qvel, data.qpos)
        # forces are those at the acceleration of which MuJoCo's bias is free of rates of its axes
        bias = layout.from_tau(data.qfrc_bias - data.qfrc_passive, data.qpos)
        still = layout.from_a(np.zeros(tree.nv), data.qvel, data.qpos)
        pairs = {
            "mass_matrix": (matrix, tree.mass_matrix(q)),
            "bias_force": (bias, tree.inverse_dynamics(q, qd, still)),
            "forward_dynamics": (acceleration, tree.forward_dynamics(q, qd, tau)),
        }
        poses = tree.link_poses(q)
        for k, name in enumerate(tree.link_names):
            body = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_BODY, name)
            if body >= 0:
                theirs = np.column_stack([data.xmat[body].reshape(3, 3), data.xpos[body]])
                found["link_poses"] = max(found["link_poses"], np.abs(theirs - poses[k][:3]).max())
        for name, (theirs, ours) in pairs.items():
            found[name] = max(found[name], np.abs(theirs - ours).max() / max(1.0, np.abs(theirs).max()))
    return found


def compiled(text):
    """MuJoCo's model of a text, without contacts, actuators and constraints."""
    return switched_off(mujoco.MjModel.from_xml_string(text), "CONSTRAINT")


def body(inner, more=""):
    """A model of one body with a mass, and something besides."""
    return f'<mujoco><worldbody><body name="b">{inner}<geom name="g" size=".1"/></body></worldbody>{more}</mujoco>'
