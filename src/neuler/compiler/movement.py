"""NumPy's inner loop as LLVM text: blocks of states in, stages, blocks out."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from neuler.compiler.lanes import Lanes
from neuler.compiler.loading import Loading


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


def clear(vector: str) -> str:
    """A function that sets as many vectors to zero."""
    return f"""define internal void @clear(ptr %p, i64 %n) #1 {{
  br label %next
next:
  %k = phi i64 [ 0, %0 ], [ %k1, %next ]
  %cell = getelementptr {vector}, ptr %p, i64 %k
  store {vector} zeroinitializer, ptr %cell, align 8
  %k1 = add i64 %k, 1
  %end = icmp eq i64 %k1, %n
  br i1 %end, label %out, label %next
out:
  ret void
}}"""


def moved_rows(lanes: int) -> str:
    """``@fetch`` and ``@put``: rows of doubles, the quick way where the numbers of a row lie side by side."""
    ways = (
        ("fetch", "load", "spread", "gather1", ""),
        ("put", "save", "pick", "scatter1", ", i1 false"),
    )
    texts = []
    for name, full, single, walk, more in ways:
        texts.append(f"""define internal void @{name}(ptr %at, i64 %step, i64 %rows, ptr %m, i64 %n, i64 %s) #1 {{
  %side = icmp eq i64 %s, 8
  %short = icmp eq i64 %n, 1
  %dense = or i1 %side, %short
  %all = icmp eq i64 %rows, {lanes}
  %quick = and i1 %all, %dense
  br i1 %quick, label %packed, label %other
packed:
  call void @{full}(ptr %at, i64 %step, ptr %m, i64 %n{more})
  ret void
other:
  %alone = icmp eq i64 %rows, 1
  %lone = and i1 %alone, %dense
  br i1 %lone, label %one, label %walk
one:
  call void @{single}(ptr %at, ptr %m, i64 %n)
  ret void
