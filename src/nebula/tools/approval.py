"""Asking before writing, as a wrapper around a writing tool.

What must fail fails before anybody is asked. The answer holds for the content that was shown: if the file changes
while somebody thinks, the question is asked again with the new difference.
"""

from __future__ import annotations

import asyncio
import re
import unicodedata
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import partial
from typing import Any, Literal

from nebula.events import Approval, ProposedChange, new_trace_id
from nebula.language import Sentence
from nebula.messages import ToolSpec
from nebula.tools.contract import Call, Outcome, ToolFailure, to_the_end
from nebula.tools.result_limits import cut_middle
from nebula.tools.writing import Proposal, WritingTool
from nebula.value import field, record, value
from nebula.workspace.diff import diff_texts
from nebula.workspace.errors import Stale, WorkspaceError

MAX_QUESTIONS = 5
"""How often one write is asked about again because its file keeps changing."""

MAX_LEFT_OUT = 10_000
"""Bytes of what was left out of a change that the model is shown."""

REFUSED = "The user did not allow this write. Do not try it again; go on without it or ask what is wanted."


_AGREEMENT = re.compile(
    "y|yes|yep|yeah|sure|ok|okay|yes please|ok go|go ahead|do it|please do|"
    "はい|うん|ええ|オーケー|了解|承認|許可|どうぞ|いいよ|いいです|お願いします|はい お願いします"
)


def agrees(text: str) -> bool:
    """Whether it is one of the plain words of agreement; also in full-width letters, as an input method types them."""
    words = unicodedata.normalize("NFKC", text).lower().replace("、", " ").replace(",", " ").split()
    return _AGREEMENT.fullmatch(" ".join(words).rstrip(".!。 ")) is not None


@value
class Decision:
    """An answer. `scope` says how far a yes reaches; a no may carry the reason, which the model is told."""

    allowed: bool
    scope: Literal["once", "message", "pattern", "session"] = "once"
    reason: str = ""
    pattern: str = ""
    hunks: tuple[int, ...] = ()
    """Of a yes to some of the hunks of a change: their numbers, from 1; empty: all of it."""
    paths: tuple[str, ...] = ()
    """Of a yes to some of the paths of a set; empty: all of it."""

    @classmethod
    def read(cls, text: str) -> Decision:
        """From the words of the wire: "yes", "no", "all", "hunks 1, 3", or a sentence, which refuses and says why."""
        word = text.strip()
        if agrees(word):
            return cls(True)
        key = unicodedata.normalize("NFKC", word).lower()
        if key in ("all", "a"):
            return cls(True, "session")
        if key in ("no", "n", "いいえ"):
            return cls(False)
        if chosen := re.fullmatch(r"hunks? ([1-9][0-9]*(?:[ ,]+[1-9][0-9]*)*)", key):
            return cls(True, hunks=tuple(map(int, re.findall("[0-9]+", chosen[1]))))
        return cls(False, reason=word)

    def word(self) -> str:
        if self.hunks:
            return f"hunks {', '.join(map(str, self.hunks))}"
        if self.paths:
            return "some"
        if self.allowed:
            return "all" if self.scope == "session" else "yes"
        return self.reason or "no"


@value
class Question:
    """A write to decide on, with the others of the same message."""

    approval_id: str
    proposal: Proposal
    together: Sequence[Proposal] = ()
    asked_again: bool = False

    def event(self, call: Call, by_rule: str | None) -> Approval:
        proposal = self.proposal
        return Approval(self.approval_id, proposal.path, proposal.tool, proposal.diff, call.use.id, by_rule)


@value
class SetQuestion:
    """What a command would change, to decide on as a whole or path by path."""

    approval_id: str
    changes: tuple[ProposedChange, ...]
    remarks: tuple[Sentence, ...] = ()
    asked_again: bool = False


@value
class NetworkQuestion:
    """A command that asks for the network. A yes for the session is remembered."""

    approval_id: str
    command: str


@value
class CallQuestion:
    """A tool of an MCP server to be called. A yes for the session holds for this tool."""

    approval_id: str
    tool: str
    arguments: str


AnyQuestion = Question | SetQuestion | NetworkQuestion | CallQuestion
Approver = Callable[[AnyQuestion], Awaitable[Decision]]


