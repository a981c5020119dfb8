"""`roundledger completion`: what makes a shell complete commands and options."""

from __future__ import annotations

import click

from cli.options import COMPLETE, examples

SHELLS = ("bash", "zsh", "fish")


@click.command(
    epilog=examples(
        'eval "$(roundledger completion bash)"                                            in ~/.bashrc',
        'eval "$(roundledger completion zsh)"                                             in ~/.zshrc',
        "roundledger completion fish > ~/.config/fish/completions/roundledger.fish",
    )
)
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the script that makes a shell complete this program.

    Commands, options and the values that an option knows are completed. Bash has to be 4.4 or newer.
    """
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None, "click knows the shells that are offered"
    click.echo(kind(ctx.find_root().command, {}, "roundledger", COMPLETE).source())
