"""nebula, a coding agent whose every turn is a node.

Importing this package imports nothing else: each command loads what it uses.
"""

__version__ = "0.1.0"
