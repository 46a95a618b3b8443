"""Which meshes and height fields of MJCF files decide inertias, and which need not be there."""

import mujoco
import pytest

import neuler
from mjcf_models import disagreement, switched_off

MESH = '<mesh name="m" vertex="0 0 0 .3 0 0 0 .2 0 0 0 .1 .1 .1 .3"/>'
FIELD = '<hfield name="h" nrow="2" ncol="2" size="1 1 1 1"/>'
INERTIAL = '<inertial pos=".1 .2 .3" mass="2" diaginertia="1 1.1 1.2"/>'
BALL = '<geom name="ball" size=".1"/>'
ABSENT = '<mesh name="m" file="none.stl"/>'


def model(inner, compiler="", asset=MESH, more=""):
    return f"""<mujoco><compiler {compiler}/><asset>{asset}</asset><worldbody><body name="link">
      <joint name="j" axis="1 2 3"/>{inner}</body></worldbody>{more}</mujoco>"""


def agree(source):
    robot = neuler.load(source)
    is_path = not isinstance(source, str)
    compile = mujoco.MjModel.from_xml_path if is_path else mujoco.MjModel.from_xml_string
    found = disagreement(robot, switched_off(compile(str(source)), "CONSTRAINT"))
    assert max(found.values()) < 1e-12, found


@pytest.mark.parametrize(
    "text",
    [
        model('<geom type="mesh" mesh="m" mass="1" density="0"/>'),
        model('<geom type="mesh" mesh="m" density="0"/>' + BALL),
        model('<geom type="box" mesh="m"/>'),
        model('<geom type="mesh" mesh="m"/>' + INERTIAL, 'inertiafromgeom="true"'),
        model(BALL + '<geom type="hfield" hfield="h"/>', asset=FIELD),
        model(BALL + '<geom type="hfield" hfield="h" mass="3"/>', asset=FIELD),
    ],
    ids=["mass", "no_density", "fitted", "from_geom", "field", "field_with_mass"],
)
def test_shapes_that_decide_an_inertia_are_mujocos(text):
    agree(text)


@pytest.mark.parametrize(
    ("child", "inner"),
    [
        ('inertiafromgeom="true"', '<geom type="mesh" mesh="m"/>' + INERTIAL),
        ('inertiagrouprange="1 1"', '<geom type="mesh" mesh="m" group="1"/>' + BALL),
    ],
)
def test_a_model_that_is_attached_has_a_compiler_of_its_own(tmp_path, child, inner):
    (tmp_path / "child.xml").write_text(model(inner, child))
    path = tmp_path / "parent.xml"
    path.write_text(
        '<mujoco><compiler inertiagrouprange="0 0"/><asset><model name="c" file="child.xml"/></asset><worldbody>'
        '<attach model="c" body="link" prefix="p_"/></worldbody></mujoco>'
    )
    agree(path)


@pytest.mark.parametrize(
    "text",
    [
        model(BALL, asset=ABSENT, more='<sensor><tactile name="t" geom="ball" mesh="m"/></sensor>'),
        model(BALL + '<geom type="mesh" mesh="m" group="3"/>', 'inertiagrouprange="0 2"', ABSENT),
        model(INERTIAL + '<geom type="mesh" mesh="m"/>', asset=ABSENT),
        model(BALL, asset='<hfield name="h" file="none.png" size="1 1 1 1"/>').replace(
            "</worldbody>", '<body><geom type="hfield" hfield="h"/></body></worldbody>'
        ),
    ],
    ids=["tactile", "group", "inertial", "ground"],
)
def test_shapes_that_decide_none_need_not_be_there(text):
    robot = neuler.load(text)
    assert robot.nv == 1
    assert any("sensors (1)" in note for note in robot.notes) == ("tactile" in text)
