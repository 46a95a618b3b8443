"""A function as an object file for another machine, straight from LLVM: no compiler is needed.

The file has one C function, ``void NAME(const double *q, ..., double *tau)``, and calls the target's C library for
sines (``sincos`` is ours up to the limit of its quick reduction), exponentials and the like.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from typing import Any

from neuler.compiler import trig
from neuler.compiler.elementary import FUNCTIONS, INLINE
from neuler.compiler.llvm import Emitter
from neuler.compiler.lower import lower
from neuler.compiler.schedule import Schedule
from neuler.compiler.target import Target, llvm_binding
from neuler.errors import CompileError, InputError
from neuler.export.interface import Interface
from neuler.naming import hint


@dataclass(frozen=True)
class Machine:
    """A target as LLVM names it."""

    triple: str
    cpu: str = ""
    features: str = ""
    fma: bool = False
    abi: str = ""


MACHINES = {
    "thumbv7em": Machine("thumbv7em-unknown-none-eabihf", "cortex-m4"),
    "cortex-m4": Machine("thumbv7em-unknown-none-eabihf", "cortex-m4"),
    "cortex-m7": Machine("thumbv7em-unknown-none-eabihf", "cortex-m7", "", True),
    "cortex-m33": Machine("thumbv8m.main-unknown-none-eabihf", "cortex-m33"),
    "aarch64": Machine("aarch64-unknown-linux-gnu", "", "", True),
    "riscv64": Machine("riscv64-unknown-linux-gnu", "", "+m,+a,+f,+d,+c", True, "lp64d"),
    "x86_64": Machine("x86_64-unknown-linux-gnu", "x86-64"),
    "x86_64-v3": Machine("x86_64-unknown-linux-gnu", "x86-64-v3", "", True),
    "windows": Machine("x86_64-pc-windows-msvc", "x86-64"),
    "macos": Machine("arm64-apple-macosx11.0.0", "", "", True),
    "macos-x86_64": Machine("x86_64-apple-macosx11.0.0", "x86-64"),
    "wasm32": Machine("wasm32-unknown-unknown"),
}
"""By the names that ``target`` takes."""


_ARCHITECTURES = ("x86_64", "i686", "i386", "aarch64", "arm", "thumb", "riscv32", "riscv64", "powerpc64", "wasm")
"""Of triples: on others LLVM has no code for doubles, or ends the process."""
_INSIDE = r"sincos_\w+|neuler_\w+|chunk\d+|table\d+|numbers|reduce_\w+|clear"
"""Names of what stands in a module."""


def object_file(interface: Interface, target: str = "x86_64", dtype: str = "float64", optimize: str = "size") -> bytes:
    """The object file of an interface for one of ``MACHINES``, or for any triple that LLVM has code for."""
    if not isinstance(target, str):
        raise InputError(f"object: target must be a text, got {target!r:.60}")
    if re.fullmatch(_INSIDE, interface.name):
        raise InputError(f"object: {interface.name!r} is the name of a function inside; give another name")
    machine = MACHINES.get(target)
    if machine is None:
        if "-" not in target or not target.startswith(_ARCHITECTURES) or not _known_triple(target):
            raise InputError(
                f"object: there is no target {target!r}; {hint(target, MACHINES)}, or a triple of these architectures, "
                "such as 'armv7-none-linux-gnueabihf'"
            )
        machine = Machine(target)
    if optimize not in ("size", "speed"):
        raise InputError(f"object: optimize must be 'size' or 'speed', got {optimize!r}")
    schedule = lower(interface.recipe, fma=machine.fma and not (dtype == "float64" and machine.cpu == "cortex-m4"))
    text = _module(interface, schedule, machine, dtype)
    return _assembled(text, machine, optimize)


@functools.cache
def _all_targets() -> Any:
    llvm = llvm_binding()
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    return llvm


def _known_triple(triple: str) -> bool:
    try:
        _all_targets().Target.from_triple(triple)
    except RuntimeError:
        return False
    return True


def _assembled(text: str, machine: Machine, optimize: str) -> bytes:
    llvm = _all_targets()
    try:
        maker = llvm.Target.from_triple(machine.triple).create_target_machine(
            cpu=machine.cpu, features=machine.features, opt=2, reloc="static" if "none" in machine.triple else "pic",
            codemodel="default" if "none" in machine.triple else "small", abiname=machine.abi,
        )  # fmt: skip
        module = llvm.parse_assembly(text)
        module.verify()
        tuning = llvm.create_pipeline_tuning_options(2)
        tuning.size_level = 1 if optimize == "size" else 0
        builder = llvm.create_pass_builder(maker, tuning)
        builder.getModulePassManager().run(module, builder)
        return bytes(maker.emit_object(module))
    except RuntimeError as error:
        raise CompileError(f"LLVM made no object file for {machine.triple}: {error}") from error


def _module(interface: Interface, schedule: Schedule, machine: Machine, dtype: str) -> str:
    size = 8 if dtype == "float64" else 4
    target = Target(machine.triple, machine.cpu, machine.features, size, machine.fma)
    emitter = Emitter(schedule, target, dtype, 1)
    body, calls = emitter.stages(schedule)
    scalar = emitter.scalar
    operands = [*interface.recipe.inputs, *interface.recipe.outputs]
    own = [
        f"{scalar} %a{k}" if k < len(interface.recipe.inputs) and not x.shape else f"ptr noalias %a{k}"
        for k, x in enumerate(operands)
    ]
    lines = [
        f"define void @{interface.name}({', '.join(own)}) #0 {{",
        f"  %m = alloca [{schedule.slots} x {scalar}], align 16",
    ]
    slot = 0
    for k, operand in enumerate(operands):
        if k == len(interface.recipe.inputs):
            for number, value in schedule.constants:
                lines += [
                    f"  %k{number} = getelementptr {scalar}, ptr %m, i32 {number}",
                    f"  store {emitter.vector} {emitter.constant(value)}, ptr %k{number}",
                ]
            lines += calls
        for j in range(operand.size):
            lines.append(f"  %s{slot} = getelementptr {scalar}, ptr %m, i32 {slot}")
            place = f"%p{slot}"
            if k < len(interface.recipe.inputs) and not operand.shape:
                lines.append(f"  store {scalar} %a{k}, ptr %s{slot}")
            else:
                lines.append(f"  {place} = getelementptr {scalar}, ptr %a{k}, i32 {j}")
                source, goal = (place, f"%s{slot}") if k < len(interface.recipe.inputs) else (f"%s{slot}", place)
                lines += [f"  %v{slot} = load {scalar}, ptr {source}", f"  store {scalar} %v{slot}, ptr {goal}"]
            slot += 1
    lines += ["  ret void", "}"]
    text = "\n".join([*body, "\n".join(lines)])
    parts = [text, *_support(text, emitter, machine, dtype)]
    if emitter.numbers:
        every = ", ".join(f"{emitter.vector} {number}" for number in emitter.numbers)
        parts.append(f"@numbers = internal constant [{len(emitter.numbers)} x {emitter.vector}] [{every}], align 64")
    parts += [
        f"@{name} = constant [{len(places)} x i32] [{', '.join(f'i32 {k}' for k in places)}], align 4"
        for name, places in interface.structure().items()
    ]
    whole = "\n".join(parts)
    for intrinsic in ("fma", "copysign", "sqrt", "arithmetic.fence"):
        kinds = {f"v1f{bits}" for bits in (32, 64) if f"@llvm.{intrinsic}.v1f{bits}" in whole}
        for kind in sorted(kinds):
            v = "<1 x float>" if kind.endswith("32") else "<1 x double>"
            count = {"fma": 3, "copysign": 2}.get(intrinsic, 1)
            whole += f"\ndeclare {v} @llvm.{intrinsic}.{kind}({', '.join([v] * count)})"
    head = [
        f'target triple = "{machine.triple}"',
        "attributes #0 = { nounwind }",
        "attributes #1 = { nounwind noinline }",
        "attributes #2 = { nounwind noinline cold }",
        '!0 = !{!"branch_weights", i32 1, i32 1000000}',
        "!3 = !{}",
    ]
    return "\n".join([*head, whole, ""])


def _support(text: str, emitter: Emitter, machine: Machine, dtype: str) -> list[str]:
    """Sines, and functions of the C library behind the names that stages call."""
    found: list[str] = []
    library: set[tuple[str, str]] = set()
    if "@sincos_all(" in text:
        found.append(trig.quick(1, machine.fma and emitter.target.fma))
        found.append(_far())
        library |= {("sin", "double"), ("cos", "double")}
    if "@sincos_floats(" in text:
        found.append(_floats())
        library |= {("sinf", "float"), ("cosf", "float")}
    for name in sorted(FUNCTIONS):
        if name in INLINE or f"@neuler_{name}(" not in text:
            continue
        count = FUNCTIONS[name][0]
        arguments = [f"<1 x double> %a{k}" for k in range(count)]
        reads = [f"  %x{k} = extractelement <1 x double> %a{k}, i32 0" for k in range(count)]
        values = ", ".join(f"double %x{k}" for k in range(count))
        found.append("\n".join([
            f"define internal <1 x double> @neuler_{name}({', '.join(arguments)}) #0 {{", *reads,
            f"  %y = call double @{name}({values})",
            "  %v = insertelement <1 x double> poison, double %y, i32 0",
            "  ret <1 x double> %v", "}",
        ]))  # fmt: skip
        library.add((name, "double" if count == 1 else "double, double"))
    for name, takes in sorted(library):
        result = takes.split(",")[0]
        found.append(f"declare {result} @{name}({takes})")
    return found


def _far() -> str:
    return """define internal void @sincos_far(ptr %px, ptr %ps, ptr %pc) #2 {
  %x = load double, ptr %px
  %s = call double @sin(double %x)
  %c = call double @cos(double %x)
  store double %s, ptr %ps
  store double %c, ptr %pc
  ret void
}"""


def _floats() -> str:
    """Sines in single precision are the C library's."""
    reads = "\n".join(
        f"  %i{name} = add i64 %row, {k}\n  %t{name} = getelementptr i32, ptr %table, i64 %i{name}\n"
        f"  %o{name} = load i32, ptr %t{name}\n  %p{name} = getelementptr i8, ptr %m, i32 %o{name}"
        for k, name in enumerate("xsc")
    )
    return f"""define internal void @sincos_floats(ptr %m, ptr %table, i64 %count) #1 {{
  br label %pair
pair:
  %j = phi i64 [ 0, %0 ], [ %j1, %pair ]
  %row = mul i64 %j, 3
{reads}
  %x = load float, ptr %px
  %s = call float @sinf(float %x)
  %c = call float @cosf(float %x)
  store float %s, ptr %ps
  store float %c, ptr %pc
  %j1 = add i64 %j, 1
  %end = icmp eq i64 %j1, %count
  br i1 %end, label %out, label %pair
out:
  ret void
}}"""


def machine_bytes(code: bytes) -> int:
    """Bytes of machine code and constants in an object file.

    >>> import neuler
    >>> machine_bytes(neuler.robots.two_link().inverse_dynamics.object_file("cortex-m7")) > 300
    True
    """
    total = 0
    for section in _all_targets().ObjectFileRef.from_data(code).sections():
        name = section.name() or b""
        if section.is_text() or name.startswith((b".rodata", b".rdata", b"__const", b"__literal")):
            total += section.size()
    return total
