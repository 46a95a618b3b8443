"""Sine and cosine as LLVM text: inline, vectorised, right for every finite argument.

Reduction: k = round(x 2/pi), r = x - k pi/2 in three steps whose intermediate results are exact
where they cancel (Cody and Waite 1980), with fused multiply-add for |x| <= 1e15, in 33-bit parts
without it for |x| <= 1e6. Beyond, each such lane is reduced by itself with as many bits of
2/pi as its exponent asks for (Payne and Hanek 1983). Then the polynomials of fdlibm's kernel
functions on |r| <= pi/4 (Sun Microsystems 1993), in sums that are safe to evaluate in any order.
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Sequence

SINE = (
    -1.66666666666666324348e-01, 8.33333333332248946124e-03, -1.98412698298579493134e-04,
    2.75573137070700676789e-06, -2.50507602534068634195e-08, 1.58969099521155010221e-10,
)  # fmt: skip
COSINE = (
    4.16666666666666019037e-02, -1.38888888888741095749e-03, 2.48015872894767294178e-05,
    -2.75573143513906633035e-07, 2.08757232129817482790e-09, -1.13596475577881948265e-11,
)  # fmt: skip
MAGIC = 6755399441055744.0  # 1.5 * 2^52: adding it rounds to an integer and leaves its low bits in the mantissa
MAGNITUDE = 0x7FFFFFFFFFFFFFFF
"""The bits of a double but its sign."""


def bits_of(x: float) -> int:
    """Of a double, as a whole number."""
    return int(struct.unpack("<Q", struct.pack("<d", x))[0])


def literal(x: float) -> str:
    """A double as LLVM writes it, exactly."""
    return f"0x{bits_of(x):016X}"


@functools.cache
def _pi(bits: int) -> int:
    """floor(pi 2^bits), by Machin's formula."""
    guard = bits + 32

    def arctan_inverse(n: int) -> int:
        power = (1 << guard) // n
        total, k = power, 1
        while power:
            power //= n * n
            k += 2
            total += -power // k if k % 4 == 3 else power // k
        return total

    return (16 * arctan_inverse(5) - 4 * arctan_inverse(239)) >> 32


def parts(bits: int, count: int) -> list[float]:
    """pi/2 as a sum of ``count`` doubles of at most ``bits`` bits each, the last one full."""
    scale = 300
    rest, found = _pi(scale) // 2, []
    for k in range(count):
        keep = bits if k + 1 < count else 53
        shift = max(rest.bit_length() - keep, 0)
        part = (rest >> shift) << shift
        found.append(float(part) / 2.0**scale)
        rest -= part
    return found


TWO_OVER_PI = 2.0**301 / float(_pi(300))


def limit(fma: bool) -> float:
    """The largest |x| that the fast reduction serves."""
    return 1e15 if fma else 1e6


def emit(lanes: int, fma: bool) -> str:
    """``@sincos_all`` works through a table of slots; ``@sincos_far`` and ``@reduce_huge`` serve the rare rest."""
    numbers: dict[float, int] = {}
    functions = [_Writer(lanes, fma, numbers).all_pairs(), _Writer(lanes, fma, numbers).far_pair()]
    if numbers:
        every = ", ".join(f"<{lanes} x double> splat (double {literal(x)})" for x in numbers)
        functions.append(f"@trig_numbers = internal constant [{len(numbers)} x <{lanes} x double>] [{every}], align 64")
    return "\n".join([*functions, *_huge()])


def quick(lanes: int, fma: bool) -> str:
    """``@sincos_all`` alone, for modules that have a ``@sincos_far`` of their own."""
    numbers: dict[float, int] = {}
    text = _Writer(lanes, fma, numbers).all_pairs()
    assert not numbers
    return text


def table(name: str, offsets: Sequence[tuple[int, int, int]]) -> str:
    """The table that ``@sincos_all`` reads: byte offsets of argument, sine and cosine in the scratch."""
    numbers = ", ".join(f"i32 {x}" for row in offsets for x in row)
    return f"@{name} = internal constant [{3 * len(offsets)} x i32] [{numbers}], align 4"


