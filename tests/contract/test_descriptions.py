"""Every field of the document says what it is, in a sentence."""

from __future__ import annotations

from tests.contract.document import document


def test_every_field_has_a_description() -> None:
    fields = [
        (f"{name}.{field}", inner)
        for name, schema in document()["components"]["schemas"].items()
        for field, inner in schema.get("properties", {}).items()
    ]
    lacking = [where for where, inner in fields if not inner.get("description", "").strip()]
    assert len(fields) > 500
    assert not lacking, f"these have no description: {', '.join(lacking)}"


def test_descriptions_are_sentences() -> None:
    for name, schema in document()["components"]["schemas"].items():
        for field, inner in schema.get("properties", {}).items():
            told = inner.get("description")
            assert told is None or told.rstrip().endswith((".", ")")), f"{name}.{field}: {told}"
