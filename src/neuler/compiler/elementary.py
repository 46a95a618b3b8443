"""Elementary functions as LLVM text: over vectors of doubles, for every argument, within 2 ulp.

Arguments are split by their bits, so that NaN and infinity raise no flag of their own; no table, and no branch but
one to ``@raise_flags`` where an argument has no finite result. LLVM assumes that nobody reads the flags and may fold an
operation that would raise one; ``@raise_flags`` divides by constrained intrinsics, which it must keep.

Sources: exponential and logarithm after fdlibm (Sun Microsystems 1993), whose polynomials they use; tangent and
hyperbolic tangent by the rational functions of Cephes (Moshier 1989); a power as the exponential of a product
of a logarithm in two parts (Dekker 1971).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from neuler.compiler.trig import MAGIC, MAGNITUDE, bits_of, literal

_LN2_HIGH = 6.93147180369123816490e-01
_LN2_LOW = 1.90821492927058770002e-10
_EXP = (
    1.66666666666666019037e-01, -2.77777777770155933842e-03, 6.61375632143793436117e-05, -1.65339022054652515390e-06,
    4.13813679705723846039e-08,
)  # fmt: skip
_LOG = (
    6.666666666666735130e-01, 3.999999999940941908e-01, 2.857142874366239149e-01, 2.222219843214978396e-01,
    1.818357216161805012e-01, 1.531383769920937332e-01, 1.479819860511658591e-01,
)  # fmt: skip
_TANH = (
    (-9.64399179425052238628e-1, -9.92877231001918586564e1, -1.61468768441708447952e3),
    (1.0, 1.12811678491632931402e2, 2.23548839060100448583e3, 4.84406305325125486048e3),
)
_ATAN = (
    (-8.750608600031904122785e-1, -1.615753718733365076637e1, -7.500855792314704667340e1, -1.228866684490136173410e2,
     -6.485021904942025371773e1),
    (1.0, 2.485846490142306297962e1, 1.650270098316988542046e2, 4.328810604912902668951e2, 4.853903996359136964868e2,
     1.945506571482613964425e2),
)  # fmt: skip
_TWO_THIRDS_LOW, _LN2_REST = 3.7007434154171886e-17, 2.3190468138462996e-17
"""Two thirds and the logarithm of two, less their nearest doubles."""
_PI_LOW = 1.2246467991473531772e-16
"""pi less its nearest double."""
_INFINITY = 0x7FF << 52
_SQRT_HALF = 0x3FE6A09E667F3BCD
_ONE = 0x3FF0000000000000


class Writer:
    """Writes the body of one function; every method gives the name of a new value."""

    def __init__(self, lanes: int, fma: bool, prefix: str = "%x") -> None:
        self.prefix = prefix
        self.v, self.i, self.m = f"<{lanes} x double>", f"<{lanes} x i64>", f"<{lanes} x i1>"
        self.lanes, self.fma = lanes, fma
        self.lines: list[str] = []

    def new(self, text: str) -> str:
        """A value named by its number."""
        name = f"{self.prefix}{len(self.lines)}"
        self.lines.append(f"  {name} = {text}")
        return name

    @staticmethod
    def number(x: str | float) -> str:
        """A constant in every lane, or the value itself."""
        return x if isinstance(x, str) else f"splat (double {literal(x)})"

    @staticmethod
    def whole(x: str | int) -> str:
        """A constant integer in every lane, or the value itself."""
        return x if isinstance(x, str) else f"splat (i64 {x})"

    def _float(self, op: str, a: str | float, b: str | float) -> str:
        return self.new(f"{op} {self.v} {self.number(a)}, {self.number(b)}")

    def add(self, a: str | float, b: str | float) -> str:
        """The sum a + b."""
        return self._float("fadd", a, b)

    def sub(self, a: str | float, b: str | float) -> str:
        """The difference a - b."""
        return self._float("fsub", a, b)

    def mul(self, a: str | float, b: str | float) -> str:
        """The product a b."""
        return self._float("fmul", a, b)

    def div(self, a: str | float, b: str | float) -> str:
        """The quotient a / b."""
        return self._float("fdiv", a, b)

    def neg(self, a: str) -> str:
        """The number with its sign changed, -a."""
        return self.new(f"fneg {self.v} {a}")

    def fused(self, a: str | float, b: str | float, c: str | float) -> str:
        """a b + c, rounded once where the machine can."""
        if not self.fma:
            return self.add(self.mul(a, b), c)
        parts = ", ".join(f"{self.v} {self.number(x)}" for x in (a, b, c))
        return self.new(f"call {self.v} @llvm.fma.v{self.lanes}f64({parts})")

    def polynomial(self, x: str, coefficients: Sequence[float]) -> str:
        """By Horner, the highest power first."""
        result: str | float = coefficients[0]
        for c in coefficients[1:]:
            result = self.fused(result, x, c)
        return self.number(result)

    def bits(self, a: str) -> str:
        """The bits of numbers, as integers."""
        return self.new(f"bitcast {self.v} {a} to {self.i}")

    def value(self, a: str) -> str:
        """The numbers of which these are the bits."""
        return self.new(f"bitcast {self.i} {a} to {self.v}")

    def integer(self, op: str, a: str | int, b: str | int) -> str:
        """Two integers and an operation of LLVM on them."""
        return self.new(f"{op} {self.i} {self.whole(a)}, {self.whole(b)}")

    def compare(self, how: str, a: str | int, b: str | int) -> str:
        """Whether a comparison of two integers by LLVM's ``icmp`` is true, lane by lane."""
        return self.new(f"icmp {how} {self.i} {self.whole(a)}, {self.whole(b)}")

    def nan(self, a: str) -> str:
        """Where it is not a number; this comparison raises no flag."""
        return self.new(f"fcmp uno {self.v} {a}, {a}")

    def choose(self, c: str, a: str | float, b: str | float) -> str:
        """a where c, else b."""
        return self.new(f"select {self.m} {c}, {self.v} {self.number(a)}, {self.v} {self.number(b)}")

    def choose_whole(self, c: str, a: str | int, b: str | int) -> str:
        """The integer a where c, else b."""
        return self.new(f"select {self.m} {c}, {self.i} {self.whole(a)}, {self.i} {self.whole(b)}")

    def absolute(self, a: str) -> str:
        """The absolute value |a|: the sign bit is cleared."""
        return self.value(self.integer("and", self.bits(a), MAGNITUDE))

    def signed_like(self, a: str, sign: str) -> str:
        """|a| with another number's sign."""
        size = self.integer("and", self.bits(a), MAGNITUDE)
        return self.value(self.integer("or", size, self.integer("and", self.bits(sign), -(1 << 63))))

    def ordered(self, a: str) -> str:
        """Integers that compare as the numbers do; 0 and -0 are one."""
        bits = self.bits(self.add(a, 0.0))
        sign = self.integer("ashr", bits, 63)
        return self.integer("xor", bits, self.integer("lshr", sign, 1))

    def raise_flags(self, poles: str, invalid: str) -> None:
        """Raise "divide by zero" if some lane has a pole, "invalid value" if one has no value; once in a function."""
        whole = f"i{self.lanes}"
        self.lines += [
            f"  %pole = bitcast {self.m} {poles} to {whole}",
            f"  %none = bitcast {self.m} {invalid} to {whole}",
            f"  %either = or {whole} %pole, %none",
            f"  %any = icmp ne {whole} %either, 0",
            "  br i1 %any, label %raise, label %raised, !prof !0",
            "raise:",
            f"  %poles = icmp ne {whole} %pole, 0",
            f"  %nones = icmp ne {whole} %none, 0",
            "  call void @raise_flags(i1 %poles, i1 %nones)",
            "  br label %raised",
            "raised:",
        ]

    def power_of_two(self, k: str) -> str:
        """2^k of an integer from -1022 to 1023."""
        return self.value(self.integer("shl", self.integer("add", k, 1023), 52))


