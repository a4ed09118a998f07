"""The guarded files: one gate for every list, read, write and search, in process or remote.

    workspace = open_workspace("/path/to/project", Policy())
    text = workspace.read_file("src/app.py")
    workspace.write_file("src/app.py", text.content + "\\n", "overwrite", expected=text.sha256)

`contract` is what callers depend on, `errors` what they may catch; docs/security.md says what is promised.
"""

from nebula.workspace.contract import ABSENT
from nebula.workspace.errors import WorkspaceError
from nebula.workspace.guard.judge import Policy
from nebula.workspace.local import LocalWorkspace, open_workspace

__all__ = ["ABSENT", "LocalWorkspace", "Policy", "WorkspaceError", "open_workspace"]
