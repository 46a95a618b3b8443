"""SymPy, LaTeX, Python and CasADi: closed forms of textbooks, agreement with kernels, names."""

import dataclasses
import shutil
import subprocess
import sys

import numpy as np
import pytest

import neuler
from neuler.robots import names as catalogue

sympy = pytest.importorskip("sympy")

PARAMETERS = ["link1.mx", "link1.zz", "link2.mass", "link2.mx", "link2.zz", "joint2.placement.x", "gravity"]


def two_link():
    return neuler.robots.two_link()


def test_the_arm_of_textbooks():
    """Two links in a plane with lengths, masses and inertias as symbols: tau = M qdd + h + g, by simplification."""
    names = {"link1.mx": "mx1", "link1.zz": "zz1", "link2.mass": "m2", "link2.mx": "mx2", "link2.zz": "zz2"}
    names["joint2.placement.x"] = "l1"
    kernel = two_link().compile("inverse_dynamics", parameters=PARAMETERS)
    found = kernel.sympy(names=names)
    mx1, zz1, m2, mx2, zz2, l1 = (sympy.Symbol(name, real=True) for name in ("mx1", "zz1", "m2", "mx2", "zz2", "l1"))
    gx, gy = (sympy.Symbol(name, real=True) for name in ("gravity_x", "gravity_y"))
    (q1, q2), (v1, v2), (a1, a2) = (found.inputs[name] for name in ("q", "qd", "qdd"))
    c2, s2, c12, s12 = sympy.cos(q2), sympy.sin(q2), sympy.cos(q1 + q2), sympy.sin(q1 + q2)
    inertia = sympy.Matrix([
        [zz1 + zz2 + m2 * l1**2 + 2 * l1 * mx2 * c2, zz2 + l1 * mx2 * c2],
        [zz2 + l1 * mx2 * c2, zz2],
    ])  # fmt: skip
    bias = l1 * mx2 * s2 * sympy.Matrix([-2 * v1 * v2 - v2**2, v1**2])
    first = (mx1 + m2 * l1) * (sympy.sin(q1) * gx - sympy.cos(q1) * gy)
    second = mx2 * (s12 * gx - c12 * gy)
    gravity = sympy.Matrix([first + second, second])
    wanted = inertia * sympy.Matrix([a1, a2]) + bias + gravity
    error = (found.expanded()["tau"] - wanted).applyfunc(sympy.simplify)
    assert error == sympy.zeros(2, 1)


def test_lengths_alone_cost_little():
    """A placement's x is one number: no sines of constant angles come with it."""
    plain = two_link().inverse_dynamics.operations
    one = two_link().compile("inverse_dynamics", parameters="joint2.placement.x").operations
    assert one.trig == plain.trig
    assert one.mul <= plain.mul + 4


@pytest.mark.parametrize("part", ["x", "y", "z", "roll", "pitch", "yaw"])
def test_single_numbers_of_a_placement(part):
    robot = neuler.robots.puma560()
    name = f"joint3.placement.{part}"
    kernel = robot.compile("inverse_dynamics", parameters=name)
    states = kernel._sample_states(5)
    np.testing.assert_allclose(kernel(*states.values()), robot.inverse_dynamics(*list(states.values())[:3]), atol=1e-12)
    states["parameters"] += 0.3
    other = robot.with_parameters({name: float(states["parameters"][0, 0])})
    wanted = other.inverse_dynamics(*list(states.values())[:3])
    np.testing.assert_allclose(kernel(*states.values()), wanted, atol=1e-11)


def test_base_parameters_by_their_names():
    """The RX-90's customised model beside SYMORO+'s 287 multiplications and 226 additions."""
    base = neuler.robots.rx90().base_parameters()
    kernel = base.minimal().compile("inverse_dynamics", parameters=base.names)
    assert kernel.operations.mul < 287
    assert kernel.operations.mul + kernel.operations.add < 287 + 226
    found = kernel.sympy(names=base.letters)
    names = {symbol.name for symbol in found.inputs["parameters"]}
    assert names == set(base.letters.values())
    assert {"ZZR1", "MXR2", "MY2"} <= names
    text = kernel.python("rx90", names=base.letters)
    assert "ZZR1" in text
    space = {}
    exec(text, space)
    states = kernel._sample_states(1)
    ours = space["rx90"](*(x[0].tolist() for x in states.values()))
    np.testing.assert_allclose(ours, kernel(*(x[0] for x in states.values())), atol=1e-12)


