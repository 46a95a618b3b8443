"""Files that are broken or mean harm: a clear error, at once, in little memory."""

import contextlib
import os
import re
import tracemalloc

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from neuler.errors import FormatError, NeulerError
from neuler.formats import load, load_urdf
from neuler.formats.xml import MAX_BYTES
from neuler.robot import Robot
from random_robots import later
from work import calls

MIB = 2**20

GOOD = b"""<?xml version="1.0" encoding="utf-8"?>
<robot name="arm" xmlns:x="y">
  <link name="base"/>
  <link name="upper"><inertial><origin xyz="0 0 0.1" rpy="0 0.1 0"/><mass value="1.5"/>
    <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="1e-2"/></inertial></link>
  <link name="hand"/>
  <joint name="shoulder" type="revolute"><origin xyz="0 0 1"/><parent link="base"/><child link="upper"/>
    <axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="10" velocity="2"/>
    <dynamics damping="0.1" friction="0.2"/></joint>
  <joint name="wrist" type="planar"><parent link="upper"/><child link="hand"/><axis xyz="0 0 1"/></joint>
  <transmission name="t"><type>SimpleTransmission</type><joint name="shoulder"/>
    <actuator name="m"><mechanicalReduction>100</mechanicalReduction></actuator></transmission>
  <gazebo reference="hand"><!-- note --></gazebo>
</robot>
"""


def laughs(kind="general"):
    percent = "% " if kind == "parameter" else ""
    entities = "".join(f'<!ENTITY {percent}a{k} "{f"&a{k - 1};" * 10}">' for k in range(1, 12))
    return f'<?xml version="1.0"?><!DOCTYPE robot [<!ENTITY a0 "lol">{entities}]><robot name="&a11;"/>'.encode()


HOSTILE = {
    "billion laughs": (laughs(), "DOCTYPE"),
    "parameter entities": (laughs("parameter"), "DOCTYPE"),
    "external entity": (b'<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]><robot name="&x;"/>', "DOCTYPE"),
    "external dtd": (b'<!DOCTYPE robot SYSTEM "http://localhost/x.dtd"><robot name="r"/>', "DOCTYPE"),
    "html": (b"<!DOCTYPE html><html><body>404</body></html>", "DOCTYPE"),
    "undefined entity": (b'<robot name="r">&lol;</robot>', "undefined entity"),
    "deep": (b"<robot>" * 10_000, "nested more than 100 deep"),
    "very deep": (b"<a>" * (10 * MIB), "nested more than 100 deep"),
    "wide": (b"<robot>" + b"<a/>" * (2 * MIB) + b"</robot>", "more than 100,000 elements"),
    "long tag": (b'<robot name="' + b"a" * (20 * MIB) + b'"/>', "a single tag"),
    "many attributes": (b"<robot" + b"".join(b' a%d=""' % k for k in range(300_000)) + b"/>", "a single tag"),
    "long number": (b'<robot name="r"><link name="b"><inertial><mass value="' + b"1" * 900_000 + b'"/>', "line 1"),
    "huge": (b"<a>" * (34 * MIB), "the limit is"),
    "empty": (b"", "is empty"),
    "blank": (b" \n ", "no element found"),
    "zeros": (bytes(MIB), "it has zero bytes"),
    "junk": (bytes(range(256)) * 100, "not UTF-8 text"),
    "png": (b"\x89PNG\r\n\x1a\n", "not UTF-8 text: byte 1 is 0x89"),
    "latin-1": ('<robot name="café"/>'.encode("latin-1"), "not UTF-8 text: byte 17 is 0xe9; save it as UTF-8"),
    "utf-16": (GOOD.decode().encode("utf-16"), "not UTF-8 text"),
    "utf-16 without mark": (GOOD.decode().encode("utf-16-le"), "it has zero bytes"),
    "cut utf-8": ('<robot name="é'.encode()[:-1], "UTF-8"),
    "plain text": (b"hello robot", "is it XML"),
    "cut in a tag": (GOOD[:200], "may be cut off"),
    "cut between tags": (GOOD[: GOOD.index(b"<link")], "may be cut off"),
    "two roots": (GOOD + b"<robot/>", "junk after document element"),
    "mismatch": (b"<robot><link></robot>", "mismatched tag"),
    "same attribute twice": (b'<robot name="a" name="b"/>', "duplicate attribute"),
    "control character": (b'<robot name="\x01"/>', "not well-formed"),
    "nul": (b'<robot name="a\x00b"/>', "it has zero bytes"),
}


@pytest.mark.parametrize("case", later(HOSTILE, "wide"))
def test_hostile_bytes(case):
    data, message = HOSTILE[case]
    tracemalloc.start()
    try:
        work, error = calls(load_urdf, data)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert isinstance(error, FormatError)
    assert re.search(message, str(error))
    assert work < 10 * 100_000  # of so many elements no more are read
    assert peak < 100 * MIB


