"""The console: `/console` and its files, and the answers that the page requests, under `/api`.

The page is public, as it has nothing about the broker. The answers are for identities that may read
the broker's state, as metrics are, and each is that of a command: `/api/status` is `sapwood status
--json`, `/api/durables` a page of `sapwood durable list --json`, `/api/explain` `sapwood explain
--broker --json`.

Nothing on the page comes from elsewhere, and browsers are instructed to load nothing else
(`_PAGE`): names of brokers, clients and publications are shown as text, and could not be run if
they were not.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, TypeAlias

import msgspec
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import RedirectResponse, Response, StreamingResponse
from starlette.routing import BaseRoute, Route

from sapwood.broker.http.bodies import whole
from sapwood.broker.http.console import tables
from sapwood.broker.http.console.live import Live
from sapwood.broker.http.console.looked import Looked
from sapwood.broker.http.console.overlay import Inside, explain, shown_to_others
from sapwood.broker.http.console.questions import (
    interest_in,
    matched,
    question_in,
    written_in,
)
from sapwood.broker.http.console.trial import judged, tried
from sapwood.broker.http.credentials import credentials_in
from sapwood.broker.http.gateway import Gateway, peer_of
from sapwood.broker.http.guard import Guard
from sapwood.broker.http.inside import NotAdmittedError
from sapwood.broker.http.refusals import Refusal
from sapwood.broker.http.wishes import Wish
from sapwood.errors import InputError, SapwoodError
from sapwood.limits.console import CONSOLE_BODY_BYTES_MAX, CONSOLE_ROWS, CONSOLE_ROWS_MAX
from sapwood.wire.interests import InterestText, to_text

_Answer: TypeAlias = Callable[[Request], Awaitable[Any]]

STATIC: Final = Path(__file__).with_name("static")

TYPES: Final[Mapping[str, str]] = MappingProxyType(
    {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
)

_PAGE: Final[Mapping[str, str]] = MappingProxyType(
    {
        "Cache-Control": "no-cache",
        "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
        "img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
    }
)

_DATA: Final[Mapping[str, str]] = MappingProxyType(
    {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
)

_NAMELESS: Final[Mapping[str, str]] = MappingProxyType(
    {"WWW-Authenticate": 'Bearer realm="sapwood"'}
)
"""For a password, a browser would prompt by itself, and remember it for the next person."""

_OFFSET_MAX: Final = 2**53


class Console:
    """The pages of the console of one broker. A trial is a stream of the gateway's."""

    def __init__(self, broker: Looked, gateway: Gateway) -> None:
        self._broker = broker
        self._gateway = gateway
        self._live = Live(broker)
        #: sends requests to other brokers, one after the other
        self._thread = ThreadPoolExecutor(1, "console questions")

    async def stop(self) -> None:
        """Stop all requests to other brokers."""
        await self._live.stop()
        await asyncio.to_thread(self._thread.shutdown, cancel_futures=True)

    def routes(self) -> list[BaseRoute]:
        """The pages."""
        guard = [Middleware(Guard, settings=self._broker.settings)]
        answers: tuple[tuple[str, _Answer], ...] = (
            ("status", self._status),
            ("clients", self._clients),
            ("subscriptions", self._subscriptions),
            ("durables", self._durables),
            ("journal", self._journal),
            ("filter", self._filter),
            ("explain", self._explain),
            ("live", self._stream_of_states),
            ("trial", self._trial),
        )
        files = {path.name: _File(path) for path in STATIC.iterdir() if path.suffix in TYPES}

        async def page(request: Request) -> Response:
            found = files.get(request.path_params.get("name", "index.html"))
            return Response(status_code=404) if found is None else found.response(request)

        async def to_page(_: Request) -> Response:
            return RedirectResponse("/console/")

        return [
            Route("/", to_page),
            Route("/console", to_page),
            Route("/console/", page),
            Route("/console/{name}", page),
            *(
                Route(
                    f"/api/{name}",
                    self._answering(answer),
                    methods=["POST" if name == "explain" else "GET"],
                    middleware=guard,
                )
                for name, answer in answers
            ),
        ]

    def _answering(self, answer: _Answer) -> Callable[[Request], Awaitable[Response]]:
        """A page that answers, by JSON, requests with valid credentials."""

        async def page(request: Request) -> Response:
            try:
                why = await self._why_not(request)
                if why is not None:
                    raise Refusal(401, why, _NAMELESS)
                found = await answer(request)
                return found if isinstance(found, Response) else _json(found)
            except Refusal as refusal:
                return _refused(refusal)
            except NotAdmittedError as error:
                return _refused(Refusal.of(error))
            except ClientDisconnect:
                return Response(status_code=499)  # which nobody reads
            except SapwoodError as error:
                return _json({"error": str(error)}, 400 if isinstance(error, InputError) else 502)

        return page

    async def _why_not(self, request: Request) -> str | None:
        header = request.headers.get("authorization", "")
        return await self._broker.doorkeeper.why_unknown(credentials_in(header))

    # What is there -----------------------------------------------------------------------------

    async def _status(self, _: Request) -> Any:
        return self._live.state()["status"]

    async def _clients(self, request: Request) -> Any:
        return tables.clients(self._broker, _part(request))

    async def _subscriptions(self, request: Request) -> Any:
        given = request.query_params
        if "from" in given:
            return tables.heard(self._broker, given["from"], _part(request))
        if "to" in given:
            return tables.told(self._broker, given["to"], _part(request))
        return tables.subscriptions(self._broker, _part(request))

    async def _durables(self, request: Request) -> Any:
        return tables.durables(self._broker, request.query_params.get("after", ""))

    async def _journal(self, request: Request) -> Any:
        before = _number(request, "before", _OFFSET_MAX, _OFFSET_MAX)
        text = await self._text_in(request) if _has_filter(request) else None
        return tables.journal(self._broker, before, _rows(request), text)

    # What is tried and explained ---------------------------------------------------------------

    async def _filter(self, request: Request) -> Any:
        written = written_in(request.query_params)
        return await self._gateway.beside(lambda: judged(written))

    async def _explain(self, request: Request) -> Any:
        asked = await whole(request, CONSOLE_BODY_BYTES_MAX)
        question = await self._gateway.beside(lambda: question_in(asked))
        if question.alone:
            return await self._gateway.beside(lambda: matched(question))
        shown = credentials_in(request.headers.get("authorization", ""))
        settings, own = shown_to_others(self._broker, shown), str(self._broker.address)
        work = (Inside(self._broker), own, question.asked, settings)
        return await asyncio.get_running_loop().run_in_executor(self._thread, explain, *work)

    async def _trial(self, request: Request) -> Response:
        shown = credentials_in(request.headers.get("authorization", ""))
        wish = Wish(await self._text_in(request))
        return await _streamed(tried(self._gateway, shown, peer_of(request), wish))

    async def _text_in(self, request: Request) -> InterestText:
        """The filter of a request, read once. Raises `InputError`."""
        written = written_in(request.query_params)
        return await self._gateway.beside(lambda: to_text(interest_in(written)))

    async def _stream_of_states(self, request: Request) -> Response:
        shown = credentials_in(request.headers.get("authorization", ""))
        return await _streamed(self._live.events(shown, lambda: self._why_not(request)))


