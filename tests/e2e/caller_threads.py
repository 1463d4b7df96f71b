# SPDX-License-Identifier: Apache-2.0
"""tests/e2e/caller_threads.py: threads that make calls until a block ends."""

import threading


class CallerThreads:
    """Threads that run until the block ends. A context manager.

    Starts a thread for each tuple of arguments in `arguments`. It runs run(*arguments), a method of the derived class,
    which must return soon after `going` has become false.
    """

    def __init__(self, arguments):
        self.going = True
        self.threads = [threading.Thread(target=self.run, args=of_thread) for of_thread in arguments]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.going = False
        for thread in self.threads:
            thread.join()
