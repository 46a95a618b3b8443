"""WebAssembly: bits of every operation beside the kernel, long functions, batches, the loader, hostile names."""

import ctypes
import json
import math
import platform
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

import neuler
from c_code import compilers
from neuler import InputError
from neuler.cli import main
from neuler.compiler import trig
from neuler.export.interface import Interface
from neuler.export.wasm import module as modules
from neuler.export.wasm.module import wasm_module
from neuler.robots import names as catalogue
from neuler.trace import graph as g
from neuler.trace import listing
from neuler.trace.recipe import Operand, Recipe
from random_robots import real_files
from shown_robots import HOSTILE, bar

pytest.importorskip("wasmtime")

from wasm_modules import NODE, Instance, node, plain

with_node = pytest.mark.skipif(NODE is None, reason="node runs the loader")
LIBRARY = {g.SIN, g.COS, g.EXP, g.LOG, g.TANH, g.ATAN2, g.POW}
SPECIAL = [
    0.0, -0.0, 5e-324, -5e-324, 2.2e-308, -1e-300, 1e-10, 0.3, -0.3, 1.0, -1.0, 2.5, -7.75, 710.0, -746.0, 1e6,
    -1e6, np.nextafter(1e6, 2e6), 1e7, -3e9, 1e15, 1e22, 1e300, -1.7e308, np.inf, -np.inf, np.nan,
]  # fmt: skip


def states_of(kernel, count=20):
    return kernel._sample_states(count)


def close(found, wanted, tolerance=1e-13):
    for ours, theirs in zip(found, wanted, strict=True):
        assert (np.isnan(ours) == np.isnan(theirs)).all()
        scale = np.nanmax(np.abs(theirs), initial=1e-300)
        np.testing.assert_allclose(ours, theirs, rtol=0.0, atol=tolerance * scale)


def results(kernel, states):
    found = kernel(*(states[operand.name] for operand in kernel.inputs))
    return [np.asarray(x) for x in (found if isinstance(found, tuple) else (found,))]


def every_operation():
    """One function with an output for every operation that listings have."""
    second = {g.ABOVE: 0.25, g.FELT: 3.0, g.POW: 2.3}
    names = list(listing.SCALARS)

    def law(x):
        a, b = x[0], x[1]
        return [listing.SCALARS[op](a, second.get(op, b)) for op in names]

    return names, neuler.function(lambda x: np.array(law(x), dtype=object), {"x": 2}, "y", name="every_operation")


def test_every_operation():
    """NaN, infinities, signed zeros, denormals, far angles: the kernel's bits, or those of sines within rounding."""
    names, function = every_operation()
    assert len(names) == 22
    x = np.array([(a, b) for a in SPECIAL for b in SPECIAL])
    with np.errstate(all="ignore"):
        wanted = function(x)
    recipe = function.recipe
    instance = Instance(function.wasm().binary)
    assert sorted(instance.imports) == ["atan2", "cos", "exp", "log", "pow", "sin", "tanh"]
    (found,) = instance.batch(recipe, {"x": x})
    possible = (x[:, 0] != 0.0) | ~np.signbit(x[:, 0])  # what a mask reads is 0 or 1, never -0
    for k, op in enumerate(names):
        rows = possible if op == g.MASK else slice(None)
        ours, theirs = found[rows, k], wanted[rows, k]
        assert (np.isnan(ours) == np.isnan(theirs)).all(), op
        good = ~np.isnan(theirs)
        assert (np.signbit(ours[good]) == np.signbit(theirs[good])).all(), op
        if op in LIBRARY:
            np.testing.assert_allclose(ours[good], theirs[good], rtol=1e-14, atol=3e-16, err_msg=op)
        else:
            np.testing.assert_array_equal(ours[good], theirs[good], err_msg=op)


