"""``neuler export``: files by language, flags that do not go together, hostile names."""

import subprocess

import pytest

import neuler
from c_code import compilers
from neuler.cli import main


@pytest.mark.parametrize(
    ("flags", "files"),
    [
        ([], ["CMakeLists.txt", *(f"two_link_inverse_dynamics{end}" for end in (".c", ".h", "_test.c"))]),
        (["--lang", "object", "--target", "cortex-m7"], ["two_link_inverse_dynamics.h", "two_link_inverse_dynamics.o"]),
        (["--lang", "python"], ["two_link_inverse_dynamics.py"]),
        (["--lang", "numpy", "--name", "torque"], ["torque.py"]),
        (["--lang", "latex", "--option", "parameters=links"], ["two_link_inverse_dynamics_links.tex"]),
        (["--lang", "sympy"], ["two_link_inverse_dynamics_sympy.py"]),
    ],
)  # fmt: skip
def test_files(flags, files, tmp_path, capsys):
    assert main(["export", "inverse_dynamics", "two_link", *flags, "-o", str(tmp_path / "out")]) == 0
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == files
    assert all(name in capsys.readouterr().out for name in files[:1])


def test_a_step_compiles_and_agrees(tmp_path):
    assert main(["export", "step", "puma560", "--dt", "0.001", "--method", "euler", "-o", str(tmp_path)]) == 0
    first = compilers()[next(iter(compilers()))]
    sources = [tmp_path / "puma560_step_test.c", tmp_path / "puma560_step.c"]
    subprocess.run([*first, "-O1", "-o", tmp_path / "t", *sources, "-lm"], check=True)
    assert "50 steps agree" in subprocess.run([tmp_path / "t"], capture_output=True, text=True, check=True).stdout


def test_on_standard_output(capsys):
    assert (
        main(["export", "gravity_force", "two_link", "--option", "parameters=gravity", "--lang", "latex", "-o", "-"])
        == 0
    )
    out = capsys.readouterr().out
    assert out.startswith("% Written by neuler")
    assert "\n\\begin{align}\n" in out


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["inverse_dynamic", "two_link"], "did you mean 'inverse_dynamics'"),
        (["inverse_dynamics", "two_lin"], "neither a file nor a robot of the catalogue"),
        (["inverse_dynamics", "two_link", "--target", "aarch64"], "--target is for --lang object, not for c"),
        (["inverse_dynamics", "two_link", "--lang", "python", "--batch"], "--batch is for --lang c"),
        (["inverse_dynamics", "two_link", "--lang", "python", "--dtype", "float32"], "is for --lang c and object"),
        (["inverse_dynamics", "two_link", "--lang", "object", "--target", "cortex-m77"], "did you mean 'cortex-m7'"),
        (["inverse_dynamics", "two_link", "--dt", "0.1"], "--dt is for the quantity step"),
        (["inverse_dynamics", "two_link", "--name", "a b"], "letters, digits"),
        (["inverse_dynamics", "two_link", "--option", "x=1"], "unknown option 'x'"),
        (["inverse_dynamics", "two_link", "--option", "dtype=float32"], "there is a flag for it, --dtype"),
        (["step", "two_link", "--dt", "0.1", "--option", "method=euler"], "there is a flag for it, --method"),
        (["step", "two_link", "--dt", "0.1", "--option", "foo=1"], "no option 'foo'"),
        (["inverse_dynamics", "two_link", "--lang", "object", "--target", ""], "there is no target ''"),
        (["step", "two_link"], "needs --dt"),
        (["step", "two_link", "--dt", "-1"], "above zero"),
        (["step", "two_link", "--dt", "0.1", "--lang", "python"], "is written as C99"),
    ],
)
def test_what_is_refused(flags, said, tmp_path, capsys):
    assert main(["export", *flags, "-o", str(tmp_path / "out")]) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_file_in_the_place_of_the_folder(tmp_path, capsys):
    (tmp_path / "out").write_text("")
    assert main(["export", "mass_matrix", "two_link", "-o", str(tmp_path / "out")]) == 2
    assert "is a file: give a folder" in capsys.readouterr().err


def test_an_object_file_is_not_printed(capsys):
    assert main(["export", "mass_matrix", "two_link", "--lang", "object", "-o", "-"]) == 2
    assert "give a folder" in capsys.readouterr().err


def test_a_urdf_with_hostile_names(tmp_path):
    text = (
        '<robot name="a*/ #error"><link name="l&quot;0"/><link name="l*/1"><inertial><mass value="1"/>'
        '<origin xyz="0.1 0 0"/><inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        '<joint name="j */ int x; /*" type="continuous"><parent link="l&quot;0"/><child link="l*/1"/>'
        '<axis xyz="0 0 1"/></joint></robot>'
    )
    path = tmp_path / "arm.urdf"
    path.write_text(text)
    assert neuler.load(path).nq == 1
    assert main(["export", "forward_dynamics", str(path), "-o", str(tmp_path / "out")]) == 0
    first = compilers()[next(iter(compilers()))]
    sources = sorted((tmp_path / "out").glob("*.c"))
    subprocess.run([*first, "-Wall", "-Werror", "-o", tmp_path / "t", *sources, "-lm"], check=True)
    subprocess.run([tmp_path / "t"], check=True)


def test_no_folder(capsys):
    assert main(["export", "mass_matrix", "two_link", "-o", ""]) == 2
    assert "-o needs a folder" in capsys.readouterr().err
