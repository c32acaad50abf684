"""The least a Textual screen can be: a text area that says it is ready. What the start of lmx's screen is measured against."""

from textual.app import App, ComposeResult
from textual.widgets import Static, TextArea


class Bare(App[None]):
    def compose(self) -> ComposeResult:
        yield Static("BARE-READY")
        yield TextArea()

    def on_mount(self) -> None:
        self.query_one(TextArea).focus()


Bare().run()
