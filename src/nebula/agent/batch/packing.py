"""Files on their way to another process or machine, as one archive."""

from __future__ import annotations

import io
import os
import tarfile
from contextlib import suppress

from nebula.workspace.project_copy import files_to_copy


def pack(folder: str) -> bytes:
    """Return a whole folder as an archive."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz", compresslevel=1) as archive:
        archive.add(folder, arcname=".")
    return buffer.getvalue()


def pack_project(root: str) -> bytes:
    """Return the files of a project that git tracks or would track as an archive, without `.git` and `.nebula`."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz", compresslevel=1) as archive:
        for name in files_to_copy(root):
            with suppress(OSError):  # gone meanwhile, or not ours to read
                archive.add(os.path.join(root, name), arcname=name, recursive=False)
    return buffer.getvalue()


def unpack(packed: bytes, folder: str) -> None:
    """Unpack an archive: nothing outside the folder, no links that lead there, no devices, no foreign owners."""
    with tarfile.open(fileobj=io.BytesIO(packed), mode="r:gz") as archive:
        archive.extractall(folder, filter=_allowed)  # noqa: S202 - it is as strict as the library's own


def _allowed(member: tarfile.TarInfo, folder: str) -> tarfile.TarInfo | None:
    try:
        return tarfile.data_filter(member, folder)
    except tarfile.FilterError:
        return None
