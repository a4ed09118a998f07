"""Second stage of the database: what the node files say, for search and for handing out nodes quickly."""

from __future__ import annotations

import json
import sqlite3

from nebula.files.database import transaction
from nebula.graph.derived.bodies import encode
from nebula.graph.derived.discover import Discovery
from nebula.graph.derived.node_cache import READ, UNREAD, UNREADABLE
from nebula.graph.derived.search_terms import folded, index_text
from nebula.graph.disk import files
from nebula.graph.disk.data_folder import DataFolder
from nebula.graph.disk.node_files import FOLDER, NodeFiles
from nebula.graph.errors import BadFile, NotFound
from nebula.graph.formats.node_xml import load_node
from nebula.graph.ids import sort_key
from nebula.graph.values import Node
from nebula.language import Sentence

_GAP = " \ue000 "
"""A term no text has: keeps a phrase from running from one tag into the next."""
_FILL = """UPDATE files SET id = ?, timestamp = ?, moment = ?, changed_ns = ?, size = ?, inode = ?, state = ?,
           due = ?, summary = ?, tags = ?, model = ?, touched = ?, beginning = ?,
           pinned = ? WHERE doc = ?"""


def read_some(db: sqlite3.Connection, disk: DataFolder, nodes: NodeFiles, limit: int) -> int:
    """Read up to `limit` files that were not read yet, the newest; return how many there were."""
    query = "SELECT doc, path, id FROM files WHERE state = ? ORDER BY doc DESC LIMIT ?"
    waiting = sorted(db.execute(query, (UNREAD, limit)).fetchall())  # terms want rising numbers
    if not waiting:
        return 0
    found = [(doc, known, *_read(disk, nodes, path)) for doc, path, known in waiting]
    with transaction(db):
        renamed = []
        for doc, known, signature, node in found:
            if db.execute("SELECT state FROM files WHERE doc = ?", (doc,)).fetchone() != (UNREAD,):
                continue  # another process was faster
            if isinstance(node, Node):
                _fill(db, doc, signature, node)
                if node.id != known:
                    renamed.append((known, node.id))
            else:
                values = (UNREADABLE, node, *signature, doc)
                db.execute(
                    "UPDATE files SET state = ?, problem = ?, changed_ns = ?, size = ?, inode = ? WHERE doc = ?", values
                )
                renamed.append((known, known))
        if renamed:
            Discovery(disk, db).settle({node_id for pair in renamed for node_id in pair})
    return len(waiting)


def _read(disk: DataFolder, nodes: NodeFiles, path: str) -> tuple[files.Signature, Node | str]:
    signature = disk.signature(f"{FOLDER}/{path}") or files.ABSENT
    try:
        # Past its memory, which is for what is asked for again and again.
        return signature, load_node(nodes.read_bytes(path), f"{FOLDER}/{path}")
    except BadFile as error:
        return signature, dump_sentence(error.reason)
    except NotFound as error:
        return signature, dump_sentence(Sentence(error.sentence, **error.values))


def _fill(db: sqlite3.Connection, doc: int, signature: files.Signature, node: Node) -> None:
    tags = {folded(tag): tag for tag in node.tags}
    db.execute(
        _FILL,
        (
            node.id,
            node.timestamp,
            sort_key(node.timestamp)[1],
            *signature,
            READ,
            node.due,
            node.summary,
            "\n".join(node.tags),
            node.model,
            "\n".join(file.path for file in node.files),
            node.beginning,
            node.pinned,
            doc,
        ),
    )
    db.execute("INSERT OR REPLACE INTO bodies VALUES (?, ?)", (doc, encode(node)))
    db.executemany("INSERT OR REPLACE INTO tags VALUES (?, ?, ?)", [(tag, doc, tags[tag]) for tag in tags])
    tag_terms = _GAP.join(map(index_text, node.tags))
    summary = index_text(node.summary)
    db.execute("INSERT INTO keywords (rowid, tags, summary) VALUES (?, ?, ?)", (doc, tag_terms, summary))
    brief = _GAP.join((tag_terms, summary, *filter(None, [index_text(node.note)])))
    values = (doc, brief, index_text(node.prompt), index_text(node.response))
    db.execute("INSERT INTO texts (rowid, brief, prompt, response) VALUES (?, ?, ?, ?)", values)


def dump_sentence(sentence: Sentence) -> str:
    """Return what is wrong with a file as it is kept; it is said later in the language of whoever asks."""
    return json.dumps([sentence.sentence, {name: str(each) for name, each in sentence.values.items()}])


def load_sentence(text: str) -> Sentence:
    sentence, values = json.loads(text)
    return Sentence(sentence, **values)
