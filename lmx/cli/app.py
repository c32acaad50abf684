"""Help as Typer draws it, from the table in `lmx.argv`.

Only help comes through here: parsing with Typer would make every run pay for its import, and box our one-sentence errors
(cli.md 1.2 m). Nothing may be written here that the table does not say, or help and parser would drift apart.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Annotated, Any

import typer
from typer.main import get_command

from lmx import argv

WIDTH = 100
_EPILOG = (
    "Exit statuses: 0 an answer; 1 anything else; 2 usage or configuration; 3 no usable API key; 4 a limit; 5 cancelled; "
    "6 the provider failed; 129, 130, 143 stopped by a signal. `lmx help TOPIC` tells more about: {topics}."
)


def show(command: str | None, topics: str) -> None:
    """Prints the help of one command, or of the program, on stdout."""
    words = ["--help"] if command is None else [command, "--help"]
    get_command(_app(topics)).main(words, prog_name="lmx", standalone_mode=False)


def _app(topics: str) -> typer.Typer:
    settings = {"help_option_names": ["-h", "--help"], "max_content_width": WIDTH}
    app = typer.Typer(
        name="lmx",
        help="A coding agent for your terminal.",
        epilog=_EPILOG.format(topics=topics),
        rich_markup_mode=None,
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings=settings,
    )
    common = tuple(option for option in argv.OPTIONS if option.commands & {"tui", "run"})
    app.callback(invoke_without_command=True)(_function(common))
    for name, command in argv.COMMANDS.items():
        options = tuple(option for option in argv.OPTIONS if name in option.commands and option.key != "version")
        if name == "run":
            options = tuple(
                option for option in options if option.key != "print"
            )  # it stands instead of the word `run`
        usage = f"[OPTIONS] {command.arguments}".rstrip()
        app.command(name, help=command.summary, options_metavar=usage, context_settings=settings)(_function(options))
    return app


def _function(options: tuple[argv.Option, ...]) -> Callable[..., None]:
    """A function whose signature is the table's: that is what Typer reads."""

    def nothing(**values: Any) -> None:
        """Never called: lines are parsed by `argv.parse`."""

    hints = {f"option_{option.key}": _option(option) for option in options if option.key != "help"}
    nothing.__annotations__ = hints
    nothing.__signature__ = inspect.Signature(  # type: ignore[attr-defined]  # read by inspect, unknown to typeshed
        [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=hint)
            for name, hint in hints.items()
        ]
    )
    return nothing


def _option(option: argv.Option) -> Any:
    kind: Any = bool if option.value is None else str | None
    summary = option.summary + (f" [{option.variable}]" if option.variable else "")
    return Annotated[kind, typer.Option(*option.flags, metavar=option.value, help=summary, show_default=False)]
