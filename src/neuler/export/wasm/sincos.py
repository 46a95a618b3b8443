"""Sine and cosine as a function of WebAssembly: ``compiler/trig.py`` without fused operations, step by step.

Angles up to 1e6 are reduced by pi/2 in four parts; those beyond are left to the functions that the module imports, or
give NaN.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from neuler.compiler import trig
from neuler.export.wasm.encode import (
    END,
    F64,
    I64,
    IF,
    NOTHING,
    RETURN,
    absolute,
    add,
    add64,
    and64,
    at_most,
    bits,
    call,
    choose,
    from_bits,
    function,
    get,
    is_zero,
    keep,
    long,
    multiply,
    number,
    odd,
    put,
    shift64,
    subtract,
    xor64,
)  # fmt: skip

X, BIG, K, R0, R1, T, R, LOST, Z, Z2, SINE, COSINE, N = range(13)
"""Numbers of the local variables of the function that computes a sine and a cosine."""
_SIGN = -(1 << 63)


def sincos(far: tuple[int, int] | None) -> bytes:
    """The body of a function (angle) -> (sine, cosine); ``far`` are the imported functions for large angles."""
    x, k, r, lost, z, n = (get(place) for place in (X, K, R, LOST, Z, N))
    parts = [multiply(k, number(part)) for part in trig.parts(33, 4)]
    beyond = [call(place, x) for place in far] if far else [number(math.nan)] * 2
    large = is_zero(at_most(absolute(x), number(trig.limit(False)))) + IF + NOTHING + b"".join(beyond) + RETURN + END
    big = keep(BIG, add(multiply(x, number(trig.TWO_OVER_PI)), number(trig.MAGIC)))
    first = add(multiply(multiply(r, z), _estrin(trig.SINE)), lost)  # sin(r + l) = sin r + l
    second = add(multiply(z, add(multiply(z, _estrin(trig.COSINE)), number(-0.5))), _minus(multiply(r, lost)))
    swap = odd(and64(n, long(1)))
    code = [
        large,
        put(K, subtract(big, number(trig.MAGIC))),
        put(N, bits(get(BIG))),
        put(R0, subtract(x, parts[0])),
        put(R1, subtract(get(R0), parts[1])),
        put(T, add(parts[2], parts[3])),
        put(R, subtract(get(R1), get(T))),
        put(
            LOST,
            add(
                subtract(subtract(get(R0), get(R1)), parts[1]),  # by the two roundings
                subtract(subtract(get(R1), r), get(T)),
            ),
        ),
        put(Z, multiply(r, r)),
        put(Z2, multiply(z, z)),
        put(SINE, add(first, r)),
        put(COSINE, add(second, number(1.0))),
        _signed(choose(get(COSINE), get(SINE), swap), n),
        _signed(choose(get(SINE), get(COSINE), swap), add64(n, long(1))),
    ]
    return function([(COSINE - X, F64), (1, I64)], b"".join(code))


def _minus(value: bytes) -> bytes:
    return value + b"\x9a"


def _signed(value: bytes, quadrant: bytes) -> bytes:
    """With the other sign in the third and fourth quadrant."""
    return from_bits(xor64(bits(value), and64(shift64(quadrant, long(62)), long(_SIGN))))


def _estrin(p: Sequence[float]) -> bytes:
    low, middle, high = (add(multiply(get(Z), number(p[k + 1])), number(p[k])) for k in (0, 2, 4))
    return add(multiply(get(Z2), add(multiply(get(Z2), high), middle)), low)
