"""SYMORO+ files: tables in and out, symbols, loops, and files that are broken or mean harm."""

import dataclasses
import math
import re
import time
from math import pi

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import neuler
from neuler import Coupling, Frame, Joint, Limits, Link, Loop, Mechanism, Robot, Transform, robots
from neuler.errors import FormatError, NeulerError
from neuler.formats import from_dh, khalil, load
from neuler.formats.par import read, write
from neuler.formats.par_text import MAX_BYTES
from neuler.robot.inertia_matrix import inertia_matrix
from random_robots import NEARLY, close, random_robot, random_states

BODY = ("XX", "XY", "XZ", "YY", "YZ", "ZZ", "MX", "MY", "MZ", "M", "IA", "FV", "FS")


def symbols(name, count, start=1):
    return f"{name} = {{{','.join(f'{name}{k}' for k in range(start, count + 1))}}}\n"


def dynamics(count, start=1, **given):
    """Lists of symbols, but for those given."""
    return "".join(f"{name} = {{{given[name]}}}\n" if name in given else symbols(name, count, start) for name in BODY)


RX90 = """(*******************************************)
(*     SYMORO+ : Parameters of a robot     *)
(*       1 rue de la No\xeb, BP 92101         *)
(*******************************************)

(* General parameters *)
(* Robotname = 'RX90' *)
NF = 6
NL = 6
NJ = 6
Type = 0 (* Simple *)

(* Geometric parameters *)
Ant = {
        0,1,2,3,4,5}
Sigma  = {
        0,0,0,0,0,0}
B  = {
        0,0,0,0,0,0}
d  = {
        0,0,D3,0,0,0}
R  = {
        0,0,0,RL4,0,0}
gamma  = {
        0,0,0,0,0,0}
Alpha  = {
        0,Pi/2,0,-Pi/2,Pi/2,-Pi/2}
Mu  = {
        1,1,1,1,1,1}
Theta  = {
        t1,t2,t3,t4,t5,t6}
"""
REST = """
FX = {0,0,0,0,0,FX6}
QP = {QP1,QP2,QP3,QP4,QP5,QP6}
W0 = {0,0,0}
VP0 = {0,0,0}
Z = {1,0,0,0,0,1,0,0,0,0,
     1,0,0,0,0,1}
G = {0,0,G3}
(* End of definition *)
"""


def values_of(robot):
    """Khalil's names of all parameters of links 1, 2 ... and their numbers."""
    found = {}
    for k, (link, joint) in enumerate(zip(robot.links[1:], robot.joints, strict=True), start=1):
        xx, yy, zz, xy, xz, yz = link.inertia
        numbers = (xx, xy, xz, yy, yz, zz, *link.first_moment, link.mass)
        numbers += (joint.rotor_inertia, joint.viscous, joint.coulomb)
        found |= {f"{name}{k}": number for name, number in zip(BODY, numbers, strict=True)}
    return found


def one(geometry="", rest="M = {1}", **changes):
    """A file with one joint."""
    lists = {"Ant": "0", "Sigma": "0", "d": "0", "R": "0", "Alpha": "0", "Theta": "th1", "G": "0,0,0", **changes}
    text = "\n".join(f"{name} = {{{value}}}" for name, value in lists.items() if value is not None)
    return f"NL = 1\nNJ = 1\n{text}\n{geometry}\n{rest}\n"


# ---- reading -----------------------------------------------------------------------------------------------


def test_the_symbols_of_the_rx90_get_their_numbers():
    robot = robots.rx90()
    values = {"D3": 0.45, "RL4": 0.45, "G3": -9.81, **values_of(robot)}
    text = RX90 + dynamics(6) + REST
    found = read(text, values)
    assert found.replace(name="rx90") == robot
    assert (found.name, found.notes) == ("RX90", ())
    assert read(text.encode("utf-8"), values) == read(text.encode("latin-1"), values) == found
    assert read(text.replace("\n", "\r\n"), values) == found


def test_every_missing_symbol_is_named_with_the_way_to_give_it():
    text = RX90 + dynamics(6) + REST
    with pytest.raises(FormatError) as caught:
        read(text, {"D3": 0.45})
    message = str(caught.value)
    assert message.startswith("PAR text: 80 symbols have no value: RL4 (R, number 4), G3 (G, number 3), XX1 (XX")
    assert 'values={"RL4": ..., "G3": ..., "XX1": ..., ...}' in message
    assert 'missing="zero"' in message
    assert "t1" not in re.findall(r"\w+", message)
    with pytest.raises(FormatError, match=r"1 symbol has no value: G3 \(G, number 3\); pass values=\{\"G3\": ...\}$"):
        read(text, {"D3": 0.45, "RL4": 0.4}, missing="zero")
    light = read(text, {"D3": 0.45, "RL4": 0.4, "G3": 0, "M6": 2.0}, missing="zero")
    assert (light.mass, light.links[6].mass, light.joints[2].viscous) == (2.0, 2.0, 0.0)


def test_missing_lists():
    with pytest.raises(FormatError, match=r"the lists XX, .* FV, FS are missing; add them; missing=.zero"):
        read(RX90 + REST, {"D3": 1, "RL4": 1, "G3": 0})
    assert read(RX90 + REST, {"D3": 1, "RL4": 1, "G3": 0}, missing="zero").mass == 0


def test_gravity_is_the_acceleration_of_free_fall():
    """OpenSYMORO's model of one link under G = {0,0,-G3} has the force G3 M1 along z in its joint."""
    text = one(Sigma="1", Theta="0", R="r1", G="0,0,-G3", rest="M = {M1}")
    slide = read(text, {"G3": 9.81, "M1": 2.0}, missing="zero")
    assert slide.gravity == (0, 0, -9.81)
    assert slide.inverse_dynamics([0.3], [0.0], [0.0]) == pytest.approx(2 * 9.81)
    assert read(text, {"M1": 2.0}, missing="zero", gravity=(0, 0, -1)).gravity == (0, 0, -1)


