"""Three commands, one small file a subcommand; each loads what it needs when it runs."""
