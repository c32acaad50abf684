"""Which effect of the reducer goes where: one table, so that a new effect is one row here and one function in its room."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from lmx import words
from lmx.bridge.gate import Gate
from lmx.bridge.host import Host
from lmx.bridge.kept.drafts import Drafts
from lmx.bridge.looked import Looked
from lmx.bridge.menus import Menus
from lmx.bridge.said import Said
from lmx.bridge.shell import Shell
from lmx.bridge.shown import Shown
from lmx.bridge.surface import Surface
from lmx.commands import COMMANDS, Command
from lmx.conversation import effects as fx
from lmx.conversation import messages as msg
from lmx.conversation.step import Policy
from lmx_core.errors import LmxError


class Bridge:
    """The rooms of this package over one host and one surface."""

    def __init__(
        self,
        host: Host,
        surface: Surface,
        commands: Sequence[Command] = COMMANDS,
        policy: Policy | None = None,
    ):
        self.host, self.surface = host, surface
        self.commands, self._policy = tuple(commands), policy
        host.tell = lambda sentence: surface.tell(msg.Notice(sentence))
        self.drafts = Drafts(host, surface)
        self.shown = Shown(host, surface, self.drafts)
        self.shell = Shell(self.shown, surface)
        self.said = Said(self.shown, surface)
        self.gate = Gate(host, self.shown, surface)
        self.menus = Menus(host, self.shown, surface)
        self.looked = Looked(host, self.shown, surface)

    def allowed(self) -> list[Command]:
        """The commands that may be listed (CMD-1)."""
        policy = self._policy
        return [one for one in self.commands if policy is None or policy(fx.Run(command=one.name)) is None]

    async def begin(self) -> None:
        """The start: the session the command line asks for, and its first prompt (LAY-9)."""
        self.surface.work(self.said.in_order(), "words")
        await self.shown.begin()

    async def close(self) -> None:
        """The surface is gone: the turn is cancelled and recorded, the session ends."""
        await self.shown.close()

    def perform(self, effect: fx.Effect) -> None:
        """Starts an effect that concerns the session. Returns at once; answers come back as messages."""
        _DOES[type(effect)](self, effect)

    async def cancel(self) -> None:
        if self.shell.cancel():
            return
        try:
            await self.shown.live().cancel()
        except LmxError:
            return  # it is down already


_DOES: dict[type, Callable[[Bridge, Any], None]] = {
    fx.Prompt: lambda to, e: to.said.put(e),
    fx.SteerTurn: lambda to, e: to.said.put(e),
    fx.Revoke: lambda to, e: to.said.put(e),
    fx.CancelTurn: lambda to, e: to.surface.work(to.cancel(), "cancel"),
    fx.UseProvider: lambda to, e: to.surface.work(to.shown.unlock(e), "start"),
    fx.Restart: lambda to, e: to.surface.work(to.shown.restart(), "restart"),
    fx.Resolve: lambda to, e: to.surface.work(to.gate.resolve(e), "answer"),
    fx.AnswerQuestion: lambda to, e: to.surface.work(to.gate.answer(e), "answer"),
    fx.CycleMode: lambda to, e: to.gate.cycle(),
    fx.Need: lambda to, e: to.surface.work(to.menus.files() if e.kind == "files" else to.menus.offer(e.kind), "menu"),
    fx.ReadProposal: lambda to, e: to.surface.work(to.menus.proposal(e.id, e.paths), "evidence"),
    fx.ReadChanges: lambda to, e: to.surface.work(to.looked.read_changes(), "/diff"),
    fx.ReadPatch: lambda to, e: to.surface.work(to.looked.read_patch(e.change), "/diff"),
    fx.MarkPiece: lambda to, e: to.surface.work(to.looked.mark(e.id, e.kind), "/context"),
    fx.UndoCompaction: lambda to, e: to.surface.work(to.looked.undo_compaction(), "/context"),
    fx.AnswerSummary: lambda to, e: to.looked.answer_summary(e.text),
    fx.ListSessions: lambda to, e: to.surface.work(to.looked.list_sessions(everywhere=e.all_of_them), "/resume"),
    fx.SearchSessions: lambda to, e: to.surface.work(to.looked.search(e.query, everywhere=e.all_of_them), "/resume"),
    # what only a screen can do; another surface says so
    fx.Copy: lambda to, e: to.surface.tell(msg.Trouble(words.NOT_ON_THIS_SURFACE.format(command="copy"))),
    fx.Read: lambda to, e: to.surface.tell(msg.Trouble(words.NOT_ON_THIS_SURFACE.format(command="transcript"))),
    fx.Find: lambda to, e: to.surface.tell(msg.Trouble(words.NOT_ON_THIS_SURFACE.format(command="find"))),
    fx.Tint: lambda to, e: to.surface.tell(msg.Trouble(words.NOT_ON_THIS_SURFACE.format(command="color"))),
    fx.Mouse: lambda to, e: to.surface.tell(msg.Trouble(words.NOT_ON_THIS_SURFACE.format(command="mouse"))),
    fx.TellTerminal: lambda to, e: None,
    fx.ReadBefore: lambda to, e: to.surface.work(to.menus.before(e.call_id, e.path), "evidence"),
}
