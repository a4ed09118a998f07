"""Reading what a prompt attaches. Everything goes through the guarded workspace: what it refuses is not attached."""

from __future__ import annotations

import os
from collections.abc import Sequence

from nebula.agent.attached.images import ENDINGS, BadImage, image_from_bytes, image_from_file
from nebula.agent.attached.mentions import Mention, mentioned_files
from nebula.attachments import Attachment, shared_room
from nebula.events import Notice
from nebula.graph.tokens import estimate_tokens
from nebula.language import Sentence, sentence_of
from nebula.messages import MAX_IMAGE_BYTES, MAX_IMAGES_PER_MESSAGE
from nebula.tools.ledger import ReadLedger
from nebula.tools.result_limits import cut_middle
from nebula.value import field, record, replace
from nebula.workspace.contract import FileLines, Workspace
from nebula.workspace.errors import PathEscape, PathRefused, TooLarge, WorkspaceError
from nebula.workspace.reading import ReadingWorkspace

MOST_FILES = 50
MOST_LISTED = 500


@record
class Gathered:
    attachments: list[Attachment] = field(default_factory=list)
    problems: list[Sentence] = field(default_factory=list)
    """Why something that was named is not attached, or not all of it."""
    _seen: dict[str, FileLines] = field(default_factory=dict)
    """The lines that an attachment shows, by its name."""

    def teach(self, ledger: ReadLedger) -> None:
        """Count as read what the model is shown whole."""
        for seen in self._seen.values():
            ledger.saw_part(seen.path, seen.sha256, seen.total_lines, [[seen.first, seen.last]])

    def fit(self, room: int) -> None:
        """Cut what is too large for `room` bytes, both ends kept, and drop images beyond what a message takes."""
        shares = shared_room(self.attachments, room)
        kept: list[Attachment] = []
        for each in self.attachments:
            if each.kind != "image":
                kept.append(self._cut(each, shares[each.name]))
            elif sum(one.kind == "image" for one in kept) < MAX_IMAGES_PER_MESSAGE:
                kept.append(each)
            else:
                self._not_attached(each.name, Sentence("a prompt takes {count} images", count=MAX_IMAGES_PER_MESSAGE))
        self.attachments = kept

    def _cut(self, attachment: Attachment, room: int) -> Attachment:
        text, left_out = cut_middle(attachment.text, room)
        if not left_out:
            return attachment
        self._seen.pop(attachment.name, None)
        self.problems.append(
            Sentence(
                "{name} is too large to be attached whole: {count} bytes of its middle are left out.",
                name=attachment.name,
                count=f"{left_out:,}",
            )
        )
        return replace(attachment, text=text)

    def read(self, readings: Sequence[Mention], files: Workspace) -> None:
        """Attach the first of the `readings` of a word that names something; where none does, note why, if a file was
        surely meant."""
        refused: WorkspaceError | None = None
        for mention in readings:
            try:
                kind = files.probe(mention.path).kind
            except WorkspaceError as error:
                refused = refused or (error if isinstance(error, PathRefused) else None)
                continue
            if kind not in ("file", "directory") or mention.path.strip("./") == "":
                continue
            if all(each.name != mention.name for each in self.attachments):
                self._attach(mention, files, folder=kind == "directory")
            return
        if isinstance(refused, PathEscape) and (image := _image_of_this_machine(readings)) is not None:
            self._attach_image(image)
            return
        if any(mention.is_surely_meant for mention in readings):
            shown = next(mention for mention in readings if mention.is_surely_meant).name
            self._not_attached(shown, _why_not(refused))

    def _attach(self, mention: Mention, files: Workspace, *, folder: bool) -> None:
        try:
            if folder:
                self.attachments.append(_listing(mention, files))
            elif mention.path.lower().endswith(ENDINGS):
                self.attachments.append(_image(mention.path, files))
            else:
                self._attach_text(mention, files)
        except (WorkspaceError, BadImage) as problem:
            reason = sentence_of(problem)
            if reason.sentence.startswith(("{path}", "{name}")):  # it names the file itself
                self.problems.append(Sentence("Not attached: {reason}", reason=reason))
            else:
                self._not_attached(mention.name, reason)

    def _attach_image(self, path: str) -> None:
        try:
            image = image_from_file(path)
        except BadImage as problem:
            self.problems.append(Sentence("Not attached: {reason}", reason=sentence_of(problem)))
        else:
            if image not in self.attachments:
                self.attachments.append(image)

    def _attach_text(self, mention: Mention, files: Workspace) -> None:
        if mention.has_no_lines:
            self._not_attached(mention.name, Sentence("no such range of lines"))
            return
        try:
            file = files.read_file(mention.path) if mention.first is None else None
        except TooLarge:
            file = None
        if file is not None:
            self._seen[mention.name] = FileLines.of(file, 1, None)
            self.attachments.append(Attachment(mention.name, "file", file.size, file.content, secret=file.secret))
            return
        found = files.read_lines(mention.path, mention.first or 1, mention.last)
        if found.first > max(found.total_lines, 1):
            count = found.total_lines
            short = Sentence("it has 1 line") if count == 1 else Sentence("it has {count} lines", count=count)
            self._not_attached(mention.name, short)
            return
        self._attach_lines(mention, found)

    def _attach_lines(self, mention: Mention, found: FileLines) -> None:
        last = min(found.last, mention.last or found.total_lines, found.total_lines)
        self._seen[mention.name] = replace(found, last=last)
        head = f"[lines {found.first} to {last} of {found.total_lines}]\n"
        size = len(found.content.encode("utf-8", "replace"))
        self.attachments.append(Attachment(mention.name, "file", size, head + found.content, secret=found.secret))

    def _not_attached(self, name: str, reason: Sentence) -> None:
        self.problems.append(Sentence("Not attached: {name} ({reason})", name=name, reason=reason))

    def leave_out_images(self, model: str) -> None:
        """Leave out the images, for a model that takes none."""
        for each in self.attachments:
            if each.kind == "image":
                self.problems.append(
                    Sentence("{model} takes no images; {name} is not sent.", model=model, name=each.name)
                )
        self.attachments = [each for each in self.attachments if each.kind != "image"]

    def notices(self) -> list[Notice]:
        """Return what the user reads before anything is sent."""
        sizes = [_size_of(each) for each in self.attachments]
        return [Notice(each) for each in (*sizes, *self.problems)]


