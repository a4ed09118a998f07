"""The subcommands of `nebula`, one module each."""
