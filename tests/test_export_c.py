"""C99: what compilers say of it, and the bits of its results beside the kernel's."""

import math
import platform
import shutil
import subprocess
import sys

import numpy as np
import pytest

import neuler
from c_code import STRICT, called, compiled, compilers, expected, fused, in_columns, ran, same
from neuler.export.c99 import code as c99
from neuler.export.names import comment, identifier
from neuler.robots import names as catalogue
from random_robots import real_files

COUNT = 40


def states_of(kernel, scale=1.0):
    found = kernel._sample_states(COUNT)
    return {name: values if name.startswith("q_") or name == "q" else scale * values for name, values in found.items()}


def test_there_is_a_compiler():
    assert "zig" in compilers()


EVERYDAY = [
    ("puma560", "inverse_dynamics", {}),
    ("puma560", "forward_dynamics", {}),
    ("four_bar", "forward_dynamics", {}),
    ("stanford", "energy", {}),
    ("two_link", "link_poses", {}),
    ("two_link", "inverse_dynamics", {"parameters": "links"}),
    ("rx90", "regressor", {"sparse": True}),
    ("two_link", "jacobian", {"frame": "link2"}),
]


@pytest.mark.parametrize(("robot", "quantity", "options"), EVERYDAY)
def test_the_bits_of_the_kernel(robot, quantity, options, tmp_path):
    kernel = neuler.robots.get(robot).compile(quantity, **options)
    code = kernel.c()
    library = compiled(code, tmp_path)
    states = states_of(kernel)
    same(called(library, code.name, kernel, states), expected(kernel, states))


@pytest.mark.slow
@pytest.mark.parametrize("compiler", compilers())
@pytest.mark.parametrize("robot", catalogue())
def test_the_bits_of_every_robot(robot, compiler, tmp_path):
    machine = neuler.robots.get(robot)
    for quantity in ("inverse_dynamics", "forward_dynamics", "mass_matrix", "link_poses", "energy"):
        kernel = machine.compile(quantity)
        code = kernel.c()
        library = compiled(code, tmp_path, compiler)
        states = states_of(kernel)
        same(called(library, code.name, kernel, states), expected(kernel, states))


