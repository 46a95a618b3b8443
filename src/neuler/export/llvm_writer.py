"""Functions for LLVM written like C: arrays, variables and loops, over the builder of llvmlite."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from llvmlite import ir

WORD, I32, POINTER = ir.IntType(64), ir.IntType(32), ir.PointerType()


class Writer:
    """Writes the body of a function from top to bottom; numbers are words of 64 bits unless told otherwise."""

    def __init__(self, function: Any) -> None:
        self.build = ir.IRBuilder(function.append_basic_block("begin"))

    def at(self, pointer: Any, offset: Any) -> Any:
        """A pointer so many bytes further."""
        return self.build.gep(pointer, [offset], source_etype=ir.IntType(8))

    def load(self, pointer: Any, offset: Any, kind: Any = WORD) -> Any:
        """What stands so many bytes further."""
        return self.build.load(self.at(pointer, offset), typ=kind)

    def item(self, array: Any, k: Any, kind: Any = WORD) -> Any:
        """Number k of an array."""
        return self.build.load(self.build.gep(array, [k], source_etype=kind), typ=kind)

    def put(self, value: Any, array: Any, k: Any) -> None:
        """Set number k of an array."""
        self.build.store(value, self.build.gep(array, [k], source_etype=value.type))

    def function(self, address: Any, gives: Any, takes: list[Any]) -> Any:
        """A function of C at an address."""
        return self.build.inttoptr(address, ir.FunctionType(gives, takes).as_pointer())

    def array(self, count: Any, kind: Any = WORD) -> Any:
        """Room for numbers, until the function returns."""
        return self.build.alloca(kind, count)

    def variable(self, start: Any) -> Any:
        """A variable with its first value."""
        with self.build.goto_entry_block():
            made = self.build.alloca(start.type)
        self.build.store(start, made)
        return made

    def value(self, variable: Any, kind: Any = WORD) -> Any:
        """What a variable holds now."""
        return self.build.load(variable, typ=kind)

    def product(self, variable: Any, factor: Any) -> None:
        """Multiply a variable."""
        self.build.store(self.build.mul(self.value(variable), factor), variable)

    def equal(self, a: Any, b: Any) -> Any:
        """Whether two words are the same."""
        return self.build.icmp_unsigned("==", a, b)

    @contextlib.contextmanager
    def each(self, count: Any) -> Iterator[Any]:
        """For k in range(count)."""
        at = self.variable(WORD(0))
        head, body, after = (self.build.append_basic_block() for _ in range(3))
        self.build.branch(head)
        self.build.position_at_end(head)
        k = self.value(at)
        self.build.cbranch(self.build.icmp_unsigned("<", k, count), body, after)
        self.build.position_at_end(body)
        yield k
        self.build.store(self.build.add(k, WORD(1)), at)
        self.build.branch(head)
        self.build.position_at_end(after)