def gather(prompt: str, given: Sequence[Attachment], files: Workspace | None, room: int) -> Gathered:
    """Gather what the prompt names in `files`, and what it comes with, within `room` bytes."""
    found = Gathered(list(given))
    if files is not None and "@" in prompt:
        for readings in mentioned_files(prompt):
            if len(found.attachments) >= MOST_FILES:
                found.problems.append(Sentence("Only the first {count} files are attached.", count=MOST_FILES))
                break
            found.read(readings, files)
    found.fit(room)
    return found


def _image_of_this_machine(readings: Sequence[Mention]) -> str | None:
    """Return the path of an image outside the project where the word is its whole path: whoever writes that means the
    file."""
    paths = (os.path.expanduser(each.path) for each in readings if each.path.lower().endswith(ENDINGS))
    return next((path for path in paths if os.path.isabs(path) and os.path.isfile(path)), None)


def _why_not(refused: WorkspaceError | None) -> Sentence:
    if refused is None:
        return Sentence("there is no such file")
    if isinstance(refused, PathEscape):
        return Sentence("outside the project; files are named by their path in it")
    return sentence_of(refused)


def _size_of(attachment: Attachment) -> Sentence:
    size = f"{attachment.size:,}"
    if attachment.kind == "image":
        return Sentence("Attached: {name}, an image of {size} bytes", name=attachment.name, size=size)
    name = attachment.name if attachment.kind != "input" else Sentence("standard input")
    tokens = f"{estimate_tokens(attachment.text):,}"
    return Sentence("Attached: {name}, {size} bytes, about {tokens} tokens", name=name, size=size, tokens=tokens)


def _listing(mention: Mention, files: Workspace) -> Attachment:
    listing = files.list_files(mention.path, max_items=MOST_LISTED)
    names = [entry.name + "/" * entry.is_dir for entry in listing.files]
    text = "\n".join([*names, *([listing.remark] if listing.remark else [])]) or "(empty)"
    return Attachment.of_text(mention.name, "folder", text)


def _image(path: str, files: Workspace) -> Attachment:
    if not isinstance(files, ReadingWorkspace):
        raise BadImage("images cannot be read through a gateway")
    return image_from_bytes(path, files.read_bytes(path, MAX_IMAGE_BYTES))
