"""Functions that run in processes of their own, which can be killed."""

from neuler.workers.starts import Start, Starts, best_of

__all__ = ["Start", "Starts", "best_of"]
