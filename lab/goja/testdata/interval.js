// Intervals: arguments, clearing in the callback, and the order among equal delays.
const order = []
let n = 0
const id = setInterval((...args) => {
  order.push(`tick ${++n} ${args}`)
  if (n === 3) clearInterval(id)
  const tick = n
  setTimeout(() => order.push(`timeout of tick ${tick}`), 50)
  queueMicrotask(() => setTimeout(() => {
    order.push(`timeout of the microtask of tick ${tick}`)
    if (tick === 3) console.log(order.join('\n'))
  }, 50))
}, 50, 'a', 'b')