def _scaled(w: Writer, x: str, k: str) -> str:
    """x 2^k in two steps, so that results below the normal numbers and beyond all are right."""
    half = w.integer("ashr", k, 1)
    rest = w.integer("sub", k, half)
    return w.mul(w.mul(x, w.power_of_two(half)), w.power_of_two(rest))


def _exp(w: Writer, x: str, low: str | None = None) -> str:
    """e^(x + low) with low a small correction of x."""
    bits = w.integer("and", w.bits(x), MAGNITUDE)
    far, endless = w.compare("ugt", bits, bits_of(800.0)), w.compare("uge", bits, _INFINITY)
    near = w.choose(endless, 0.0, w.choose(far, w.signed_like(w.number(800.0), x), x))
    big = w.fused(near, 1.0 / math.log(2.0), MAGIC)
    k = w.sub(big, MAGIC)
    whole = w.integer("sub", w.bits(big), w.bits(w.number(MAGIC)))
    high = w.sub(near, w.mul(k, _LN2_HIGH))  # exact: the low bits of the constant are zero
    little = w.mul(k, _LN2_LOW)
    if low is not None:
        little = w.sub(little, w.choose(far, 0.0, low))
    r = w.sub(high, little)
    t = w.mul(r, r)
    c = w.sub(r, w.mul(t, w.polynomial(t, _EXP[::-1])))
    y = w.sub(1.0, w.sub(w.sub(little, w.div(w.mul(r, c), w.sub(2.0, c))), high))
    found = _scaled(w, y, whole)
    found = w.choose(endless, w.choose(w.compare("slt", w.bits(x), 0), 0.0, math.inf), found)
    return w.choose(w.nan(x), x, found)


