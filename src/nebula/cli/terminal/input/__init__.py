"""What the person types: a line editor on a capable terminal, plain lines elsewhere."""
