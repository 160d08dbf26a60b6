"""Examples in the OpenAPI document: answers of this service, recorded by `make examples`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

RECORDED = Path(__file__).parent / "examples.json"
# Answers that are too long for a document, or are not text.
SHORT = {
    "text/html": '<!doctype html>\n<html lang="en"><title>Tastetest</title>…</html>\n',
    "image/svg+xml": '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 360">…</svg>\n',
}
PROBLEM = "application/problem+json"


def add_examples(document: dict[str, Any]) -> None:
    """Add an example to every answer of the document; each problem is stored once and referenced by
    status.
    """
    recorded = json.loads(RECORDED.read_text())
    used: dict[str, Any] = {}
    for operations in document["paths"].values():
        for operation in operations.values():
            answers = recorded["answers"].get(operation["operationId"], {})
            for status, response in operation["responses"].items():
                for media, content in response.get("content", {}).items():
                    if media == PROBLEM and status in recorded["problems"]:
                        name = f"Problem{status}"
                        used[name] = {"value": recorded["problems"][status]}
                        content["examples"] = {"problem": {"$ref": f"#/components/examples/{name}"}}
                    else:
                        _add_example(content, answers.get(status, {}).get(media) or SHORT.get(media))
    document["components"]["examples"] = dict(sorted(used.items()))


def _add_example(content: dict[str, Any], example: object) -> None:
    if isinstance(example, list):
        content.pop("example", None)
        content["examples"] = {one["name"]: {"value": one["value"]} for one in example}
    elif example is not None:
        content["example"] = example
