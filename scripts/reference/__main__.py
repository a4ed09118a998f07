"""Write the pages of docs/reference/ that follow from the code, in English and Japanese.

.venv/bin/python scripts/reference             # writes them
.venv/bin/python scripts/reference --check     # names those that are not current; exit code 1 where there are any
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

os.environ["NEBULA_HOME"] = "/nonexistent"  # no setting of this machine belongs into a page

from actions import list_actions
from codes import list_exit_codes
from commands import list_commands
from events import list_events
from library import list_library
from routes import list_routes
from session_commands import list_session_commands
from settings import list_settings
from words import LANGUAGES, missing_words, use

FOLDER = Path(__file__).parents[2] / "docs" / "reference"
PAGES = {
    "commands": list_commands,
    "session-commands": list_session_commands,
    "settings": list_settings,
    "events": list_events,
    "actions": list_actions,
    "routes": list_routes,
    "library": list_library,
    "exit-codes": list_exit_codes,
}


def main(check: bool) -> int:
    stale = []
    for language in LANGUAGES:
        use(language)
        for name, make in PAGES.items():
            path = FOLDER / (f"{name}.md" if language == "en" else f"{name}.{language}.md")
            text = make()
            if not path.exists() or path.read_text("utf-8") != text:
                stale.append(path.name)
                if not check:
                    path.write_text(text, "utf-8")
    for text in missing_words():
        print(f"words.ja.json has no Japanese for: {text}", file=sys.stderr)
    if check and stale:
        print(f"not current: {', '.join(stale)}; run .venv/bin/python scripts/reference", file=sys.stderr)
    return 1 if check and (missing_words() or stale) else 0


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
