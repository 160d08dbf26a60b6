"""Sessions through real HTTP: batches, answers, looks, decisions, refusals, several callers."""

from __future__ import annotations

import html
import threading
from collections.abc import Iterator
from typing import Any

import httpx
import numpy as np
import pytest
import sqlalchemy as sa

from service.core.settings import Settings
from tests.api.conftest import answering
from tests.engine import made

EXAMPLES, MODELS = 200, 20
SCORES = made.answers(MODELS, EXAMPLES, seed=4)
IDS = [f"q{at}" for at in range(EXAMPLES)]
BASELINE = dict(zip(IDS, SCORES[0].tolist(), strict=True))


@pytest.fixture(scope="module")
def matrix(api: httpx.Client) -> str:
    sent = {"models": [f"m{at}" for at in range(MODELS)], "examples": IDS, "scores": SCORES.tolist()}
    return str(api.post("/matrices", json=sent).json()["id"])


def start(api: httpx.Client, matrix: str, **more: Any) -> dict[str, Any]:
    question = {"kind": "compare", "baseline": "m0"} | more.pop("question", {})
    answer = api.post("/sessions", json={"matrix_id": matrix, "question": question, **more})
    assert answer.status_code == 201, answer.text
    told: dict[str, Any] = answer.json()
    assert answer.headers["Location"] == f"/sessions/{told['id']}"
    return told


def send(api: httpx.Client, session: str, answers: dict[str, Any], **more: Any) -> httpx.Response:
    return api.post(f"/sessions/{session}/answers", json={"answers": answers, **more})


def run(api: httpx.Client, session: dict[str, Any], answers: dict[str, Any]) -> dict[str, Any]:
    """Answer whatever is outstanding until the session ends."""
    while session["status"] == "open":
        answer = send(api, session["id"], {example: answers[example] for example in session["outstanding"]})
        assert answer.status_code == 200, answer.text
        session = answer.json()
    return session


def refused(answer: httpx.Response, status: int, code: str) -> str:
    assert answer.status_code == status, answer.text
    assert [error["code"] for error in answer.json()["errors"]] == [code]
    return str(answer.json()["detail"])


def test_a_clear_drop_is_decided_before_the_budget(api: httpx.Client, matrix: str) -> None:
    session = start(api, matrix, budget=150, seed=3)
    assert session["handed_out"] == len(session["next_batch"]) == 25
    assert (session["next_look"], session["current"]) == (50, None)

    ended = run(api, session, dict.fromkeys(IDS, 0))

    assert (ended["status"], ended["verdict"]) == ("decided", "fail")
    assert ended["answered"] < 150
    assert ended["current"] == ended["looks"][-1]
    low, high = ended["current"]["interval"]
    assert low <= ended["current"]["estimate"] <= high < 0
    assert "there is a drop beyond the margin of 0.0 points" in ended["reason"]
    assert (ended["outstanding"], ended["next_batch"], ended["next_look"]) == ([], [], None)


def test_the_page_draws_every_look_and_says_where_it_stands(api: httpx.Client, matrix: str) -> None:
    session = start(api, matrix, budget=150, seed=3, question={"preset": "non_inferiority"})
    early = api.get(f"/sessions/{session['id']}/page").text
    assert "The answers are looked at from 50 examples on." in early

    half = {example: BASELINE[example] if at % 4 else 0 for at, example in enumerate(IDS)}
    ended = run(api, session, half)

    page = api.get(f"/sessions/{session['id']}/page")
    assert page.headers["Content-Security-Policy"].startswith("default-src 'none'")
    assert page.text.count('<tr><th scope="row" class="num">') == len(ended["looks"])
    assert page.text.count('class="mark s0"') == len(ended["looks"])
    assert html.escape(ended["reason"], quote=False) in html.unescape(page.text).replace("&", "&amp;")
    assert "margin" in page.text


def test_the_whole_benchmark_is_the_truth(api: httpx.Client, matrix: str) -> None:
    session = start(api, matrix, question={"preset": "non_inferiority", "margin": 0.02}, batch=50)
    candidate = BASELINE | {example: 1 - BASELINE[example] for example in IDS[:60]}
    truth = np.mean(list(candidate.values())) - np.mean(list(BASELINE.values()))

    ended = run(api, session, candidate)

    if ended["answered"] == EXAMPLES:
        assert ended["current"]["interval"] == pytest.approx([truth, truth])
    assert ended["verdict"] == ("pass" if truth >= -0.02 else "fail")


