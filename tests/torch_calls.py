"""States and comparisons that the tests of PyTorch share."""

import numpy as np
import torch


def rand(*shape, seed=0, dtype=torch.float64, grad=False):
    values = torch.rand(*shape, dtype=dtype, generator=torch.Generator().manual_seed(seed)) * 2.0 - 1.0
    return values.requires_grad_(grad)


def state(robot, *batch, grad=False, dtype=torch.float64):
    return [rand(*batch, robot.nv, seed=k, grad=grad, dtype=dtype) for k in range(3)]


def numbers(*tensors):
    return [x.detach().numpy() for x in tensors]


def equal(found, wanted, rtol=1e-10):
    right = wanted.detach() if isinstance(wanted, torch.Tensor) else wanted
    np.testing.assert_allclose(found.detach().numpy(), np.asarray(right), rtol=rtol, atol=1e-12)


def compiled(f):
    torch._dynamo.reset()
    return torch.compile(f, fullgraph=True, backend="aot_eager")
