"""Exported C, compiled and called: with every compiler that is here, the one of the package ziglang among them."""

import ctypes
import functools
import importlib.util
import shutil
import subprocess
import sys

import numpy as np

STRICT = ("-std=c99", "-Wall", "-Wextra", "-Wconversion", "-pedantic", "-Werror")
EXACT = ("-O1", "-ffp-contract=off")


@functools.cache
def compilers():
    """Commands by name."""
    found = {name: [shutil.which(name)] for name in ("gcc", "clang") if shutil.which(name)}
    if importlib.util.find_spec("ziglang"):
        found["zig"] = [sys.executable, "-m", "ziglang", "cc"]
    return found


def native(compiler):
    """The flag for this machine's own instructions."""
    return "-march=native"


@functools.cache
def fused():
    """Whether this machine multiplies and adds in one operation, by the word of a compiler."""
    first = next(iter(compilers()))
    done = subprocess.run(
        [*compilers()[first], "-march=native", "-dM", "-E", "-x", "c", "-"], input="", capture_output=True, text=True
    )
    return "__FMA__" in done.stdout or "__ARM_FEATURE_FMA" in done.stdout


def compiled(code, folder, compiler=None, *flags):
    """The library of exported code; a warning is an error."""
    compiler = compiler or next(iter(compilers()))
    code.save(folder)
    target = folder / f"{code.name}_{compiler}_{len(list(folder.iterdir()))}.so"
    command = [*compilers()[compiler], *STRICT, *EXACT, native(compiler), *flags, "-shared", "-fPIC"]
    done = subprocess.run([*command, "-o", target, folder / f"{code.name}.c", "-lm"], capture_output=True, text=True)
    assert not done.returncode, done.stderr[:3000]
    return ctypes.CDLL(str(target))


def ran(code, folder, compiler=None, *flags):
    """What the test that comes with the code says."""
    compiler = compiler or next(iter(compilers()))
    code.save(folder)
    target = folder / f"{code.name}_test"
    command = [*compilers()[compiler], *STRICT, *EXACT, native(compiler), *flags, "-o", target]
    done = subprocess.run(
        [*command, folder / f"{code.name}_test.c", folder / f"{code.name}.c", "-lm"], capture_output=True, text=True
    )
    assert not done.returncode, done.stderr[:3000]
    return subprocess.run([target], capture_output=True, text=True)


def called(library, name, kernel, states, dtype=float):
    """Results of one call for each state, as the kernel gives them: a list of arrays."""
    function = getattr(library, name)
    real = ctypes.c_double if dtype is float else ctypes.c_float
    count = len(next(iter(states.values())))
    results = [np.empty((count, *operand.shape), dtype) for operand in kernel.outputs]
    for i in range(count):
        arguments, held = [], []
        for operand in kernel.inputs:
            value = np.ascontiguousarray(states[operand.name][i], dtype)
            held.append(value)
            arguments.append(value.ctypes.data_as(ctypes.c_void_p) if operand.shape else real(float(value[0])))
        for each in results:
            arguments.append(each[i : i + 1].ctypes.data_as(ctypes.c_void_p))
        function(*arguments)
    return results


def in_columns(library, name, kernel, states, dtype=float):
    """Results of the loop over columns."""
    count = len(next(iter(states.values())))
    columns = [np.ascontiguousarray(states[x.name].reshape(count, x.size).T, dtype) for x in kernel.inputs]
    results = [np.empty((x.size, count), dtype) for x in kernel.outputs]
    pointers = [x.ctypes.data_as(ctypes.c_void_p) for x in (*columns, *results)]
    getattr(library, f"{name}_batch")(ctypes.c_size_t(count), *pointers)
    return [each.T.reshape(count, *x.shape) for each, x in zip(results, kernel.outputs, strict=True)]


def expected(kernel, states):
    """The kernel's own results, as a list."""
    found = kernel(*(states[operand.name] for operand in kernel.inputs))
    return [np.asarray(x) for x in (found if isinstance(found, tuple) else (found,))]


def same(found, wanted):
    """Bit for bit where the machine fuses, NaN for NaN; else within rounding."""
    for ours, theirs in zip(found, wanted, strict=True):
        assert (np.isnan(ours) == np.isnan(theirs)).all()
        good = ~np.isnan(theirs)
        if fused():
            np.testing.assert_array_equal(ours[good], theirs[good])
        elif good.any():
            scale = np.abs(theirs[good]).max()
            np.testing.assert_allclose(ours[good], theirs[good], rtol=0.0, atol=1e-12 * scale)
