"""Motors of URDF files: transmissions with the inertia of a rotor, against formulas; broken ones say what is wrong."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuler import Motor
from neuler.errors import FormatError, NeulerError
from neuler.formats import load_urdf
from random_robots import close

FELT = "motors of transmissions, felt along their joints alone: the file does not say where they sit"
BODY = """<inertial><origin xyz="0.3 0.1 0"/><mass value="2"/>
  <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.2" iyz="0" izz="0.2"/></inertial>"""


def arm(transmissions="", joints="", kinds=("continuous", "continuous", "prismatic")):
    """Three joints in a row: a, b, c."""
    text = '<robot name="arm" xmlns:drake="http://drake.mit.edu"><link name="0"/>'
    for k, (name, kind) in enumerate(zip("abc", kinds, strict=True)):
        text += f'<link name="{k + 1}">{BODY}</link><joint name="{name}" type="{kind}"><parent link="{k}"/>'
        text += f'<child link="{k + 1}"/><origin xyz="0.4 0 0"/><axis xyz="0 {k % 2} {1 - k % 2}"/>'
        text += '<limit lower="-1" upper="1" velocity="2" effort="9"/>' * (kind in ("revolute", "prismatic"))
        text += f"{joints if name == 'c' else ''}</joint>"
    return text + transmissions + "</robot>"


def simple(joint, inside="", name="t", actuator="m"):
    kind = "transmission_interface/SimpleTransmission"
    return (
        f'<transmission name="{name}"><type>{kind}</type><joint name="{joint}"/>'
        f'<actuator name="{actuator}">{inside}</actuator></transmission>'
    )


def pair(kind, a=(20.0, -30.0), j=(2.0, 0.5), inertias=(1e-3, 2e-3), order=(0, 1), more=("", ""), joints="ab"):
    actuators, sides = [], []
    for k in range(2):
        inertia = "" if inertias[k] is None else f"<motorInertia>{inertias[k]}</motorInertia>"
        actuators.append(
            f'<actuator name="m{k}"><role>actuator{k + 1}</role><mechanicalReduction>{a[k]}</mechanicalReduction>'
            f"{inertia}</actuator>"
        )
        reduction = "" if j[k] is None else f"<mechanicalReduction>{j[k]}</mechanicalReduction>"
        sides.append(f'<joint name="{joints[k]}"><role>joint{k + 1}</role>{reduction}{more[k]}</joint>')
    parts = "".join(actuators[k] for k in order) + "".join(sides[k] for k in order)
    return f'<transmission name="t"><type>transmission_interface/{kind}</type>{parts}</transmission>'


def added(text, **options):
    """What the rotors add to the inertia matrix."""
    robot = load_urdf(text, **options)
    q = np.array([0.3, -0.7, 0.2])[: robot.nq]
    return robot, robot.mass_matrix(q) - robot.without_motors().mass_matrix(q)


# ---- one joint ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "inside",
    [
        "<mechanicalReduction>-50</mechanicalReduction><motorInertia>2e-4</motorInertia>",
        '<drake:gear_ratio value="-50"/><drake:rotor_inertia value="2e-4"/>',
        '<mechanicalReduction>1</mechanicalReduction><drake:gear_ratio value="-50"/><motorInertia>2e-4</motorInertia>',
    ],
)
@pytest.mark.parametrize("joint", ["b", "c"])
def test_a_rotor_behind_a_gear(joint, inside):
    robot, more = added(arm(simple(joint, inside)))
    assert robot.motors == (Motor("m", joint, -50.0, inertia=2e-4, included=True, coupled=False),)
    expected = np.zeros((3, 3))
    expected["abc".index(joint), "abc".index(joint)] = 50.0**2 * 2e-4
    close(more, expected, 1e-12)
    assert robot.mass == 6.0
    assert robot.notes == (f"{FELT}: 'm'",)


def test_the_old_form_and_a_motor_without_a_name():
    text = '<transmission name="t" type="SimpleTransmission"><actuator/><joint name="a"/>'
    text += "<mechanicalReduction>9</mechanicalReduction><motorInertia>1e-3</motorInertia></transmission>"
    robot, more = added(arm(text))
    assert robot.motors[0].name == "a_motor"
    assert more[0, 0] == pytest.approx(0.081, abs=1e-14)


