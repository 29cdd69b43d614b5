// only: virtual, it shows exact times
// Without -html every delay is at least 1, and nesting does not matter.
const times = []
let n = 0
setTimeout(function next() {
  times.push(performance.now())
  if (++n < 10) setTimeout(next, 0)
  else console.log(times.join(' '))
}, 0)
