"""One task tried several times side by side, each try in a place of its own; what one of them did can be taken."""
