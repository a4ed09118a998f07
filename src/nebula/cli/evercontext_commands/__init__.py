"""The subcommands of `evercontext`, one module each."""
