"""Replacing a file of the user: the request, the file that is there, and the only code that changes files."""