def test_common_values_have_symoros_names():
    formulas = neuler.robots.rx90().gravity_force.sympy().formulas()
    assert any(line.startswith("s_{2} = ") for line in formulas)
    assert any(line.startswith(("c_{23} = ", "s_{23} = ")) for line in formulas) or any("c_{3}" in x for x in formulas)
    text = neuler.robots.two_link().compile("gravity_force", parameters="gravity").python()
    assert "s_12 = sin(q_1 + q_2)" in text or "s_1 = sin(q_1)" in text


@pytest.mark.parametrize("quantity", ["inverse_dynamics", "mass_matrix", "link_poses", "energy"])
def test_latex_is_read_by_mathtext(quantity):
    mathtext = pytest.importorskip("matplotlib.mathtext")
    parser = mathtext.MathTextParser("path")
    robot = two_link()
    for kernel in (robot.compile(quantity), robot.compile(quantity, parameters=["links", "gravity"])):
        for formula in kernel.sympy().formulas():
            parser.parse(f"${formula}$")
        assert kernel.latex().startswith("\\begin{align}\n")


@pytest.mark.parametrize("name", ["a_b", "50%", "$x$", "\\input{secret}", "{", "été", "a^b~c", "#1"])
def test_names_break_out_of_no_formula(name):
    mathtext = pytest.importorskip("matplotlib.mathtext")
    links = [neuler.Link("base"), neuler.Link(name, 1.0, (0.1, 0, 0), (0, 0, 0.1, 0, 0, 0))]
    robot = neuler.Robot("r", links, [neuler.Joint("j", "revolute", "base", name, axis=(0, 0, 1))])
    found = robot.compile("inverse_dynamics", parameters="links").sympy()
    parser = mathtext.MathTextParser("path")
    for formula in found.formulas():
        parser.parse(f"${formula}$")
        assert "\\input" not in formula
    compile(found.code(), "code", "exec")
    compile(robot.inverse_dynamics.python(), "code", "exec")


def test_the_code_makes_the_same_expressions():
    found = neuler.robots.rx90().mass_matrix.sympy()
    space = {}
    exec(found.code(), space)
    assert space["OUTPUTS"]["mass_matrix"].shape == (6, 6)
    values = {sympy.Symbol(f"q_{k}", real=True): 0.1 * k for k in range(1, 7)}
    known = {}
    for symbol, value in space["COMMON"]:
        known[symbol] = value.subs({**values, **known})
    wanted = neuler.robots.rx90().mass_matrix([0.1 * k for k in range(1, 7)])
    ours = np.array(space["OUTPUTS"]["mass_matrix"].subs({**values, **known}), dtype=float)
    np.testing.assert_allclose(ours, wanted, atol=1e-9)  # numbers are printed with 15 digits


def test_where_there_is_no_sympy(monkeypatch):
    monkeypatch.setitem(sys.modules, "sympy", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name, *more: None)
    with pytest.raises(ImportError, match="pip install sympy"):
        two_link().mass_matrix.sympy()
    with pytest.raises(ImportError, match="pip install casadi"):
        two_link().mass_matrix.casadi()


def test_unknown_names_are_refused():
    kernel = two_link().compile("inverse_dynamics", parameters="links")
    with pytest.raises(neuler.InputError, match=r"'link2\.mas'.*did you mean 'link2.mass'"):
        kernel.sympy(names={"link2.mas": "m2"})
    with pytest.raises(neuler.InputError, match="name parameters alone"):
        kernel.python(names={"joint1": "a"})


# ---- Python -------------------------------------------------------------------------------------------------------

EVERYDAY = ["two_link", "rx90", "four_bar", "stanford", "hua_3r"]


