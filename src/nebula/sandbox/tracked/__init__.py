"""The files that a command sees empty, as git sees them in its layer: nothing about them has changed."""
