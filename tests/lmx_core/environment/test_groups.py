"""Whether this machine lets a command be ended with everything it started."""

from __future__ import annotations

import errno
import os

import pytest

from lmx_core import LocalEnvironment


def refuse(*args, **options):
    raise PermissionError(errno.EPERM, "not permitted")


def no_child_left() -> bool:
    try:
        return os.waitpid(-1, os.WNOHANG) == (0, 0)
    except ChildProcessError:
        return True


def test_rt_14_here_they_work_and_nothing_is_left_behind():
    """RT-14: asked of the class; a host asks before it has an environment."""
    assert LocalEnvironment.process_groups_available() is True
    assert LocalEnvironment().process_groups_available() is True
    assert no_child_left()


@pytest.mark.parametrize("forbidden", ["killpg", "getsid"])
def test_rt_14_where_the_system_forbids_it_that_is_said(monkeypatch, forbidden):
    monkeypatch.setattr(os, forbidden, refuse)
    assert LocalEnvironment.process_groups_available() is False
    assert no_child_left()


def test_rt_14_a_signal_that_reaches_nobody_is_found_out(monkeypatch):
    monkeypatch.setattr(os, "killpg", lambda group, number: None)
    assert LocalEnvironment.process_groups_available() is False


def test_rt_14_where_no_session_can_be_made_or_no_shell_is_there_the_answer_is_no(monkeypatch):
    monkeypatch.setattr("subprocess.Popen", refuse)
    assert LocalEnvironment.process_groups_available() is False
    monkeypatch.setattr(LocalEnvironment, "find_bash", staticmethod(lambda environ=None: None))
    assert LocalEnvironment.process_groups_available() is False


def test_rt_14_no_program_is_needed_for_it(monkeypatch, tmp_path):
    """RT-14: signals are sent by the engine itself, so an image without `kill` and `ps` is fine."""
    (tmp_path / "sh").symlink_to("/bin/sh")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert LocalEnvironment.process_groups_available() is True


def test_rt_14_a_shells_start_up_file_is_not_run(monkeypatch, tmp_path):
    (tmp_path / "start").write_text(f"touch {tmp_path}/ran\n", "utf-8")
    monkeypatch.setenv("BASH_ENV", str(tmp_path / "start"))
    assert LocalEnvironment.process_groups_available() is True
    assert not (tmp_path / "ran").exists()
