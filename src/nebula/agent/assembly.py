"""Putting a session together from settings: the one place where the rooms below meet.

Front doors differ in who is asked and who listens; everything else about a session is decided here.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

from nebula.agent.code.project_map import map_readers
from nebula.agent.past.chapters import look_up
from nebula.agent.past.kept_state import KeptState
from nebula.agent.past.session_names import begin_session
from nebula.agent.past.summaries import Summaries
from nebula.agent.place import Place
from nebula.agent.recording.redactors import redactor_of
from nebula.agent.recording.turn_archive import SessionNodes, TurnArchive
from nebula.agent.session import CHAT, Session
from nebula.agent.telemetry import telemetry_readers, telemetry_remarks
from nebula.agent.workbench import ChatBench, ProjectAccess, Workbench
from nebula.config import Settings
from nebula.events import Reader
from nebula.files.home import derived_folder
from nebula.graph.formats.config_yaml import suggested_model
from nebula.language import Sentence, sentence_of
from nebula.llm.choose import ChosenModel, choose_model
from nebula.memory.append import TraceReader
from nebula.memory.errors import MemoryFileError
from nebula.memory.log import LogReader
from nebula.memory.recorder import MemoryReader
from nebula.memory.session_lock import SessionLock
from nebula.memory.sessions import Sessions
from nebula.tools.approval import Approvals, Approver, allow_all
from nebula.tools.code.code_index import code_search
from nebula.tools.commands.layers import CommandLayers
from nebula.tools.declaration import Checks
from nebula.tools.delegate import Delegated, Errand, Runner
from nebula.tools.permissions import NETWORK, PAGES
from nebula.workspace import Policy, open_workspace
from nebula.workspace.audit import AuditLog
from nebula.workspace.contract import Workspace
from nebula.workspace.guard.spelling import spelled_in
from nebula.workspace.local import LocalWorkspace
from nebula.workspace.state_folder import StateFolder, is_half_applied, prepare_state_folder

if TYPE_CHECKING:
    from nebula.agent.hooks import Hooks
    from nebula.extensions.skills import FoundSkills
    from nebula.graph.graph import Graph
    from nebula.tools.external.servers import ExternalServers


async def open_session(
    settings: Settings,
    *,
    approver: Approver,
    by_rule: str | None = None,
    mode: str = "agent",
    resume: str | None = None,
    from_nodes: Sequence[str] = (),
    allow: Sequence[str] = (),
    chosen: ChosenModel | None = None,
    open_graph: Callable[[], Graph] | None = None,
    summarises_ahead: bool = False,
) -> Session:
    """Open a session that is ready for its first turn. `resume` is an id, or "" for this directory's newest.

    Where it cannot be opened, everything that was opened for it is closed again.
    """
    async with AsyncExitStack() as opened:
        if chosen is None:
            wish = suggested_model(settings.root, ".nebula/graph")
            chosen = await choose_model(settings, suggested=wish)
            opened.push_async_callback(chosen.connector.aclose)
        state = prepare_state_folder(settings.root)
        derived = derived_folder(settings.root, settings.home)
        if _has_left_copies(derived):
            await asyncio.to_thread(_remove_left_copies, settings)
        folder = os.path.join(derived, "sessions")
        archive = open_archive(settings, state, SessionNodes(folder), open_graph)
        from_nodes = archive.known(from_nodes)
        memory, forgetful = _open_memory(settings, folder)
        opened.callback(memory.close)
        bench = open_workbench(settings, Approvals(approver, by_rule), allow, state, mode)
        bench.find_node = archive.find_by_beginning
        opened.push_async_callback(bench.close)
        # A chat belongs to its graph: a session of the project that is resumed does not pick it up.
        home = archive.graph.data_dir if mode == CHAT and archive.graph else settings.root
        if resume == "" and memory.latest(home) is None:
            forgetful.append(Sentence("There is no earlier session of this directory; this one is new."))
        session_id = begin_session(memory, home, bench.redactor.text(chosen.name), resume, settings)
        opened.callback(memory.end, session_id)
        lock = SessionLock(folder, session_id)
        opened.callback(lock.release)
        remembers: Reader = MemoryReader(memory, session_id)
        heard = (bench.project.hooks.read,) if bench.project.hooks is not None else ()
        recorders = (remembers, *project_recorders(settings, state), *map_readers(settings), *heard)
        summaries = Summaries(archive, summarises_ahead, settings.auto_summary)
        kept = KeptState(folder, session_id, bench.redactor)
        session = Session(session_id, settings, chosen, bench, archive, recorders, summaries, memory, lock, kept, mode)
        taken_back = finish_what_was_cut_short(session.project, state, derived)
        for remark in (*forgetful, *state.remarks, *taken_back, *telemetry_remarks(os.environ)):
            session.remarks.add(remark)
        _take_up(session, resume, from_nodes)
        bench.delegate = _delegates(session, project_recorders(settings, state))
        opened.pop_all()
    return session


def _delegates(session: Session, recorders: tuple[Reader, ...]) -> Runner | None:
    """Return what runs the delegates of a session; None where the files are on another machine."""
    if not isinstance(session.project.workspace, LocalWorkspace):
        return None

    async def run(errand: Errand, trace_id: str) -> Delegated:
        from nebula.agent.race.delegates import run_delegate

        return await run_delegate(session, recorders, errand, trace_id)

    return run


def _has_left_copies(derived: str) -> bool:
    return os.path.isdir(os.path.join(derived, "layers"))


def _remove_left_copies(settings: Settings) -> None:
    """Remove the copies of the project that a killed race left on disk."""
    from nebula.sandbox.disk import remove_orphans_of

    remove_orphans_of(settings.home, os.path.realpath(settings.root))


def _take_up(session: Session, resume: str | None, from_nodes: Sequence[str]) -> None:
    """Give a session that was just opened its past: of the session that is resumed, or of the nodes that it
    continues."""
    assert session.memory is not None and session.lock is not None  # noqa: S101 - it was just opened with both
    session.bench.takes_images = lambda: session.chosen.takes_images()
    session.bench.look_up = lambda asked: look_up(session.conversation.turns, asked)
    if not session.lock.take():
        in_use = "Session {id} is in use by another process; the messages of both go into one history."
        session.remarks.add(Sentence(in_use, id=session.id))
    if resume is not None:
        from nebula.agent.past.resume import resumed_turns

        turns = session.memory.turns(session.id, lambda row: session.remarks.add(sentence_of(row)))
        session.go_to(Place.after(resumed_turns(turns, session.archive, session.id)))
        session.recall()
    if from_nodes:
        session.continue_from(from_nodes)


def open_workbench(
    settings: Settings,
    approvals: Approvals,
    allow: Sequence[str] = (),
    state: StateFolder | None = None,
    mode: str = "",
) -> Workbench:
    """Open the workbench of a session in `mode`."""
    project = open_project_access(settings, approvals, allow, state)
    named = approvals.permissions.named
    redactor = redactor_of(settings, named, project.external.secrets if project.external else ())
    return (ChatBench if mode == CHAT else Workbench)(project, redactor)


def open_preview(settings: Settings, graph: Graph, mode: str = "agent", context_tokens: int = 0) -> Session:
    """Return a session for `preview_turn`: it records nothing and asks no model. `context_tokens` is the context size
    that the model's server reported; 0: it was not asked."""
    from nebula.llm.replay import ReplayModel

    unasked = ChosenModel(ReplayModel([]), settings.model, context_tokens or settings.context_tokens)
    archive = TurnArchive(lambda: graph)
    bench = open_workbench(settings, Approvals(allow_all), state=prepare_state_folder(settings.root), mode=mode)
    bench.find_node = archive.find_by_beginning
    session = Session("", settings, unasked, bench, archive, (), Summaries(archive), mode=mode)
    bench.delegate = _delegates(session, ())
    return session