@pytest.mark.parametrize("filler", [b"\n", b"a", b"&lt;", b"<!---->", b"<?a?>", b"<![CDATA[x]]>"])
def test_large_but_empty(filler):
    data = b"<robot>" + filler * (8 * MIB // len(filler)) + b"</robot>"
    work, error = calls(load_urdf, data)
    assert isinstance(error, FormatError)
    assert "has no <link>" in str(error)
    assert work < 10_000  # not a call for each of a million fillers


def test_hostile_paths(tmp_path):
    big = tmp_path / "big.urdf"
    with big.open("wb") as file:
        file.truncate(MAX_BYTES + 1)
    empty = tmp_path / "empty.urdf"
    empty.touch()
    cases = [
        (tmp_path / "none.urdf", "there is no such file"),
        (tmp_path, "is a directory"),
        (empty, "is empty"),
        (big, "has 33,554,433 bytes, the limit is 33,554,432"),
        (empty / "below.urdf", "cannot be read: Not a directory"),
        ("a\0b.urdf", "is not a path"),
        ("x" * 5000 + ".urdf", "cannot be read: File name too long"),
        ("", "empty string"),
        ("  ", "empty string"),
        (None, "got NoneType"),
        (3, "got int"),
        (["<robot/>"], "got list"),
    ]
    for source, message in cases:
        tracemalloc.start()
        try:
            with pytest.raises(FormatError, match=message):
                load_urdf(source)
            assert tracemalloc.get_traced_memory()[1] < MIB  # what is too large is not read
        finally:
            tracemalloc.stop()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_does_not_block(tmp_path):
    os.mkfifo(tmp_path / "pipe.urdf")
    with pytest.raises(FormatError, match="is not a regular file"):
        load(tmp_path / "pipe.urdf")


def test_the_encoding_that_a_file_declares_is_not_looked_up():
    for encoding in ("us-ascii", "no-such-thing", "zlib"):
        text = f'<?xml version="1.0" encoding="{encoding}"?><robot name="r"><link name="b"/></robot>'
        assert load_urdf(text).link_names == ("b",)


def test_byte_order_mark_and_leading_blanks():
    text = '<robot name="r"><link name="b"/></robot>'
    for source in ("\ufeff" + text, " \n" + text, ("\ufeff" + text).encode(), b"\n" + text.encode()):
        assert load(source).name == "r"


def test_lone_surrogates_in_text():
    with pytest.raises(FormatError):
        load_urdf("<robot name='\ud800'><link/></robot>")


def test_long_chains_do_not_recurse():
    n = 3000
    links = "".join(f'<link name="{k}"/>' for k in range(n))
    joints = "".join(
        f'<joint name="{k}" type="fixed"><parent link="{k}"/><child link="{k + 1}"/></joint>' for k in range(n - 1)
    )
    assert len(load_urdf(f'<robot name="r">{links}{joints}</robot>').links) == n


def outcome(data):
    try:
        robot = load_urdf(data, mimic="independent")
    except NeulerError:
        return
    assert isinstance(robot, Robot)
    robot.check()
    with contextlib.suppress(NeulerError):
        load_urdf(data, mimic="couple", floating="fixed")


WORDS = [b'"', b"<", b">", b"/", b"&", b" ", b"nan", b"1e999", b"-1", b"\xff", b"\x00", b"<!--", b"]]>", b"0", b""]
WORDS += [
    b"planar",
    b"floating",
    b"fixed",
    b"base",
    b"hand",
    b"upper",
    b"joint",
    b"link",
    b"1e308",
    b"revolute",
    b'<mimic joint="shoulder"/>',
    b"xacro:",
    b"\n",
]
edit = st.tuples(
    st.integers(0, len(GOOD)), st.integers(0, 30), st.one_of(st.sampled_from(WORDS), st.binary(max_size=8))
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(edit, min_size=1, max_size=4))
@example([])
def test_mutated_files_load_or_are_refused(edits):
    data = GOOD
    for start, length, new in edits:
        data = data[:start] + new + data[start + length :]
    outcome(data)


tags = ["robot", "link", "joint", "inertial", "origin", "axis", "parent", "child", "mass", "inertia", "limit", "mimic"]
values = st.sampled_from(
    ["base", "hand", "0 0 1", "0 0 0", "1", "-1e308", "1e308", "revolute", "planar", "inf", "", "é"]
)
attributes = st.dictionaries(
    st.sampled_from(["name", "type", "link", "xyz", "rpy", "value", "ixx", "iyy", "izz", "ixy", "lower", "joint"]),
    values,
    max_size=4,
)


def element(children):
    return st.builds(
        lambda tag, given, inside: (
            f"<{tag}" + "".join(f' {key}="{value}"' for key, value in given.items()) + f">{''.join(inside)}</{tag}>"
        ),
        st.sampled_from(tags),
        attributes,
        st.lists(children, max_size=4),
    )


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.recursive(element(st.just("text")), element, max_leaves=15), max_size=6))
def test_any_tree_of_urdf_words_loads_or_is_refused(elements):
    outcome(f'<robot name="r"><link name="base"/>{"".join(elements)}</robot>')


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200) | st.text(max_size=100).map(lambda text: "<" + text))
def test_random_bytes_are_refused(data):
    outcome(data)
