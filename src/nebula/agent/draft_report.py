"""Report how far the model's next message has come: at most some ten times a second, and in no record."""

from __future__ import annotations

import asyncio
import re
import time

from nebula.events import Activity, Delta, EventStream
from nebula.language import Sentence
from nebula.llm.contract import Retrying, TextDelta, Working
from nebula.messages.redaction.arriving import ArrivingText

EVERY_S = 0.1
_WORD = r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\s\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+"
"""A run without spaces, or one character of a script that has none between words. `re` compiles it at the first use,
since that takes milliseconds which every start would pay."""


class DraftReport:
    """Reports the progress of one message. Each piece is only appended to a list; counting waits for the next
    report."""

    def __init__(self, stream: EventStream) -> None:
        self._stream = stream
        self._again: asyncio.TimerHandle | None = None
        """Why the message is asked for again."""
        self._due = 0.0
        self._pieces: list[str] = []
        """What has come since the last report."""
        self.begin()

    def begin(self, retrying: Retrying | None = None) -> None:
        """Report that nothing has come yet. With `retrying` say why the message is asked for again, until that is done;
        then say that an answer is awaited, as at first."""
        self.close()
        self._text: list[str] = []
        self._words = 0
        self._in_word = False
        self._arriving = ArrivingText(self._stream.redactor)
        self._pieces.clear()
        self._due = 0.0
        if retrying is None or not retrying.delay_s or not self._stream.watchers:
            self._wait()
            return
        self._stream.show(Activity(_why_again(retrying)))
        self._again = asyncio.get_running_loop().call_later(retrying.delay_s, self._wait)

    def close(self) -> None:
        """Send no further reports."""
        if self._again is not None:
            self._again.cancel()
            self._again = None

    def hear(self, item: TextDelta | Working) -> None:
        """Take in what the model sent; report it if the last report is old enough."""
        if not self._stream.watchers:
            return
        self.close()
        if isinstance(item, TextDelta):
            self._pieces.append(item.text)
        moment = time.monotonic()
        if moment < self._due:
            return
        self._due = moment + EVERY_S
        if self._pieces:
            self._report_text()
        elif isinstance(item, Working):
            self._stream.show(_at_work(item))

    def finish(self, content: str) -> None:
        """Report the rest of the message, whose text is `content`; all of it where it differs from the pieces."""
        if not self._stream.watchers:
            return
        self._report_text()
        rest = self._arriving.end()
        if content == "".join(self._text):
            if rest:
                self._stream.show(Delta(rest))
        else:
            self._stream.show(Delta(self._stream.redactor.text(content), anew=True))

    def _wait(self) -> None:
        self._stream.show(Activity(Sentence("waiting for the model")))

    def _report_text(self) -> None:
        new = "".join(self._pieces)
        self._pieces.clear()
        if not new:
            return
        self._text.append(new)
        self._words += len(re.findall(_WORD, new)) - (self._in_word and not new[0].isspace())
        self._in_word = not new[-1].isspace() and len(re.findall(_WORD, new[-2:])) == 1
        self._stream.show(Activity(Sentence("answering"), words=self._words))
        if ready := self._arriving.add(new):
            self._stream.show(Delta(ready))


def _why_again(retrying: Retrying) -> Sentence:
    seconds = max(1, round(retrying.delay_s))
    if retrying.kind == "limit":
        return Sentence("rate limited, again in {seconds} s", seconds=seconds)
    if retrying.kind == "unavailable":
        return Sentence("no answer from the provider, again in {seconds} s", seconds=seconds)
    return Sentence("asking the model again in {seconds} s", seconds=seconds)


def _at_work(item: Working) -> Activity:
    if item.kind == "thinking":
        return Activity(Sentence("thinking"))
    doing = Sentence("writing tool calls") if item.kind == "calling" else Sentence("writing")
    return Activity(doing, characters=item.size or None)
