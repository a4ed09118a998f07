"""Keeps the index in step with the files: what changed is found by size and time, then by content.

Nothing here trusts a history of events. Whatever git or an editor did to the work tree (commit, checkout, rebase,
stash), the files as they are now are compared with what is indexed. A content that moved to another path keeps its
chunks.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence

from nebula.index.building.batches import Built, Wanted, build
from nebula.index.chunks.suffixes import language_of
from nebula.index.constants import PARALLEL_BYTES, RERANK_FILES, RERANK_SHARE
from nebula.index.errors import OutsideRoot
from nebula.index.in_step.worktree import committed_blobs, list_files, list_some
from nebula.index.ranking.references import rank_files
from nebula.index.reading import Root
from nebula.index.records import IndexedFile, Segment, Source
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
        listing = list_files(self._root.path)
        if len(listing.commit) == 64:
            self._root.hash_name = "sha256"
        known = self._store.states()
        present = {*listing.paths, *listing.unnameable}
        report = self._bring(listing.paths, known, (known.keys() | self._store.skipped().keys()) - present)
        report = joined(report, self._note_unnameable(listing.unnameable))
        self._note_commit(listing.commit)
        self._rank_if_due()
        self._store.tidy()
        return report

    def ingest(self, paths: Sequence[str]) -> Report:
        wanted = [self.inside(path) for path in paths]
        known = self._store.states_below(wanted)
        new = [path for path in wanted if path not in known]
        listed = {path for path in wanted if path in known} | set(list_some(self._root.path, new) if new else ())
        report = self._bring(sorted(listed), known, known.keys() - listed)
        self._store.tidy()
        return report

    def prune(self, paths: Sequence[str]) -> Report:
        gone = self._store.states_below([self.inside(path) for path in paths])
        self._store.add(Segment(), gone=sorted(gone))
        return Report(deleted=len(gone))

    def clear(self) -> None:
        gone = self._store.states().keys() | self._store.skipped().keys()
        self._store.add(Segment(), gone=sorted(gone))

    def rename(self, moves: Sequence[tuple[str, str]]) -> Report:
        """Those whose content is unchanged are moved; the others are taken out and read."""
        pairs = [(self.inside(old), self.inside(new)) for old, new in moves]
        known = self._store.states([path for pair in pairs for path in pair])
        return self._bring(
            list_some(self._root.path, [new for _, new in pairs]),
            known,
            {old for old, _ in pairs if old in known and self._root.stat(old) is None},
        )

    def inside(self, path: str) -> str:
        """A path as the index writes it: below the root, with "/" between names."""
        full = os.path.normpath(os.path.join(self._root.path, path))
        inner = os.path.relpath(full, self._root.path)
        if inner == ".." or inner.startswith("../") or os.path.isabs(inner) or "\0" in path:
            raise OutsideRoot("{path}: outside the project.", path=path)
        return "" if inner == "." else inner

    # --- the change itself

    def _bring(self, present: Iterable[str], known: dict[str, IndexedFile], gone: set[str]) -> Report:
        """Brings the `present` paths in step, and takes out the `gone`."""
        skipped = self._store.skipped()
        wanted: list[Wanted] = []
        for path in present:
            found = self._root.stat(path)
            if found is None:
                gone |= {path} & (known.keys() | skipped.keys())
            elif path in known:
                if (known[path].size, known[path].mtime_ns) != found:
                    wanted.append((path, *found))
            elif (path not in skipped or skipped[path][1:] != found) and not self._hides(path):
                wanted.append((path, *found))
        return self._apply(wanted, known, gone) if wanted or gone else Report()

    def _apply(self, wanted: list[Wanted], known: dict[str, IndexedFile], gone: set[str]) -> Report:
        keeps_data = sum(size for _, size, _ in wanted) < PARALLEL_BYTES
        leaving: dict[tuple[str, str], list[str]] = {}
        for path in sorted(gone & known.keys()):
            leaving.setdefault((known[path].blob, language_of(path)), []).append(path)
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
                    same[path] = IndexedFile(source.blob, source.size, source.mtime_ns, known[path].committed)
                    continue
                if path not in known and leaving.get((source.blob, language_of(path))):
                    moves.append((_nearest(leaving[source.blob, language_of(path)], path), path))
                    same[path] = IndexedFile(source.blob, source.size, source.mtime_ns, False)
                    continue
                if keeps_data:
                    read.append(source)
                    continue
            rest.append(each)
        if moves:
            self._store.rename(moves)
        if same:
            self._store.touch(same)
        left = gone - {old for old, _ in moves}
        added, skipped = self._build(read, rest, sorted(left))
        return Report(added, len(left & known.keys()), len(moves), tuple(skipped))

    def _build(self, read: list[Source], rest: list[Wanted], gone: Sequence[str]) -> tuple[int, list[Skipped]]:
        if not (read or rest or gone):
            return 0, []
        from nebula.index.building.pool import build_all  # 15 ms that a search need not pay

        added = 0
        skipped: list[Skipped] = []
        parts: Iterable[Built] = build_all(self._root, rest) if not read else [build(self._root, rest, read)]
        first = True
        for built in parts:
            self._store.add(built.segment, built.skipped, gone if first else ())
            first = False
            added += len(built.segment.files)
            if self._progress is not None:
                self._progress(added + len(skipped), len(read) + len(rest))
            skipped += [each for each, _, _ in built.skipped]
        if first:
            self._store.add(Segment(), gone=gone)
        return added, skipped

    def _note_unnameable(self, names: Sequence[str]) -> Report:
        new = [Skipped(name, "its name is not UTF-8") for name in names if name not in self._store.skipped()]
        if new:
            self._store.add(Segment(), [(each, 0, 0) for each in new])
        return Report(skipped=tuple(new))

    # --- what follows from it

    def _note_commit(self, commit: str) -> None:
        """Which files are as the commit has them."""
        mark = f"{commit} {self._store.shape().generation}"
        if self._store.meta("commit_checked") == mark:
            return
        blobs = committed_blobs(self._root.path, commit)
        changed = {}
        for path, state in self._store.states().items():
            committed = blobs.get(path) == state.blob
            if committed != state.committed:
                changed[path] = IndexedFile(state.blob, state.size, state.mtime_ns, committed)
        if changed:
            self._store.touch(changed)
        self._store.set_meta("commit", commit)
        self._store.set_meta("commit_checked", mark)

    def _rank_if_due(self) -> None:
        """The rank is a nudge: a few changed files do not move it."""
        changed = self._store.changed_since_rank()
        if changed >= min(RERANK_FILES, max(1, self._store.shape().files * RERANK_SHARE)):
            with self._store.db.reading():
                ranks = rank_files(self._store)
            self._store.set_ranks(ranks)


def _nearest(paths: list[str], new: str) -> str:
    """Of several files with one content the one whose name is the same, else the first."""
    name = os.path.basename(new)
    best = next((path for path in paths if os.path.basename(path) == name), paths[0])
    paths.remove(best)
    return best