def test_the_same_answers_give_the_same_bytes(api: httpx.Client, matrix: str) -> None:
    """Whatever the sizes of the requests and the order in which they come."""
    ends = []
    for step in (7, 25):
        session = start(api, matrix, budget=100, seed=9)
        while session["status"] == "open":
            part = session["outstanding"][:step] if step == 25 else session["outstanding"][-step:]
            session = send(api, session["id"], {example: 1 - BASELINE[example] for example in part}).json()
        ends.append({key: session[key] for key in ("status", "looks", "reason", "answered", "handed_out")})
    assert ends[0] == ends[1]


def test_a_small_budget_is_one_batch(api: httpx.Client, matrix: str) -> None:
    session = start(api, matrix, budget=12)
    assert (session["batch"], len(session["outstanding"]), session["next_look"]) == (12, 12, 12)
    ended = run(api, session, dict.fromkeys(IDS, 0))
    assert (ended["answered"], len(ended["looks"])) == (12, 1)
    body = {"matrix_id": matrix, "question": {"kind": "compare", "baseline": "m0"}, "budget": 12, "batch": 13}
    assert api.post("/sessions", json=body).status_code == 422


def test_answers_sent_twice_count_once(api: httpx.Client, matrix: str) -> None:
    session = start(api, matrix, budget=100)
    answers = dict.fromkeys(session["next_batch"], 1)

    first = send(api, session["id"], answers).json()
    again = send(api, session["id"], answers).json()

    assert first["handed_out"] == again["handed_out"] == 50
    assert first["next_batch"] == again["outstanding"]
    assert again["next_batch"] == []
    assert again["answered"] == 25


def test_a_key_gets_the_first_answer_again(api: httpx.Client, matrix: str) -> None:
    body = {"matrix_id": matrix, "question": {"kind": "compare", "baseline": "m0"}, "budget": 100}
    headers = {"Idempotency-Key": "start-once"}
    first, again = (api.post("/sessions", json=body, headers=headers) for _ in range(2))
    assert again.headers["Idempotency-Replayed"] == "true"
    assert first.json() == again.json()


def test_what_does_not_fit_is_refused_and_nothing_is_stored(api: httpx.Client, matrix: str) -> None:
    session = start(api, matrix, budget=100)
    here, out = session["id"], session["next_batch"]
    later = next(example for example in IDS if example not in out)
    good = {out[0]: 1}
    send(api, here, {out[1]: 1})

    assert "'nowhere'" in refused(send(api, here, good | {"nowhere": 1}), 422, "unknown_examples")
    assert repr(later) in refused(send(api, here, good | {later: 1}), 422, "not_handed_out")
    said = refused(send(api, here, good | {out[1]: 0}), 422, "answered_differently")
    assert f"{out[1]!r} was answered with 1 before, and now with 0" in said
    assert send(api, here, good | {out[2]: 1.5}).status_code == 422
    assert api.get(f"/sessions/{here}").json()["answered"] == 1


def test_a_stopped_session_takes_no_answers(api: httpx.Client, matrix: str) -> None:
    session = start(api, matrix, budget=100)
    out = session["next_batch"]
    send(api, session["id"], {out[0]: 1})

    stopped = api.post(f"/sessions/{session['id']}/stop").json()

    assert (stopped["status"], stopped["verdict"], stopped["outstanding"]) == ("stopped", None, [])
    refused(send(api, session["id"], {out[1]: 1}), 409, "session_stopped")
    # What is known already is no new answer.
    assert send(api, session["id"], {out[0]: 1}).status_code == 200
    assert api.post(f"/sessions/{session['id']}/stop").json() == stopped


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ({"budget": EXAMPLES + 1}, "too_large"),
        ({"question": {"baseline": "nobody"}}, "unknown_model"),
        ({"clusters": {"q0": "a"}}, "missing_cluster"),
    ],
)
def test_a_session_that_does_not_fit_the_benchmark(
    api: httpx.Client, matrix: str, more: dict[str, Any], code: str
) -> None:
    question = {"kind": "compare", "baseline": "m0"} | more.pop("question", {})
    refused(api.post("/sessions", json={"matrix_id": matrix, "question": question, **more}), 422, code)


