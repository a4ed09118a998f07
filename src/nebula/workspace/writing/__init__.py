"""How a file of the user is replaced: the request, what it finds, and the only code that changes files."""
