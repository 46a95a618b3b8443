"""Sine and cosine as C: the reduction and polynomials of ``compiler/trig.py``, operation by operation.

Beyond the limit of the quick reduction the C library's functions serve, or NaN comes out where none is wanted.
Single precision: three parts of pi/2 and the polynomials of Cephes (Moshier 1989) up to 8192.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from neuler.compiler import trig
from neuler.compiler.movement import round_to_float32
from neuler.export.c99.arithmetic import Arithmetic

FAR = ("libm", "nan")
"""What serves angles beyond the limit."""
_SINE = (-1.6666654611e-1, 8.3321608736e-3, -1.9515295891e-4)
_COSINE = (4.166664568298827e-2, -1.388731625493765e-3, 2.443315711809948e-5)
_SINGLE_LIMIT = 8192.0
_SINGLE_MAGIC = 12582912.0  # 1.5 * 2^23
_TWO_OVER_PI = 0.63661977236758134308


def functions(c: Arithmetic, far: str) -> list[str]:
    """``PREFIX_near`` for angles up to ``FAR_ANGLE``, without branches, and ``PREFIX_sincos`` for all."""
    c.used.add("fma")
    body = _single(c) if c.single else _double(c)
    prefix, real = c.prefix, c.real
    if far == "libm":
        beyond = [f"        *s = {c.call('sin')}(x);", f"        *c = {c.call('cos')}(x);"]
    else:
        beyond = [f"        *s = *c = ({real})NAN;"]
    return [
        *body,
        "/* Sine and cosine of any number (rad); of angles beyond FAR_ANGLE "
        + ("by the C library. */" if far == "libm" else "NaN. */"),
        f"static inline void {prefix}_sincos({real} x, {real} *s, {real} *c)",
        "{",
        f"    if ({c.call('fabs')}(x) <= FAR_ANGLE) {{",
        f"        {prefix}_near(x, s, c);",
        "    } else {",
        *beyond,
        "    }",
        "}",
        "",
    ]


def _double(c: Arithmetic) -> list[str]:
    number = c.number
    with_fma, without = ([number(x) for x in trig.parts(bits, count)] for bits, count in ((53, 3), (33, 4)))
    sine, cosine = (_estrin(c, x, "z", "z2") for x in (trig.SINE, trig.COSINE))
    return [
        "#if HAS_FMA",
        f"#define FAR_ANGLE {number(trig.limit(True))}",
        "#else",
        f"#define FAR_ANGLE {number(trig.limit(False))}",
        "#endif",
        "",
        *_bits(c, "double", "uint64_t", "0x8000000000000000u"),
        "/* Of an angle (rad) up to FAR_ANGLE: k = round(x 2/pi), r = x - k pi/2, polynomials on |r| <= pi/4. */",
        f"static inline void {c.prefix}_near(double x, double *s, double *c)",
        "{",
        f"    const double big = {c.fused('x', number(trig.TWO_OVER_PI), number(trig.MAGIC))};",
        f"    const double k = big - {number(trig.MAGIC)};",
        f"    const uint64_t n = {c.prefix}_bits(big);",
        "#if HAS_FMA",
        f"    const double r = {_nested(c, with_fma)};",
        "    const double lost = 0.0;",
        "#else",
        *[f"    const double k{j} = k * {x};" for j, x in enumerate(without)],
        "    const double r0 = x - k0;",
        "    const double r1 = r0 - k1;",
        "    const double t = k2 + k3;",
        "    const double r = r1 - t;",
        "    const double lost = ((r0 - r1) - k1) + ((r1 - r) - t); /* by two roundings */",
        "#endif",
        "    const double z = r * r;",
        "    const double z2 = z * z;",
        f"    const double ps = {sine};",
        f"    const double pc = {cosine};",
        "#if HAS_FMA",
        f"    const double sr = {c.fused('r * z', 'ps', 'r')};",
        f"    const double cr = {c.fused('z', c.fused('z', 'pc', '-0.5'), '1.0')};",
        "    (void)lost;",
        "#else",
        f"    const double sr = {c.fused('r * z', 'ps', 'lost')} + r;",
        f"    const double cr = {c.fused('z', c.fused('z', 'pc', '-0.5'), '-(r * lost)')} + 1.0;",
        "#endif",
        "    const double odd = (n & 1u) ? cr : sr;",
        "    const double even = (n & 1u) ? sr : cr;",
        f"    *s = {c.prefix}_signed(odd, n << 62);",
        f"    *c = {c.prefix}_signed(even, (n + 1u) << 62);",
        "}",
        "",
    ]


def _single(c: Arithmetic) -> list[str]:
    number = c.number
    with_fma, without = ([number(x) for x in _single_parts(bits)] for bits in (24, 11))

    def taken(texts: Sequence[str]) -> str:
        total = "x"
        for x in texts:
            total = f"({total} - k * {x})"
        return total[1:-1]

    sine, cosine = (c.fused("z", c.fused("z", number(p[2]), number(p[1])), number(p[0])) for p in (_SINE, _COSINE))
    return [
        f"#define FAR_ANGLE {number(_SINGLE_LIMIT)}",
        "",
        *_bits(c, "float", "uint32_t", "0x80000000u"),
        "/* Of an angle (rad) up to FAR_ANGLE: k = round(x 2/pi), r = x - k pi/2, polynomials on |r| <= pi/4. */",
        f"static inline void {c.prefix}_near(float x, float *s, float *c)",
        "{",
        f"    const float big = {c.fused('x', number(_TWO_OVER_PI), number(_SINGLE_MAGIC))};",
        f"    const float k = big - {number(_SINGLE_MAGIC)};",
        f"    const uint32_t n = {c.prefix}_bits(big);",
        "#if HAS_FMA",
        f"    const float r = {_nested(c, with_fma)};",
        "#else",
        f"    const float r = {taken(without)};",
        "#endif",
        "    const float z = r * r;",
        f"    const float sr = {c.fused('r * z', sine, 'r')};",
        f"    const float cr = {c.fused('z * z', cosine, c.fused(number(-0.5), 'z', number(1.0)))};",
        "    const float odd = (n & 1u) ? cr : sr;",
        "    const float even = (n & 1u) ? sr : cr;",
        f"    *s = {c.prefix}_signed(odd, n << 30);",
        f"    *c = {c.prefix}_signed(even, (n + 1u) << 30);",
        "}",
        "",
    ]


def _bits(c: Arithmetic, real: str, whole: str, sign: str) -> list[str]:
    """Functions that read the bits of a number, and change its sign by a bit."""
    return [
        f"static inline {whole} {c.prefix}_bits({real} x)",
        "{",
        f"    {whole} b;",
        "    memcpy(&b, &x, sizeof b);",
        "    return b;",
        "}",
        "",
        f"static inline {real} {c.prefix}_signed({real} x, {whole} sign)",
        "{",
        f"    {whole} b = {c.prefix}_bits(x) ^ (sign & {sign});",
        "    memcpy(&x, &b, sizeof x);",
        "    return x;",
        "}",
        "",
    ]


def _nested(c: Arithmetic, parts: Sequence[str]) -> str:
    """x - k p0 - k p1 - ..., each product fused."""
    total = "x"
    for x in parts:
        total = c.fused("-k", x, total)
    return total


def _estrin(c: Arithmetic, p: Sequence[float], z: str, z2: str) -> str:
    low, middle, high = (c.fused(z, c.number(p[k + 1]), c.number(p[k])) for k in (0, 2, 4))
    return c.fused(z2, c.fused(z2, high, middle), low)


def _single_parts(bits: int) -> list[float]:
    """pi/2 as three numbers in single precision; of ``bits`` bits each but the last."""
    rest, found = 1.5707963267948966192, []
    for _ in range(2):
        head = round_to_float32(rest)
        if bits < 24:
            scale = 2.0 ** (bits - 1 - _exponent(rest))
            head = int(rest * scale) / scale
        found.append(head)
        rest -= head
    return [*found, round_to_float32(rest)]


def _exponent(x: float) -> int:
    return math.frexp(abs(x))[1] - 1