def test_sines_up_to_the_limit():
    """Within an ulp or so of the mathematics, of the own reduction and of what is imported beyond it."""
    function = neuler.function(lambda x: np.array([np.sin(x), np.cos(x)]), {"x": ()}, "y", name="waves")
    rng = np.random.default_rng(1)
    near = np.concatenate([rng.uniform(-s, s, 300) for s in (1e-9, 1.0, 10.0, 1e3, 1e6)])
    x = np.concatenate([near, np.arange(-50, 50) * (np.pi / 2), rng.uniform(1e6, 1e9, 100)])
    (found,) = Instance(function.wasm().binary).batch(function.recipe, {"x": x})
    wanted = np.array([(math.sin(v), math.cos(v)) for v in x])
    np.testing.assert_allclose(found, wanted, rtol=4e-16, atol=1.2e-16)
    alone = Instance(function.wasm(far="nan").binary)
    assert alone.imports == []
    (short,) = alone.batch(function.recipe, {"x": x})
    large = np.abs(x) > trig.limit(False)
    np.testing.assert_array_equal(short[~large], found[~large])
    assert np.isnan(short[large]).all()


EVERYDAY = [
    ("two_link", "inverse_dynamics", {}),
    ("puma560", "inverse_dynamics", {}),
    ("puma560", "forward_dynamics", {}),
    ("four_bar", "forward_dynamics", {}),
    ("stanford", "energy", {}),
    ("two_link", "inverse_dynamics", {"parameters": "links"}),
    ("rx90", "regressor", {"sparse": True}),
]


@pytest.mark.parametrize(("robot", "quantity", "options"), EVERYDAY)
def test_robots(robot, quantity, options):
    kernel = neuler.robots.get(robot).compile(quantity, **options)
    module = kernel.wasm()
    states = states_of(kernel)
    many = Instance(module.binary).batch(kernel.recipe, states)
    close(many, results(kernel, states))
    for ours, exact in zip(many, plain(kernel, states), strict=True):
        np.testing.assert_array_equal(ours, exact)  # every operation is rounded by itself, in the listing's order
    few = {name: values[:5] for name, values in states.items()}
    for one, all_of_them in zip(Instance(module.binary).each(kernel.recipe, few), many, strict=True):
        np.testing.assert_array_equal(one, all_of_them[:5])


@pytest.mark.skipif(
    platform.machine() != "x86_64" or platform.system() != "Linux", reason="linked on x86-64 Linux alone"
)
@pytest.mark.parametrize("robot", ["puma560", "four_bar"])
def test_the_bits_of_machines_without_fused_operations(robot, tmp_path):
    """Beside the kernel's own code for such a machine, an object file."""
    kernel = neuler.robots.get(robot).inverse_dynamics
    (tmp_path / "f.o").write_bytes(kernel.object_file("x86_64", "f", optimize="speed"))
    first = compilers()[next(iter(compilers()))]
    subprocess.run([*first, "-shared", "-o", tmp_path / "f.so", tmp_path / "f.o", "-lm"], check=True)
    function = ctypes.CDLL(str(tmp_path / "f.so")).f
    states = states_of(kernel)
    (found,) = Instance(kernel.wasm().binary).batch(kernel.recipe, states)
    one = np.empty(found.shape[1:])
    for k, row in enumerate(found):
        arguments = [np.ascontiguousarray(x[k]) for x in states.values()]
        function(*(x.ctypes.data_as(ctypes.c_void_p) for x in (*arguments, one)))
        np.testing.assert_array_equal(row, one)


@pytest.mark.slow
@pytest.mark.parametrize("robot", catalogue())
def test_every_robot(robot):
    for quantity in ("inverse_dynamics", "forward_dynamics", "gravity_force", "link_poses", "energy"):
        kernel = neuler.robots.get(robot).compile(quantity)
        states = states_of(kernel)
        found = Instance(kernel.wasm().binary).batch(kernel.recipe, states)
        close(found, results(kernel, states), 1e-11)  # loops near singular poses
        for ours, exact in zip(found, plain(kernel, states), strict=True):
            np.testing.assert_array_equal(ours, exact)


