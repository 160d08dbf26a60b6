"""What in a new OpenAPI document breaks who wrote a program for the old one.

What callers send must still be taken: nothing refused that was fine. What they are told must still
be there: nothing gone that they may read. More of both is no break.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

Schema = dict[str, Any]
LOWER = ("minimum", "exclusiveMinimum", "minLength", "minItems")
UPPER = ("maximum", "exclusiveMaximum", "maxLength", "maxItems")
SHAPE = ("pattern", "format", "multipleOf", "uniqueItems")
Seen = tuple[int, ...]


@dataclass(frozen=True)
class Pair:
    """The old document and the new."""

    old: dict[str, Any]
    new: dict[str, Any]

    def breaks(self) -> Iterator[str]:
        """One line a break."""
        for path, operations in self.old["paths"].items():
            for method, old in operations.items():
                new = self.new["paths"].get(path, {}).get(method)
                where = f"{method.upper()} {path}"
                if new is None:
                    yield f"{where} is gone"
                    continue
                if old["operationId"] != new["operationId"]:
                    yield f"{where} is called {new['operationId']}, not {old['operationId']}"
                yield from _scopes(where, old, new)
                yield from self._parameters(where, old, new)
                yield from self._body(where, old, new)
                yield from self._answers(where, old, new)

    def _parameters(self, where: str, old: Schema, new: Schema) -> Iterator[str]:
        before, after = _parameters(old), _parameters(new)
        for name, parameter in before.items():
            if name not in after:
                yield f"{where}: {name} is no longer taken"
            else:
                yield from self._taken(f"{where}: {name}", parameter["schema"], after[name]["schema"])
        for name, parameter in after.items():
            if parameter.get("required") and not before.get(name, {}).get("required"):
                yield f"{where}: {name} is required"

    def _body(self, where: str, old: Schema, new: Schema) -> Iterator[str]:
        before, after = (operation.get("requestBody", {}).get("content", {}) for operation in (old, new))
        for media, content in before.items():
            if media not in after:
                yield f"{where}: {media} is no longer taken"
            else:
                yield from self._taken(f"{where}: body", content["schema"], after[media]["schema"])
        required = [bool(operation.get("requestBody", {}).get("required")) for operation in (old, new)]
        if required == [False, True]:
            yield f"{where}: a body is required"

    def _answers(self, where: str, old: Schema, new: Schema) -> Iterator[str]:
        for status, response in old["responses"].items():
            if status not in new["responses"]:
                yield f"{where}: {status} is no longer answered"
                continue
            headers = new["responses"][status].get("headers", {})
            for header in response.get("headers", {}):
                if header not in headers:
                    yield f"{where} {status}: the header {header} is gone"
            content = new["responses"][status].get("content", {})
            for media, told in response.get("content", {}).items():
                if media not in content:
                    yield f"{where} {status}: {media} is no longer answered"
                elif "schema" in told:
                    yield from self._told(f"{where} {status}", told["schema"], content[media]["schema"])

    def _taken(self, where: str, old: Schema, new: Schema, seen: Seen = ()) -> Iterator[str]:
        """What was fine to send and no longer is, or now means something else."""
        if "default" in old and old["default"] != new.get("default"):
            yield f"{where} defaults to {new.get('default')!r}"
        for name, a, b in _alike(self.old, old, self.new, new):
            if b is None:
                yield f"{where} may no longer be {name}"
                continue
            if id(a) in seen:
                continue
            yield from _tighter(where, a, b)
            known = b.get("properties", {})
            for field in a.get("properties", {}).keys() - known.keys():
                if b.get("additionalProperties") is False:
                    yield f"{where}/{field} is no longer taken"
            for field in set(b.get("required", [])) - set(a.get("required", [])):
                yield f"{where}/{field} is required"
            for step, one, other in _inside(a, b):
                yield from self._taken(f"{where}/{step}", one, other, (*seen, id(a)))

    def _told(self, where: str, old: Schema, new: Schema, seen: Seen = ()) -> Iterator[str]:
        """What could be read and no longer can, or is now something else."""
        for name, b, a in _alike(self.new, new, self.old, old):
            if a is None:
                yield f"{where} may now be {name}"
                continue
            if id(a) in seen:
                continue
            yield from _looser(where, a, b)
            known = b.get("properties", {})
            for field in a.get("properties", {}).keys() - known.keys():
                yield f"{where}/{field} is gone"
            for field in (set(a.get("required", [])) & set(known)) - set(b.get("required", [])):
                yield f"{where}/{field} may be left out"
            for step, one, other in _inside(a, b):
                yield from self._told(f"{where}/{step}", one, other, (*seen, id(a)))


def _inside(old: Schema, new: Schema) -> Iterator[tuple[str, Schema, Schema]]:
    """Fields, items and values that both have, by where they are."""
    known = new.get("properties", {})
    for field, inner in old.get("properties", {}).items():
        if field in known:
            yield field, inner, known[field]
    for step, key in (("*", "items"), ("{}", "additionalProperties")):
        if isinstance(old.get(key), dict) and isinstance(new.get(key), dict):
            yield step, old[key], new[key]
    for at, (one, other) in enumerate(
        zip(old.get("prefixItems", []), new.get("prefixItems", []), strict=False)
    ):
        yield str(at), one, other


def _scopes(where: str, old: Schema, new: Schema) -> Iterator[str]:
    """Keys that opened it and no longer do."""
    before, after = ({json.dumps(way) for way in operation.get("security", [{}])} for operation in (old, new))
    for way in sorted(before - after):
        yield f"{where} is no longer opened by {way}"


def _parameters(operation: Schema) -> dict[str, Schema]:
    return {f"{p['in']} {p['name']}": p for p in operation.get("parameters", [])}


def _tighter(where: str, old: Schema, new: Schema) -> Iterator[str]:
    for bounds, sign in ((LOWER, 1), (UPPER, -1)):
        for bound in bounds:
            if bound in new and (bound not in old or sign * new[bound] > sign * old[bound]):
                yield f"{where} has {bound} {new[bound]}"
    for key in SHAPE:
        if key in new and new[key] != old.get(key):
            yield f"{where} has {key} {new[key]}"


def _looser(where: str, old: Schema, new: Schema) -> Iterator[str]:
    """What programs may count on and no longer can."""
    for bounds, sign in ((LOWER, 1), (UPPER, -1)):
        for bound in bounds:
            if bound in old and (bound not in new or sign * new[bound] < sign * old[bound]):
                yield f"{where} no longer has {bound} {old[bound]}"
    for key in SHAPE:
        if key in old and old[key] != new.get(key):
            yield f"{where} no longer has {key} {old[key]}"


def _alike(
    document: Schema, one: Schema, other_document: Schema, other: Schema
) -> Iterator[tuple[str, Schema, Schema | None]]:
    """Each alternative of one schema beside the other's that takes the same values, if it has any."""
    second = _alternatives(other_document, other)
    for name, schema in _alternatives(document, one).items():
        wider = {"integer": "number"}.get(name, "string" if name.startswith("'") else "anything")
        yield name, schema, second.get(name) or second.get(wider) or second.get("anything")


def _alternatives(document: Schema, schema: Schema) -> dict[str, Schema]:
    """The kinds of values a schema takes, by name: a type, or one value of an enumeration."""
    union = schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf")
    if union:
        found: dict[str, Schema] = {}
        for part in union:
            for name, kind in _alternatives(document, part).items():
                found[f"{name} {kind.get('title')}" if name in found else name] = kind
        return found
    if "$ref" in schema:
        return _alternatives(document, document["components"]["schemas"][schema["$ref"].rpartition("/")[2]])
    values = schema.get("enum") or ([schema["const"]] if "const" in schema else [])
    return {repr(value): schema for value in values} or {str(schema.get("type", "anything")): schema}
