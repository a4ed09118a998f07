"""The subcommands of `vizprompt`, one small file each; `nebula graph` offers some of them too."""
