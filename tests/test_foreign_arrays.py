"""Arrays of other libraries: taken without a copy on the CPU, else refused with what to do."""

import numpy as np
import pytest

import neuler
from neuler.foreign_arrays import taken


class Tensor:
    """What other libraries' arrays look like: DLPack, and perhaps NumPy's protocol."""

    def __init__(self, values, device=1, **facts):
        self.values, self.device = np.asarray(values), device
        self.__dict__.update(facts)

    def __dlpack_device__(self):
        return self.device, 0

    def __dlpack__(self, **options):
        return self.values.__dlpack__(**options)


class Refusing(Tensor):
    def __dlpack__(self, **options):
        raise BufferError("type is none of DLPack's")

    def __array__(self, dtype=None, copy=None):
        raise RuntimeError("bfloat16 is none of NumPy's")


@pytest.fixture
def robot():
    return neuler.robots.two_link()


Q, QD, QDD = np.random.default_rng(0).normal(size=(3, 50, 2))


def test_results_are_those_of_the_same_numbers(robot):
    wanted = robot.inverse_dynamics(Q, QD, QDD)
    found = robot.inverse_dynamics(*map(Tensor, (Q, QD, QDD)))
    assert type(found) is np.ndarray
    np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(robot.inverse_dynamics(*(Tensor(x[0]) for x in (Q, QD, QDD))), wanted[0])
    np.testing.assert_array_equal(robot.inverse_dynamics(Tensor(Q), QD, QDD.tolist()), wanted)


def test_nothing_is_copied():
    assert np.shares_memory(taken("f", "q", Tensor(Q)), Q)
    assert taken("f", "q", Q) is Q
    assert np.shares_memory(taken("f", "q", Tensor(Q, device=3)), Q)


def test_pinned_memory_and_read_only_arrays(robot):
    still = Q.copy()
    still.flags.writeable = False

    class Kept(Tensor):
        def __dlpack__(self, **options):
            raise BufferError("read-only")

        def __array__(self, dtype=None, copy=None):
            return self.values

    np.testing.assert_array_equal(robot.gravity_force(Kept(still)), robot.gravity_force(Q))


@pytest.mark.parametrize(("device", "said"), [(2, "on a CUDA device"), (8, "on Metal"), (99, "on device 99 of DLPack")])
def test_other_devices_are_named(robot, device, said):
    with pytest.raises(neuler.InputError, match=f"gravity_force: q is a .*Tensor {said}; copy it to the CPU"):
        robot.gravity_force(Tensor(Q, device=device))
    with pytest.raises(neuler.InputError, match=said):
        robot.rollout(Tensor(Q[0], device=device), QD[0], None, 1e-3, 5)


def test_gradients_are_not_lost_without_a_word(robot):
    with pytest.raises(neuler.InputError, match=r"requires gradients.*\.detach\(\).*jacobian\(\) and \.vjp\(\)"):
        robot.gravity_force(Tensor(Q, requires_grad=True))
    np.testing.assert_array_equal(robot.gravity_force(Tensor(Q, requires_grad=False)), robot.gravity_force(Q))


def test_types_that_numpy_does_not_have(robot):
    with pytest.raises(neuler.InputError, match="bfloat16 is none of NumPy's; convert it to float64"):
        robot.gravity_force(Refusing(Q))


def test_arrays_without_memory(robot):
    class Meta(Tensor):
        def __dlpack_device__(self):
            raise ValueError("meta tensors have no memory")

    with pytest.raises(neuler.InputError, match="meta tensors have no memory"):
        robot.gravity_force(Meta(Q))


def test_tracers_of_jax(robot):
    tracer = type("DynamicJaxprTracer", (), {"__module__": "jax._src.interpreters.partial_eval"})()
    with pytest.raises(neuler.InputError, match=r"a function that JAX transforms.*neuler.jax.wrap"):
        robot.gravity_force(tracer)


def test_sparse_arrays(robot):
    sparse = pytest.importorskip("scipy.sparse")
    with pytest.raises(neuler.InputError, match=r"which is sparse; \.toarray\(\)"):
        robot.gravity_force(sparse.csr_array(Q))
    with pytest.raises(neuler.InputError, match="which is sparse"):
        robot.gravity_force(Tensor(Q, is_sparse=True))


def test_symbols(robot):
    sympy = pytest.importorskip("sympy")
    with pytest.raises(neuler.InputError, match=r"kernel\.sympy\(\) computes with such symbols"):
        robot.gravity_force(sympy.Matrix(sympy.symbols("a b")))
    casadi = pytest.importorskip("casadi")
    for symbol in (casadi.SX, casadi.MX):
        with pytest.raises(neuler.InputError, match=r"casadi .*kernel\.casadi\(\)"):
            robot.gravity_force(symbol.sym("q", 2))


def test_numbers_of_symbolic_libraries(robot):
    casadi, sympy = pytest.importorskip("casadi"), pytest.importorskip("sympy")
    wanted = robot.gravity_force([0.1, 0.2])
    np.testing.assert_array_equal(robot.gravity_force(casadi.DM([0.1, 0.2])), wanted)
    f = neuler.function(lambda x: x * 2.0, {"x": ()})
    assert f(sympy.Float(0.5)) == 1.0
    with pytest.raises(neuler.InputError, match="real numbers"):
        robot.gravity_force([sympy.Symbol("a"), 0.0])


def test_objects_without_numbers(robot):
    class Nothing(Tensor):
        def __dlpack__(self, **options):
            raise BufferError("no")

    with pytest.raises(neuler.InputError, match="NumPy cannot read it"):
        robot.gravity_force(Nothing(Q))


def test_functions_and_simulations(robot):
    f = neuler.function(lambda x: x * 2.0, {"x": 2})
    np.testing.assert_array_equal(f(Tensor(Q)), 2.0 * Q)
    wanted = robot.rollout(Q, QD, None, 1e-3, 5)
    found = robot.rollout(Tensor(Q), Tensor(QD), None, 1e-3, 5)
    np.testing.assert_array_equal(found.q, wanted.q)


def test_lists_of_what_is_no_number():
    import sympy

    kernel = neuler.robots.two_link().mass_matrix
    with pytest.raises(neuler.InputError, match=r"sympy Symbol; kernel.sympy\(\) computes"):
        kernel(sympy.symbols("a b"))
    with pytest.raises(neuler.InputError, match="values of type dict"):
        kernel([{}, 1.0])