@pytest.mark.slow
@pytest.mark.parametrize("stem", ["g1_29dof_rev_1_0", "panda"])
def test_large_robots(stem):
    """Sensitivities of a humanoid: of the inverse model 17,600 operations, of the direct one 37,000, in pieces."""
    path = next((path for path in real_files() if path.stem == stem), None)
    if path is None:
        pytest.skip(f"{stem} is not installed")
    robot = neuler.load(path, mimic="independent", floating="fixed")
    for quantity in ("inverse_dynamics", "inverse_dynamics_sensitivities"):
        kernel = robot.compile(quantity)
        states = states_of(kernel, 5)
        close(Instance(kernel.wasm().binary).batch(kernel.recipe, states), results(kernel, states))
    kernel = robot.compile("forward_dynamics_sensitivities")
    states = states_of(kernel, 2)
    found = Instance(kernel.wasm().binary)
    assert (found.start > 0) == (stem != "panda")
    for ours, exact in zip(found.batch(kernel.recipe, states), plain(kernel, states), strict=True):
        np.testing.assert_array_equal(ours, exact)


def test_a_long_function_in_pieces(monkeypatch):
    """The bits of the same function in one."""
    kernel = neuler.robots.puma560().compile("forward_dynamics_sensitivities")
    states = states_of(kernel)
    whole = Instance(kernel.wasm().binary)
    assert whole.start == 0
    wanted = whole.batch(kernel.recipe, states)
    monkeypatch.setattr(modules, "WHOLE", 300)
    cut = Instance(kernel.wasm().binary)
    assert cut.start > 0
    for found in (cut.batch(kernel.recipe, states), cut.each(kernel.recipe, states)):
        for ours, theirs in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(ours, theirs)


def test_what_is_out_of_the_ordinary():
    """Constants, inputs that come out again, one value in several places, lone numbers, empty matrices."""
    recipe = Recipe(
        (Operand("a", (2,)), Operand("b", ()), Operand("none", (0, 3))),
        (Operand("y", (2, 2)), Operand("s", ()), Operand("e", (0,))),
        lambda v: [[v["a"][1], 3.0, g.sin(v["b"][0]), g.sin(v["b"][0])], [v["b"][0]], []],
    )
    module = wasm_module(Interface("odd", recipe))
    states = {"a": np.array([[1.0, 2.0], [5.0, 6.0]]), "b": np.array([0.5, 0.7]), "none": np.zeros((2, 0, 3))}
    y, s, e = Instance(module.binary).batch(recipe, states)
    np.testing.assert_array_equal(y[:, 0], [[2.0, 3.0], [6.0, 3.0]])
    np.testing.assert_allclose(y[:, 1], np.sin([[0.5, 0.5], [0.7, 0.7]]), rtol=1e-15)
    np.testing.assert_array_equal(s, [0.5, 0.7])
    assert e.shape == (2, 0)


def test_deep_sums_and_many_values():
    """A sum of 3,000 terms, and 400 values that all wait for the end."""
    recipe = Recipe(
        (Operand("x", (3000,)),), (Operand("y", (401,)),),
        lambda v: [[_total(v["x"]), *(v["x"][k] * v["x"][k + 1] - _total(v["x"][:400]) for k in range(400))]],
    )  # fmt: skip
    x = np.random.default_rng(0).normal(size=(3, 3000))
    (y,) = Instance(wasm_module(Interface("sums", recipe)).binary).batch(recipe, {"x": x})
    np.testing.assert_allclose(y[:, 0], x.sum(axis=1), rtol=1e-11)
    wanted = x[:, :400] * x[:, 1:401] - x[:, :400].sum(axis=1)[:, None]
    np.testing.assert_allclose(y[:, 1:], wanted, rtol=1e-11, atol=1e-11)


def _total(values):
    found = values[0]
    for x in values[1:]:
        found = found + x
    return found


def test_double_precision_whatever_the_kernel_has():
    single = neuler.robots.two_link().compile("inverse_dynamics", dtype="float32")
    double = neuler.robots.two_link().compile("inverse_dynamics")
    assert single.wasm().binary == double.wasm().binary


