"""Ask the user: the one way to put a question, and a wrapper that asks before a writing tool writes.

The approver gets the event that every reader gets, and answers with a `Decision`. Whatever can fail fails before
anybody is asked. The answer counts for the content that was shown: if the file changes before the answer comes, the
question is asked again with the new difference.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any, Literal

from nebula.events import Activity, Approval, Notice, ProposedChange, new_trace_id
from nebula.language import Sentence, agrees, declines, fold_width
from nebula.messages import AssistantToolUse, ToolSpec
from nebula.tools.contract import Call, Outcome, ToolFailure, to_the_end
from nebula.tools.permissions import ALL_WRITES, YES_TO_ALL, Permission, Permissions
from nebula.tools.result_limits import cut_middle
from nebula.tools.writing import WritingTool
from nebula.value import field, record, replace, value
from nebula.workspace.diff import diff_texts, merged
from nebula.workspace.errors import ProtectedPath, SecretPath, Stale, WorkspaceError
from nebula.workspace.proposing import keep_hunks

MAX_QUESTIONS = 5
"""How often one write is asked about again because its file keeps changing."""
MAX_TRIES = 40
"""The same where a rule answers: several tasks may append to one file at the same time."""
_LONGEST_WAIT_S = 0.05
_CHANGING = Sentence("changing files")
_WORKING = Sentence("working")

MAX_LEFT_OUT = 10_000
"""Bytes that the model is shown of the parts of a change that were left out."""

ASKED_AGAIN = Sentence("The file changed in the meantime; this is the new difference.")
BY_NAME = "{path} may hold secrets or decides what other programs run. A yes is for this one change."
REFUSED = "The user did not allow this write. Do not try it again; go on without it or ask what is wanted."


@value
class Decision:
    """An answer. `scope` says how far a yes reaches. A no may have a reason, which the model is told; so
    may a yes to a part, of what it leaves out."""

    allowed: bool
    scope: Literal["once", "message", "pattern", "session"] = "once"
    reason: str = ""
    pattern: str = ""
    hunks: tuple[int, ...] = ()
    """Of a yes to some hunks of a change: their numbers, from 1; empty: all of them."""
    paths: tuple[str, ...] = ()
    """Of a yes to some paths of a set; empty: all of them."""

    @classmethod
    def read(cls, text: str) -> Decision:
        """Read an answer as it is sent: "yes", "no", "all", "hunks 1, 3", or a sentence, which refuses and gives the
        reason."""
        word = text.strip()
        if agrees(word):
            return cls(True)
        if declines(word):
            return cls(False)
        key = fold_width(word)
        if key in ("all", "a"):
            return cls(True, "session")
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

    def left_out(self, what: str) -> str:
        """Return what the model is told of what a yes to a part leaves out: `what` it is, and the reason."""
        return f"The user said: {self.reason}\n{what}" if self.reason else what

    def refusal(self, otherwise: str) -> ToolFailure:
        """Return the error for the model after a no: its reason, or else the sentence `otherwise`."""
        said = f"The user refused: {self.reason}" if self.reason else otherwise
        return ToolFailure(said, code=403, policy=True, decision=self.word())


Approver = Callable[[Approval], Awaitable[Decision]]
BeforeWrite = Callable[[str, Sequence[ProposedChange]], Awaitable[str | None]]
"""(tool, changes) -> why the changes are refused; None where they are not."""


def has_part(question: Approval, decision: Decision) -> bool:
    """Return whether the question has the hunks and paths that a decision names."""
    paths = {change.path for change in question.changes}
    return all(1 <= number <= question.hunks for number in decision.hunks) and paths.issuperset(decision.paths)


def reaches_too_far(question: Approval, decision: Decision) -> bool:
    """Return whether a yes is meant for the session although the question is asked every time."""
    return question.once and decision.scope != "once"


@record
class Approvals:
    """Asks questions, and remembers answers that hold for longer. One for a session."""

    approver: Approver
    by_rule: str | None = None
    """Where nobody is asked: the word of the rule that answers, such as "yes" for --yes."""
    attended: bool = False
    """A rule answers for writes, but somebody is there who can be asked about the rest."""
    permissions: Permissions = field(default_factory=Permissions)
    before_write: BeforeWrite | None = None
    """The user's hooks, which judge a change that was allowed before it is written."""

    async def heed_hooks(
        self, decision: Decision, call: Call, tool: str, changes: Sequence[ProposedChange]
    ) -> Decision:
        """Return the decision on these changes; where it was a yes and a hook refuses, return the refusal instead.
        Hooks can only make a decision stricter. Whoever said yes is told."""
        if self.before_write is None or not decision.allowed:
            return decision
        reason = await self.before_write(tool, changes)
        if reason is None:
            return decision
        call.emit(Notice(Sentence("Your hook before_write refused it: {reason}", reason=reason)))
        return Decision(False, reason=reason)

    @property
    def somebody_is_there(self) -> bool:
        return self.by_rule is None or self.attended

    async def ask(self, question: Approval, call: Call, lasting: Permission | None) -> Decision:
        """Put a question and return the answer. `lasting` is the permission that a yes for the session gives; None
        where there is no such yes, and then no rule answers either."""
        rule = None if lasting is None or lasting.kind in ("network", "host") else self.by_rule
        event = replace(question, once=lasting is None, tool_use_id=call.use.id, decision=rule)
        call.emit(event)
        decision = await self.approver(event)
        if rule is None:
            call.show(Activity(_CHANGING if decision.allowed and question.changes else _WORKING))
        if decision.allowed and lasting is not None and rule is None:
            if decision.scope == "session":
                self.permissions.give(lasting)
            elif decision.scope == "pattern" and lasting.kind == "write":
                self.permissions.give(Permission("write", decision.pattern))
        return decision

    def revoke(self, name: str = "") -> tuple[Permission, ...]:
        """Revoke what was allowed under this name, or everything, and return it."""
        taken = self.permissions.take_back(name)
        if self.by_rule == "yes" and name in ("", YES_TO_ALL.name):
            self.by_rule = None
            taken = (YES_TO_ALL, *taken)
        return taken

    @property
    def granted(self) -> tuple[Permission, ...]:
        """All permissions that were given."""
        return (YES_TO_ALL, *self.permissions.listed) if self.by_rule == "yes" else self.permissions.listed


