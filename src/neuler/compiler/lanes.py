"""What the code that moves data knows of a vector of states."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Lanes:
    """A vector of ``lanes`` states of one ``scalar``: LLVM's double or float."""

    lanes: int
    scalar: str

    @property
    def bytes(self) -> int:
        """The bytes of one number."""
        return 8 if self.scalar == "double" else 4

    @property
    def vector(self) -> str:
        """LLVM's name of the vector."""
        return f"<{self.lanes} x {self.scalar}>"

    def rows(self) -> list[str]:
        """Pointers to the first coordinate of every state of a full block."""
        lines = []
        for k in range(self.lanes):
            lines.append(f"  %f{k} = mul i64 %step, {k}")
            lines.append(f"  %row{k} = getelementptr i8, ptr %base, i64 %f{k}")
        return lines
