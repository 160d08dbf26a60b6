"""One line of a benchmark's table."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """A measured figure beside its yardstick; seconds unless the text says otherwise."""

    what: str
    measured: float
    beside: float | None = None
    limit: float | None = None

    @property
    def ratio(self) -> float:
        return self.measured / self.beside if self.beside else self.measured

    @property
    def missed(self) -> bool:
        return self.limit is not None and self.ratio > self.limit

    def cells(self) -> list[str]:
        beside = "" if self.beside is None else f"{self.beside:.4g}"
        ratio = "" if self.beside is None else f"{self.ratio:.2f}"
        limit = "" if self.limit is None else f"{self.limit:g}{'  MISSED' if self.missed else ''}"
        return [self.what, f"{self.measured:.4g}", beside, ratio, limit]
