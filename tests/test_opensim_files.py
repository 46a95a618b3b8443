"""OpenSim's storage files: what is written comes back, files of other programs are read, broken ones are named."""

import numpy as np
import pytest

from neuler import FormatError
from neuler.files.opensim import read_storage, write_storage

OTHERS = """Coordinates
version=1
nRows=3
nColumns=3
inDegrees=yes

Units are S.I. units (second, meters, Newtons, ...)
Angles are in degrees.

endheader
time\tpelvis_tx\tknee_angle_r
      0.00000000\t      0.10000000\t      5.00000000
      0.01000000\t      0.11000000\t      5.50000000
      0.02000000\t      0.12000000\t     -6.25000000
"""
"""As OpenSim's inverse kinematics writes it."""
SIMM = (
    "walk.mot\nname walk.mot\ndatacolumns 2\ndatarows 2\nrange 0 0.01\nendheader\n\ntime hip_flexion_r\n0 1\n0.01 2\n"
)
THIRD = "DataType=double\nversion=3\nOpenSimVersion=4.6\nendheader\ntime\tforce\n0\t1e3\n1\t-2.5\n"


def file(tmp_path, text, name="walk.mot"):
    path = tmp_path / name
    path.write_text(text)
    return path


def test_numbers_come_back_to_the_last_bit(tmp_path):
    random = np.random.default_rng(0)
    columns = {
        "time": np.arange(7) / 3.0,
        "a_r": random.normal(size=7) * 1e-9,
        "b": np.array([1e300, np.nan, *range(5)]),
    }
    for suffix in ("mot", "sto"):
        write_storage(tmp_path / f"x.{suffix}", columns, in_degrees=False, name="some walk")
        found = read_storage(tmp_path / f"x.{suffix}")
        assert found.in_degrees is False
        assert found.name == "some walk"
        assert list(found.columns) == list(columns)
        for name, values in columns.items():
            np.testing.assert_array_equal(found.columns[name], values)
        assert found.header == {"version": "1", "nrows": "7", "ncolumns": "3", "indegrees": "no"}


def test_files_of_other_programs(tmp_path):
    found = read_storage(file(tmp_path, OTHERS))
    assert found.in_degrees is True
    assert found.name == "Coordinates"
    assert found.columns["knee_angle_r"].tolist() == [5.0, 5.5, -6.25]
    old = read_storage(file(tmp_path, SIMM))
    assert old.in_degrees is None
    assert old.columns["hip_flexion_r"].tolist() == [1.0, 2.0]
    third = read_storage(file(tmp_path, THIRD.replace("\n", "\r\n"), "x.sto"))
    assert third.in_degrees is None
    assert third.columns["force"].tolist() == [1e3, -2.5]
    assert third.name == ""


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("endheader", "header ends"), "a line 'endheader' must end its header"),
        (("nRows=3", "nRows=4"), "the header says 4 rows, and 3 follow"),
        (("nColumns=3", "nColumns=2"), "the header says 2 columns, and 3 follow"),
        (("inDegrees=yes", "inDegrees=perhaps"), "inDegrees must be one of 'yes', 'no', got 'perhaps'"),
        (("time\t", "t\t"), "the first column must be 'time', got 't'"),
        (("knee_angle_r", "pelvis_tx"), "two columns are called 'pelvis_tx'"),
        (("      5.50000000", ""), "row 2 has 2 numbers under 3 names"),
        (("5.50000000", "much"), "row 2: could not convert string to float: 'much'"),
        (("version=1", "DataType=Vec3"), "DataType=Vec3 is not read"),
    ],
)
def test_broken_files_are_named(tmp_path, change, message):
    with pytest.raises(FormatError, match=message) as caught:
        read_storage(file(tmp_path, OTHERS.replace(*change)))
    assert "walk.mot" in str(caught.value)


def test_files_without_numbers_are_named(tmp_path):
    with pytest.raises(FormatError, match="must follow 'endheader'"):
        read_storage(file(tmp_path, "x\nendheader\ntime\ta\n"))
    with pytest.raises(FormatError, match="cannot be read as text"):
        read_storage(tmp_path / "nothing.mot")
    (tmp_path / "bytes.sto").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(FormatError, match="cannot be read as text"):
        read_storage(tmp_path / "bytes.sto")


@pytest.mark.parametrize(
    ("columns", "more", "message"),
    [
        ({"a": [0.0]}, {}, "the first column must be 'time'"),
        ({"time": [0.0, 1.0], "a": [0.0]}, {}, "column 'a' must have one number for each row"),
        ({"time": [0.0], "a\tb": [0.0]}, {}, "cannot be the name of a column"),
        ({"time": [0.0]}, {"name": "a=b"}, "would be read as a part of the header"),
    ],
)
def test_what_cannot_be_written_is_refused_before_a_file_appears(tmp_path, columns, more, message):
    with pytest.raises(FormatError, match=message):
        write_storage(tmp_path / "x.sto", columns, in_degrees=True, **more)
    assert not list(tmp_path.iterdir())
    with pytest.raises(FormatError, match=r"ends in \.mot or \.sto"):
        write_storage(tmp_path / "x.txt", {"time": [0.0]}, in_degrees=True)
