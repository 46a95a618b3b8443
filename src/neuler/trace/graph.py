"""A graph of scalar operations that simplifies itself while it grows.

Recursions are written over *any scalar*: Python floats, or the nodes of this graph. A node
with the same operation and the same operands is the same node (interning), products with 0
and 1, signs and constants fold as the graph grows. Constants are plain Python floats.

>>> g = Graph()
>>> x, y = g.inputs("x", 2)
>>> x * y - y * x
0.0
>>> (x * 2.0) * 0.5 is x
True
>>> y
<input x[1]>
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Union

INPUT, ADD, SUB, MUL, DIV, NEG, SIN, COS, SQRT, SIGN, ABOVE, FELT = (
    "input", "add", "sub", "mul", "div", "neg", "sin", "cos", "sqrt", "sign", "above", "felt",
)  # fmt: skip
LESS, LEQ, MASK, MIN, MAX, ABS, EXP, LOG, TANH, ATAN2, POW = (
    "less", "leq", "mask", "min", "max", "abs", "exp", "log", "tanh", "atan2", "pow",
)  # fmt: skip

Scalar = Union["Node", float]
"""What a recursion computes with."""


class Graph:
    """Owns the nodes, in the order of their creation (operands always come first)."""

    __slots__ = ("_known", "_named", "nodes")

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self._known: dict[tuple[str, Scalar, Scalar], Node] = {}
        self._named: list[tuple[int, str]] = []

    def inputs(self, name: str, count: int) -> list[Node]:
        """``count`` new input nodes of a name, in the order in which a kernel will be handed them."""
        self._named.append((len(self.nodes), name))
        return [self._new(INPUT, float(len(self.nodes)), 0.0) for _ in range(count)]

    def input_name(self, node: Node) -> tuple[str, int]:
        """The name of an input node, and its place among those of this name.

        >>> graph = Graph()
        >>> q, qd = graph.inputs("q", 3), graph.inputs("qd", 3)
        >>> graph.input_name(qd[2])
        ('qd', 2)
        """
        first, name = next(block for block in reversed(self._named) if block[0] <= node.id)
        return name, node.id - first

    def _new(self, op: str, a: Scalar, b: Scalar) -> Node:
        node = Node(self, op, a, b, len(self.nodes))
        self.nodes.append(node)
        return node

    def node(self, op: str, a: Scalar, b: Scalar = 0.0) -> Node:
        """The one node for this operation on these operands."""
        key = (op, a, b)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._new(op, a, b)
        return known

    def has(self, op: str, a: Scalar, b: Scalar) -> Node | None:
        """The node, if it has been built already."""
        return self._known.get((op, a, b))

    def know(self, op: str, x: Node, value: Scalar) -> None:
        """A value that is known otherwise: it stands for this operation on x from now on."""
        self._known[op, x, 0.0] = value  # type: ignore[assignment]

    def live(self, outputs: Iterable[Scalar]) -> list[Node]:
        """The nodes that the outputs need, operands first, each shortly before it is used.

        Depth first from the last output to the first: a recursion's tips come before its root, so
        that what one branch needs is computed, used and forgotten before the next one.
        """
        seen = bytearray(len(self.nodes))
        order: list[Node] = []
        for out in reversed(list(outputs)):
            stack = [out] if isinstance(out, Node) else []
            while stack:
                node = stack[-1]
                if seen[node.id]:
                    stack.pop()
                    if seen[node.id] == 1:
                        seen[node.id] = 2
                        order.append(node)
                    continue
                seen[node.id] = 1
                operands = node.operands
                if len(operands) == 2 and operands[0].id > operands[1].id:
                    operands = operands[::-1]
                stack.extend(operands)  # the younger operand, with the longer history, comes first
        return order


class Node:
    """One scalar value of a graph."""

    __slots__ = ("a", "b", "graph", "id", "op", "operands")

    def __init__(self, graph: Graph, op: str, a: Scalar, b: Scalar, number: int) -> None:
        self.graph = graph
        self.op = op
        self.a = a
        self.b = b
        self.id = number
        self.operands: tuple[Node, ...]
        """The nodes among its operands."""
        if isinstance(a, Node):
            self.operands = (a, b) if isinstance(b, Node) else (a,)
        else:
            self.operands = (b,) if isinstance(b, Node) else ()

    def __add__(self, other: Scalar) -> Scalar:
        return _add(self, other)

    def __radd__(self, other: float) -> Scalar:
        return _add(self, other)

    def __sub__(self, other: Scalar) -> Scalar:
        return _sub(self, other)

    def __rsub__(self, other: float) -> Scalar:
        return _sub(other, self)

    def __mul__(self, other: Scalar) -> Scalar:
        return _mul(self, other)

    def __rmul__(self, other: float) -> Scalar:
        return _mul(self, other)

    def __truediv__(self, other: Scalar) -> Scalar:
        return _div(self, other)

    def __rtruediv__(self, other: float) -> Scalar:
        return _div(other, self)

    def __neg__(self) -> Scalar:
        return self.a if self.op is NEG else self.graph.node(NEG, self)

    def __pos__(self) -> Scalar:
        return self

    def __pow__(self, p: float) -> Scalar:
        return _function("power")(self, p)

    def __abs__(self) -> Scalar:
        return _function("absolute")(self)

    def __lt__(self, other: Scalar) -> Scalar:
        return _function("less")(self, other)

    def __gt__(self, other: Scalar) -> Scalar:
        return _function("less")(other, self)

    def __le__(self, other: Scalar) -> Scalar:
        return _function("less_equal")(self, other)

    def __ge__(self, other: Scalar) -> Scalar:
        return _function("less_equal")(other, self)

    # NumPy's functions call these on every entry of an array of objects

    def sin(self) -> Scalar:
        """The sine of the value (rad)."""
        return sin(self)

    def cos(self) -> Scalar:
        """The cosine of the value (rad)."""
        return cos(self)

    def sqrt(self) -> Scalar:
        """The square root of the value."""
        return sqrt(self)

    def exp(self) -> Scalar:
        """The exponential of the value."""
        return _function("exp")(self)

    def log(self) -> Scalar:
        """The natural logarithm of the value."""
        return _function("log")(self)

    def tanh(self) -> Scalar:
        """The hyperbolic tangent of the value."""
        return _function("tanh")(self)

    def arctan2(self, x: Scalar) -> Scalar:
        """The angle of the point (x, self)."""
        return _function("atan2")(self, x)

    def __bool__(self) -> bool:
        raise TypeError("a traced value has no truth: a function must not branch on it; where(c, x, y) chooses")

    def __float__(self) -> float:
        raise TypeError("a traced value is not a number yet; it gets one when the kernel is called")

    def __repr__(self) -> str:
        if self.op is INPUT:
            name, place = self.graph.input_name(self)
            return f"<input {name}[{place}]>"
        return f"<{self.op} {self.id}>"


def _function(name: str) -> Callable[..., Scalar]:
    """Of the module above, whose functions make nodes of this one."""
    from neuler.trace import scalars

    return getattr(scalars, name)


def _add(a: Node, b: Scalar) -> Scalar:
    graph = a.graph
    if not isinstance(b, Node):
        b = float(b)
        if b == 0.0:
            return a
        if a.op is NEG:  # -x + c = c - x
            return _sub(b, a.a)
        if a.op is ADD and not isinstance(a.b, Node):  # (x + c1) + c2
            return _add(a.a, a.b + b)  # type: ignore[arg-type]
        return graph.node(ADD, a, b)
    if a.op is NEG:
        if b.op is NEG:
            return -_add(a.a, b.a)  # type: ignore[arg-type]
        return _sub(b, a.a)
    if b.op is NEG:
        return _sub(a, b.a)
    if a.id > b.id:
        a, b = b, a
    return graph.node(ADD, a, b)


def _sub(a: Scalar, b: Scalar) -> Scalar:
    if not isinstance(b, Node):
        return _add(a, -float(b))  # type: ignore[arg-type]
    graph = b.graph
    if b.op is NEG:
        return _add(b.a, a)  # type: ignore[arg-type]
    if not isinstance(a, Node):
        a = float(a)
        if a == 0.0:
            return -b
        if b.op is ADD and not isinstance(b.b, Node):  # c1 - (x + c2)
            return _sub(a - b.b, b.a)
        return graph.node(SUB, a, b)
    if a is b:
        return 0.0
    if a.op is NEG:
        return -_add(a.a, b)  # type: ignore[arg-type]
    opposite = graph.has(SUB, b, a)
    return graph.node(SUB, a, b) if opposite is None else -opposite


def _mul(a: Node, b: Scalar) -> Scalar:
    graph = a.graph
    if not isinstance(b, Node):
        b = float(b)
        if b == 0.0:
            return 0.0
        if b == 1.0:
            return a
        if b == -1.0:
            return -a
        if a.op is NEG:
            return _mul(a.a, -b)  # type: ignore[arg-type]
        if a.op is MUL and not isinstance(a.b, Node):  # (x c1) c2
            return _mul(a.a, a.b * b)  # type: ignore[arg-type]
        if b < 0.0:
            return -graph.node(MUL, a, -b)
        return graph.node(MUL, a, b)
    if a.op is NEG:
        return -_mul(a.a, b)  # type: ignore[arg-type]
    if b.op is NEG:
        return -_mul(a, b.a)
    if a.id > b.id:
        a, b = b, a
    return graph.node(MUL, a, b)


def _div(a: Scalar, b: Scalar) -> Scalar:
    if not isinstance(b, Node):
        return _mul(a, 1.0 / float(b))  # type: ignore[arg-type]
    graph = b.graph
    if b.op is NEG:
        return -_div(a, b.a)
    if isinstance(a, Node):
        if a is b:
            return 1.0
        if a.op is NEG:
            return -_div(a.a, b)
        return graph.node(DIV, a, b)
    a = float(a)
    return 0.0 if a == 0.0 else graph.node(DIV, a, b)


def sin(x: Scalar) -> Scalar:
    """Sine of a number or a node."""
    if not isinstance(x, Node):
        return cmath.sin(x) if isinstance(x, complex) else math.sin(x)  # type: ignore[return-value]
    return -x.graph.node(SIN, x.a) if x.op is NEG else x.graph.node(SIN, x)


def cos(x: Scalar) -> Scalar:
    """Cosine of a number or a node."""
    if not isinstance(x, Node):
        return cmath.cos(x) if isinstance(x, complex) else math.cos(x)  # type: ignore[return-value]
    return x.graph.node(COS, x.a if x.op is NEG else x)


def sqrt(x: Scalar) -> Scalar:
    """Square root of a number or a node; NaN of a negative number."""
    if isinstance(x, Node):
        return x.graph.node(SQRT, x)
    if isinstance(x, complex):
        return cmath.sqrt(x)  # type: ignore[return-value]
    return math.sqrt(x) if not x < 0 else math.nan


def one_if_above(x: Scalar, least: float) -> Scalar:
    """1 where x > least, NaN elsewhere: a factor that marks what is not valid. It raises no floating-point flag."""
    if least < 0.0:
        raise ValueError(f"numbers are compared with zero or more, got {least}")
    if not isinstance(x, Node):
        return 1.0 if (x.real if isinstance(x, complex) else x) > least else math.nan
    return x.graph.node(ABOVE, x, least)


FELT_FROM = {"float64": 1e-10, "float32": 1e-4}
"""Of its usual size: what is less of a difference of such numbers is rounding."""


def one_if_felt(x: Scalar, usual: float) -> Scalar:
    """1 where x is more than a rounding error of numbers of the usual size, in the kernel's precision; else NaN."""
    if isinstance(x, Node):
        return x.graph.node(FELT, x, usual)
    return one_if_above(x, FELT_FROM["float64"] * usual)


