"""Targets of XLA: what is registered and how long, calls by others, callbacks where XLA does not call."""

import os
import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest

import neuler

pytestmark = pytest.mark.exports
jax = pytest.importorskip("jax")

import jax.numpy as jnp  # noqa: E402
from jax.test_util import check_grads  # noqa: E402

import neuler.jax  # noqa: E402
from jax_calls import MODES, arm, puma, same, states  # noqa: E402
from neuler.export import jax_functions, xla_ffi  # noqa: E402
from neuler.export.objects import _all_targets  # noqa: E402
from neuler.export.xla_handler import answer  # noqa: E402


@pytest.fixture
def unsaid(monkeypatch):
    """Warnings that were given once are given again."""
    monkeypatch.setattr(jax_functions, "_told", set())


def target(kernel):
    """The name by which a kernel is registered."""
    f = neuler.jax.wrap(kernel)
    f(*(np.zeros(operand.shape) for operand in kernel.inputs))
    return f._source.name


def directly(name, *arrays, shape=(4, 2), dtype=np.float64, **options):
    call = jax.ffi.ffi_call(name, jax.ShapeDtypeStruct(shape, dtype), **options)
    return jax.block_until_ready(jax.jit(call)(*arrays))


def test_whoever_calls_a_target_with_other_buffers_gets_an_error():
    name, x = target(arm().inverse_dynamics), np.ones((4, 2))
    same(directly(name, x, x, x), arm().inverse_dynamics(x, x, x))
    same(directly(name, x, x[:1], x), arm().inverse_dynamics(x, x[:1], x))
    wrong = [
        ((x.astype(np.float32), x, x), {}, "q must be a buffer of float64"),
        ((x, x, x.astype(int)), {}, "qdd must be a buffer of float64"),
        ((x, np.ones((4, 3)), x), {}, r"qd must be .* last axes are \(2,\)"),
        ((x, x, x[0]), {}, "qdd must be"),
        ((x, x, x[None]), {}, "qdd must be"),
        ((x, np.float64(1.0), x), {}, "qd must be"),
        ((x, x[:3], x), {}, "its batch axes are those of the results, or 1"),
        ((x, x, x), {"dtype": np.float32}, "tau must be a buffer of float64"),
        ((x, x, x), {"shape": (4, 3)}, "tau must be"),
        ((x, x, x), {"shape": (1, 2)}, "q must be"),
        ((x, x, x), {"shape": ()}, "tau must be"),
        ((x, x), {}, "takes 3 buffers and gives 1"),
        ((x, x, x, x), {}, "takes 3 buffers and gives 1"),
    ]
    for arrays, options, message in wrong:
        with pytest.raises(Exception, match=f"(?s)INVALID_ARGUMENT.*{message}"):
            directly(name, *arrays, **options)
    two = jax.ffi.ffi_call(name, [jax.ShapeDtypeStruct((4, 2), np.float64)] * 2)
    with pytest.raises(Exception, match="INVALID_ARGUMENT"):
        jax.block_until_ready(two(x, x, x))
    for axes in (62, 63, 64, 65):
        shape = (*[1] * (axes - 1), 4, 2)
        call = jax.ffi.ffi_call(name, jax.ShapeDtypeStruct(shape, np.float64))
        call = jax.jit(lambda x, call=call, shape=shape: call(*[x.reshape(shape)] * 3).reshape(4, 2))
        if axes <= 64:
            same(call(x), arm().inverse_dynamics(x, x, x))
        else:
            with pytest.raises(Exception, match=r"(?s)INVALID_ARGUMENT.*tau must be"):
                jax.block_until_ready(call(x))


def test_results_that_overlap_arguments_are_refused():
    name, x = target(arm().inverse_dynamics), jnp.ones((4, 2))
    with pytest.raises(Exception, match=r"(?s)INVALID_ARGUMENT.*must not overlap"):
        directly(name, x, x + 1.0, x + 2.0, input_output_aliases={1: 0})