def test_a_baseline_needs_all_scores(api: httpx.Client) -> None:
    sent = {"models": ["a", "b"], "examples": ["x", "y"], "scores": [[1, None], [0, 1]]}
    gap = api.post("/matrices", json=sent).json()["id"]
    body = {"matrix_id": gap, "question": {"kind": "compare", "baseline": "a"}}
    assert "'a' has no score on 1 of 2 examples" in refused(
        api.post("/sessions", json=body), 422, "missing_scores"
    )
    designed = body | {"mode": "designed", "question": {"kind": "compare", "baseline": "b"}}
    refused(api.post("/sessions", json=designed), 422, "does_not_fit")


def test_a_designed_order_is_not_too_long(api: httpx.Client) -> None:
    ids = [f"e{at}" for at in range(1100)]
    scores = made.answers(3, 1100, seed=1).tolist()
    long = api.post("/matrices", json={"models": ["a", "b", "c"], "examples": ids, "scores": scores}).json()[
        "id"
    ]
    body = {"matrix_id": long, "question": {"kind": "compare", "baseline": "a"}, "mode": "designed"}
    assert "at most 1,000 examples" in refused(api.post("/sessions", json=body), 422, "too_large")
    assert api.post("/sessions", json=body | {"budget": 60}).status_code == 201


def test_errors_count_as_declared(api: httpx.Client, matrix: str) -> None:
    failed = {"error": "refused to answer"}
    for policy, scored in (("zero", 50), ("missing", 25)):
        session = start(api, matrix, budget=100, errors=policy, batch=50)
        out = session["next_batch"]
        answers = {example: failed if at % 2 else [1, 0, None] for at, example in enumerate(out)}
        told = send(api, session["id"], answers).json()
        assert (told["answered"], told["scored"]) == (50, scored)
        assert told["current"]["scored"] == scored
        assert bool(told["warnings"]) == (policy == "missing")