def test_the_base_may_be_placed():
    turned = Transform.from_rpy((1, 2, 3), (0.1, 0.2, 0.3))
    matrix = ",".join(map(repr, turned.matrix.ravel().tolist()))
    text = one(d="0.5", Z=matrix, G="0,0,-9.81")
    robot = read(text, missing="zero")
    np.testing.assert_allclose(robot.joints[0].placement.matrix, (turned @ Transform.rot_x(0, 0.5)).matrix, atol=1e-15)
    np.testing.assert_allclose(robot.gravity, np.array(turned.rotation) @ [0, 0, -9.81], atol=1e-15)


@pytest.mark.parametrize(
    ("theta", "offset"),
    [
        ("t1", 0), ("th1", 0), ("qpos1", 0), ("whatever", 0), ("0", 0), ("pi/2", pi / 2), ("th1 - pi/2", -pi / 2),
        ("pi + q1", pi), ("beta+th1", 0.25), ("2*beta - (-th1)", 0.5), ("(2*th1 + beta)/2", 0.125), ("th1*1+0.1", 0.1),
    ],
)  # fmt: skip
def test_variables_and_their_offsets(theta, offset):
    robot = read(one(Theta=theta), {"beta": 0.25} if "beta" in theta else {}, missing="zero")
    expected = Transform.khalil(theta=offset)
    np.testing.assert_allclose(robot.joints[0].placement.matrix, expected.matrix, atol=1e-15)
    assert robot.nq == 1


def test_the_variable_of_a_slide_is_its_r():
    robot = read(one(Sigma="1", R="r1+RL", Theta="-pi/2", Alpha="pi/2"), {"RL": 0.4}, missing="zero")
    joint = robot.joints[0]
    assert (joint.kind, joint.axis) == ("prismatic", (0, 0, 1))
    assert joint.placement == Transform.khalil(alpha=pi / 2, theta=-pi / 2, r=0.4)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"Theta": "2*th1"}, "line 8: Theta, number 1: the joint variable 'th1' must be added once, not 2 times"),
        ({"Theta": "-th1"}, "must be added once, not -1 times"),
        ({"Theta": "sin(th1)"}, "may only be added to a constant"),
        ({"Theta": "1/th1"}, "may only be added to a constant"),
        ({"Theta": "th1*th1"}, "may only be added to a constant"),
        ({"Theta": "th1^2"}, "may only be added to a constant"),
        ({"Theta": "a + b"}, "which of a, b is the joint's variable"),
        ({"Theta": "th1", "d": "th1"}, "d, number 1: 'th1' is the joint variable of Theta, number 1 and cannot stand"),
        ({"Theta": "th1 + beta"}, r"1 symbol has no value: beta \(Theta, number 1\)"),
        ({"Theta": "0", "R": "r1"}, r"1 symbol has no value: r1 \(R, number 1\)"),
        ({"Sigma": "2", "Theta": "th1"}, "1 symbol has no value: th1"),
    ],
)
def test_what_is_no_variable(changes, message):
    with pytest.raises(FormatError, match=message):
        read(one(**changes), missing="zero")


def test_a_variable_belongs_to_one_joint():
    text = "NL = 2\nNJ = 2\nAnt={0,1}\nSigma={0,0}\nd={0,0}\nR={0,0}\nAlpha={0,0}\nTheta={q, q}\nG={0,0,0}"
    with pytest.raises(FormatError, match="'q' is already the joint variable of Theta, number 1; give each"):
        read(text, missing="zero")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0.45", 0.45), (".5", 0.5), ("1.", 1), ("1e-3", 1e-3), ("1.5E+2", 150), ("-2", -2), ("--2", 2), ("+2", 2),
        ("2*L", 6), ("L/2", 1.5), ("L-1-1", 1), ("2-L*2", -4), ("(2-L)*2", -2), ("12/L/2", 2), ("-L^2", -9),
        ("L**2", 9), ("2^-1", 0.5), ("2^3^2", 512), ("L^0.5", math.sqrt(3)), ("sqrt(L+1)", 2), ("Sqrt(4)", 2),
        ("cos(PI)", -1), ("sin(Pi/2)", 1), ("tan(pi/4)", 1), ("atan2(L, 3)", pi / 4), ("atan2(1,atan2(0,1))", pi / 2),
        ("asin(1)", pi / 2), ("acos(-1)", pi), ("atan(1)*4", pi), ("abs(-L)", 3), (" 2 * ( L + 1 ) ", 8),
        ("_a1 + A_1", 30),
    ],
)  # fmt: skip
def test_expressions(text, value):
    values = {name: x for name, x in {"L": 3, "_a1": 10, "A_1": 20.0}.items() if name in text}
    robot = read(one(d=text), values, missing="zero")
    assert robot.joints[0].placement.translation[0] == pytest.approx(value, rel=1e-15)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "d must have 1 entries .*got 0"),
        ("1,", "d must have 1 entries .*got 2"),
        ("2L", "cannot be read at 'L': '2L'; write products with"),
        ("L L", "cannot be read at 'L'"),
        ("(L", "cannot be read at its end"),
        ("L)", "cannot be read at '[)]'"),
        ("()", "cannot be read at '[)]'"),
        ("*L", "cannot be read at '[*]'"),
        ("sin", "cannot be read"),
        ("sin()", "cannot be read"),
        ("sin(1,2)", "sin takes 1 number, got 2"),
        ("atan2(1)", "atan2 takes 2 numbers, got 1"),
        ("exit(1)", "unknown function 'exit'; known are sqrt"),
        ("L.real", "expected an expression"),
        ("__import__('os')", "expected an expression"),
        ("L[0]", "expected an expression"),
        ("'a'", "expected an expression"),
        ("1;2", "expected an expression"),
        ("٣", "expected an expression"),
        ("1/0", "divides by zero"),
        ("1/(L-3)", "divides by zero"),
        ("0^-1", "divides by zero"),
        ("sqrt(-1)", "has no value"),
        ("asin(2)", "has no value"),
        ("(-8)^(1/3)", "has no value"),
        ("10^65", "an exponent is at most 64"),
        ("(10^64)^64", "has no value"),
        ("1e200*1e200", "is not finite"),
        ("1e999", "is not finite"),
        ("nan", "nan .d, number 1"),
        ("9^9^9^9^9^9", "an exponent is at most 64"),
        ("+".join(["1"] * 400), "has 799 characters, the limit is 500"),
        ("(" * 60 + "1" + ")" * 60, "nested more than 40 deep"),
        ("-" * 60 + "1", "nested more than 40 deep"),
        ("2^" * 60 + "1", "nested more than 40 deep"),
        ("sin(" * 60 + "1" + ")" * 60, "nested more than 40 deep"),
    ],
)
def test_expressions_that_are_refused(text, message):
    start = time.perf_counter()
    with pytest.raises(FormatError, match=message) as caught:
        read(one(d=text), {"L": 3} if "L" in text else {}, missing="zero")
    assert str(caught.value).startswith("PAR text")
    assert time.perf_counter() - start < 1.0


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"L": math.nan}, "'L' must be a finite number, got nan"), ({"L": "3"}, "'L' must be a finite number"),
        ({"L": True}, "finite number"), ({3: 1.0}, "3 is no symbol"), ({"Pi": 3}, "'Pi' is no symbol"),
        ([("L", 1)], "values must be a mapping"),
    ],
)  # fmt: skip
def test_values_are_checked(values, message):
    with pytest.raises(FormatError, match=message):
        read(one(d="L"), values)
    with pytest.raises(FormatError, match="option 'missing' must be one of refuse, zero, got 'skip'"):
        read(one(), missing="skip")


