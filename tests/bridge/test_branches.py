"""Branches in threads: all of them end, and they tell what they have to in the thread that waits."""

from __future__ import annotations

import threading

import pytest
from tests.held import given_back, threads

from rotifer_bridge._branches import THREADS_LIMIT, together


def test_branches_run_at_the_same_time():
    """As many as there may be meet at one barrier, which none passes alone."""
    barrier = threading.Barrier(THREADS_LIMIT, timeout=30)
    met = []

    together([lambda post: met.append(barrier.wait())] * THREADS_LIMIT, stop=barrier.abort)

    assert [*range(THREADS_LIMIT)] == sorted(met)


def test_more_branches_than_threads_all_run():
    """The ones over the limit wait for a free thread; none is left out, and never more run."""
    lock = threading.Lock()
    seen = []

    def task(post):
        with lock:
            seen.append(threading.current_thread().name)

    together([task] * 100, stop=lambda: None)

    assert 100 == len(seen)
    assert len(set(seen)) <= THREADS_LIMIT


def test_what_is_posted_runs_in_the_thread_that_waits():
    """Every post is carried out, in order for each branch, before ``together`` returns."""
    told = []

    def task(post):
        for number in range(50):
            post(lambda n: told.append((n, threading.get_ident())))(number)

    together([task], stop=lambda: None)

    assert [(number, threading.get_ident()) for number in range(50)] == told


def test_an_interruption_stops_the_branches_and_waits_for_them():
    """A callback that raises: the branches are told to stop, end, and the exception comes out."""
    stopped = threading.Event()
    ended = []

    def task(post):
        post(interrupt)()
        ended.append(stopped.wait(30))

    def interrupt():
        raise KeyboardInterrupt

    with given_back(threads), pytest.raises(KeyboardInterrupt):
        together([task, task], stop=stopped.set)

    assert [True, True] == ended


def test_a_fault_of_ours_comes_out():
    """An exception of one branch is raised once the others have ended."""
    ended = []

    def fault(post):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        together([fault, lambda post: ended.append(1)], stop=lambda: None)
    assert [1] == ended
