"""Operations as instructions of WebAssembly. NaN stays NaN, as in kernels."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from neuler.export.wasm import encode as w
from neuler.trace import graph as g
from neuler.trace.graph import Node, Scalar

LIBRARY = {g.EXP: "exp", g.LOG: "log", g.TANH: "tanh", g.ATAN2: "atan2", g.POW: "pow"}
"""Operations that are imported, by their names in JavaScript's Math."""
_PLAIN = {g.ADD: w.add, g.SUB: w.subtract, g.MUL: w.multiply, g.DIV: w.divide}
_ONE = {g.NEG: w.negative, g.SQRT: w.root, g.ABS: w.absolute}
READS = {g.SIGN: (3, 0), g.MIN: (4, 2), g.MAX: (4, 2), g.POW: (2, 0)}
"""How often an operation reads its operands, where that is not once."""
_ZERO, _PLUS, _NAN = w.number(0.0), w.number(1.0), w.number(math.nan)


def expression(node: Node, value: Callable[[Scalar], bytes], imported: Mapping[str, int]) -> bytes:
    """What computes a node from the code of its operands; ``imported`` has the numbers of imported functions."""
    op, a, b = node.op, node.a, node.b
    if op in _PLAIN:
        return _PLAIN[op](value(a), value(b))
    if op in _ONE:
        return _ONE[op](value(a))
    if op is g.LESS:
        return w.from_whole(w.less(value(a), value(b)))
    if op is g.LEQ:
        return w.from_whole(w.at_most(value(a), value(b)))
    if op is g.MASK:
        return w.choose(value(b), _ZERO, w.differs(value(a), _ZERO))
    if op is g.SIGN:
        negative = w.choose(w.number(-1.0), value(a), w.less(value(a), _ZERO))
        return w.choose(_PLUS, negative, w.above(value(a), _ZERO))
    if op is g.MIN or op is g.MAX:
        compare = w.less if op is g.MIN else w.above
        first = w.either(compare(value(a), value(b)), w.differs(value(a), value(a)))
        return w.choose(value(a), value(b), first)
    if op is g.ABOVE or op is g.FELT:
        assert isinstance(b, float)
        least = b * g.FELT_FROM["float64"] if op is g.FELT else b
        return w.choose(_PLUS, _NAN, w.above(value(a), w.number(least)))
    if op is g.POW:
        power = w.call(imported[op], value(a), value(b))
        return w.choose(power, _NAN, w.at_least(value(a), _ZERO))
    return w.call(imported[op], *([value(a), value(b)] if op is g.ATAN2 else [value(a)]))
