"""Problem files: what is read, and that what is wrong is refused by file, line, section and key."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import neuler
from neuler import FormatError, NeulerError
from neuler.files.problem_robots import read_robot
from neuler.files.problems import LARGEST, Problem

ARM = """
<robot name="arm">
  <link name="base"/>
  <link name="a"><inertial>
    <mass value="1"/><inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/>
  </inertial></link>
  <joint name="hinge" type="continuous"><parent link="base"/><child link="a"/><axis xyz="0 1 0"/></joint>
</robot>
"""


def robot_of(text):
    problem = Problem.of_text(text)
    found = read_robot(problem.root.section("robot"))
    problem.done()
    return found


def refused(text, *expected, ask=robot_of):
    with pytest.raises(FormatError) as error:
        ask(text)
    for part in expected:
        assert part in str(error.value)


# ---- values ----------------------------------------------------------------------------------------


def test_values_of_every_kind():
    problem = Problem.of_text(
        'a = 1\nb = 2.5\nc = "x"\nd = true\ne = [1, 2.0, 3]\nf = "one"\ng = ["one", "two"]\n'
        "[h]\ni = 3\n[[j]]\nk=1\n[[j]]\nk=2\n"
    )
    root = problem.root
    assert root.number("a") == 1.0
    assert isinstance(root.number("a"), float)
    assert root.number("b", above=2.0, most=3.0) == 2.5
    assert root.text("c", among=["x", "y"]) == "x"
    assert root.flag("d") is True
    np.testing.assert_array_equal(root.vector("e", 3), [1.0, 2.0, 3.0])
    assert root.names("f") == ["one"]
    assert root.names("g", among=["one", "two"]) == ["one", "two"]
    assert root.section("h").whole("i") == 3
    assert [part.whole("k") for part in root.sections("j")] == [1, 2]
    problem.done()


def test_what_is_absent_has_its_default():
    root = Problem.of_text("").root
    assert root.number("a", 2.0) == 2.0
    assert root.number("a", None) is None
    assert root.whole("b", None) is None
    assert root.text("c", "x") == "x"
    assert root.flag("d") is False
    assert root.vector("e", 3, None) is None
    assert root.names("f", []) == []
    assert root.section("g").table == {}
    assert root.sections("h") == []
    np.testing.assert_array_equal(root.each("i", ["p", "q"], 1.5), [1.5, 1.5])
    np.testing.assert_array_equal(root.each("i", ["p", "q"], np.array([1.0, 2.0])), [1.0, 2.0])


@pytest.mark.parametrize(
    ("line", "ask", "told"),
    [
        ('x = "1"', lambda s: s.number("x"), "expected a number, got '1'"),
        ("x = true", lambda s: s.number("x"), "expected a number, got true or false true"),
        ("x = nan", lambda s: s.number("x"), "expected a number, got nan"),
        ("x = inf", lambda s: s.number("x"), "expected a number, got inf"),
        (f"x = {10**400}", lambda s: s.number("x"), "expected a number, got 1000"),
        ("x = 0", lambda s: s.number("x", above=0.0), "expected a positive number, got 0"),
        ("x = -1", lambda s: s.number("x", least=0.0), "expected a number, 0 or more, got -1"),
        ("x = 9", lambda s: s.number("x", above=2.0, most=5.0), "a number above 2, 5 or less, got 9"),
        ("x = 1.0", lambda s: s.whole("x"), "expected a whole number, 0 or more, got 1.0"),
        ("x = 0", lambda s: s.whole("x", least=1), "expected a whole number, 1 or more, got 0"),
        ("x = 3", lambda s: s.text("x"), "expected a text, got 3"),
        ('x = "  "', lambda s: s.text("x"), "expected a text"),
        ('x = "rk5"', lambda s: s.text("x", among=["rk4", "euler"]), "there is no 'rk5'; did you mean 'rk4'?"),
        ("x = 1", lambda s: s.flag("x"), "expected true or false, got 1"),
        ("x = [1, 2]", lambda s: s.vector("x", 3), "expected a list of 3 numbers, got 2"),
        ('x = [1, "2", 3]', lambda s: s.vector("x", 3), "expected a list of 3 numbers, but number 2 is '2'"),
        ("x = 1", lambda s: s.vector("x", 1), "expected a list of 1 numbers, got 1"),
        ("x = [1, 2]", lambda s: s.names("x"), "expected a list of names, got a list of 2"),
        ('x = ["elbw"]', lambda s: s.names("x", among=["elbow"]), "there is no 'elbw'; did you mean 'elbow'?"),
        ("x = [1, 2, 3]", lambda s: s.each("x", ["a", "b"]), "a list of 2 (a, b), or a table by name, got 3"),
        ("x = {a = 1}", lambda s: s.each("x", ["a", "b"]), "expected a number for each name, 'b' missing"),
        ("x = {elbw = 1}", lambda s: s.each("x", ["elbow"]), "there is no such name; did you mean 'elbow'?"),
        ("x = {a = []}", lambda s: s.each("x", ["a"]), "expected a number, got a list of 0"),
        ("x = 1", lambda s: s.each("x", ["a", "b"], alike=False), "expected a list of 2 (a, b)"),
        ("x = 1", lambda s: s.section("x"), "expected a table, [part.x], got 1"),
        ("x = [1]", lambda s: s.sections("x"), "expected tables, [[part.x]], got a list of 1"),
        ("y = 1", lambda s: s.number("x"), "expected a key 'x'"),
        ("stp = 1", lambda s: s.number("step"), "is that what 'stp' stands for?"),
    ],
)
def test_values_that_are_refused(line, ask, told):
    problem = Problem.of_text(f"# first\n\n[part]\n{line}\n")
    refused(problem.root.section("part"), "problem: line ", "[part", told, ask=ask)


def test_the_line_is_that_of_the_key():
    text = "[a]\nx = 1\n\n[[b.c]]\nx = 2\n[[b.c]]\ny = 0\nx = 'no'\n"
    problem = Problem.of_text(text)
    with pytest.raises(FormatError, match=r"problem: line 8: \[b.c\] 2 x: expected a number, got 'no'"):
        problem.root.section("b").sections("c")[1].number("x")


def test_unknown_keys_are_refused_with_the_nearest():
    for text, told in (
        ("[simulate]\nstep = 1\nduraton = 2", "line 3: [simulate] duraton: unknown key; did you mean 'duration'?"),
        ("[simulat]\nstep = 1", "line 1: simulat: unknown key; did you mean 'simulate'?"),
        ("[simulate.more]\na = 1", "more: unknown key; there are 'step', 'duration'"),
    ):
        problem = Problem.of_text(text)
        section = problem.root.section("simulate")
        section.number("step", None)
        section.number("duration", None)
        with pytest.raises(FormatError) as error:
            problem.done()
        assert told in str(error.value)


# ---- files -----------------------------------------------------------------------------------------


def test_hostile_files(tmp_path):
    path = tmp_path / "p.toml"
    for content, told in (
        (b"a = 1\nb = \xff\xfe", "line 2: is not UTF-8 text"),
        (b"a = = 1", "is not TOML"),
        (b"a = 1\na = 2", "is not TOML"),
        (b"[a]\n[a]", "is not TOML"),
        (b"a = 2020-99-99", "is not TOML"),
        (b"a = " + b"9" * 5000, "is not TOML"),
        (b"a = " + b"[" * 20_000, "nested too deep"),
        (b"\0", "is not TOML"),
        (b"#" * (LARGEST + 1), "the limit is"),
    ):
        path.write_bytes(content)
        with pytest.raises(FormatError) as error:
            Problem.read(path)
        assert told in str(error.value), content[:20]
        assert "p.toml" in str(error.value)
    with pytest.raises(FormatError, match="there is no such file"):
        Problem.read(tmp_path / "q.toml")
    with pytest.raises(FormatError, match="is a directory"):
        Problem.read(tmp_path)


def test_windows_lines_and_marks_of_order_are_read(tmp_path):
    path = tmp_path / "p.toml"
    path.write_bytes(b"\xef\xbb\xbf[a]\r\nx = 1\r\n")
    assert Problem.read(path).root.section("a").number("x") == 1.0


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200))
def test_no_bytes_break_the_reader(tmp_path_factory, data):
    path = tmp_path_factory.getbasetemp() / "any.toml"
    path.write_bytes(data)
    with pytest.raises(NeulerError, match=r"any\.toml"):  # there is no robot in it, whatever it is
        read_robot(Problem.read(path).root.section("robot"))


values = st.recursive(
    st.none().map(lambda _: "true") | st.integers().map(str) | st.sampled_from(["nan", "-inf", '"x"', "1979-05-27"]),
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda x: f"[{', '.join(x)}]")
        | st.lists(inner, max_size=2).map(lambda x: "{" + ", ".join(f"k{i} = {v}" for i, v in enumerate(x)) + "}")
    ),
    max_leaves=6,
)


@settings(max_examples=150, deadline=None)
@given(key=st.sampled_from(["file", "gravity", "payload", "spring", "frame", "passive", "independent", "free_base",
                            "friction", "values", "mimic"]), value=values)  # fmt: skip
def test_no_value_of_any_kind_breaks_a_robot(key, value):
    try:
        robot_of(f'[robot]\nname = "two_link"\n{key} = {value}\n')
    except NeulerError as error:
        told = str(error)
    else:
        told = "problem: line "
    assert told.startswith("problem: line ")


# ---- robots ----------------------------------------------------------------------------------------


def test_a_robot_of_the_catalogue_with_changes():
    found = robot_of(
        """
        [robot]
        name = "puma560"
        gravity = [0, 0, -1.62]
        friction = false
        passive = "joint6"
        [[robot.frame]]
        name = "tool"
        link = "link6"
        at = [0, 0, 0.1]
        [[robot.payload]]
        frame = "tool"
        mass = 2.0
        com = [0, 0, 0.05]
        inertia = [0.01, 0.01, 0.01]
        [[robot.spring]]
        joint = "joint2"
        stiffness = 40.0
        rest = 0.1
        role = "driven"
        [[robot.friction_law]]
        joint = "joint1"
        law = "stribeck"
        coulomb = 1.0
        static = 1.5
        speed = 0.1
        """
    )
    puma = neuler.robots.puma560()
    expected = puma.with_frame("tool", "link6", neuler.Transform(translation=(0, 0, 0.1)))
    expected = expected.with_payload("tool", 2.0, (0, 0, 0.05), (0.01, 0.01, 0.01))
    expected = expected.with_spring("joint2", 40.0, 0.1, "driven").with_passive("joint6")
    expected = expected.without_friction().with_friction("joint1", neuler.Stribeck(1.0, 1.5, 0.1))
    assert found == expected.with_gravity((0, 0, -1.62))


def test_a_robot_from_a_file_beside_the_problem(tmp_path):
    (tmp_path / "here").mkdir()
    (tmp_path / "arm.urdf").write_text(ARM)
    (tmp_path / "here" / "arm.urdf").write_text(ARM)
    path = tmp_path / "here" / "p.toml"
    path.write_text('[robot]\nfile = "arm.urdf"\nfree_base = true\n')
    problem = Problem.read(path)
    assert read_robot(problem.root.section("robot")).nv == 7
    assert problem.notes == []
    path.write_text('[robot]\nfile = "../arm.urdf"\n')
    problem = Problem.read(path)
    assert read_robot(problem.root.section("robot")).nv == 1
    assert len(problem.notes) == 1
    assert "lies outside the folder" in problem.notes[0]


def test_values_of_symbols(tmp_path):
    text = neuler.formats.par.write(neuler.robots.rx90())
    (tmp_path / "rx.par").write_text(re.sub(r"(?m)^(FV = \{)[^,]*", r"\1FV1", text))
    path = tmp_path / "p.toml"
    path.write_text('[robot]\nfile = "rx.par"\n[robot.values]\nFV1 = 2.0\n')
    assert read_robot(Problem.read(path).root.section("robot")).joints[0].viscous == 2.0
    path.write_text('[robot]\nfile = "rx.par"\n')
    with pytest.raises(FormatError, match="FV1"):
        read_robot(Problem.read(path).root.section("robot"))


def test_robots_that_are_refused():
    refused("", "expected either 'file', a robot file, or 'name', of the catalogue")
    refused('[robot]\nname = "puma561"', "line 2: [robot] name: there is no 'puma561'; did you mean 'puma560'?")
    refused('[robot]\nname = "puma560"\nfile = "x.urdf"', "expected either")
    refused('[robot]\nfile = "x.urdf"', "x.urdf: there is no such file")
    refused('[robot]\nfile = "a\\u0000b"', "[robot] file: expected the name of a file")
    refused('[robot]\nname = "rx90"\nmimic = "couple"', "is for robot files")
    refused('[robot]\nname = "rx90"\nmimic = "cuple"', "did you mean 'couple'?")
    refused('[robot]\nname = "rx90"\ngravty = [0,0,0]', "line 3: [robot] gravty: unknown key; did you mean 'gravity'?")
    refused(
        '[robot]\nname = "rx90"\n[[robot.payload]]\nframe = "lnk6"\nmass = 1.0', "[robot.payload] 1 frame:", "'link6'"
    )
    refused('[robot]\nname = "rx90"\n[[robot.payload]]\nframe = "link6"', "[robot.payload] 1: expected a key 'mass'")
    refused('[robot]\nname = "rx90"\n[[robot.spring]]\njoint = "joint1"\nstiffness = -1', "0 or more, got -1")
    law = '[robot]\nname = "rx90"\n[[robot.friction_law]]\njoint = "joint1"\nlaw = '
    refused(law + '"stribek"', "[robot.friction_law] 1 law: there is no 'stribek'; did you mean 'stribeck'?")
    refused(law + '"stribeck"\ncoulomb = 1.0', "[robot.friction_law] 1: expected a key 'static'")
    refused('[robot]\nname = "delta"\nindependent = ["platform", "leg1.motor"]', "problem: line 1: [robot]: ")