def test_parameters_and_wrenches_have_units():
    """In the loader, its types and the header of C alike."""
    robot = neuler.robots.stanford()
    kernel = robot.compile("inverse_dynamics", external="link2", parameters=("gravity", "link2", "friction"))
    module = kernel.wasm("torque")
    data = json.loads(re.search(r"^const about = (.*);$", module.loader, re.MULTILINE)[1])
    found = {name: unit for each in data["inputs"] for name, unit in each["labels"] if each["name"] != "qd"}
    units = {
        "gravity.x": "m/s^2", "link2.mass": "kg", "link2.mx": "kg m", "link2.xy": "kg m^2",
        "joint1.viscous": "N m s/rad", "joint3.viscous": "N s/m", "joint3.coulomb": "N", "fx": "N", "mz": "N m",
    }  # fmt: skip
    assert {name: found[name] for name in units} == units
    for text in (module.types, kernel.c("torque").header):
        for name, unit in units.items():
            assert f"{name} ({unit})" in text


def test_the_module_itself(tmp_path):
    module = neuler.robots.puma560().gravity_force.wasm("gravity")
    assert bytes(module) == module.binary
    assert repr(module) == f"<WebAssembly of gravity: {len(module.binary)} bytes; {module.operations}>"
    assert [path.name for path in module.save(tmp_path)] == ["gravity.wasm", "gravity.mjs", "gravity.d.mts"]
    assert (tmp_path / "gravity.wasm").read_bytes() == module.binary
    assert len(neuler.robots.puma560().inverse_dynamics.wasm().binary) < 4000


@pytest.mark.parametrize(
    ("given", "said"),
    [({"far": "libm"}, "wasm: far"), ({"name": "a b"}, "letters, digits"), ({"name": 3}, "name must be a text")],
)
def test_what_is_refused(given, said):
    with pytest.raises(InputError, match=said):
        neuler.robots.two_link().gravity_force.wasm(**given)


# ---- the command ---------------------------------------------------------------------------------------------------


def test_the_command(tmp_path, capsys):
    flags = ["export", "gravity_force", "two_link", "--lang", "wasm", "--far", "nan"]
    assert main([*flags, "-o", str(tmp_path)]) == 0
    assert "two_link_gravity_force.wasm" in capsys.readouterr().out
    name = "two_link_gravity_force"
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"{name}.d.mts", f"{name}.mjs", f"{name}.wasm"]
    assert Instance((tmp_path / f"{name}.wasm").read_bytes()).imports == []


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--far", "libm"], "--far libm is not for --lang wasm: use math"),
        (["--batch"], "--batch is for --lang c"),
        (["--dtype", "float32"], "--dtype float32 is for --lang c and object"),
        (["-o", "-"], "a module of WebAssembly does not go to standard output"),
    ],
)
def test_what_the_command_refuses(flags, said, tmp_path, capsys):
    assert main(["export", "gravity_force", "two_link", "--lang", "wasm", "-o", str(tmp_path / "out"), *flags]) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


# ---- the loader ----------------------------------------------------------------------------------------------------


@with_node
def test_the_loader(tmp_path):
    """By place and by name, flat and nested, one state and many, several outputs."""
    kernel = neuler.robots.puma560().compile("inverse_dynamics_sensitivities")
    kernel.wasm("slopes").save(tmp_path)
    count = 1500  # more than are in memory at a time
    states = states_of(kernel, count)
    held = {**states, "qdd": states["qdd"][:1]}
    (tmp_path / "states.json").write_text(json.dumps({name: x.tolist() for name, x in held.items()}))
    script = """
    import { readFileSync } from "node:fs";
    import load from "./slopes.mjs";
    const { q, qd, qdd } = JSON.parse(readFileSync("states.json", "utf8"));
    const slopes = await load(), again = await load(readFileSync("slopes.wasm"));
    const one = slopes(q[3], qd[3], new Float64Array(qdd[0]));
    const many = again.batch({ q, qd: Float64Array.from(qd.flat()), qdd });
    const same = Object.keys(one).every((name) => one[name].every((x, k) => x === many[name][3 * 36 + k]));
    const plain = Object.fromEntries(Object.entries(many).map(([name, x]) => [name, [...x]]));
    console.log(JSON.stringify({ same, many: plain, inputs: slopes.inputs, outputs: slopes.outputs }));
    """
    found = json.loads(node(script, tmp_path))
    assert found["same"] is True
    assert found["inputs"][0]["labels"][0] == ["joint1", "rad"]
    held["qdd"] = np.tile(held["qdd"], (count, 1))
    wanted = results(kernel, held)
    assert list(found["many"]) == [operand.name for operand in kernel.outputs]
    close([np.reshape(x, (count, 6, 6)) for x in found["many"].values()], wanted)


