"""Building summaries and tags (seed §7.1-3, §7.2): by a model, or as extracts where there is none.

Every node is saved as soon as it is done, so a build that is stopped goes on where it was; what failed stays due and
is reported. A node edited while the model was writing keeps the new summary and stays due.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from nebula.graph.errors import GraphError
from nebula.graph.ids import sort_key
from nebula.graph.summaries.built_tags import BuiltTags
from nebula.graph.summaries.extract import MARKS, cut, extract, is_extract, leading_sentences
from nebula.graph.summaries.reply import SummaryReply, UnreadableReply, read_reply
from nebula.graph.tokens import estimate_tokens
from nebula.graph.values import Node
from nebula.language import explain
from nebula.llm.contract import ModelReply, ModelRequest, Usage
from nebula.llm.errors import AuthError, ModelError, NotFoundError, UnavailableError
from nebula.messages import AssistantMessage, Message, UserMessage, strip_hidden_characters
from nebula.value import field, value

if TYPE_CHECKING:
    from nebula.graph.formats.config_yaml import GraphSettings
    from nebula.llm.choose import ChosenModel

PROMPT = """\
あなたは会話ノードの要約とタグ付けを行う専門家です。
以下のプロンプトと回答のペアを分析し、簡潔な要約とタグを生成してください。

[プロンプト]
{prompt}

[回答]
{response}

以下の形式で出力してください：
要約: [30-50単語程度の簡潔な説明]
タグ: [3-7個の重要キーワードをカンマ区切り]"""

IN_ITS_LANGUAGE = """
要約とタグは、プロンプトと同じ言語で書いてください。
(Write the summary and the tags in the language of the prompt above.)"""
_JAPANESE = re.compile("[\u3040-\u30ff\u4e00-\u9fff]")

AT_ONCE = 4
MAX_SOURCE_TOKENS = 12_000
"""More of a node than this is not sent: its beginning and its end say what it is about."""
UNAVAILABLE_IN_A_ROW = 3
"""So many nodes in a row without reaching the model, and the rest is not tried."""
SLACK = 2
"""A model's summary may be so many times `summary_token_limit`: the limit counts tokens, the prompt asks in words."""


T = TypeVar("T")
Spent = Callable[[Usage], None]


class SummarisedGraph(Protocol):
    """What a build asks of a graph; `graph.Graph` has it."""

    @property
    def data_dir(self) -> str: ...

    @property
    def settings(self) -> GraphSettings: ...

    def get_node(self, node_id: str) -> Node: ...

    def list_nodes(self) -> list[Node]: ...

    def due_nodes(self) -> list[Node]: ...

    def search_nodes(self, *, keywords: Iterable[str]) -> list[Node]: ...

    def save_summary(
        self, node_id: str, summary: str, tags: Iterable[str] | None = None, *, built_from: Node | None = None
    ) -> Node: ...


@value
class BuildOutcome:
    """What became of one node. `error` is a sentence; empty when it was built."""

    node_id: str
    summary: str = ""
    tags: list[str] = field(default_factory=list)
    error: str = ""


@value
class BuildProgress:
    done: int
    total: int
    outcome: BuildOutcome


@value
class BuildReport:
    built: list[BuildOutcome]
    failed: list[BuildOutcome]
    not_tried: list[str]
    """Left alone because nothing further would have come of it; still due."""
    stopped: str = ""
    """Why not all were tried."""


async def build(
    graph: SummarisedGraph,
    *,
    all: bool = False,
    node_ids: Sequence[str] | None = None,
    model: ChosenModel | None = None,
    progress: Callable[[BuildProgress], None] | None = None,
    at_once: int = AT_ONCE,
) -> BuildReport:
    """Build what is due: nodes without a summary, edited ones and, with a model, those that only have an extract.

    `all` builds every node; `node_ids` exactly these. Without a model extracts are made, and only where they are
    needed. `progress` is called after each node.
    """
    if node_ids is None:
        node_ids = await asyncio.to_thread(due_ids, graph, all=all, by_model=model is not None)
    run = _Run(graph, model, list(node_ids), progress)
    workers = [asyncio.create_task(run.work()) for _ in range(max(1, min(at_once, len(node_ids))))]
    try:
        await asyncio.gather(*workers)
    finally:
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
    return BuildReport(run.built, run.failed, run.waiting[::-1], run.stopped)


async def build_one(
    graph: SummarisedGraph, node_id: str, model: ChosenModel | None = None, spent: Spent | None = None
) -> Node:
    """Build one node, due or not, and return it; `spent` hears what each call of the model used.

    Raises ModelError, UnreadableReply, NotFound, BadFile.
    """
    return await _build(graph, BuiltTags(graph.data_dir), node_id, model, spent)


def build_node(graph: SummarisedGraph, node_id: str, model: ChosenModel | str | None = None) -> Node:
    """`build_one` for callers that are not asynchronous. `model` may be a name; without it the configured one is
    asked, and where none is configured an extract is made."""

    async def work() -> Node:
        async with _writer(graph, model) as writer:
            return await build_one(graph, node_id, writer)

    return _finished(work())


@asynccontextmanager
async def _writer(graph: SummarisedGraph, model: ChosenModel | str | None) -> AsyncIterator[ChosenModel | None]:
    if model is not None and not isinstance(model, str):
        yield model
        return
    from nebula.config import load_settings
    from nebula.llm.choose import choose_model

    try:
        writer = await choose_model(load_settings(), model or "", suggested=graph.settings.suggested_model)
    except ModelError:
        if model:
            raise
        yield None
        return
    async with aclosing(writer.connector):
        yield writer