def test_without_inertia_a_gear_is_noted():
    robot = load_urdf(arm(simple("a", "<mechanicalReduction>80</mechanicalReduction>") + simple("b", name="u")))
    assert not robot.motors
    assert robot.joints[0].gear_ratio == 80.0
    assert robot.notes == ("gear ratios without a rotor's inertia, which have no effect: 'a'",)
    zero = "<mechanicalReduction>80</mechanicalReduction><motorInertia>0</motorInertia>"
    assert load_urdf(arm(simple("a", zero))).notes == robot.notes


def test_two_motors_of_one_joint_are_both_felt():
    text = "<mechanicalReduction>{}</mechanicalReduction><motorInertia>1e-4</motorInertia>"
    both = simple("a", text.format(30)) + simple("a", text.format(-40), "u", "n")
    robot, more = added(arm(both))
    assert [motor.name for motor in robot.motors] == ["m", "n"]
    assert more[0, 0] == pytest.approx(0.25, abs=1e-14)


def test_a_motor_of_a_follower_is_its_rotor():
    joints = '<mimic joint="a" multiplier="0.5"/>'
    text = simple("c", "<mechanicalReduction>20</mechanicalReduction><motorInertia>1e-3</motorInertia>")
    robot, more = added(arm(text, joints))
    close(more, np.diag([0.25 * 0.4, 0.0]), 1e-12)
    assert robot.notes == ("motors of joints that mimic others, taken as the joint's rotor inertia: 't'",)
    free, more = added(arm(text, joints), mimic="independent")
    assert free.motors[0].joint == "c"
    close(more, np.diag([0, 0, 0.4]), 1e-12)


def test_motors_of_joints_without_an_axis_are_noted():
    text = simple("c", "<motorInertia>1e-3</motorInertia>")
    fixed = load_urdf(arm(text, kinds=("continuous", "continuous", "fixed")))
    assert fixed.notes == ("motors of joints that do not move, ignored: 't'",)
    plane = load_urdf(arm(text, kinds=("continuous", "continuous", "planar")))
    assert plane.notes == ("motors of joints without an axis, ignored: 't'",)
    gone = load_urdf(arm(simple("x", "<motorInertia>1e-3</motorInertia>")))
    assert gone.notes == ("transmissions of joints that do not exist, ignored: 't'",)


@pytest.mark.slow
def test_armature_is_rotor_inertia():
    robot, more = added(arm(joints='<dynamics damping="0.1" armature="0.592"/>'))
    close(more, np.diag([0, 0, 0.592]), 1e-12)
    assert robot.joints[2].viscous == 0.1
    assert not robot.notes


# ---- two joints -----------------------------------------------------------------------------------------


def actuator_speeds(kind, a, j, v):
    """By ros_control's text: from joint to actuator."""
    if kind == "DifferentialTransmission":
        return a[0] * (j[0] * v[0] + j[1] * v[1]), a[1] * (j[0] * v[0] - j[1] * v[1])
    return j[0] * a[0] * v[0], a[1] * (v[0] + j[1] * v[1])


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
@pytest.mark.parametrize("kind", ["DifferentialTransmission", "FourBarLinkageTransmission"])
def test_two_motors_on_two_joints(kind, order):
    a, inertias = (20.0, -30.0), (1e-3, 2e-3)
    for j in ((2.0, 0.5), (None, None)):
        robot, more = added(arm(pair(kind, a, j, inertias, order)))
        for qd in ((1.0, 0.0, 0.0), (0.3, -0.8, 0.5)):
            turns = actuator_speeds(kind, a, [x or 1.0 for x in j], qd)
            twice = sum(inertia * speed**2 for inertia, speed in zip(inertias, turns, strict=True))
            assert np.array(qd) @ more @ qd == pytest.approx(twice, rel=1e-12)
        assert [motor.name for motor in robot.motors] == ["m0", "m1"]
        assert robot.notes == (f"{FELT}: 'm0', 'm1'",)


