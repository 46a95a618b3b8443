"""Object files for other machines, straight from LLVM; that of this one is linked and called."""

import ctypes
import platform
import shutil
import subprocess

import numpy as np
import pytest

import neuler
from c_code import compilers, expected, fused
from neuler.export.objects import MACHINES, machine_bytes

HEADS = {"thumb": b"\x7fELF", "aarch64": b"\x7fELF", "riscv64": b"\x7fELF", "x86_64": b"\x7fELF", "cortex": b"\x7fELF",
         "windows": b"\x64\x86", "macos": b"\xcf\xfa\xed\xfe", "wasm32": b"\0asm"}  # fmt: skip


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("target", MACHINES)
def test_every_target(target, dtype):
    kernel = neuler.robots.two_link().compile("inverse_dynamics", dtype=dtype)
    code = kernel.object_file(target, "torque")
    head = next(head for name, head in HEADS.items() if target.startswith(name))
    assert code.startswith(head)
    assert b"torque" in code
    if target != "wasm32":
        assert 100 < machine_bytes(code) < 20_000


@pytest.mark.skipif(
    platform.machine() != "x86_64" or platform.system() != "Linux", reason="linked on x86-64 Linux alone"
)
@pytest.mark.parametrize("target", ["x86_64", "x86_64-v3"])
@pytest.mark.parametrize(("robot", "quantity"), [("puma560", "forward_dynamics"), ("four_bar", "inverse_dynamics")])
def test_called(target, robot, quantity, tmp_path):
    if target == "x86_64-v3" and not fused():
        pytest.skip("this machine does not run x86-64-v3")
    kernel = neuler.robots.get(robot).compile(quantity)
    path = tmp_path / "f.o"
    path.write_bytes(kernel.object_file(target, "f", optimize="speed"))
    first = compilers()[next(iter(compilers()))]
    subprocess.run([*first, "-shared", "-o", tmp_path / "f.so", path, "-lm"], check=True)
    function = ctypes.CDLL(str(tmp_path / "f.so")).f
    states = kernel._sample_states(10)
    (wanted,) = expected(kernel, states)
    found = np.empty_like(wanted)
    for k in range(10):
        arguments = [np.ascontiguousarray(x[k]) for x in states.values()]
        function(
            *(x.ctypes.data_as(ctypes.c_void_p) for x in arguments), found[k : k + 1].ctypes.data_as(ctypes.c_void_p)
        )
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-11 * np.abs(wanted).max())
    if target == "x86_64-v3":
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.skipif(
    platform.machine() != "x86_64" or platform.system() != "Linux", reason="linked on x86-64 Linux alone"
)
def test_every_operation(tmp_path):
    m = neuler.math
    f = neuler.function(
        lambda x, y: np.array([
            m.exp(x), m.log(y), m.tanh(x), m.arctan2(x, y), m.power(y, 1.5), m.minimum(x, y),
            m.where(m.less(x, y), x, y), m.sign(x), m.sqrt(y), np.sin(x) * 1e3, m.absolute(x),
        ]),
        {"x": (), "y": ()},
    )  # fmt: skip
    path = tmp_path / "f.o"
    path.write_bytes(f.object_file("x86_64", "f"))
    first = compilers()[next(iter(compilers()))]
    subprocess.run([*first, "-shared", "-o", tmp_path / "f.so", path, "-lm"], check=True)
    function = ctypes.CDLL(str(tmp_path / "f.so")).f
    function.argtypes = [ctypes.c_double, ctypes.c_double, ctypes.c_void_p]
    found = np.empty(11)
    for x, y in ((0.3, 0.7), (-2.0, 5.0), (1e17, 0.1), (40.0, 1e-3)):
        function(x, y, found.ctypes.data)
        np.testing.assert_allclose(found, f(x, y), rtol=1e-13, atol=1e-15)


@pytest.mark.skipif(
    shutil.which("arm-none-eabi-gcc") is None, reason="the cross compiler arm-none-eabi-gcc is not here"
)
@pytest.mark.parametrize(("dtype", "core"), [("float32", "cortex-m4"), ("float64", "cortex-m7")])
def test_on_a_small_machine(dtype, core, tmp_path):
    """Exported C and our object file, linked for a microcontroller: nothing is missing."""
    kernel = neuler.robots.puma560().compile("inverse_dynamics", dtype=dtype)
    code = kernel.c("torque")
    code.save(tmp_path)
    (tmp_path / "ours.o").write_bytes(kernel.object_file(core, "torque"))
    flags = [f"-mcpu={core}", "-mthumb", "-mfloat-abi=hard", "-Os"]
    flags.append("-mfpu=fpv4-sp-d16" if core == "cortex-m4" else "-mfpu=fpv5-d16")
    strict = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror"]
    subprocess.run(
        ["arm-none-eabi-gcc", *flags, *strict, "-fstack-usage", "-c", "-o", tmp_path / "c.o", tmp_path / "torque.c"],
        check=True,
    )
    used = [int(line.split("\t")[1]) for line in (tmp_path / "c.su").read_text().splitlines()]
    assert 0.5 * code.memory < sum(used) <= code.memory  # as the header says
    real = "float" if dtype == "float32" else "double"
    (tmp_path / "main.c").write_text(
        f'#include "torque.h"\nint main(void) {{ static {real} q[24]; '
        "torque(q, q + 6, q + 12, q + 18); return (int)q[18]; }\n"
    )
    for part in ("c.o", "ours.o"):
        command = ["arm-none-eabi-gcc", *flags, "--specs=nosys.specs", "-o", tmp_path / "a", tmp_path / "main.c"]
        done = subprocess.run([*command, tmp_path / part, "-lm"], capture_output=True, text=True)
        assert not done.returncode, done.stderr


def test_what_is_refused():
    kernel = neuler.robots.two_link().mass_matrix
    with pytest.raises(neuler.InputError, match="did you mean 'riscv64'"):
        kernel.object_file("riscv")
    with pytest.raises(neuler.InputError, match="or a triple of these architectures"):
        kernel.object_file("no-such-machine")
    for target in ("avr-unknown-unknown", "msp430-elf", "bpf-unknown-unknown", 5):
        with pytest.raises(neuler.InputError, match="target"):
            kernel.object_file(target)
    with pytest.raises(neuler.InputError, match="a function inside"):
        kernel.object_file("x86_64", "sincos_all")
    with pytest.raises(neuler.InputError, match="'size' or 'speed'"):
        kernel.object_file(optimize="both")
    assert kernel.object_file("armv7-none-linux-gnueabihf").startswith(b"\x7fELF")