def _finished(work: Coroutine[Any, Any, T]) -> T:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool:  # a loop that is running cannot wait for us
        return pool.submit(asyncio.run, work).result()


def due_ids(graph: SummarisedGraph, *, all: bool = False, by_model: bool = True) -> list[str]:
    """Return the ids of the nodes that a build has to look at, oldest first."""
    if all:
        return [node.id for node in reversed(graph.list_nodes())]
    due = {node.id: node for node in graph.due_nodes()}
    if by_model:
        for mark in MARKS:
            found = graph.search_nodes(keywords=[mark.strip(" []")])
            due.update((node.id, node) for node in found if is_extract(node.summary))
    return [node.id for node in sorted(due.values(), key=lambda node: sort_key(node.timestamp))]


class _Run:
    """One build under way: workers take the next node each until none is left or it is of no use to go on."""

    def __init__(
        self,
        graph: SummarisedGraph,
        model: ChosenModel | None,
        node_ids: list[str],
        progress: Callable[[BuildProgress], None] | None,
    ) -> None:
        self.built: list[BuildOutcome] = []
        self.failed: list[BuildOutcome] = []
        self.waiting = node_ids[::-1]
        self.stopped = ""
        self._total = len(node_ids)
        self._graph = graph
        self._model = model
        self._progress = progress
        self._unavailable = 0
        self._tags = BuiltTags(graph.data_dir)

    async def work(self) -> None:
        while self.waiting and not self.stopped:
            outcome = await self._one(self.waiting.pop())
            (self.failed if outcome.error else self.built).append(outcome)
            if self._progress:
                self._progress(BuildProgress(len(self.built) + len(self.failed), self._total, outcome))

    async def _one(self, node_id: str) -> BuildOutcome:
        try:
            node = await _build(self._graph, self._tags, node_id, self._model)
        except (AuthError, NotFoundError) as error:
            self.stopped = explain(error)  # every other node would hear the same
            return BuildOutcome(node_id, error=explain(error))
        except ModelError as error:
            self._unavailable += isinstance(error, UnavailableError)
            if self._unavailable >= UNAVAILABLE_IN_A_ROW:
                self.stopped = explain(error)
            return BuildOutcome(node_id, error=explain(error))
        except (UnreadableReply, GraphError) as error:
            return BuildOutcome(node_id, error=explain(error))
        self._unavailable = 0
        return BuildOutcome(node_id, node.summary, list(node.tags))


async def _build(
    graph: SummarisedGraph,
    built_tags: BuiltTags,
    node_id: str,
    model: ChosenModel | None,
    spent: Spent | None = None,
) -> Node:
    node = await asyncio.to_thread(graph.get_node, node_id)
    limit = (await asyncio.to_thread(lambda: graph.settings)).summary_token_limit
    if model is None:
        made = extract(node.prompt, node.response, limit)
    else:
        made = await _asked(model, node, limit, spent)

    def save() -> Node:
        tags = built_tags.merged(graph.get_node(node_id), made.tags)
        saved = graph.save_summary(node_id, made.summary, tags, built_from=node)
        built_tags.record(node_id, made.tags)
        return saved

    return await asyncio.to_thread(save)


async def _asked(model: ChosenModel, node: Node, limit: int, spent: Spent | None) -> SummaryReply:
    """Return the model's answer; one that cannot be read, or a fault that may pass, is met by asking once more."""
    messages: list[Message] = [UserMessage.new_prompt(summary_prompt(node.prompt, node.response))]
    try:
        text = await _reply(model, messages, spent)
        made = read_reply(text)
    except UnreadableReply as problem:
        again = f"{problem}. 次の2行だけを出力してください：\n要約: …\nタグ: …, …"
        messages += [AssistantMessage.new_response(None, text or "…"), UserMessage.new_prompt(again)]
        made = read_reply(await _reply(model, messages, spent))
    except ModelError as error:
        if not error.retryable:
            raise
        made = read_reply(await _reply(model, messages, spent))
    return SummaryReply(_within(made.summary, limit * SLACK), made.tags)


async def _reply(model: ChosenModel, messages: Sequence[Message], spent: Spent | None) -> str:
    request = ModelRequest(model=model.name, system="", messages=messages)
    async for item in model.connector.stream(request):
        if isinstance(item, ModelReply):
            if spent is not None:
                spent(item.usage)
            return item.message.content
    raise UnreadableReply("the model said nothing")


def summary_prompt(prompt: str, response: str) -> str:
    """Return the request of seed §7.2, with both texts in it, cut where they are very long.

    The request is Japanese; for a prompt in another language it says that the summary shall be in that one.
    """
    before, between, after = PROMPT.replace("{response}", "{prompt}").split("{prompt}")
    asked = _shortened(prompt, MAX_SOURCE_TOKENS // 3)
    answered = _shortened(response, MAX_SOURCE_TOKENS * 2 // 3)
    said = before + asked + between + answered + after
    return strip_hidden_characters(said if _JAPANESE.search(prompt) else said + IN_ITS_LANGUAGE)


def _shortened(text: str, limit: int) -> str:
    if len(text) < limit or estimate_tokens(text) <= limit:
        return text
    head = cut(text, limit * 3 // 4)
    tail = cut(text[: len(head) : -1], limit // 4)[::-1]
    return f"{head}\n{tail}"


def _within(summary: str, limit: int) -> str:
    """A summary far too long is cut, at the end of a sentence where there is one."""
    return summary if estimate_tokens(summary) <= limit else leading_sentences(summary, limit)