class _Logarithm:
    """x = f 2^k with f from root half to root two; and what x is where it is no positive number."""

    def __init__(self, w: Writer, x: str) -> None:
        bits = w.bits(x)
        self.zero = w.compare("eq", w.integer("and", bits, MAGNITUDE), 0)
        self.endless = w.compare("eq", bits, _INFINITY)
        below = w.compare("ugt", bits, 1 << 63)  # not -0
        self.negative = w.new(f"and {w.m} {below}, {w.new(f'fcmp ord {w.v} {x}, {x}')}")
        odd = w.compare("uge", w.integer("sub", bits, 1), _INFINITY - 1)  # all but positive finite numbers
        well = w.choose(odd, 1.0, x)
        tiny = w.compare("ult", w.bits(well), 1 << 52)
        ix = w.bits(w.choose(tiny, w.mul(w.choose(tiny, well, 1.0), 2.0**54), well))
        ix = w.integer("add", ix, _ONE - _SQRT_HALF)
        k = w.integer("sub", w.integer("lshr", ix, 52), 0x3FF)
        k = w.integer("sub", k, w.choose_whole(tiny, 54, 0))
        self.f = w.value(w.integer("add", w.integer("and", ix, (1 << 52) - 1), _SQRT_HALF))
        self.k = w.sub(w.value(w.integer("add", k, w.bits(w.number(MAGIC)))), MAGIC)


def _log(w: Writer, x: str) -> str:
    of = _Logarithm(w, x)
    w.raise_flags(of.zero, of.negative)
    f, dk = w.sub(of.f, 1.0), of.k
    half = w.mul(w.mul(0.5, f), f)
    s = w.div(f, w.add(2.0, f))
    z = w.mul(s, s)
    t = w.mul(z, w.polynomial(z, _LOG[::-1]))
    inner = w.sub(w.add(w.mul(s, w.add(half, t)), w.mul(dk, _LN2_LOW)), half)
    found = w.add(w.add(inner, f), w.mul(dk, _LN2_HIGH))
    found = w.choose(of.endless, x, w.choose(of.zero, -math.inf, w.choose(of.negative, math.nan, found)))
    return w.choose(w.nan(x), x, found)


def _tanh(w: Writer, x: str) -> str:
    size = w.absolute(x)
    near = w.compare("slt", w.bits(size), bits_of(0.625))
    small = w.choose(near, x, 0.0)
    z = w.mul(small, small)
    ratio = w.div(w.polynomial(z, _TANH[0]), w.polynomial(z, _TANH[1]))
    small = w.fused(w.mul(small, z), ratio, small)
    grown = _exp(w, w.mul(2.0, w.choose(w.compare("ugt", w.bits(size), bits_of(22.0)), 22.0, size)))
    large = w.sub(1.0, w.div(2.0, w.add(grown, 1.0)))
    return w.choose(w.nan(x), x, w.signed_like(w.choose(near, small, large), x))