def as_python(robot):
    for quantity in ("inverse_dynamics", "forward_dynamics", "link_poses", "energy"):
        kernel = robot.compile(quantity)
        states = kernel._sample_states(4)
        wanted = kernel(*states.values())
        wanted = [np.asarray(x) for x in (wanted if isinstance(wanted, tuple) else (wanted,))]
        spaces = {}, {}
        exec(kernel.python("f"), spaces[0])
        exec(kernel.python("f", numpy=True), spaces[1])
        plain = [spaces[0]["f"](*(np.ravel(x[k]).tolist() for x in states.values())) for k in range(4)]
        arrays = spaces[1]["f"](*states.values())
        for number, each in enumerate(wanted):
            own = [x[number] if len(wanted) > 1 else x for x in plain]
            both = arrays[number] if len(wanted) > 1 else arrays
            scale = np.abs(each).max()
            np.testing.assert_allclose(np.reshape(own, each.shape), each, rtol=0, atol=1e-11 * scale)
            np.testing.assert_allclose(both, each, rtol=0, atol=1e-11 * scale)


@pytest.mark.parametrize("name", EVERYDAY)
def test_python_agrees(name):
    as_python(neuler.robots.get(name))


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in catalogue() if name not in EVERYDAY])
def test_python_agrees_for_every_robot(name):
    as_python(neuler.robots.get(name))


def test_python_runs_alone(tmp_path):
    """Without neuler and, in the plain variant, without NumPy."""
    path = tmp_path / "torque.py"
    path.write_text(neuler.robots.puma560().inverse_dynamics.python("torque"))
    code = (
        "import sys; sys.modules['numpy'] = None; from torque import torque; print(torque([0.1]*6, [0.2]*6, [0.3]*6))"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, {str(tmp_path)!r}); {code}"],
        capture_output=True,
        text=True,
    )
    assert not done.returncode, done.stderr
    wanted = neuler.robots.puma560().inverse_dynamics(*(np.full(6, x) for x in (0.1, 0.2, 0.3)))
    np.testing.assert_allclose(eval(done.stdout), wanted, atol=1e-12)


def test_constants_have_the_batch_of_the_inputs():
    f = neuler.function(lambda x: np.array([1.0, 2.0]), {"x": 2})
    space = {}
    exec(f.python("f", numpy=True), space)
    assert space["f"](np.zeros((3, 4, 2))).shape == (3, 4, 2)


def test_python_where_a_kernel_is_finite():
    """What is not chosen may divide by zero; exponentials overflow to infinity."""
    m = neuler.math
    f = neuler.function(
        lambda x: np.array([m.where(m.less(0.0, x), 1.0 / x, 0.0), m.exp(x), m.where(m.less(0.0, x), m.log(x), 0.0)]),
        {"x": ()},
    )
    space = {}
    exec(f.python("f"), space)
    with np.errstate(all="ignore"):
        for x in (0.0, 2.0, -1.0, 1000.0, -1000.0):
            np.testing.assert_allclose(space["f"](x), f(x), rtol=1e-15)


def test_outputs_called_like_common_values():
    f = neuler.function(
        lambda q: {"s_1": np.array([np.sin(q[0]) * 2.0, 3.0 * np.sin(q[0])]), "b": np.sin(q[0]) * q[1]}, {"q": 2}
    )
    for numpy in (False, True):
        space = {}
        exec(f.python("f", numpy=numpy), space)
        found = space["f"]([0.3, 0.4])
        np.testing.assert_allclose(found[0], f([0.3, 0.4]).s_1)
        np.testing.assert_allclose(found[1], f([0.3, 0.4]).b)


def test_lone_outputs_have_the_batch():
    f = neuler.function(lambda x, y: {"a": x * 2.0, "b": x * y, "c": 1.0}, {"x": (), "y": ()})
    space = {}
    exec(f.python("f", numpy=True), space)
    assert [x.shape for x in space["f"](1.0, np.zeros(5))] == [(5,), (5,), (5,)]


