"""What keeps transcripts (SO-1, SO-2), and the one face the engine sees of it.

A host's store may be sync or async, method by method. `adapt` gives the async face: a sync method runs in an ordered lane,
because a disk that hangs must not hold the loop, and because two appends of a session must never change places.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar, runtime_checkable

from lmx_core.entry import Entry
from lmx_core.errors import StoreUnsupported
from lmx_core.stores import lanes

T = TypeVar("T")


@runtime_checkable
class Store(Protocol):
    """Keeps entries by session id. Each method may be sync or async, and raises nothing but `StoreError` and its kinds.

    `append` is ordered and durable when it returns, and all or nothing. `read` returns exactly what was appended, in
    order, or raises `TranscriptNotFound` or `TranscriptUnreadable`. `list_sessions` gives ids, oldest first.

    Optional: `lock(session_id)` returns a token or raises `SessionLocked`; `unlock(session_id, token)`; `delete(session_id)`;
    and attributes: `blocks = False` says that the sync methods never wait for anything and need no thread, `lane` is a
    `lanes.Lane` in which all of them run, whatever the session.
    """

    def append(self, session_id: str, entries: Sequence[Entry]) -> Any: ...

    def read(self, session_id: str) -> Any: ...

    def list_sessions(self) -> Any: ...


class AsyncStore:
    """The async face of a store. `locks` says whether it can claim a session; without, `lock` gives None."""

    def __init__(self, store: Store):
        self._store = store
        self._blocks = bool(getattr(store, "blocks", True))
        self._lane: lanes.Lane | None = getattr(store, "lane", None)
        self.locks = callable(getattr(store, "lock", None))

    def __repr__(self) -> str:
        return f"<{type(self._store).__name__}>"

    async def append(self, session_id: str, entries: Sequence[Entry]) -> None:
        await self._call(session_id, self._store.append, session_id, entries)

    async def read(self, session_id: str) -> list[Entry]:
        return list(await self._call(session_id, self._store.read, session_id))

    async def list_sessions(self) -> list[str]:
        return list(await self._call("", self._store.list_sessions))

    async def lock(self, session_id: str) -> Any:
        """A token for `unlock`, or None where the store has no locks. Raises `SessionLocked`."""
        lock = getattr(self._store, "lock", None)
        return None if lock is None else await self._call(session_id, lock, session_id)

    async def unlock(self, session_id: str, token: Any) -> None:
        unlock = getattr(self._store, "unlock", None)
        if unlock is not None and token is not None:
            await self._call(session_id, unlock, session_id, token)

    async def delete(self, session_id: str) -> None:
        """Removes the transcript. A store without `delete` keeps it: then this raises StoreUnsupported."""
        delete = getattr(self._store, "delete", None)
        if delete is None:
            raise StoreUnsupported("delete")
        await self._call(session_id, delete, session_id)

    async def _call(self, key: str, method: Callable[..., Any], *args: Any) -> Any:
        if inspect.iscoroutinefunction(method) or not self._blocks:
            result = method(*args)
        else:
            result = await lanes.run(self._lane or lanes.of(key), method, *args)
        return await result if inspect.isawaitable(result) else result


def adapt(store: Store | AsyncStore) -> AsyncStore:
    """The async face of `store`; of an async face, itself."""
    return store if isinstance(store, AsyncStore) else AsyncStore(store)
