"""``neuler export``: a quantity, or a step of a simulation, in another language; or a Functional Mock-up Unit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from neuler.cli.common import load_robot, note, robot_command
from neuler.cli.evaluate import options_of, quantities
from neuler.compiled import Compiled
from neuler.errors import InputError
from neuler.export.saving import WRITTEN, save
from neuler.files.ends import STANDARD
from neuler.naming import hint
from neuler.plain import count
from neuler.robot import Robot

LANGUAGES = ("c", "python", "numpy", "latex", "sympy", "object", "wasm")
BINARY = {"object": "an object file", "wasm": "a module of WebAssembly"}
STEP, FMU = "step", "fmu"
HELP = """\
c       C99: header, source, a test with reference values, CMakeLists.txt
object  an object file for another machine, with the header; --target cortex-m4, aarch64, riscv64, windows, macos, ...
wasm    a module of WebAssembly, the JavaScript that loads it, types for TypeScript
python  a function of lists, with math alone; numpy: of arrays
latex   formulas, common values by name; sympy: a file of Python that makes the expressions

QUANTITY step is one step of a simulation of --dt seconds (C99 only).
QUANTITY fmu is a Functional Mock-up Unit, FMI 2.0, for Simulink, Dymola, OpenModelica, FMPy; -o is its file.
Options: frames, external, loads, parameters, limits, effort, kinds, platforms (linux64, win64, darwin64, or none).

  neuler export inverse_dynamics puma560 -o puma/
  neuler export forward_dynamics arm.urdf --dtype float32 --target cortex-m4 --lang object -o arm/
  neuler export gravity_force arm.urdf --lang wasm -o web/
  neuler export step arm.urdf --dt 0.001 --method euler -o simulation/
  neuler export inverse_dynamics two_link --option parameters=links --lang latex -o -
  neuler export fmu arm.urdf --dt 0.001 --option frames=tool0 --option parameters=gravity -o arm.fmu
