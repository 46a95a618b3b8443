"""A loss on torques in PyTorch: physical parameters and a small network, trained together through compiled dynamics.

    python examples/torch_loss.py [--steps 600]

The measured arm is a PUMA 560 that carries a tool, rubs more than its data sheet says, and has a torque ripple that no
model knows. Physical parameters are fitted by gradients through inverse dynamics; the network learns what is left.
Errors are those of motions that were not trained on, beside a network without physics that sees the same data.
"""

import argparse

import numpy as np

import neuler
import neuler.torch

PARAMETERS = [f"link6.{x}" for x in ("mass", "mx", "my", "mz")] + [f"joint{k}.viscous" for k in range(1, 7)]
TOOL = np.array([1.5, 0.0, 0.05, 0.15])
"""kg and kg m: what the tool adds to mass and first moments of the last link."""


def measured(rows, seed):
    """Random states, and the torques of the arm as it is, N m."""
    robot, rng = neuler.robots.puma560(), np.random.default_rng(seed)
    q, qd, qdd = (rng.uniform(-1.0, 1.0, (rows, 6)) * scale for scale in (2.0, 2.0, 5.0))
    kernel = robot.compile("inverse_dynamics", parameters=PARAMETERS)
    truth = kernel.parameter_values + np.concatenate([TOOL, [3.0, 4.0, 3.0, 0.6, 0.6, 0.4]])
    tau = kernel(q, qd, qdd, truth) + 1.5 * np.sin(3.0 * q) + rng.normal(0.0, 0.05, q.shape)
    return q, qd, qdd, tau


def model(physics):
    """A module that predicts torques: a network of the state, and inverse dynamics with parameters to be fitted."""
    import torch

    class Torques(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.network = torch.nn.Sequential(torch.nn.Linear(30, 48), torch.nn.Tanh(), torch.nn.Linear(48, 6))
            kernel = neuler.robots.puma560().compile("inverse_dynamics", parameters=PARAMETERS)
            self.dynamics = neuler.torch.wrap(kernel)
            self.known = torch.tensor(kernel.parameter_values)
            self.change = torch.nn.Parameter(torch.zeros(len(PARAMETERS)))

        def forward(self, q, qd, qdd):
            found = self.network(torch.cat([q.sin(), q.cos(), qd, qdd / 5.0, q], dim=-1))
            if physics:
                found = found + self.dynamics(q, qd, qdd, self.known + self.change)
            return found

    torch.manual_seed(0)
    return Torques().double()


def rms(module, data):
    """The error of the torques, N m, over all joints."""
    *state, tau = data
    return float((module(*state) - tau).square().mean().sqrt())


def train(physics, steps):
    """The error before and after training, and the module."""
    import torch

    torch.set_num_threads(1)
    module = model(physics)
    used, held = ([torch.from_numpy(x) for x in measured(rows, seed)] for rows, seed in ((512, 1), (2048, 2)))
    *state, tau = used
    size = tau.std(dim=0)
    rates = [{"params": module.network.parameters(), "lr": 1e-2}, {"params": [module.change], "lr": 5e-2}]
    optimizer = torch.optim.Adam(rates)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    with torch.no_grad():
        before = rms(module, held)
    for _ in range(steps):
        optimizer.zero_grad()
        loss = ((module(*state) - tau) / size).square().mean()
        loss.backward()
        optimizer.step()
        schedule.step()
    with torch.no_grad():
        return before, rms(module, held), module


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=600)
    steps = parser.parse_args().steps
    before, after, module = train(physics=True, steps=steps)
    print(f"dynamics and a network: {before:.2f} N m before, {after:.2f} N m after {steps} steps")
    for name, change in zip(PARAMETERS, module.change.tolist(), strict=True):
        print(f"  {name} {change:+.3f}")
    _, alone, _ = train(physics=False, steps=steps)
    print(f"the network alone: {alone:.2f} N m, {alone / after:.1f} times as much")


if __name__ == "__main__":
    main()
