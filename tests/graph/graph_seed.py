"""The examples of the specification, cut out of its own text."""

from __future__ import annotations

import pathlib
import re

_SEED = pathlib.Path("/work/shared/seeds/004_b819051edfd17c5e.txt")

NODE_XML = """\
<?xml version="1.0" encoding="utf-8"?>
<node id="xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx" timestamp="2025-05-09T06:48:06.533720+09:00">
<contents>
<text role="user" count="6" duration="1.20" rate="4.99"><![CDATA[
プロンプト内容をここに記載...
（改行やフォーマットを保持）
]]></text>
<text role="assistant" count="14" duration="0.08" rate="179.49"><![CDATA[
応答内容をここに記載...
（改行やフォーマットを保持）
]]></text>
</contents>
<metadata>
<model>gemini-2.0-flash-001</model>
<summary updated="false" last_built="2025-05-09T06:48:06.533720+09:00"><![CDATA[
ノードの要約内容
]]></summary>
<tags>
<tag>タグ1</tag>
<tag>タグ2</tag>
<tag>タグ3</tag>
</tags>
</metadata>
</node>
"""

FLOW_YAML = """\
id: xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx
name: メインフロー
created: 2025-05-07T10:00:00+09:00
updated: 2025-05-08T13:55:22+09:00
description: フローの説明
# このフローに含まれる全てのノードのIDのリスト（順序ではない）
nodes:
  - index: 1
    id: xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx
  - index: 2
    id: xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx
  - index: 3
    id: xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx
  - index: 4
    id: xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx
# ノード間の接続情報（分岐や合流の情報を定義）
connections:
  # 分岐の例: Node 1からNode 2とNode 3に接続
  - from: 1
    to: 2
  - from: 1
    to: 3
  # 合流の例: Node 2とNode 3からNode 4に接続
  - from: 2
    to: 4
  - from: 3
    to: 4
"""

NODE_TSV = """\
relpath\tuuid\ttimestamp
00/00.xml\txxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx\t2025-05-09T06:48:06.533720+09:00
00/01.xml\txxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx\t2025-05-09T06:49:10.123456+09:00
00/02.xml\txxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx\t2025-05-09T06:50:22.654321+09:00
...
01/00.xml\txxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx\t2025-05-09T07:01:00.000000+09:00
...
"""


def block(section: str, language: str) -> str | None:
    """A code block of the document itself, where the document is at hand."""
    if not _SEED.exists():
        return None
    found = re.search(rf"### {re.escape(section)} .*?```{language}\n(.*?)```", _SEED.read_text("utf-8"), re.DOTALL)
    return found[1] if found else None
