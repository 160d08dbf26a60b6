"""What a gate is given in files: answers the service does not know, and which examples belong together."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

from tastetest_client.cli.exit_codes import PipelineError

Side = str | dict[str, Any]


def side(given: str) -> Side:
    """A name the service knows, or, as @FILE, answers by example id with the file's name.

    Raises
    ------
    PipelineError
        The file does not hold scores.
    """
    path = Path(given[1:])
    if not given.startswith("@") or not path.is_file():
        return given
    return {"name": path.stem, "answers": answers(path)}


def answers(path: Path) -> dict[str, Any]:
    """Answers by example id: as the JSON object has them, or lists of the scores in CSV.

    Raises
    ------
    PipelineError
        The file does not hold scores.
    """
    found: dict[str, Any] = {}
    for example, score in _pairs(path):
        if isinstance(score, str):
            found.setdefault(example, []).append(_number(score, f"{path}, example {example!r}"))
        else:
            found[example] = score
    return found


def clusters(path: Path) -> dict[str, str]:
    """Example id → what it belongs to.

    Raises
    ------
    PipelineError
        The file says it of an example twice.
    """
    found: dict[str, str] = {}
    for example, cluster in _pairs(path):
        if found.setdefault(example, str(cluster)) != str(cluster):
            raise PipelineError(f"{path} puts example {example!r} in two clusters; an example has one.")
    return found


def _pairs(path: Path) -> list[tuple[str, Any]]:
    """Of a JSON object its members; of CSV the first two columns below the header, as texts."""
    try:
        text = path.read_text("utf-8-sig")
        if text.lstrip().startswith("{"):
            return list(json.loads(text).items())
        rows = list(csv.reader(text.splitlines()))[1:]
    except (OSError, ValueError) as error:
        raise PipelineError(f"{path} cannot be read: {error}.") from error
    if not rows or any(len(row) < 2 for row in rows):
        raise PipelineError(f"{path} is neither a JSON object nor CSV with a header and two columns.")
    return [(row[0], row[1]) for row in rows]


def _number(text: str, place: str) -> float | None:
    try:
        return float(text) if text.strip() else None
    except ValueError as error:
        raise PipelineError(f"{place}: {text!r} is no score from 0 to 1.") from error
