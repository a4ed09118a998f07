"""nebula completion: what a shell needs to complete the words of the three commands."""

from __future__ import annotations

from collections.abc import Sequence

from nebula.cli.arguments import Parser
from nebula.cli.described.shells import SHELLS
from nebula.cli.described.tree import describe_programs
from nebula.cli.printing import print_line


def main(argv: Sequence[str]) -> None:
    parser = Parser(
        "nebula completion",
        "Prints what makes a shell complete nebula, evercontext and vizprompt.",
        examples=(
            "echo 'eval \"$(nebula completion bash)\"' >> ~/.bashrc",
            "echo 'eval \"$(nebula completion zsh)\"' >> ~/.zshrc",
            "nebula completion fish | tee ~/.config/fish/completions/{nebula,evercontext,vizprompt}.fish > /dev/null",
        ),
    )
    parser.add_argument("shell", choices=SHELLS, metavar="SHELL", help="bash, zsh or fish")
    options = parser.parse_args(argv)

    print_line(SHELLS[options.shell](describe_programs()).rstrip())