def test_motors_springs_and_losses():
    text = (
        "NL = 3\nNJ = 3\nAnt={0,1,2}\nSigma={0,1,2}\nd={0,0,0}\nR={0,r2,0}\nAlpha={0,0,0}\nTheta={t1,0,0}\nMu={0,1,0}\n"
        "eta={1,0,0}\nk={K1,7,0}\nG={0,0,0}\n" + dynamics(3, IA="1,2,3", FV="4,5,6", FS="7,8,9", M="1,1,1")
    )
    values = {name: 0.0 for name in (f"{name}{k}" for name in BODY for k in (1, 2, 3)) if f"{name}," in text}
    values |= {f"{name}3": 0.0 for name in BODY if f"{name}3" in text}
    robot = read(text, {**values, "K1": 30})
    spring, slide, weld = robot.joints
    assert (spring.role, spring.stiffness) == ("elastic", 30)
    assert (spring.rotor_inertia, spring.viscous, spring.coulomb) == (1, 4, 7)
    assert (slide.role, slide.stiffness) == ("driven", 0)
    assert (slide.rotor_inertia, slide.viscous, slide.coulomb) == (2, 5, 8)
    assert (weld.kind, weld.viscous, weld.rotor_inertia) == ("fixed", 0, 0)
    assert robot.notes == (
        "ignored: IA, FV, FS of the joints 3, which are fixed",
        "ignored: the stiffness k of the joints 2, which are rigid (eta = 0)",
    )
    with pytest.raises(FormatError, match=r"line 10: eta, number 1: joint 1 is flexible, but its stiffness k is zero"):
        read(text.replace("K1", "0"), values)
    with pytest.raises(FormatError, match=r"symbol has no value: K1 \(k, number 1\)"):
        read(text, values)


def test_joints_without_motors():
    text = "NL = 2\nNJ = 2\nAnt={0,1}\nSigma={0,0}\nd={0,1}\nR={0,0}\nAlpha={0,0}\nTheta={a,b}\nG={0,0,0}\nMu={%s}"
    assert [joint.role for joint in read(text % "1,0", missing="zero").joints] == ["driven", "passive"]
    idle = read(text % "0,0", missing="zero")
    assert [joint.role for joint in idle.joints] == ["driven", "driven"]
    assert idle.notes == ("Mu is 0 for every joint of an open structure; all are taken as driven",)
    assert [joint.role for joint in read(text.partition("Mu")[0], missing="zero").joints] == ["driven", "driven"]


def test_frames_beyond_the_links():
    text = """NL = 2\nNJ = 2\nNF = 4
    Ant={0,1,2,3}\nSigma={0,0,2,2}\nd={0,L1,L2,0.1}\nR={0,0,0,0}\nAlpha={0,0,0,pi/2}\nTheta={th1,th2,0,0}
    G={0,0,0}"""
    robot = read(text, {"L1": 0.5, "L2": 0.25}, missing="zero")
    assert robot.frame_names == ("base", "link1", "link2", "frame3", "frame4")
    assert robot.frames[0] == Frame("frame3", "link2", Transform.rot_x(0, 0.25))
    assert robot.locate("frame4") == (2, Transform.rot_x(0, 0.25) @ Transform.rot_x(pi / 2, 0.1))


def test_what_is_no_part_of_a_robot_is_noted():
    robot = read(one("FX = {3}\nCZ = {CZ1}\nW0 = {0,0,1}\nVP0 = {0,0,VP3}\nQP = {2}\nGAM = {1}"), missing="zero")
    assert len(robot.notes) == 2
    assert robot.notes[0].startswith("ignored: FX, which are inputs: compile with external=...")
    assert robot.notes[1].startswith("ignored: W0, which are a motion of the base")
    assert read(one("FX={0}\nFX={0}\nWO={0,0,0}\nVPO={0,0,0}"), missing="zero").notes == ()


