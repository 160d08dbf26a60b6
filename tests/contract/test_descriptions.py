"""Every field of the document says what it is; what does not yet is counted, and the count only falls."""

from __future__ import annotations

from tests.contract.document import document

# Lower it with every description that is added; 0 is the aim.
WITHOUT_DESCRIPTION = 246


def test_no_more_fields_lack_a_description_than_before() -> None:
    fields = [
        (f"{name}.{field}", inner)
        for name, schema in document()["components"]["schemas"].items()
        for field, inner in schema.get("properties", {}).items()
    ]
    lacking = [where for where, inner in fields if not inner.get("description", "").strip()]
    assert len(fields) > 500
    assert len(lacking) <= WITHOUT_DESCRIPTION, f"these have no description: {', '.join(lacking)}"


def test_descriptions_are_sentences() -> None:
    for name, schema in document()["components"]["schemas"].items():
        for field, inner in schema.get("properties", {}).items():
            told = inner.get("description")
            assert told is None or told.rstrip().endswith((".", ")")), f"{name}.{field}: {told}"
