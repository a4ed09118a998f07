"""The interactive terminal.

`terminal_session` holds what its parts share, `turns` runs one turn; `input/` is all that is read, `output/` all that
is printed, `dialogs/` the questions, `commands/` the words the session understands.
"""
