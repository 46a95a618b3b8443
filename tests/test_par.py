"""SYMORO+ files read: tables, symbols, loops."""

import dataclasses
import math
import re
from math import pi

import numpy as np
import pytest

from neuler import Frame, Link, Loop, Transform, robots
from neuler.errors import FormatError
from neuler.formats import from_dh
from neuler.formats.par import read
from par_files import BODY, REST, RX90, SR400, SR400_VALUES, dynamics, one, values_of
from work import calls

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
    work, error = calls(read, one(d=text), {"L": 3} if "L" in text else {}, missing="zero")
    assert isinstance(error, FormatError)
    assert str(error).startswith("PAR text")
    assert re.search(message, str(error))
    assert work < 5_000  # nothing is computed before it is seen that it is too large


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


def test_the_table_of_the_sr400_is_the_catalogues():
    machine = robots.sr400()
    found = read(SR400 + dynamics(8), SR400_VALUES | values_of(machine.tree))
    assert len(found.loops) == 1
    assert found.replace(reference=machine.reference) == machine


@pytest.mark.parametrize(("sigma", "kind"), [(0, "revolute"), (1, "prismatic"), (2, "fixed")])
def test_cut_joints_by_their_sigma(sigma, kind):
    text = SR400.replace("sigma = {0,0,0,0,0,0,0,0,0,2}", f"sigma = {{0,0,0,0,0,0,0,0,{sigma},2}}").replace("th9", "0")
    assert read(text, SR400_VALUES, missing="zero").loops == (Loop("joint9", kind, "frame9", "frame10"),)


def test_two_loops_with_frames_on_frames():
    text = """NL = 4\nNJ = 6\nNF = 8\nType = 2
    Ant = {0,1,0,3,2,4,1,7}\nSigma = {0,0,0,0,0,1,2,2}\nMu = {1,1,0,0,0,0,0,0}
    d = {0,1,0,1,1,4,2,3}\nR = {0,0,0,0,0,r6+0.5,0,0}\nAlpha = {0,0,0,0,0,0,0,0}\nTheta = {a,b,c,e,f+0.1,0,0,0}
    G = {0,0,0}"""
    machine = read(text, missing="zero")
    assert machine.loops == (
        Loop("joint5", "revolute", "frame5", "frame7"), Loop("joint6", "prismatic", "frame6", "frame8"),
    )  # fmt: skip
    places = {frame.name: (frame.link, frame.placement) for frame in machine.tree.frames}
    assert places["frame5"] == ("link2", Transform.khalil(d=1, theta=0.1))
    assert places["frame6"] == ("link4", Transform.khalil(d=4, r=0.5))
    assert places["frame7"] == ("link1", Transform.khalil(d=2))
    assert places["frame8"] == ("link1", Transform.khalil(d=5))
    assert machine.active_names == ("joint1", "joint2")
    assert machine.mobility.freedoms == 1  # as a whole about the first axis: link 2 is held, links 3 and 4 lie along 1


def test_loops_that_cannot_be_closed_are_refused():
    text = SR400.replace("-d8}", "-5}") + dynamics(8)
    values = SR400_VALUES | values_of(robots.sr400().tree)
    with pytest.raises(
        FormatError, match=r"PAR text: robot 'sr400': its loops cannot be closed .*; 'joint9' stays open"
    ):
        read(text, values)


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