def one_if_positive(x: Scalar) -> Scalar:
    """1 where x > 0, NaN elsewhere."""
    return one_if_above(x, 0.0)


def inverse_above(x: Scalar, least: float) -> Scalar:
    """1 / x where x > least, NaN elsewhere, without a flag: nothing is divided by zero."""
    return one_if_above(x, least) / x


def sign(x: Scalar) -> Scalar:
    """-1, 0 or 1; NaN stays NaN."""
    if isinstance(x, complex):
        return sign(x.real)
    if not isinstance(x, Node):
        return x if math.isnan(x) else float(x > 0) - float(x < 0)
    return -x.graph.node(SIGN, x.a) if x.op is NEG else x.graph.node(SIGN, x)


KINDS = {ADD: "add", SUB: "add", MUL: "mul", DIV: "div", SQRT: "div"} | dict.fromkeys(
    (SIN, COS, EXP, LOG, TANH, ATAN2, POW), "trig"
)
"""How operations are counted; signs, choices and comparisons are not."""


def count(outputs: Sequence[Scalar]) -> dict[str, int]:
    """How many multiplications, additions (and subtractions), divisions (and roots), sines and other functions."""
    total = {"mul": 0, "add": 0, "div": 0, "trig": 0}
    graph = next((out.graph for out in outputs if isinstance(out, Node)), None)
    for node in graph.live(outputs) if graph else ():
        if node.op in KINDS:
            total[KINDS[node.op]] += 1
    return total