STEMS = (
    "ur5_robot", "panda", "human", "g1_29dof_rev_1_0", "talos_reduced", "kinova", "a1", "simple_humanoid", "solo12",
    "anymal", "tiago_no_hand", "baxter",
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("path", [path for path in real_files() if path.stem in STEMS], ids=lambda path: path.stem)
def test_the_bits_of_urdfs(path, tmp_path):
    robot = neuler.load(path, mimic="independent", floating="fixed")
    for quantity in ("inverse_dynamics", "forward_dynamics"):
        kernel = robot.compile(quantity)
        code = kernel.c()
        states = states_of(kernel)
        same(called(compiled(code, tmp_path), code.name, kernel, states), expected(kernel, states))


@pytest.mark.parametrize("compiler", [name for name in compilers() if name != next(iter(compilers()))])
def test_every_compiler(compiler, tmp_path):
    kernel = neuler.robots.rx90().inverse_dynamics
    code = kernel.c()
    states = states_of(kernel)
    same(called(compiled(code, tmp_path, compiler), code.name, kernel, states), expected(kernel, states))


def test_the_test_that_comes_along(tmp_path):
    """It agrees; and where the source is changed it does not."""
    code = neuler.robots.puma560().forward_dynamics.c()
    done = ran(code, tmp_path)
    assert done.returncode == 0
    assert "all 6 states agree" in done.stdout
    source = tmp_path / f"{code.name}.c"
    assert "qdd[3] = v" in code.source
    source.write_text(code.source.replace("qdd[3] = v", "qdd[3] = -v"))
    first = compilers()[next(iter(compilers()))]
    subprocess.run([*first, "-o", tmp_path / "t", tmp_path / f"{code.name}_test.c", source, "-lm"], check=True)
    done = subprocess.run([tmp_path / "t"], capture_output=True, text=True)
    assert done.returncode == 1
    assert "expected" in done.stdout


@pytest.mark.parametrize("robot", ["puma560", "gough_stewart"])
def test_in_pieces(robot, tmp_path, monkeypatch):
    """Long functions over scratch: the same bits."""
    monkeypatch.setattr(c99, "WHOLE", 50)
    kernel = neuler.robots.get(robot).inverse_dynamics
    code = kernel.c()
    assert "    double m[" in code.source
    states = states_of(kernel)
    same(called(compiled(code, tmp_path), code.name, kernel, states), expected(kernel, states))


@pytest.mark.parametrize("scale", [1.0, 100.0, 1e8, 1e16, math.inf, math.nan])
def test_angles_of_any_size(scale, tmp_path):
    """Up to 1e15 the bits of the kernel; beyond by the C library; one by one and in columns."""
    kernel = neuler.robots.rx90().gravity_force
    code = kernel.c(batch=True)
    library = compiled(code, tmp_path)
    q = np.random.default_rng(0).normal(size=(150, 6))
    q[::7] *= scale
    with np.errstate(invalid="ignore"):
        wanted = expected(kernel, {"q": q})
    found = called(library, code.name, kernel, {"q": q})
    if scale <= 1e8:
        same(found, wanted)
    np.testing.assert_allclose(found[0], wanted[0], rtol=1e-12, atol=1e-12 * np.nanmax(np.abs(wanted[0])))
    np.testing.assert_array_equal(in_columns(library, code.name, kernel, {"q": q})[0], found[0])


def test_columns_have_the_same_bits(tmp_path):
    """Compiled for speed, so that the loop is vectorised."""
    kernel = neuler.robots.puma560().forward_dynamics
    code = kernel.c(batch=True)
    states = states_of(kernel)
    same(in_columns(compiled(code, tmp_path, None, "-O3"), code.name, kernel, states), expected(kernel, states))


def test_without_sines_of_the_c_library(tmp_path):
    kernel = neuler.robots.rx90().gravity_force
    code = kernel.c(far="nan", batch=True)
    assert " sin(" not in code.source
    assert " cos(" not in code.source
    library = compiled(code, tmp_path)
    q = np.zeros((3, 6))
    q[1, 1], q[2, 2] = 1e16, 0.3
    found = called(library, code.name, kernel, {"q": q})[0]
    assert np.isnan(found[1]).any()
    same([found[[0, 2]]], [expected(kernel, {"q": q})[0][[0, 2]]])
    np.testing.assert_array_equal(in_columns(library, code.name, kernel, {"q": q})[0], found)


def test_machines_that_do_not_fuse(tmp_path):
    kernel = neuler.robots.puma560().inverse_dynamics
    code = kernel.c()
    library = compiled(code, tmp_path, None, "-DNEULER_NO_FMA")
    states = states_of(kernel)
    states["q"] = 1e3 * states["q"]
    (found,), (wanted,) = called(library, code.name, kernel, states), expected(kernel, states)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-13 * np.abs(wanted).max())


@pytest.mark.parametrize("scale", [1.0, 100.0, 5000.0, 1e6])
@pytest.mark.parametrize("flags", [(), ("-DNEULER_NO_FMA",)])
def test_single_precision(scale, flags, tmp_path):
    kernel = neuler.robots.rx90().gravity_force
    code = kernel.c(dtype="float32")
    library = compiled(code, tmp_path, None, "-Wdouble-promotion", *flags)
    q = (scale * np.random.default_rng(1).normal(size=(COUNT, 6))).astype(np.float32)
    (found,) = called(library, code.name, kernel, {"q": q}, np.float32)
    (wanted,) = expected(kernel, {"q": q.astype(float)})
    assert np.abs(found - wanted).max() < 2e-6 * np.abs(wanted).max()
    assert ran(neuler.robots.puma560().forward_dynamics.c(dtype="float32"), tmp_path).returncode == 0


# ---- functions of users -------------------------------------------------------------------------------------------


def everything(x, y):
    m = neuler.math
    return np.array([
        m.exp(x), m.log(y), m.tanh(x), m.arctan2(x, y), m.power(y, 1.5), m.minimum(x, y), m.maximum(x, y), abs(x),
        m.where(m.less(x, y), x, y), m.less_equal(x, y), m.sign(x), m.sqrt(y), x / y, m.power(y, x),
    ])  # fmt: skip


ODD = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 1e-310, -3.7, 700.0, 1e300, -1e300, math.inf, -math.inf, math.nan]


