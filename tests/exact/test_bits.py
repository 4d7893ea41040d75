from __future__ import annotations

import copy
import itertools
import multiprocessing
import os
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest
from support.adversary import quiet_fork
from support.tapes import TapeBits, TapeExhausted

from dpmine.exact.bits import SystemBits

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.queues import Queue


@pytest.fixture(autouse=True, scope="module")
def repeatable_entropy_of_fixtures() -> None:
    """Nothing is replaced here either."""


@pytest.fixture(autouse=True)
def repeatable_entropy() -> None:
    """Nothing is replaced: these tests read the operating system's generator."""


@pytest.fixture
def numbered(monkeypatch: pytest.MonkeyPatch) -> None:
    """The operating system hands out 1, 2, 3, … as 64-bit blocks: a block seen twice was used twice."""
    counter = itertools.count(1)
    lock = threading.Lock()

    def urandom(size: int) -> bytes:
        with lock:
            return b"".join(next(counter).to_bytes(8, "big") for _ in range(-(-size // 8)))[:size]

    monkeypatch.setattr("dpmine.exact.bits.os.urandom", urandom)


def in_a_fork(work: Callable[[], int], size: int = 32) -> int:
    """The integer that `work` returns in a forked child."""
    receive, send = os.pipe()
    child = quiet_fork()
    if child == 0:
        try:
            os.write(send, work().to_bytes(size, "big"))
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    answer = os.read(receive, size)
    os.close(receive)
    os.close(send)
    assert len(answer) == size
    return int.from_bytes(answer, "big")


def test_bits_are_in_range() -> None:
    source = SystemBits()
    for count in (0, 1, 2, 7, 63, 64, 65, 4096, 100_000):
        assert 0 <= source.take(count) < 2**count


@pytest.mark.usefixtures("numbered")
def test_bits_are_read_in_order_and_once() -> None:
    source = SystemBits()
    assert [source.take(64) for _ in range(1000)] == list(range(1, 1001))


@pytest.mark.usefixtures("numbered")
def test_halves_of_a_block_make_the_block() -> None:
    source = SystemBits()
    assert (source.take(40) << 24 | source.take(24), source.take(64)) == (1, 2)


@pytest.mark.usefixtures("numbered")
def test_big_takes_are_fresh() -> None:
    source = SystemBits()
    source.take(64)
    big = source.take(64 * 1000)
    blocks = [big >> 64 * i & (2**64 - 1) for i in reversed(range(1000))]
    assert len({1, *blocks, source.take(64)}) == 1002
    assert source.take(2**15 + 1) < 2 ** (2**15 + 1), "one bit more than whole bytes"


def test_all_bits_vary() -> None:
    source = SystemBits()
    seen_one, seen_zero = 0, 0
    for _ in range(200):
        value = source.take(128)
        seen_one |= value
        seen_zero |= ~value
    assert seen_one == 2**128 - 1
    assert seen_zero & (2**128 - 1) == 2**128 - 1


@pytest.mark.usefixtures("numbered")
def test_threads_share_no_bits() -> None:
    source = SystemBits()
    source.take(64)
    start = threading.Barrier(8)

    def read() -> list[int]:
        start.wait()
        return [source.take(64) for _ in range(2000)]

    with ThreadPoolExecutor(8) as pool:
        taken = [block for work in [pool.submit(read) for _ in range(8)] for block in work.result()]
    assert len(set(taken)) == 16_000


@pytest.mark.usefixtures("numbered")
def test_sources_share_no_bits() -> None:
    one, other = SystemBits(), SystemBits()
    assert len({source.take(64) for _ in range(100) for source in (one, other)}) == 200


def test_fork_drops_the_buffer() -> None:
    source = SystemBits()
    source.take(8)
    child = in_a_fork(lambda: source.take(256))
    assert child != source.take(256)


def test_two_forks_differ() -> None:
    source = SystemBits()
    source.take(8)
    assert len({in_a_fork(lambda: source.take(256)) for _ in range(4)}) == 4


def test_fork_of_a_fork_drops_the_buffer() -> None:
    source = SystemBits()
    source.take(8)

    def both() -> int:
        mine = source.take(128)
        return mine << 128 | in_a_fork(lambda: source.take(128), 16)

    answer = in_a_fork(both)
    assert answer >> 128 != answer & (2**128 - 1)


def test_the_first_take_after_a_fork_may_be_empty() -> None:
    source = SystemBits()
    source.take(8)
    assert in_a_fork(lambda: source.take(0), 1024) == 0


def test_parent_goes_on_after_a_fork() -> None:
    source = SystemBits()
    source.take(8)
    in_a_fork(lambda: source.take(8))
    assert len({source.take(64) for _ in range(200)}) == 200


_SHARED = SystemBits()


def _put_bits(queue: Queue[int]) -> None:
    queue.put(_SHARED.take(256))


def test_worker_processes_differ() -> None:
    context = multiprocessing.get_context("fork")
    _SHARED.take(8)
    queue: Queue[int] = context.Queue()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        workers = [context.Process(target=_put_bits, args=(queue,)) for _ in range(3)]
        for worker in workers:
            worker.start()
    answers = {queue.get(timeout=30) for _ in workers}
    for worker in workers:
        worker.join()
    assert len(answers | {_SHARED.take(256)}) == 4


def test_buffers_cannot_be_carried_away() -> None:
    source = SystemBits()
    source.take(8)
    with pytest.raises(TypeError):
        copy.deepcopy(source)


def test_widths_double() -> None:
    assert list(itertools.islice(SystemBits().widths(), 4)) == [64, 128, 256, 512]


def test_tape_is_read_from_its_start() -> None:
    tape = TapeBits(0b1011001, 7)
    assert [tape.take(1), tape.take(3), tape.take(0), tape.take(3)] == [1, 0b011, 0, 0b001]


def test_tape_ends() -> None:
    tape = TapeBits(0b10, 2)
    with pytest.raises(TapeExhausted):
        tape.take(3)
    assert tape.take(2) == 0b10
    assert tape.take(0) == 0
    with pytest.raises(TapeExhausted):
        tape.take(1)


def test_tape_reveals_bit_by_bit() -> None:
    assert list(itertools.islice(TapeBits(0, 0).widths(), 4)) == [1, 2, 3, 4]
