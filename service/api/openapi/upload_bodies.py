"""Describes request bodies that are files in the OpenAPI document."""

from __future__ import annotations

from typing import Any

from service.schemas.uploads import UploadFields

CSV = "model,q1,q2,q3\ngpt-4,1,1,0\nllama-3-8b,0,1,0\n"
JSON = {"models": ["gpt-4", "llama-3-8b"], "examples": ["q1", "q2", "q3"], "scores": [[1, 1, 0], [0, 1, 0]]}

_FIELDS = {
    name: {key: value for key, value in field.items() if key != "title"}
    for name, field in UploadFields.model_json_schema()["properties"].items()
}
_BYTES = {"schema": {"type": "string", "format": "binary"}, "example": CSV}

UPLOAD_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "description": "The file's bytes, with any Content-Type; gzip is recognised.",
        "content": {
            "text/csv": {"schema": {"type": "string"}, "example": CSV},
            "application/json": {"schema": {"type": "object"}, "example": JSON},
            "application/octet-stream": _BYTES,
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": ["file"],
                    "properties": {"file": {"type": "string", "format": "binary"}, **_FIELDS},
                    "additionalProperties": False,
                },
                "example": {"file": CSV, "name": "arithmetic", "orientation": "models_as_rows"},
                "encoding": {"file": {"contentType": "application/octet-stream"}},
            },
        },
    }
}
