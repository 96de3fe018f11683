"""``dudley serve``: the explorer, a local page over the library."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dudley.cli.output import Json, print_json
from dudley.cli.statements import Statements
from dudley.core.errors import InputError

if TYPE_CHECKING:
    import socket


def serve(
    host: Annotated[str, typer.Option(help="Where to listen; this machine only, if not given.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, typer.Option(help="The port.", min=1, max=65535)] = 8765,
    token: Annotated[
        str | None,
        typer.Option(help="What a visitor must know; made up where others can reach the page."),
    ] = None,
    open_page: Annotated[
        bool, typer.Option("--open/--no-open", help="Open the page in a browser.")
    ] = False,
    results: Annotated[
        Path | None, typer.Option(help="The folder of committed results; the repository's if none.")
    ] = None,
    runs: Annotated[Path, typer.Option(help="The folder of runs on this machine.")] = Path(
        "dudley-lab"
    ),
    limit: Annotated[int, typer.Option(help="MiB of files checked at once.", min=1)] = 256,
    check: Annotated[
        bool, typer.Option("--check", help="Ask the page for everything once, and stop.")
    ] = False,
    statements: Statements = None,
    as_json: Json = False,
) -> None:
    """Explore bounds, statements, networks, files and experiments.

    The page that does so is served on this machine.

    Example: dudley serve --check
    """
    from dudley.web.app import create_app
    from dudley.web.safety import Settings, is_loopback, new_token

    if results is not None and not results.is_dir():
        raise InputError("--results", "a folder", str(results))
    guarded = token or ("" if is_loopback(host) else new_token())
    settings = Settings(host, port, guarded, results, runs, limit << 20)
    app = create_app(settings)
    if check:
        from dudley.web.check import check_answers

        answers = check_answers(app, settings)
        if as_json:
            print_json("serve", [{"id": settings.address, "answers": answers}])
        else:
            total = sum(one["bytes"] for one in answers)
            print(f"all is well: {len(answers)} answers, {total:,} bytes; dudley serve opens them")
        return
    listener = _listening(settings)
    if as_json:
        print_json("serve", [{"id": settings.address, "answers": []}])
        sys.stdout.flush()
    else:
        print(f"the explorer is at {settings.address}   (Ctrl-C ends it)", flush=True)
    if settings.open_to_all:
        print(
            f"dudley: {host} can be reached from other machines, unencrypted: whoever has the "
            "link sees what it shows and can use this machine to compute",
            file=sys.stderr,
            flush=True,
        )
    _run(app, listener, settings.address if open_page else None)


def _listening(settings) -> socket.socket:
    """The socket, or a refusal where the address is taken or none of this machine's."""
    import socket

    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((settings.host, settings.port))
        listener.listen()
    except OSError as error:
        listener.close()
        where = f"{settings.host}:{settings.port}"
        fix = "name another with --host and --port"
        raise InputError("serve", "a free address", f"{where}: {error.strerror}", fix) from None
    return listener


def _run(app, listener: socket.socket, page: str | None) -> None:
    """Serve until interrupted, which is how it ends."""
    import uvicorn

    if page is not None:
        import threading
        import webbrowser

        threading.Timer(1.0, webbrowser.open, [page]).start()
    config = uvicorn.Config(app, log_level="warning", server_header=False)
    with contextlib.suppress(KeyboardInterrupt):
        uvicorn.Server(config).run(sockets=[listener])
