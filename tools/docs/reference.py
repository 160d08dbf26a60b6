"""An OpenAPI document as Markdown: one section a tag, one heading an operation, schemas at the end."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

Schema = dict[str, Any]
METHODS = ("get", "post", "put", "patch", "delete")


def markdown(document: dict[str, Any]) -> str:
    """The whole reference."""
    lines = ["# API reference", "", document["info"]["description"], ""]
    for tag in document["tags"]:
        found = [op for op in operations(document) if tag["name"] in op[2].get("tags", [])]
        if found:
            lines += [f"## {tag['name'].capitalize()}", "", tag["description"], ""]
            for method, path, operation in found:
                lines += _operation(method, path, operation)
    lines += ["## Schemas", ""]
    for name, schema in document["components"]["schemas"].items():
        lines += _schema(name, schema)
    return "\n".join(lines)


def operations(document: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Method, path and operation, in the document's order."""
    for path, item in document["paths"].items():
        for method in METHODS:
            if method in item:
                yield method.upper(), path, item[method]


def _operation(method: str, path: str, operation: dict[str, Any]) -> list[str]:
    lines = [
        f"### {method} {path} {{ #{operation['operationId']} }}",
        "",
        operation.get("description", ""),
        "",
        _key(operation),
        "",
    ]
    if parameters := operation.get("parameters"):
        lines += ["| parameter | in | type | |", "|---|---|---|---|"]
        lines += [_parameter(parameter) for parameter in parameters]
        lines.append("")
    if body := operation.get("requestBody"):
        lines += [_body(media, content) for media, content in body["content"].items()]
        lines += [*_example(body["content"]), ""]
    lines += ["| status | answer |", "|---|---|"]
    lines += [_answer(status, answer) for status, answer in operation["responses"].items()]
    return [*lines, ""]


def _key(operation: dict[str, Any]) -> str:
    scopes = {scope for way in operation.get("security", []) for of in way.values() for scope in of}
    return f"Key: with the scope `{scopes.pop()}`." if scopes else "Key: none."


def _parameter(parameter: dict[str, Any]) -> str:
    name = f"`{parameter['name']}`" + ("" if parameter.get("required") else " (optional)")
    schema = parameter["schema"]
    said = parameter.get("description") or schema.get("description", "")
    return f"| {name} | {parameter['in']} | {kind(schema)} | {_cell(said)}{_default(schema)} |"


def _body(media: str, content: dict[str, Any]) -> str:
    return f"Body: `{media}`, {kind(content.get('schema', {}))}\n"


def _example(content: dict[str, Any]) -> list[str]:
    body = content.get("application/json", {})
    examples = body.get("examples", {})
    value = body.get("example") or next((e.get("value") for e in examples.values()), None)
    if value is None:
        value = next(iter(body.get("schema", {}).get("examples", [])), None)
    return [] if value is None else ["```json", json.dumps(value, indent=1, ensure_ascii=False), "```"]


def _answer(status: str, answer: dict[str, Any]) -> str:
    kinds = {
        f"`{media}` {kind(content.get('schema', {}))}" for media, content in answer.get("content", {}).items()
    }
    return f"| {status} | {_cell(answer.get('description', ''))} {'; '.join(sorted(kinds))} |"


def _schema(name: str, schema: Schema) -> list[str]:
    lines = [f"### {name} {{ #{_anchor(name)} }}", "", schema.get("description", ""), ""]
    if properties := schema.get("properties"):
        required = schema.get("required", [])
        lines += ["| field | type | |", "|---|---|---|"]
        for field, inner in properties.items():
            label = f"`{field}`" + ("" if field in required else " (optional)")
            lines.append(
                f"| {label} | {kind(inner)} | {_cell(inner.get('description', ''))}{_default(inner)} |"
            )
    elif "enum" in schema or "anyOf" in schema or "oneOf" in schema:
        lines.append(kind(schema))
    return [*lines, ""]


def kind(schema: Schema) -> str:
    """A schema in a few words, with links to the named ones."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{_anchor(name)})"
    if "const" in schema:
        return f"`{json.dumps(schema['const'])}`"
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    for union in ("anyOf", "oneOf", "allOf"):
        if union in schema:
            return " or ".join(dict.fromkeys(kind(part) for part in schema[union]))
    if schema.get("type") == "array":
        return f"list of {kind(schema['items'])}" if schema.get("items") else "list"
    return str(schema.get("type", "any")) + _bounds(schema)


def _bounds(schema: Schema) -> str:
    words = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}
    found = [f"{sign} {schema[key]:,}" for key, sign in words.items() if key in schema]
    return f" {', '.join(found)}" if found else ""


def _default(schema: Schema) -> str:
    default = schema.get("default")
    return "" if default is None else f" Default: `{json.dumps(default)}`."


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())


def _anchor(name: str) -> str:
    return "schema-" + "".join(c if c.isalnum() else "-" for c in name).lower()
