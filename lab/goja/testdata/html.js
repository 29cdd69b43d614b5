// flags: -html
// only: virtual, it shows exact times
// Nested timers take at least 4 ms from the seventh on; delays wrap at 2^32.
const times = []
let n = 0
setTimeout(function next() {
  times.push(performance.now())
  if (++n < 10) setTimeout(next, 0)
  else setTimeout(() => console.log('chain', times.join(' ')), 5)
}, 0)

const ticks = []
const id = setInterval(() => {
  ticks.push(performance.now())
  if (ticks.length === 10) {
    clearInterval(id)
    console.log('interval', ticks.join(' '))
  }
}, 1)

sleep(100).then(() => {
  const begin = performance.now()
  for (const ms of [2 ** 32, 2 ** 32 + 7, 2 ** 31, -1, NaN, Infinity, 3.9, '5', undefined]) {
    setTimeout(() => console.log(String(ms), performance.now() - begin), ms)
  }
})
