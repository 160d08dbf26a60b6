"""What leaves for each tool, and what cannot."""

from __future__ import annotations

import json
import shlex
from fnmatch import fnmatchcase

import pytest

from service.export import FORMATS, Example, ExportedSelection, ExportError


def choice(
    tool: str | None, *native: tuple[str, str], others: dict[str, list[str]] | None = None
) -> ExportedSelection:
    """A selection of examples that the tool calls these."""
    benchmark = {task: list(ids) for task, ids in (others or {}).items()}
    for task, name in native:
        benchmark.setdefault(task, []).append(name)
    examples = [Example(f"{task}/{name}", 1 / len(native), None, task, name) for task, name in native]
    return ExportedSelection("s1", "h", examples, tool, benchmark)


def patterns(*ids: str, others: tuple[str, ...] = ()) -> list[str]:
    """What Inspect makes of the text: its parse_sample_id."""
    text = FORMATS["inspect"].write(choice("inspect", *(("t", i) for i in ids), others={"t": list(others)}))
    return [part.strip() for part in text.split(",")]


def test_lm_eval_takes_ascending_numbers_by_task() -> None:
    chosen = choice("lm_eval", ("b", "10"), ("b", "9"), ("a", "0"))
    form = FORMATS["lm_eval"]
    assert json.loads(form.write(chosen)) == {"a": [0], "b": [9, 10]}
    command = shlex.split(form.command(chosen) or "")
    assert command[1:5] == ["--tasks", "a,b", "--samples", form.filename(chosen)] == [
        "--tasks", "a,b", "--samples", "s1.lm_eval.json",
    ]  # fmt: skip
    with pytest.raises(ExportError, match="'x7' of task 'a' has no number"):
        form.write(choice("lm_eval", ("a", "x7")))


def test_inspect_takes_ids_by_comma_scoped_where_there_are_several_tasks() -> None:
    form = FORMATS["inspect"]
    one = choice("inspect", ("pkg/arc", "1"), ("pkg/arc", "q/3 ü"))
    assert form.write(one) == "1,q/3 ü\n"
    assert form.command(one) == 'inspect eval pkg/arc --sample-id "$(cat s1.inspect.txt)"'
    two = choice("inspect", ("my tasks.py@arc", "1"), ("pkg/mmlu", "x"))
    assert form.write(two) == "arc:1,pkg/mmlu:x\n"
    assert form.command(two) == (
        "inspect eval 'my tasks.py@arc' pkg/mmlu --sample-id \"$(cat s1.inspect.txt)\""
    )
    # Without the task in front, Inspect would take the id's own beginning for it.
    assert form.write(choice("inspect", ("arc", "arc:7"))) == "arc:arc:7\n"


@pytest.mark.parametrize("name", ["a*b", "a?", "[x]", "a,b", " lead", "trail\t", "*", ",", "x,y,z [1]"])
def test_a_pattern_matches_the_id_it_was_made_for_and_no_other(name: str) -> None:
    near = ("axb", "ab", "x", "aXb", "lead", "trail", "y", "x y z [1]", "x,y,z 1")
    (pattern,) = patterns(name, others=tuple(other for other in near if other != name))
    assert fnmatchcase(name, pattern)
    assert not any(fnmatchcase(other, pattern) for other in near)


def test_ids_that_inspect_cannot_tell_apart_are_refused_by_name() -> None:
    with pytest.raises(ExportError, match=r"cannot tell 'a,b' from 'a\+b'"):
        patterns("a,b", others=("a+b",))


def test_a_list_too_long_for_a_command_line_goes_by_python() -> None:
    chosen = choice("inspect", *(("t", f"{'long' * 50}-{i}") for i in range(600)))
    command = shlex.split(FORMATS["inspect"].command(chosen) or "")
    assert command[:2] == ["python", "-c"]
    assert "sample_id=open('s1.inspect.txt')" in command[2]
    compile(command[2], "command", "exec")


def test_what_a_tool_cannot_run_is_said() -> None:
    with pytest.raises(ExportError, match="HELM cannot run chosen instances"):
        FORMATS["helm"].write(choice("helm", ("mmlu", "id1")))
    with pytest.raises(ExportError, match=r"upload its samples_\*.jsonl unchanged"):
        FORMATS["lm_eval"].write(choice(None, ("a", "0")))
    with pytest.raises(ExportError, match="'--model=evil' as an option"):
        FORMATS["inspect"].command(choice("inspect", ("--model=evil", "1")))
    with pytest.raises(ExportError, match="'a,b' as a list"):
        FORMATS["lm_eval"].command(choice("lm_eval", ("a,b", "1")))
    with pytest.raises(ExportError, match="run by inspect, not by lm_eval"):
        FORMATS["lm_eval"].write(choice("inspect", ("a", "0")))


def test_no_cell_of_the_csv_is_a_formula() -> None:
    text = FORMATS["csv"].write(ExportedSelection("s", "h", [Example("=HYPERLINK(1)", 1.0, "@x")]))
    assert text.splitlines() == ["id,weight,subtask", "'=HYPERLINK(1),1.0,'@x"]


def test_json_has_all_that_is_known() -> None:
    told = json.loads(FORMATS["json"].write(choice("lm_eval", ("a", "3"))))
    example = {"id": "a/3", "weight": 1.0, "subtask": None, "task": "a", "native_id": "3"}
    assert told == {"selection_id": "s1", "content_hash": "h", "tool": "lm_eval", "examples": [example]}
