"""LLVM text to object code, and object code to an address in this process."""

from __future__ import annotations

from typing import Any

from neuler.compiler.target import Target, llvm_binding
from neuler.errors import CompileError


def object_code(text: str, target: Target) -> bytes:
    """Compile a module to an object file, in memory."""
    llvm = llvm_binding()
    try:
        module = llvm.parse_assembly(text)
    except RuntimeError as error:
        raise CompileError(f"the emitted code is not valid LLVM: {error}") from error
    return target.machine().emit_object(module)


def load(code: bytes, target: Target) -> tuple[int, Any]:
    """Link an object file into this process: the address of ``loop`` and the owner of the code."""
    llvm = llvm_binding()
    empty = llvm.parse_assembly(f'target triple = "{target.triple}"\n')
    engine = llvm.create_mcjit_compiler(empty, target.machine(), use_lmm=True)
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    address = engine.get_function_address("loop")
    if not address:
        raise CompileError("the object file has no function 'loop'")
    return address, engine