@pytest.mark.parametrize(("flag", "notes"), [("is_floating = True", 0), ("is_floating = 1", 0), ("is_mobile = 1", 1)])
def test_a_moving_base_is_free(flag, notes):
    arm = robots.stanford()
    block = Link.from_com("block", mass=50.0, com=(0.1, 0.2, 0.3), inertia=(3, 4, 5, 0.1, 0.2, 0.3))
    floating = arm.replace(links=(dataclasses.replace(block, name="base"), *arm.links[1:])).with_free_base()
    text = (
        f"NL = 6\nNJ = 6\n{flag}\nAnt={{0,1,2,3,4,5}}\nSigma={{0,0,1,0,0,0}}\nd={{0,0,0,0,0,0}}\n"
        "R={0.412,0.154,r3,0,0,0.263}\nAlpha={0,-pi/2,pi/2,0,-pi/2,pi/2}\nTheta={q1,q2,-pi/2,q4,q5,q6}\n"
        "G={0,0,-9.81}\nMu={1,1,1,1,1,1}\n" + dynamics(6, start=0)
    )
    values = {f"{name}0": 0.0 for name in BODY} | values_of(arm)
    xx, yy, zz, xy, xz, yz = block.inertia
    values |= dict(zip((f"{n}0" for n in BODY[:10]), (xx, xy, xz, yy, yz, zz, *block.first_moment, 50.0), strict=True))
    found = read(text, values)
    assert len(found.notes) == notes
    assert found.replace(name="stanford", notes=()) == floating
    light = read(text.replace("M = {M0,", "M = {"), {name: x for name, x in values.items() if name != "M0"})
    assert light.links[1].mass == 0
    assert "no dynamic parameters of link 0: it has no mass" in " ".join(light.notes)


# ---- closed loops ------------------------------------------------------------------------------------------

SR400 = """(* Robotname = 'sr400' *)
NL = 8
NJ = 9
NF = 10
Type = 2
is_mobile = 0
ant = {0,1,2,3,4,5,1,7,8,3}
sigma = {0,0,0,0,0,0,0,0,0,2}
b = {0,0,0,0,0,0,0,0,0,0}
d = {0,d2,d3,d4,0,0,d2,d8,d3,-d8}
r = {0,0,0,RL4,0,0,0,0,0,0}
gamma = {0,0,0,0,0,0,0,0,0,pi/2}
alpha = {0,-pi/2,0,-pi/2,pi/2,-pi/2,-pi/2,0,0,0}
mu = {1,1,0,1,1,1,1,0,0,0}
theta = {th1,th2,th3,th4,th5,th6,th7,th8,th9,0}
G = {0,0,G3}
"""
SR400_VALUES = {"d2": 0.35, "d3": 0.9, "d4": 0.15, "d8": 0.4, "RL4": 1.1, "G3": -9.81}


def test_the_table_of_the_sr400_is_the_catalogues():
    machine = robots.sr400()
    found = read(SR400 + dynamics(8), SR400_VALUES | values_of(machine.tree))
    assert isinstance(found, Mechanism)
    assert found.replace(reference=machine.reference) == machine


@pytest.mark.parametrize(("sigma", "kind"), [(0, "revolute"), (1, "prismatic"), (2, "fixed")])
def test_cut_joints_by_their_sigma(sigma, kind):
    text = SR400.replace("sigma = {0,0,0,0,0,0,0,0,0,2}", f"sigma = {{0,0,0,0,0,0,0,0,{sigma},2}}").replace("th9", "0")
    assert read(text, SR400_VALUES, missing="zero").loops == (Loop("joint9", kind, "frame9", "frame10"),)


def test_two_loops_with_frames_on_frames():
    text = """NL = 4\nNJ = 6\nNF = 8\nType = 2
    Ant = {0,1,0,3,2,4,1,7}\nSigma = {0,0,0,0,0,1,2,2}\nMu = {1,1,0,0,0,0,0,0}
    d = {0,1,0,1,1,1,2,3}\nR = {0,0,0,0,0,r6+0.5,0,0}\nAlpha = {0,0,0,0,0,0,0,0}\nTheta = {a,b,c,e,f+0.1,0,0,0}
    G = {0,0,0}"""
    machine = read(text, missing="zero")
    assert machine.loops == (
        Loop("joint5", "revolute", "frame5", "frame7"), Loop("joint6", "prismatic", "frame6", "frame8"),
    )  # fmt: skip
    places = {frame.name: (frame.link, frame.placement) for frame in machine.tree.frames}
    assert places["frame5"] == ("link2", Transform.khalil(d=1, theta=0.1))
    assert places["frame6"] == ("link4", Transform.khalil(d=1, r=0.5))
    assert places["frame7"] == ("link1", Transform.khalil(d=2))
    assert places["frame8"] == ("link1", Transform.khalil(d=5))
    assert machine.active_names == ("joint1", "joint2")


# ---- writing -----------------------------------------------------------------------------------------------


def table(text):
    """The lists of a file as written, and its remarks taken away."""
    return re.sub(r"\(\* neuler .*\*\)\n", "", text)


@pytest.mark.parametrize("name", [name for name in robots.names() if isinstance(robots.get(name), Robot)])
def test_the_catalogue_is_written_without_loss(name):
    robot = robots.get(name)
    text = write(robot)
    found = read(text)
    if name == "shuttle_arm":  # its axes are not z: turned, and turned back
        assert found.joint_names == robot.joint_names
        for a, b in zip(found.links, robot.links, strict=True):
            np.testing.assert_allclose(a.inertia, b.inertia, rtol=1e-15, atol=1e-12)
    else:
        assert found == robot
    assert write(found) == text


def test_a_written_table():
    text = write(robots.rx90())
    for line in (
        "(* Robotname = 'rx90' *)", "NL = 6", "NJ = 6", "NF = 6", "Type = 0", "is_floating = 0",
        "Ant = {0,1,2,3,4,5}", "Sigma = {0,0,0,0,0,0}", "d = {0,0,0.45,0,0,0}", "R = {0,0,0,0.45,0,0}",
        "Alpha = {0,pi/2,0,-pi/2,pi/2,-pi/2}", "Theta = {th1,th2,th3,th4,th5,th6}", "Mu = {1,1,1,1,1,1}",
        "M = {30,25,15,6,2,0.5}", "IA = {3,3,1,0.3,0.3,0.3}", "G = {0,0,-9.81}",
        "Z = {1,0,0,0,0,1,0,0,0,0,1,0,0,0,0,1}",
    ):  # fmt: skip
        assert line in text.splitlines()
    assert "neuler" not in text
    slide = write(robots.stanford()).splitlines()
    assert "R = {0.412,0.154,r3,0,0,0.263}" in slide
    assert "Theta = {th1,th2,-pi/2,th4,th5,th6}" in slide