def test_every_operation(tmp_path):
    """Within two units in the last place; special values alike."""
    f = neuler.function(everything, {"x": (), "y": ()})
    code = f.c()
    library = compiled(code, tmp_path)
    pairs = np.array([(x, y) for x in ODD for y in ODD] + np.random.default_rng(0).normal(size=(200, 2)).tolist())
    states = {"x": pairs[:, 0], "y": pairs[:, 1]}
    with np.errstate(all="ignore"):
        (wanted,) = expected(f, states)
    (found,) = called(library, code.name, f, states)
    assert (np.isnan(found) == np.isnan(wanted)).all()
    good = np.isfinite(wanted)
    assert (found[~good & ~np.isnan(wanted)] == wanted[~good & ~np.isnan(wanted)]).all()
    room = 2.0 * np.spacing(np.abs(wanted[good]))
    assert (np.abs(found[good] - wanted[good]) <= room).all()


def test_lone_numbers_and_matrices(tmp_path):
    f = neuler.function(
        lambda t, A: {"energy": t * A[0, 1], "B": A.T * 2.0, "c": 3.0}, {"t": (), "A": (2, 3)}, name="mix"
    )
    code = f.c()
    head = " ".join(code.header.split("void mix(")[1].split(");")[0].split())
    assert head == (
        "double t, const double *NEULER_RESTRICT A, double *NEULER_RESTRICT energy, double *NEULER_RESTRICT B, "
        "double *NEULER_RESTRICT c"
    )
    states = {"t": np.array([2.0, 3.0]), "A": np.arange(12.0).reshape(2, 2, 3)}
    same(called(compiled(code, tmp_path), "mix", f, states), expected(f, states))


def test_derivatives(tmp_path):
    f = neuler.function(lambda x, u: np.sin(x) * u, {"x": 2, "u": ()}).jacobian(sparse=True)
    code = f.c()
    library = compiled(code, tmp_path)
    states = f._sample_states(5)
    same(called(library, code.name, f, states), expected(f, states))
    rows = f.structure["dy"][0] if "dy" in f.structure else next(iter(f.structure.values()))[0]
    assert f"[{len(rows)}]" in code.header


def test_outputs_that_are_called_like_inputs(tmp_path):
    """What comes of q is called q_next; here in C, the other worlds beside it."""
    robot = neuler.robots.two_link().with_free_base()
    kernel = robot.integrate
    code = kernel.c(batch=True)
    library = compiled(code, tmp_path)
    states = states_of(kernel)
    same(called(library, code.name, kernel, states), expected(kernel, states))
    same(in_columns(library, code.name, kernel, states), expected(kernel, states))
    assert "*NEULER_RESTRICT q_next);" in " ".join(code.header.split())
    assert "q_next" in kernel.python()
    assert "q_next" in kernel.object_header()
    assert kernel.casadi().name_out() == ["q_next"]
    assert "q\\_next" in neuler.robots.two_link().integrate.latex()


@pytest.mark.slow
def test_reference_values_of_the_precision(tmp_path):
    """Single precision gives NaN at one of these states of a human, and the test beside the code knows it."""
    assert ran(neuler.robots.human().forward_dynamics.c(dtype="float32"), tmp_path).returncode == 0


# ---- names --------------------------------------------------------------------------------------------------------

HOSTILE = [
    "a */ int main(void) { return 7; } /*",
    'x"; system("true"); //',
    "été\\",
    "a\n#error no",
    "??/",
    "double",
    "2",
]


@pytest.mark.parametrize("name", HOSTILE)
def test_names_break_out_of_nothing(name, tmp_path):
    robot = neuler.robots.two_link()
    links = [robot.links[0], neuler.Link(name, 1.0, (0.1, 0, 0), (0, 0, 0.1, 0, 0, 0))]
    joint = neuler.Joint(f"{name} joint", "revolute", links[0].name, name, axis=(0, 0, 1))
    code = neuler.Robot(name, links, [joint]).inverse_dynamics.c()
    assert ran(code, tmp_path).returncode == 0
    assert identifier(code.name) == code.name


def test_names_that_are_refused():
    kernel = neuler.robots.two_link().inverse_dynamics
    for name in ("a b", "", "2x", "int", "x-y", "__x"):
        with pytest.raises(neuler.InputError, match="letters, digits"):
            kernel.c(name)
    with pytest.raises(neuler.InputError, match="far must be one of"):
        kernel.c(far="never")
    with pytest.raises(neuler.InputError, match="dtype must be one of"):
        kernel.c(dtype="float16")