def test_two_callers_get_batches_of_their_own(api: httpx.Client, matrix: str) -> None:
    session = start(api, matrix, budget=EXAMPLES, question={"preset": "improvement"}, batch=10)
    second = send(api, session["id"], {}, another_batch=True).json()["next_batch"]
    assert not set(second) & set(session["next_batch"])
    seen: list[list[str]] = []
    errors: list[str] = []

    def work(batch: list[str]) -> None:
        while batch:
            seen.append(batch)
            answer = send(api, session["id"], {example: BASELINE[example] for example in batch})
            if answer.status_code != 200:
                errors.append(answer.json()["errors"][0]["code"])
                return
            batch = answer.json()["next_batch"]

    threads = [threading.Thread(target=work, args=(batch,)) for batch in (session["next_batch"], second)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    handed = [example for batch in seen for example in batch]
    assert len(handed) == len(set(handed))
    ended = api.get(f"/sessions/{session['id']}").json()
    assert ended["status"] != "open"
    assert set(errors) <= {f"session_{ended['status']}"}


def test_any_look_follows_every_answer(api: httpx.Client, matrix: str) -> None:
    session = start(api, matrix, looks="any", budget=120, batch=60, question={"preset": "improvement"})
    out = session["next_batch"]

    flipped = {
        example: 1 - BASELINE[example] if at % 9 == 0 else BASELINE[example] for at, example in enumerate(out)
    }
    send(api, session["id"], {example: flipped[example] for example in out[:52]})
    told = send(api, session["id"], {example: flipped[example] for example in out[52:55]}).json()

    assert [look["size"] for look in told["looks"]] == [52, 55]
    assert told["next_look"] == 56


def test_a_score_session_ends_when_it_is_narrow(api: httpx.Client, matrix: str) -> None:
    body = {"matrix_id": matrix, "question": {"kind": "score", "precision": 0.08}, "batch": 20}
    session = api.post("/sessions", json=body).json()
    candidate = dict(zip(IDS, made.answers(30, EXAMPLES, seed=4)[25].tolist(), strict=True))

    ended = run(api, session, candidate)

    assert (ended["status"], ended["verdict"]) == ("decided", "known")
    low, high = ended["current"]["interval"]
    assert high - low <= 0.16 + 1e-9
    assert low <= np.mean(list(candidate.values())) <= high


def test_a_designed_order_warns_that_it_is_a_models_word(api: httpx.Client, matrix: str) -> None:
    session = start(api, matrix, mode="designed", budget=100)
    ended = run(api, session, dict.fromkeys(IDS, 0))
    assert ended["verdict"] == "fail"
    assert ended["current"]["estimator"] == "predicted"
    assert "model's word" in ended["warnings"][0]


def test_clusters_widen_the_interval(api: httpx.Client, matrix: str) -> None:
    widths = []
    for clusters in (None, {example: f"c{at // 4}" for at, example in enumerate(IDS)}):
        session = start(
            api, matrix, budget=100, batch=50, **({} if clusters is None else {"clusters": clusters})
        )
        told = send(
            api,
            session["id"],
            {e: 1 - BASELINE[e] if int(e[1:]) % 8 < 4 else BASELINE[e] for e in session["next_batch"]},
        ).json()
        widths.append(told["current"]["standard_error"])
    assert widths[1] > widths[0]


def test_sessions_are_listed_newest_first_and_deleted(api: httpx.Client, matrix: str) -> None:
    ids = [start(api, matrix, budget=100)["id"] for _ in range(3)]
    first = api.get("/sessions", params={"matrix_id": matrix, "limit": 2}).json()
    assert [item["id"] for item in first["items"]] == ids[:0:-1]
    rest = api.get("/sessions", params={"matrix_id": matrix, "cursor": first["next_cursor"]}).json()
    assert rest["items"][0]["id"] == ids[0]

    assert api.delete(f"/sessions/{ids[0]}").status_code == 204
    assert api.get(f"/sessions/{ids[0]}").status_code == 404


def test_an_open_session_keeps_its_matrix(api: httpx.Client) -> None:
    sent = {"models": ["a", "b"], "examples": IDS[:20], "scores": SCORES[:2, :20].tolist()}
    small = api.post("/matrices", json=sent).json()["id"]
    session = start(api, small, question={"baseline": "a"}, batch=5)

    refusal = api.delete(f"/matrices/{small}")
    assert refusal.status_code == 409
    assert "1 sessions ask examples of this matrix" in refusal.json()["detail"]

    assert api.delete(f"/matrices/{small}", params={"cascade": True}).status_code == 204
    assert api.get(f"/sessions/{session['id']}").status_code == 404


def test_a_session_survives_a_restart(api: httpx.Client, settings: Settings, matrix: str) -> None:
    """Another process, which has nothing in memory, goes on where this one was."""
    twins = [start(api, matrix, budget=100, seed=5) for _ in range(2)]
    answers = {example: 1 - BASELINE[example] for example in IDS}
    for twin in twins:
        send(api, twin["id"], {example: answers[example] for example in twin["next_batch"]})
    here = run(api, api.get(f"/sessions/{twins[0]['id']}").json(), answers)
    with answering(settings) as other:
        there = run(other, other.get(f"/sessions/{twins[1]['id']}").json(), answers)
    assert here["looks"] == there["looks"]


@pytest.fixture
def few(settings: Settings) -> Iterator[httpx.Client]:
    with answering(settings.model_copy(update={"max_open_sessions": 1, "session_idle_days": 7})) as client:
        yield client


def test_a_silent_caller_loses_the_session_and_the_limit_counts_open_ones(
    few: httpx.Client, db: sa.Engine
) -> None:
    sent = {"models": ["a", "b"], "examples": IDS[:20], "scores": SCORES[:2, :20].tolist()}
    small = few.post("/matrices", json=sent).json()["id"]
    with db.begin() as conn:
        conn.execute(sa.text("UPDATE sessions SET status = 'stopped'"))
    session = start(few, small, question={"baseline": "a"}, batch=5)
    body = {"matrix_id": small, "question": {"kind": "compare", "baseline": "a"}, "batch": 5}
    refused(few.post("/sessions", json=body), 409, "too_many_sessions")

    with db.begin() as conn:
        age = "UPDATE sessions SET updated_at = now() - interval '8 days' WHERE id = :id"
        conn.execute(sa.text(age), {"id": session["id"]})

    told = few.get(f"/sessions/{session['id']}").json()
    assert (told["status"], told["outstanding"]) == ("expired", [])
    assert told["reason"].startswith("The session expired undecided.")
    refused(send(few, session["id"], {session["next_batch"][0]: 1}), 409, "session_expired")
    start(few, small, question={"baseline": "a"}, batch=5)
