"""Functions of JAX on several devices: sharded batches, jax.shard_map, pmap."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.exports
jax = pytest.importorskip("jax")

FOUR = """
import os
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"
import jax, numpy as np, neuler, neuler.jax
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

jax.config.update("jax_enable_x64", True)
arm = neuler.robots.two_link()
kernel = arm.inverse_dynamics
q, qd, qdd = np.random.default_rng(0).uniform(-1.0, 1.0, (3, 8, 2))
by_q = arm.inverse_dynamics_sensitivities(q, qd, qdd)[0]
by_qd = neuler.function(kernel).jacobian("qd")(q, qd[0], qdd).sum((0, 1))
mesh = Mesh(np.array(jax.devices()), ("d",))
assert len(jax.devices()) == 4


def close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
"""
SHARDED = """
sharding = NamedSharding(mesh, P("d"))
for mode in ("both", "reverse"):
    f = neuler.jax.wrap(kernel, mode=mode)
    given = [jax.device_put(x, sharding) for x in (q, qd, qdd)]
    close(jax.jit(f)(*given), kernel(q, qd, qdd))
    close(jax.jit(f, out_shardings=sharding)(*given), kernel(q, qd, qdd))
    close(jax.jit(jax.vmap(jax.jacrev(f)))(*given), by_q)
    close(jax.pmap(f)(*(x.reshape(4, 2, 2) for x in (q, qd, qdd))).reshape(8, 2), kernel(q, qd, qdd))
    last = [jax.device_put(x, jax.devices()[3]) for x in (q, qd, qdd)]
    close(jax.jit(f)(*last), kernel(q, qd, qdd))
print("same")
"""
SHARD_MAP = """
D, R = P("d"), P()
for mode in ("both", "reverse"):
    f = neuler.jax.wrap(kernel, mode=mode)

    def mapped(g, takes, gives):
        return jax.jit(jax.shard_map(g, mesh=mesh, in_specs=takes, out_specs=gives))

    close(mapped(f, (D, D, D), D)(q, qd, qdd), kernel(q, qd, qdd))
    close(mapped(f, (D, R, D), D)(q, qd[0], qdd), kernel(q, qd[0], qdd))
    close(mapped(jax.vmap(jax.jacrev(f)), (D, D, D), D)(q, qd, qdd), by_q)
    inside = jax.grad(lambda b, a, c: jax.lax.psum(f(a, b, c).sum(), "d"))
    close(mapped(inside, (R, D, D), R)(qd[0], q, qdd), by_qd)
    close(jax.grad(lambda b: mapped(f, (D, R, D), D)(q, b, qdd).sum())(qd[0]), by_qd)
    energy = neuler.jax.wrap(arm.energy, mode=mode)  # one of its outputs does not move
    still = jax.vmap(jax.jacrev(lambda qd, q: energy(q, qd).potential))
    close(mapped(still, (D, D), D)(qd, q), np.zeros((8, 2)))
    try:
        mapped(f, (D, D, D), R)(q, qd, qdd)
    except ValueError as error:
        assert "out_specs" in str(error)
    else:
        raise AssertionError("results that differ between devices pass for one")
print("same")
"""


def run(code):
    done = subprocess.run([sys.executable, "-c", FOUR + code], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "same", done.stderr[-3000:]


def test_sharded_batches():
    run(SHARDED)


@pytest.mark.skipif(jax.__version_info__ < (0, 8), reason="before, shard_map checks by other rules")
def test_shard_map():
    """Arguments of which some are the same on all devices; derivatives with respect to these are sums over devices."""
    run(SHARD_MAP)