@pytest.mark.parametrize("seed", range(25))
def test_any_tree_is_found_again(seed):
    robot = random_robot(seed)
    found = read(write(robot))
    assert found.frame_names == robot.frame_names
    assert found.antecedents == robot.antecedents
    for mine, theirs in zip(found.joints, robot.joints, strict=True):
        close(mine.placement.matrix, theirs.placement.matrix, 1e-14)
        same = {"placement": theirs.placement} if mine.moves else {"placement": theirs.placement, "axis": theirs.axis}
        assert dataclasses.replace(mine, **same) == theirs
    for mine, theirs in zip(found.links, robot.links, strict=True):
        close(mine.inertia_matrix, theirs.inertia_matrix, 1e-14)
        close((mine.mass, *mine.first_moment), (theirs.mass, *theirs.first_moment), 1e-14)
    assert found.frames == robot.frames
    assert found.gravity == robot.gravity


@pytest.mark.parametrize("seed", range(25))
def test_the_table_alone_has_the_same_dynamics(seed):
    """What SYMORO+ reads, without the remarks: axes are z, nearly parallel ones have a link between them."""
    robot = random_robot(seed)
    bare = read(table(write(robot)))
    assert all(joint.axis == (0, 0, 1) for joint in bare.joints)
    for six in re.findall(r"^(?:B|R|d) = \{(.*)\}", write(robot), re.MULTILINE):
        assert all(abs(float(x)) < 100 for x in re.findall(r"[\d.]+(?:e-?\d+)?(?![\w.])", re.sub(r"r\d+", "", six)))
    assert bare.nq == robot.nq
    q = random_states(robot, 1, seed)[0][0]
    scale = np.abs(inertia_matrix(robot, q)).max()
    np.testing.assert_allclose(inertia_matrix(bare, q), inertia_matrix(robot, q), atol=1e-13 * scale)


