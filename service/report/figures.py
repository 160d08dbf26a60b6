"""The figures of a report by name, in the page and as files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup

from service.report.charts import Panel
from service.report.curve_figure import curve_panels
from service.report.curves import Result
from service.report.mdad_figures import error_panels, mdad_panels, method_panels
from service.report.models_figure import model_panels
from service.report.svg import element
from service.report.theme import DARK, LIGHT, Theme, style

FONT = Path(__file__).parent / "fonts" / "DejaVuSansCondensed.ttf"
FONT_NAME = "DejaVu Sans"
FAMILY = f"system-ui, 'Segoe UI', Roboto, '{FONT_NAME}', sans-serif"
GAP = 24.0
PNG_ZOOM = 2.0

NAMES = ("mdad", "methods", "agreement", "models", "error")


@dataclass(frozen=True, slots=True)
class Figure:
    """Panels shown together; `wide` ones three in a row, else two."""

    name: str
    title: str
    panels: tuple[Panel, ...]
    small: bool = False

    def inline(self) -> Markup:
        """For a page whose style sheet has the theme's variables."""
        return Markup("").join(self.part(at) for at in range(len(self.panels)))

    def part(self, at: int) -> Markup:
        """One panel for a page; nothing where there are fewer."""
        return self.panels[at].svg(f"{self.name}-{at}") if at < len(self.panels) else Markup("")

    def svg(self, theme: Theme = "light", family: str = FAMILY) -> Markup:
        """A file of its own: all panels, the theme's colours within."""
        palette = LIGHT if theme == "light" else DARK
        columns = 3 if self.small else 2
        rows = [self.panels[at : at + columns] for at in range(0, len(self.panels), columns)]
        width = max(sum(panel.width for panel in row) + GAP * (len(row) + 1) for row in rows)
        placed: list[Markup] = []
        y = GAP
        for row in rows:
            x = GAP
            for panel in row:
                placed.append(panel.svg(f"{self.name}-{len(placed)}", x=x, y=y))
                x += panel.width + GAP
            y += max(panel.height for panel in row) + GAP
        return element(
            "svg",
            element("title", self.title),
            element("style", style(palette)),
            element("rect", width=width, height=y, fill=palette["paper"]),
            *placed,
            xmlns="http://www.w3.org/2000/svg",
            width=width,
            height=y,
            viewBox=f"0 0 {width:g} {y:g}",
            class_="figure",
            font_family=family,
            font_stretch="condensed" if family == FONT_NAME else None,
        )

    def png(self, theme: Theme = "light") -> bytes:
        """The same as pixels, two to a unit."""
        # Its library is needed for this alone.
        import resvg_py

        return bytes(
            resvg_py.svg_to_bytes(
                svg_string=str(self.svg(theme, FONT_NAME)),
                zoom=PNG_ZOOM,
                font_files=[str(FONT)],
                font_family=FONT_NAME,
            )
        )


def figures(result: Result, accuracies: Mapping[str, float]) -> dict[str, Figure]:
    """All figures that the result has something for; none of an empty one."""
    if not result:
        return {}
    threshold = result["recommendation"]["own_pairs"]["threshold"]
    group = result["settings"]["group"]
    found = [
        Figure("mdad", "Smallest difference told apart (MDAD) by size", tuple(mdad_panels(result))),
        Figure("methods", "Each method with its interval", tuple(method_panels(result)), small=True),
        Figure("agreement", "Agreement by difference", tuple(curve_panels(result))),
        Figure("models", "Your models", tuple(model_panels(accuracies, threshold, group))),
        Figure("error", "Error of the estimated scores", tuple(error_panels(result))),
    ]
    return {figure.name: figure for figure in found if figure.panels}
