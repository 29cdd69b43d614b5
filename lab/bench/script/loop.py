"""Does one piece of work on the event loop of asyncio or uvloop and prints the result as a line of JSON.

usage: loop.py asyncio|uvloop version|register|delays|soon|chain|post|late N [FROM_NS TO_NS | PRODUCERS]
"""
import asyncio
import json
import platform
import random
import sys
import threading
import time

kind, work, n = sys.argv[1], sys.argv[2], int(sys.argv[3])
extra = [int(a) for a in sys.argv[4:]]
if kind == "uvloop":
    import uvloop

    loop = uvloop.new_event_loop()
else:
    loop = asyncio.new_event_loop()
now = time.perf_counter_ns


def nothing():
    pass


def countdown(left):
    def one():
        nonlocal left
        left -= 1
        if left == 0:
            loop.stop()

    return one


def version():
    name = "Python " + platform.python_version()
    return {"version": name if kind == "asyncio" else "uvloop %s, %s" % (uvloop.__version__, name)}


def register():
    delays = [60 + i % 60 for i in range(n)]
    began = now()
    for d in delays:
        loop.call_later(d, nothing)
    return {"ns": now() - began}


def delays():
    low, high = extra
    one = countdown(n)
    began = now()
    for i in range(n):
        loop.call_later((low + (high - low) * i // max(n - 1, 1)) / 1e9, one)
    loop.run_forever()
    return {"ns": now() - began}


def soon():
    left = n

    def refill():
        nonlocal left
        if left == 0:
            loop.stop()
            return
        some = min(left, 1024)
        for _ in range(some):
            loop.call_soon(nothing)
        left -= some
        loop.call_soon(refill)

    began = now()
    refill()
    loop.run_forever()
    return {"ns": now() - began}


def chain():
    left = n

    def one():
        nonlocal left
        left -= 1
        if left:
            loop.call_soon(one)
        else:
            loop.stop()

    began = now()
    loop.call_soon(one)
    loop.run_forever()
    return {"ns": now() - began}


def post():
    producers = extra[0]
    each = n // producers
    one = countdown(each * producers)

    def produce():
        for _ in range(each):
            loop.call_soon_threadsafe(one)

    threads = [threading.Thread(target=produce) for _ in range(producers)]
    began = now()
    for t in threads:
        t.start()
    loop.run_forever()
    took = now() - began
    for t in threads:
        t.join()
    return {"ns": took}


def late():
    low, high = extra
    result = []
    last = countdown(n)

    def one(due):
        result.append(now() - due)
        last()

    for _ in range(n):
        d = random.randrange(low, high)
        loop.call_later(d / 1e9, one, now() + d)
    loop.run_forever()
    return {"late": result}


print(json.dumps({f.__name__: f for f in (version, register, delays, soon, chain, post, late)}[work]()))
