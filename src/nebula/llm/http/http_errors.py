"""From a server's refusal to one of our five errors, with the sentence that says what to do."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from nebula.config.addresses import without_credentials
from nebula.config.parsing import printable
from nebula.language import Sentence
from nebula.llm.errors import (
    AuthError,
    BadReplyError,
    ContextExceededError,
    LimitError,
    ModelError,
    NotFoundError,
    UnavailableError,
)
from nebula.llm.http.retry import parse_retry_after
from nebula.value import value

MAX_QUOTED = 300
CONTEXT_WORDS = (
    "context_length_exceeded",
    "maximum context length",
    "context window",
    "context length",
    "exceed_context_size_error",
    "available context size",
    "exceeds the maximum number of tokens",
    "input token count",
    "prompt is too long",
    "too many tokens",
)
SMALLEST_CONTEXT, LARGEST_CONTEXT = 256, 1 << 40
_SIZES = (
    (
        r'"?n_ctx\\?["\']?\s*:\s*(\d+)',  # llama.cpp
        r"available context size \((\d+)",
        r"context length (?:is|of)(?: only)? (\d+)",  # OpenAI, vLLM, LM Studio
        r"maximum number of tokens allowed \((\d+)",  # Gemini
        r"tokens > (\d+) maximum",  # Anthropic
        r"context (?:window|length|size)[^.\d]{0,40}?(\d{3,})",
    ),
    (
        r'"?n_prompt_tokens\\?["\']?\s*:\s*(\d+)',
        r"request \((\d+) tokens",
        r"\((\d+) in (?:the messages|your prompt)",
        r"(?:resulted in|requested|passed|contains at least|keep the first) (\d+)",
        r"input token count \((\d+)",
        r"too long: (\d+) tokens",
    ),
)
"""How servers name what they take, and what they were sent."""
QUOTA_WORDS = ("insufficient_quota", "exceeded your current quota, please check your plan", "billing")
FOR_GOOD = "unsupported param"
"""How an old llama.cpp says, with status 500, that it will never take such a request."""
KEY_WORDS = ("api key not valid", "api_key_invalid", "invalid api key", "api key expired")


@value
class Service:
    """The server that we talk to, as the sentences of errors name it."""

    label: str
    url: str
    url_name: str
    """The environment variable that sets the address."""
    key_name: str = ""
    """The one that sets the key; empty where none is needed."""
    secret: str = ""
    """Never to be quoted, even where the server does."""
    can_pull: bool = False
    """A model that is missing can be fetched with one command."""

    def __repr__(self) -> str:
        return f"Service({self.label!r}, {without_credentials(self.url)!r})"

    @property
    def shown(self) -> str:
        return f"{self.label} ({without_credentials(self.url)})"

    def quote(self, text: str) -> str:
        """Quote what the server said: short, on one line, without our key."""
        if self.secret:
            text = text.replace(self.secret, "[key]")
        text = printable(" ".join(text.split()))
        return text if len(text) <= MAX_QUOTED else text[: MAX_QUOTED - 1] + "…"


def status_error(service: Service, model: str, status: int, headers: Mapping[str, str], body: bytes) -> ModelError:
    """Return the error for a response whose status is not 200."""
    if 300 <= status < 400:
        return NotFoundError(
            "{service} redirects to {where}. Redirects are not followed; set {variable} to the final address.",
            service=service.shown,
            where=without_credentials(headers.get("location", "?")),
            variable=service.url_name,
        )
    said = service.quote(server_message(body))
    if status in (401, 403, 407):
        return _auth_error(service, status, said)
    if status == 404:
        return _not_found(service, model, said)
    retry_after = _retry_after(headers, body)
    return refusal_error(service, model, status, said, body.decode("utf-8", "replace"), retry_after)


def refusal_error(
    service: Service, model: str, status: int, said: str, raw: str = "", retry_after: float | None = None
) -> ModelError:
    """Return the error for a refusal that only its text explains: a status of HTTP, or an error inside a stream."""
    said = service.quote(said)
    text = f"{raw} {said}".lower()
    values = {"model": model, "code": status, **_who_and_what(service, said)}
    if status in (400, 413, 422, 429, 500) and any(words in text for words in CONTEXT_WORDS):
        context, prompt = sizes_in(text)
        return ContextExceededError(
            "The conversation does not fit into the context window of {model}{detail}. "
            "Shorten it (/compact, or --compact with -p), set `context_tokens` to what the server takes, or "
            "choose a model with a larger one.",
            context_tokens=context,
            prompt_tokens=prompt,
            **values,
        )
    if status == 400 and any(words in text for words in KEY_WORDS):
        return _auth_error(service, status, "")
    is_limit = status == 429 or "rate limit" in text
    if is_limit and any(words in text for words in QUOTA_WORDS) and "retrydelay" not in text:
        return LimitError(
            "The quota of this key at {service} is used up{detail}. Check its plan, or choose another provider.",
            **values,
        )
    pause: dict[str, Any] = {"advice": _wait(retry_after), "retry_after_s": retry_after}
    if is_limit:
        pause["retryable"] = True
        return LimitError("The rate limit of {service} is reached{detail}. {advice}", **values, **pause)
    if status in (408, 409, 425) or (status >= 500 and FOR_GOOD not in text):
        return UnavailableError("{service} cannot answer now: status {code}{detail}. {advice}", **values, **pause)
    return BadReplyError("{service} refused the request for {model}: status {code}{detail}.", **values)


def _who_and_what(service: Service, said: str) -> dict[str, Any]:
    """Return two values of a sentence: the service, and in brackets what it said, where it said anything."""
    return {"service": service.shown, "detail": f" ({said})" if said else ""}


def sizes_in(text: str) -> tuple[int, int]:
    """Return the context size and the size of the prompt that a refusal names; 0 for what it does not name."""
    found = [next((int(match[1]) for each in forms if (match := re.search(each, text))), 0) for forms in _SIZES]
    context, prompt = (size if SMALLEST_CONTEXT <= size < LARGEST_CONTEXT else 0 for size in found)
    return context, prompt if prompt > context else 0


def server_message(body: bytes) -> str:
    """Return the sentence inside an error body, in any of the shapes seen."""
    text = body.decode("utf-8", "replace").strip()
    try:
        value = json.loads(text)
        if isinstance(value, list) and value:
            value = value[0]
        return message_in(value) or (text if not isinstance(value, dict) else "")
    except (ValueError, RecursionError):
        return "" if text.startswith("<") else text


def message_in(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        for key in ("error", "message", "detail", "code", "type"):
            if found := message_in(value.get(key)):
                return found
    return ""


def _auth_error(service: Service, status: int, said: str) -> AuthError:
    name = service.key_name or service.url_name
    if status == 403:
        return AuthError(
            "{service} does not allow this{detail}. Check {variable}.", variable=name, **_who_and_what(service, said)
        )
    # What the server said is left out: it often quotes a part of the key.
    return AuthError(
        "{service} did not accept the key (status {code}). Check {variable}.",
        service=service.shown,
        code=status,
        variable=name,
    )


def _not_found(service: Service, model: str, said: str) -> NotFoundError:
    values = _who_and_what(service, said)
    if not model:
        return NotFoundError(
            "{service} has no list of models at this address{detail}. Check {variable}.",
            variable=service.url_name,
            **values,
        )
    advice = Sentence("Choose another model, or check the address in {variable}.", variable=service.url_name)
    if service.can_pull:
        advice = Sentence("Fetch it with `ollama pull {model}`, or choose one that is there.", model=model)
    return NotFoundError(
        "{service} does not know the model '{model}'{detail}. {advice}", model=model, advice=advice, **values
    )


def _wait(seconds: float | None) -> Sentence:
    if not seconds or seconds < 60:
        return Sentence("Wait a little and try again, or choose another model.")
    if seconds < 5400:
        return Sentence("Wait {minutes:.0f} min and try again, or choose another model.", minutes=seconds / 60)
    return Sentence("Wait {hours:.0f} h and try again, or choose another model.", hours=seconds / 3600)


def _retry_after(headers: Mapping[str, str], body: bytes) -> float | None:
    milliseconds = headers.get("retry-after-ms", "")
    if milliseconds.isdigit():
        return int(milliseconds) / 1000
    seconds = parse_retry_after(headers.get("retry-after"))
    return seconds if seconds is not None else _retry_info(body)


def _retry_info(body: bytes) -> float | None:
    """Return the pause that Gemini asks for in the body: `{"retryDelay": "37s"}` among the details of an error."""
    if b"retryDelay" not in body:
        return None
    try:
        details = json.loads(body)["error"]["details"]
        delay = next(detail["retryDelay"] for detail in details if "retryDelay" in detail)
        return float(delay.rstrip("s"))
    except (ValueError, KeyError, TypeError, StopIteration, AttributeError, RecursionError):
        return None