@with_node
def test_the_script_of_the_documentation(tmp_path):
    text = (Path(neuler.__file__).parents[2] / "docs/export-wasm.md").read_text(encoding="utf-8")
    script = re.search(r"```js\n(.*?)```", text, re.DOTALL)[1]
    arm = neuler.robots.puma560()
    arm.gravity_force.wasm("gravity").save(tmp_path)
    said = node(f"{script}\nconsole.log(JSON.stringify([[...tau], many.length]));", tmp_path)
    tau, length = json.loads(said.splitlines()[-1])
    close([np.array(tau)], [np.asarray(arm.gravity_force([0, 0.5, -0.3, 0, 0, 0]))])
    assert length == 600


REFUSED = [
    ("f([1, 2])", "takes q, qd, qdd, got 1 arguments"),
    ("f([1], [1, 2], [1, 2])", "q must hold 2 numbers, got 1"),
    ("f({ q: [0, 0], qd: [0, 0], qddd: [0, 0] })", 'no input "qddd", only q, qd, qdd'),
    ("f({ q: [0, 0], qd: [0, 0] })", "the input qdd is missing"),
    ("f('a', [0, 0], [0, 0])", "q must hold numbers, q[2] for each state, got string"),
    ("f([1, '2'], [0, 0], [0, 0])", "got string at place 1"),
    ("f([1, null], [0, 0], [0, 0])", "got null at place 1"),
    ("f([[1], [2]], [0, 0], [0, 0])", "got a row of length 1"),
    ("f([[1, 2], 3], [0, 0], [0, 0])", "got number in the place of a row"),
    ("f(new BigInt64Array(2), [0, 0], [0, 0])", "got whole numbers of 64 bits"),
    ("f.batch([1, 2, 3, 4], [1, 2, 3, 4, 5, 6], [0, 0])", "qd has 3 states, inputs before it 2"),
    ("f.batch([1, 2, 3], [0, 0], [0, 0])", "q must hold a multiple of 2 numbers, got 3"),
    ("await load(42)", "load takes bytes"),
    ("await load('./other.wasm')", "is of another function, robot or version than this script: use torque.wasm"),
    ("f.batch(gone, [0, 0], [0, 0])", "an array whose buffer was transferred"),
    ("f(new DataView(new ArrayBuffer(16)), [0, 0], [0, 0])", "got object"),
    ("f(new ArrayBuffer(16), [0, 0], [0, 0])", "got object"),
    ("f([, 1], [0, 0], [0, 0])", "got undefined at place 0"),
    ("f.batch([1, 2, 3, 4], [], [0, 0])", "qd has 0 states, inputs before it 2"),
    ('f(JSON.parse(\'{"__proto__": [1], "q": [1, 2]}\'))', 'no input "__proto__"'),
]


@with_node
def test_what_the_loader_refuses(tmp_path):
    neuler.robots.two_link().inverse_dynamics.wasm("torque").save(tmp_path)
    other = neuler.robots.two_link().with_gravity([0, -9.81, 0]).inverse_dynamics  # takes and gives as many numbers
    (tmp_path / "other.wasm").write_bytes(other.wasm("torque").binary)
    asked = "".join(f"async () => {{ {call} }}, " for call, _ in REFUSED)
    script = f"""
    import load from "./torque.mjs";
    const f = await load(), said = [], gone = new Float64Array(2);
    structuredClone(gone.buffer, {{ transfer: [gone.buffer] }});
    for (const call of [{asked}]) said.push(await call().then(() => "nothing", (error) => error.message));
    console.log(JSON.stringify(said));
    """
    for (call, wanted), said in zip(REFUSED, json.loads(node(script, tmp_path)), strict=True):
        assert said.startswith("torque: "), call
        assert wanted in said, call


