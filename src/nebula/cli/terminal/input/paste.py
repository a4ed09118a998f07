"""Long pastes are shown as `[pasted 40 lines]` while the prompt is written.

When it is sent, they are whole again; large ones stay a mark and go with the prompt as attachments. The path of an
image, as a terminal pastes it when a file is dragged there, becomes the image.
"""

from __future__ import annotations

import os
import re
from functools import lru_cache
from urllib.parse import unquote

from nebula.agent.attached.images import ENDINGS, BadImage, image_from_bytes, image_from_file
from nebula.agent.context.tokens import TOKENS_PER_IMAGE
from nebula.attachments import Attachment, is_large
from nebula.graph.tokens import estimate_tokens
from nebula.language import Sentence, sentence_of, translate, translate_count

FOLD_LINES = 6
FOLD_CHARACTERS = 1_000
_WHOLE_PATH = (
    r"(?:^|(?<=[\s(（「、。]))['\"]?~?/(?:\\.|[^\s\\'\"])+?(?:" + "|".join(map(re.escape, ENDINGS)) + r")(?![\w/.])"
)
"""A path from the root or the home, at the beginning of a word, that ends as an image does."""


class Pastes:
    """The pastes of this session. A mark that was edited is ordinary text and stays as it is."""

    def __init__(self) -> None:
        self._folded: dict[str, str] = {}
        self._images: dict[str, str] = {}
        """Mark → path."""
        self._copied: dict[str, Attachment] = {}
        """Mark → image from the clipboard."""

    def fold(self, text: str) -> str:
        """Return what to insert for a paste: the text itself, or a mark that stands for it."""
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        if path := image_path(text):
            mark = translate("[image {name}]", name=os.path.basename(path))
            self._images[mark] = path
            return mark
        lines = text.count("\n") + (not text.endswith("\n"))
        if lines < FOLD_LINES and len(text) < FOLD_CHARACTERS:
            return text
        mark = translate_count(lines, "[pasted 1 line]", "[pasted {count} lines]")
        number = 1
        while self._folded.get(mark, text) != text:
            number += 1
            mark = translate_count(
                lines, "[pasted 1 line #{number}]", "[pasted {count} lines #{number}]", number=number
            )
        self._folded[mark] = text
        return mark

    def add_image(self, data: bytes) -> str:
        """Keep an image from the clipboard and return the mark that stands for it. Raises BadImage."""
        number = len(self._copied) + 1
        name = f"clipboard-{number}.png"
        mark = translate("[image {name}]", name=name)
        self._copied[mark] = image_from_bytes(name, data)
        return mark

    def fold_prompt(self, prompt: str) -> str:
        """Return a prompt of an earlier session: its first line, and the rest folded where that is long."""
        first, line_break, rest = prompt.partition("\n")
        return first + line_break + self.fold(rest) if rest else prompt

    def expand(self, prompt: str) -> str:
        """Return the prompt with each mark replaced by its text, once: what was pasted is not searched for marks."""
        return _replaced(prompt, self._folded)

    def expand_small(self, prompt: str) -> str:
        """Return the prompt as it is sent; what it leaves as marks, `attachments` has."""
        return _replaced(prompt, {mark: text for mark, text in self._folded.items() if not is_large(text)})

    def tokens(self, prompt: str) -> list[int]:
        """Count the tokens of each large paste and image whose mark stands in a prompt."""
        large = [_tokens(text) for mark, text in self._folded.items() if is_large(text) and mark in prompt]
        images = [mark for mark in (*self._images, *self._copied) if mark in prompt]
        return large + [TOKENS_PER_IMAGE for _ in (*images, *typed_images(prompt))]

    def attachments(self, prompt: str) -> tuple[list[Attachment], list[Sentence]]:
        """Return what the marks and the paths of images in a prompt stand for, and what is wrong with an image."""
        large = {mark: text for mark, text in self._folded.items() if is_large(text)}
        found = [Attachment.of_text(mark, "paste", text) for mark, text in large.items() if mark in prompt]
        found += [image for mark, image in self._copied.items() if mark in prompt]
        problems = []
        pasted = [path for mark, path in self._images.items() if mark in prompt]
        for path in dict.fromkeys((*pasted, *typed_images(prompt))):
            try:
                found.append(image_from_file(path))
            except BadImage as problem:
                problems.append(sentence_of(problem))
        return found, problems


@lru_cache(maxsize=32)
def _tokens(text: str) -> int:
    """Count tokens as it is done when the prompt is sent; asked for again with every key."""
    return estimate_tokens(text)


def image_path(pasted: str) -> str:
    """Return the image that a pasted line is the path of; empty where it is anything else."""
    text = pasted.strip()
    if not text.lower().rstrip("'\"").endswith(ENDINGS) or "\n" in text:
        return ""
    text = text.removeprefix("file://") if not text.startswith("file:///") else unquote(text.removeprefix("file://"))
    path = os.path.expanduser(re.sub(r"\\(.)", r"\1", text.strip("'\"")))
    return path if os.path.isabs(path) and os.path.isfile(path) else ""


def typed_images(prompt: str) -> list[str]:
    """Return the images that a prompt names by their whole paths. With an `@` in front they are found as all files
    are."""
    if not any(ending in prompt.lower() for ending in ENDINGS):
        return []
    return [path for word in re.findall(_WHOLE_PATH, prompt, re.IGNORECASE) if (path := image_path(word))]


def _replaced(prompt: str, texts: dict[str, str]) -> str:
    if not texts:
        return prompt
    longest_first = sorted(texts, key=len, reverse=True)
    marks = re.compile("|".join(map(re.escape, longest_first)))
    return marks.sub(lambda found: texts[found[0]], prompt)
