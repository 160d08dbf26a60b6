"""What mkdocs is told beyond its configuration: the pages' order, and the API reference."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import reference
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[2]

ORDER: list[tuple[str, list[tuple[str, str]]]] = [
    ("Start", [("Tastetest", "index.md"), ("From logs to a gate in CI", "tutorial.md")]),
    (
        "Understand",
        [
            ("Choosing a size", "choosing-a-size.md"),
            ("How each method works", "how-it-works.md"),
            ("Optimal design", "methods.md"),
            ("Glossary", "glossary.md"),
        ],
    ),
    (
        "Use",
        [
            ("API reference", "reference.md"),
            ("How the API changes", "api-changes.md"),
            ("Run only the chosen", "exports.md"),
            ("Sessions", "sessions.md"),
            ("Attempts", "attempts.md"),
            ("In CI", "ci/README.md"),
            ("Keys and limits", "access.md"),
            ("Operations", "operations/README.md"),
            ("Settings", "operations/settings.md"),
            ("Watching it", "operations/monitoring.md"),
            ("Upgrade", "operations/upgrade.md"),
            ("Backup", "operations/backup.md"),
        ],
    ),
    (
        "Measured",
        [
            ("Against the paper", "paper.md"),
            ("Performance", "performance.md"),
            ("Reliability", "reliability.md"),
            ("Security", "security.md"),
        ],
    ),
    (
        "Why",
        [
            ("Decisions", "decisions/README.md"),
            ("Postgres holds the truth", "decisions/truth-in-postgres.md"),
            ("Byte-identical results", "decisions/byte-identical-results.md"),
            ("Exact random sampling", "decisions/exact-random-sampling.md"),
            ("Our own k-medoids and IRT", "decisions/own-kmedoids-and-irt.md"),
            ("A nested, greedy choice", "decisions/nested-greedy-choice.md"),
            ("Half credit for ties", "decisions/half-credit-for-ties.md"),
            ("Row encoding", "decisions/row-encoding.md"),
            ("No version in paths", "decisions/no-version-in-paths.md"),
            ("Embedded servers", "decisions/embedded-servers.md"),
            ("An engine without I/O", "decisions/engine-without-io.md"),
        ],
    ),
]


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Pages in their order; those a part of the project has not written yet are left out."""
    there = {path.relative_to(config.docs_dir).as_posix() for path in Path(config.docs_dir).rglob("*.md")}
    there.add("reference.md")
    sections = [{title: [{name: page} for name, page in pages if page in there]} for title, pages in ORDER]
    listed = {page for _, pages in ORDER for _, page in pages}
    more = sorted(there - listed)
    config.nav = [
        *filter(lambda section: any(section.values()), sections),
        *([{"More": more}] if more else []),
    ]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the API reference, made from the committed OpenAPI document."""
    document: dict[str, Any] = json.loads((ROOT / "openapi" / "openapi.json").read_text())
    files.append(File.generated(config, "reference.md", content=reference.markdown(document)))
    return files
