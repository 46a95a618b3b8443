"""``neuler.function``: a Python function over arrays, compiled, with its differentiated."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from neuler.compiled import Compiled, precision
from neuler.compiler import one_state
from neuler.errors import InputError
from neuler.functions import differentiated, stored
from neuler.functions.tracing import check_name, listing_of
from neuler.naming import fresh, hint
from neuler.trace import listing as listings
from neuler.trace.listing import Listing
from neuler.trace.recipe import Operand, Operations

if TYPE_CHECKING:
    from neuler.compiler.build import Built

MOST_OPERANDS = 64
"""Inputs and outputs together, NumPy's limit."""
Names = str | Sequence[str] | None


@one_state.vectorcalled
class Function(Compiled):
    """A compiled function of arrays, made by :func:`neuler.function`; and its derivatives, which are functions too.

    Call it with arrays in the order of ``inputs``, or by their names; leading axes are a batch, ``out=`` takes arrays
    to write into, several outputs come as a namedtuple. ``operations``, ``threads``, ``bind()`` are those of a kernel.
    Machine code is made when it is first needed. Pickles hold the operations, not the Python function.

    In ``wrt`` (default: all inputs) and ``of`` (default: all outputs) stand names. Where ``wrt`` of a matrix is a list,
    its inputs are stacked in that order, each flat. A sparse matrix comes as its entries, and ``structure`` says where
    each belongs. A name that is taken gets an underscore behind it.

    >>> import neuler, numpy as np
    >>> f = neuler.function(lambda x, u: np.sin(x) * u, {"x": 2, "u": ()})
    >>> f([0.0, np.pi / 2], 3.0)
    array([0., 3.])
    >>> f.jacobian("x")(x=[0.0, 0.0], u=3.0)
    array([[3., 0.],
           [0., 3.]])
    """

    _decided = Compiled._decided | {"name"}

    def __init__(self, listing: Listing, name: str = "function", dtype: Any = "float64") -> None:
        sides = len(listing.inputs) + len(listing.outputs)
        if sides > MOST_OPERANDS:
            raise InputError(
                f"{name}: {sides} inputs and outputs, NumPy takes {MOST_OPERANDS}; stack some into one array"
            )
        self.name = self._called = name
        self.dtype = precision(name, dtype)
        self._listed = listing
        self.recipe = listing.recipe()
        self._derived: dict[Any, Function] = {}

    def _build(self, *, one: bool = False) -> Built:
        from neuler.compiler.build import compile_recipe

        identity = ("function", self._listing.digest)
        return compile_recipe(self.recipe, self.name, "", self.dtype.name, identity, origin=listings.__name__, one=one)

    @property
    def operations(self) -> Operations:
        """Multiplications, additions, divisions and sines for one state."""
        return self._listing.operations

    # ---- derivatives ------------------------------------------------------------------------------------------

    def jacobian(self, wrt: Names = None, of: Names = None, *, sparse: bool = False) -> Function:
        """d(out)/d(in), shape out + in, an output ``d<out>_d<in>`` for each of ``of``.

        >>> import neuler
        >>> f = neuler.function(lambda x: x[0] * x[1] ** 2, {"x": 2})
        >>> f.jacobian()([2.0, 3.0])
        array([ 9., 12.])
        """
        return self._matrix("jacobian", differentiated.jacobian_of, wrt, of, sparse)

    def hessian(self, wrt: Names = None, of: Names = None, *, sparse: bool | str = False) -> Function:
        """Second derivatives of one number, shape in + in; of several numbers, of their sum times ``weights``.

        ``weights`` is one more input of the shape of the output; of several outputs each has its own,
        ``weights_<out>``. Of a sparse Hessian both triangles are given; with ``sparse="lower"`` the lower one alone, as
        solvers take it.

        >>> import neuler
        >>> f = neuler.function(lambda x: x[0] * x[1] ** 2, {"x": 2})
        >>> f.hessian()([2.0, 3.0])
        array([[0., 6.],
               [6., 4.]])
        """
        return self._matrix("hessian", differentiated.hessian_of, wrt, of, sparse)

    def jvp(self, wrt: Names = None, of: Names = None) -> Function:
        """Jacobian times vector: inputs ``d<in>`` more, outputs ``d<out>``. The matrix is never made.

        >>> import neuler
        >>> f = neuler.function(lambda x: x[0] * x[1] ** 2, {"x": 2})
        >>> float(f.jvp()([2.0, 3.0], dx=[1.0, 0.0]))
        9.0
        """
        return self._product("jvp", differentiated.jvp_of, wrt, of)

    def vjp(self, wrt: Names = None, of: Names = None) -> Function:
        """Vector times Jacobian: inputs ``weights`` more, the shape of the output; outputs ``gradient_<in>``.

        >>> import neuler
        >>> f = neuler.function(lambda x: x[::-1] ** 2, {"x": 2})
        >>> f.vjp()([2.0, 3.0], weights=[1.0, 10.0])
        array([40.,  6.])
        """
        return self._product("vjp", differentiated.vjp_of, wrt, of)

    def hvp(self, wrt: Names = None, of: Names = None) -> Function:
        """Hessian times vector: inputs as of :meth:`hessian` and ``d<in>``, outputs ``dgradient_<in>``.

        >>> import neuler
        >>> f = neuler.function(lambda x: x[0] * x[1] ** 2, {"x": 2})
        >>> f.hvp()([2.0, 3.0], dx=[1.0, 1.0])
        array([ 6., 10.])
        """
        return self._product("hvp", differentiated.hvp_of, wrt, of)

    def _matrix(self, what: str, make: Callable[..., Listing], wrt: Names, of: Names, sparse: object) -> Function:
        if not isinstance(sparse, bool) and (sparse != "lower" or what != "hessian"):
            kinds = "True, False or 'lower'" if what == "hessian" else "True or False"
            raise InputError(f"{self.name}.{what}: sparse must be {kinds}, got {sparse!r}")
        inputs, outputs = self._chosen(what, "wrt", wrt, self.inputs), self._chosen(what, "of", of, self.outputs)
        stacked = not isinstance(wrt, str) and (wrt is not None or len(inputs) > 1)
        return self._kept(what, make, outputs, inputs, stacked=stacked, sparse=sparse)

    def _product(self, what: str, make: Callable[..., Listing], wrt: Names, of: Names) -> Function:
        inputs, outputs = self._chosen(what, "wrt", wrt, self.inputs), self._chosen(what, "of", of, self.outputs)
        return self._kept(what, make, outputs, inputs)

    def _chosen(self, what: str, which: str, names: Names, operands: Sequence[Operand]) -> tuple[str, ...]:
        known = [operand.name for operand in operands]
        if names is None:
            return tuple(known)
        chosen = (names,) if isinstance(names, str) else names
        if not isinstance(chosen, list | tuple) or not chosen or not all(isinstance(x, str) for x in chosen):
            raise InputError(f"{self.name}.{what}: {which} must be a name or a list of names, got {names!r}")
        for name in chosen:
            if name not in known:
                side = "input" if which == "wrt" else "output"
                raise InputError(f"{self.name}.{what}: there is no {side} {name!r}; {hint(name, known)}")
        if len(set(chosen)) != len(chosen):
            raise InputError(f"{self.name}.{what}: a name stands twice in {which}={names!r}")
        return tuple(chosen)

    def _in(self, dtype: str) -> Function:
        return self if self.dtype.name == dtype else Function(self._listing, self.name, dtype)

    def _kept(self, what: str, make: Callable[..., Listing], *sides: tuple[str, ...], **options: Any) -> Function:
        """Asked for again, the same function."""
        key = what, sides, tuple(options.items())
        found = self._derived.get(key)
        if found is None:
            listing = stored.derived(self._listing, key, lambda: make(self._listing, *sides, **options))
            found = self._derived.setdefault(key, Function(listing, f"{self.name}_{what}", self.dtype))
        return found

    def __repr__(self) -> str:
        sides = [", ".join(f"{o.name} {o.shape}" for o in side) for side in (self.inputs, self.outputs)]
        return f"<function {self.name}: {sides[0]} -> {sides[1]}; {self.operations}>"

    def __reduce__(self) -> Any:
        listing = self._listing
        sides = [tuple((x.name, x.shape) for x in side) for side in (listing.inputs, listing.outputs)]
        return _again, (self.name, self.dtype.name, *sides, listing.body, dict(listing.structure), self.threads)


