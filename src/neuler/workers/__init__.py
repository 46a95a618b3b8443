"""Functions that run in processes of their own, which can be killed; on this machine or through another engine."""

from neuler.workers.starts import Start, Starts, best_of

__all__ = ["Start", "Starts", "best_of"]
