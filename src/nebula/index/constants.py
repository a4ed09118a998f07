"""Every number of the index, each with its reason. Speed: `bench/index.py`; quality: docs/concepts/retrieval.md.

What changes a term or a weight on disk also changes `FORMAT`, so that an older index is built anew.
"""

from __future__ import annotations

from typing import Final

FORMAT: Final = 7
"""Of the index on disk: terms, weights, spans. Another one is not read but rebuilt."""
APPLICATION_ID: Final = 0x4E_49_44_58
"""Marks the SQLite file as an index of ours ("NIDX")."""

# --- what is read -------------------------------------------------------------------------------------------------
MAX_FILE_BYTES: Final = 524_288
"""The limit of the workspace (EC_MAX_BYTES): what cannot be read there need not be found."""
BINARY_PROBE_BYTES: Final = 8_000
"""A NUL byte in so many first bytes means binary: git's own rule."""
MAX_CHUNK_BYTES: Final = 65_536
"""A single line longer than this is machine-made and left out; one hit of it would fill a model's context."""
MINIFIED_LINE_BYTES: Final = 400
"""Lines longer than this on average are not written by hand: the file counts as generated."""

# --- chunks ---------------------------------------------------------------------------------------------------------
MAX_LINES: Final = 60
"""A definition up to this long stays whole. About one screen; nine of ten functions are shorter."""
WINDOW_LINES: Final = 40
"""Where there is no definition to follow: half a page is enough context to judge a hit by."""
WINDOW_BYTES: Final = 8_192
"""Long lines end a window sooner, so that hits stay of similar size."""
REST_LINES: Final = 6
"""A rest shorter than this is not worth a window of its own and stays with the one before."""
PARSE_SECONDS: Final = 2.0
"""Of a thread's own time for one file. The largest that is read needs a fifth of it, if nobody made it take long."""
PARSE_AT_ONCE_BYTES: Final = 16_384
"""Up to here a text is handed over whole, which is quicker: the slowest that is known takes half of `PARSE_SECONDS`."""
PARSE_STEP_BYTES: Final = 2_048
"""Handed to a parser at once; the limit is looked at in between. Smaller steps cost time in every file."""
MOST_YAML_BLOCKS: Final = 150
"""In each other; more may be more than the scanner of the grammar has room for."""
MAX_DEPTH: Final = 24
"""Definitions nested deeper than this are not looked for; machine-made data nests without end."""

# --- terms ----------------------------------------------------------------------------------------------------------
MAX_TERM_LETTERS: Final = 48
"""Longer words are hashes and encoded data; nobody searches for them."""
MAX_NUMBER_LETTERS: Final = 4
"""Status codes, versions and years are searched for; longer numbers are data."""
MAX_WORDS_A_CHUNK: Final = 20_000
"""Words read of one chunk; only machine-made lines have more."""
MAX_QUERY_LETTERS: Final = 8_000
MAX_QUERY_TERMS: Final = 64
"""A pasted page is cut here; the first sentences say what is wanted."""

# --- weights on disk (BM25) -----------------------------------------------------------------------------------------
LEVELS: Final = 32
"""How finely a weight is kept. A weight in one of 32 steps is off by 1.5 % at most, less than BM25 is worth."""
BM25_K1: Final = 1.2
BM25_B: Final = 0.75
"""The usual values."""
CHUNK_AVERAGE: Final = 110
FILE_AVERAGE: Final = 1_500
"""Terms of an average chunk and file. Constants, not the averages of this project: a chunk then weighs the same
whatever else is indexed, so that an index kept in step equals one built anew."""
SYMBOL_WEIGHT: Final = 2
"""How often a word counts that is part of a definition's name: who defines it is better than who uses it."""
SEGMENT_CHUNKS: Final = 65_535
"""Chunks of one segment at most: places in it are two bytes."""
PATH_NAME_WEIGHT: Final = 2
PATH_FOLDER_WEIGHT: Final = 1
"""What a file is called says more than the folder it lies in."""

