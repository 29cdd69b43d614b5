// A handler that is not a function is a TypeError, whatever the kind of timer.
for (const set of [setTimeout, setInterval, setImmediate, queueMicrotask]) {
  for (const handler of ['console.log("compiled")', undefined, null, 5, {}, Symbol.iterator]) {
    try {
      set(handler, 1)
      console.log(set.name, 'took', typeof handler)
    } catch (e) {
      console.log(set.name, e instanceof TypeError, e.code)
    }
  }
}
