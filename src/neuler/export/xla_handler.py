"""What every handler for XLA does with a call, as a module for LLVM: look at all buffers, then run NumPy's inner loop.

Offsets are those of ``xla/ffi/api/c_api.h`` on machines with 64 bits, the same in all versions 0.x so far.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from neuler.export.llvm_writer import I32 as _I32
from neuler.export.llvm_writer import POINTER as _P
from neuler.export.llvm_writer import WORD as _I
from neuler.export.llvm_writer import Writer

MOST_AXES = 64
"""Batch axes that a call may have."""
FACTS = ("loop", "data", "dtype", "inputs", "outputs", "records", "cores", "steps", "count", "stage", "overlap")
"""What ``answer`` reads of a function, words of 64 bits: its inner loop and the data of it, XLA's number of the element
type, how many inputs and outputs; where the records of operands are; how many strides of own axes, and where they are;
where messages are."""
RECORD = ("axes", "lengths", "bytes", "message")
"""The words of a record: axes of its own, where their lengths are, bytes of one state, where the message is."""

_METADATA, _EXECUTE, _BUFFER, _INVALID_ARGUMENT = 1, 3, 1, 3
_FRAME = {
    "size": 0, "extension": 8, "api": 16, "stage": 32, "takes": 56, "arg_types": 64, "args": 72, "gives": 96,
    "ret_types": 104, "rets": 112,
}  # fmt: skip
_FRAME_SIZE = 120
"""Bytes of a call frame up to the last field that is read."""
_BUFFERS = {"dtype": 16, "data": 24, "rank": 32, "dims": 40}
_METADATA_AT = {"major": 24, "minor": 28, "traits": 32}
_ERROR_CREATE = 48
_MXCSR = 0x1F80
"""How x86 computes when nobody has asked for anything else; XLA's threads take subnormal numbers for zero."""


def answer(triple: str, version: tuple[int, int]) -> str:
    """The module of ``XLA_FFI_Error *answer(XLA_FFI_CallFrame *, facts)``, made for a version of XLA's interface."""
    module = ir.Module()
    module.triple = triple
    function = ir.Function(module, ir.FunctionType(_P, [_P, _P]), "answer")
    _Handler(function, triple, version).write()
    return str(module)


