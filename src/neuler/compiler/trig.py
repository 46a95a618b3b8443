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
from collections.abc import Callable

SINE = (
    -1.66666666666666324348e-01, 8.33333333332248946124e-03, -1.98412698298579493134e-04,
    2.75573137070700676789e-06, -2.50507602534068634195e-08, 1.58969099521155010221e-10,
)  # fmt: skip
COSINE = (
    4.16666666666666019037e-02, -1.38888888888741095749e-03, 2.48015872894767294178e-05,
    -2.75573143513906633035e-07, 2.08757232129817482790e-09, -1.13596475577881948265e-11,
)  # fmt: skip
MAGIC = 6755399441055744.0  # 1.5 * 2^52: adding it rounds to an integer and leaves its low bits in the mantissa
_MAGNITUDE = 0x7FFFFFFFFFFFFFFF


def _bits(x: float) -> int:
    return int(struct.unpack("<Q", struct.pack("<d", x))[0])


def literal(x: float) -> str:
    """A double as LLVM writes it, exactly."""
    return f"0x{_bits(x):016X}"


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


def _parts(bits: int, count: int) -> list[float]:
    """pi/2 as a sum of ``count`` doubles of at most ``bits`` bits each, the last one full."""
    scale = 300
    rest, parts = _pi(scale) // 2, []
    for k in range(count):
        keep = bits if k + 1 < count else 53
        shift = max(rest.bit_length() - keep, 0)
        part = (rest >> shift) << shift
        parts.append(float(part) / 2.0**scale)
        rest -= part
    return parts


def limit(fma: bool) -> float:
    """The largest |x| that the fast reduction serves."""
    return 1e15 if fma else 1e6