@pytest.mark.parametrize("seed", range(5))
def test_torques_are_the_same(seed):
    robot = random_robot(seed)
    state = random_states(robot, 10, seed)
    expected = robot.inverse_dynamics(*state)
    close(read(write(robot)).inverse_dynamics(*state), expected, 1e-12)
    symmetric = robot.replace(joints=[dataclasses.replace(joint, coulomb_reverse=None) for joint in robot.joints])
    close(read(table(write(robot))).inverse_dynamics(*state), symmetric.inverse_dynamics(*state), 1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_free_bases_are_written(seed):
    robot = random_robot(seed, 4).with_free_base("float", "ground")
    placement = Transform.from_rpy((1, 2, 3), (0.3, 0.2, 0.1)) if seed else Transform()
    first = dataclasses.replace(robot.joints[0], placement=placement)
    robot = robot.replace(joints=(first, *robot.joints[1:]))
    text = write(robot)
    assert "is_floating = 1" in text
    assert re.search(r"^M = \{[^,}]+(,[^,}]+){4}\}$", text, re.MULTILINE)
    found = read(text)
    assert found.joints[0] == first
    assert found.link_names == robot.link_names
    rng = np.random.default_rng(seed)
    q, qd, qdd = rng.normal(size=robot.nq), rng.normal(size=robot.nv), rng.normal(size=robot.nv)
    q[3:7] /= np.linalg.norm(q[3:7])
    close(found.inverse_dynamics(q, qd, qdd), robot.inverse_dynamics(q, qd, qdd), 1e-12)


@pytest.mark.parametrize("name", [name for name in robots.names() if isinstance(robots.get(name), Mechanism)])
def test_mechanisms_are_written(name):
    machine = robots.get(name)
    found = read(write(machine))
    assert (found.name, found.loops, found.active_names) == (machine.name, machine.loops, machine.active_names)
    assert found.reference == machine.reference
    assert found.tree.frames == machine.tree.frames
    for mine, theirs in zip(found.tree.joints, machine.tree.joints, strict=True):
        assert dataclasses.replace(mine, placement=theirs.placement) == theirs
        np.testing.assert_allclose(mine.placement.matrix, theirs.placement.matrix, atol=1e-15)
    bare = read(table(write(machine)))
    assert [(loop.kind, loop.constraints) for loop in bare.loops] == [("revolute", 5)]
    q = np.linspace(0.1, 0.9, machine.tree.nq)
    for end in ("first", "second"):
        poses = [
            m.tree.compile("link_poses", frame=getattr(m.loops[0], end))(q) for m in (bare, machine)
        ]  # fmt: skip
        np.testing.assert_allclose(poses[0][:3, 2:], poses[1][:3, 2:], atol=1e-13)  # the axis and the point


def test_what_the_format_has_no_place_for_is_kept():
    name = "arm *) of 'Noë' (* \\ \"quoted\"\n"
    base = Link("pedestal", 3.0, (1, 2, 3), (4, 5, 6, 0.1, 0.2, 0.3))
    links = [base, Link("upper", 1.0), Link("lower", 1.0), Link("w")]
    joints = [
        Joint("hip *)", "revolute", "pedestal", "upper", axis=(0, 0.6, 0.8), limits=Limits(-1, 2, math.inf, 30),
              gear_ratio=-50, coulomb=0.1, coulomb_reverse=0.2, stiffness=5.0, rest=0.3, role="driven"),
        Joint("knee", "prismatic", "upper", "lower", stiffness=7.0, rest=-0.1),
        Joint("ankle", "fixed", "lower", "w", Transform.from_rpy((0, 0, 1))),
    ]  # fmt: skip
    frames = [Frame("eye (*", "upper", Transform.from_rpy((1, 2, 3), (0.1, 0.2, 0.3)))]
    robot = Robot(name, links, joints, (1, 2, 3), frames, notes=("read from *) somewhere",))
    found = read(write(robot))
    assert (found.name, found.notes, found.frames, found.gravity) == (name, robot.notes, robot.frames, (1, 2, 3))
    assert found.links[0] == robot.links[0]
    assert [dataclasses.replace(j, placement=Transform()) for j in found.joints] == [
        dataclasses.replace(j, placement=Transform()) for j in joints
    ]
    assert "eta = {0,1,0}" in write(robot)
    assert "k = {0,7,0}" in write(robot)


def test_roles_and_couplings_are_kept():
    tree = robots.two_link().with_passive("joint1", "joint2")
    assert read(write(tree)) == tree
    gear = Coupling("joint2", "joint1", -2.5, 1)
    machine = Mechanism("gears", robots.two_link().with_passive("joint2"), couplings=[gear])
    assert read(write(machine)) == machine
    loop = robots.four_bar()
    both = loop.replace(couplings=[Coupling("rocker", "crank")], name="other")
    found = read(write(both))
    assert (found.couplings, found.name, found.tree.name) == (both.couplings, "other", "four_bar")


def test_nearly_parallel_axes_stay_near():
    far = Transform.from_rpy((0.1, -0.2, 0.3), (NEARLY, 2 * NEARLY, 0.0))
    found = khalil.factors(far)
    assert len(found) == 2
    assert max(abs(x) for six in found for x in six) < 2.0
    whole = khalil.transform(found[0]) @ khalil.transform(found[1])
    np.testing.assert_allclose(whole.matrix, far.matrix, atol=1e-15)
    joint = Joint("hinge", "revolute", "base", "bob", far)
    robot = Robot("arm", [Link("base"), Link("bob", 1.0)], [joint])
    text = write(robot)
    assert "NL = 2" in text
    assert read(text).link_names == ("base", "bob")
    assert read(table(text)).link_names == ("base", "link1", "link2")


@pytest.mark.parametrize("seed", range(40))
def test_the_six_parameters_of_any_placement(seed):
    rng = np.random.default_rng(seed)
    quarters = rng.choice([0.0, pi / 2, -pi / 2, pi], 3)
    six = rng.uniform(-1, 1, 6) * rng.integers(0, 2, 6)
    if seed % 2:
        six[[0, 2, 4]] = quarters
    placement = khalil.transform(tuple(six.tolist()))
    found = khalil.factors(placement)
    assert len(found) == 1
    np.testing.assert_allclose(khalil.transform(found[0]).matrix, placement.matrix, atol=2e-15)


def test_what_cannot_be_written_is_refused():
    free = Joint("f", "free", "ground", "body")
    other = Joint("g", "free", "ground", "other")
    hinge = Joint("h", "revolute", "ground", "other")
    links = [Link("ground"), Link("body", 1.0), Link("other", 1.0)]
    loop = robots.four_bar()
    cases = [
        (Robot("two", links, [free, other]), "holds one free link, the base; 'f', 'g' are free"),
        (Robot("beside", links, [free, hinge]), "'ground' carries more than the joint 'f'"),
        (loop.replace(loops=[Loop("ball", "spherical", "coupler_tip", "rocker_tip")]), "not a spherical one; build"),
        (
            loop.replace(tree=loop.tree.with_free_base().with_frame("hook", "world"), reference=None,
                         loops=[Loop("tie", "revolute", "rocker_tip", "hook")]),
            "nothing is joined to the ground 'world'",
        ),
        ("arm", "expected a Robot or a Mechanism, got str"),
    ]  # fmt: skip
    for machine, message in cases:
        with pytest.raises(FormatError, match=message):
            write(machine)


# ---- files -------------------------------------------------------------------------------------------------


def test_load_by_suffix(tmp_path):
    path = tmp_path / "arm.PAR"
    text = "\n(* *)" + table(write(robots.stanford())).replace("(* Robotname = 'stanford' *)", "")
    path.write_text(text)
    robot = load(path)
    assert robot.name == "arm"
    assert robot == load(str(path)) == load(text).replace(name="arm") == load(text.encode()).replace(name="arm")
    assert neuler.load(path, gravity=(0, 0, 0), missing="zero", values={}).gravity == (0, 0, 0)
    assert load(path, floating_base=True) == robot.with_free_base()
    crank = load(write(robots.four_bar()), floating_base=True)
    assert crank.reference == (0, 0, 0, 0, 0, 0, 1, *robots.four_bar().reference)
    with pytest.raises(FormatError, match=r"unknown option 'mimic'; SYMORO\+ files take values, missing, gravity, fl"):
        load(path, mimic="couple")


def test_hostile_paths(tmp_path):
    (tmp_path / "empty.par").touch()
    with (tmp_path / "big.par").open("wb") as file:
        file.truncate(MAX_BYTES + 1)
    for source, message in (
        (tmp_path / "none.par", "there is no such file"),
        (tmp_path, "is a directory"),
        (tmp_path / "empty.par", "empty.par: is empty"),
        (tmp_path / "big.par", "is larger than the limit of 4,194,304 bytes"),
        ("a\0b.par", "is not a path"),
        ("", "empty string"),
        (b"", "is empty"),
        (3, "got int"),
        (None, "got NoneType"),
    ):
        with pytest.raises(FormatError, match=message):
            read(source)


GOOD = write(robots.sr400()) + '(* neuler frame {"name": "hook", "link": "link6"} *)\n'
PLAIN = SR400 + dynamics(8)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("NL = 8\n", "", "NL is missing; a SYMORO. file begins with"),
        ("NL = 8", "NL = {8}", "NL must be a single number, got a list"),
        ("NL = 8", "NL = 8.5", "line 2: NL: must be a whole number, got '8.5'"),
        ("NL = 8", "NL = -8", "NL: must be a whole number"),
        ("NL = 8", "NL = 9999999999999", "NL: must be a whole number"),
        ("NL = 8", "NL = 99999999", "NL: is 99,999,999, the limit is 2,000"),
        ("NL = 8", "NL = 10", "NJ: is 9, fewer than the NL = 10 links"),
        ("NL = 8", "NL =", "line 2: NL needs a value"),
        ("NL = 8", "NL 8", "line 2: expected a name and '=', such as NL = 6 or Ant = .*, got 'NL 8'"),
        ("NL = 8", "NL = 8\nNL = 8", "line 3: NL is given a second time"),
        ("NF = 10", "NF = 9", r"NF: must be at least 2 NJ - NL = 10"),
        ("NF = 10", "NF = 11", r"Ant must have 11 entries \(NL = 8, NJ = 9, NF = 11\), got 10"),
        ("Type = 2", "Type = 3", "Type: must be 0"),
        ("Type = 2", "Type = 0", "Type: is 0, an open structure, but NJ - NL = 1 joints are cut"),
        ("is_mobile = 0", "is_mobile = maybe", "is_mobile: must be 0 or 1, got 'maybe'"),
        ("is_mobile = 0", "is_moblie = 0", "line 6: unknown name 'is_moblie'; did you mean 'is_mobile'"),
        ("is_mobile = 0", "zzzzzzzz = 0", "unknown name 'zzzzzzzz'; known are NL, NJ"),
        ("ant = {0,1", "ant = {0,2", "line 7: Ant, number 2: the antecedent of 2 must be 0 .* to 1, got 2"),
        ("ant = {0,1", "ant = {1,1", "the antecedent of 1 must be 0"),
        ("ant = {0,1", "ant = {0,-1", "the antecedent of 2 must be 0"),
        ("ant = {0,1", "ant = {0,0.5", "Ant, number 2: must be a whole number, got '0.5'"),
        ("ant = {0,1", "ant = {0,x", "Ant, number 2: must be a whole number, got 'x'"),
        ("8,3}", "8,9}", "Ant, number 10: frame 9 is that of a cut joint and carries nothing"),
        ("ant = {0,1", "ant = {0,1,1", "Ant must have 10 entries .* got 11; mend the list or the counts"),
        ("ant = ", "(* ant = ", "line 7: a comment is not closed"),
        ("3}\nsigma", "3\nsigma", "line 7: the list Ant is not closed; end it with '}'"),
        ("3}\nsigma", "3}}\nsigma", "expected a name and '=', .* a brace is closed that was not opened"),
        ("ant = {0", "ant = {{0", "the list Ant is not closed"),
        ("ant = {0,1,2,3,4,5,1,7,8,3}", "ant = 0", "Ant: must be a list in braces"),
        ("ant = {0,1,2,3,4,5,1,7,8,3}\n", "", "the list Ant is missing; add Ant = {...} with 10 entries"),
        ("sigma = {0,", "sigma = {3,", r"Sigma, number 1: must be 0 .revolute.*got '3'"),
        ("0,2}\nb", "0,0}\nb", r"Sigma, number 10: frame 10 is fixed to its antecedent \(NJ = 9\): sigma must be 2"),
        ("mu = {1,", "mu = {2,", "Mu, number 1: must be 0 .passive. or 1"),
        ("1,0,0,0}\ntheta", "1,0,1,0}\ntheta", "joint 9 is cut and must be passive"),
        ("mu = {1,1,0,1,1,1,1,0,0,0}\n", "", "the list Mu is missing; with closed loops"),
        ("G = {0,0,G3}\n", "", "the list G is missing"),
        ("G = {0,0,G3}", "G = {0,0}", "G must have 3 entries"),
        ("G = {0,0,G3}", "G = {0,0,G3}\nZ={1,2}", "Z must have 16 entries"),
        ("G = {0,0,G3}", f"G = {{0,0,G3}}\nZ={{{'1,' * 15}1}}", "Z, number 1: must be the homogeneous matrix"),
        ("G = {0,0,G3}", "G = {0,0,G3}\neta={0,0,0,0,0,0,0,0,1}", "joint 9 is cut and must be rigid"),
        ("d = {0,d2", "d = {0,inf", r"inf \(d, number 2\)"),
        ("d = {0,d2", "d = {0,d2 d2", "line 10: d, number 2: cannot be read at 'd2'"),
        ("d = {0,d2", "d = {0,,d2", "d must have 10 entries"),
        ("d = {0,d2", "d = {0,", "line 10: d, number 2: is empty; write 0 where there is nothing"),
        ("XX = {", "XX = {XX1,", "XX must have 8 entries"),
        ("M = {M1", "M = {M1/0", "M, number 1: divides by zero"),
        ("(* Robotname = 'sr400' *)", "*) (* Robotname *)", "line 1: a comment is closed by .* that was not opened"),
        ("(* Robotname = 'sr400' *)", "\x00", "it has zero bytes"),
        ("(* Robotname = 'sr400' *)", "\x7fELF\x02\x01", "line 1: expected a name and '='"),
        ("(* Robotname = 'sr400' *)", "<robot name='r'/>", "line 1: expected a name and '='"),
    ],
)  # fmt: skip
def test_broken_files(old, new, message):
    assert PLAIN.count(old) >= 1
    values = SR400_VALUES | {f"{name}{k}": 1.0 for name in BODY for k in range(1, 9)}
    read(PLAIN, values)
    with pytest.raises(FormatError, match=message) as caught:
        read(PLAIN.replace(old, new, 1), values)
    assert str(caught.value).startswith("PAR text")