def test_an_inertia_that_is_missing_is_said():
    robot, more = added(arm(pair("DifferentialTransmission", inertias=(1e-3, None))))
    close(more[:2, :2], 1e-3 * np.outer([40, 10], [40, 10]), 1e-12)
    assert robot.notes[0] == "motors without a rotor's inertia in transmissions with others, taken as zero: 't'"
    none = load_urdf(arm(pair("DifferentialTransmission", inertias=(None, None))))
    assert not none.motors
    assert len(none.notes) == 1
    assert none.notes[0].endswith("DifferentialTransmission' without a rotor's inertia ignored: 't'")


def test_offsets_and_followers():
    text = pair("DifferentialTransmission", more=("<offset>0.0</offset>", "<offset>0.1</offset>"))
    assert "offsets of transmissions, which change no rotor's speed, ignored: 't'" in load_urdf(arm(text)).notes
    text = pair("DifferentialTransmission", joints="ac")
    robot = load_urdf(arm(text, '<mimic joint="b"/>'))
    assert robot.notes == ("transmissions of joints that turn or slide about no axis of their own, ignored: 't'",)
    assert not robot.motors


# ---- broken ---------------------------------------------------------------------------------------------

R, RM = "<mechanicalReduction>9</mechanicalReduction>", "<motorInertia>1e-3</motorInertia>"
DIFF = pair("DifferentialTransmission")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (simple("a", RM.replace("1e-3", "-1")), "a rotor's inertia must not be negative, got -1.0"),
        (simple("a", RM.replace("1e-3", "nan")), "<motorInertia> must be a number.*it must be finite"),
        (simple("a", RM.replace("1e-3", "")), "<motorInertia> must be a number"),
        (simple("a", RM + RM.replace("1", "2")), "2 different values of a rotor's inertia"),
        (simple("a", R.replace("9", "0") + RM), "must not be zero"),
        (simple("a", R + '<drake:gear_ratio value="7"/>'), "2 different values of <mechanicalReduction>"),
        (simple("a", '<drake:rotor_inertia/>'), "<drake:rotor_inertia> needs the attribute 'value'"),
        (simple("a", RM) + simple("b", RM, "u"), "actuator 'm' drives twice"),
        (simple("a", RM).replace("</transmission>", "<actuator name='n'/></transmission>"), "has one actuator"),
        (DIFF.replace("actuator2", "actuator1"), "the role 'actuator1' of a <actuator> is there twice"),
        (DIFF.replace("joint2", "joint7"), "the role 'joint7' of a <joint> is none of joint1, joint2"),
        (DIFF.replace("<role>joint1</role>", ""), "<joint> has no <role>; add it"),
        (DIFF.replace("-30.0", "0"), "<mechanicalReduction> must not be zero"),
        (DIFF.replace("0.5", "0"), "<mechanicalReduction> must not be zero"),
        (DIFF.replace("<mechanicalReduction>20.0</mechanicalReduction>", ""), "actuator 'm0' has no <mechanicalRe"),
        (pair("DifferentialTransmission", joints="aa"), "both of its joints are 'a'"),
        (DIFF.replace("</transmission>", "<actuator name='n'/></transmission>"), "needs two <actuator>.*got 3"),
        (pair("DifferentialTransmission", more=("<offset>x</offset>", "")), "<offset> must be a number"),
    ],
)  # fmt: skip
def test_broken_transmissions_say_what_is_wrong(text, message):
    with pytest.raises(FormatError, match=message) as caught:
        load_urdf(arm(text))
    assert "URDF text, line" in str(caught.value)


TEXT = arm(DIFF + simple("c", R + RM, "u", "n")).encode()


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(st.integers(0, len(TEXT) - 1), st.integers(0, 255)), min_size=1, max_size=3))
def test_random_edits_are_read_or_refused(edits):
    data = bytearray(TEXT)
    for place, value in edits:
        data[place] = value
    try:
        robot = load_urdf(bytes(data))
    except NeulerError:
        return
    assert robot.check() is not None


def test_every_order_of_elements_is_read_alike():
    parts = [DIFF, simple("c", R + RM, "u", "n"), simple("b", name="v", actuator="w")]
    found = {
        load_urdf(arm("".join(order))).mass_matrix([0.1, 0.2, 0.3]).tobytes() for order in itertools.permutations(parts)
    }
    assert len(found) == 1
