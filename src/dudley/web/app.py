"""The app: addresses, and nothing else; each asks one function.

>>> from dudley.web.safety import Settings
>>> create_app(Settings()).title
'dudley explorer'
"""

from __future__ import annotations

import json
import re
import tempfile
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from dudley.core.boundary import documents
from dudley.core.errors import DudleyError, InputError, UnknownName
from dudley.core.extras import ExtraMissing, missing
from dudley.web import architecture, bounds, drop, page, statements
from dudley.web.attend import Visitor, attended
from dudley.web.safety import Guard, Settings
from dudley.web.upload import Stalled, timely

try:
    from fastapi import FastAPI, Request, Response
    from fastapi.concurrency import run_in_threadpool
    from starlette.datastructures import QueryParams
except ImportError:
    raise missing("fastapi", "the explorer", "web") from None

OWN = (  # parameters of an address that are no names of a situation
    "sweep", "coarse", "source", "form", "quantity", "curve",
)  # fmt: skip
HEADS = re.compile("[1-9][0-9]{0,3}")
MOST_BODY = 256 << 10  # bytes of a network
SILENT: Any = dict.fromkeys(
    ("tracing", "metrics", "logs", "operation_spans", "auto_configure"), False
)  # nothing is told to anyone, whatever the environment says
SVG_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def create_app(settings: Settings) -> FastAPI:
    """Everything that the page asks for."""
    app = FastAPI(
        title="dudley explorer", docs_url=None, redoc_url=None, openapi_url=None, telemetry=SILENT
    )
    app.add_middleware(Guard, settings=settings)
    app.add_exception_handler(DudleyError, _refusal)
    busy = threading.Lock()  # one file at a time: measuring may take all memory

    @app.get("/")
    def index() -> Response:
        return Response(page.html(), media_type="text/html")

    @app.get("/app.css")
    def style() -> Response:
        return Response(page.style(), media_type="text/css")

    @app.get("/app.js")
    def script() -> Response:
        return Response(page.script(), media_type="text/javascript")

    @app.get("/api/bounds")
    async def all_bounds(request: Request) -> Response:
        def work(visitor: Visitor) -> Response:
            return _json(_bounds(request.query_params, visitor))

        return await attended(request.receive, run_in_threadpool, work)

    @app.get("/api/statements")
    def all_statements() -> Response:
        return _json({"statements": statements.list_statements()})

    @app.get("/api/statements/{id:path}")
    def one_statement(id: str) -> Response:
        return _json(statements.page(id))

    @app.get("/api/blocks")
    def blocks() -> Response:
        return _json(architecture.catalogue())

    @app.post("/api/architecture")
    async def explained(request: Request) -> Response:
        body = await _body(timely(request.stream(), MOST_BODY, settings.patience))
        return _json(await run_in_threadpool(architecture.explain_network, body))

    @app.post("/api/files")
    async def files(request: Request) -> Response:
        query = request.query_params
        parts = drop.read_announcement(query.getlist("file"), settings.limit)
        heads = query.get("heads") or None
        if heads is not None and not (HEADS.fullmatch(heads) and int(heads) <= 1024):
            raise InputError("heads", "a number from 1 to 1024", heads)
        if not busy.acquire(blocking=False):
            raise InputError("files", "one look at a time", "a second", "wait for the first")
        try:
            with tempfile.TemporaryDirectory(prefix="dudley-") as folder:
                size = sum(count for _, count in parts)
                body = timely(request.stream(), size, settings.patience)
                await drop.receive(parts, body, Path(folder))
                layout = query.get("layout")
                look = (drop.look_at, Path(folder), layout, None if heads is None else int(heads))
                try:
                    return _json(await run_in_threadpool(*look))
                except DudleyError as refusal:
                    raise DudleyError(str(refusal).replace(f"{folder}/", "")) from None
        finally:
            busy.release()

    @app.get("/api/experiments")
    def experiments(request: Request) -> Response:
        try:
            from dudley.web import lab

            at_once = "at-once" in request.query_params
            listed = lab.list_results if at_once else lab.list_experiments
            return _json(listed(settings.results, settings.runs))
        except ExtraMissing as absent:  # the other views do without
            return _json({"experiments": [], "runs": [], "absent": str(absent)})

    @app.get("/api/experiments/{source}/{location:path}")
    def experiment(source: str, location: str) -> Response:
        from dudley.web import lab

        return _json(lab.page(source, location, settings.results, settings.runs))

    @app.get("/api/figures/{source}/{location:path}/{name}.svg")
    def figure(source: str, location: str, name: str) -> Response:
        from dudley.web import lab

        drawn = lab.figure(source, location, name, settings.results, settings.runs)
        policy = {"content-security-policy": SVG_POLICY}
        return Response(drawn, media_type="image/svg+xml", headers=policy)

    return app


def _bounds(query: QueryParams, visitor: Visitor) -> dict[str, Any]:
    words = [f"{name}={value}" for name, value in query.multi_items() if name not in OWN]
    view = bounds.View(
        tuple(query.getlist("source")) or bounds.sources(),
        tuple(query.getlist("form")) or bounds.FORMS,
        query.get("quantity", bounds.GAPS),
        tuple(query.getlist("curve")),
    )
    if "sweep" in query:
        return bounds.curves(words, query["sweep"], view, visitor, "coarse" in query)
    return bounds.point(words, view, visitor)


async def _body(stream: AsyncIterator[bytes]) -> Any:
    """The JSON of a small body."""
    body = b""
    async for chunk in stream:
        body += chunk
        if len(body) > MOST_BODY:
            raise InputError("network", f"at most {MOST_BODY >> 10} KiB", "more")
    return documents.value_of(body, "network")


def _json(answer: dict[str, Any]) -> Response:
    text = json.dumps(answer, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    return Response(text, media_type="application/json")


def _refusal(request: Request, error: Exception) -> Response:
    named = not request.url.query  # what is unknown stands in the address itself
    status = 404 if isinstance(error, UnknownName) and named else 400
    text = json.dumps({"error": str(error)}, ensure_ascii=False)
    if isinstance(error, Stalled):  # what is still to come is not read
        return Response(text, 408, {"connection": "close"}, media_type="application/json")
    return Response(text, status, media_type="application/json")