def _atan2(w: Writer, y: str, x: str) -> str:
    ay, ax = w.absolute(y), w.absolute(x)
    steep = w.compare("ugt", w.bits(ay), w.bits(ax))
    a, b = w.choose(steep, ax, ay), w.choose(steep, ay, ax)
    huge = w.compare("ugt", w.bits(b), bits_of(2.0**1000))
    little = w.compare("ult", w.bits(b), bits_of(2.0**-900))
    scale = w.choose(huge, 2.0**-100, w.choose(little, 2.0**200, 1.0))
    endless = w.compare("eq", w.bits(a), _INFINITY)  # both
    a, b = w.mul(w.choose(endless, 1.0, a), scale), w.mul(w.choose(endless, 1.0, b), scale)
    wide = w.compare("ugt", w.bits(a), w.bits(w.mul(0.66, b)))
    none = w.compare("eq", w.bits(b), 0)  # both zero
    below = w.choose(wide, w.add(a, b), w.choose(none, 1.0, b))
    t = w.div(w.choose(wide, w.sub(a, b), a), below)
    z = w.mul(t, t)
    ratio = w.div(w.polynomial(z, _ATAN[0]), w.polynomial(z, _ATAN[1]))
    r = w.fused(w.mul(t, z), ratio, t)
    r = w.choose(wide, w.add(math.pi / 4, w.add(r, _PI_LOW / 4)), r)
    r = w.choose(steep, w.sub(math.pi / 2, w.sub(r, _PI_LOW / 2)), r)
    left = w.compare("slt", w.bits(x), 0)
    r = w.choose(left, w.sub(math.pi, w.sub(r, _PI_LOW)), r)
    return w.choose(w.nan(x), x, w.choose(w.nan(y), y, w.signed_like(r, y)))


def _two_sum(w: Writer, a: str, b: str) -> tuple[str, str]:
    total = w.add(a, b)
    part = w.sub(total, a)
    return total, w.add(w.sub(a, w.sub(total, part)), w.sub(b, part))


def _halves(w: Writer, a: str) -> tuple[str, str]:
    """A number as the sum of two of 26 bits."""
    c = w.mul(a, 134217729.0)
    high = w.sub(c, w.sub(c, a))
    return high, w.sub(a, high)


def _two_product(w: Writer, a: str, b: str) -> tuple[str, str]:
    p = w.mul(a, b)
    if w.fma:
        return p, w.fused(a, b, w.neg(p))
    (ah, al), (bh, bl) = _halves(w, a), _halves(w, b)
    e = w.sub(w.mul(ah, bh), p)
    e = w.add(w.add(e, w.mul(ah, bl)), w.mul(al, bh))
    return p, w.add(e, w.mul(al, bl))


def _pow(w: Writer, x: str, p: str) -> str:
    """exp(p log x) with log x in two parts, good to 2^-66; x not negative."""
    of = _Logarithm(w, x)
    falling = w.compare("slt", w.bits(p), 0)
    w.raise_flags(w.new(f"and {w.m} {of.zero}, {falling}"), of.negative)
    f, dk = of.f, of.k
    top, below = w.sub(f, 1.0), w.add(f, 1.0)
    below_low = w.sub(f, w.sub(below, 1.0))  # f + 1 is rounded, f - 1 is not
    s = w.div(top, below)
    product, error = _two_product(w, s, below)
    s_low = w.div(w.sub(w.sub(w.sub(top, product), error), w.mul(s, below_low)), below)
    z, z_low = _two_product(w, s, s)
    z_low = w.fused(w.mul(2.0, s), s_low, z_low)
    # log f = 2 s (1 + z/3 + z^2/5 + ...): one third in two parts, the rest as it is
    tail = w.polynomial(z, [2.0 / (2 * k + 1) for k in range(13, 1, -1)])
    cube, cube_low = _two_product(w, s, z)
    cube_low = w.fused(s, z_low, w.fused(s_low, z, cube_low))
    third, third_low = _two_product(w, cube, w.number(2.0 / 3.0))
    third_low = w.fused(cube, _TWO_THIRDS_LOW, w.fused(cube_low, 2.0 / 3.0, third_low))
    rest = w.mul(w.mul(cube, z), tail)
    high, low = _two_sum(w, w.mul(2.0, s), third)
    low = w.add(low, w.add(w.mul(2.0, s_low), w.add(third_low, rest)))
    big, big_low = _two_product(w, dk, w.number(math.log(2.0)))
    big_low = w.fused(dk, _LN2_REST, big_low)
    total, more = _two_sum(w, big, high)
    low = w.add(low, w.add(more, big_low))
    high, low = _two_sum(w, total, low)
    product, error = _two_product(w, high, p)
    error = w.fused(low, p, error)
    found = _exp(w, product, error)
    found = w.choose(of.endless, w.choose(falling, 0.0, math.inf), found)
    found = w.choose(of.zero, w.choose(falling, math.inf, 0.0), w.choose(of.negative, math.nan, found))
    return w.choose(w.nan(x), x, found)


