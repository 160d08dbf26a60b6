"""The deprecation policy of docs/api-changes.md, as functions of documents and of CHANGES.md."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

Schema = dict[str, Any]

RELEASES_TO_WAIT = 2
REMOVED = re.compile(r"(.+?)(?: is gone| is no longer (?:taken|answered)| may no longer be .+)")


def listed(changes: str, section: str) -> dict[str, str]:
    """Place → what is said of it, in one section of CHANGES.md."""
    _, _, after = changes.partition(f"\n## {section}\n")
    found = re.findall(r"^\* `([^`]+)`: (.+)", after.partition("\n## ")[0], re.MULTILINE)
    return dict(found)


def deprecated(document: Schema) -> dict[str, Schema]:
    """Place → its operation, for all that the document marks as deprecated."""
    found = {}
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            for place in _places(document, f"{method.upper()} {path}", operation):
                found[place] = operation
    return found


def without_header(document: Schema) -> list[str]:
    """Deprecated places whose operation does not promise the header `Deprecation` with each success."""
    return [
        place
        for place, operation in deprecated(document).items()
        for status, response in operation["responses"].items()
        if status.startswith("2") and "Deprecation" not in response.get("headers", {})
    ]


def unannounced(breaks: Iterable[str], before: Mapping[str, str], version: str) -> list[str]:
    """Removals that were not deprecated for long enough.

    Parameters
    ----------
    breaks : iterable of str
        As `breaking.Pair` words them.
    before : mapping
        The deprecated places of the previous release's CHANGES.md.
    version : str
        This release's, like 0.4.0.
    """
    found = []
    for line in breaks:
        removed = REMOVED.fullmatch(line)
        if removed and not _waited(before.get(removed[1], ""), version):
            found.append(line)
    return found


def _waited(said: str, version: str) -> bool:
    since = re.match(r"since (\d+)\.(\d+)", said)
    if since is None:
        return False
    major, minor = (int(part) for part in version.split(".")[:2])
    return major > int(since[1]) or minor - int(since[2]) >= RELEASES_TO_WAIT


def _places(document: Schema, where: str, operation: Schema) -> Iterator[str]:
    if operation.get("deprecated"):
        yield where
    for parameter in operation.get("parameters", []):
        if parameter.get("deprecated") or parameter["schema"].get("deprecated"):
            yield f"{where}: {parameter['in']} {parameter['name']}"
    for content in operation.get("requestBody", {}).get("content", {}).values():
        yield from _fields(document, f"{where}: body", content["schema"], ())
    for status, response in operation["responses"].items():
        for content in response.get("content", {}).values():
            yield from _fields(document, f"{where} {status}", content.get("schema", {}), ())


def _fields(document: Schema, where: str, schema: Schema, seen: tuple[str, ...]) -> Iterator[str]:
    reference = schema.get("$ref")
    if reference in seen:
        return
    if reference:
        named = document["components"]["schemas"][reference.rpartition("/")[2]]
        yield from _fields(document, where, named, (*seen, reference))
    for part in (*schema.get("anyOf", []), *schema.get("oneOf", []), *schema.get("allOf", [])):
        yield from _fields(document, where, part, seen)
    for field, inner in schema.get("properties", {}).items():
        if inner.get("deprecated"):
            yield f"{where}/{field}"
        yield from _fields(document, f"{where}/{field}", inner, seen)
    for step, key in (("*", "items"), ("{}", "additionalProperties")):
        if isinstance(schema.get(key), dict):
            yield from _fields(document, f"{where}/{step}", schema[key], seen)
