"""Modules joined into one file run as they would by themselves."""

from __future__ import annotations

import subprocess

import pytest

from nebula.server.conversation.joined import NotJoinable, joined_script, joined_sheet
from rows import each_row


def run(tmp_path, script, **others):
    for name, text in others.items():
        (tmp_path / f"{name}.js").write_text(text, "utf-8")
    (tmp_path / "package.json").write_text('{"type": "module"}', "utf-8")
    (tmp_path / "main.js").write_text(script, "utf-8")
    found = subprocess.run(["node", "main.js"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
    return found.stdout.split()


MODULES = {
    "main.js": 'import { double as twice } from "./lib/sums.js";\nimport * as words from "./lib/words.js";\n'
    'import { ready } from "./apart.js";\nconsole.log(twice(4), words.HELLO, new words.Greeting().text(), ready);\n'
    'import("./lib/late.js").then(({ late }) => console.log(late));\n',
    "lib/sums.js": 'import { add } from "./words.js";\nexport function double(of) {\n  return add(of, of);\n}\n',
    "lib/words.js": 'export const HELLO = "hello";\nexport class Greeting {\n  text() {\n    return HELLO;\n  }\n}\n'
    'export { plus as add } from "../vendor/small.js";\n',
    "vendor/small.js": "const p=(a,b)=>a+b;class c{}export{p as plus,c as Unused};\n//# sourceMappingURL=small.js.map",
}


@pytest.mark.slow
def test_what_is_joined_runs_as_its_modules_would(tmp_path):
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "late.js").write_text("export const late = 1;", "utf-8")
    script = joined_script(MODULES, "main.js", frozenset({"apart.js"}))
    assert run(tmp_path, script, apart="export const ready = true;") == ["8", "hello", "hello", "true", "1"]


def test_what_an_entry_exports_is_exported_still():
    assert joined_script({"a.js": "export const one = 1;\n"}, "a.js").endswith("export const { one } = module_a_js;\n")


@each_row("text", ["export default 1;", "export let a = 1;", 'import x from "./b.js";', 'import "./b.js";'])
@each_row("before", ["", "\n", "f();", "if(a){f()}", "const report = exports;\n"])
def test_what_is_not_understood_is_refused(text, before):
    with pytest.raises(NotJoinable) as refused:
        joined_script({"a.js": before + text, "b.js": ""}, "a.js")
    assert str(refused.value) == f"a.js: {text}"


@pytest.mark.parametrize("text", ['f(" export default 1")', 'reimport("./b.js")', "transport(1)", 'import("b.js")'])
def test_what_only_looks_like_it_stays(text):
    assert text in joined_script({"a.js": text, "b.js": ""}, "a.js")


def test_modules_that_import_each_other_are_refused():
    modules = {"a.js": 'import { b } from "./b.js";', "b.js": 'import { a } from "./a.js";'}
    with pytest.raises(NotJoinable, match=r"a\.js → b\.js → a\.js"):
        joined_script(modules, "a.js")


def test_the_first_style_sheet_comes_first():
    sheets = {"a/one.css": "a {}", "index.css": "all {}", "b/two.css": "b {}"}
    assert joined_sheet(sheets, "index.css") == "all {}\na {}\nb {}"


def test_no_remark_of_a_style_sheet_is_served():
    sheet = "/* One. */\na { /* two, @media */\n  b: c; /* three\n     lines */\n}\n/* @license stays */\n"
    assert joined_sheet({"a.css": sheet}, "a.css") == "a {\nb: c;\n}\n/* @license stays */\n"