@pytest.mark.parametrize(
    ("remark", "message"),
    [
        ("neuler joint 3 {", None),
        ("neuler wrote this", None),
        ("neuler joint 3 {}", None),
        ("neuler joint 3 {x}", "line 31: the remark is not JSON"),
        ('neuler joint 3 {"nmae": "a"}', "a remark on a joint has no 'nmae'; it may have axis"),
        ('neuler joint 3 {"name": 3}', "'name' must be text"),
        ('neuler joint 3 {"axis": [0, 0, 2]}', "axis must be a unit vector"),
        ('neuler joint 3 {"axis": "z"}', "the remark on joint 3 cannot be used"),
        ('neuler joint 3 {"axis": [0, 1]}', "axis must be a unit vector"),
        ('neuler joint 3 {"limits": [0]}', "the remark on joint 3 cannot be used"),
        ('neuler joint 3 {"limits": 3}', "the remark on joint 3 cannot be used"),
        ('neuler joint 3 {"limits": [[], 0, 0, 0]}', "the remark on joint 3 cannot be used"),
        ('neuler joint 3 {"role": "lazy"}', "role must be one of"),
        ('neuler joint 3 {"gear_ratio": ' + "9" * 400 + "}", "gear_ratio must be finite"),
        ('neuler joint 9 {"name": "a"}', "a remark on joint 9, which is not in the table"),
        ('neuler joint 3 {"name": "a"} *)(* neuler joint 3 {"name": "b"}', "a second remark on joint 3"),
        ('neuler joint 3 {"name": "joint1"}', "two joints are named 'joint1'"),
        ('neuler link 3 {"mass": 1}', "its body is in the table"),
        ('neuler link 0 {"mass": 1}', "the remark on link 0 cannot be used: 'first_moment'"),
        ('neuler link 3 {"helper": true}', None),
        ('neuler frame {"name": "f"}', "the remark on a frame cannot be used"),
        ('neuler frame {"name": "f", "link": "link3", "rotation": [1]}', "the remark on a frame cannot be used"),
        ('neuler frame {"name": "f", "link": "nobody"}', "there is no link 'nobody'"),
        ('neuler loop 9 {"first": "link2"}', "frame 'link2' of the cut joint 9 is not where the table has it"),
        ('neuler loop 3 {"name": "x"}', "a remark on loop 3, which is not in the table"),
        ('neuler coupling {"joint": "joint3"}', "the remark on a coupling cannot be used"),
        ('neuler coupling {"joint": "joint3", "of": "nobody"}', "a coupling names 'nobody'"),
        ('neuler robot {"notes": [3]}', "notes must be a list of texts"),
        ('neuler robot {"reference": [1, 2]}', "reference must be 8 numbers"),
        ("neuler robot " + '{"notes":' * 30000 + "}" * 30000, "the remark is not JSON"),
    ],
)
def test_remarks_are_checked(remark, message):
    text = PLAIN + f"\n(* {remark} *)"
    values = SR400_VALUES | {f"{name}{k}": 1.0 for name in BODY for k in range(1, 9)}
    if message is None:
        assert read(text, values) == read(PLAIN, values)
    else:
        with pytest.raises(FormatError, match=message) as caught:
            read(text, values)
        assert str(caught.value).startswith("PAR text")


