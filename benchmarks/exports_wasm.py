"""Exported WebAssembly: bytes, and nanoseconds for a state in wasmtime, Node and Chromium; those that are here.

    python benchmarks/exports_wasm.py [--robots UR5,Panda,G1]

Every state is computed by a call of ``run`` from JavaScript (in wasmtime by ``batch``, for a call from Python takes
longer than the function), rounds take the least time. Chromium is driven by the package playwright.
"""

from __future__ import annotations

import base64
import gzip
import importlib.util
import json
import math
import shutil
import subprocess
import time
from typing import Any

import numpy as np

import exports
from neuler import Robot

STATES, ROUNDS, COUNT = 64, 60, 40
QUANTITIES = ("inverse_dynamics", "forward_dynamics", "gravity_force", "link_poses")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync", "--no-first-run"]
TIMED = """async ([binary, sizes, takes, states, count, rounds, values]) => {
  const bytes = Uint8Array.from(atob(binary), (c) => c.charCodeAt(0));
  const { instance } = await WebAssembly.instantiate(bytes, { math: Math });
  const { memory, start, run } = instance.exports, places = [];
  let at = start.value;
  for (const size of sizes) { places.push(at); at += 8 * size * states; }
  memory.grow(Math.ceil(at / 65536));
  const numbers = new Float64Array(memory.buffer);
  let first = 0;
  for (let k = 0; k < takes; k++) {
    for (let i = 0; i < sizes[k] * states; i++) numbers[places[k] / 8 + i] = values[first++];
  }
  const call = new Function("run", "n", "p", "for (let i = 0; i < n; i++) run(" +
    sizes.map((size, k) => `p[${k}] + ${8 * size} * i`).join() + ")");
  const timed = () => {
    const begin = performance.now();
    for (let j = 0; j < count; j++) call(run, states, places);
    return performance.now() - begin;
  };
  while (timed() < 10) count *= 2;  // clocks of browsers tell tenths of a millisecond
  let best = Infinity;
  for (let round = 0; round < rounds; round++) best = Math.min(best, 1e6 * timed() / (count * states));
  return best;
}"""


def arguments(kernel: Any, binary: bytes) -> list[Any]:
    """What the script takes."""
    recipe = kernel.recipe
    values = np.random.default_rng(0).uniform(-1.0, 1.0, sum(x.size for x in recipe.inputs) * STATES)
    sizes = [x.size for x in (*recipe.inputs, *recipe.outputs)]
    return [base64.b64encode(binary).decode(), sizes, len(recipe.inputs), STATES, COUNT, ROUNDS, values.tolist()]


def in_node(given: list[Any]) -> float:
    """Nanoseconds for a state, or NaN where there is no Node."""
    node = shutil.which("node")
    if node is None:
        return math.nan
    script = f"({TIMED})(JSON.parse(require('fs').readFileSync(0, 'utf8'))).then((x) => console.log(x))"
    done = subprocess.run([node, "-e", script], input=json.dumps(given), capture_output=True, text=True, check=True)
    return float(done.stdout)


def in_wasmtime(kernel: Any, binary: bytes) -> float:
    """The same of a batch, or NaN where the package is missing."""
    if importlib.util.find_spec("wasmtime") is None:
        return math.nan
    import wasmtime

    store, real, sizes = wasmtime.Store(), wasmtime.ValType.f64(), arguments(kernel, b"")[1]
    module = wasmtime.Module(store.engine, binary)
    functions = [
        wasmtime.Func(store, wasmtime.FuncType([real] * len(each.type.params), [real]), getattr(math, str(each.name)))
        for each in module.imports
    ]
    exports = wasmtime.Instance(store, module, functions).exports(store)
    offsets, at = [], exports["start"].value(store)
    for size in sizes:
        offsets.append(at)
        at += 8 * size * STATES * COUNT
    exports["memory"].grow(store, -(-at // 65536))
    values = np.random.default_rng(0).uniform(-1.0, 1.0, offsets[len(kernel.recipe.inputs)] // 8)
    exports["memory"].write(store, values.tobytes(), 0)
    best = math.inf
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        exports["batch"](store, STATES * COUNT, *offsets)
        best = min(best, 1e9 * (time.perf_counter() - begin) / (STATES * COUNT))
    return best


class Chromium:
    """A page of a headless browser; times are NaN where there is none."""

    def __init__(self) -> None:
        self.page: Any = None
        path = shutil.which("chromium") or shutil.which("google-chrome")
        if path is None or importlib.util.find_spec("playwright") is None:
            return
        from playwright.sync_api import sync_playwright

        self.driver = sync_playwright().start()
        self.browser = self.driver.chromium.launch(executable_path=path, args=FLAGS)
        self.page = self.browser.new_page()

    def seconds(self, given: list[Any]) -> float:
        """Nanoseconds for a state."""
        return math.nan if self.page is None else float(self.page.evaluate(TIMED, given))

    def close(self) -> None:
        if self.page is not None:
            self.browser.close()
            self.driver.stop()


def report(robots: dict[str, Robot]) -> list[str]:
    """The section of RESULTS.md."""
    lines = [
        "## Exported WebAssembly, one state, one core",
        "",
        "Bytes of the module, as they are and packed by gzip; nanoseconds for a state. Friction and rotors left out.",
        "",
        "| robot, joints | quantity | bytes | packed | made in, ms | wasmtime, ns | Node, ns | Chromium, ns |",
        "|---|---|---|---|---|---|---|---|",
    ]
    browser = Chromium()
    for name, given in robots.items():
        robot = given.without_friction().without_motors()
        for quantity in QUANTITIES:
            kernel = robot.compile(quantity)
            begin = time.perf_counter()
            binary = kernel.wasm().binary
            made = 1e3 * (time.perf_counter() - begin)
            asked = arguments(kernel, binary)
            times = (in_wasmtime(kernel, binary), in_node(asked), browser.seconds(asked))
            told = " | ".join("-" if math.isnan(x) else f"{x:.0f}" for x in times)
            packed = len(gzip.compress(binary, mtime=0))
            lines.append(f"| {name}, {robot.nv} | {quantity} | {len(binary):,} | {packed:,} | {made:.0f} | {told} |")
    browser.close()
    return [*lines, ""]


if __name__ == "__main__":
    exports.main(report, __doc__)