class _Writer:
    """Writes one function over vectors of doubles."""

    def __init__(self, lanes: int, fma: bool, numbers: dict[float, int]) -> None:
        self.lanes, self.fma, self.numbers = lanes, fma, numbers
        self.v, self.i = f"<{lanes} x double>", f"<{lanes} x i64>"
        self.lines: list[str] = []
        self.made = 0

    def all_pairs(self) -> str:
        """A loop without branches but one: vectors with a number beyond the limit are left to ``@sincos_far``."""
        v, i, lanes = self.v, self.i, self.lanes
        self.lines = [
            "define internal void @sincos_all(ptr %m, ptr %table, i64 %count) #1 {",
            "  br label %pair",
            "pair:",
        ]
        self.lines.append("  %j = phi i64 [ 0, %0 ], [ %j1, %next ]")
        self.lines.append("  %row = mul i64 %j, 3")
        for k, name in enumerate("xsc"):
            self.lines += [
                f"  %i{name} = add i64 %row, {k}",
                f"  %t{name} = getelementptr i32, ptr %table, i64 %i{name}",
                f"  %o{name} = load i32, ptr %t{name}, align 4",
                f"  %w{name} = zext i32 %o{name} to i64",
                f"  %p{name} = getelementptr i8, ptr %m, i64 %w{name}",
            ]
        self.lines += [
            f"  %v = load {v}, ptr %px, align 8",
            f"  %vi = bitcast {v} %v to {i}",  # as integers: a comparison of NaNs would raise a flag
            f"  %a = and {i} %vi, splat (i64 {MAGNITUDE})",
            f"  %far = icmp sgt {i} %a, splat (i64 {bits_of(limit(self.fma))})",
            f"  %bits = bitcast <{lanes} x i1> %far to i{lanes}",
            f"  %any = icmp ne i{lanes} %bits, 0",
            "  br i1 %any, label %beyond, label %near, !prof !0",
            "near:",
        ]
        self.finish(*self.reduce(), "%ps", "%pc")
        self.lines += [
            "  br label %next",
            "beyond:",
            "  call void @sincos_far(ptr %px, ptr %ps, ptr %pc)",
            "  br label %next",
            "next:",
            "  %j1 = add i64 %j, 1",
            "  %end = icmp eq i64 %j1, %count",
            "  br i1 %end, label %out, label %pair",
            "out:",
            "  ret void",
            "}",
        ]
        return "\n".join(self.lines)

    def far_pair(self) -> str:
        """One vector in which some numbers lie beyond the limit: these are reduced one by one."""
        v, i = self.v, self.i
        self.lines = [
            "define internal void @sincos_far(ptr %px, ptr %ps, ptr %pc) #2 {",
            f"  %pr = alloca {v}, align 64",
            f"  %pn = alloca {i}, align 64",
            f"  %w = load {v}, ptr %px, align 8",
            f"  %wi = bitcast {v} %w to {i}",
            f"  %a = and {i} %wi, splat (i64 {MAGNITUDE})",
            f"  %far = icmp sgt {i} %a, splat (i64 {bits_of(limit(self.fma))})",
            f"  %v = select <{self.lanes} x i1> %far, {v} zeroinitializer, {v} %w",
        ]
        r, n, lost = self.reduce()
        self.lines += [
            f"  store {v} {r}, ptr %pr, align 64",
            f"  store {i} {n}, ptr %pn, align 64",
            "  br label %lane",
            "lane:",
            "  %j = phi i64 [ 0, %0 ], [ %j1, %next ]",
            "  %qx = getelementptr double, ptr %px, i64 %j",
            "  %lx = load double, ptr %qx",
            "  %li = bitcast double %lx to i64",
            f"  %la = and i64 %li, {MAGNITUDE}",
            f"  %lf = icmp sgt i64 %la, {bits_of(limit(self.fma))}",
            "  br i1 %lf, label %one, label %next",
            "one:",
            "  %qr = getelementptr double, ptr %pr, i64 %j",
            "  %qn = getelementptr i64, ptr %pn, i64 %j",
            "  call void @reduce_huge(double %lx, ptr %qr, ptr %qn)",
            "  br label %next",
            "next:",
            "  %j1 = add i64 %j, 1",
            f"  %end = icmp eq i64 %j1, {self.lanes}",
            "  br i1 %end, label %back, label %lane",
            "back:",
            f"  %hr = load {v}, ptr %pr, align 64",
            f"  %hn = load {i}, ptr %pn, align 64",
        ]
        if lost:
            self.lines.append(f"  %hl = select <{self.lanes} x i1> %far, {v} zeroinitializer, {v} {lost}")
        self.finish("%hr", "%hn", "%hl" if lost else "", "%ps", "%pc")
        self.lines += ["  ret void", "}"]
        return "\n".join(self.lines)

    def splat(self, x: float) -> str:
        """A constant as an operand; vectors of 32 bytes lie in memory, an instruction less for each."""
        if self.lanes != 4:
            return f"splat (double {literal(x)})"
        place = self.numbers.setdefault(x, len(self.numbers))
        self.made += 1
        name = f"%n{self.made}_"
        self.lines.append(f"  {name}p = getelementptr {self.v}, ptr @trig_numbers, i64 {place}")
        self.lines.append(f"  {name} = load {self.v}, ptr {name}p, align 32, !invariant.load !3")
        return name

    def multiply_add(self, a: str, b: str, c: str) -> str:
        """The number a b + c."""
        self.made += 1
        name = f"%p{self.made}"
        if self.fma:
            self.lines.append(
                f"  {name} = call {self.v} @llvm.fma.v{self.lanes}f64({self.v} {a}, {self.v} {b}, {self.v} {c})"
            )
        else:
            self.lines.append(f"  {name}m = fmul {self.v} {a}, {b}")
            self.lines.append(f"  {name} = fadd {self.v} {name}m, {c}")
        return name

    def reduce(self) -> tuple[str, str, str]:
        """%v to the remainder, the quadrant in its low bits, and what rounding the remainder lost ("": nothing)."""
        v, splat = self.v, self.splat
        big = self.multiply_add("%v", splat(TWO_OVER_PI), splat(MAGIC))
        self.lines += [f"  %k = fsub {v} {big}, {splat(MAGIC)}", f"  %n = bitcast {v} {big} to {self.i}"]
        if self.fma:
            self.lines.append(f"  %minus = fneg {v} %k")
            rest = "%v"
            for part in parts(53, 3):
                rest = self.multiply_add("%minus", splat(part), rest)
            return rest, "%n", ""
        self.lines += [f"  %k{number} = fmul {v} %k, {splat(part)}" for number, part in enumerate(parts(33, 4))]
        self.lines += [
            f"  %r0 = fsub {v} %v, %k0",
            f"  %r1 = fsub {v} %r0, %k1",
            f"  %t = fadd {v} %k2, %k3",
            f"  %r2 = fsub {v} %r1, %t",
            f"  %e0 = fsub {v} %r0, %r1",  # what the two roundings lost
            f"  %e1 = fsub {v} %e0, %k1",
            f"  %e2 = fsub {v} %r1, %r2",
            f"  %e3 = fsub {v} %e2, %t",
            f"  %lost = fadd {v} %e1, %e3",
        ]
        return "%r2", "%n", "%lost"

    def polynomial(self, c: tuple[float, ...]) -> str:
        """Six coefficients in z by Estrin's scheme: short chains of dependent operations."""
        splat, fused = self.splat, self.multiply_add
        low = fused("%z", splat(c[1]), splat(c[0]))
        middle = fused("%z", splat(c[3]), splat(c[2]))
        high = fused("%z", splat(c[5]), splat(c[4]))
        return fused("%z2", fused("%z2", high, middle), low)

    def finish(self, r: str, n: str, lost: str, sine: str, cosine: str) -> None:
        """Polynomials, then the quadrant: swap and signs; both results stored."""
        v, i, lanes, fused, splat = self.v, self.i, self.lanes, self.multiply_add, self.splat
        self.lines += [f"  %z = fmul {v} {r}, {r}", f"  %z2 = fmul {v} %z, %z"]
        ps, pc = self.polynomial(SINE), self.polynomial(COSINE)
        self.lines.append(f"  %rz = fmul {v} {r}, %z")
        if not lost:
            sr = fused("%rz", ps, r)
            cr = fused("%z", fused("%z", pc, splat(-0.5)), splat(1.0))
        else:  # sin(r + l) = sin r + l, cos(r + l) = cos r - r l
            self.lines += [f"  %rl = fmul {v} {r}, {lost}", f"  %ml = fneg {v} %rl"]
            self.lines.append(f"  %sr = fadd {v} {fused('%rz', ps, lost)}, {r}")
            nearly = fused("%z", fused("%z", pc, splat(-0.5)), "%ml")
            self.lines.append(f"  %cr = fadd {v} {nearly}, {splat(1.0)}")
            sr, cr = "%sr", "%cr"
        sign = "splat (i64 -9223372036854775808)"
        self.lines += [
            f"  %odd = and {i} {n}, splat (i64 1)",
            f"  %swap = icmp ne {i} %odd, zeroinitializer",
            f"  %s0 = select <{lanes} x i1> %swap, {v} {cr}, {v} {sr}",
            f"  %c0 = select <{lanes} x i1> %swap, {v} {sr}, {v} {cr}",
            f"  %n1 = add {i} {n}, splat (i64 1)",
            f"  %sh = shl {i} {n}, splat (i64 62)",
            f"  %ch = shl {i} %n1, splat (i64 62)",
            f"  %sb = and {i} %sh, {sign}",
            f"  %cb = and {i} %ch, {sign}",
            f"  %s1 = bitcast {v} %s0 to {i}",
            f"  %c1 = bitcast {v} %c0 to {i}",
            f"  %s2 = xor {i} %s1, %sb",
            f"  %c2 = xor {i} %c1, %cb",
            f"  store {i} %s2, ptr {sine}, align 8",
            f"  store {i} %c2, ptr {cosine}, align 8",
        ]