@record
class MessageWrites:
    """The writes of one message, decided on together. A new one for each message."""

    calls: Sequence[AssistantToolUse]
    allowed: bool = False
    """The user said yes to all of them."""
    changes: dict[int, ProposedChange] = field(default_factory=dict)
    """What each call would change, by its index in the message; calls that must fail are missing."""

    def has(self, call: Call) -> bool:
        return any(use is call.use for use in self.calls)

    def place_of(self, call: Call) -> int:
        return next(place for place, use in enumerate(self.calls) if use is call.use)

    def hear(self, decision: Decision) -> None:
        """Remember a yes to all of them; one to a part of a change is none."""
        self.allowed = self.allowed or (decision.allowed and decision.scope == "message" and not decision.hunks)

    def allows(self, call: Call, proposal: ProposedChange) -> bool:
        """Return whether a yes to all covers this change: it was among those shown then, at the same place."""
        shown = self.changes.get(self.place_of(call))
        return self.allowed and shown is not None and _is_same_change(shown, proposal)


class WritersOfTurn:
    """All writing tools of one turn, and the message whose writes are being decided on."""

    def __init__(self) -> None:
        self.tools: dict[str, WritingTool] = {}
        self._message = MessageWrites(())

    def message_of(self, call: Call) -> MessageWrites:
        """Return the writes of the message that contains `call`. Messages are told apart by the call objects, never by
        ids: a model may send an id again, and our own ids start anew after `/retry` and `/compact`."""
        if not self._message.has(call):
            self._message = MessageWrites(call.peers or (call.use,))
        return self._message

    def look_at(self, message: MessageWrites) -> None:
        """Work out, once, what the calls of a message would change. This reads files: run it in a thread."""
        if message.changes:
            return
        for place, use in enumerate(message.calls):
            tool = self.tools.get(use.orig_name)
            if tool is not None and isinstance(use.orig_args, dict):
                try:
                    message.changes[place] = tool.propose(use.orig_args)
                except (ToolFailure, WorkspaceError):
                    continue  # it fails again when it is run, and then reports why


