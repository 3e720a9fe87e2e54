# Long calls hear Ctrl-C, let other threads run, and tell how far they are.
import os
import signal
import threading
import time

import pytest
import railtwin as rt

LONG = 100_000
"""Replicates that would run for minutes."""


REST_WITHIN_S = 20.0
"""The working threads break off long before; the whole run would take longer."""


def comes_to_rest() -> bool:
    """Wait until the process uses no time; return whether it came to that."""
    end = time.monotonic() + REST_WITHIN_S
    while time.monotonic() < end:
        before = time.process_time()
        time.sleep(0.5)
        if time.process_time() - before < 0.05:
            return True
    return False


def test_ctrl_c_ends_a_run_at_once(table):
    # A shell starts what runs in its background with Ctrl-C ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    begin = threading.Event()
    sent: list[float] = []

    def interrupt() -> None:
        begin.wait()
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    def progress(done: int, total: int) -> None:
        if done > 0:
            begin.set()

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        rt.run({**table, "run": {"replicates": LONG}}, progress=progress)
    assert time.monotonic() - sent[0] < 2.0
    thread.join()
    assert comes_to_rest()


def test_nothing_is_written_after_ctrl_c(table, tmp_path):
    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        rt.sweep({**table, "run": {"replicates": LONG}}, folder=tmp_path, progress=stop)
    assert comes_to_rest()
    assert list(tmp_path.iterdir()) == []


def test_an_error_of_the_callback_comes_out(table):
    def fail(done: int, total: int) -> None:
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        rt.run({**table, "run": {"replicates": LONG}}, progress=fail)


def test_other_threads_run_meanwhile(table):
    ticks, stop = [0], threading.Event()

    def count() -> None:
        while not stop.is_set():
            ticks[0] += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    told: list[tuple[int, int]] = []
    seen: list[int] = []

    def progress(done: int, total: int) -> None:
        told.append((done, total))
        seen.append(ticks[0])

    rt.run({**table, "run": {"replicates": 2000}}, progress=progress)
    stop.set()
    thread.join()
    assert told[-1] == (2000, 2000)
    assert told == sorted(told)
    assert seen[-1] > 5


def test_runs_side_by_side_do_not_disturb_each_other(table, tiny):
    figures: list[dict[str, float | None]] = []
    threads = [threading.Thread(target=lambda: figures.append(rt.run(table).figures)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert figures == [tiny.figures] * 4
