// stderr: Error: nobody cares
// A rejection may be handled until the microtasks are done.
const early = Promise.reject(new Error('handled by a microtask'))
queueMicrotask(() => early.catch(e => console.log(e.message)))
setTimeout(() => {
  const late = Promise.reject(new Error('nobody cares'))
  Promise.resolve().then(() => console.log('microtasks run first'))
  setTimeout(() => late.catch(() => console.log('must not run: too late')), 1)
}, 20)
setTimeout(() => console.log('must not run'), 60)
