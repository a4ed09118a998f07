"""Files that belong together in one segment, and the segment made of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from nebula.index.building.segments import SegmentBuilder
from nebula.index.constants import BATCH_BYTES, BATCH_FILES, FIRST_SEGMENTS, MAX_BATCH_BYTES
from nebula.index.reading import Root
from nebula.index.stores.rows import Segment, Source, Stamp
from nebula.index.values import Skipped
from nebula.value import value

Wanted = tuple[str, Stamp]
"""A file to read, and its stamp."""


@value
class Built:
    segments: tuple[Segment, ...]
    skipped: tuple[tuple[Skipped, Stamp], ...]


def batches(wanted: Sequence[Wanted]) -> Iterator[list[Wanted]]:
    batch: list[Wanted] = []
    size = 0
    share = sum(stamp.size for _, stamp in wanted) // FIRST_SEGMENTS
    enough = min(max(BATCH_BYTES, share), MAX_BATCH_BYTES)
    for each in wanted:
        batch.append(each)
        size += each[1].size
        if size >= enough or len(batch) >= BATCH_FILES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def build(root: Root, batch: Iterable[Wanted], read: Iterable[Source] = ()) -> Built:
    """Make segments of the files of a batch, and of those in `read`, which were read already."""
    skipped: list[tuple[Skipped, Stamp]] = []
    segments = []
    builder = SegmentBuilder()
    for source in chain(read, _read_all(root, batch, skipped)):
        if not builder.add(source):
            segments.append(builder.finished())
            builder = SegmentBuilder()
            builder.add(source)
    return Built((*segments, builder.finished()), tuple(skipped))


def _read_all(root: Root, batch: Iterable[Wanted], skipped: list[tuple[Skipped, Stamp]]) -> Iterator[Source]:
    """Yield the files that can be read; those that cannot are added to `skipped`."""
    for path, stamp in batch:
        found = root.read(path, stamp)
        if isinstance(found, Skipped):
            skipped.append((found, stamp))
        else:
            yield found
