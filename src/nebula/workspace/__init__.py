"""The guarded files: one gate for every list, read, write and search, in process or remote.

    workspace = open_workspace("/path/to/project", Policy())
    text = workspace.read_file("src/app.py")
    workspace.write_file("src/app.py", text.content + "\\n", "overwrite", expected=text.sha256)

`contract` is what callers depend on, `errors` what they may catch; docs/security.md says what is promised.
"""