walk:
  call void @{walk}(ptr %at, i64 %step, i64 %rows, ptr %m, i64 %n, i64 %s)
  ret void
}}""")
    return "\n".join(texts)


AXES = 3
"""Core axes up to which arrays are walked along by support code; beyond, a kernel brings its own."""
ON_STACK = 16 * 1024
"""Bytes of scratch up to which it lives on the stack; a larger one comes from a pool of buffers."""
POOL = 64
"""Buffers in the pool: calls of one kernel that can be under way at once before one has to wait."""


IN_LINE = 16
"""Results up to which they are looked at in line."""
NANS = "nans"
"""The number of calls that had NaN among their results, where a module counts them."""
STREAMED = 32 * 1024 * 1024
"""Bytes of results beyond which they bypass the caches: nothing of them would be left there."""


def pool_stride(scratch: int) -> int:
    """Bytes from one buffer of the pool to the next."""
    return -(-scratch // 4096) * 4096 + 64  # not a multiple of a page: buffers must not share cache sets


@dataclass(frozen=True)
class InnerLoop(Lanes):
    """NumPy's inner loop around the stages of a schedule that needs ``slots`` vectors of scratch."""

    slots: int
    on_stack: int = ON_STACK
    reports: bool = False
    """Whether calls with NaN among their results are counted, in ``@nans``; those of ``@one`` are not."""

    def emit(
        self,
        inputs: Sequence[tuple[int, ...]],
        outputs: Sequence[tuple[int, ...]],
        calls: Sequence[str],
        once: Sequence[str] = (),
    ) -> str:
        """``@loop`` around the calls of the stages; ``once`` runs before them."""
        axes = max(1, *(len(shape) for shape in (*inputs, *outputs)))
        more = [Loading(self.lanes, self.scalar).walks(axes)] if axes > AXES else []
        more += [f"@{NANS} = global i64 0, align 8", self._not_numbers()] if self.reports else []
        return "\n".join([*more, *self._loop(inputs, outputs, calls, once, axes)])

    def _not_numbers(self) -> str:
        """``@not_numbers``: whether some of as many vectors has NaN; two at a time, an odd one twice."""
        n, v = self.lanes, self.vector
        return f"""define internal i64 @not_numbers(ptr %m, i64 %n) #1 {{
  %last = sub i64 %n, 1
  br label %next
next:
  %k = phi i64 [ 0, %0 ], [ %k2, %next ]
  %seen = phi <{n} x i1> [ zeroinitializer, %0 ], [ %seen1, %next ]
  %k1 = add i64 %k, 1
  %odd = icmp ugt i64 %k1, %last
  %j = select i1 %odd, i64 %k, i64 %k1
  %p = getelementptr {v}, ptr %m, i64 %k
  %x = load {v}, ptr %p, align 8
  %q = getelementptr {v}, ptr %m, i64 %j
  %y = load {v}, ptr %q, align 8
  %none = fcmp uno {v} %x, %y
  %seen1 = or <{n} x i1> %seen, %none
  %k2 = add i64 %k, 2
  %end = icmp uge i64 %k2, %n
  br i1 %end, label %out, label %next
out:
  %bits = bitcast <{n} x i1> %seen1 to i{n}
  %any = icmp ne i{n} %bits, 0
  %found = zext i1 %any to i64
  ret i64 %found
}}"""

    def one(
        self,
        inputs: Sequence[tuple[int, ...]],
        outputs: Sequence[tuple[int, ...]],
        calls: Sequence[str],
        once: Sequence[str] = (),
    ) -> str:
        """``@one``: the stages for a single state in dense arrays, for callers that know nothing of NumPy."""
        lines = ["define void @one(ptr %operands, ptr %data) #0 {", *self.claim(), *once]
        at = 0
        for k, shape in enumerate((*inputs, *outputs)):
            if k == len(inputs):
                lines += calls
            way = "spread" if k < len(inputs) else "pick"
            lines += [
                f"  %op{k} = getelementptr ptr, ptr %operands, i64 {k}",
                f"  %base{k} = load ptr, ptr %op{k}",
                f"  %m{k} = getelementptr i8, ptr %m, i64 {at * self.lanes * self.bytes}",
                f"  call void @{way}(ptr %base{k}, ptr %m{k}, i64 {prod(shape)})",
            ]
            at += prod(shape)
        return "\n".join([*lines, *self.release(), "  ret void", "}"])

    def release(self) -> list[str]:
        """Give scratch from the pool back."""
        return ["  store atomic i64 0, ptr %lock release, align 8"] if self.pooled else []

    def _loop(
        self,
        inputs: Sequence[tuple[int, ...]],
        outputs: Sequence[tuple[int, ...]],
        calls: Sequence[str],
        once: Sequence[str],
        axes: int,
    ) -> list[str]:
        shapes = [*inputs, *outputs]
        lines = [
            "define void @loop(ptr %args, ptr %dims, ptr %steps, ptr %data) #0 {",
            *self.claim(),
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
            f"  %results = mul i64 %count, {self.bytes * sum(prod(shape) for shape in outputs)}",
            f"  %stream = icmp ugt i64 %results, {STREAMED}",
            "  %some = icmp sgt i64 %count, 0",
            "  br i1 %some, label %first, label %done",
            "first:",
            *once,
            "  br label %block",
            "block:",
            "  %i = phi i64 [ 0, %first ], [ %i1, %after ]",
            *(["  %nan = phi i64 [ 0, %first ], [ %nan1, %after ]"] if self.reports else []),
            "  %left = sub i64 %count, %i",
            f"  %full = icmp uge i64 %left, {self.lanes}",
            f"  %rows = select i1 %full, i64 {self.lanes}, i64 %left",
            "  %alone = icmp eq i64 %left, 1",
        ]
        label = "block"
        for k in range(len(inputs)):
            label = self._move(lines, k, shapes[k], label, axes, inward=True)
        lines += calls
        for k in range(len(inputs), len(shapes)):
            label = self._move(lines, k, shapes[k], label, axes, inward=False)
        if self.reports:  # after the saves: what was just stored could not be loaded at once
            numbers = sum(prod(shape) for shape in outputs)
            lines += [*self._look(f"%m{len(inputs)}", numbers), "  %nan1 = or i64 %nan, %nan0"]
        lines += [
            "  br label %after",
            "after:",
            "  %i1 = add i64 %i, %rows",
            "  %again = icmp slt i64 %i1, %count",
            f"  br i1 %again, label %block, label %{'ended' if self.reports else 'done'}",
            *self._told(),
            "done:",
            "  br i1 %stream, label %drain, label %leave",
            "drain:",
            "  fence seq_cst",  # what bypassed the caches is seen by whoever sees this call's end
            "  br label %leave",
            "leave:",
            *self.release(),
            "  ret void",
            "}",
        ]
        return lines

    def _look(self, at: str, numbers: int) -> list[str]:
        """%nan0: whether some of as many vectors has NaN; a few of them in line."""
        if numbers > IN_LINE:
            return [f"  %nan0 = call i64 @not_numbers(ptr {at}, i64 {numbers})"]
        if not numbers:
            return ["  %nan0 = or i64 0, 0"]
        n, v = self.lanes, self.vector
        lines = []
        for k in range(numbers):
            lines.append(f"  %np{k} = getelementptr {v}, ptr {at}, i64 {k}")
            lines.append(f"  %nv{k} = load {v}, ptr %np{k}, align 8")
        for k in range(0, numbers, 2):  # a comparison sees NaN in either of two
            lines.append(f"  %nc{k} = fcmp uno {v} %nv{k}, %nv{min(k + 1, numbers - 1)}")
            if k:
                lines.append(f"  %no{k} = or <{n} x i1> %{'no' if k > 2 else 'nc'}{k - 2}, %nc{k}")
        last = (numbers - 1) // 2 * 2
        lines += [
            f"  %nbits = bitcast <{n} x i1> %{'no' if last else 'nc'}{last} to i{n}",
            f"  %nan0 = zext i{n} %nbits to i64",
        ]
        return lines

    def _told(self) -> list[str]:
        """NaN seen in this call, told to whoever looks at the count before and after."""
        if not self.reports:
            return []
        return [
            "ended:",
            "  %spoilt = icmp ne i64 %nan1, 0",
            "  br i1 %spoilt, label %tell, label %done, !prof !0",
            "tell:",
            f"  %old = atomicrmw add ptr @{NANS}, i64 1 monotonic",
            "  br label %done",
        ]

    @property
    def scratch(self) -> int:
        """Bytes of scratch of one vector of states."""
        return (self.slots + 2 * self.lanes) * self.lanes * self.bytes  # the last tiles of a save read past the end

    @property
    def pooled(self) -> bool:
        """Whether the scratch is too large for the stack of a thread."""
        return self.scratch > self.on_stack

    def claim(self) -> list[str]:
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

    def _move(self, lines: list[str], k: int, shape: tuple[int, ...], label: str, axes: int, *, inward: bool) -> str:
        n = prod(shape)
        lacking = axes - len(shape)
        padded = (1,) * lacking + shape
        names = ["0"] * lacking + [f"%s{k}_{axis}" for axis in range(len(shape))]
        walked = ", ".join(f"i64 {size}, i64 {name}" for size, name in zip(padded, names, strict=True))
        way = "gather" if inward else "scatter"
        walk = f"  call void @{way}{axes}(ptr %at{k}, i64 %step{k}, i64 %rows, ptr %m{k}, {walked})"
        packed = f"  call void @load(ptr %at{k}, i64 %step{k}, ptr %m{k}, i64 {n})"
        if not inward:
            packed = f"  call void @save(ptr %at{k}, i64 %step{k}, ptr %m{k}, i64 {n}, i1 %stream)"
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
        lines += [
            f"  %lone{k} = and i1 %alone, %dense{k}",
            f"  br i1 %lone{k}, label %single{k}, label %walk{k}",
            f"single{k}:",
            f"  call void @{'spread' if inward else 'pick'}(ptr %at{k}, ptr %m{k}, i64 {n})",
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
