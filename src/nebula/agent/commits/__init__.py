"""A commit of what is staged: the turns behind it, and a message made from them."""