def test_every_symbol_has_a_letter_of_its_own():
    robot = neuler.robots.two_link()
    renamed = {"link1": "left1", "link2": "right1"}
    links = [dataclasses.replace(link, name=renamed.get(link.name, link.name)) for link in robot.links]
    joints = [
        dataclasses.replace(
            joint, parent=renamed.get(joint.parent, joint.parent), child=renamed.get(joint.child, joint.child)
        )
        for joint in robot.joints
    ]
    found = neuler.Robot("r", links, joints).compile("inverse_dynamics", parameters="links").sympy()
    letters = list(found.letters.values())
    assert len(set(letters)) == len(letters)
    f = neuler.function(lambda v: np.sin(v[0] * v[1]) * (v[0] + v[1]) ** 2, {"v": 2}).sympy()
    assert len(set(f.letters.values())) == len(f.letters)
    kernel = two_link().compile("inverse_dynamics", parameters="links")
    with pytest.raises(neuler.InputError, match="the name 'm' twice"):
        kernel.sympy(names={"link1.mass": "m", "link2.mass": "m"})
    for wrong in (["a"], {"link2.mass": 5}, {"link2.mass": ""}):
        with pytest.raises(neuler.InputError, match="names="):
            kernel.python(names=wrong)


# ---- CasADi -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["two_link", "puma560", "four_bar"])
def test_casadi_agrees(name):
    casadi = pytest.importorskip("casadi")
    robot = neuler.robots.get(name)
    for quantity in ("inverse_dynamics", "forward_dynamics", "mass_matrix", "jacobian"):
        kernel = robot.compile(quantity)
        f = kernel.casadi("f")
        assert isinstance(f, casadi.Function)
        states = [x[0] for x in kernel._sample_states(1).values()]
        wanted = np.asarray(kernel(*states))
        found = np.array(f(*states))
        np.testing.assert_allclose(found.reshape(wanted.shape), wanted, rtol=0, atol=1e-12 * np.abs(wanted).max())


def test_casadis_derivatives():
    """The Jacobian is our sensitivities, the Hessian is theirs by differences of them."""
    casadi = pytest.importorskip("casadi")
    robot = neuler.robots.puma560().without_friction()
    f = robot.inverse_dynamics.casadi("f")
    q, qd, qdd = (casadi.SX.sym(name, 6) for name in ("q", "qd", "qdd"))
    tau = f(q, qd, qdd)
    slopes = casadi.Function("j", [q, qd, qdd], [casadi.jacobian(tau, q)])
    states = [x[0] for x in robot.inverse_dynamics._sample_states(1).values()]
    wanted = robot.inverse_dynamics_sensitivities(*states)
    np.testing.assert_allclose(np.array(slopes(*states)), wanted.dtau_dq, atol=1e-10)
    w = np.arange(1.0, 7.0)
    bends = casadi.Function("h", [q, qd, qdd], [casadi.hessian(casadi.dot(w, tau), q)[0]])
    ours = neuler.function(robot.inverse_dynamics).hessian("q")(*states, weights=w)
    np.testing.assert_allclose(np.array(bends(*states)), ours, atol=1e-9)


def test_zeros_stay_structural():
    pytest.importorskip("casadi")
    f = neuler.robots.two_link().compile("link_poses").casadi("f")
    assert f.sparsity_out(0).nnz() < f.sparsity_out(0).numel()


def test_a_programme_of_casadi():
    """The position at which gravity's torques are given ones, by CasADi's IPOPT."""
    casadi = pytest.importorskip("casadi")
    robot = neuler.robots.puma560()
    f = robot.gravity_force.casadi("g")
    q = casadi.SX.sym("q", 6)
    goal = robot.gravity_force([0.0, 0.4, 0.3, 0.0, 0.2, 0.0])
    error = f(q) - goal
    options = {"ipopt.print_level": 0, "print_time": 0}
    solver = casadi.nlpsol("s", "ipopt", {"x": q, "f": casadi.dot(error, error) + 1e-8 * casadi.dot(q, q)}, options)
    found = np.array(solver(x0=[0, 0.3, 0.2, 0, 0.1, 0])["x"]).ravel()
    np.testing.assert_allclose(robot.gravity_force(found), goal, atol=1e-3)


def test_casadi_treats_nan_as_we_do():
    pytest.importorskip("casadi")
    m = neuler.math
    f = neuler.function(
        lambda x, y: np.array(
            [m.minimum(x, y), m.maximum(x, y), m.sign(x), m.where(m.less(x, y), x, y), m.power(y, 2.0)]
        ),
        {"x": (), "y": ()},
    )
    other = f.casadi("f")
    for x in (1.0, -2.0, np.nan, 0.0):
        for y in (0.5, np.nan, -1.0):
            np.testing.assert_array_equal(np.array(other(x, y)).ravel(), f(x, y))


