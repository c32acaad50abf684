"""The filter of system calls, run by an interpreter of the kernel's language that is as small as the language."""

from __future__ import annotations

import errno
import socket
import struct

import pytest

from lmx_core.environment.sandbox import seccomp

ALLOW = 0x7FFF0000
NATIVE = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}


def judged(machine: str, number: int, *arguments: int, architecture: int | None = None) -> int:
    """What the kernel would do: 0 allows, else the error the call gets."""
    program = seccomp.program(machine)
    assert program is not None
    steps = list(struct.iter_unpack("=HBBI", program))
    data = struct.pack("=iIQ6Q", number, NATIVE[machine] if architecture is None else architecture, 0,
                       *(*arguments, 0, 0, 0, 0, 0, 0)[:6])  # fmt: skip
    at = held = 0
    while True:
        code, true, false, value = steps[at]
        at += 1
        if code == 0x20:
            (held,) = struct.unpack_from("=I", data, value)
        elif code in (0x15, 0x35):
            at += true if (held == value if code == 0x15 else held >= value) else false
        else:
            assert code == 0x06
            return 0 if value == ALLOW else value & 0xFFFF


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_what_has_no_namespace_is_refused_and_the_rest_is_not(machine: str) -> None:
    _, numbers = seccomp._MACHINES[machine]
    for family in range(64):
        fine = family in (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6, 16)
        assert judged(machine, numbers["socket"], family) == (0 if fine else errno.EAFNOSUPPORT), family
    for name in seccomp.REFUSED:
        assert judged(machine, numbers[name]) == errno.ENOSYS, name
    for request in (0x5412, 0x541C, 0x1_0000_5412):
        assert judged(machine, numbers["ioctl"], 0, request) == errno.EPERM, "the kernel reads 32 bits of it"
    assert judged(machine, numbers["ioctl"], 0, 0x5413) == 0
    special = set(numbers.values())
    assert not [number for number in range(480) if number not in special and judged(machine, number)]


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_another_set_of_numbers_is_no_way_around(machine: str) -> None:
    """A 32-bit program names the same calls by other numbers."""
    _, numbers = seccomp._MACHINES[machine]
    assert judged(machine, 1, architecture=0x40000003) == errno.ENOSYS
    assert judged(machine, 0x40000000 | numbers["socket"], 40) == errno.ENOSYS


def test_an_unknown_machine_has_no_filter_rather_than_a_wrong_one() -> None:
    assert seccomp.program("riscv64") is None
