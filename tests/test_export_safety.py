"""Exported files: names that would be code, flags that would make it wrong, files of others, honest tests."""

import dataclasses
import pickle
import subprocess

import numpy as np
import pytest

import neuler
from c_code import compilers, ran
from neuler.cli import main
from neuler.control import GravityPD
from neuler.export.compilers import find_compiler
from neuler.math import exp, sin, where
from neuler.robot.joint import Limits
from neuler.view import live


def test_long_names_are_checked_too():
    kernel = neuler.robots.two_link().inverse_dynamics
    for name in ("a" * 61 + "(void);int x", "../" * 21 + "evil", "a" * 70 + " b", "a" * 61 + "\n"):
        with pytest.raises(neuler.InputError, match="will do"):
            kernel.c(name)
        with pytest.raises(neuler.InputError, match="will do"):
            neuler.robots.two_link().step_c(1e-3, name=name)
    assert kernel.c("a" * 70).name == "a" * 70


def test_names_of_frames_are_no_code(tmp_path):
    pytest.importorskip("casadi")
    mark = tmp_path / "made"
    evil = f't"}}; extern int system(const char*); system("touch {mark}"); static const char *const other[] = {{"'
    robot = neuler.robots.two_link().with_frame(evil, "link2")
    kernel = robot.compile("inverse_dynamics", external=evil)
    slow, quick = kernel.casadi("f"), kernel.casadi("f", external=True)
    assert not mark.exists()
    assert slow.name_in() == quick.name_in()
    assert slow.name_out() == quick.name_out()


def test_comments_have_no_trigraphs():
    robot = dataclasses.replace(neuler.robots.two_link(), name="a" * 200 + "??/")
    assert "??" not in robot.mass_matrix.c("m").header


@pytest.mark.parametrize("flag", ["-ffast-math", "-Ofast", "-funsafe-math-optimizations"])
def test_flags_that_make_sines_wrong_are_refused(flag, tmp_path):
    """Or have no effect on them: compilers that let a source forbid it."""
    code = neuler.robots.two_link().inverse_dynamics.c()
    code.save(tmp_path)
    sources = [tmp_path / f"{code.name}.c", tmp_path / f"{code.name}_test.c"]
    done = subprocess.run(
        [*find_compiler(), "-O2", flag, "-o", tmp_path / "t", *sources, "-lm"], capture_output=True, text=True
    )
    if done.returncode:
        assert "sines would be wrong" in done.stderr
    else:
        assert subprocess.run([tmp_path / "t"]).returncode == 0


