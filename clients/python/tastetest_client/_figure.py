"""A figure of the service's report."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Figure:
    """A drawing that notebooks show and that can be written to a file."""

    svg: str

    def save(self, path: str | Path) -> None:
        """Write it as an SVG file."""
        Path(path).write_text(self.svg, encoding="utf-8")

    def _repr_html_(self) -> str:
        return f'<div style="max-width:60em">{self.svg}</div>'

    def __repr__(self) -> str:
        return f"<Figure, {len(self.svg):,} characters of SVG>"
