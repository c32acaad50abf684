"""The lmx engine: a coding agent's loop, tools, transcript and providers, to embed in any program.

Importing it starts nothing and is cheap (RT-1): the names below are resolved when first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # what a type checker sees; a test holds it against the table below
    from lmx_core.builtin import default_tools as default_tools
    from lmx_core.builtin import search_tools as search_tools
    from lmx_core.builtin.bash import Bash as Bash
    from lmx_core.calls import Descriptor as Descriptor
    from lmx_core.calls import Effects as Effects
    from lmx_core.calls import Policy as Policy
    from lmx_core.calls import Result as Result
    from lmx_core.calls import Tool as Tool
    from lmx_core.calls import ToolCall as ToolCall
    from lmx_core.calls import ToolContext as ToolContext
    from lmx_core.clock import FOREVER as FOREVER
    from lmx_core.clock import Clock as Clock
    from lmx_core.clock import ManualClock as ManualClock
    from lmx_core.clock import SystemClock as SystemClock
    from lmx_core.context.compaction import Compaction as Compaction
    from lmx_core.context.compaction import StandardCompaction as StandardCompaction
    from lmx_core.context.replay import replay_request as replay_request
    from lmx_core.entry import Entry as Entry
    from lmx_core.environment.base import Environment as Environment
    from lmx_core.environment.credentials import Inherit as Inherit
    from lmx_core.environment.credentials import Scrub as Scrub
    from lmx_core.environment.local import LocalEnvironment as LocalEnvironment
    from lmx_core.environment.sandbox.environment import Sandbox as Sandbox
    from lmx_core.errors import AdmissionRefused as AdmissionRefused
    from lmx_core.errors import AlreadySent as AlreadySent
    from lmx_core.errors import AmbiguousSession as AmbiguousSession
    from lmx_core.errors import AssemblyError as AssemblyError
    from lmx_core.errors import AwaitTimeout as AwaitTimeout
    from lmx_core.errors import BudgetExceeded as BudgetExceeded
    from lmx_core.errors import Busy as Busy
    from lmx_core.errors import CallbackFailed as CallbackFailed
    from lmx_core.errors import Cancelled as Cancelled
    from lmx_core.errors import CompactionFailed as CompactionFailed
    from lmx_core.errors import ConfigError as ConfigError
    from lmx_core.errors import Conflict as Conflict
    from lmx_core.errors import DocumentTooLarge as DocumentTooLarge
    from lmx_core.errors import ExtensionRefused as ExtensionRefused
    from lmx_core.errors import Failure as Failure
    from lmx_core.errors import HookDenied as HookDenied
    from lmx_core.errors import HookFailed as HookFailed
    from lmx_core.errors import InvalidAnswer as InvalidAnswer
    from lmx_core.errors import InvalidModel as InvalidModel
    from lmx_core.errors import LmxError as LmxError
    from lmx_core.errors import NothingToDo as NothingToDo
    from lmx_core.errors import NothingToRetry as NothingToRetry
    from lmx_core.errors import RefreshFailed as RefreshFailed
    from lmx_core.errors import SandboxUnavailable as SandboxUnavailable
    from lmx_core.errors import SessionDown as SessionDown
    from lmx_core.errors import SessionLocked as SessionLocked
    from lmx_core.errors import SnapshotTimeout as SnapshotTimeout
    from lmx_core.errors import StoreError as StoreError
    from lmx_core.errors import StoreUnsupported as StoreUnsupported
    from lmx_core.errors import ToolError as ToolError
    from lmx_core.errors import ToolsDisallowed as ToolsDisallowed
    from lmx_core.errors import TranscriptNotFound as TranscriptNotFound
    from lmx_core.errors import TranscriptUnreadable as TranscriptUnreadable
    from lmx_core.errors import UndoRefused as UndoRefused
    from lmx_core.errors import UnknownCall as UnknownCall
    from lmx_core.errors import UnknownEntry as UnknownEntry
    from lmx_core.errors import UnknownTask as UnknownTask
    from lmx_core.errors import UnknownTools as UnknownTools
    from lmx_core.errors import UnsafeFork as UnsafeFork
    from lmx_core.errors import UnsupportedEffort as UnsupportedEffort
    from lmx_core.harness.assemble import assemble as assemble
    from lmx_core.harness.explain import diff as diff
    from lmx_core.harness.explain import explain as explain
    from lmx_core.harness.extension import EXTENSION_API as EXTENSION_API
    from lmx_core.harness.extension import Extension as Extension
    from lmx_core.harness.harness import Harness as Harness
    from lmx_core.hooks.base import HookContext as HookContext
    from lmx_core.messages import Messages as Messages
    from lmx_core.options import UNSET as UNSET
    from lmx_core.providers.admission import Admission as Admission
    from lmx_core.providers.admission import Lease as Lease
    from lmx_core.providers.admission import ProviderLimiter as ProviderLimiter
    from lmx_core.providers.base import Provider as Provider
    from lmx_core.providers.base import parse_spec as parse_spec
    from lmx_core.providers.default import DefaultProvider as DefaultProvider
    from lmx_core.providers.scripted import Scripted as Scripted
    from lmx_core.request import Request as Request
    from lmx_core.request import ToolSpec as ToolSpec
    from lmx_core.runtime import Runtime as Runtime
    from lmx_core.secrets.policy import Secrets as Secrets
    from lmx_core.session.documents import Document as Document
    from lmx_core.session.handle import Session as Session
    from lmx_core.session.prompt.aside import Aside as Aside
    from lmx_core.session.setup.tools import ToolStatus as ToolStatus
    from lmx_core.session.subscribers import Subscription as Subscription
    from lmx_core.start import PromptResult as PromptResult
    from lmx_core.start import resume_session as resume_session
    from lmx_core.start import run as run
    from lmx_core.start import start_session as start_session
    from lmx_core.stores.base import Store as Store
    from lmx_core.stores.jsonl import JSONLStore as JSONLStore
    from lmx_core.stores.memory import MemoryStore as MemoryStore
    from lmx_core.stores.sqlite import SQLiteStore as SQLiteStore
    from lmx_core.tasks import run_in_thread as run_in_thread
    from lmx_core.tools.authors.override import Override as Override
    from lmx_core.tools.authors.receipts import record_receipt as record_receipt
    from lmx_core.tools.profile import ToolExchange as ToolExchange
    from lmx_core.tools.profile import ToolProfile as ToolProfile
    from lmx_core.transcript.fork import fork as fork
    from lmx_core.turn.guard import Guard as Guard
    from lmx_core.usage import Usage as Usage
    from lmx_core.verdict import Allow as Allow
    from lmx_core.verdict import Decision as Decision
    from lmx_core.verdict import Deny as Deny
    from lmx_core.verdict import Feedback as Feedback
    from lmx_core.verdict import Pending as Pending
    from lmx_core.verdict import Rewrite as Rewrite
    from lmx_core.web.search import BraveSearch as BraveSearch
    from lmx_core.web.search import SearchBackend as SearchBackend
    from lmx_core.web.search import SearchResult as SearchResult

__version__ = "0.1.0"

_HOME = {
    "lmx_core.errors": (
        "SandboxUnavailable CallbackFailed "
        "LmxError ConfigError AssemblyError ExtensionRefused AdmissionRefused ToolError StoreError TranscriptNotFound "
        "TranscriptUnreadable SessionLocked StoreUnsupported AmbiguousSession UnknownEntry UnsafeFork Busy Cancelled "
        "HookDenied HookFailed UnknownCall UnknownTask InvalidAnswer AlreadySent NothingToDo NothingToRetry "
        "UnknownTools ToolsDisallowed InvalidModel UnsupportedEffort CompactionFailed RefreshFailed Conflict "
        "DocumentTooLarge UndoRefused BudgetExceeded AwaitTimeout SnapshotTimeout SessionDown Failure"
    ),
    "lmx_core.clock": "FOREVER Clock SystemClock ManualClock",
    "lmx_core.usage": "Usage",
    "lmx_core.entry": "Entry",
    "lmx_core.context.compaction": "Compaction StandardCompaction",
    "lmx_core.context.replay": "replay_request",
    "lmx_core.tools.authors.override": "Override",
    "lmx_core.tools.authors.receipts": "record_receipt",
    "lmx_core.tools.profile": "ToolExchange ToolProfile",
    "lmx_core.calls": "Tool ToolCall ToolContext Result Descriptor Effects Policy",
    "lmx_core.verdict": "Allow Deny Rewrite Pending Feedback Decision",
    "lmx_core.request": "Request ToolSpec",
    "lmx_core.runtime": "Runtime",
    "lmx_core.start": "start_session resume_session run PromptResult",
    "lmx_core.secrets.policy": "Secrets",
    "lmx_core.session.handle": "Session",
    "lmx_core.session.prompt.aside": "Aside",
    "lmx_core.session.documents": "Document",
    "lmx_core.session.setup.tools": "ToolStatus",
    "lmx_core.session.subscribers": "Subscription",
    "lmx_core.options": "UNSET",
    "lmx_core.harness.harness": "Harness",
    "lmx_core.harness.extension": "EXTENSION_API Extension",
    "lmx_core.harness.assemble": "assemble",
    "lmx_core.harness.explain": "diff explain",
    "lmx_core.hooks.base": "HookContext",
    "lmx_core.messages": "Messages",
    "lmx_core.turn.guard": "Guard",
    "lmx_core.providers.admission": "Admission Lease ProviderLimiter",
    "lmx_core.providers.base": "Provider parse_spec",
    "lmx_core.providers.default": "DefaultProvider",
    "lmx_core.providers.scripted": "Scripted",
    "lmx_core.stores.base": "Store",
    "lmx_core.stores.jsonl": "JSONLStore",
    "lmx_core.stores.memory": "MemoryStore",
    "lmx_core.stores.sqlite": "SQLiteStore",
    "lmx_core.environment.base": "Environment",
    "lmx_core.environment.local": "LocalEnvironment",
    "lmx_core.environment.sandbox.environment": "Sandbox",
    "lmx_core.environment.credentials": "Inherit Scrub",
    "lmx_core.builtin": "default_tools search_tools",
    "lmx_core.builtin.bash": "Bash",
    "lmx_core.tasks": "run_in_thread",
    "lmx_core.transcript.fork": "fork",
    "lmx_core.web.search": "BraveSearch SearchBackend SearchResult",
}

_WHERE = {name: module for module, names in _HOME.items() for name in names.split()}

__all__ = sorted(_WHERE)  # noqa: PLE0605 - built from the table above, which a test snapshots


def __getattr__(name: str) -> Any:
    module = _WHERE.get(name)
    if module is None:
        raise AttributeError(f"module 'lmx_core' has no attribute {name!r}")
    value = getattr(import_module(module), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