def test_files_of_others_stay(tmp_path):
    own = tmp_path / "CMakeLists.txt"
    own.write_text("# my own project")
    code = neuler.robots.two_link().mass_matrix.c()
    with pytest.raises(neuler.InputError, match=r"has CMakeLists\.txt already, not written by neuler"):
        code.save(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["CMakeLists.txt"]
    own.unlink()
    code.save(tmp_path)
    code.save(tmp_path)  # once more: its own
    with pytest.raises(neuler.InputError, match=r"NAME_test\.c is the test of NAME"):
        neuler.robots.two_link().mass_matrix.c("m_test")
    with pytest.raises(neuler.InputError, match="cannot be written"):
        code.save(tmp_path / "CMakeLists.txt" / "inside")
    with pytest.raises(neuler.InputError, match="give a folder, got None"):
        code.save(None)
    with pytest.raises(neuler.InputError, match="batch must be True or False"):
        neuler.robots.two_link().mass_matrix.c(batch="no")


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("quantity", ["closure", "integrate"])
def test_tests_of_what_cancels(quantity, dtype, tmp_path):
    """Residuals are nothing but rounding; states whose loops are open would compare NaN with NaN."""
    code = neuler.robots.four_bar().compile(quantity).c(dtype=dtype)
    assert ran(code, tmp_path, None, "-DNEULER_NO_FMA").returncode == 0
    if dtype == "float64":
        assert "NaN" not in code.test


def test_a_law_knows_its_robot(tmp_path):
    law = GravityPD(neuler.robots.four_bar(), kp=10.0, kd=1.0, period=1e-3).function()
    code = law.c()
    assert code.name == "four_bar_gravity_pd"
    assert "GravityPD of the robot 'four_bar', to be called every 0.001 s" in code.header
    assert "(N m)" in code.header
    assert "NaN" not in code.test
    again = pickle.loads(pickle.dumps(law))
    assert again.c().header == code.header


def test_headers_name_rows_and_columns():
    robot = neuler.robots.two_link()
    poses, reactions, regressor = (
        getattr(robot, x).c().header for x in ("link_poses", "reaction_wrenches", "regressor")
    )
    assert "[i][.][.] base, link1, link2" in poses
    assert "[.][i] force x, y, z (N), moment x, y, z (N m)" in reactions
    assert "link2.mx" in regressor
    assert "(J)" in robot.compile("energy_regressor").c().header
    four = neuler.robots.puma560().compile("link_poses", frame="link6").c().header
    assert "[i]" not in four.split("#ifndef")[0]


def test_object_files_hold_what_their_header_declares(tmp_path):
    f = neuler.function(lambda x: [x[0] * x[1], sin(x[2])], {"x": 3}, "y", name="ff").jacobian("x", sparse=True)
    (tmp_path / "ff_jacobian.h").write_text(f.object_header())
    (tmp_path / "ff.o").write_bytes(f.object_file("x86_64"))
    (tmp_path / "main.c").write_text(
        '#include "ff_jacobian.h"\n'
        "int main(void) { return ff_jacobian_dy_dx_row[2] != 1 || ff_jacobian_dy_dx_column[2] != 2; }\n"
    )
    command = next(iter(compilers().values()))
    subprocess.run(
        [*command, "-o", tmp_path / "t", tmp_path / "main.c", tmp_path / "ff.o", "-lm"], check=True, capture_output=True
    )
    assert subprocess.run([tmp_path / "t"]).returncode == 0


def test_whole_powers_of_any_size():
    f = neuler.function(lambda x: x**200.0 + x**-31.0, {"x": ()}, name="p")
    assert f(-2.0) == 2.0**200 - 2.0**-31
    space = {}
    exec(f.python(), space)
    assert space["p"](-2.0) == f(-2.0)
    g = neuler.function(lambda x: x**0.3 + x**-2.7, {"x": ()}, name="p")
    for numpy in (False, True):
        exec(g.python(numpy=numpy), space)
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal([float(space["p"](x)) for x in (-1.0, 0.0)], [np.nan, np.inf])


def test_letters_of_outputs_are_their_own():
    pytest.importorskip("sympy")
    f = neuler.function(lambda q: (exp(q[1]) + sin(q[0]) * exp(q[1]) ** 2) * np.ones(2), {"q": 2}, "v", name="f")
    lines = f.sympy().formulas()
    assert len({line.split(" = ")[0] for line in lines}) == len(lines)
    g = neuler.function(lambda A, x: A @ x, {"A": (2, 2), "x": 2}, "y", name="g")
    assert r"y_{2} = A_{2 1}\,x_{1} + A_{2 2}\,x_{2}" in g.sympy().formulas()
    with pytest.raises(neuler.InputError, match="the constant NaN"):
        neuler.function(lambda x: where(x > 0, np.nan, 1.0), {"x": ()}, name="h").sympy()


def test_exactness_is_claimed_in_double_precision_alone():
    code = neuler.robots.two_link().inverse_dynamics.c(dtype="float32")
    assert "bits of neuler's own" not in code.header


def test_robots_that_are_called_like_words_of_c():
    robot = dataclasses.replace(neuler.robots.two_link(), name="int")
    assert robot.fmu(platforms=()).name == "int_robot"
    assert robot.step_c(1e-3).name == "int_step"
    assert dataclasses.replace(robot, name="a" * 90).fmu(platforms=()).name == "a" * 55


def test_javascript_keeps_short_names():
    f = neuler.function(lambda m, k, count: m * k + count, {"m": (), "k": (), "count": ()}, "n", name="spring")
    types = f.wasm().types
    assert "m: Numbers, k: Numbers, count: Numbers" in types
    assert "m_2" in f.c().header


def test_sources_of_a_unit_from_the_shell(tmp_path):
    assert main(["export", "fmu", "two_link", "--option", "platforms=none", "-o", str(tmp_path / "arm.fmu")]) == 0
    assert (tmp_path / "arm.fmu").stat().st_size > 1000


def test_sliders_go_to_the_joints_limits():
    slide = neuler.Joint("slide", "prismatic", "base", "cart", axis=(1, 0, 0), limits=Limits(lower=0.0, upper=10.0))
    robot = neuler.Robot("gantry", [neuler.Link("base"), neuler.Link("cart", 1.0)], [slide])
    (row,) = live._rows(robot)
    assert (row["lower"], row["upper"]) == (0.0, 10.0)
