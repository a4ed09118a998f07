"""The interactive terminal, one small file a thing.

`conversation` is the loop of prompts and turns; `commands` the table of words it knows; `screen` all that is printed;
`input` all that is read, either by the line editor or, on a dumb terminal or a pipe, line by line.
"""
