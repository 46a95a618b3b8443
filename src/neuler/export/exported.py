"""Exports of every compiled function to other languages and libraries, one method each."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from neuler.inputs import choice
from neuler.trace.recipe import Operand, Recipe

if TYPE_CHECKING:
    from neuler.export.c99.code import CCode
    from neuler.export.interface import Interface
    from neuler.export.symbols import Symbolic
    from neuler.export.wasm.module import WasmModule


class Exported:
    """Mixed into compiled functions, which have a recipe, a precision and a name, and can be called."""

    recipe: Recipe
    dtype: np.dtype[Any]
    _called: str

    def __call__(self, /, *arrays: Any, **named: Any) -> Any:
        """Results for arrays in the order of ``inputs``."""
        raise NotImplementedError

    def c(self, name: str | None = None, *, dtype: str | None = None, far: str = "libm", batch: bool = False) -> CCode:
        """The same function as C99: a header, a source, a test with reference values, and how CMake builds them.

        Readable, with no dependencies except the C library's mathematics; no allocation, no state. With fused
        multiply-add, results in double precision equal the kernel's bit for bit (compiled with
        ``-ffp-contract=off``; exp, log, tanh, atan2 and powers are the C library's). ``dtype``: "float64" or "float32".
        For angles beyond 1e15 (1e6 without fused multiply-add, 8192 in single precision) the C library's sine is
        called; with ``far="nan"`` they give NaN, and it is not needed.
        ``batch=True`` adds ``NAME_batch`` over arrays of states, a loop that compilers vectorise.

        >>> import neuler
        >>> code = neuler.robots.two_link().inverse_dynamics.c()
        >>> print(code.header.split("extern")[1].splitlines()[3])
        void two_link_inverse_dynamics(const double *NEULER_RESTRICT q, const double *NEULER_RESTRICT qd,
        >>> sorted(code.files)[:2]
        ['CMakeLists.txt', 'two_link_inverse_dynamics.c']
        """
        from neuler.export.c99.code import c_code
        from neuler.export.samples import sampled

        precision = self.dtype.name if dtype is None else choice("c: dtype", dtype, ("float64", "float32"))
        interface = self._interface(name)
        samples = sampled(self._sample_states, self._in(precision)._sample_results, precision)
        return c_code(interface, dtype=precision, far=far, batch=batch, samples=samples)

    def object_file(self, target: str = "x86_64", name: str | None = None, *, optimize: str = "size") -> bytes:
        """The same function as an object file for another machine, straight from LLVM: no compiler is needed.

        ``target``: "thumbv7em" (or "cortex-m4", "cortex-m7", "cortex-m33"), "aarch64", "riscv64", "x86_64",
        "x86_64-v3", "windows", "macos", "macos-x86_64", "wasm32", or a triple of such a machine. The function is
        ``void NAME(const double *q, ..., double *tau)``, floats where ``dtype`` is float32, declared in
        :meth:`object_header`; it calls the C library of the target. ``optimize``: for "size" or "speed".

        >>> import neuler
        >>> neuler.robots.two_link().compile("inverse_dynamics", dtype="float32").object_file("cortex-m4")[:4]
        b'\\x7fELF'
        """
        from neuler.export.objects import object_file

        return object_file(self._interface(name), target, self.dtype.name, optimize)

    def object_header(self, name: str | None = None) -> str:
        """The header of :meth:`object_file`."""
        from neuler.export.c99.header import object_header

        return object_header(self._interface(name), self.dtype.name)

    def wasm(self, name: str | None = None, *, far: str = "math") -> WasmModule:
        """The same function as a module of WebAssembly: for browsers, Node and every engine, a few kB, no compiler.

        ``binary`` are its bytes, ``loader`` a JavaScript module that loads them and checks arguments, ``types`` its
        declarations for TypeScript; ``save(folder)`` writes all three. The module exports ``memory``,
        ``run(q, ..., tau)`` over byte offsets of doubles, ``batch(count, q, ..., tau)`` over consecutive states, and
        ``start``, the first free byte. Always in double precision. Results equal bit for bit those of kernels on
        machines without fused multiply-add; elsewhere they agree to rounding.

        Sines of angles beyond 1e6, and exp, log, tanh, atan2 and powers, are imported from "math", which can be
        JavaScript's Math; with ``far="nan"`` such angles give NaN and no sine is imported.

        >>> import neuler
        >>> module = neuler.robots.puma560().gravity_force.wasm()
        >>> len(module.binary) < 2000, module.imports
        (True, ('sin', 'cos'))
        """
        from neuler.export.wasm.module import wasm_module

        return wasm_module(self._interface(name), far)

    def python(self, name: str | None = None, *, numpy: bool = False, names: Mapping[str, str] | None = None) -> str:
        """The same function as a file of Python: on lists with ``math`` alone, or on arrays with NumPy.

        For teaching, for review, and where nothing can be compiled; kernels are much faster. Common subexpressions
        have names, sines and cosines those of SYMORO+: ``s_2``, ``c_23``. ``names`` gives parameters other names:
        {"link2.mass": "m2"}.

        >>> import neuler
        >>> kernel = neuler.robots.two_link().compile("gravity_force", parameters="gravity")
        >>> print(kernel.python().split("def ")[1].splitlines()[3])
            s_1 = sin(q_1)
        """
        from neuler.export.python import python_code

        return python_code(self._interface(name), numpy=numpy, names=names)

    def sympy(self, name: str | None = None, *, names: Mapping[str, str] | None = None) -> Symbolic:
        """SymPy expressions: symbols of the inputs, common values by name, outputs; ``expanded()`` are closed forms.

        Parameters that are inputs (``robot.compile(..., parameters=...)``) are symbols, all others numbers.
        ``names`` gives parameters other names: {"link2.mass": "m2"}. ``formulas()`` and ``latex()``
        return LaTeX. Formulas do not check for open loops and singular poses.

        >>> import neuler
        >>> found = neuler.robots.two_link().compile("gravity_force", parameters="gravity").sympy()
        >>> print(found.formulas()[0])
        s_{1} = \\sin{\\left(q_{1} \\right)}
        """
        from neuler.export.symbols import symbolic

        return symbolic(self._interface(name), names)

    def latex(self, name: str | None = None, *, names: Mapping[str, str] | None = None) -> str:
        """The formulas of :meth:`sympy`, below each other, as LaTeX for a document that uses ``amsmath``."""
        return self.sympy(name, names=names).latex()

    def casadi(self, name: str | None = None, *, external: bool = False) -> Any:
        """The same function as one of CasADi, over SX: with sparsity and derivatives of any order.

        Arrays with more than two axes come as matrices whose rows run over all axes but the last. ``external=True``
        compiles our C instead, with the Jacobian: a call is 5 to 30 times as fast, but there are no second derivatives,
        and a C compiler is needed (the system's, or pip install ziglang).

        >>> import neuler
        >>> f = neuler.robots.two_link().inverse_dynamics.casadi("torque")
        >>> f
        Function(torque:(q[2],qd[2],qdd[2])->(tau[2]) SXFunction)
        """
        from neuler.export.casadi import casadi_function

        return casadi_function(self._interface(name), external=external)

    def _interface(self, name: str | None = None) -> Interface:
        """Names of all that goes in and comes out, for other languages."""
        from neuler.export.interface import Interface, distinct

        own = self.export_name if name is None else name
        recipe = distinct(self.recipe)
        sides = zip((*recipe.inputs, *recipe.outputs), (*self.recipe.inputs, *self.recipe.outputs), strict=True)
        pairs = list(sides)
        labels = {each.name: self._labels(operand) for each, operand in pairs}
        return Interface(own, recipe, self._about(), labels, {each.name: self._axes(x) for each, x in pairs})

    @property
    def export_name(self) -> str:
        """What it is called in other languages, unless another name is given."""
        from neuler.export.names import joined

        return joined(self._name_parts)

    @property
    def _name_parts(self) -> tuple[str, ...]:
        """What it is called by; the first part is cut where the name would be too long."""
        return (self._called,)

    def _about(self) -> tuple[str, ...]:
        """Lines that say what it computes."""
        return ()

    def _labels(self, operand: Operand) -> Sequence[tuple[str, str]]:
        """The name and the unit of each number of an operand; none where they have none."""
        return ()

    def _axes(self, operand: Operand) -> Sequence[Sequence[str]]:
        """What each axis of an operand runs over; none where that has no names."""
        return ()

    def _in(self, dtype: str) -> Exported:
        """The same function in another precision."""
        raise NotImplementedError

    def _sample_states(self, count: int) -> dict[str, np.ndarray]:
        """So many states for tests, by input."""
        rng = np.random.default_rng(0)
        return {operand.name: rng.uniform(-1.0, 1.0, (count, *operand.shape)) for operand in self.recipe.inputs}

    def _sample_results(self, states: Mapping[str, np.ndarray]) -> list[np.ndarray]:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = self(*(states[operand.name] for operand in self.recipe.inputs))
        return [np.asarray(x) for x in (found if isinstance(found, tuple) else (found,))]