# --- past commits -----------------------------------------------------------------------------------------------------
HISTORY_COMMITS: Final = 3_000
"""Of the past that is looked at. By number, not by date: the same commit has the same past tomorrow."""
HISTORY_FILES: Final = 12
"""A commit that changed more files than this is about none of them."""
HISTORY_MOVES: Final = 2_000
"""Files that one commit moved and that are followed to their new names."""
HISTORY_SUBJECT_LETTERS: Final = 300
HISTORY_BATCH: Final = 500
"""Commits read by one git."""
HISTORY_SECONDS: Final = 1.0
"""For what one look at the files may spend on commits it does not know; the next look goes on."""
HISTORY_GIT_TIMEOUT_S: Final = 5.0

# --- search ---------------------------------------------------------------------------------------------------------
CODE_WORD_WEIGHT: Final = 1.3
"""A name in the question (`get_user`, `HttpClient`, anything in backticks) is what the asker knows for sure."""
FAINT_WORD_WEIGHT: Final = 0.4
"""Words of any request ("fix", "return", "file") are left in: they help where a docstring says just that."""
LEAD_WORDS: Final = 16
REST_WEIGHT: Final = 0.6
"""A title or first sentence says what is wanted; what follows explains, quotes and digresses."""
PAIR_WEIGHT: Final = 0.5
"""Two neighbouring words of the question that are one name in the code: "session cookie" and `sessionCookie`."""
PIECE_WEIGHT: Final = 0.3
"""A pair of Japanese letters: a sentence has one for each letter, and most of them are no word."""
RELATED_WEIGHT: Final = 0.3
"""What code writes instead of a word ("config" for "configuration"): a guess, far below the word itself. The n words of
one entry get n ** -0.5 of it each."""
SHARED_WEIGHT: Final = 0.6
"""A Japanese word with n translations gives each n ** -0.6: more than an n-th, as the code uses only one of them, but
less than a whole word."""
LOAN_WEIGHT: Final = 0.8
"""A word told by its sound: seldom another one is meant."""
KANJI_WEIGHT: Final = 0.3
"""A letter of a compound that no list has: a hint at most."""
CANDIDATES: Final = 300
"""Chunks, best by their own words, that are ranked by everything else."""
FILE_CANDIDATES: Final = 30
"""Files, best by their path, whose best chunk is ranked as well, though its own words may say little."""
PATH_K1: Final = 1.0
COMMON_PATH_TERM: Final = 0.2
"""A word in more than this share of all paths tells none from another."""
OTHERS: Final = 2
"""The next best chunks of the same file: one that speaks of the question in several places is the likelier one."""
MAX_PATHS: Final = 2_000
"""And neither does one in more paths than this, however large the project."""
DUPLICATE_PENALTY: Final = 0.5
"""A text that stands higher in the list already says nothing new."""
UNIT_PATH: Final = 0.4
UNIT_NAME: Final = 0.5
"""A word in the path, and one in a name that a chunk defines, beside one in its text: the best chunk by these three is
the unit in which the words of all chunks are measured."""
RARE_SHARE: Final = 0.003
"""A language with less of a project's code than this is as rare as one can be."""
PART_WEIGHTS: Final[dict[str, float]] = {
    "words": 0.946,
    "path": 0.49,
    "name": 0.536,
    "whole file": 0.604,
    "next chunks": 0.253,
    "best of its file": 0.066,
    "references": 0.101,
    "history": 0.5,
    "file name": 0.253,
    "whole file name": 0.166,
    "length": 0.048,
    "no definition": -0.053,
    "many definitions": -0.08,
    "test": -0.952,
    "prose": -1.023,
    "data": -1.043,
    "vendored": -0.775,
    "generated": -0.985,
    "example": -0.885,
    "declaration": -0.314,
    "code in headers": 0.073,
    "rare language": -0.362,
    "no language": -0.209,
    "asked for": 0.3,
    "meaning": 1.2,
}
"""How much each part of a score counts (`ranking/parts.py`). Fitted by `bench/ranking/fit.py`, not chosen: they put
the right file or definition as high as they can over the questions of 22 public repositories in ten languages, none of
them one of the benchmark's, while they stay near those that were once chosen by hand. A negative one ranks down:
whoever asks how something works wants the code that does it, not what checks, describes, declares or copies it. The
last two were set by hand: a header file that was asked for stands before the longer text of its code, and meaning
counts where an embedder is chosen."""
MAX_POSTINGS: Final = 100_000
"""Occurrences looked at for one question, those of the rarest words first: it bounds the time of a search whatever the
size of the index; on the benchmark, more of them find nothing better."""
MAX_FILE_POSTINGS: Final = 25_000
"""The same for whole files, of which there are fewer."""
LARGE_CHUNKS: Final = 150_000
"""From here on a search keeps scores only of the chunks it met: most of so many have none."""

