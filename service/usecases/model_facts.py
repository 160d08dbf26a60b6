"""What callers say of models beside their results, and what their names suggest."""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import Any

from sqlalchemy import Connection

from service.core.errors import FieldError, InvalidUpload, NotFound
from service.store import matrices, model_facts
from service.store.records import ModelFacts

COLUMNS = ("model", "family", "released", "tags")
MOST_CHARACTERS, MOST_TAGS = 200, 50


def parse_table(text: str) -> dict[str, ModelFacts]:
    """The `models` table of an upload.

    Parameters
    ----------
    text : str
        CSV with the column `model` and any of family, released, tags (separated by ;), or a JSON
        object that gives each model an object of them.

    Raises
    ------
    InvalidUpload
        Naming the row or model and the field.
    """
    rows = _from_json(text) if text.lstrip().startswith("{") else _from_csv(text)
    return {model: _facts(model, row) for model, row in rows.items()}


def refuse_unknown(facts: Mapping[str, ModelFacts], models: Sequence[str]) -> None:
    """Refuse facts of models that have no results.

    Raises
    ------
    InvalidUpload
        There are any.
    """
    if unknown := sorted(set(facts) - set(models)):
        raise _refusal(
            unknown[0], f"models names {unknown[0]!r}, which has no results here; leave it out or correct it"
        )


def change(conn: Connection, matrix_id: str, model: str, changes: Mapping[str, Any]) -> None:
    """Set some of family, released and tags of one model; None clears it.

    Raises
    ------
    NotFound
        No such matrix, or no such model in its newest revision.
    """
    record = matrices.get(conn, matrix_id)
    if not matrices.known_models(conn, record, [model]):
        raise NotFound(
            f"Matrix {matrix_id} has no model {model!r}; GET /matrices/{matrix_id}/models lists them."
        )
    before = model_facts.of(conn, record.id, [model]).get(model, ModelFacts())
    new = dict(changes)
    if "tags" in new:
        new["tags"] = tuple(new["tags"] or ())
    model_facts.put(conn, record.id, {model: replace(before, **new)})


def guessed_families(models: Sequence[str]) -> dict[str, str]:
    """Families that names suggest: the first word of the name proper, where two models share it."""
    words = {model: word for model in models if (word := _first_word(model))}
    counts = Counter(words.values())
    return {model: word for model, word in words.items() if counts[word] > 1}


def _first_word(model: str) -> str:
    proper = re.split(r"/|__", model)[-1]
    found = re.match(r"[A-Za-z]{2,}", proper)
    return found.group().lower() if found else ""


def _from_json(text: str) -> dict[str, Mapping[str, Any]]:
    try:
        found = json.loads(text)
    except ValueError as error:
        raise _refusal("models", f"models is neither CSV nor a JSON object: {error}") from None
    for model, row in found.items():
        if not isinstance(row, dict):
            raise _refusal(model, f"models gives {model!r} no object of {', '.join(COLUMNS[1:])}")
    return dict(found)


def _from_csv(text: str) -> dict[str, Mapping[str, Any]]:
    reader = csv.DictReader(io.StringIO(text))
    if "model" not in (reader.fieldnames or ()):
        raise _refusal("models", f"models needs the column model; columns are {', '.join(COLUMNS)}")
    rows: dict[str, Mapping[str, Any]] = {}
    for number, row in enumerate(reader, start=2):
        model = (row.pop("model") or "").strip()
        if not model or model in rows:
            what = "names no model" if not model else f"names {model!r} again"
            raise _refusal(f"models row {number}", f"row {number} of models {what}")
        rows[model] = {key: value for key, value in row.items() if value}
    return rows


def _facts(model: str, row: Mapping[str, Any]) -> ModelFacts:
    if unknown := sorted(set(row) - set(COLUMNS)):
        raise _refusal(model, f"models has {unknown[0]!r} for {model!r}; known are {', '.join(COLUMNS[1:])}")
    family, tags = row.get("family"), row.get("tags") or ()
    if isinstance(tags, str):
        tags = [tag.strip() for tag in tags.split(";") if tag.strip()]
    words = [family or "", *tags]
    if (
        not all(isinstance(word, str) and len(word) <= MOST_CHARACTERS for word in words)
        or len(tags) > MOST_TAGS
    ):
        raise _refusal(
            model, f"family and tags of {model!r} are text of at most {MOST_CHARACTERS} characters"
        )
    return ModelFacts(family or None, _day(model, row.get("released")), tuple(tags))


def _day(model: str, value: object) -> date | None:
    if value is None or value == "":
        return None
    try:
        return date.fromisoformat(str(value))
    except ValueError:
        raise _refusal(model, f"released of {model!r} is a date like 2024-05-31, not {value!r}") from None


def _refusal(place: str, message: str) -> InvalidUpload:
    return InvalidUpload(f"{message}.", [FieldError(place, "models", message)])