class Approved:
    """A writing tool that asks before it writes."""

    def __init__(self, tool: WritingTool, approvals: Approvals, writers: WritersOfTurn) -> None:
        self._tool = tool
        self._approvals = approvals
        self._writers = writers
        writers.tools[tool.spec.name] = tool

    @property
    def spec(self) -> ToolSpec:
        return self._tool.spec

    async def run(self, args: Mapping[str, Any], call: Call) -> Outcome:
        for attempt in range(MAX_QUESTIONS if self._approvals.by_rule is None else MAX_TRIES):
            tool, proposal = await asyncio.to_thread(self._propose, args)
            remarks = (ASKED_AGAIN,) if attempt else ()
            message = self._writers.message_of(call)
            if tool is not self._tool:
                warning = Sentence(BY_NAME, path=proposal.path)
                decision = await self._approvals.ask(self._question(proposal, (warning, *remarks)), call, None)
            elif message.allows(call, proposal) or self._approvals.permissions.reach([proposal]):
                decision = Decision(True, "session")
            else:
                question = self._question(proposal, remarks, await self._shown_together(proposal, call, message))
                decision = await self._approvals.ask(question, call, ALL_WRITES)
                message.hear(decision)
            chosen = keep_hunks(proposal, decision.hunks) if decision.hunks else proposal
            decision = await self._approvals.heed_hooks(decision, call, self.spec.name, (chosen,))
            meant = not decision.paths or proposal.path in decision.paths
            if not decision.allowed or not meant or (decision.hunks and not chosen.diff):
                raise decision.refusal(REFUSED)
            remark = decision.left_out(_describe_left_out(proposal, chosen))
            try:
                return await to_the_end(partial(tool.carry_out, chosen, decision.word(), remark))
            except Stale:  # if several write to the file at once, those that wait equally long would collide again
                await asyncio.sleep(_LONGEST_WAIT_S * os.urandom(1)[0] / 255)
        raise ToolFailure(f"{proposal.path} keeps changing while it is being approved. Read it again later.", code=409)

    def _propose(self, args: Mapping[str, Any]) -> tuple[WritingTool, ProposedChange]:
        """Return the proposed write, and the tool for it: for a secret or control file about which somebody can be
        asked, that is a tool that may write this file alone."""
        try:
            return self._tool, self._tool.propose(args)
        except (ProtectedPath, SecretPath):
            named = self._tool.allowing(str(args.get("path"))) if self._approvals.somebody_is_there else None
            if named is None:
                raise
            return named, named.propose(args)

    async def _shown_together(
        self, proposal: ProposedChange, call: Call, message: MessageWrites
    ) -> tuple[ProposedChange, ...]:
        if len(message.calls) > 1:
            await asyncio.to_thread(self._writers.look_at, message)
        found = message.changes | {message.place_of(call): proposal}
        return tuple(replace(found[place], old=None, new=None) for place in sorted(found))

    def _question(
        self, proposal: ProposedChange, remarks: tuple[Sentence, ...], together: tuple[ProposedChange, ...] = ()
    ) -> Approval:
        return Approval(new_trace_id(), "write", self.spec.name, (proposal,), remarks=remarks, together=together)


def _is_same_change(shown: ProposedChange, proposal: ProposedChange) -> bool:
    """Return whether a proposal is what was shown, wherever in the file that is by now: what was shown, put into the
    file as it stands, comes to the same."""
    if shown.path != proposal.path or (shown.old is None) != (proposal.old is None):
        return False
    return merged(shown.old or "", proposal.old or "", shown.new or "") == proposal.new


def _describe_left_out(proposal: ProposedChange, chosen: ProposedChange) -> str:
    """Return what the model is told of the parts that were left out."""
    if chosen is proposal:
        return ""
    left_out, _ = cut_middle(diff_texts(proposal.path, chosen.new, proposal.new).text, MAX_LEFT_OUT)
    return "The user left out a part of this change:\n" + left_out


async def allow_all(question: Approval) -> Decision:
    """Answer yes, as --yes does, except where the question is about the network, a web page, or a file that has to be
    allowed by name."""
    return Decision(question.kind not in ("network", "fetch", "folders") and not question.once, "session")