"""


def add(commands: Any) -> None:
    """The command and its flags."""
    export = robot_command(
        commands, "export", run, "write a quantity as C99, WebAssembly, Python, LaTeX, an object file or an FMU", HELP,
        quantity=f"{STEP}, {FMU}, or {quantities()}",
    )  # fmt: skip
    export.add_argument("--lang", choices=LANGUAGES, default="c", help="default: c")
    export.add_argument(
        "-o", "--out", required=True, metavar="FOLDER", help="where files go; - for standard output; the file of an FMU"
    )
    export.add_argument("--name", help="of the function; default: of the robot and the quantity")
    export.add_argument("--dtype", choices=("float64", "float32"), default="float64", help="default: float64")
    export.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="K=V",
        help="of the quantity: external=tool, parameters=links, ...",
    )
    export.add_argument(
        "--far",
        choices=("libm", "math", "nan"),
        help="how angles beyond 1e15 (WebAssembly: 1e6) are handled; default: by the sines of libm or Math",
    )
    export.add_argument("--batch", action="store_true", help="C: also a loop over columns of states")
    export.add_argument("--target", metavar="MACHINE", help="of an object file; default: x86_64")
    export.add_argument("--dt", type=float, metavar="SECONDS", help="of a step or an FMU; there the default is 0.001")
    export.add_argument("--method", choices=("euler", "rk4", "implicit"), help="of a step or an FMU; default: rk4")


_ONLY = {"far": ("c", "wasm"), "batch": ("c",), "target": ("object",)}


def run(chosen: Any) -> None:
    """Write it."""
    for flag, languages in _ONLY.items():
        if getattr(chosen, flag) not in (None, False) and chosen.lang not in languages:
            raise InputError(f"--{flag} is for --lang {' or '.join(languages)}, not for {chosen.lang}")
    other = {"c": "math", "wasm": "libm"}.get(chosen.lang)
    if chosen.far and chosen.far == other:
        raise InputError(f"--far {other} is not for --lang {chosen.lang}: use {'libm' if other == 'math' else 'math'}")
    if chosen.lang in BINARY and chosen.out == STANDARD:
        raise InputError(f"{BINARY[chosen.lang]} does not go to standard output: give a folder with -o")
    if not chosen.out:
        raise InputError("-o needs a folder, or - for standard output")
    robot = load_robot(chosen)
    step = chosen.quantity == STEP
    for flag in ("dt", "method"):
        if getattr(chosen, flag) is not None and chosen.quantity not in (STEP, FMU):
            raise InputError(f"--{flag} is for the quantity {STEP} or {FMU}")
    if chosen.quantity == FMU:
        _fmu(robot, chosen)
        return
    files = _step(robot, chosen) if step else _files(robot, chosen)
    if chosen.out == STANDARD:
        for text in files.values():
            print(text)
        return
    save(files, chosen.out)
    print(f"wrote {count(len(files), 'file')} to {chosen.out}: {', '.join(files)}")


def _fmu(robot: Robot, chosen: Any) -> None:
    if chosen.lang != "c" or chosen.batch or chosen.far is not None or chosen.dtype != "float64":
        raise InputError("an FMU has none of --lang, --batch, --far and --dtype")
    if chosen.out == STANDARD:
        raise InputError("an FMU does not go to standard output: give a file with -o, arm.fmu")
    options = _options(chosen, ("dt", "method", "name"))
    for each in options:
        if each not in _OF_FMU:
            raise InputError(f"fmu: there is no option {each!r}; {hint(each, _OF_FMU)}")
    if options.get("platforms") == ("none",):
        options["platforms"] = ()  # sources alone
    unit = robot.fmu(
        1e-3 if chosen.dt is None else chosen.dt, chosen.name, method=chosen.method or "rk4", **options
    )  # fmt: skip
    for line in unit.notes:
        note(line)
    print(f"wrote {unit.save(chosen.out)}: {unit!r}")


_OF_FMU = ("frames", "external", "loads", "parameters", "limits", "effort", "kinds", "platforms")


def _step(robot: Robot, chosen: Any) -> Mapping[str, str]:
    if chosen.lang != "c" or chosen.batch:
        raise InputError(f"{STEP} is written as C99, one run at a time")
    if chosen.dt is None:
        raise InputError(f"{STEP} needs --dt, the time step in seconds")
    options = _options(chosen, ("dt", "method", "name", "far", "dtype"))
    return robot.step_c(
        chosen.dt,
        name=chosen.name,
        method=chosen.method or "rk4",
        far=chosen.far or "libm",
        dtype=chosen.dtype,
        **options,
    ).files


def _files(robot: Robot, chosen: Any) -> Mapping[str, str | bytes]:
    kernel = robot.compile(chosen.quantity, **_options(chosen, ("dtype",)), dtype=chosen.dtype)
    if chosen.lang == "c":
        code = kernel.c(chosen.name, far=chosen.far or "libm", batch=chosen.batch)
        note(f"{code.operations} for one state, about {code.memory} bytes of the stack")
        return code.files
    if chosen.lang == "object":
        made = kernel.object_file("x86_64" if chosen.target is None else chosen.target, chosen.name)
        name = chosen.name or kernel.export_name
        return {f"{name}.h": kernel.object_header(chosen.name), f"{name}.o": made}
    if chosen.dtype != "float64":
        raise InputError(f"--dtype {chosen.dtype} is for --lang c and object")
    if chosen.lang == "wasm":
        module = kernel.wasm(chosen.name, far=chosen.far or "math")
        note(f"{module.operations} for one state, {len(module.binary)} bytes")
        return module.files
    return _text(kernel, chosen)


def _options(chosen: Any, flags: Sequence[str]) -> dict[str, Any]:
    found = options_of(chosen.option)
    for name in flags:
        if name in found:
            raise InputError(f"--option {name}: there is a flag for it, --{name}")
    return found


def _text(kernel: Compiled, chosen: Any) -> Mapping[str, str]:
    name = chosen.name or kernel.export_name
    if chosen.lang in ("python", "numpy"):
        return {f"{name}.py": kernel.python(name, numpy=chosen.lang == "numpy")}
    found = kernel.sympy(name)
    if chosen.lang == "latex":
        return {f"{name}.tex": f"% {WRITTEN}\n{found.latex()}"}
    return {f"{name}_sympy.py": found.code()}