def test_a_kernel_is_registered_once():
    name = target(arm().inverse_dynamics)
    count = len(xla_ffi._registered)
    again = neuler.robots.two_link().compile("inverse_dynamics")
    assert target(again) == name
    assert target(arm().inverse_dynamics) == name
    assert len(xla_ffi._registered) == count
    other = neuler.robots.two_link().with_payload("link2", mass=1.0) if hasattr(arm(), "with_payload") else puma()
    assert target(other.inverse_dynamics) != name
    code = "import neuler, neuler.jax; print(neuler.jax._Source(neuler.robots.two_link().inverse_dynamics).name)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == name  # what JAX has cached on disk finds it again


def test_code_stays_when_nobody_holds_the_kernel():
    def made(k):
        f = neuler.jax.wrap(neuler.function(lambda x: x * float(k) + 1.0, {"x": 2}, name="gone"))
        return jax.jit(f).lower(np.ones(2)).compile()

    import gc

    functions = [made(k) for k in range(5)]
    gc.collect()
    for k, f in enumerate(functions):
        same(f(np.ones(2)), np.full(2, k + 1.0))


def test_functions_are_pickled():
    f = pickle.loads(pickle.dumps(neuler.jax.wrap(arm().gravity_force, mode="reverse")))
    same(f(np.ones(2)), arm().gravity_force(np.ones(2)))
    assert f.mode == "reverse"


def test_import_brings_no_jax():
    code = "import sys, neuler, neuler.jax; print('jax' in sys.modules, neuler.jax.wrap.__name__)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["False", "wrap"]


def test_without_jax_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ImportError, match="pip install jax"):
        neuler.jax.wrap(arm().gravity_force)


CACHED = """
import jax, numpy as np, neuler, neuler.jax
jax.config.update("jax_enable_x64", True)
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
for robot in (neuler.robots.two_link(), neuler.robots.puma560()):
    q = np.linspace(0.0, 1.0, robot.nv)
    found = jax.jit(jax.grad(lambda q: neuler.jax.wrap(robot.gravity_force)(q).sum()))(q)
    expected = neuler.function(robot.gravity_force).vjp()(q, weights=np.ones(robot.nv))
    print(np.abs(np.asarray(found) - expected).max() < 1e-12)
"""


def test_programmes_that_jax_has_cached_on_disk(tmp_path):
    """Another process finds its own code by the same names."""
    for _ in range(2):
        environment = {**os.environ, "JAX_COMPILATION_CACHE_DIR": str(tmp_path)}
        run = subprocess.run(
            [sys.executable, "-c", CACHED], capture_output=True, text=True, check=True, env=environment
        )
        assert run.stdout.split() == ["True", "True"]
        assert list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "triple", ["aarch64-unknown-linux-gnu", "arm64-apple-macosx11.0.0", "x86_64-pc-windows-msvc-elf"]
)
def test_handlers_of_other_machines_are_valid_code(triple):
    """They are compiled here; what runs is the handler of this machine."""
    llvm = _all_targets()
    module = llvm.parse_assembly(answer(triple, (0, 1)))
    module.verify()
    assert llvm.Target.from_triple(triple).create_target_machine(opt=2).emit_object(module)


def test_many_threads_at_once():
    """A kernel whose scratch comes from a pool, called by more threads than there are cores, and from XLA's own."""
    kernel = neuler.robots.get("human").inverse_dynamics
    assert kernel._compiled.code.pool
    f = jax.jit(neuler.jax.wrap(kernel))
    q = kernel.robot.random_configuration(0, 40)
    rng = np.random.default_rng(0)
    inputs = [(q, *rng.uniform(-1.0, 1.0, (2, 40, kernel.robot.nv))) for _ in range(8)]
    expected = [kernel(*x) for x in inputs]
    wrong = []

    def work(k):
        for _ in range(60):
            for j in range(len(inputs)):
                found = f(*inputs[(j + k) % 8])
                if not np.array_equal(found, expected[(j + k) % 8]):
                    wrong.append((k, j))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    both = jax.jit(lambda a, b: (f(*a), f(*b)))(inputs[0], inputs[1])  # independent calls of one programme
    same(both[0], expected[0])
    same(both[1], expected[1])