Sides = Sequence[tuple[str, tuple[int, ...]]]


def _again(
    name: str, dtype: str, inputs: Sides, outputs: Sides, body: bytes, structure: dict[str, Any], threads: int | None
) -> Function:
    sides = [tuple(Operand(*operand) for operand in side) for side in (inputs, outputs)]
    function = Function(Listing(sides[0], sides[1], body, structure), name, dtype)
    function.threads = threads
    return function


def function(
    f: Callable[..., Any],
    inputs: Mapping[str, Any] | None = None,
    outputs: str | Sequence[str] | Mapping[str, Any] | None = None,
    name: str | None = None,
    *,
    dtype: Any = "float64",
) -> Function:
    """Compile ``f``, a Python function of arrays, into a :class:`Function`.

    ``inputs`` gives names and shapes: ``{"x": 3, "A": (2, 2), "u": ()}``, () being one number. ``f`` is called once,
    with one array of objects for each in this order, and returns an array (a list, a number), a tuple of several, or a
    dict by name. ``outputs`` names them, ``{"y": 3}`` with their shapes to be checked. Inside ``f`` work ``@``, slices,
    NumPy's arithmetic and smooth functions, the functions of :mod:`neuler.math`, robots' verbs and other functions.
    Of a verb or a function alone, ``neuler.function(robot.forward_dynamics)``, the inputs are known.

    >>> import neuler, numpy as np
    >>> arm = neuler.robots.two_link()
    >>> def power(q, qd, qdd):
    ...     return qd @ arm.inverse_dynamics(q, qd, qdd)
    >>> f = neuler.function(power, {"q": 2, "qd": 2, "qdd": 2}, "watt")
    >>> f(np.zeros((5, 2)), np.ones(2), np.zeros(2)).shape
    (5,)
    >>> f.jacobian("qd").outputs
    (Operand(name='dwatt_dqd', shape=(2,)),)
    """
    if name is None:
        called = getattr(f, "__name__", None) or getattr(f, "_called", None)
        usable = isinstance(called, str) and called.isidentifier()
        name = str(called) if usable else "function"
    else:
        check_name("function", "a function", name)
    precision(name, dtype)
    if inputs is None and isinstance(f, Compiled):
        return Function(_of_compiled(name, f, outputs), name, dtype)
    return Function(listing_of(name, f, inputs, outputs), name, dtype)


def _of_compiled(name: str, f: Compiled, outputs: Any) -> Listing:
    if outputs is not None:
        raise InputError(f"{name}: where the inputs are those of a kernel, so are the outputs; leave them away")
    listing = f._listing
    taken = [x.name for x in listing.inputs]
    gives = tuple(Operand(fresh(x.name, taken), x.shape) for x in listing.outputs)
    structure = {fresh(key, taken): axes for key, axes in listing.structure.items()}
    return Listing(listing.inputs, gives, listing.body, structure)
