// A chain of timers and an interval: neither starves the other.
let chain = 0, ticks = 0, left = 2
function done() {
  if (--left === 0) console.log('chain', chain, 'ticks', ticks)
}
setTimeout(function next() {
  if (++chain < 50) setTimeout(next, 0)
  else done()
}, 0)
const id = setInterval(() => {
  if (++ticks < 20) return
  clearInterval(id)
  done()
}, 1)
