"""Keeps the index in step with the files: what may have changed is read, and its content decides.

Nothing here trusts a history of events. Whatever git or an editor did to the work tree (commit, checkout, rebase,
stash), the files as they are now are compared with what is indexed. A content that moved to another path keeps its
chunks.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial

from nebula.index.building.batches import Built, Wanted, build
from nebula.index.building.pool import build_all
from nebula.index.chunks.suffixes import language_of
from nebula.index.constants import PARALLEL_BYTES, RERANK_FILES, RERANK_SHARE
from nebula.index.in_step.history import follow_history
from nebula.index.in_step.worktree import committed_blobs, is_text, list_files, list_some
from nebula.index.ranking.references import rank_files
from nebula.index.reading import NO_STAMP, Root
from nebula.index.stores.rows import IndexedFile, Segment, Source, Stamp
from nebula.index.stores.store import Store
from nebula.index.values import Progress, Report, Skipped, joined


class Follower:
    def __init__(self, root: Root, store: Store, hides: Callable[[str], bool]) -> None:
        self._root = root
        self._store = store
        self._hides = hides
        self._progress: Progress | None = None

    def sync(self, progress: Progress | None = None) -> Report:
        self._progress = progress
        self._root.look_at_repository()
        listing = list_files(self._root.path)
        known = self._store.states()
        skipped = self._store.skipped()
        present = {*listing.paths, *listing.unnameable}
        changed, gone = self._find_changed(listing.paths, known, skipped)
        report = self._apply(changed, known, gone | ((known.keys() | skipped.keys()) - present))
        report = joined(report, self._note_unnameable(listing.unnameable))
        blobs = cache(partial(committed_blobs, self._root.path, listing.commit))
        self._note_history(listing.commit, blobs)
        self._note_commit(listing.commit, blobs)
        self._rank_if_due()
        self._store.tidy()
        return report

    def ingest(self, paths: Sequence[str]) -> Report:
        """Read files, and all files below directories, whatever their stamps say."""
        wanted = [self._root.inside(path) for path in paths]
        known = self._store.states_below(wanted)
        new = [path for path in wanted if path not in known]
        listed = {path for path in wanted if path in known} | set(list_some(self._root.path, new) if new else ())
        report = self._read(sorted(listed), known, known.keys() - listed)
        self._store.tidy()
        return report

    def rename(self, moves: Sequence[tuple[str, str]]) -> Report:
        """Move the files whose content is unchanged; take the others out and read them."""
        pairs = [(self._root.inside(old), self._root.inside(new)) for old, new in moves]
        known = self._store.states([path for pair in pairs for path in pair])
        return self._read(
            list_some(self._root.path, [new for _, new in pairs]),
            known,
            {old for old, _ in pairs if old in known and self._root.stat(old) is None},
        )

    # --- the change itself

    def _find_changed(
        self, present: Iterable[str], known: dict[str, IndexedFile], skipped: dict[str, tuple[str, Stamp]]
    ) -> tuple[list[Wanted], set[str]]:
        """Return which of the `present` paths have to be read, and which of the known ones are no files any more."""
        wanted: list[Wanted] = []
        gone: set[str] = set()
        for path in present:
            found = self._root.stat(path)
            if found is None:
                gone.add(path)
            elif (before := known.get(path)) is not None:
                if self._root.may_have_changed(before, found):
                    wanted.append((path, found))
            elif (path not in skipped or skipped[path][1] != found) and not self._hides(path):
                wanted.append((path, found))
        return wanted, {path for path in gone if path in known or path in skipped}

    def _read(self, present: Iterable[str], known: dict[str, IndexedFile], gone: set[str]) -> Report:
        """Read the `present` paths, whatever their stamps say, and take out the `gone`."""
        self._root.look_at_repository()
        stamps = {path: self._root.stat(path) for path in present}
        missing = [path for path, stamp in stamps.items() if stamp is None]
        if missing:
            skipped = self._store.skipped()
            gone |= {path for path in missing if path in known or path in skipped}
        wanted = [
            (path, stamp)
            for path, stamp in stamps.items()
            if stamp is not None and (path in known or not self._hides(path))
        ]
        return self._apply(wanted, known, gone)

    def _apply(self, wanted: list[Wanted], known: dict[str, IndexedFile], gone: set[str]) -> Report:
        """Take in the contents of the `wanted` files that differ from what is known, and take out the `gone`."""
        keeps_data = sum(stamp.size for _, stamp in wanted) < PARALLEL_BYTES
        leaving = _Leaving((path, known[path].blob) for path in sorted(gone & known.keys()))
        moves: list[tuple[str, str]] = []
        same: dict[str, IndexedFile] = {}
        read: list[Source] = []
        rest: list[Wanted] = []
        for each in wanted:
            path = each[0]
            if path not in known and not leaving:
                rest.append(each)
                continue
            source = self._root.read(*each)
            if isinstance(source, Source):
                if path in known and known[path].blob == source.blob:
                    same[path] = IndexedFile(source.blob, source.stamp, known[path].committed)
                    continue
                if path not in known and (old := leaving.take(path, source.blob)):
                    moves.append((old, path))
                    same[path] = IndexedFile(source.blob, source.stamp, False)
                    continue
                if keeps_data:
                    read.append(source)
                    continue
            rest.append(each)
        if moves:
            self._store.rename(moves)
        if same := {path: state for path, state in same.items() if state != known.get(path)}:
            self._store.touch(same)
        left = gone - {old for old, _ in moves}
        added, skipped = self._build(read, rest, sorted(left))
        return Report(added, len(left & known.keys()), len(moves), tuple(skipped))

    def _build(self, read: list[Source], rest: list[Wanted], gone: Sequence[str]) -> tuple[int, list[Skipped]]:
        if not (read or rest or gone):
            return 0, []
        added = 0
        skipped: list[Skipped] = []
        parts: Iterable[Built] = build_all(self._root, rest) if not read else [build(self._root, rest, read)]
        for built in parts:
            unfit = built.skipped
            for segment in built.segments:
                self._store.add(segment, unfit, gone)
                added += len(segment.files)
                unfit, gone = (), ()
            if self._progress is not None:
                self._progress(added + len(skipped), len(read) + len(rest))
            skipped += [each for each, _ in built.skipped]
        if gone:
            self._store.add(Segment(), gone=gone)
        return added, skipped

    def _note_unnameable(self, names: Sequence[str]) -> Report:
        new = [Skipped(name, "its name is not UTF-8") for name in names if name not in self._store.skipped()]
        if new:
            self._store.add(Segment(), [(each, NO_STAMP) for each in new])
        return Report(skipped=tuple(new))

    # --- what follows from it

    def _note_commit(self, commit: str, blobs: Callable[[], dict[str, str]]) -> None:
        """Note which files are as the commit has them; `blobs` asks git for what it has."""
        mark = f"{commit} {self._store.shape().generation}"
        if self._store.meta("commit_checked") == mark:
            return
        there = blobs()
        changed = {}
        for path, state in self._store.states().items():
            committed = there.get(path) == state.blob
            if committed != state.committed:
                changed[path] = IndexedFile(state.blob, state.stamp, committed)
        if changed:
            self._store.touch(changed)
        self._store.set_meta("commit", commit)
        self._store.set_meta("commit_checked", mark)

    def _note_history(self, commit: str, blobs: Callable[[], dict[str, str]]) -> None:
        if self._store.meta("history") != commit:
            follow_history(self._root.path, self._store, commit, frozenset(filter(is_text, blobs())))

    def _rank_if_due(self) -> None:
        """The rank is a nudge: a few changed files do not move it."""
        changed = self._store.changed_since_rank()
        if changed >= min(RERANK_FILES, max(1, self._store.shape().files * RERANK_SHARE)):
            with self._store.db.reading():
                ranks = rank_files(self._store)
            self._store.set_ranks(ranks)


class _Leaving:
    """Files that are gone, by content: one that appears with the same content was moved."""

    def __init__(self, files: Iterable[tuple[str, str]]) -> None:
        """`files` are paths with the blob ids of what they held."""
        self._left: dict[tuple[str, ...], dict[str, None]] = {}
        for path, blob in files:
            for key in self._keys(path, blob):
                self._left.setdefault(key, {})[path] = None

    def __bool__(self) -> bool:
        return bool(self._left)

    def take(self, path: str, blob: str) -> str:
        """Return a file that was moved to `path`, of several the one with the same name, else the first; "" if none."""
        keys = self._keys(path, blob)
        old = next((next(iter(self._left[key])) for key in keys if self._left.get(key)), "")
        for key in self._keys(old, blob) if old else ():
            del self._left[key][old]
        return old

    @staticmethod
    def _keys(path: str, blob: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Chunks depend on the language, so a content that is now another language's was not just moved."""
        language = language_of(path)
        return (blob, language, os.path.basename(path)), (blob, language)
