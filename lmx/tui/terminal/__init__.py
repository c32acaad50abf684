"""The terminal: our own driver for Textual, its input filter, signals, restoring, colours (docs/why/own-terminal-driver.md).

What the screen does with it:

    from lmx.tui.terminal.look import query_look
    from lmx.tui.terminal.app import TerminalApp
    from lmx.tui.terminal.signals import run_in_terminal

    look = await query_look(theme=None)           # before Textual starts; at most 0.5 s; keeps what was typed meanwhile
    class Screen(TerminalApp): ...                # instead of textual.app.App
    app = Screen(look=look, crash_directory=state / "crash")
    status = await run_in_terminal(app, cleanup=close_everything)

`TerminalApp` brings the driver, draws only changed cells, keeps the terminal's own background (ANSI colours) and honours
`NO_COLOR`; `app.look.theme` is "dark", "light" or "mono". It has `action_suspend_process` (Ctrl-Z), `action_repaint`
(Ctrl-L), `set_title(text)`, and `end(status)`, which leaves the terminal at once and then ends the app.
`run_in_terminal` installs the handlers of SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGTSTP and SIGCONT, runs the app, restores the
terminal on every way out, gives `cleanup` three seconds, and returns the exit status: the app's own (`app.exit(n)`), 143, 129
or 130 after a signal or a lost terminal, 1 after a crash, which is one sentence and a file.

Keys arrive as Textual key strings, always in these spellings: modifiers in alphabetical order (`alt+ctrl+shift+up`),
`alt+1`, `alt+a`, `alt+enter`, `shift+enter`, `ctrl+j`, `alt+backspace`, `alt+up`, `ctrl+underscore`, `alt+underscore`,
`escape`. A paste is `terminal.driver.Paste`, a `textual.events.Paste` (so `on_paste`) whose `text` is clean and which also
has `removed` (control characters taken out) and `size` (bytes as sent).

Nothing is imported here: `lmx` without a screen must not pay for Textual.
"""
