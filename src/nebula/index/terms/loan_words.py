"""Loan words: which English word a word in katakana was made of, by how it sounds.

Katakana writes syllables, so `bundle` became ba-n-do-ru: a vowel after each consonant, one letter for l and r, for b
and v, for s and th. Each syllable stands for some spellings; a word of code that all of them together can spell is
meant. The words of code are those that several public projects in ten languages use, the commonest first.
"""

from __future__ import annotations

import os
import re
from functools import lru_cache

from nebula.index.terms.words import stem

KATAKANA = re.compile(r"[\u30a1-\u30fa\u30fc]{2,}")
_MOST_WORDS = 2

_ROWS = {
    "": "アイウエオ",
    "k": "カキクケコ",
    "s": "サ\0スセソ",
    "t": "タ\0\0テト",
    "n": "ナニヌネノ",
    "h": "ハヒ\0ヘホ",
    "m": "マミムメモ",
    "y": "ヤ\0ユ\0ヨ",
    "r": "ラリルレロ",
    "w": "ワヰ\0ヱヲ",
    "g": "ガギグゲゴ",
    "z": "ザ\0ズゼゾ",
    "d": "ダ\0\0デド",
    "b": "バビブベボ",
    "p": "パピプペポ",
}
_SYLLABLES = {
    letter: row + vowel for row, letters in _ROWS.items() for letter, vowel in zip(letters, "aiueo", strict=True)
}
_SYLLABLES |= {
    "シ": "Si",
    "チ": "Ci",
    "ツ": "Tu",
    "フ": "fu",
    "ジ": "ji",
    "ヂ": "ji",
    "ヅ": "zu",
    "ヴ": "bu",
    "ン": "N",
}
_SMALL = dict(zip("ァィゥェォャュョ", "aiueoauo", strict=True))

_CONSONANTS = {
    "k": "(?:k|c|ck|cc|ch|q)",
    "s": "(?:s|ss|c|th|sc|ps)",
    "S": "(?:sh|ch|s|ss|c|th|sc)",
    "t": "(?:t|tt|th)",
    "C": "(?:ch|tch|t)",
    "T": "(?:ts|t|tz|tw)",
    "n": "(?:n|nn|kn|gn)",
    "h": "(?:h|wh)",
    "f": "(?:f|ff|ph)",
    "m": "(?:m|mm|mb)",
    "y": "(?:y|i|u)?",
    "r": "(?:r|l|rr|ll|wr)",
    "w": "(?:w|wh|u|o)",
    "g": "(?:g|gg|gu)",
    "z": "(?:z|s|th|x|ss)",
    "j": "(?:j|g|dg|d|z|s)",
    "d": "(?:d|dd)",
    "b": "(?:b|v|bb)",
    "p": "(?:p|pp)",
    "N": "(?:n|m|ng|nn)",
    "X": "(?:x|cks|ks|cs|ques)",
    "Y": "(?:tion|ssion|sion|cian)",
}
_VOWELS = {
    "aa": "(?:ar|er|or|ir|ur|ear|re|are|our|ure|al)",
    "ai": "(?:i|y|ie|igh|ei)e?",
    "au": "(?:ou|ow|au)",
    "ii": "(?:ee|ea|ie|ey|y|ear|eer|eo|[ei](?=[a-z]e))e?",
    "uu": "(?:u|oo|ew|ou|ue|o)e?",
    "ee": "(?:a|ai|ay|ei|e|ea)e?",
    "oo": "(?:o|oa|or|au|al|ore|oar|ow|ou|aw|our|ol)e?",
    "a": "(?:a|u|o|e|ou|ea|er|or|ar)",
    "i": "(?:i|e|y|ie|ea|ee|ui)",
    "u": "(?:u|oo|o|e|w|ew|ou)",
    "e": "(?:e|a|ea|ai|ie)",
    "o": "(?:o|a|au|ou|oa|ow|e|oo)",
}
_LONGEST = 40
"""Letters of katakana: more than the longest of the words could have."""
_UNSPOKEN = re.compile("[^aiueo]u|[tdTXY]o|[kCSjYX]i")
"""The vowel that Japanese adds where English has none: su-to-riimu is `stream`."""
_SOUND = re.compile("[^aiueo]?(?:aa|ai|au|ii|uu|ee|oo|[aiueo])|[^aiueo]")


@lru_cache(maxsize=1_000)
def english_of(katakana: str) -> tuple[str, ...]:
    """Return the words of code that may be meant, the commonest first; none where no word sounds like it."""
    if len(katakana) > _LONGEST:
        return ()
    spelled = re.compile(_pattern(katakana))
    stems: dict[str, str] = {}
    for word in filter(spelled.fullmatch, _words()):
        stems.setdefault(stem(word), word)
    return tuple(stems.values())[:_MOST_WORDS]


def _pattern(katakana: str) -> str:
    return "".join(map(_spellings, _SOUND.findall(_sounds(katakana)))) + "(?:e|s|es|ed|ing|re)?"


def _spellings(sound: str) -> str:
    """Return how a consonant, a vowel or both are spelled."""
    consonant, vowel = (sound[0], sound[1:]) if sound[0] in _CONSONANTS else ("", sound)
    may_be_silent = "?" if _UNSPOKEN.fullmatch(sound) else ""
    return _CONSONANTS.get(consonant, "") + (_VOWELS[vowel] + may_be_silent if vowel else "")


def _sounds(katakana: str) -> str:
    """Return the sounds in Latin letters: a capital is a sound that none of them stands for."""
    sounds = before = ""
    for letter in katakana:
        if letter == "ー":
            sounds += sounds[-1] if sounds[-1:] in tuple("aiueo") else ""
        elif letter in _SMALL:  # フィ is f and i, ウェ is w and e
            sounds = sounds[:-1] + "w" * (before == "ウ") + _SMALL[letter]
        else:
            sounds += _SYLLABLES.get(letter, "")
        before = letter
    sounds = sounds.replace("SoN", "Y").replace("joN", "Y").replace("ei", "ee").replace("ou", "oo")
    return re.sub("k[iu]s[iu]?|k[iu]S", "X", sounds)


@lru_cache(maxsize=1)
def _words() -> tuple[str, ...]:
    return tuple(read_list("english.txt").split())


def read_list(name: str) -> str:
    """Return the text of a list beside this module, opened as a plain file: `importlib.resources` would be a sixth of a
    new search."""
    with open(os.path.join(os.path.dirname(__file__), name), encoding="utf-8") as file:
        return file.read()