def open_project_access(
    settings: Settings,
    approvals: Approvals,
    allow: Sequence[str] = (),
    state: StateFolder | None = None,
    extensions: tuple[str, ...] | None = None,
) -> ProjectAccess:
    """Open the project for a session or a task. `extensions`: the only kinds of files that may be read and written;
    None: every text file."""
    given = approvals.permissions
    given.named.update(spelled_in(settings.root, allow))
    policy = Policy(extensions=extensions, max_bytes=settings.max_bytes, allowed=given.named)
    checks = Checks(_allowed_checks(settings), settings.root, settings.check_timeout_s)
    files, read_only = (_workspace(settings, policy, read_only=only) for only in (False, True))
    skills = _skills(settings)
    folders = skills.folders_outside(settings.root) if skills else ()
    commands = None if settings.mcp_url else CommandLayers(settings, folders, permissions=given)
    hooks = _hooks(settings, commands, approvals)
    audit, code = open_audit_log(settings, state or StateFolder()), code_search(settings)
    external = external_servers(settings)
    if settings.allow_network:
        given.give(NETWORK)
        given.give(PAGES)
    return ProjectAccess(
        settings.root, files, read_only, approvals, checks, audit, commands, code, external, skills, hooks
    )


def _allowed_checks(settings: Settings) -> tuple[str, ...]:
    """Return the configured checks; else those that were found in the project and accepted by the user before."""
    if not settings.checks and os.path.realpath(settings.root) in settings.trusted_folders:
        from nebula.agent.checks.find import with_found_checks

        settings = with_found_checks(settings)
    return settings.allowed_checks


