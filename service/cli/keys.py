"""`tastetest keys create | list | revoke`: manages API keys through the database."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from service.cli.options import DATA_DIR
from service.core.api_keys import DEFAULT_WORKSPACE as DEFAULT
from service.core.api_keys import SCOPES, new

if TYPE_CHECKING:
    # Not imported at run time: the other commands need not load the database's libraries.
    from sqlalchemy import Connection

    from service.store.keys import KeyRecord

WORKSPACE = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")
LONGEST_NAME = 200


@click.group()
def keys() -> None:
    """Create, list and revoke API keys in the database at DATABASE_URL or of the default stack."""


@keys.command()
@click.argument("name")
@click.option("--workspace", default=DEFAULT, show_default=True, help="Created if it does not exist.")
@click.option(
    "--scopes",
    default="read,write",
    show_default=True,
    help=f"Comma-separated; choose from {', '.join(SCOPES)}.",
)
@click.option("--days", type=click.IntRange(1, 36_500), help="Days until the key expires [default: never].")
@DATA_DIR
def create(name: str, workspace: str, scopes: str, days: int | None, data_dir: Path) -> None:
    """Create a key and print it, once only; NAME says who uses it or what for."""
    from service.store import keys as stored

    key = new()
    with _database(data_dir) as conn:
        record = stored.add(
            conn,
            key_id=key.id,
            secret_sha256=key.sha256,
            workspace=_workspace(workspace),
            name=_name(name),
            scopes=_scopes(scopes),
            lasts=None if days is None else timedelta(days=days),
        )
    until = f" until {record.expires_at:%Y-%m-%d %H:%M} UTC" if record.expires_at else ""
    what = f"{', '.join(record.scopes)} in the workspace {record.workspace}{until}"
    click.echo(f"Key {record.id} ({record.name}) for {what}. It is shown only once:", err=True)
    click.echo(str(key))


@keys.command("list")
@click.option("--workspace", help="List only the keys of this workspace.")
@DATA_DIR
def list_keys(workspace: str | None, data_dir: Path) -> None:
    """List all keys, without their secrets."""
    from service.store import keys as stored

    with _database(data_dir) as conn:
        found = stored.listed(conn, workspace)
    click.echo(_line("id", "workspace", "scopes", "state", "last used", "name"))
    for key in found:
        used = f"{key.last_used_at:%Y-%m-%d %H:%M}" if key.last_used_at else "never"
        click.echo(_line(key.id, key.workspace, ",".join(key.scopes), _state(key), used, key.name))


@keys.command()
@click.argument("key_id", metavar="ID")
@DATA_DIR
def revoke(key_id: str, data_dir: Path) -> None:
    """Revoke a key for good; running servers refuse it within seconds."""
    from service.core.errors import NotFound
    from service.store import keys as stored

    with _database(data_dir) as conn:
        try:
            record = stored.revoke(conn, key_id)
        except NotFound as error:
            raise click.ClickException(error.detail) from error
    click.echo(f"Key {record.id} ({record.name}) is revoked.")


@contextlib.contextmanager
def _database(data_dir: Path) -> Iterator[Connection]:
    from sqlalchemy import create_engine
    from sqlalchemy.exc import OperationalError, ProgrammingError

    import migrations
    from service.cli import default_stack
    from service.core.settings import get_settings

    with contextlib.ExitStack() as around:
        url = get_settings().database_url
        try:
            if not url:
                url = around.enter_context(default_stack.database(data_dir))
                migrations.upgrade(url)
            engine = create_engine(url, connect_args={"connect_timeout": 5})
            around.callback(engine.dispose)
            yield around.enter_context(engine.begin())
        except default_stack.StackError as error:
            raise click.ClickException(str(error)) from error
        except ProgrammingError as error:
            message = "The database has no table of keys. Run `tastetest migrate`."
            raise click.ClickException(message) from error
        except OperationalError as error:
            raise click.ClickException(f"The database does not answer: {error.orig}") from error


def _workspace(name: str) -> str:
    if not WORKSPACE.fullmatch(name):
        message = "A workspace name has 1 to 63 characters from a-z, 0-9 and -, and does not begin with -."
        raise click.BadParameter(message, param_hint="--workspace")
    return name


def _name(name: str) -> str:
    if not name.isprintable() or not name.strip() or len(name) > LONGEST_NAME:
        raise click.BadParameter(f"A name has 1 to {LONGEST_NAME} printable characters.", param_hint="NAME")
    return name


def _scopes(text: str) -> list[str]:
    requested = {scope.strip() for scope in text.split(",")}
    if not requested <= set(SCOPES):
        message = f"Give one or more of {', '.join(SCOPES)}, comma-separated."
        raise click.BadParameter(message, param_hint="--scopes")
    return [scope for scope in SCOPES if scope in requested]


def _state(key: KeyRecord) -> str:
    if key.revoked_at:
        return "revoked"
    if not key.valid:
        return "expired"
    return f"until {key.expires_at:%Y-%m-%d}" if key.expires_at else "valid"


def _line(*cells: str) -> str:
    widths = (16, 16, 16, 16, 16, 0)
    return "  ".join(f"{cell:<{width}}" for cell, width in zip(cells, widths, strict=True)).rstrip()
