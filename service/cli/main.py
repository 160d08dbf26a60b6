"""The server's commands: `tastetest serve | worker | beat | webhooks | migrate | keys | demo | openapi`.

The command `tastetest` belongs to `tastetest-client`, which finds these by entry points;
`python -m service.cli` has them alone.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import click

from service.cli.keys import keys
from service.cli.options import DATA_DIR

ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="tastetest")
def main() -> None:
    """How small can your benchmark be, and which comparisons can you still trust?"""


@main.command()
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", default=8000, show_default=True, type=click.IntRange(0, 65535))
@DATA_DIR
@click.option(
    "--workers",
    type=click.IntRange(0),
    help="Number of worker processes [default: 1; 0 with your own servers].",
)
def serve(host: str, port: int, data_dir: Path, workers: int | None) -> None:
    """Serve the API; with no DATABASE_URL and REDIS_URL, start Postgres, Valkey and a worker too."""
    from service.cli.default_stack import StackError
    from service.cli.serve import serve as run

    def ready(address: str, *, keyless: bool) -> None:
        click.echo(f"tastetest is ready on {address} (API documentation: {address}/docs). Ctrl-C stops it.")
        if keyless:
            click.echo(
                "It needs no API key and accepts requests from this machine only; see `tastetest keys "
                "--help`."
            )

    try:
        run(host, port, data_dir, workers, ready)
    except StackError as error:
        raise click.ClickException(str(error)) from error
    except KeyboardInterrupt:
        click.echo("stopped")


@main.command()
@click.option(
    "--processes",
    default=1,
    show_default=True,
    type=click.IntRange(1),
    help="Number of processes; one per core is best.",
)
@click.option(
    "--beat", is_flag=True, help="Schedule the reconciler too; exactly one worker or `tastetest beat` should."
)
@click.option("--queues", help="Queues to serve, comma-separated [default: all].")
def worker(processes: int, beat: bool, queues: str | None) -> None:
    """Compute jobs of the service at DATABASE_URL and REDIS_URL."""
    # One BLAS thread per process and one process per core: more would only compete for the cores.
    for name in ONE_THREAD:
        os.environ.setdefault(name, "1")
    arguments = ["worker", "--concurrency", str(processes), "--without-gossip", "--without-mingle"]
    arguments += ["--loglevel", "WARNING"]
    arguments += ["--queues", queues] if queues else []
    arguments += ["--beat", "--schedule", _schedule()] if beat else []
    _celery(arguments)


@main.command()
def beat() -> None:
    """Schedule the reconciler, which recovers the parts of lost workers."""
    _celery(["beat", "--loglevel", "WARNING", "--schedule", _schedule(), "--pidfile", ""])


@main.command()
def webhooks() -> None:
    """Deliver the webhooks of the service at DATABASE_URL; in a process of its own, which holds no worker."""
    from service.cli.webhooks import run

    run()


@main.command()
def migrate() -> None:
    """Bring the database at DATABASE_URL to this release's schema; make the API's role if it is named."""
    import migrations
    from service.core.settings import get_settings
    from service.store import api_role

    settings = get_settings()
    migrations.upgrade(settings.database_url)
    if settings.api_database_url:
        try:
            api_role.prepare(settings.database_url, settings.api_database_url)
        except api_role.RoleNotMade as error:
            raise click.ClickException(str(error)) from error


@main.command()
def demo() -> None:
    """Measure the bundled sample matrix on a temporary stack and show the result."""
    from service.cli.demo import run

    run()


@main.command()
def openapi() -> None:
    """Print the OpenAPI document."""
    from service.core.settings import Settings
    from service.main import create_app

    click.echo(json.dumps(create_app(Settings()).openapi(), indent=2, ensure_ascii=False))


main.add_command(keys)


def _celery(arguments: list[str]) -> None:
    # Celery replaces this process, so that signals and exit codes are its own.
    command = [sys.executable, "-m", "celery", "--quiet", "-A", "workers.app", *arguments]
    os.execv(sys.executable, command)  # noqa: S606


def _schedule() -> str:
    """A temporary schedule file: the database decides what is due, so nothing in it must survive."""
    import tempfile

    return str(Path(tempfile.mkdtemp(prefix="tastetest-beat-")) / "schedule")
