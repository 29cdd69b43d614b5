"""Runs programs on asyncio, on a virtual clock, and prints their traces.

Standard input is a JSON list of programs. Standard output is a JSON list of their traces.
A program is a list of bodies. Body 0 is executed from outside of the loop; the other bodies
are those of callbacks. An operation is [name, a, b].

Time is counted in ticks. asyncio takes a tick for a second. All deadlines are distinct:
asyncio keeps its timers in a heap, which does not define the order of equal deadlines.
"""

import asyncio
import json
import selectors
import sys

MAX_CALLS = 300
MODULUS = 1024  # a deadline is, modulo MODULUS, the number of its call


class Selector(selectors.SelectSelector):
    """Moves the clock instead of waiting, and stops a loop that would wait forever."""

    def select(self, timeout=None):
        if timeout is None:
            self.loop.stop()
        elif timeout > 0:
            self.loop.now += timeout
        return []


class Loop(asyncio.SelectorEventLoop):
    def __init__(self):
        selector = Selector()
        selector.loop = self
        self.now = 0
        super().__init__(selector)
        # asyncio calls what is due within this time from now. It must be less than a tick.
        self._clock_resolution = 0.5

    def time(self):
        return self.now


class Execution:
    def __init__(self, bodies):
        self.bodies = bodies
        self.trace = []
        self.calls = 0
        self.handles = []
        self.zero_at = -1
        self.loop = Loop()
        self.loop.set_exception_handler(lambda _, context: self.trace.append(f"panic {context['exception']}"))

    def now(self):
        return int(self.loop.time())

    def callback(self, body):
        number = self.calls
        self.calls += 1

        def call():
            self.trace.append(f"call {number} at {self.now()}")
            self.run(self.bodies[body])

        return call

    def delay(self, base):
        """Returns a delay that makes the deadline of the next call distinct.

        One call at each time may have no delay.
        """
        if base == 0 and self.zero_at != self.now():
            self.zero_at = self.now()
            return 0
        return (base + 1) * MODULUS + (self.calls - self.now()) % MODULUS

    def past(self, base):
        """Returns a time before now that is the deadline of no other call."""
        return self.now() - (base + 1) * MODULUS - (self.now() - self.calls) % MODULUS

    def run(self, ops):
        for name, a, b in ops:
            if name == "cancel":
                if self.handles:
                    self.handles[b % len(self.handles)].cancel()
            elif name == "stop":
                self.loop.stop()
            elif name == "panic":
                raise RuntimeError(str(b))
            elif self.calls >= MAX_CALLS:
                pass
            elif name == "soon":
                self.handles.append(self.loop.call_soon(self.callback(a)))
            elif name == "post":
                self.loop.call_soon_threadsafe(self.callback(a))
            elif name == "later":
                delay = self.delay(b)
                handle = self.loop.call_later(delay, self.callback(a))
                self.trace.append(f"when {int(handle.when())}")
                self.handles.append(handle)
            elif name == "at":
                when = self.now() + self.delay(b)
                self.handles.append(self.loop.call_at(when, self.callback(a)))
            elif name == "past":
                when = self.past(b)
                handle = self.loop.call_at(when, self.callback(a))
                self.trace.append(f"when {int(handle.when())}")
                self.handles.append(handle)

    def execute(self, runs):
        self.run(self.bodies[0])
        for _ in range(runs):
            self.loop.run_forever()
            self.trace.append("ran")
        self.loop.close()
        return self.trace


def main():
    programs = json.load(sys.stdin)
    json.dump([Execution(p["bodies"]).execute(p["runs"]) for p in programs], sys.stdout)


main()