def _huge() -> list[str]:
    """x mod pi/2 for one large x: a window of 192 bits of 2/pi times the 53-bit mantissa."""
    digits = 1216
    ratio = (1 << (digits + 1 + 1300)) // _pi(1300)
    table = ratio.to_bytes(digits // 8 + 16, "little")  # zeros before the point: windows of smaller x reach into them
    text = "".join(f"\\{byte:02X}" for byte in table)
    return [
        f'@two_over_pi = internal constant [{len(table)} x i8] c"{text}", align 16',
        "define internal void @reduce_huge(double %x, ptr %pr, ptr %pn) #2 {",
        "  %b = bitcast double %x to i64",
        "  %e0 = lshr i64 %b, 52",
        "  %e = and i64 %e0, 2047",
        "  %inf = icmp eq i64 %e, 2047",
        "  br i1 %inf, label %bad, label %go",
        "bad:",
        "  %nan = call double @undefined(double %x)",
        "  store double %nan, ptr %pr",
        "  ret void",
        "go:",
        "  %f = and i64 %b, 4503599627370495",
        "  %m = or i64 %f, 4503599627370496",
        "  %shift = sub i64 2101, %e",  # 1026 - (e - 1075)
        "  %byte = lshr i64 %shift, 3",
        "  %bit = and i64 %shift, 7",
        "  %p = getelementptr i8, ptr @two_over_pi, i64 %byte",
        "  %p1 = getelementptr i8, ptr %p, i64 8",
        "  %p2 = getelementptr i8, ptr %p, i64 16",
        "  %p3 = getelementptr i8, ptr %p, i64 24",
        "  %u0 = load i64, ptr %p, align 1",
        "  %u1 = load i64, ptr %p1, align 1",
        "  %u2 = load i64, ptr %p2, align 1",
        "  %u3 = load i8, ptr %p3, align 1",
        "  %u3w = zext i8 %u3 to i64",
        "  %w0 = call i64 @llvm.fshr.i64(i64 %u1, i64 %u0, i64 %bit)",
        "  %w1 = call i64 @llvm.fshr.i64(i64 %u2, i64 %u1, i64 %bit)",
        "  %w2 = call i64 @llvm.fshr.i64(i64 %u3w, i64 %u2, i64 %bit)",
        "  %M = zext i64 %m to i128",
        "  %W0 = zext i64 %w0 to i128",
        "  %W1 = zext i64 %w1 to i128",
        "  %a0 = mul i128 %M, %W0",
        "  %a1 = mul i128 %M, %W1",
        "  %a2 = mul i64 %m, %w2",
        "  %carry0 = lshr i128 %a0, 64",
        "  %t = add i128 %carry0, %a1",
        "  %mid = trunc i128 %t to i64",
        "  %carry1 = lshr i128 %t, 64",
        "  %carry = trunc i128 %carry1 to i64",
        "  %hi = add i64 %carry, %a2",
        "  %lo = trunc i128 %a0 to i64",
        "  %F1 = call i64 @llvm.fshl.i64(i64 %hi, i64 %mid, i64 2)",  # the fraction, top word, signed
        "  %F0 = call i64 @llvm.fshl.i64(i64 %mid, i64 %lo, i64 2)",
        "  %quad = lshr i64 %hi, 62",
        "  %up = lshr i64 %F1, 63",
        "  %n = add i64 %quad, %up",
        "  %d1 = sitofp i64 %F1 to double",
        "  %d0 = uitofp i64 %F0 to double",
        f"  %g1 = fmul double %d1, {literal(2.0**-64)}",
        f"  %g0 = fmul double %d0, {literal(2.0**-128)}",
        "  %g = fadd double %g1, %g0",
        f"  %r = fmul double %g, {literal(float(_pi(300)) / 2.0**301)}",
        "  %neg = icmp slt i64 %b, 0",
        "  %rn = fneg double %r",
        "  %nn = sub i64 0, %n",
        "  %rr = select i1 %neg, double %rn, double %r",
        "  %nr = select i1 %neg, i64 %nn, i64 %n",
        "  store double %rr, ptr %pr",
        "  store i64 %nr, ptr %pn",
        "  ret void",
        "}",
        # NaN, with the flag where x is infinite: a subtraction that LLVM may neither fold nor drop
        "define internal double @undefined(double %x) #3 {",
        "  %y = call double @llvm.experimental.constrained.fsub.f64(double %x, double %x, "
        'metadata !"round.tonearest", metadata !"fpexcept.strict") #3',
        "  ret double %y",
        "}",
        "declare double @llvm.experimental.constrained.fsub.f64(double, double, metadata, metadata)",
        "declare i64 @llvm.fshr.i64(i64, i64, i64)",
        "declare i64 @llvm.fshl.i64(i64, i64, i64)",
    ]