def has_part(question: AnyQuestion, decision: Decision) -> bool:
    """Whether the hunks and paths that a decision names are there to be decided on."""
    hunks, paths = 0, set[str]()
    if isinstance(question, Question):
        hunks, paths = len(question.proposal.change.hunks), {question.proposal.path}
    elif isinstance(question, SetQuestion):
        paths = {change.path for change in question.changes}
    return all(1 <= number <= hunks for number in decision.hunks) and paths.issuperset(decision.paths)


@record
class Approvals:
    """Who is asked, and what has been answered for more than one write. One for a session."""

    approver: Approver
    by_rule: str | None = None
    """When nobody is asked: the word that stands for the rule, such as "yes" for --yes."""
    attended: bool = False
    """Though a rule answers for writes, somebody is there who can be asked about the rest."""
    _session: bool = False
    _patterns: list[str] = field(default_factory=list)
    _messages: set[str] = field(default_factory=set)

    def standing(self, proposal: Proposal, message_key: str) -> bool:
        """An earlier yes that reaches this write."""
        return message_key in self._messages or self.stands_for([proposal.path])

    def stands_for(self, paths: Iterable[str]) -> bool:
        """An earlier yes that reaches writes to all of these."""
        return self._session or all(any(fnmatchcase(path, each) for each in self._patterns) for path in paths)

    def remember(self, decision: Decision, message_key: str) -> None:
        if not decision.allowed:
            return
        if decision.scope == "session":
            self._session = True
        elif decision.scope == "pattern":
            self._patterns.append(decision.pattern)
        elif decision.scope == "message":
            self._messages.add(message_key)

    @property
    def granted(self) -> tuple[str, ...]:
        """What may be written without asking, as patterns of paths; `*` is all."""
        return ("*",) if self._session else tuple(self._patterns)

    def revoke(self) -> None:
        """Every write is asked about again."""
        self._session = False
        self._patterns.clear()
        self._messages.clear()


class Approved:
    """A writing tool that asks first."""

    def __init__(self, tool: WritingTool, approvals: Approvals, family: Mapping[str, WritingTool]) -> None:
        self._tool = tool
        self._approvals = approvals
        self._family = family
        """All writing tools by name, to show the other writes of one message beside this one."""

    @property
    def spec(self) -> ToolSpec:
        return self._tool.spec

    async def run(self, args: Mapping[str, Any], call: Call) -> Outcome:
        approvals, message_key = self._approvals, "|".join(use.id for use in call.peers)
        for attempt in range(MAX_QUESTIONS):
            proposal = await asyncio.to_thread(self._tool.propose, args)
            decision = Decision(True, "session")
            if not approvals.standing(proposal, message_key):
                question = Question(new_trace_id(), proposal, self._together(proposal, call), attempt > 0)
                call.emit(question.event(call, approvals.by_rule))
                decision = await approvals.approver(question)
                approvals.remember(decision, message_key)
            chosen = _allowed_part(proposal, decision)
            remark = _left_out(proposal, chosen)
            try:
                return await to_the_end(partial(self._tool.carry_out, chosen, decision.word(), remark))
            except Stale:
                continue
        raise ToolFailure(f"{proposal.path} keeps changing while it is being approved. Read it again later.", code=409)

    def _together(self, proposal: Proposal, call: Call) -> list[Proposal]:
        proposals = []
        for use in call.peers:
            if use is call.use:
                proposals.append(proposal)
                continue
            tool = self._family.get(use.orig_name)
            if tool is not None and isinstance(use.orig_args, dict):
                try:
                    proposals.append(tool.propose(use.orig_args))
                except (ToolFailure, WorkspaceError):
                    continue  # this one fails by itself when its turn comes, and says why
        return proposals


def _allowed_part(proposal: Proposal, decision: Decision) -> Proposal:
    chosen = proposal.only(decision.hunks) if decision.hunks else proposal
    meant = not decision.paths or proposal.path in decision.paths
    if not decision.allowed or not meant or (decision.hunks and not chosen.change.hunks):
        reason = f"The user refused: {decision.reason}" if decision.reason else REFUSED
        raise ToolFailure(reason, code=403, policy=True, decision=decision.word())
    return chosen


def _left_out(proposal: Proposal, chosen: Proposal) -> str:
    """What the model is told of a change that is made in part."""
    if chosen is proposal:
        return ""
    left_out, _ = cut_middle(diff_texts(proposal.path, chosen.new, proposal.new).text, MAX_LEFT_OUT)
    return "The user left out a part of this change:\n" + left_out


async def allow_all(question: AnyQuestion) -> Decision:
    """Yes to all writes; the network is no write."""
    return Decision(not isinstance(question, NetworkQuestion), "session")