def emit(lanes: int, fma: bool) -> str:
    """The functions ``@sincos`` (vectors through pointers) and ``@reduce_huge`` (one number)."""
    v, i = f"<{lanes} x double>", f"<{lanes} x i64>"

    def splat(x: float) -> str:
        return f"splat (double {literal(x)})"

    lines = [
        "define internal void @sincos(ptr %x, ptr %s, ptr %c) #1 {",
        f"  %v = load {v}, ptr %x, align 8",
        f"  %vi = bitcast {v} %v to {i}",  # as integers: a comparison of NaNs would raise a flag
        f"  %a = and {i} %vi, splat (i64 {_MAGNITUDE})",
        f"  %far = icmp sgt {i} %a, splat (i64 {_bits(limit(fma))})",
        f"  %bits = bitcast <{lanes} x i1> %far to i{lanes}",
        f"  %any = icmp ne i{lanes} %bits, 0",
        *_rounded(v, lanes, fma, splat),
        f"  %k = fsub {v} %big, {splat(MAGIC)}",
        f"  %n = bitcast {v} %big to {i}",
    ]
    if fma:
        lines.append(f"  %m = fneg {v} %k")
        previous = "%v"
        for number, part in enumerate(_parts(53, 3)):
            lines.append(f"  %r{number} = call {v} @llvm.fma.v{lanes}f64({v} %m, {v} {splat(part)}, {v} {previous})")
            previous = f"%r{number}"
    else:
        p = _parts(33, 4)
        lines += [f"  %k{number} = fmul {v} %k, {splat(part)}" for number, part in enumerate(p)]
        lines += [
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
    lines += [
        "  br i1 %any, label %huge, label %ready, !prof !0",
        "huge:",
        f"  %px = alloca {v}, align 64",
        f"  %pr = alloca {v}, align 64",
        f"  %pn = alloca {i}, align 64",
        f"  store {v} %v, ptr %px",
        f"  store {v} %r2, ptr %pr",
        f"  store {i} %n, ptr %pn",
        "  br label %lane",
        "lane:",
        "  %j = phi i64 [ 0, %huge ], [ %j1, %next ]",
        "  %qx = getelementptr double, ptr %px, i64 %j",
        "  %lx = load double, ptr %qx",
        "  %li = bitcast double %lx to i64",
        f"  %la = and i64 %li, {_MAGNITUDE}",
        f"  %lf = icmp sgt i64 %la, {_bits(limit(fma))}",
        "  br i1 %lf, label %one, label %next",
        "one:",
        "  %qr = getelementptr double, ptr %pr, i64 %j",
        "  %qn = getelementptr i64, ptr %pn, i64 %j",
        "  call void @reduce_huge(double %lx, ptr %qr, ptr %qn)",
        "  br label %next",
        "next:",
        "  %j1 = add i64 %j, 1",
        f"  %end = icmp eq i64 %j1, {lanes}",
        "  br i1 %end, label %back, label %lane",
        "back:",
        f"  %hr = load {v}, ptr %pr",
        f"  %hn = load {i}, ptr %pn",
        "  br label %ready",
        "ready:",
        f"  %r = phi {v} [ %r2, %0 ], [ %hr, %back ]",
        f"  %q = phi {i} [ %n, %0 ], [ %hn, %back ]",
        "" if fma else f"  %l = phi {v} [ %lost, %0 ], [ zeroinitializer, %back ]",
        f"  %z = fmul {v} %r, %r",
    ]
    counter = [0]

    def fused(a: str, b: str, c: str) -> str:
        counter[0] += 1
        name = f"%p{counter[0]}"
        if fma:
            lines.append(f"  {name} = call {v} @llvm.fma.v{lanes}f64({v} {a}, {v} {b}, {v} {c})")
        else:
            lines.append(f"  {name}m = fmul {v} {a}, {b}")
            lines.append(f"  {name} = fadd {v} {name}m, {c}")
        return name

    def polynomial(c: tuple[float, ...]) -> str:
        """Six coefficients in z by Estrin's scheme: short chains of dependent operations."""
        low = fused("%z", splat(c[1]), splat(c[0]))
        middle = fused("%z", splat(c[3]), splat(c[2]))
        high = fused("%z", splat(c[5]), splat(c[4]))
        return fused("%z2", fused("%z2", high, middle), low)

    lines.append(f"  %z2 = fmul {v} %z, %z")
    ps, pc = polynomial(SINE), polynomial(COSINE)
    lines.append(f"  %rz = fmul {v} %r, %z")
    if fma:
        sr = fused("%rz", ps, "%r")
        cr = fused("%z", fused("%z", pc, splat(-0.5)), splat(1.0))
    else:  # sin(r + l) = sin r + l, cos(r + l) = cos r - r l
        lines.append(f"  %rl = fmul {v} %r, %l")
        lines.append(f"  %ml = fneg {v} %rl")
        sine = fused("%rz", ps, "%l")
        lines.append(f"  %sr = fadd {v} {sine}, %r")
        sr = "%sr"
        cosine = fused("%z", fused("%z", pc, splat(-0.5)), "%ml")
        lines.append(f"  %cr = fadd {v} {cosine}, {splat(1.0)}")
        cr = "%cr"
    one, two = "splat (i64 1)", "splat (i64 2)"
    lines += [
        f"  %odd = and {i} %q, {one}",
        f"  %swap = icmp ne {i} %odd, zeroinitializer",
        f"  %s0 = select <{lanes} x i1> %swap, {v} {cr}, {v} {sr}",
        f"  %c0 = select <{lanes} x i1> %swap, {v} {sr}, {v} {cr}",
        f"  %sq = and {i} %q, {two}",
        f"  %q1 = add {i} %q, {one}",
        f"  %cq = and {i} %q1, {two}",
        f"  %sb = shl {i} %sq, splat (i64 62)",
        f"  %cb = shl {i} %cq, splat (i64 62)",
        f"  %s1 = bitcast {v} %s0 to {i}",
        f"  %c1 = bitcast {v} %c0 to {i}",
        f"  %s2 = xor {i} %s1, %sb",
        f"  %c2 = xor {i} %c1, %cb",
        f"  store {i} %s2, ptr %s, align 8",
        f"  store {i} %c2, ptr %c, align 8",
        "  ret void",
        "}",
        *_huge(),
    ]
    return "\n".join(lines)


def _rounded(v: str, lanes: int, fma: bool, splat: Callable[[float], str]) -> list[str]:
    """x 2/pi + MAGIC."""
    ratio = splat(2.0**301 / float(_pi(300)))
    if fma:
        return [f"  %big = call {v} @llvm.fma.v{lanes}f64({v} %v, {v} {ratio}, {v} {splat(MAGIC)})"]
    return [f"  %scaled = fmul {v} %v, {ratio}", f"  %big = fadd {v} %scaled, {splat(MAGIC)}"]


def _huge() -> list[str]:
    """x mod pi/2 for one large x: a window of 192 bits of 2/pi times the 53-bit mantissa."""
    digits = 1216
    ratio = (1 << (digits + 1 + 1300)) // _pi(1300)
    table = ratio.to_bytes(digits // 8, "little")
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
        "  %nan = fsub double %x, %x",
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
        "declare i64 @llvm.fshr.i64(i64, i64, i64)",
        "declare i64 @llvm.fshl.i64(i64, i64, i64)",
    ]
