"""The three commands, described by their own parsers: for completion in shells, and for the manual pages."""