def _hooks(settings: Settings, commands: CommandLayers | None, approvals: Approvals) -> Hooks | None:
    """Return the user's hooks; load nothing where there are none."""
    if not settings.hooks:
        return None
    from nebula.agent.hooks import Hooks

    hooks = Hooks(settings, commands)
    if "before_write" in settings.hooks:
        approvals.before_write = hooks.before_write
    return hooks


def _skills(settings: Settings) -> FoundSkills | None:
    """Return the skills of the user and of a trusted project; load nothing where there are none."""
    homes = (os.path.join(settings.home, "skills"), os.path.expanduser("~/.agents/skills"))
    if not (settings.trust_extensions and settings.brought_along) and not any(map(os.path.isdir, homes)):
        return None
    from nebula.extensions.skills import find_skills

    found = find_skills(settings)
    return found if found.skills else None


def external_servers(settings: Settings) -> ExternalServers | None:
    """Return the configured MCP servers; load nothing where there are none."""
    if not settings.mcp_servers and not settings.overruled.get("mcp_servers"):
        return None
    from nebula.tools.external.configured import configured_servers
    from nebula.tools.external.servers import ExternalServers

    return ExternalServers(configured_servers(settings, os.environ))


def finish_what_was_cut_short(project: ProjectAccess, state: StateFolder, derived: str) -> list[Sentence]:
    """Undo what earlier processes left half applied, and finish what they left half undone; return remarks on it.
    `derived` is the project's folder in the user's home."""
    remarks = take_back_half_applied(project.workspace) if state.keeps_records else []
    if os.path.isdir(os.path.join(derived, "rollbacks")):
        from nebula.agent.plan.rollbacks import finish_rollbacks

        remarks += finish_rollbacks(derived, project.workspace)
    return remarks


def take_back_half_applied(files: Workspace) -> list[Sentence]:
    """Take back a set of changes that was half applied when the program was killed; return remarks on it."""
    if not isinstance(files, LocalWorkspace) or not is_half_applied(files.root):
        return []
    taken = files.take_back_half_applied()
    return taken.remarks() if taken is not None else []


def _workspace(settings: Settings, policy: Policy, *, read_only: bool) -> Workspace:
    if not settings.mcp_url:
        return open_workspace(settings.root, policy, read_only=read_only)
    from nebula.workspace.remote.workspace import RemoteWorkspace

    return RemoteWorkspace(settings.mcp_url, settings.token, read_only=read_only)


def open_audit_log(settings: Settings, state: StateFolder) -> AuditLog | None:
    if settings.mcp_url:
        return None  # the gateway keeps its own
    if not settings.audit_log and not state.keeps_records:
        return None
    return AuditLog(settings.root, settings.audit_log, settings.secrets)


def graph_opener(settings: Settings) -> Callable[[], Graph]:
    def open_graph() -> Graph:
        from nebula.graph.graph import Graph

        os.stat(settings.root)  # one that was moved away meanwhile is not made again
        return Graph(os.path.join(settings.state_dir, "graph"))

    return open_graph


def _open_memory(settings: Settings, folder: str) -> tuple[Sessions, list[Sentence]]:
    """Open the memory. Where the home cannot be written, open one for this process alone: a turn is worth more than its
    record.

    This does not hold for a memory that the user named, or one that is damaged: that is an error.
    """
    try:
        return Sessions(settings.memory_path), []
    except MemoryFileError as problem:
        if settings.database_path or folder.startswith(os.path.join(settings.home, "")):
            raise
        remark = Sentence("This conversation is not remembered: {problem}", problem=sentence_of(problem))
        return Sessions(os.path.join(folder, "memory.db")), [remark]


def open_archive(
    settings: Settings, state: StateFolder, made: SessionNodes, open_graph: Callable[[], Graph] | None = None
) -> TurnArchive:
    """Return the archive of a session's turns. It uses the graph that `open_graph` opens, else the project's graph if
    the project has a folder for it; it only reads where nothing can be recorded."""
    if open_graph is not None:
        return TurnArchive(open_graph, made)
    return TurnArchive(graph_opener(settings) if state.has_graph else None, made, read_only=not state.keeps_records)


def project_recorders(settings: Settings, state: StateFolder) -> tuple[Reader, ...]:
    """Return the readers that write into the project, and the one that reports to a collector where one is set."""
    reporting = telemetry_readers(os.environ)
    if not state.keeps_records:
        return reporting
    return (
        LogReader(os.path.join(settings.state_dir, "log.txt")),
        TraceReader(os.path.join(settings.state_dir, "trace.jsonl")),
        *reporting,
    )
