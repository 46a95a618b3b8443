"""Data movement as LLVM text: arrays of any strides to vectors of states and back, and NumPy's loop."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from math import prod


def round_to_float32(x: float) -> float:
    """The nearest single-precision number (infinite where it is too large)."""
    try:
        return struct.unpack("<f", struct.pack("<f", x))[0]
    except OverflowError:
        return float("inf") if x > 0 else float("-inf")


def sincos_of_floats(lanes: int) -> str:
    """Single precision goes through the double-precision function: correctly rounded in nearly all cases."""
    f, d = f"<{lanes} x float>", f"<{lanes} x double>"
    offsets = ", ".join(f"i32 {k * lanes * 8}" for k in range(3))
    get = "\n".join(
        f"  %i{name} = add i64 %row, {k}\n  %t{name} = getelementptr i32, ptr %table, i64 %i{name}\n"
        f"  %o{name} = load i32, ptr %t{name}\n  %p{name} = getelementptr i8, ptr %m, i32 %o{name}"
        for k, name in enumerate("xsc")
    )
    return f"""@wide = internal constant [3 x i32] [{offsets}]
define internal void @sincos_floats(ptr %m, ptr %table, i64 %count) #1 {{
  %d = alloca [3 x {d}], align 64
  %d1 = getelementptr {d}, ptr %d, i64 1
  %d2 = getelementptr {d}, ptr %d, i64 2
  br label %pair
pair:
  %j = phi i64 [ 0, %0 ], [ %j1, %pair ]
  %row = mul i64 %j, 3
{get}
  %v = load {f}, ptr %px
  %w = fpext {f} %v to {d}
  store {d} %w, ptr %d, align 64
  call void @sincos_all(ptr %d, ptr @wide, i64 1)
  %ws = load {d}, ptr %d1, align 64
  %wc = load {d}, ptr %d2, align 64
  %fs = fptrunc {d} %ws to {f}
  %fc = fptrunc {d} %wc to {f}
  store {f} %fs, ptr %ps
  store {f} %fc, ptr %pc
  %j1 = add i64 %j, 1
  %end = icmp eq i64 %j1, %count
  br i1 %end, label %out, label %pair
