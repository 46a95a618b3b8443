"""The table of formats: what a file or text is taken for, and what can be written."""

import re
from pathlib import Path

import pytest

import neuler
from neuler import FormatError, robots
from neuler.formats import load, registry, save, xml
from neuler.formats.registry import FORMATS, Format, format_of, is_text

URDF = '<robot name="block"><link name="base"/></robot>'
PAR = neuler.formats.par.write(robots.rx90())


def test_the_table():
    assert [form.name for form in FORMATS] == ["URDF", "MJCF", "SYMORO+", "xacro"]
    for form in FORMATS:
        assert all(re.fullmatch(r"\.[a-z]+", suffix) for suffix in form.suffixes)
        if form.name == "MJCF":
            continue
        assert form.options
        assert "source" not in form.options
        assert form.read.__doc__
        for option in form.options:
            assert f"``{option}" in form.read.__doc__, f"{form.name}: {option}"
    assert {form.opens for form in FORMATS} == {"<", "(*"}


def test_what_is_text_and_of_which_format(tmp_path):
    for text, name in ((URDF, "URDF"), (PAR, "SYMORO+"), ("<?xml version='1.0'?>\n<!-- x --> <robot/>", "URDF")):
        for source in (text, "\ufeff\n " + text, text.encode(), b"\xef\xbb\xbf" + text.encode()):
            assert is_text(source)
            assert format_of(source).name == name
    for source in (b"", b"\xff\xfe", "<blocks/>"):
        assert format_of(source).name == "URDF"  # whose reader says what is wrong
    for source in ("<mujoco/>", b"<!-- a --> <mujoco model='a'>", "<mujocoinclude/>"):
        assert format_of(source).name == "MJCF"
    (tmp_path / "arm.XML").write_text(URDF)
    for path, name in (
        ("arm.urdf", "URDF"),
        (tmp_path / "arm.XML", "URDF"),
        (tmp_path / "a.par", "SYMORO+"),
        ("x(*.par", "SYMORO+"),
    ):
        assert not is_text(path)
        assert format_of(path).name == name


def test_two_formats_with_one_suffix_are_told_by_their_beginning(tmp_path, monkeypatch):
    """A second XML format is one more row; the first element decides."""
    other = Format("blocks", (".xml",), "<", lambda head: xml.root_tag(head) == "blocks", lambda source: robots.rx90())
    monkeypatch.setattr(registry, "FORMATS", (*FORMATS, other))
    path = tmp_path / "a.xml"
    path.write_text("<?xml version='1.0'?><!-- <robot> --><blocks/>")
    assert load(path) == load("<blocks/>") == load(path.read_bytes()) == robots.rx90()
    path.write_text(URDF)
    assert load(path).link_names == ("base",)
    path.write_text("<stones/>")
    with pytest.raises(FormatError, match="expected the root element <robot>"):
        load(path)
    with pytest.raises(FormatError, match="there is no such file"):
        load(tmp_path / "none.xml")


def test_the_xml_reader_knows_no_format():
    source = Path(xml.__file__).read_text()
    code = re.sub(r'""".*?"""', "", source, flags=re.DOTALL)
    assert not re.search(r"urdf|xacro|ros|gazebo|link|joint", code, re.IGNORECASE)
    with pytest.raises(
        FormatError, match=r"blocks text, line 1: a: 'x' of <a> must be a number .* got '1m'; no units$"
    ):
        xml.read_xml("<a x='1m'/>", "blocks", lambda text: "; no units").number("x", "a")


@pytest.mark.parametrize("head", ["", "robot", "<", "< robot>", "<?xml", "<!-- robot", "<!DOCTYPE robot>", "<1/>"])
def test_texts_without_a_first_element(head):
    assert xml.root_tag(head) == ""


def test_a_file_that_exists_keeps_its_format(tmp_path):
    path, arm = tmp_path / "arm.xml", robots.two_link().with_gravity((0, 0, -9.81))
    save(arm, path)
    assert format_of(path).name == "URDF"
    save(arm, path, format="MJCF")
    save(load(path), path)
    assert format_of(path).name == "MJCF"
    assert load(path).joint_names == arm.joint_names
    path.write_text("nothing")
    save(arm, path)
    assert format_of(path).name == "URDF"


def test_save(tmp_path):
    for name in ("arm.par", "ARM.PAR"):
        save(robots.four_bar(), tmp_path / name)
        assert load(str(tmp_path / name)).loops == robots.four_bar().loops
    for path, message in (
        (
            tmp_path / "arm.step",
            r"robots are written as URDF \(\.urdf, \.xml\), MJCF \(\.mjcf, \.xml\), SYMORO\+ \(\.par\); give the file",
        ),
        ("arm", r"'arm': robots are written as"),
        (tmp_path / "no" / "arm.par", "cannot be written: No such file"),
    ):
        with pytest.raises(FormatError, match=message):
            save(robots.rx90(), path)
    with pytest.raises(FormatError, match="not a translation one"):
        save(robots.delta(), tmp_path / "delta.par")
    assert not (tmp_path / "delta.par").exists()