@with_node
def test_what_the_loader_takes(tmp_path):
    """Arrays of every kind, no states at all, and views into the module's own memory, which grows."""
    robot = neuler.robots.two_link().with_gravity([0, -9.81, 0])
    robot.inverse_dynamics.wasm("torque").save(tmp_path)
    script = """
    import load from "./torque.mjs";
    const f = await load(), z = [1, 2], shared = new Float64Array(new SharedArrayBuffer(16)), rows = 4000;
    shared.set(z);
    const kinds = [z, new Float32Array(z), new Int8Array(z), shared, Object.freeze([1, 2]), [[1, 2]], new Proxy(z, {})];
    const wanted = f(z, z, z), every = (found) => found.every((x, k) => x === wanted[k % 2]);
    const same = kinds.map((x) => every(f(x, z, z)));
    const inside = () => {
      const found = new Float64Array(f.exports.memory.buffer, f.exports.start.value, 2);
      found.set(z);
      return found;
    };
    same.push(every(f(inside(), inside(), z)), every(f.batch(inside(), Array(rows).fill(z), z)));
    const before = f.exports.memory.buffer.byteLength;
    f.exports.memory.grow(2);
    same.push(f.exports.memory.buffer.byteLength > before, every(f(z, inside(), z)));
    same.push(every(f(Object.assign(Object.create(null), { q: z, qd: z, qdd: z }))));
    const none = [f.batch([], [], []), f.batch([], z, z), f.batch(new Float64Array(0), z, z)].map((x) => x.length);
    console.log(JSON.stringify({ same, none, nan: [...f([0, NaN], z, z)].map(Number.isNaN), tau: [...wanted] }));
    """
    found = json.loads(node(script, tmp_path))
    assert all(found["same"]), found["same"]
    assert found["none"] == [0, 0, 0]
    assert found["nan"] == [True, True]
    close([np.array(found["tau"])], [np.asarray(robot.inverse_dynamics([1, 2], [1, 2], [1, 2]))])


NAMES = (HOSTILE, "*/ alert(1); /*", '"; import("x"); "', "${alert(1)}", "a\nb\u2028c", "$data $file", "\\", "function")


@with_node
def test_hostile_names(tmp_path):
    """Names of robots, links, joints and inputs stay in comments and texts."""
    links = [neuler.Link("base"), *(bar(name) for name in NAMES)]
    joints = [
        neuler.Joint(f"{name}'s", "revolute", links[k].name, links[k + 1].name, axis=(0, 1, 0))
        for k, name in enumerate(NAMES)
    ]
    robot = neuler.Robot("*/ throw 1; /* $data", links, joints)
    kernel = robot.gravity_force
    module = kernel.wasm("arm")
    module.save(tmp_path)
    labels = json.loads(re.search(r"^const about = (.*);$", module.loader, re.MULTILINE)[1])["inputs"][0]["labels"]
    assert len(labels) == len(NAMES)
    script = """
    import load from "./arm.mjs";
    const f = await load();
    console.log(JSON.stringify([[...f([1, 2, 3, 4, 5, 6, 7, 8])], f.inputs[0].labels]));
    """
    found, told = json.loads(node(script, tmp_path))
    close([np.array(found)], [np.asarray(kernel(np.arange(1.0, 9.0)))])
    assert told == labels
    assert "<script>" in told[0][0]
    for text in (module.loader, module.types):
        assert "<script" not in text
        assert all(c.isprintable() or c == "\n" for c in text)
    code = re.sub(r"/\*.*?\*/", "", module.types, flags=re.DOTALL)
    assert "alert" not in code
    assert "throw" not in code


@with_node
def test_inputs_called_as_words_of_javascript(tmp_path):
    function = neuler.function(
        lambda function, memory, run, await_: function + 2.0 * memory + 3.0 * run + await_,
        {"function": (), "memory": 2, "run": (), "await_": ()}, "start", name="words",
    )  # fmt: skip
    module = function.wasm("exports")
    module.save(tmp_path)
    told = node(
        'import load from "./exports.mjs"; const f = await load(); console.log([...f(1, [2, 3], 4, 0)].join());',
        tmp_path,
    )
    assert told.strip() == "17,19"
    assert "(function_: Numbers, memory: Numbers" in module.types
