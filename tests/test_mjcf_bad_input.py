"""MJCF files that are broken, hostile, or say what neuler cannot compute."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import neuler
from mjcf_models import body
from neuler import FormatError
from neuler.formats.mjcf_refused import FEATURES


def refused(text, match, **options):
    with pytest.raises(FormatError, match=match):
        neuler.load(text, **options)


COPIES = '<replicate count="9999">'
FIXED = '<tendon><fixed name="t"{}><joint joint="j" coef="1"/></fixed></tendon>'
SPATIAL = '<tendon><spatial name="t"><site site="s"/><site site="u"/></spatial></tendon>'
UNSUPPORTED = [
    ("gravcomp", body('<joint name="j"/>').replace('"b"', '"b" gravcomp="1"'), "body 'b': gravity compensation"),
    ("armature", body('<joint name="j" type="ball" armature="1"/>'), "joint 'j': armature of a ball joint"),
    ("armature", body('<joint name="j" type="free" armature="1"/>'), "joint 'j': armature of a free joint"),
    ("frictionloss", body('<joint name="j" type="ball" frictionloss="1"/>'), "joint 'j': frictionloss of a ball"),
    ("springs", body('<joint name="j" type="ball" stiffness="1"/>'), "joint 'j': springs of a ball joint"),
    ("polynomials", body('<joint name="j" stiffness="1 2"/>'), "joint 'j': a spring that is not linear"),
    ("polynomials", body('<joint name="j" damping="1 2"/>'), "joint 'j': damping that is not linear"),
    ("tendons", body('<joint name="j"/>', FIXED.format(' stiffness="3"')), "tendon 't': stiffness"),
    (
        "equality",
        body('<site name="s"/><joint/>', SPATIAL + '<equality><tendon name="e" tendon1="t"/></equality>').replace(
            "<worldbody>", '<worldbody><site name="u"/>'
        ),
        "equality 'e': tendons that are not sums",
    ),
]


@pytest.mark.parametrize(("feature", "text", "said"), UNSUPPORTED)
def test_what_changes_the_motion_is_refused_by_name_or_left_out_with_a_note(feature, text, said):
    refused(text, f"{re.escape(said)}.*without=\\['{feature}'\\]")
    robot = neuler.load(text, without=[feature])
    assert any(note.startswith("left out") and said in note for note in robot.notes)


def test_gravity_compensation_where_there_is_no_gravity_is_not_refused():
    text = body('<joint name="j"/>').replace('"b"', '"b" gravcomp="1"')
    off = text.replace("<worldbody>", '<option gravity="0 0 0"/><worldbody>')
    assert neuler.load(off).nv == 1
    assert neuler.load(text.replace("<worldbody>", '<option><flag gravity="disable"/></option><worldbody>')).nv == 1


def test_every_feature_is_documented():
    page = (Path(__file__).parents[1] / "docs" / "mjcf.md").read_text()
    for feature in FEATURES:
        assert f'`"{feature}"`' in page
        assert re.search(rf"\b{feature}\b", neuler.formats.load_mjcf.__doc__)


def test_one_error_names_all_of_it():
    text = body('<joint name="j" type="ball" armature="1" stiffness="2"/>')
    refused(text, r"armature of a ball joint; joint 'j': springs.*without=\['armature', 'springs'\]")
    refused(text, r"springs.*without=\['armature', 'springs'\]", without="armature")
    refused(text, "there is no 'armatur'; did you mean 'armature'", without=["armatur"])
    refused(text, "must be a list of names", without=3)
    refused(text, "unknown option 'ignored'; MJCF files take without", ignored=[])


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("<mujoco><worldbody><body><joint/></body></worldbody></mujoco>", "mass and inertia of moving bodies"),
        ('<mujoco><worldbody><bdy/></worldbody></mujoco>', "MuJoCo's compiler refuses it.*bdy"),
        ('<mujoco><worldbody><body pos="a 0 0"/></worldbody></mujoco>', "refuses it.*'pos'"),
        ('<mujoco><worldbody><body pos="nan 0 0"/></worldbody></mujoco>', "'pos' of <body> is not finite"),
        ('<mujoco><worldbody><body pos="1e400 0 0"/></worldbody></mujoco>', "too large"),
        (body("<joint/>").replace('size=".1"', 'size="1e200"'), "is not finite once it is compiled"),
        ("<mujoco><worldbody><body>", "line 1.*cut off"),
        ('<!DOCTYPE m [<!ENTITY a "b">]><mujoco/>', "document type"),
        ("<mujocoinclude/>", "is a part of a model"),
        ("<mujoco>" * 200 + "</mujoco>" * 200, "nested more than"),
        ('<mujoco><worldbody><replicate count="1000000000"><body/></replicate></worldbody></mujoco>', "copies"),
        (f"<mujoco><worldbody>{2 * COPIES}<body/>{2 * '</replicate>'}</worldbody></mujoco>", "copies"),
        ('<mujoco><size nuserdata="999999999999"/></mujoco>', "'nuserdata' of <size>"),
        ('<mujoco><custom><numeric name="n" size="1e15"/></custom></mujoco>', "<numeric> makes more than"),
        ('<mujoco><asset><hfield name="h" nrow="99999" ncol="99999"/></asset></mujoco>', "<hfield> makes more than"),
        ('<mujoco><asset><mesh builtin="supersphere" params="20000 1 1"/></asset></mujoco>', "no robot needs so fine"),
        ('<mujoco><worldbody><include file="none.xml"/></worldbody></mujoco>', "'none.xml', and there is no such file"),
        ('<mujoco><worldbody><include/></worldbody></mujoco>', "refuses it"),
        ('<mujoco><worldbody><include file="/dev/zero"/></worldbody></mujoco>', "not a regular file"),
        ('<mujoco><asset><model name="m" file="/etc/passwd"/></asset></mujoco>', "not well-formed|syntax"),
        (body('<joint name="j"/>', '<equality><joint joint1="x"/></equality>'), "refuses it"),
    ],
)  # fmt: skip
def test_broken_and_hostile_text(text, match):
    refused(text, match)
    refused(text.encode(), match)


def test_files_in_a_circle(tmp_path):
    (tmp_path / "a.xml").write_text('<mujoco><worldbody><include file="b.xml"/></worldbody></mujoco>')
    (tmp_path / "b.xml").write_text('<mujocoinclude><include file="a.xml"/></mujocoinclude>')
    refused(tmp_path / "a.xml", "in a circle: a.xml includes b.xml includes a.xml")
    (tmp_path / "c.xml").write_text(
        '<mujoco><asset><model name="m" file="c.xml"/></asset><worldbody><attach model="m" body="w" prefix="p"/>'
        '<body name="w"/></worldbody></mujoco>'
    )
    refused(tmp_path / "c.xml", "in a circle")  # MuJoCo itself crashes here


def test_models_that_are_attached_again_and_again(tmp_path):
    for k in range(5):
        attach = "".join(f'<attach model="m" body="b" prefix="p{n}_"/>' for n in range(30))
        (tmp_path / f"m{k}.xml").write_text(
            f'<mujoco><asset><model name="m" file="m{k + 1}.xml"/></asset><worldbody><body name="b">{attach}</body>'
            "</worldbody></mujoco>"
        )
    (tmp_path / "m5.xml").write_text('<mujoco><worldbody><body name="b"/></worldbody></mujoco>')
    refused(tmp_path / "m0.xml", "m2.xml, line 1: <attach> makes more than 100,000 elements")
    assert neuler.load(tmp_path / "m4.xml").nq == 0


def test_files_that_include_each_other_deeply(tmp_path):
    before, after = "<frame>" * 60, "</frame>" * 60
    for k in range(20):
        inside = f'{before}<include file="m{k + 1}.xml"/>{after}'
        root = "mujoco" if k == 0 else "mujocoinclude"
        text = f"<worldbody>{inside}</worldbody>" if k == 0 else inside
        (tmp_path / f"m{k}.xml").write_text(f"<{root}>{text}</{root}>")
    refused(tmp_path / "m0.xml", "nested more than 300 deep")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no pipes")
@pytest.mark.parametrize("compiler", ["", '<compiler meshdir="parts"/>'])
def test_pipes_are_not_waited_at(tmp_path, compiler):
    (tmp_path / "parts").mkdir()
    os.mkfifo(tmp_path / "parts" / "m.stl")
    os.mkfifo(tmp_path / "m.stl")
    (tmp_path / "arm.xml").write_text(
        f'<mujoco>{compiler}<asset><mesh name="m" file="m.stl"/></asset><worldbody><body><joint/>'
        '<geom type="mesh" mesh="m"/></body></worldbody></mujoco>'
    )
    refused(tmp_path / "arm.xml", "arm.xml, line 1: <mesh> names .*m.stl', which is not a regular file")


def test_what_a_model_reserves_does_not_matter():
    size = '<size memory="100000G" nkey="900000" nuser_body="900000" nuserdata="900000"/>'
    robot = neuler.load(body('<joint name="j"/>', '<keyframe><key qpos="1"/></keyframe>' + size))
    assert list(robot.named_positions) == ["key0"]


def test_texts_that_are_not_utf8(tmp_path):
    (tmp_path / "arm.xml").write_bytes(
        b'<?xml version="1.0" encoding="ISO-8859-1"?><mujoco><worldbody><body name="\xe9"/></worldbody></mujoco>'
    )
    refused(tmp_path / "arm.xml", "arm.xml: has text that is not UTF-8, .*; save it so")
    refused('<mujoco model="\udc80"/>', "is not UTF-8")


def test_suffixes_in_capital_letters(tmp_path):
    for name in ("arm.XML", "arm.MJCF"):
        (tmp_path / name).write_text(body('<joint name="j"/>'))
        assert neuler.load(tmp_path / name).joint_names == ("j",)


def test_files_that_are_not_models(tmp_path):
    refused(tmp_path / "none.mjcf", "there is no such file")
    refused(tmp_path, "no suffix|is a directory")
    (tmp_path / "model.mjb").write_bytes(b"\0" * 100)
    refused(tmp_path / "model.mjb", "compiled model of MuJoCo")
    (tmp_path / "empty.mjcf").write_text("")
    refused(tmp_path / "empty.mjcf", "is empty")
    (tmp_path / "whole.mjcf").write_text('<mujoco><worldbody><include file="b.xml"/></worldbody></mujoco>')
    refused(tmp_path / "whole.mjcf", "only files named .xml name others")
    (tmp_path / "arm.mjcf").write_text("<robot name='x'/>")
    refused(tmp_path / "arm.mjcf", "root element <mujoco>")


def test_flexible_bodies_are_refused():
    flex = '<flexcomp name="f" type="grid" count="3 3 1" spacing=".1 .1 .1" radius=".01" mass="1" dim="2"/>'
    refused(f"<mujoco><worldbody><body name='b'>{flex}</body></worldbody></mujoco>", "flexible bodies")


def test_loops_that_cannot_close_are_refused_by_name():
    text = """<mujoco><worldbody><body name="a"><joint axis="0 1 0"/><geom size=".1"/><site name="s"/></body>
      <body name="b" pos="9 0 0"><joint axis="0 1 0"/><geom size=".1"/><site name="t" pos="1 0 0"/></body></worldbody>
      <equality><connect name="far" site1="s" site2="t"/></equality></mujoco>"""
    refused(text, "far")
    assert not neuler.load(text.replace("<worldbody>", '<option><flag equality="disable"/></option><worldbody>')).loops


def test_a_model_without_joints_is_a_robot_without_coordinates():
    robot = neuler.load('<mujoco><worldbody><body name="b"><geom size=".1"/></body></worldbody></mujoco>')
    assert (robot.nq, robot.link_names) == (0, ("world", "b"))


def test_without_mujoco_the_error_says_what_to_install():
    code = """
import sys
sys.modules["mujoco"] = None
import importlib.util
real = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name == "mujoco" else real(name, *rest)
import neuler
try:
    neuler.load("<mujoco/>")
except ImportError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install mujoco" in done.stdout
