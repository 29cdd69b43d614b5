// stderr: Error: boom
// An exception in a callback ends the script: neither its microtasks nor other due timers run.
setTimeout(() => console.log('before'), 20)
setTimeout(function culprit() {
  Promise.resolve().then(() => console.log('must not run: microtask'))
  setImmediate(() => console.log('must not run: immediate'))
  try {
    throw new Error('boom')
  } finally {
    console.log('finally')
  }
}, 40)
setTimeout(() => console.log('must not run: sibling'), 40)
setTimeout(() => console.log('must not run: later'), 60)