class _Handler(Writer):
    """The body of ``answer``, written from top to bottom."""

    def __init__(self, function: Any, triple: str, version: tuple[int, int]) -> None:
        self.module, self.triple, self.version = function.module, triple, version
        self.frame, facts = function.args
        super().__init__(function)
        self.fact = {name: self.load(facts, _word(k)) for k, name in enumerate(FACTS)}

    def of_frame(self, name: str, kind: Any = _I) -> Any:
        return self.load(self.frame, _I(_FRAME[name]), kind)

    def pointer(self, name: str) -> Any:
        return self.build.inttoptr(self.fact[name], _P)

    def demand(self, condition: Any, message: Any) -> None:
        """Go on if it holds, else hand XLA an error."""
        with self.build.if_then(self.build.not_(condition), likely=False):
            words = self.array(_I(4))
            told = [_I(28), _I(0), message, _I(_INVALID_ARGUMENT)]
            for k, word in enumerate(told):
                self.put(word, words, _I(k))
            create = self.function(self.load(self.of_frame("api", _P), _I(_ERROR_CREATE)), _P, [_P])
            self.build.ret(self.build.call(create, [words]))

    # ---- the handler -----------------------------------------------------------------------------------------------

    def write(self) -> None:
        build, fact = self.build, self.fact
        self.metadata()
        executes = self.equal(self.of_frame("stage", _I32), _I32(_EXECUTE))
        whole = build.icmp_unsigned(">=", self.of_frame("size"), _I(_FRAME_SIZE))
        self.demand(build.and_(executes, whole), fact["stage"])
        takes = self.equal(self.of_frame("takes"), fact["inputs"])
        gives = self.equal(self.of_frame("gives"), fact["outputs"])
        self.demand(build.and_(takes, gives), fact["count"])

        self.operands = build.add(fact["inputs"], fact["outputs"])
        self.buffers = self.array(self.operands, _P)
        self.pointers = self.array(self.operands, _P)
        self.spans = self.array(self.operands)
        self.strides = self.array(build.mul(self.operands, _I(MOST_AXES + 1)))  # of batch axes, axis by axis
        self.lengths = self.array(_I(MOST_AXES + 1))
        self.find_buffers()
        self.measure()
        self.refuse_overlaps()
        self.run(self.merge())
        build.ret(_P(None))

    def metadata(self) -> None:
        """XLA asks at registration, by an extension of the call, which version a handler is made for."""
        build = self.build
        extension = self.of_frame("extension", _P)
        with build.if_then(build.not_(self.equal(extension, _P(None)))):
            asked = self.equal(self.load(extension, _I(8), _I32), _I32(_METADATA))
            with build.if_then(asked):
                told = self.load(extension, _I(24), _P)
                for name, number in zip(_METADATA_AT, (*self.version, 0), strict=True):
                    build.store(_I32(number), self.at(told, _I(_METADATA_AT[name])))
                build.ret(_P(None))

    def record(self, k: Any, name: str) -> Any:
        row = self.build.mul(k, _I(len(RECORD)))
        return self.item(self.pointer("records"), self.build.add(row, _I(RECORD.index(name))))

    def find_buffers(self) -> None:
        """All operands, inputs first, as buffers; the batch axes are those of the first result."""
        build, inputs = self.build, self.fact["inputs"]
        with self.each(self.operands) as k:
            inward = build.icmp_unsigned("<", k, inputs)
            place = build.select(inward, k, build.sub(k, inputs))
            kinds = build.select(inward, self.of_frame("arg_types", _P), self.of_frame("ret_types", _P))
            array = build.select(inward, self.of_frame("args", _P), self.of_frame("rets", _P))
            self.demand(self.equal(self.item(kinds, place, _I32), _I32(_BUFFER)), self.record(k, "message"))
            self.put(self.item(array, place, _P), self.buffers, k)
        first = self.item(self.buffers, inputs, _P)
        self.axes = build.sub(self.load(first, _I(_BUFFERS["rank"])), self.record(inputs, "axes"))
        self.demand(build.icmp_unsigned("<=", self.axes, _I(MOST_AXES)), self.record(inputs, "message"))
        self.batch = self.load(first, _I(_BUFFERS["dims"]), _P)

    def measure(self) -> None:
        """Types and lengths of all buffers; bytes from one row to the next along each batch axis."""
        build = self.build
        wanted = build.trunc(self.fact["dtype"], _I32)
        with self.each(self.operands) as k:
            buffer, message, own = self.item(self.buffers, k, _P), self.record(k, "message"), self.record(k, "axes")
            self.demand(self.equal(self.load(buffer, _I(_BUFFERS["dtype"]), _I32), wanted), message)
            rank = self.load(buffer, _I(_BUFFERS["rank"]))
            self.demand(self.equal(rank, build.add(self.axes, own)), message)
            dims = self.load(buffer, _I(_BUFFERS["dims"]), _P)
            lengths = build.inttoptr(self.record(k, "lengths"), _P)
            with self.each(own) as axis:
                length = self.item(dims, build.add(self.axes, axis))
                self.demand(self.equal(length, self.item(lengths, axis)), message)
            step = self.variable(self.record(k, "bytes"))
            inward = build.icmp_unsigned("<", k, self.fact["inputs"])
            with self.each(self.axes) as j:
                axis = self.last(j)
                length = self.item(dims, axis)
                full = self.equal(length, self.item(self.batch, axis))
                once = build.and_(inward, self.equal(length, _I(1)))
                self.demand(build.or_(full, once), message)
                stride = build.select(full, self.value(step), _I(0))
                self.put(stride, self.strides, self.cell(axis, k))
                self.product(step, length)
            self.put(self.load(buffer, _I(_BUFFERS["data"]), _P), self.pointers, k)
            self.put(self.value(step), self.spans, k)
        nothing = self.equal(self.item(self.spans, self.fact["inputs"]), _I(0))
        with build.if_then(nothing):  # an empty batch
            build.ret(_P(None))

    def last(self, j: Any) -> Any:
        """Batch axis j from the end."""
        return self.build.sub(self.build.sub(self.axes, _I(1)), j)

    def cell(self, axis: Any, k: Any) -> Any:
        return self.build.add(self.build.mul(axis, self.operands), k)

    def refuse_overlaps(self) -> None:
        """Results are written while arguments are still read."""
        build = self.build

        def ends(k: Any) -> tuple[Any, Any]:
            start = build.ptrtoint(self.item(self.pointers, k, _P), _I)
            return start, build.add(start, self.item(self.spans, k))

        with self.each(self.fact["outputs"]) as j:
            k = build.add(self.fact["inputs"], j)
            start, end = ends(k)
            with self.each(k) as other:
                first, past = ends(other)
                before = build.icmp_unsigned("<=", end, first)
                behind = build.icmp_unsigned("<=", past, start)
                self.demand(build.or_(before, behind), self.fact["overlap"])

    def merge(self) -> Any:
        """Join batch axes that all operands step through as one: they are rows ``kept`` to ``axes`` of the strides."""
        build = self.build
        kept = self.variable(self.axes)
        with self.each(self.axes) as j:
            axis = self.last(j)
            length = self.item(self.batch, axis)
            with build.if_then(build.not_(self.equal(length, _I(1)))):
                at = self.value(kept)
                joins = self.variable(build.icmp_unsigned("<", at, self.axes))
                with self.each(self.operands) as k, build.if_then(self.value(joins, ir.IntType(1))):
                    span = build.mul(self.item(self.strides, self.cell(at, k)), self.item(self.lengths, at))
                    build.store(self.equal(span, self.item(self.strides, self.cell(axis, k))), joins)
                with build.if_else(self.value(joins, ir.IntType(1))) as (joined, alone):
                    with joined:
                        self.put(build.mul(self.item(self.lengths, at), length), self.lengths, at)
                    with alone:
                        new = build.sub(at, _I(1))
                        build.store(new, kept)
                        self.put(length, self.lengths, new)
                        self.move_row(axis, new)
        return self.value(kept)

    def move_row(self, source: Any, goal: Any) -> None:
        with self.each(self.operands) as k:
            self.put(self.item(self.strides, self.cell(source, k)), self.strides, self.cell(goal, k))

    def run(self, kept: Any) -> None:
        """The inner loop along the longest axis, for each place along the others."""
        build, fact = self.build, self.fact
        steps = self.array(build.add(self.operands, fact["cores"]))
        with self.each(fact["cores"]) as j:
            self.put(self.item(self.pointer("steps"), j), steps, build.add(self.operands, j))
        with self.each(self.operands) as k:
            self.put(_I(0), steps, k)
        rows, calls, outer = self.variable(_I(1)), self.variable(_I(1)), self.variable(kept)
        with build.if_then(build.icmp_unsigned("<", kept, self.axes)):
            inner = self.variable(kept)
            with self.each(build.sub(self.axes, kept)) as j:
                axis = build.add(kept, j)
                length = self.item(self.lengths, axis)
                self.product(calls, length)
                with build.if_then(build.icmp_unsigned(">", length, self.item(self.lengths, self.value(inner)))):
                    build.store(axis, inner)
            at = self.value(inner)
            build.store(self.item(self.lengths, at), rows)
            build.store(build.udiv(self.value(calls), self.value(rows)), calls)
            with self.each(self.operands) as k:
                self.put(self.item(self.strides, self.cell(at, k)), steps, k)
            self.move_row(kept, at)  # the first axis takes its place
            self.put(self.item(self.lengths, kept), self.lengths, at)
            build.store(build.add(kept, _I(1)), outer)
        turns = self.array(_I(MOST_AXES + 1))
        with self.each(self.axes) as axis:
            self.put(_I(0), turns, axis)
        loop = self.function(fact["loop"], ir.VoidType(), [_P] * 4)
        mode = self.plain_arithmetic()
        with self.each(self.value(calls)):
            build.call(loop, [self.pointers, rows, steps, self.pointer("data")])
            self.advance(turns, self.value(outer))
        self.restore_arithmetic(mode)

    def advance(self, turns: Any, outer: Any) -> None:
        """One place further along the outer axes, the last one first."""
        build = self.build
        moving = self.variable(ir.IntType(1)(1))
        with self.each(build.sub(self.axes, outer)) as j, build.if_then(self.value(moving, ir.IntType(1))):
            axis = self.last(j)
            length, turn = self.item(self.lengths, axis), build.add(self.item(turns, axis), _I(1))
            over = self.equal(turn, length)
            self.put(build.select(over, _I(0), turn), turns, axis)
            build.store(over, moving)
            back = build.select(over, build.sub(_I(1), length), _I(1))
            with self.each(self.operands) as k:
                stride = self.item(self.strides, self.cell(axis, k))
                self.put(self.at(self.item(self.pointers, k, _P), build.mul(stride, back)), self.pointers, k)

    # ---- how the machine computes -----------------------------------------------------------------------------------

    def plain_arithmetic(self) -> Any:
        """Subnormal numbers are numbers, as where NumPy calls; what was before."""
        build = self.build
        if self.triple.startswith(("x86_64", "amd64")):
            before, plain = self.variable(_I32(0)), self.variable(_I32(_MXCSR))
            build.call(self.intrinsic("llvm.x86.sse.stmxcsr", ir.VoidType(), [_P]), [before])
            build.call(self.intrinsic("llvm.x86.sse.ldmxcsr", ir.VoidType(), [_P]), [plain])
            return before
        if self.triple.startswith(("aarch64", "arm64")):
            before = build.call(self.intrinsic("llvm.aarch64.get.fpcr", _I, []), [])
            build.call(self.intrinsic("llvm.aarch64.set.fpcr", ir.VoidType(), [_I]), [_I(0)])
            return before
        return None

    def restore_arithmetic(self, before: Any) -> None:
        if self.triple.startswith(("x86_64", "amd64")):
            self.build.call(self.intrinsic("llvm.x86.sse.ldmxcsr", ir.VoidType(), [_P]), [before])
        elif before is not None:
            self.build.call(self.intrinsic("llvm.aarch64.set.fpcr", ir.VoidType(), [_I]), [before])

    def intrinsic(self, name: str, gives: Any, takes: list[Any]) -> Any:
        known = self.module.globals.get(name)
        return known or ir.Function(self.module, ir.FunctionType(gives, takes), name)


def _word(k: int) -> Any:
    return _I(8 * k)