def test_an_external_from_c():
    """Bit for bit where the machine fuses; with a Jacobian, without a Hessian."""
    casadi = pytest.importorskip("casadi")
    robot = neuler.robots.puma560()
    kernel = robot.mass_matrix
    f = kernel.casadi("m", external=True)
    q = robot.random_configuration(3)
    np.testing.assert_allclose(np.array(f(q)), kernel(q), rtol=0, atol=1e-13)
    slow = kernel.casadi("m")
    x = casadi.MX.sym("x", 6)
    ours, theirs = (casadi.Function("j", [x], [casadi.jacobian(each(x), x)])(q) for each in (f, slow))
    np.testing.assert_allclose(np.array(ours), np.array(theirs), atol=1e-12)


def test_an_external_without_a_compiler(monkeypatch):
    pytest.importorskip("casadi")
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CC", raising=False)
    find = __import__("importlib.util").util.find_spec
    monkeypatch.setattr(
        "importlib.util.find_spec", lambda name, *more: None if name == "ziglang" else find(name, *more)
    )
    with pytest.raises(neuler.CompileError, match="pip install ziglang"):
        two_link().mass_matrix.casadi(external=True)
    monkeypatch.setenv("CC", "no-such-compiler")
    with pytest.raises(neuler.CompileError, match="CC names"):
        two_link().mass_matrix.casadi(external=True)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="TeX is not here")
def test_latex_is_read_by_tex(tmp_path):
    kernel = neuler.robots.rx90().compile("inverse_dynamics", parameters=["links", "gravity"])
    text = "\\documentclass{article}\\usepackage{amsmath}\\allowdisplaybreaks\\begin{document}\n" + kernel.latex()
    (tmp_path / "a.tex").write_text(text + "\\end{document}\n")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "a.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert not done.returncode, done.stdout[-2000:]


def test_names_that_casadi_has_for_something_else():
    pytest.importorskip("casadi")
    f = neuler.function(lambda x: x * 2.0, {"x": 1}, name="f")
    for name in ("jac", "hess", "null"):
        with pytest.raises(neuler.InputError, match="reserved in CasADi"):
            f.casadi(name)
    g = neuler.function(lambda x, jac_y_x: x * jac_y_x, {"x": 1, "jac_y_x": 1}, "y", name="a" * 60)
    np.testing.assert_allclose(np.array(g.casadi(external=True)(2.0, 3.0)), 6.0)


def horner(x):
    value = 1.0
    for k in range(400):
        value = value * x + 1.0 / (k + 1.0)
    return value


def test_values_far_inside_each_other():
    """Parsers and computer algebra have limits, so that a long chain gets names on the way."""
    f = neuler.function(horner, {"x": ()}, name="horner")
    space = {}
    exec(f.python(), space)
    np.testing.assert_allclose(space["horner"](0.9), f(0.9), rtol=1e-14)
    found = f.sympy()
    assert len(found.common) == 15
    assert found.latex()


def test_products_of_numbers_that_are_whole():
    names = {"link1.zz": "zz1", "link2.mass": "m2", "link2.mx": "mx2", "link2.zz": "zz2", "joint2.placement.x": "l1"}
    kernel = neuler.robots.two_link().compile("inverse_dynamics", parameters=[*names, "gravity"])
    assert "1.0" not in kernel.latex(names=names)


def test_a_listing_is_described_by_the_names_that_are_given():
    kernel = neuler.robots.two_link().compile("gravity_force", parameters=["link2.mass", "gravity"])
    text = kernel.python(names={"link2.mass": "m2"})
    assert "0: m2" in text
    assert "link2.mass" not in text.split('"""')[1].split("in  parameters")[1]


def test_functions_called_like_those_inside():
    f = neuler.function(lambda x: 2.0 * x, {"x": 2}, name="values")
    for name in ("values", "slopes"):
        assert float(f.casadi(name, external=True)([1.0, 2.0])[1]) == 4.0


def test_a_compiler_that_is_no_command(monkeypatch):
    monkeypatch.setenv("CC", '"unbalanced')
    with pytest.raises(neuler.CompileError, match="CC is no command"):
        neuler.robots.two_link().mass_matrix.casadi(external=True)
