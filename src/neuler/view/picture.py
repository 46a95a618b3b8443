"""A figure that shows itself in notebooks. Importing this needs matplotlib: what draws asks for it when it draws."""

from __future__ import annotations

import importlib
import io
import sys

from matplotlib import get_backend
from matplotlib.figure import Figure


class Picture(Figure):
    """matplotlib's figure; as the result of a cell it is shown once, be it known to pyplot or not."""

    def _ipython_display_(self) -> None:
        pyplot = sys.modules.get("matplotlib.pyplot")
        known = pyplot is not None and self.canvas.manager is not None
        backend = get_backend().lower()
        if known and backend != "agg" and not backend.endswith("inline"):
            return  # a window or a widget shows it
        display = importlib.import_module("IPython.display")
        buffer = io.BytesIO()
        self.savefig(buffer, format="png", bbox_inches="tight")
        display.display(display.Image(buffer.getvalue()))
        if known and pyplot is not None:
            pyplot.close(self)  # at the end of the cell it would be shown again