def test_inputs_named_like_the_function_or_the_library(tmp_path):
    f = neuler.function(
        lambda sin, f, m, count: sin * f[0] + m + count, {"sin": (), "f": 1, "m": (), "count": ()}, name="f"
    )
    code = f.c(batch=True)
    states = f._sample_states(5)
    library = compiled(code, tmp_path)
    same(called(library, "f", f, states), expected(f, states))
    same(in_columns(library, "f", f, states), expected(f, states))


def test_comments_end_nowhere():
    assert comment("a */ b\n/* c") == "a * / b / * c"


def test_files_go_where_they_may(tmp_path):
    code = neuler.robots.two_link().mass_matrix.c("mass")
    assert {path.name for path in code.save(tmp_path / "new" / "folder")} == {
        "mass.h", "mass.c", "mass_test.c", "CMakeLists.txt",
    }  # fmt: skip
    (tmp_path / "file").write_text("")
    with pytest.raises(neuler.InputError, match="is a file"):
        code.save(tmp_path / "file")


def test_a_batch_of_a_long_function_is_refused(monkeypatch):
    monkeypatch.setattr(c99, "WHOLE", 50)
    with pytest.raises(neuler.InputError, match="at most 50 operations"):
        neuler.robots.puma560().forward_dynamics.c(batch=True)


@pytest.mark.slow
@pytest.mark.skipif("gcc" not in compilers() or sys.platform != "linux", reason="sanitizers are those of gcc on Linux")
@pytest.mark.parametrize("robot", ["puma560", "four_bar", "human"])
def test_nothing_is_undefined(robot, tmp_path):
    for quantity in ("inverse_dynamics", "forward_dynamics"):
        code = neuler.robots.get(robot).compile(quantity).c()
        done = ran(code, tmp_path, "gcc", "-fsanitize=undefined,address", "-fno-sanitize-recover=all", "-g")
        assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_as_cpp(tmp_path):
    """The header and the source are C++ as well, with another word for restrict."""
    if shutil.which("g++") is None:
        pytest.skip("there is no g++")
    code = neuler.robots.puma560().inverse_dynamics.c(batch=True)
    code.save(tmp_path)
    flags = ["-std=c++17", *STRICT[1:], "-c", "-x", "c++", "-o", tmp_path / "o.o"]
    subprocess.run(["g++", *flags, tmp_path / f"{code.name}.c"], check=True)


@pytest.mark.slow
@pytest.mark.skipif(not fused(), reason="bits are compared where the machine fuses")
def test_sensitivities_of_a_large_robot(tmp_path):
    kernel = neuler.robots.human().inverse_dynamics_sensitivities
    code = kernel.c()
    states = {name: values[:3] for name, values in states_of(kernel).items()}
    same(called(compiled(code, tmp_path), code.name, kernel, states), expected(kernel, states))


@pytest.mark.slow
@pytest.mark.skipif("gcc" not in compilers(), reason="gcc says which loops it has vectorised, and is not here")
def test_the_loop_over_columns_is_vectorised(tmp_path):
    code = neuler.robots.rx90().inverse_dynamics.c(batch=True)
    code.save(tmp_path)
    flags = ["-std=c99", "-O3", "-ffp-contract=off", "-mavx2", "-mfma", "-fopt-info-vec", "-c", "-o", tmp_path / "o.o"]
    if platform.machine() not in ("x86_64", "AMD64"):
        pytest.skip("flags of x86-64")
    done = subprocess.run(["gcc", *flags, tmp_path / f"{code.name}.c"], capture_output=True, text=True, check=True)
    assert "loop vectorized using 32 byte vectors" in done.stderr


def test_names_of_the_library_are_refused():
    kernel = neuler.robots.two_link().mass_matrix
    for name in ("acosh", "sinf", "logb", "nan", "strlen", "exit", "FILE", "int8_t", "UINT64_C", "isgreater", "fopen"):
        with pytest.raises(neuler.InputError, match=f"'{name}_' will do"):
            kernel.c(name)


def test_names_that_are_cut_stay_names_and_differ():
    robot = neuler.robots.two_link()
    each = ["link1.mass", "link2.mass", "joint2.placement.x", "link1.mx", "link2.zz", "gravity"]
    lists = [[*each[:k], last] for k in range(5) for last in each[k:]]
    names = {robot.compile("mass_matrix", parameters=chosen).export_name for chosen in lists}
    assert len(names) == len(lists)
    assert all(identifier(name) == name and len(name) <= 60 for name in names)


