"""Projects of five kinds: their own tests run in the layer, found by /checks, without a setting.

Each needs its tools on this machine, where users have them: in the home or in the system.
"""

from __future__ import annotations

import json
import os
import pwd
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import Bench
from python_environment import make_environment
from scripted_model import Call, ScriptedModel, Turn

PYTHON = {
    "calc.py": "def add(a, b):\n    return a + b\n",
    "tests/test_calc.py": "import sys\n\nfrom calc import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n\n\n"
    "def test_here():\n    assert sys.prefix.endswith('.venv')\n",
    "pyproject.toml": '[tool.pytest.ini_options]\npythonpath = ["."]\n',
}
NODE = {
    "package.json": '{"name": "calc", "type": "module", "scripts": {"test": "node --test"}}',
    "calc.js": "export const add = (a, b) => a + b;\n",
    "calc.test.js": 'import test from "node:test";\nimport assert from "node:assert";\nimport { add } from "./calc.js";\n'
    'test("add", () => assert.equal(add(1, 2), 3));\n',
}
RUST = {
    "Cargo.toml": '[package]\nname = "calc"\nversion = "0.1.0"\nedition = "2021"\n',
    "src/lib.rs": "pub fn add(a: i32, b: i32) -> i32 {\n    a + b\n}\n\n#[cfg(test)]\nmod tests {\n    #[test]\n"
    "    fn adds() {\n        assert_eq!(super::add(1, 2), 3);\n    }\n}\n",
}
GO = {
    "go.mod": "module example.org/calc\n\ngo 1.19\n",
    "calc.go": "package calc\n\nfunc Add(a, b int) int { return a + b }\n",
    "calc_test.go": 'package calc\n\nimport "testing"\n\nfunc TestAdd(t *testing.T) {\n\tif Add(1, 2) != 3 {\n\t\tt.Fatal("no")\n'
    "\t}\n}\n",
}
JAVA = {
    "build.gradle": "apply plugin: 'java'\ntask check1 { doLast { assert 1 + 2 == 3 } }\ntest.dependsOn check1\n",
    "src/main/java/Calc.java": "public class Calc { public static int add(int a, int b) { return a + b; } }\n",
}


def lock_by_pnpm(project: Path) -> None:
    (project / "pnpm-lock.yaml").write_text("lockfileVersion: '9.0'\n\nimporters:\n\n  .: {}\n", "utf-8")


def nothing(_: Path) -> None:
    """Everything is there."""


@pytest.mark.parametrize("lang", ["en", "ja"])
@pytest.mark.parametrize(
    ("program", "files", "prepare", "check"),
    [
        ("python3", PYTHON, make_environment, "python -m pytest -q"),
        ("pnpm", NODE, lock_by_pnpm, "pnpm test"),
        ("npm", NODE, nothing, "npm test --silent"),
        ("cargo", RUST, nothing, "cargo test --quiet"),
        ("go", GO, nothing, "go test ./..."),
        ("gradle", JAVA, nothing, "gradle test --offline"),
    ],
    ids=["python", "pnpm", "npm", "rust", "go", "gradle"],
)
def test_its_own_tests_run_in_the_layer(
    bench: Bench, program: str, files: dict[str, str], prepare: Callable[[Path], None], check: str, lang: str
) -> None:
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed on this machine")
    for path, text in files.items():
        bench.write(path, text)
    prepare(bench.project)
    own = {
        "HOME": pwd.getpwuid(os.getuid()).pw_dir,
        "NEBULA_HOME": str(bench.home / ".nebula"),
        "PATH": os.environ["PATH"],
        "VIRTUAL_ENV": "",
    }
    with ScriptedModel([Turn("", [Call("runCheck", {"name": check})]), Turn("Passed.")]) as server:
        typed = "/checks\ny\ncheck it\nexit\n"
        ran = bench.run("nebula", stdin=typed, timeout=300, NEBULA_LANG=lang, **own, **server.env())
        told = json.loads(server.turns[1].json["messages"][-1]["content"])
    assert told["passed"] is True, told
    assert f"\n  {check}\n" in ran.out and "✗" not in ran.out
