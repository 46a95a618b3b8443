"""Actuators of MJCF files: which joints they drive, how strongly, and what is noted."""

import numpy as np
import pytest

import neuler
from mjcf_models import body

TWO = """<mujoco><worldbody><body name="a"><joint name="j"/><geom size=".1"/><site name="s"/>
<body name="b" pos="0 0 1"><joint name="k" type="slide"/><geom size=".1"/><site name="t"/></body></body></worldbody>
<tendon><spatial name="string"><site site="s"/><site site="t"/></spatial>
<fixed name="pair"><joint joint="j" coef="2"/><joint joint="k" coef="1"/></fixed></tendon>
<actuator>{}</actuator></mujoco>"""


def said(robot, text):
    return any(text in note for note in robot.notes)


@pytest.mark.parametrize(
    ("actuator", "effort", "lopsided"),
    [
        ('<motor joint="j" gear="3" ctrlrange="-2 2"/>', 6.0, False),
        ('<motor joint="j" gear="3" forcerange="-4 4" ctrlrange="-1 1"/>', 3.0, False),
        ('<motor joint="j" gear="3" forcerange="-1 1" ctrlrange="-4 4"/>', 3.0, False),
        ('<motor joint="j" gear="-3" forcerange="-1 4"/>', 12.0, True),
        ('<general joint="j" gear="2" gainprm="-3" ctrlrange="-2 1"/>', 12.0, True),
        ('<motor joint="j" gear="2" ctrlrange="0 1"/><motor joint="j" gear="-2" ctrlrange="0 1"/>', 2.0, False),
        ('<motor joint="j" gear="2" ctrlrange="-1 1"/><motor joint="j"/>', np.inf, False),
        ('<position joint="j" kp="9" ctrlrange="-1 1"/>', np.inf, False),
        ('<position joint="j" kp="9" forcerange="-5 5"/>', 5.0, False),
    ],
)
def test_efforts(actuator, effort, lopsided):
    robot = neuler.load(body('<joint name="j"/>', f"<actuator>{actuator}</actuator>"))
    assert robot.joints[0].limits.effort == effort
    assert said(robot, "differ between directions or axes, the larger taken: 'j'") is lopsided


def test_efforts_of_balls_are_those_of_all_axes():
    motors = '<motor joint="j" gear="0 2 0" ctrlrange="-3 3"/><motor joint="j" gear="1 0 0" ctrlrange="-4 4"/>'
    robot = neuler.load(body('<joint name="j" type="ball"/>', f"<actuator>{motors}</actuator>"))
    assert robot.joints[0].limits.effort == 6.0
    assert said(robot, "the larger taken: 'j'")


@pytest.mark.parametrize(
    "actuator",
    [
        '<motor name="m" site="s" gear="0 0 1"/>', '<motor name="m" tendon="string"/>',
        '<adhesion name="m" body="a" ctrlrange="0 1"/>',
        '<motor name="m" cranksite="s" slidersite="t" cranklength="2"/>',
    ],
)  # fmt: skip
def test_actuators_that_drive_no_joint_are_noted(actuator):
    robot = neuler.load(TWO.format(actuator))
    assert [joint.role for joint in robot.moving_joints] == ["passive", "passive"]
    assert said(robot, "ignored: actuators that drive no joint directly: 'm'")


def test_a_motor_of_a_free_body_is_noted():
    robot = neuler.load(body('<freejoint name="j"/>', '<actuator><motor name="m" joint="j" gear="0 0 1"/></actuator>'))
    assert said(robot, "ignored: actuators that drive no joint directly: 'm'")


def test_a_tendons_actuator_is_a_motor_at_each_of_its_joints():
    robot = neuler.load(TWO.format('<motor name="m" tendon="pair" ctrlrange="-1 1"/>'))
    assert [(joint.role, joint.limits.effort) for joint in robot.moving_joints] == 2 * [("driven", np.inf)]
    assert said(robot, "actuators of tendons taken as a motor at each joint: 'm'")