class _File:
    """A file of the page, as it was when the broker began."""

    def __init__(self, path: Path) -> None:
        self._body = path.read_bytes()
        self._tag = f'"{hashlib.blake2b(self._body, digest_size=8).hexdigest()}"'
        self._type = TYPES[path.suffix]

    def response(self, request: Request) -> Response:
        headers = {**_PAGE, "ETag": self._tag}
        if request.headers.get("if-none-match") == self._tag:
            return Response(status_code=304, headers=headers)
        return Response(self._body, media_type=self._type, headers=headers)


async def _streamed(events: AsyncIterator[tuple[str, dict[str, Any]]]) -> Response:
    """An answer of a stream of events; a refusal before the first event is raised."""
    first = await anext(events)

    async def parts() -> AsyncIterator[bytes]:
        yield _event(*first)
        try:
            async for event in events:
                yield _event(*event)
        except (Refusal, NotAdmittedError, SapwoodError) as error:
            yield _event("end", {"reason": str(error)})

    return StreamingResponse(parts(), media_type="text/event-stream", headers=dict(_DATA))


def _event(name: str, data: Mapping[str, Any]) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (name.encode(), msgspec.json.encode(data))


def _json(found: Any, status: int = 200, headers: Mapping[str, str] = _DATA) -> Response:
    body = msgspec.json.encode(found)
    return Response(body, status, dict(headers), media_type="application/json")


def _refused(refusal: Refusal) -> Response:
    return _json({"error": refusal.reason}, refusal.status, {**_DATA, **refusal.headers})


def _part(request: Request) -> tables.Part:
    """The requested page. Raises `InputError`."""
    first = _number(request, "first", 0, _OFFSET_MAX)
    return tables.Part(first, _rows(request), request.query_params.get("search", ""))


def _rows(request: Request) -> int:
    return max(1, _number(request, "rows", CONSOLE_ROWS, CONSOLE_ROWS_MAX))


def _number(request: Request, name: str, default: int, most: int) -> int:
    """A number in the query. Raises `InputError` for one that is invalid, or too large."""
    text = request.query_params.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(most))):
        raise InputError(f"{name}: {text[:40]!r} is no number from 0 to {most:,}")
    number = int(text)
    if number > most:
        raise InputError(f"{name} is {number:,}; it takes 0 to {most:,}")
    return number


def _has_filter(request: Request) -> bool:
    return bool(request.query_params.get("filter") or request.query_params.get("xpath"))