def _compared(w: Writer, how: str, a: str, b: str) -> str:
    apart = w.new(f"fcmp ord {w.v} {a}, {b}")
    below = w.compare(how, w.ordered(a), w.ordered(b))
    return w.choose(w.new(f"and {w.m} {apart}, {below}"), 1.0, 0.0)


def _less(w: Writer, a: str, b: str) -> str:
    return _compared(w, "slt", a, b)


def _less_equal(w: Writer, a: str, b: str) -> str:
    return _compared(w, "sle", a, b)


def _mask(w: Writer, c: str, x: str) -> str:
    return w.choose(w.compare("ne", w.bits(c), 0), x, 0.0)


def _lesser(w: Writer, a: str, b: str) -> str:
    below = w.compare("slt", w.ordered(a), w.ordered(b))
    return w.choose(w.nan(a), a, w.choose(w.nan(b), b, w.choose(below, a, b)))


def _greater(w: Writer, a: str, b: str) -> str:
    above = w.compare("sgt", w.ordered(a), w.ordered(b))
    return w.choose(w.nan(a), a, w.choose(w.nan(b), b, w.choose(above, a, b)))


INLINE = ("less", "leq", "mask", "min", "max", "abs")
"""A few operations each: written where they are used."""
FUNCTIONS: dict[str, tuple[int, Callable[..., str]]] = {
    "less": (2, _less),
    "leq": (2, _less_equal),
    "mask": (2, _mask),
    "min": (2, _lesser),
    "max": (2, _greater),
    "abs": (1, Writer.absolute),
    "exp": (1, _exp),
    "log": (1, _log),
    "tanh": (1, _tanh),
    "atan2": (2, _atan2),
    "pow": (2, _pow),
}
"""By the graph's operation: how many arguments, and what writes the body."""


def emit(name: str, lanes: int, fma: bool) -> str:
    """The function ``@neuler_exp`` and its kin, over vectors of doubles."""
    count, body = FUNCTIONS[name]
    w = Writer(lanes, fma)
    arguments = [f"%a{k}" for k in range(count)]
    result = body(w, *arguments)
    head = ", ".join(f"{w.v} {x}" for x in arguments)
    text = "\n".join(w.lines)
    return f"define internal {w.v} @neuler_{name}({head}) #1 {{\n{text}\n  ret {w.v} {result}\n}}"


def raise_flags() -> str:
    """``@raise_flags``: "divide by zero" and "invalid value", by divisions that LLVM may neither fold nor drop."""
    divide = "@llvm.experimental.constrained.fdiv.f64"
    how = 'metadata !"round.tonearest", metadata !"fpexcept.strict"'
    one, none = literal(1.0), literal(0.0)
    return f"""define internal void @raise_flags(i1 %pole, i1 %invalid) #3 {{
  %p = select i1 %pole, double {none}, double {one}
  %i = select i1 %invalid, double {none}, double {one}
  %a = call double {divide}(double {one}, double %p, {how}) #3
  %b = call double {divide}(double %i, double %i, {how}) #3
  ret void
}}
declare double {divide}(double, double, metadata, metadata)"""