# --- reference rank -------------------------------------------------------------------------------------------------
MIN_NAME_LETTERS: Final = 4
"""Shorter names (`get`, `run`, `id`) are also ordinary words, and point nowhere."""
MAX_DEFINING_FILES: Final = 3
"""A name that more files define says little about which of them is meant."""
RANK_DAMPING: Final = 0.85
"""PageRank's own."""
RANK_ROUNDS: Final = 12
"""Enough for the order to settle on graphs of this kind; the rank is only a nudge."""

# --- in step with the files -----------------------------------------------------------------------------------------
GIT_TIMEOUT_S: Final = 60.0
"""Listing a very large repository on a slow disk; usually 10 ms."""
MAX_NESTED_REPOSITORIES: Final = 4
"""Submodules in submodules, so deep and no deeper."""
SETTLED_NS: Final = 2_000_000_000
"""A file changed less than this ago may change again under the same time stamp (some file systems count in 2 s)."""
BATCH_BYTES: Final = 5_000_000
BATCH_FILES: Final = 4_000
"""Of one segment of a first index: large enough for few segments, small enough for little memory."""
MAX_BATCH_BYTES: Final = 16_000_000
FIRST_SEGMENTS: Final = 16
"""A very large tree gets larger segments, so that there are about so many of them."""
PARALLEL_BYTES: Final = 1_500_000
"""Below this, starting processes costs more than they save."""
MAX_WORKERS: Final = 4
"""Processes of a first index; one writer keeps up with no more."""
MAX_SEGMENTS: Final = 24
"""Each search looks into every segment; beyond this the smallest are merged."""
MERGED_SEGMENTS: Final = 16
"""How many at once."""
MAX_DEAD_SHARE: Final = 0.5
"""A segment with more dead chunks than this is written anew."""
FRESH_ROUNDS: Final = 3
"""How often a search starts over because a file it found had changed, before it leaves such files out."""
RERANK_FILES: Final = 200
RERANK_SHARE: Final = 0.02
"""The reference rank is made anew when so many files changed since."""
WATCH_PAUSE_S: Final = 0.5
"""Between two looks at the files while watching: an edit is searchable before the editor's window is left."""
WATCH_SHARE: Final = 0.05
"""Of one core that watching may cost; a large project is looked at less often."""
MAX_ENTRY_BYTES: Final = 64_000_000
"""Of one queued commit: half a million paths."""

# --- vectors --------------------------------------------------------------------------------------------------------
NEAREST: Final = 100
"""Chunks, nearest in meaning, that are ranked though they may share no word with the question."""
EMBED_BATCH: Final = 64
"""Texts in one request: what common servers take, and little to lose when one fails."""
EMBED_TEXT_LETTERS: Final = 6_000
"""Of one text: some 1,500 tokens; most embedders read no more."""
EMBED_TIMEOUT_S: Final = 60.0
ONNX_BATCH: Final = 16
ONNX_TOKENS: Final = 512
"""Of a model that runs here: what common encoders were trained on. More texts at once need memory and save no time."""
QUESTION_TIMEOUT_S: Final = 5.0
"""A search answers by words alone rather than wait longer for the question's vector."""
OUTLINE_FILES: Final = 80
"""Of an outline: more than fit into it, so that a question can bring up what nobody refers to."""
OUTLINE_HITS: Final = 30
OUTLINE_SYMBOLS: Final = 12
"""Named of one file in an outline; a file with more is better searched."""
