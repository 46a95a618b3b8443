"""One call from Python with one state: neuler, Pinocchio, and CasADi where it is installed.

CasADi gets the operations of neuler's own kernel, fewer than its users would write, and a C compiler where there is
one: ``Function.generate``, ``cc -O3 -march=native``, and the buffered call, which computes in place.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import timeit
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from neuler import Robot
from neuler.compiler.target import available_levels, level
from neuler.trace.graph import Node
from neuler.trace.recipe import traced

_NUMBER = 20_000
_LANES = """
import sys, timeit
import numpy as np
import neuler
from neuler.compiler import target
path, lanes = sys.argv[1], int(sys.argv[2])
target._ONE_STATE.clear()
target._ONE_STATE[target.host().vector_bytes] = 8 * lanes
robot = neuler.load(path, mimic="independent", floating="fixed")
for quantity in ("inverse_dynamics", "forward_dynamics"):
    bound = getattr(robot, quantity).bind()
    rng = np.random.default_rng(0)
    for array in bound.inputs:
        array[:] = rng.uniform(-1, 1, array.shape)
    print(min(timeit.repeat(bound, number=2_000, repeat=30)) / 2_000 * 1e9, bound().tobytes().hex())
"""
"""A process of its own: the level of the CPU and the lanes of one state are fixed in a process."""


def _ns(call: Callable[[], object]) -> float:
    """Of one call, the least of some repeats."""
    return min(timeit.repeat(call, number=_NUMBER, repeat=9)) / _NUMBER * 1e9


def casadi_function(robot: Robot, folder: str) -> tuple[Any, str] | None:
    """Inverse dynamics as a CasADi function, compiled where there is a compiler; None without CasADi."""
    try:
        import casadi
    except ImportError:
        return None
    inputs, outputs = traced(robot.inverse_dynamics.recipe)
    known: dict[int, Any] = {}
    symbols = [casadi.SX.sym(operand.name, operand.size) for operand in robot.inverse_dynamics.inputs]
    entries = [symbol[k] for symbol in symbols for k in range(symbol.numel())]
    known.update({node.id: entry for node, entry in zip(inputs, entries, strict=True)})

    def value(x: Any) -> Any:
        return known[x.id] if isinstance(x, Node) else x

    unary = {"sin": casadi.sin, "cos": casadi.cos, "neg": lambda x: -x, "sign": casadi.sign, "sqrt": casadi.sqrt}
    binary = {
        "add": lambda a, b: a + b,
        "sub": lambda a, b: a - b,
        "mul": lambda a, b: a * b,
        "div": lambda a, b: a / b,
    }
    for node in inputs[0].graph.live(outputs):
        if node.id in known:
            continue
        if node.op in unary:
            known[node.id] = unary[node.op](value(node.a))
        else:
            known[node.id] = binary[node.op](value(node.a), value(node.b))
    function = casadi.Function("inverse", symbols, [casadi.vertcat(*(value(x) for x in outputs))])
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        return function, "interpreted: there is no C compiler"
    source = Path(folder) / "inverse.c"
    code = casadi.CodeGenerator(source.name)
    code.add(function)
    source.write_text(code.dump())
    library = Path(folder) / "inverse.so"
    subprocess.run(
        [compiler, "-O3", "-march=native", "-shared", "-fPIC", str(source), "-o", str(library), "-lm"], check=True
    )
    return casadi.external("inverse", str(library)), "generated C, cc -O3 -march=native"


def lanes(paths: Mapping[str, Path]) -> list[str]:
    """One state on vectors of every length, by level of the CPU: what the rule in ``compiler/target.py`` is made by."""
    lines = [
        "## One state by lanes, ns of a bound call",
        "",
        "Bold is what neuler takes; all lanes give the same bits.",
        "",
        "| robot | quantity | level | 1 lane | 2 lanes | 4 lanes | 8 lanes |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, path in paths.items():
        rows: dict[tuple[str, str], dict[int, float]] = {}
        for at in available_levels():
            most = level(at).lanes("float64")
            bits: dict[str, set[str]] = {}
            for count in (n for n in (1, 2, 4, 8) if n <= most):
                environment = {**os.environ, "NEULER_CPU": at, "NEULER_CACHE_DIR": "off"}
                command = [sys.executable, "-c", _LANES, str(path), str(count)]
                run = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
                for quantity, line in zip(("inverse", "direct"), run.stdout.splitlines(), strict=True):
                    ns, found = line.split()
                    rows.setdefault((quantity, at), {})[count] = float(ns)
                    bits.setdefault(quantity, set()).add(found)
            assert all(len(found) == 1 for found in bits.values()), f"{name}, {at}: lanes differ in bits"
        for (quantity, at), times in sorted(rows.items()):
            taken = level(at).one_lanes("float64")
            cells = [f"{times[n]:.0f}" if n in times else "" for n in (1, 2, 4, 8)]
            cells = [f"**{cell}**" if n == taken else cell for n, cell in zip((1, 2, 4, 8), cells, strict=True)]
            lines.append(f"| {name} | {quantity} dynamics | {at} | {' | '.join(cells)} |")
    return [*lines, ""]


def one_call(name: str, robot: Robot) -> list[str]:
    """A table of nanoseconds, all measured in this run."""
    import pinocchio

    from neuler.peers.pinocchio import pinocchio_model

    states = np.random.default_rng(0).uniform(-1, 1, (3, robot.nv))
    q, qd, qdd = (np.ascontiguousarray(x) for x in states)
    kernel, out = robot.inverse_dynamics, np.empty(robot.nv)
    bound = kernel.bind()
    bound.q[:], bound.qd[:], bound.qdd[:] = q, qd, qdd
    model = pinocchio_model(robot)
    data = model.createData()
    expected = pinocchio.rnea(model, data, q, qd, qdd)
    assert np.allclose(kernel(q, qd, qdd), expected)
    assert np.allclose(bound(), expected)
    rows = [
        ("neuler, `kernel(q, qd, qdd)`", _ns(lambda: kernel(q, qd, qdd))),
        ("neuler, `out=`", _ns(lambda: kernel(q, qd, qdd, out=out))),
        ("neuler, bound", _ns(bound)),
        ("Pinocchio, `rnea`", _ns(lambda: pinocchio.rnea(model, data, q, qd, qdd))),
    ]
    note = "CasADi is not installed here (pip install casadi)."
    with tempfile.TemporaryDirectory() as folder:
        made = casadi_function(robot, folder)
        if made is not None:
            function, how = made
            buffer, trigger = function.buffer()
            for k, x in enumerate((q, qd, qdd)):
                buffer.set_arg(k, memoryview(x))
            result = np.zeros(robot.nv)
            buffer.set_res(0, memoryview(result))
            trigger()
            assert np.allclose(result, expected)
            rows.append((f"CasADi, buffered ({how})", _ns(trigger)))
            note = "CasADi evaluates the operations of neuler's kernel, not its own."
    plain, fastest = rows[0][1], rows[2][1]
    lines = ["", f"## One call from Python: {name}, inverse dynamics", "", "| call | ns |", "|---|---|"]
    lines += [f"| {what} | {ns:.0f} |" for what, ns in rows]
    ratios = f"Pinocchio / plain call: {rows[3][1] / plain:.1f}."
    if len(rows) > 4:
        ratios += f" CasADi / bound call: {rows[4][1] / fastest:.2f}."
    return [*lines, "", f"{ratios} {note}"]
