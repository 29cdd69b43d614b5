// Timers armed by a callback run in a later iteration, an immediate before a timer.
setTimeout(() => {
  console.log('timer')
  setTimeout(() => console.log('a timer of 300'), 300)
  setImmediate(() => {
    console.log('immediate')
    setImmediate(() => console.log('an immediate of the immediate'))
    Promise.resolve().then(() => console.log('its microtask'))
  })
  setImmediate(() => console.log('its sibling'))
  queueMicrotask(() => console.log('microtask'))
  console.log('timer ends')
}, 1)
