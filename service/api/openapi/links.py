"""Links in the OpenAPI document from each answer to the operations that follow it."""

from __future__ import annotations

from typing import Any

OF_MATRIX = ("get_matrix", "list_models", "get_matrix_page", "put_model", "delete_matrix")
OF_JOB = ("get_job", "get_result", "get_report", "job_events", "cancel_job")
OF_SELECTION = ("export_selection", "estimate", "list_scores", "get_drift", "delete_selection")
OF_SESSION = ("get_session", "post_answers", "stop_session", "delete_session")
OF_WEBHOOK = ("get_webhook", "list_deliveries", "rotate_secret", "resume_webhook", "delete_webhook")
MATRIX = {"matrix_id": "$response.body#/id"}
JOB = {"job_id": "$response.body#/id"}
SELECTION = {"selection_id": "$response.body#/selection_id"}
SESSION = {"session_id": "$response.body#/id"}
WEBHOOK = {"webhook_id": "$response.body#/id"}

# operationId → status, and what each operation that follows takes from the answer.
LINKS: dict[str, tuple[str, dict[str, dict[str, str]]]] = {
    "create_matrix": ("201", dict.fromkeys(OF_MATRIX, MATRIX)),
    "put_model": ("200", dict.fromkeys(("get_matrix", "list_models"), MATRIX)),
    "submit_mdad": ("202", dict.fromkeys(OF_JOB, JOB)),
    "submit_select": ("202", dict.fromkeys(OF_JOB, JOB)),
    "get_job": ("200", dict.fromkeys(OF_JOB[1:], JOB)),
    "cancel_job": ("202", dict.fromkeys(OF_JOB[:1], JOB)),
    "get_result": ("200", dict.fromkeys(("get_selection", "export_selection"), SELECTION)),
    "get_selection": ("200", dict.fromkeys(OF_SELECTION, SELECTION)),
    "redeliver": ("202", {"list_deliveries": {"webhook_id": "$request.path.webhook_id"}}),
    "create_session": ("201", dict.fromkeys(OF_SESSION, SESSION)),
    "create_webhook": ("201", dict.fromkeys(OF_WEBHOOK, WEBHOOK)),
}
# Request bodies for the jobs that can follow an upload.
WORK = {
    "submit_mdad": {"matrix_id": "$response.body#/id", "methods": ["random"], "trials": 2},
    "submit_select": {"matrix_id": "$response.body#/id", "method": "random", "size": 1},
}


def add_links(operation: dict[str, Any]) -> None:
    """Add its links to an operation of the document."""
    name = operation["operationId"]
    if name not in LINKS:
        return
    status, leads = LINKS[name]
    links: dict[str, Any] = {to: {"operationId": to, "parameters": takes} for to, takes in leads.items()}
    if name == "create_matrix":
        links |= {to: {"operationId": to, "requestBody": body} for to, body in WORK.items()}
    operation["responses"][status]["links"] = links