NATURAL = [
    "y_of",
    "y_of_",
    "error",
    "scale",
    "wrong",
    "FAR_ANGLE",
    "HUGE_VAL",
    "f_sincos",
    "f_near",
    "f_min",
    "np",
    "Matrix",
    "state",
]


@pytest.mark.parametrize("name", NATURAL)
def test_operands_of_any_name(name, tmp_path):
    """What comes along in C, in its test and in Python has other names."""
    f = neuler.function(lambda x: {name: np.sin(x) * 2.0, "y": neuler.math.minimum(x, 1.0)}, {"x": 3}, name="f")
    code = f.c(batch=True)
    assert ran(code, tmp_path).returncode == 0
    g = neuler.function(lambda x: np.sin(x) * 2.0, {name: 3}, name="f")
    assert ran(g.c(), tmp_path).returncode == 0
    for numpy in (False, True):
        space = {}
        exec(g.python("f", numpy=numpy), space)
        np.testing.assert_allclose(space["f"]([0.1, 0.2, 0.3]), g([0.1, 0.2, 0.3]), atol=1e-15)
    exec(g.sympy().code(), {})


@pytest.mark.parametrize("name", ["test", "all", "features", "malloc", "np"])
def test_functions_of_reserved_names(name):
    f = neuler.function(lambda x: x * 2.0, {"x": 1}, name="g")
    with pytest.raises(neuler.InputError, match=f"'{name}_' will do"):
        f.c(name)


def test_names_that_are_too_long():
    f = neuler.function(lambda x: x * 2.0, {"x": 1}, name="g")
    with pytest.raises(neuler.InputError, match="at most 80 letters, got 200"):
        f.c("a" * 200)
    with pytest.raises(neuler.InputError, match="name must be a text"):
        f.c(5)
    robot = neuler.robots.two_link()
    long = neuler.Robot("r" * 100, robot.links, robot.joints)
    names = {long.compile(x).export_name for x in ("inverse_dynamics", "forward_dynamics", "mass_matrix")}
    assert len(names) == 3
    assert all(len(name) <= 60 for name in names)
    options = ({}, {"parameters": "links"}, {"external": ("link2",)})
    assert len({robot.compile("inverse_dynamics", **each).export_name for each in options}) == 3


def test_far_angles_in_columns_whatever_arguments_are_called(tmp_path):
    f = neuler.function(lambda q, q_i: np.sin(q) * q_i, {"q": 2, "q_i": 2}, name="f")
    states = f._sample_states(80)
    states["q"][3, 1] = 1e17
    library = compiled(f.c(batch=True), tmp_path)
    np.testing.assert_array_equal(in_columns(library, "f", f, states)[0], called(library, "f", f, states)[0])


@pytest.mark.parametrize("compiler", [name for name in compilers() if name in ("clang", "zig")][:1])
def test_clang_is_silent_about_loops_that_stay_as_they_are(compiler, tmp_path):
    f = neuler.function(lambda x: neuler.math.exp(x) + neuler.math.arctan2(x, 2.0), {"x": 2})
    compiled(f.c(batch=True), tmp_path, compiler, "-O3")


def test_results_that_are_infinite(tmp_path):
    f = neuler.function(lambda x: np.array([np.nan, np.inf, -np.inf, 0.0, 1.0]) + 0.0 * x, {"x": ()})
    assert ran(f.c(), tmp_path).returncode == 0


def test_headers_claim_bits_where_they_are_equal():
    robot = neuler.robots.two_link()
    assert "have the bits" in robot.inverse_dynamics.c().header
    assert "have the bits" not in robot.inverse_dynamics.c(dtype="float32").header
    assert "have the bits" not in neuler.function(lambda x: neuler.math.exp(x), {"x": 1}).c().header


@pytest.mark.slow
def test_cmake_builds_all_of_a_folder(tmp_path):
    if shutil.which("cmake") is None:
        pytest.skip("there is no cmake")
    robot = neuler.robots.two_link()
    for code in (robot.inverse_dynamics.c(), robot.mass_matrix.c(), robot.step_c(1e-3)):
        code.save(tmp_path / "c")
    subprocess.run(["cmake", "-S", tmp_path / "c", "-B", tmp_path / "b"], check=True, capture_output=True)
    subprocess.run(["cmake", "--build", tmp_path / "b"], check=True, capture_output=True)
    done = subprocess.run(["ctest", "--test-dir", tmp_path / "b"], check=True, capture_output=True, text=True)
    assert "0 tests failed out of 3" in done.stdout
