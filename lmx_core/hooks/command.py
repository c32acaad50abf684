"""Hooks that are commands: each is run with JSON on its standard input, and what it says becomes a verdict (CH-2 to CH-7).

The obvious ways hang: a pipe for the input blocks on a command that does not read, and waiting for the end of the output waits
for whoever the command left in the background. So the input is a file without a name, the output is read by the one way
this engine runs processes, and a limit on both time and size ends the whole process group.

A command that gives no answer before a tool call, because it hung, crashed or printed nonsense, refuses the call and says so: a
guard that is broken must not be an open door. Anywhere else that is logged, and the work goes on.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import re
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any

import msgspec

from lmx_core.calls import Outcome, ToolCall
from lmx_core.clock import Clock, SystemClock
from lmx_core.entry import LEVELS, json_shaped
from lmx_core.environment import inherited, process
from lmx_core.environment.base import Data, Exit, Failed, OutputLimit, TimedOut
from lmx_core.environment.credentials import Scrub, command_environment
from lmx_core.environment.local import LocalEnvironment
from lmx_core.environment.watchdog import Watchdog
from lmx_core.errors import HookFailed
from lmx_core.hooks import answer, dialect
from lmx_core.hooks.answer import Answer, NoAnswer
from lmx_core.hooks.base import HookContext
from lmx_core.hooks.dialect import Command
from lmx_core.tasks import run_in_thread
from lmx_core.verdict import Allow, Decision, Deny, Feedback, Pending, Rewrite

log = logging.getLogger("lmx_core")

MAX_OUTPUT_BYTES = 1_000_000
MAX_ERROR_BYTES = 100_000
KILL_AFTER_MS = 500
MAX_STOP_DENIALS = 8
"""How often in a row one hook may send the model back when it wants to stop; a hook that always does would spend every turn."""

_VARIABLE = re.compile(r"\$\{(CLAUDE_[A-Z_]+)\}")


class Runner:
    """Runs the commands of a hooks file. What is still running when the host dies is ended by its watchdog."""

    def __init__(self, clock: Clock | None = None):
        self.clock = clock or SystemClock()
        self._watchdog = Watchdog()

    async def run(self, command: Command, told: Mapping[str, Any], context: HookContext) -> Answer | NoAnswer:
        """What a command answers to `told`. Raises nothing but CancelledError, which ends the command."""
        env = environment(command, context)
        argv = _argv(command, env)
        if isinstance(argv, NoAnswer):
            return argv
        try:
            stdin = await run_in_thread(_input, msgspec.json.encode(json_shaped(dict(told), "the input", 2 * LEVELS)))
        except ValueError:
            return NoAnswer("could not be told what happens, because JSON cannot hold it")
        except OSError as error:
            return NoAnswer(f"could not be given its input ({error.strerror or 'input/output error'})")
        with stdin:
            async with _collected() as errors:
                ran = await self._ended(command, argv, env, context, stdin.fileno(), errors)
        if isinstance(ran, NoAnswer):
            return ran
        status, stdout = ran
        if errors.data:
            log.debug("the hook %s wrote to its error stream: %s", command.name, answer.text(bytes(errors.data)))
        return answer.read(status, stdout, bytes(errors.data), command.dialect)

    async def _ended(
        self,
        command: Command,
        argv: Sequence[str],
        env: Mapping[str, str],
        context: HookContext,
        stdin: int,
        errors: _Errors,
    ) -> tuple[int, bytes] | NoAnswer:
        """The status and the output of a command that has ended by itself."""
        output = bytearray()
        events = process.run(
            argv,
            cwd=_directory(command, context),
            env=env,
            timeout_ms=command.timeout_ms,
            max_output_bytes=MAX_OUTPUT_BYTES,
            clock=self.clock,
            watchdog=self._watchdog,
            stdin=stdin,
            stderr=errors.write,
            kill_after_ms=KILL_AFTER_MS,
        )
        async with aclosing(events):
            async for event in events:
                match event:
                    case Data(data):
                        output += data
                    case Exit(status):
                        return status, bytes(output)
                    case TimedOut(ms):
                        return NoAnswer(f"did not end within {ms / 1_000:g} s and was stopped")
                    case OutputLimit(most):
                        return NoAnswer(f"printed more than {most:,.0f} bytes and was stopped")
                    case Failed(reason):
                        return NoAnswer(f"could not be run ({reason.replace('the shell', 'it')})")
        return NoAnswer("ended without a status")


def environment(command: Command, context: HookContext) -> dict[str, str]:
    """The variables of a command (CH-7): what commands inherit, less the credentials; those of the dialect; its own."""
    there = context.environment
    own_policy = getattr(there, "credentials", None)
    variables = getattr(there, "environ", None)
    policy = own_policy() if callable(own_policy) else Scrub()
    base = variables if isinstance(variables, Mapping) else inherited.environ()
    return {**command_environment(base, policy), **_variables(command, context), **command.env}


def _directory(command: Command, context: HookContext) -> Path:
    return context.cwd / Path(command.cwd or ".").expanduser()


def _variables(command: Command, context: HookContext) -> dict[str, str]:
    if command.dialect != "claude":
        return dict(command.variables)
    return {"CLAUDE_PROJECT_DIR": str(context.cwd), **command.variables}


def _argv(command: Command, env: Mapping[str, str]) -> list[str] | NoAnswer:
    """What is started (CH-2): a shell for a line, else the program itself with what stands for paths put in."""
    if command.args is None:
        shell = LocalEnvironment.find_bash(env)
        return [shell, "-c", "--", command.command] if shell else NoAnswer("could not be run (there is no shell)")
    argv = [_VARIABLE.sub(lambda found: env.get(found[1], found[0]), word) for word in (command.command, *command.args)]
    if argv[0].startswith("-"):
        return NoAnswer("could not be run (a program's name does not begin with -)")
    return argv


def _input(data: bytes) -> Any:
    """A file without a name that only this user and the command can read."""
    file = tempfile.TemporaryFile()  # noqa: SIM115 - the caller closes it
    try:
        file.write(data)
        file.flush()
        file.seek(0)
    except BaseException:
        file.close()
        raise
    return file


class _Errors:
    """What comes through a pipe, its beginning kept, the rest thrown away so that nobody waits for a reader."""

    def __init__(self) -> None:
        self._read, self.write = os.pipe()
        os.set_blocking(self._read, False)
        self.data = bytearray()

    def take(self) -> bool:
        """Reads what is there. False when there is nothing now, or no more."""
        try:
            piece = os.read(self._read, 65_536)
        except BlockingIOError:
            return False
        self.data += piece[: MAX_ERROR_BYTES - len(self.data)]
        if not piece:
            asyncio.get_running_loop().remove_reader(self._read)
        return bool(piece)

    def begin(self) -> None:
        asyncio.get_running_loop().add_reader(self._read, self.take)

    def end(self) -> None:
        for _ in range(process.PIPE_BYTES // 65_536):  # others may go on writing
            if not self.take():
                break
        asyncio.get_running_loop().remove_reader(self._read)
        os.close(self._read)
        os.close(self.write)


@contextlib.asynccontextmanager
async def _collected() -> AsyncIterator[_Errors]:
    errors = _Errors()
    errors.begin()
    try:
        yield errors
    finally:
        errors.end()


class CommandHook:
    """One command as the callback of a hook point."""

    def __init__(self, command: Command, runner: Runner):
        self.command, self._runner = command, runner
        self._denials: dict[str | None, int] = {}

    @property
    def name(self) -> str:
        """What logs and refusals call it. Its command is never told: it may hold a credential."""
        return self.command.name

    async def __call__(self, subject: Any, *more: Any) -> Any:
        context: HookContext = more[-1]
        if not dialect.wants(self.command, subject, context):
            return Allow()
        match self.command.event.name:
            case "preToolUse":
                return await self._before(subject, context)
            case "postToolUse":
                return await self._after(subject, more[0], context)
            case "userPromptSubmitted":
                return await self._prompt(subject, context)
            case "agentStop":
                return await self._stop(subject, context)
        await self.ask(dialect.told(self.command, subject, context), context)
        return None

    async def _run(self, told: Mapping[str, Any], context: HookContext) -> Answer | NoAnswer:
        everything = {**dialect.common(self.command, context, self._runner.clock.now_ms()), **told}
        said = await self._runner.run(self.command, everything, context)
        if isinstance(said, NoAnswer):
            log.warning("the hook %s %s", self.name, said.why)
        elif said.message:
            log.info("the hook %s says: %s", self.name, said.message)
            if context.session is not None:
                context.session.tell(said.message, source=f"hook {self.name}")
        return said

    async def ask(self, told: Mapping[str, Any], context: HookContext) -> Answer:
        """Its answer where a failure is no objection."""
        said = await self._run(told, context)
        return said if isinstance(said, Answer) else Answer()

    # -- the points where it decides

    async def _before(self, call: ToolCall, context: HookContext) -> Allow | Deny | Rewrite | Pending:
        verdict: Allow | Pending = Allow()
        wanted = call.arguments
        several = dialect.told_of_call(self.command, call, context)
        for told in several:
            said = await self._run(told, context)
            if isinstance(said, NoAnswer):
                if said.broken:
                    return self._deny(f"the hook {self.name} {said.why}, so the call was not run")
                continue
            if said.verdict == "deny":
                return self._deny(self._reason(said, "refused the call"))
            if said.input is not None:
                wanted = dialect.arguments(call, told["tool_input"], said.input)
            if said.verdict == "ask":
                verdict = self._pending(said)
            elif said.verdict == "allow" and len(several) == 1:
                verdict = Allow(approved_by=f"the hook {self.name}")
        if wanted == call.arguments:
            return verdict
        if len(several) > 1:
            raise HookFailed(f"the hook {self.name} rewrote a patch of several files, which it is told of file by file")
        return Rewrite(wanted, also=verdict)

    def _reason(self, said: Answer, otherwise: str) -> str:
        return said.reason or f"the hook {self.name} {otherwise} and gave no reason"

    def _deny(self, reason: str) -> Deny:
        return Deny(reason, decision=self._decision("deny", reason))

    def _pending(self, said: Answer) -> Pending:
        sentence = said.reason or f"the hook {self.name} wants a person to decide"
        return Pending(decision=self._decision("ask", sentence))

    def _decision(self, verdict: str, sentence: str) -> Decision:
        return Decision(verdict=verdict, sentence=sentence, rule="hook", source=f"hook {self.name}")

    async def _after(self, call: ToolCall, outcome: Outcome, context: HookContext) -> Feedback | None:
        for_result = dialect.told_of_result(self.command, outcome)
        said: list[str] = []
        for told in dialect.told_of_call(self.command, call, context):
            answered = await self.ask({**told, **for_result}, context)
            if answered.verdict == "deny":
                said.append(self._reason(answered, "objected"))
            said.append(answered.context)
        return Feedback("\n".join(filter(None, said))) if any(said) else None

    async def _prompt(self, text: str, context: HookContext) -> Allow | Deny | Rewrite:
        said = await self.ask(dialect.told(self.command, text, context), context)
        if said.verdict == "deny":
            return Deny(self._reason(said, "refused the prompt"))
        added = "\n".join(filter(None, (said.context, said.text)))
        if said.prompt is None and not added:
            return Allow()
        return Rewrite(
            "\n\n".join(filter(None, (said.prompt or text, added and marked("user-prompt-hook-context", added))))
        )

    async def _stop(self, reason: str, context: HookContext) -> Allow | Deny:
        if not context.stop_hook_active:
            self._denials.pop(context.session_id, None)
        said = await self.ask(dialect.told(self.command, reason, context), context)
        if said.halt or said.verdict != "deny":
            return Allow()
        count = self._denials.get(context.session_id, 0)
        if count == MAX_STOP_DENIALS:
            log.warning("the hook %s has sent the model back %d times in a row; now it may stop", self.name, count)
            return Allow()
        self._denials[context.session_id] = count + 1
        return Deny(f"[hook] {self._reason(said, 'wants the work to go on')}")


def marked(tag: str, text: str) -> str:
    """Text of a hook for the model, so that it is told apart from the person's."""
    return "\n".join((f"<{tag}>", text.replace(f"</{tag}", f"[/{tag}"), f"</{tag}>"))
