"""The code index: finds the lines of a project that a question is about, and stays in step with its files.

    with Index.open(root) as index:          # nebula.index.index
        index.sync()                         # whatever git or an editor did
        for hit in index.search("where is the session saved?"):
            print(f"{hit.path}#{hit.span}", hit.symbol)

`index` is the face, `values` what goes in and out, `constants` every number with its reason. Below them: `chunks`
(files into chunks), `terms` (texts into words), `ranking`, `building` (segments, by several processes), `stores`
(SQLite, PostgreSQL), `embedders`, and `in_step` (git and files, the queue, hook and watch). Importing this package
imports nothing.
"""