def checked_in_every_way(f, kernel, mode):
    q, qd, qdd = states(arm(), 6)
    same(f(q, qd, qdd), kernel(q, qd, qdd))
    same(jax.jit(jax.vmap(f, (0, None, 0)))(q, qd[0], qdd), kernel(q, qd[0], qdd))
    nested = jax.vmap(jax.vmap(f, (None, 0, None)), (0, None, None))
    same(nested(q, qd, qdd[0]), kernel(q[:, None], qd, qdd[0]))
    check_grads(jax.jit(f), (q[0], qd[0], qdd[0]), order=2, modes=MODES[mode])
    slope = jax.vmap(jax.jacrev(f))(q, qd, qdd)
    np.testing.assert_allclose(slope, arm().inverse_dynamics_sensitivities(q, qd, qdd)[0], atol=1e-12)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("reason", ["version", "platform", "jax"])
def test_callbacks_where_xla_cannot_call(mode, reason, monkeypatch, unsaid):
    """XLA really refuses a handler of version 9; the others are told to be so."""
    monkeypatch.setattr(xla_ffi, "_registered", {})
    monkeypatch.setattr(jax_functions, "_wrapped", {})
    said = {"version": "API version", "platform": "platform 'rocm'", "jax": "jax is 0.4.30"}[reason]
    if reason == "version":
        monkeypatch.setattr(xla_ffi, "VERSIONS", ((9, 0),))
    elif reason == "platform":
        monkeypatch.setattr(jax, "default_backend", lambda: "rocm")
    else:
        monkeypatch.setattr(jax, "__version_info__", (0, 4, 30))
        monkeypatch.setattr(jax, "__version__", "0.4.30")
    kernel = arm().inverse_dynamics
    f = neuler.jax.wrap(kernel, mode=mode)
    with pytest.warns(UserWarning, match=f"called back in Python.*{said}") as caught:
        checked_in_every_way(f, kernel, mode)
    assert len([each for each in caught if "called back" in str(each.message)]) == 1


def test_exported_programmes():
    """By names of targets, for batches of any length; with derivatives."""
    if jax.__version_info__ < (0, 6):
        pytest.importorskip("absl")  # which jax.export needed and did not bring
    from jax import export

    f = neuler.jax.wrap(arm().inverse_dynamics)
    batch = jax.ShapeDtypeStruct(export.symbolic_shape("b, 2"), np.float64)

    def slope(q, qd, qdd):
        return jax.grad(lambda q: f(q, qd, qdd).sum())(q)

    jax.jit(slope).lower(*states(arm(), 3))
    assert f._source.name in neuler.jax.targets()
    checks = [export.DisabledSafetyCheck.custom_call(name) for name in neuler.jax.targets()]
    x = states(arm(), 7)
    same(export.export(jax.jit(f), disabled_checks=checks)(batch, batch, batch).call(*x), arm().inverse_dynamics(*x))
    found = export.export(jax.jit(slope), disabled_checks=checks)(batch, batch, batch).call(*x)
    np.testing.assert_allclose(found, arm().inverse_dynamics_sensitivities(*x)[0].sum(1), atol=1e-12)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_forks_while_a_target_is_being_registered():
    """Another thread's lock is not there in the child, which registers targets of its own."""
    code = """
import os, warnings
import numpy as np, neuler, neuler.jax
from neuler.export import xla_ffi

warnings.simplefilter("ignore")  # JAX has threads
neuler.jax.wrap(neuler.function(lambda x: x * 3.0, {"x": 2}))._source.code()
xla_ffi._lock.acquire()
child = os.fork()
if not child:
    source = neuler.jax.wrap(neuler.function(lambda x: x * 7.0, {"x": 2}))._source
    said = "held" if not xla_ffi._lock.acquire(blocking=False) else xla_ffi._lock.release() or "free"
    os._exit(0 if said == "free" else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "0"
