"""What the connectors have in common: a client, retries, and the course of one request."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Mapping
from functools import partial
from typing import Any, ClassVar

from nebula.language import Sentence
from nebula.llm.contract import ModelInfo, ModelNotice, ModelReply, ModelRequest, StreamItem, TextDelta, Working
from nebula.llm.errors import AuthError, BadReplyError, ModelError, UnavailableError
from nebula.llm.http.client import DEFAULT_TIMEOUTS, Headers, HttpClient, HttpResponse, Timeouts
from nebula.llm.http.http_errors import Service, message_in, refusal_error, status_error
from nebula.llm.http.retry import DEFAULT_RETRY, RetryPolicy, with_retries
from nebula.llm.http.sse import Parser
from nebula.llm.http.waiting import with_waiting_notices
from nebula.llm.wire import MAX_CALLS, Draft, FragmentCache, from_event, from_text, to_bytes
from nebula.providers import PROVIDERS
from nebula.value import value

LISTING_TIMEOUTS = Timeouts(connect_s=5.0, first_byte_s=15.0, idle_s=15.0)
MAX_ERROR_BYTES = 1024 * 1024


@value
class Outgoing:
    """A request ready to be sent."""

    path: str
    body: bytes
    notices: tuple[Sentence, ...] = ()


class ReplyReader(ABC):
    """Puts a reply together from the pieces of a body. Each wire format has a subclass."""

    def __init__(self, service: Service, model: str, parser: Parser) -> None:
        self.draft = Draft()
        self.is_done = False
        """Nothing more is needed, whatever may still come."""
        self.began = False
        """The model has begun to answer, if only with an empty piece."""
        self.heard_something = False
        self.thoughts_heard = 0
        """Pieces of reasoning, which is no part of the answer."""
        self._service = service
        self._model = model
        self._parser = parser

    def feed(self, piece: bytes) -> list[str]:
        """Take in a piece of the body; return the texts to show, in order."""
        return self._read(self._parser.feed(piece))

    def working(self, thoughts_before: int) -> Working | None:
        """Return what the model is doing when a piece held no text. `thoughts_before` is the count before that
        piece."""
        if self.thoughts_heard > thoughts_before:
            return Working("thinking")
        calls = self.draft.calls
        return Working("calling", sum(call.size for call in calls)) if calls else None

    def end(self) -> list[str]:
        """Take in what is left of a body that has ended. Raises `UnavailableError` when the model had not."""
        rest = [] if self.is_done else self._parser.flush()
        is_half = any(_is_half_an_object(each) for each in rest)
        shown = [] if is_half else self._read(rest)
        if self.draft.stop is None:
            if not self.began and self.heard_something and not is_half:
                self.draft.stop = "missing"  # an end without an answer
                return shown
            raise UnavailableError(
                "The reply of {service} was cut off in the middle. Ask again.", service=self._service.shown
            )
        return shown

    def _read(self, events: list[str]) -> list[str]:
        shown: list[str] = []
        for event in events:
            if self.is_done:
                break
            if text := self._event(event):
                shown.append(text)
        return shown

    def _event(self, text: str) -> str:
        try:
            value = from_event(text)
        except ValueError:
            value = None
        if len(self.draft.calls) > MAX_CALLS:
            raise BadReplyError("The model server sent an answer without end.")
        if not isinstance(value, dict):
            raise BadReplyError(
                "{service} sent something that is not part of its API: {text}. Check {variable}.",
                service=self._service.shown,
                text=repr(text[:80]),
                variable=self._service.url_name,
            )
        if error := value.get("error"):
            raise self._stream_error(error)
        self.heard_something = True
        try:
            return self._take(value)
        except (TypeError, AttributeError, KeyError, IndexError):
            # A field of another type than the API says; which one, the trace of the raw text tells best.
            raise BadReplyError(
                "{service} sent an event of a shape that is not part of its API: {text}.",
                service=self._service.shown,
                text=repr(text[:200]),
            ) from None

    @abstractmethod
    def _take(self, event: dict[str, Any]) -> str:
        """Take in one event; return the text to show."""

    def _stream_error(self, error: object) -> ModelError:
        said = message_in(error)
        code = error.get("code") if isinstance(error, dict) else None
        status = code if isinstance(code, int) else 429 if "rate_limit" in str(error) else 500
        return refusal_error(self._service, self._model, status, said, str(error))


def _is_half_an_object(text: str) -> bool:
    """Tell whether a text begins as an event does and breaks off in it."""
    try:
        from_event(text)
    except ValueError:
        return text.lstrip().startswith("{")
    return False


class Connector(ABC):
    """Base of the connectors. One object serves any number of models and conversations."""

    provider: ClassVar[str]
    can_pull: ClassVar[bool] = False

    def __init__(
        self,
        base_url: str = "",
        api_key: str = "",
        *,
        retry: RetryPolicy = DEFAULT_RETRY,
        timeouts: Timeouts = DEFAULT_TIMEOUTS,
        environ: Mapping[str, str] | None = None,
        effort: str = "",
    ) -> None:
        """`effort` is `low`, `medium` or `high`, for models that know it; an empty one leaves the model's default."""
        row = PROVIDERS[self.provider]
        url = self._base_url(base_url or row.default_address)
        self._service = Service(row.label, url, row.address_variable, row.key_variable, api_key, self.can_pull)
        self._is_default = url == row.default_address
        self._key = api_key
        self._effort = effort
        self._retry = retry
        self._timeouts = timeouts
        self._client = HttpClient(timeouts=timeouts, environ=environ)
        self._fragments = FragmentCache()

    def stream(self, request: ModelRequest) -> AsyncGenerator[StreamItem]:
        items = with_retries(partial(self._attempt, request), self._retry)
        return with_waiting_notices(items, self._still_waiting, self._timeouts.notice_s)

    def _still_waiting(self, seconds: float) -> ModelNotice:
        said = Sentence("Still waiting for {service} ({seconds:.0f} s).", service=self._service.shown, seconds=seconds)
        return ModelNotice(said, "waiting")

    @abstractmethod
    async def list_models(self) -> list[ModelInfo]: ...

    async def describe(self, model: str) -> ModelInfo:
        return ModelInfo(model, self.provider)

    async def aclose(self) -> None:
        await self._client.aclose()

    # what a connector has to say about its API

    @abstractmethod
    async def _outgoing(self, request: ModelRequest) -> Outgoing: ...

    @abstractmethod
    def _reader(self, request: ModelRequest, response: HttpResponse) -> ReplyReader: ...

    def _base_url(self, text: str) -> str:
        """Return the configured address in the form to which paths are appended."""
        return text.rstrip("/")

    def _key_headers(self, key: str) -> Headers:
        return (("Authorization", f"Bearer {key}"),)

    def _adapt(self, model: str, status: int, body: bytes) -> bool:
        """Return whether a refused request is worth sending again at once, in another form."""
        return False

    def _heard(self, reader: ReplyReader, reply: ModelReply) -> None:
        """Keep what the next request needs from a complete reply; most connectors keep nothing."""
        return

    # the course of a request

    def _headers(self) -> Headers:
        if self._key:
            return self._key_headers(self._key)
        if self._service.key_name and self._is_default:
            raise AuthError(
                "No key for {label}. Type `export {variable}=…` with your key.",
                label=self._service.label,
                variable=self._service.key_name,
            )
        return ()  # a server of one's own often needs none

    async def _attempt(self, request: ModelRequest) -> AsyncGenerator[StreamItem]:
        while True:
            outgoing = await self._outgoing(request)
            for notice in outgoing.notices:
                yield ModelNotice(notice)
            async with self._client.request(
                "POST", self._service.url + outgoing.path, headers=self._post_headers(), body=outgoing.body
            ) as response:
                if response.status != 200:
                    refusal = await response.read(MAX_ERROR_BYTES)
                    if self._adapt(request.model, response.status, refusal):
                        continue
                    raise self._refusal(response, request.model, refusal)
                reader = self._reader(request, response)
                while not reader.is_done and (piece := await response.read_piece()) is not None:
                    thoughts = reader.thoughts_heard
                    if text := "".join(reader.feed(piece)):
                        yield TextDelta(text)
                    elif working := reader.working(thoughts):
                        yield working
                if text := "".join(reader.end()):
                    yield TextDelta(text)
                await response.drain()
            reply = reader.draft.finish(request.messages, request.tools)
            self._heard(reader, reply)
            yield reply
            return

    async def _json(
        self, method: str, path: str, value: object = None, *, model: str = "", base: str = ""
    ) -> dict[str, Any]:
        """Return the JSON answer to a short request outside of any conversation, sent once, with short time-outs."""
        async with self._client.request(
            method,
            (base or self._service.url) + path,
            headers=self._post_headers() if method == "POST" else self._headers(),
            body=to_bytes(value) if method == "POST" else b"",
            timeouts=LISTING_TIMEOUTS,
        ) as response:
            body = await response.read()
            if response.status != 200:
                raise self._refusal(response, model, body)
        try:
            answer = from_text(body.decode("utf-8", "replace"))
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            raise self._not_our_api(response)
        return answer

    def _post_headers(self) -> Headers:
        return (("Content-Type", "application/json"), *self._headers())

    def _refusal(self, response: HttpResponse, model: str, body: bytes) -> ModelError:
        return status_error(self._service, model, response.status, response.headers, body)

    def _not_our_api(self, response: HttpResponse) -> BadReplyError:
        kind = response.content_type or "no content type"
        return BadReplyError(
            "{server} does not speak the API of {label} (it sent {kind}). Check {variable}.",
            server=response.url.shown,
            label=self._service.label,
            kind=kind,
            variable=self._service.url_name,
        )
