"""What is kept of a turn: sessions in SQLite, the log for people, the trace for programs.

Three readers of the one stream of events; each has written an event before the next may happen.
"""