@pytest.mark.parametrize(
    "text",
    [
        "(*" * 100_000,
        "(* *)" * 100_000 + "x",
        "NL = 1\n" * 100_000,
        "{" * 1_000_000,
        "NL = {" + "(" * 1_000_000 + "}",
        "NL = {" + "," * 1_000_000 + "}",
        "\n" * 1_000_000 + "x",
        "a" * 1_000_000 + "=1",
        "NL=1\nNJ=1\nNF=2000\nAnt={0" + "".join(f",{k}" for k in range(1, 2000)) + "}\nSigma={0" + ",2" * 1999 + "}\n"
        + "".join(f"{name}={{0{',0' * 1999}}}\n" for name in ("d", "R", "Alpha", "Theta")) + "G={0,0,x}",
    ],
    ids=range(9),
)  # fmt: skip
def test_hostile_sizes(text):
    start = time.perf_counter()
    with pytest.raises(FormatError):
        read(text, missing="zero")
    assert time.perf_counter() - start < 3.0


def outcome(source):
    try:
        found = read(source, missing="zero", gravity=(0, 0, 0))
    except NeulerError:
        return
    assert isinstance(found, (Robot, Mechanism))
    write(found)


WORDS = ["{", "}", "(*", "*)", "=", ",", "", "0", "-1", "2", "1e308", "nan", "th1", "1/0", "\n", "NL", "\xff", "("]
WORDS += ["helper", "true", '"axis"', "[1, 0, 0]", "null", "neuler joint 3 ", "9" * 30, "is_floating = 1\n", "\ud800"]
edit = st.tuples(st.integers(0, len(GOOD)), st.integers(0, 30), st.one_of(st.sampled_from(WORDS), st.text(max_size=6)))


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(edit, min_size=1, max_size=4))
@example([])
def test_mutated_files_are_read_or_refused(edits):
    text = GOOD
    for start, length, new in edits:
        text = text[:start] + new + text[start + length :]
    outcome(text)


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=100) | st.text(max_size=60).map(lambda text: "NL = " + text + "\n"))
def test_random_bytes_are_refused(data):
    outcome(data)


@settings(max_examples=150, deadline=None)
@given(st.text(alphabet="0123456789.+-*/^()eELpisqrtan, ", min_size=1, max_size=30))
def test_random_expressions_are_worth_something_or_refused(text):
    outcome(one(d=text.replace(",", "")))


def test_a_khalil_table_written_by_hand():
    """The same arm through ``from_dh`` and through a file."""
    rows = [{"d": 0.1, "gamma": 0.2, "b": 0.3, "alpha": 0.4, "theta": 0.5, "r": 0.6, "M": 2.0, "MS": (1, 2, 3)}]
    text = one("B={0.3}\ngamma={0.2}", "M={2}\nMX={1}\nMY={2}\nMZ={3}", d="0.1", Alpha="0.4", Theta="th1+0.5", R="0.6",
               G="0,0,-9.81")  # fmt: skip
    assert read(text, missing="zero") == from_dh(rows, convention="khalil")


def test_values_of_unknown_symbols_are_refused():
    """A mistyped name must not leave the right one without a value, least of all where that is taken as zero."""
    text = one(d="D3", rest="M = {M1}")
    for values, message in (
        ({"D3": 0.5, "M1": 2, "D33": 1}, "values: 'D33' is no symbol of this file; did you mean 'D3'?"),
        ({"D3": 0.5, "m1": 2}, "values: 'm1' is no symbol of this file; did you mean 'M1'?"),
        ({"D3": 0.5, "weight": 2}, "values: 'weight' is no symbol of this file; there are 'D3', 'M1', 'th1'"),
    ):
        for missing in ("zero", "refuse"):
            with pytest.raises(FormatError, match=re.escape(message)):
                read(text, values, missing=missing)
    with pytest.raises(FormatError, match="the file has no symbols"):
        read(one(d="1", Theta="0", rest="M = {2}"), {"M1": 2}, missing="zero")
    assert read(text, {"D3": 0.5, "M1": 2}, missing="zero").links[1].mass == 2
