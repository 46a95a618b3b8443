"""SYMORO+ files that are not there, broken, or mean harm."""

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import neuler
from neuler import Robot, robots
from neuler.errors import FormatError, NeulerError
from neuler.formats import load
from neuler.formats.par import read, write
from neuler.formats.par_text import MAX_BYTES
from par_files import BODY, SR400, SR400_VALUES, dynamics, one, table
from work import calls


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
        (tmp_path / "big.par", "has 4,194,305 bytes, the limit is 4,194,304"),
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
        ('neuler coupling {"joint": "joint3", "of": 3}', "the remark on a coupling cannot be used"),
        ('neuler coupling {"joint": "joint3", "of": ["joint2", 3]}', "names of joints are expected"),
        (
            'neuler coupling {"joint": "joint3", "of": "joint2", "ratio": "x"}',
            "the remark on a coupling cannot be used",
        ),
        ('neuler coupling {"joint": "joint3", "of": "joint2", "polynomial": "x"}', "coefficients must be a list of"),
        ('neuler coupling {"joint": "joint3", "of": "joint2", "spline": {"x": [0, 1]}}', "missing 1 required"),
        ('neuler coupling {"joint": "joint3", "of": "joint2", "spline": 3}', "the remark on a coupling cannot be used"),
        ('neuler robot {"notes": [3]}', "notes must be a list of texts"),
        ('neuler robot {"independent": [3]}', "independent must be a list of texts"),
        ('neuler robot {"independent": ["nobody"]}', "has no moving joint 'nobody'"),
        ('neuler robot {"reference": [1, 2]}', "reference must be 8 numbers"),
        ('neuler motor {"name": "m"}', "the remark on a motor cannot be used: a motor needs 'joint'"),
        ('neuler motor {"name": "m", "joint": "joint3", "inertai": 1}', "a remark on a motor has no 'inertai'"),
        ('neuler motor {"name": "m", "joint": "joint3", "inertia": "x"}', "the remark on a motor cannot be used"),
        ('neuler motor {"name": "m", "joint": "joint3", "friction": {"law": "x"}}', "law must be one of coulomb"),
        ('neuler motor {"name": "m", "joint": "joint9"}', "motor 'm': there is no joint 'joint9'"),
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
    work, error = calls(read, text, missing="zero")
    assert isinstance(error, FormatError)
    assert work < 3 * len(text) + 1_000 * 2_000  # linear in the characters, and in the joints of the last


def outcome(source):
    try:
        found = read(source, missing="zero", gravity=(0, 0, 0))
    except NeulerError:
        return
    assert isinstance(found, Robot)
    write(found)


WORDS = ["{", "}", "(*", "*)", "=", ",", "", "0", "-1", "2", "1e308", "nan", "th1", "1/0", "\n", "NL", "\xff", "("]
WORDS += ["helper", "true", '"axis"', "[1, 0, 0]", "null", "neuler joint 3 ", "9" * 30, "is_floating = 1\n", "\ud800"]
edit = st.tuples(st.integers(0, len(GOOD)), st.integers(0, 30), st.one_of(st.sampled_from(WORDS), st.text(max_size=6)))


edited = given(st.lists(edit, min_size=1, max_size=4))


def mutated(edits):
    text = GOOD
    for start, length, new in edits:
        text = text[:start] + new + text[start + length :]
    outcome(text)


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@edited
@example([])
def test_mutated_files_are_read_or_refused(edits):
    mutated(edits)


@pytest.mark.slow
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@edited
def test_many_mutated_files_are_read_or_refused(edits):
    mutated(edits)


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=100) | st.text(max_size=60).map(lambda text: "NL = " + text + "\n"))
def test_random_bytes_are_refused(data):
    outcome(data)


@settings(max_examples=150, deadline=None)
@given(st.text(alphabet="0123456789.+-*/^()eELpisqrtan, ", min_size=1, max_size=30))
def test_random_expressions_are_worth_something_or_refused(text):
    outcome(one(d=text.replace(",", "")))