out:
  ret void
}}"""


ON_STACK = 16 * 1024
"""Bytes of scratch up to which it lives on the stack; a larger one comes from a pool of buffers."""
POOL = 64
"""Buffers in the pool: calls of one kernel that can be under way at once before one has to wait."""


def pool_stride(scratch: int) -> int:
    """Bytes from one buffer of the pool to the next."""
    return -(-scratch // 4096) * 4096 + 64  # not a multiple of a page: buffers must not share cache sets


class Loop:
    """NumPy's inner loop around the stages of a plan."""

    def __init__(self, lanes: int, scalar: str, slots: int, *, on_stack: int = ON_STACK) -> None:
        self.on_stack = on_stack
        self.lanes = lanes
        self.scalar = scalar
        self.bytes = 8 if scalar == "double" else 4
        self.slots = slots
        self.vector = f"<{lanes} x {scalar}>"

    def emit(
        self,
        inputs: Sequence[tuple[int, ...]],
        outputs: Sequence[tuple[int, ...]],
        calls: Sequence[str],
        once: Sequence[str] = (),
    ) -> str:
        """The functions that move data, and ``@loop`` around the calls of the stages; ``once`` runs before them."""
        return "\n".join(
            [self._walk("gather"), self._walk("scatter"), self._spread(), self._load(),
             self._save(), *self._loop(inputs, outputs, calls, once)]
        )  # fmt: skip

    # ---- any strides ------------------------------------------------------------------------

    def _walk(self, way: str) -> str:
        """Elements one by one: three core axes, then the states; gathering repeats the last state."""
        s, size = self.scalar, self.bytes
        gather = way == "gather"
        top = self.lanes if gather else "%rows"
        lane = (
            "  %past = icmp ult i64 %l, %rows\n  %last = sub i64 %rows, 1\n  %row = select i1 %past, i64 %l, i64 %last"
            if gather
            else "  %row = add i64 %l, 0"
        )
        move = (
            f"  %e = load {s}, ptr %from, align 1\n  store {s} %e, ptr %to, align {size}"
            if gather
            else f"  %e = load {s}, ptr %to, align {size}\n  store {s} %e, ptr %from, align 1"
        )
        axes = ", ".join(f"i64 %n{k}, i64 %s{k}" for k in range(3))
        return f"""define internal void @{way}(ptr %base, i64 %step, i64 %rows, ptr %m, {axes}) #1 {{
  br label %i0
i0:
  %a = phi i64 [ 0, %0 ], [ %a1, %end0 ]
  %k0 = phi i64 [ 0, %0 ], [ %k2, %end0 ]
  %oa = mul i64 %a, %s0
  br label %i1
i1:
  %b = phi i64 [ 0, %i0 ], [ %b1, %end1 ]
  %k1 = phi i64 [ %k0, %i0 ], [ %k2, %end1 ]
  %ob = mul i64 %b, %s1
  %oab = add i64 %oa, %ob
  br label %i2
i2:
  %c = phi i64 [ 0, %i1 ], [ %c1, %end2 ]
  %k = phi i64 [ %k1, %i1 ], [ %k2, %end2 ]
  %oc = mul i64 %c, %s2
  %off = add i64 %oab, %oc
  %p = getelementptr i8, ptr %base, i64 %off
  %cell = getelementptr {self.vector}, ptr %m, i64 %k
  br label %lane
lane:
  %l = phi i64 [ 0, %i2 ], [ %l1, %lane ]
{lane}
  %o = mul i64 %row, %step
  %from = getelementptr i8, ptr %p, i64 %o
  %to = getelementptr {s}, ptr %cell, i64 %l
{move}
  %l1 = add i64 %l, 1
  %dl = icmp eq i64 %l1, {top}
  br i1 %dl, label %end2, label %lane
end2:
  %k2 = add i64 %k, 1
  %c1 = add i64 %c, 1
  %dc = icmp eq i64 %c1, %n2
  br i1 %dc, label %end1, label %i2
end1:
  %b1 = add i64 %b, 1
  %db = icmp eq i64 %b1, %n1
  br i1 %db, label %end0, label %i1
end0:
  %a1 = add i64 %a, 1
  %da = icmp eq i64 %a1, %n0
  br i1 %da, label %out, label %i0
out:
  ret void
}}"""

    def _spread(self) -> str:
        """One contiguous state to every lane."""
        s, v = self.scalar, self.vector
        return f"""define internal void @spread(ptr %base, ptr %m, i64 %n) #1 {{
  br label %next
next:
  %k = phi i64 [ 0, %0 ], [ %k1, %next ]
  %p = getelementptr {s}, ptr %base, i64 %k
  %e = load {s}, ptr %p, align 1
  %i = insertelement {v} poison, {s} %e, i64 0
  %w = shufflevector {v} %i, {v} poison, <{self.lanes} x i32> zeroinitializer
  %cell = getelementptr {v}, ptr %m, i64 %k
  store {v} %w, ptr %cell
  %k1 = add i64 %k, 1
  %d = icmp eq i64 %k1, %n
  br i1 %d, label %out, label %next
out:
  ret void
}}"""

    # ---- contiguous coordinates ---------------------------------------------------------------

    def _rows(self) -> list[str]:
        """Pointers to the first coordinate of every state of a full block."""
        lines = []
        for k in range(self.lanes):
            lines.append(f"  %f{k} = mul i64 %step, {k}")
            lines.append(f"  %row{k} = getelementptr i8, ptr %base, i64 %f{k}")
        return lines

    def _load(self) -> str:
        """A full block whose coordinates lie side by side: two columns at a time through registers."""
        n, s, v = self.lanes, self.scalar, self.vector
        halves = [", ".join(f"i32 {2 * (k // 2) + half + (n if k % 2 else 0)}" for k in range(n)) for half in (0, 1)]
        lines = [
            "define internal void @load(ptr %base, i64 %step, ptr %m, i64 %n) #1 {",
            "  %pairs = lshr i64 %n, 1",
            "  %single = and i64 %n, 1",
            *self._rows(),
            "  %none = icmp eq i64 %pairs, 0",
            "  br i1 %none, label %rest, label %next",
            "next:",
            "  %k = phi i64 [ 0, %0 ], [ %k1, %next ]",
            "  %j = shl i64 %k, 1",
            f"  %m0 = getelementptr {v}, ptr %m, i64 %j",
            f"  %m1 = getelementptr {v}, ptr %m0, i64 1",
        ]
        for k in range(n):
            lines.append(f"  %p{k} = getelementptr {s}, ptr %row{k}, i64 %j")
            lines.append(f"  %r{k} = load <2 x {s}>, ptr %p{k}, align 1")
        even = self._lay(lines, "e", [f"%r{k}" for k in range(0, n, 2)])
        odd = self._lay(lines, "o", [f"%r{k}" for k in range(1, n, 2)])
        for half in (0, 1):
            lines.append(f"  %c{half} = shufflevector {v} {even}, {v} {odd}, <{n} x i32> <{halves[half]}>")
            lines.append(f"  store {v} %c{half}, ptr %m{half}")
        lines += [
            "  %k1 = add i64 %k, 1",
            "  %d = icmp eq i64 %k1, %pairs",
            "  br i1 %d, label %rest, label %next",
            "rest:",
            "  %some = icmp ne i64 %single, 0",
            "  br i1 %some, label %one, label %out",
            "one:",
            "  %last = sub i64 %n, 1",
            f"  %mq = getelementptr {v}, ptr %m, i64 %last",
        ]
        previous = "poison"
        for k in range(n):
            lines.append(f"  %q{k} = getelementptr {s}, ptr %row{k}, i64 %last")
            lines.append(f"  %g{k} = load {s}, ptr %q{k}, align 1")
            lines.append(f"  %h{k} = insertelement {v} {previous}, {s} %g{k}, i64 {k}")
            previous = f"%h{k}"
        lines += [f"  store {v} {previous}, ptr %mq", "  br label %out", "out:", "  ret void", "}"]
        return "\n".join(lines)

    def _lay(self, lines: list[str], tag: str, parts: list[str]) -> str:
        """Pairs side by side in one vector: each is broadcast and kept in its own lanes only."""
        n, pair = self.lanes, f"<2 x {self.scalar}>"
        everywhere = ", ".join(f"i32 {k % 2}" for k in range(n))
        previous = ""
        for k, part in enumerate(parts):
            name = f"%{tag}{k}"
            lines.append(f"  {name} = shufflevector {pair} {part}, {pair} poison, <{n} x i32> <{everywhere}>")
            if previous:
                keep = ", ".join(f"i1 {str(j // 2 == k).lower()}" for j in range(n))
                lines.append(f"  {name}k = select <{n} x i1> <{keep}>, {self.vector} {name}, {self.vector} {previous}")
                name += "k"
            previous = name
        return previous

    def _save(self) -> str:
        """A full block back: square tiles are transposed in registers, so that rows are stored whole.

        The last tile stores only the columns that exist; what it reads beyond them is never written.
        A last column by itself goes number by number.
        """
        n, s, v = self.lanes, self.scalar, self.vector
        count = ", ".join(f"i64 {k}" for k in range(n))
        lines = [
            "define internal void @save(ptr %base, i64 %step, ptr %m, i64 %n) #1 {",
            *self._rows(),
            "  %alone = icmp eq i64 %n, 1",
            "  br i1 %alone, label %single, label %tile",
            "tile:",
            "  %j = phi i64 [ 0, %0 ], [ %j1, %kept ]",
        ]
        for k in range(n):
            lines.append(f"  %at{k} = add i64 %j, {k}")
            lines.append(f"  %m{k} = getelementptr {v}, ptr %m, i64 %at{k}")
            lines.append(f"  %c{k} = load {v}, ptr %m{k}")
            lines.append(f"  %p{k} = getelementptr {s}, ptr %row{k}, i64 %j")
        rows = self._transposed(lines, [f"%c{k}" for k in range(n)])
        lines += [
            f"  %j1 = add i64 %j, {n}",
            "  %whole = icmp ule i64 %j1, %n",
            "  br i1 %whole, label %full, label %part",
            "full:",
            *(line for k, row in enumerate(rows) for line in self._store_row(k, row)),
            "  br label %kept",
            "part:",
            "  %left = sub i64 %n, %j",
            f"  %i = insertelement <{n} x i64> poison, i64 %left, i64 0",
            f"  %b = shufflevector <{n} x i64> %i, <{n} x i64> poison, <{n} x i32> zeroinitializer",
            f"  %mask = icmp ult <{n} x i64> <{count}>, %b",
            *(
                f"  call void {self._masked}({v} {row}, ptr %p{k}, i32 1, <{n} x i1> %mask)"
                for k, row in enumerate(rows)
            ),
            "  br label %kept",
            "kept:",
            "  %after = sub i64 %n, %j1",
            "  %more = icmp sgt i64 %after, 1",
            "  br i1 %more, label %tile, label %end",
            "end:",
            "  %some = icmp eq i64 %after, 1",
            "  br i1 %some, label %single, label %out",
            "single:",
            "  %last = sub i64 %n, 1",
            f"  %mq = getelementptr {v}, ptr %m, i64 %last",
            f"  %h = load {v}, ptr %mq",
            *(
                f"  %q{k} = getelementptr {s}, ptr %row{k}, i64 %last\n"
                f"  %g{k} = extractelement {v} %h, i64 {k}\n"
                f"  store {s} %g{k}, ptr %q{k}, align 1"
                for k in range(n)
            ),
            "  br label %out",
            "out:",
            "  ret void",
            "}",
            f"declare void {self._masked}({v}, ptr, i32, <{n} x i1>)",
        ]
        return "\n".join(lines)

    def _store_row(self, k: int, row: str) -> list[str]:
        """In two halves where a vector is as long as a cache line: rows seldom begin on one, and a half crosses less."""
        v, half = self.vector, self.lanes // 2
        if self.lanes * self.bytes < 64:
            return [f"  store {v} {row}, ptr %p{k}, align 1"]
        part = f"<{half} x {self.scalar}>"
        lines = []
        for k2, start in enumerate((0, half)):
            index = ", ".join(f"i32 {j}" for j in range(start, start + half))
            lines += [
                f"  %h{k}_{k2} = shufflevector {v} {row}, {v} poison, <{half} x i32> <{index}>",
                f"  %ph{k}_{k2} = getelementptr {self.scalar}, ptr %p{k}, i64 {start}",
                f"  store {part} %h{k}_{k2}, ptr %ph{k}_{k2}, align 1",
            ]
        return lines

    @property
    def _masked(self) -> str:
        return f"@llvm.masked.store.v{self.lanes}f{8 * self.bytes}.p0"

    def _transposed(self, lines: list[str], names: list[str]) -> list[str]:
        """A square of vectors, rows for columns: log2 steps of exchanges between pairs of vectors."""
        n, v = self.lanes, self.vector
        half = 1
        while half < n:
            after = list(names)
            for i in (k for k in range(n) if not k & half):
                for upper in (0, 1):
                    pick = [(c | half if upper else c & ~half) + (n if c & half else 0) for c in range(n)]
                    name = f"%x{half}_{i + upper * half}"
                    index = ", ".join(f"i32 {p}" for p in pick)
                    a, b = names[i], names[i + half]
                    lines.append(f"  {name} = shufflevector {v} {a}, {v} {b}, <{n} x i32> <{index}>")
                    after[i + upper * half] = name
            names = after
            half *= 2
        return names

    # ---- the loop -----------------------------------------------------------------------------

    def _loop(
        self,
        inputs: Sequence[tuple[int, ...]],
        outputs: Sequence[tuple[int, ...]],
        calls: Sequence[str],
        once: Sequence[str],
    ) -> list[str]:
        shapes = [*inputs, *outputs]
        lines = [
            "define void @loop(ptr %args, ptr %dims, ptr %steps, ptr %data) #0 {",
            *self._claim(),
            "  %count = load i64, ptr %dims",
        ]
        stride = len(shapes)
        at = 0
        for k, shape in enumerate(shapes):
            lines += [
                f"  %ap{k} = getelementptr ptr, ptr %args, i64 {k}",
                f"  %base{k} = load ptr, ptr %ap{k}",
                f"  %sp{k} = getelementptr i64, ptr %steps, i64 {k}",
                f"  %step{k} = load i64, ptr %sp{k}",
            ]
            dense = self.bytes
            checks = []
            for axis in reversed(range(len(shape))):
                name = f"%s{k}_{axis}"
                lines.append(f"  {name}p = getelementptr i64, ptr %steps, i64 {stride + axis}")
                lines.append(f"  {name} = load i64, ptr {name}p")
                if shape[axis] > 1:
                    lines.append(f"  {name}d = icmp eq i64 {name}, {dense}")
                    checks.append(f"{name}d")
                dense *= shape[axis]
            stride += len(shape)
            lines += _all(f"%dense{k}", checks)
            lines.append(f"  %m{k} = getelementptr i8, ptr %m, i64 {at * self.lanes * self.bytes}")
            at += prod(shape)
        lines += [
            "  %some = icmp sgt i64 %count, 0",
            "  br i1 %some, label %first, label %done",
            "first:",
            *once,
            "  br label %block",
            "block:",
            "  %i = phi i64 [ 0, %first ], [ %i1, %after ]",
            "  %left = sub i64 %count, %i",
            f"  %full = icmp uge i64 %left, {self.lanes}",
            f"  %rows = select i1 %full, i64 {self.lanes}, i64 %left",
            "  %alone = icmp eq i64 %left, 1",
        ]
        label = "block"
        for k in range(len(inputs)):
            label = self._move(lines, k, shapes[k], label, inward=True)
        lines += calls
        for k in range(len(inputs), len(shapes)):
            label = self._move(lines, k, shapes[k], label, inward=False)
        lines += [
            "  br label %after",
            "after:",
            "  %i1 = add i64 %i, %rows",
            "  %again = icmp slt i64 %i1, %count",
            "  br i1 %again, label %block, label %done",
            "done:",
            *(["  store atomic i64 0, ptr %lock release, align 8"] if self.pooled else []),
            "  ret void",
            "}",
        ]
        return lines

    @property
    def scratch(self) -> int:
        """Bytes."""
        return (self.slots + self.lanes) * self.lanes * self.bytes  # the last tile of a save reads past the end

    @property
    def pooled(self) -> bool:
        """Whether the scratch is too large for the stack of a thread."""
        return self.scratch > self.on_stack

    def _claim(self) -> list[str]:
        """Scratch for this call: on the stack, or the first free buffer of the pool that ``data`` points to.

        The pool begins with one lock a buffer; the buffers follow.
        """
        if not self.pooled:
            return [f"  %m = alloca [{self.scratch} x i8], align 64"]
        return [
            "  br label %try",
            "try:",
            "  %turn = phi i64 [ 0, %0 ], [ %turn1, %busy ]",
            "  %lock = getelementptr i64, ptr %data, i64 %turn",
            "  %swap = cmpxchg ptr %lock, i64 0, i64 1 acquire monotonic, align 8",
            "  %mine = extractvalue { i64, i1 } %swap, 1",
            "  br i1 %mine, label %claimed, label %busy",
            "busy:",
            "  %turn0 = add i64 %turn, 1",
            f"  %turn1 = urem i64 %turn0, {POOL}",
            "  br label %try",
            "claimed:",
            f"  %away = mul i64 %turn, {pool_stride(self.scratch)}",
            f"  %far = add i64 %away, {POOL * 8}",
            "  %m = getelementptr i8, ptr %data, i64 %far",
        ]

    def _move(self, lines: list[str], k: int, shape: tuple[int, ...], label: str, *, inward: bool) -> str:
        n = prod(shape)
        padded = (1,) * (3 - len(shape)) + shape
        names = ["0"] * (3 - len(shape)) + [f"%s{k}_{axis}" for axis in range(len(shape))]
        axes = ", ".join(f"i64 {size}, i64 {name}" for size, name in zip(padded, names, strict=True))
        walk = (
            f"  call void @{'gather' if inward else 'scatter'}(ptr %at{k}, i64 %step{k}, i64 %rows, ptr %m{k}, {axes})"
        )
        packed = f"  call void @{'load' if inward else 'save'}(ptr %at{k}, i64 %step{k}, ptr %m{k}, i64 {n})"
        lines += [
            f"  %move{k} = mul i64 %i, %step{k}",
            f"  %at{k} = getelementptr i8, ptr %base{k}, i64 %move{k}",
            f"  %quick{k} = and i1 %full, %dense{k}",
            f"  br i1 %quick{k}, label %packed{k}, label %other{k}",
            f"packed{k}:",
            packed,
            f"  br label %moved{k}",
            f"other{k}:",
        ]
        if inward:
            lines += [
                f"  %lone{k} = and i1 %alone, %dense{k}",
                f"  br i1 %lone{k}, label %spread{k}, label %walk{k}",
                f"spread{k}:",
                f"  call void @spread(ptr %at{k}, ptr %m{k}, i64 {n})",
                f"  br label %moved{k}",
                f"walk{k}:",
            ]
        lines += [walk, f"  br label %moved{k}", f"moved{k}:"]
        return f"moved{k}"


def _all(name: str, checks: Sequence[str]) -> list[str]:
    if not checks:
        return [f"  {name} = or i1 true, true"]
    lines, previous = [], checks[0]
    for k, check in enumerate(checks[1:]):
        lines.append(f"  {name}_{k} = and i1 {previous}, {check}")
        previous = f"{name}_{k}"
    return [*lines, f"  {name} = and i1 {previous}, true"]
