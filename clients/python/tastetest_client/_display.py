"""How results look in a terminal and in a notebook."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from tastetest_client._figure import Figure

if TYPE_CHECKING:
    from rich.console import RenderableType

    from tastetest_client.models import SizeForTarget

SHOWN_ROWS = 20


@dataclass(frozen=True, slots=True)
class View:
    """An answer in a sentence, a table, notes, and a figure."""

    answer: str
    heads: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    notes: Sequence[str] = ()
    figure: Figure | None = None
    title: str = ""

    @property
    def left_out(self) -> str:
        """What is said of rows that are not shown."""
        more = len(self.rows) - SHOWN_ROWS
        return f"… and {more} more" if more > 0 else ""


class Shown:
    """Something with a view, for rich and for notebooks."""

    def _view(self) -> View:
        raise NotImplementedError

    def __repr__(self) -> str:
        """The answer alone; all fields are in `model_dump()`."""
        return f"<{type(self).__name__}: {self._view().answer}>"

    def __rich__(self) -> RenderableType:
        """What `rich.print` shows."""
        from rich.console import Group
        from rich.markup import escape as plain
        from rich.table import Table

        view = self._view()
        parts: list[RenderableType] = [f"[bold]{plain(view.answer)}[/bold]"]
        if view.rows:
            table = Table()
            for at, head in enumerate(view.heads):
                table.add_column(plain(head), justify="right" if at else "left", overflow="fold")
            for row in view.rows[:SHOWN_ROWS]:
                table.add_row(*map(plain, row))
            parts += [plain(view.title), table] if view.title else [table]
        notes = [view.left_out, *(f"note: {note}" for note in view.notes)]
        return Group(*parts, *(plain(note) for note in notes if note))

    def _repr_html_(self) -> str:
        view = self._view()
        parts = [f"<p><strong>{escape(view.answer)}</strong></p>"]
        if view.figure is not None:
            parts.append(view.figure._repr_html_())
        if view.rows:
            heads = "".join(f"<th>{escape(head)}</th>" for head in view.heads)
            cells = ("".join(f"<td>{escape(cell)}</td>" for cell in row) for row in view.rows[:SHOWN_ROWS])
            body = "".join(f"<tr>{row}</tr>" for row in cells)
            caption = f"<caption>{escape(view.title)}</caption>" if view.title else ""
            parts.append(f"<table>{caption}<thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>")
        notes = [note for note in (view.left_out, *view.notes) if note]
        if notes:
            parts.append("<ul>" + "".join(f"<li>{escape(note)}</li>" for note in notes) + "</ul>")
        return "\n".join(parts)


def label(size: SizeForTarget) -> str:
    """A method's name, and how many models it learned from."""
    return size.method if size.source_models is None else f"{size.method} ({size.source_models} models)"
