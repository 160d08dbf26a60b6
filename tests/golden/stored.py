"""The stored answers: a file a group, short enough to read in review."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.golden.caller import Answer

FOLDER = Path(__file__).parent / "answers"
WIDTH = 118


def path(group: str) -> Path:
    """Where the answers of a group are."""
    return FOLDER / f"{group}.json"


def read(group: str) -> tuple[str, dict[str, Answer]]:
    """The engine version they were recorded with, and the answers by name."""
    stored = _unpacked(json.loads(path(group).read_text())) if path(group).exists() else {}
    return stored.get("engine_version", ""), stored.get("answers", {})


def write(group: str, version: str, answers: dict[str, Answer]) -> None:
    """Record them."""
    FOLDER.mkdir(exist_ok=True)
    path(group).write_text(written(_packed({"engine_version": version, "answers": answers})) + "\n")


def written(value: Any, indent: int = 0) -> str:
    """JSON with what fits on a line on one."""
    line = json.dumps(value, ensure_ascii=False)
    if len(line) + indent <= WIDTH or not isinstance(value, dict | list):
        return line
    pad = " " * (indent + 1)
    if isinstance(value, dict):
        items = [f"{pad}{json.dumps(key)}: {written(item, indent + 1)}" for key, item in value.items()]
    else:
        items = _items(value, pad, indent)
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    return opening + "\n" + ",\n".join(items) + "\n" + " " * indent + closing


def _items(values: list[Any], pad: str, indent: int) -> list[str]:
    """One a line; of plain numbers and short texts as many as fit."""
    lines: list[str] = []
    for value in values:
        text = written(value, indent + 1)
        plain = not isinstance(value, dict | list)
        if plain and lines and len(lines[-1]) + len(text) + 2 <= WIDTH:
            lines[-1] += f", {text}"
        else:
            lines.append(pad + text)
    return lines


def _packed(value: Any) -> Any:
    """Twelve digits of a number, and lists of objects with the same fields as tables."""
    if isinstance(value, float):
        return float(f"{value:.12g}")
    if isinstance(value, dict):
        return {key: _packed(inner) for key, inner in value.items()}
    if isinstance(value, list) and _uniform(value):
        rows = [[_packed(inner) for inner in item.values()] for item in value]
        return {"columns": list(value[0]), "rows": rows}
    return [_packed(inner) for inner in value] if isinstance(value, list) else value


def _unpacked(value: Any) -> Any:
    if isinstance(value, dict) and set(value) == {"columns", "rows"}:
        return [_unpacked(dict(zip(value["columns"], row, strict=True))) for row in value["rows"]]
    if isinstance(value, dict):
        return {key: _unpacked(inner) for key, inner in value.items()}
    return [_unpacked(inner) for inner in value] if isinstance(value, list) else value


def _uniform(values: list[Any]) -> bool:
    """Whether these are several objects with the same fields in the same order, none nested."""
    return len(values) > 2 and all(
        isinstance(item, dict)
        and list(item) == list(values[0])
        and not any(isinstance(inner, dict) for inner in item.values())
        for item in values
    )
