// flags: -html
// only: virtual, it shows exact times
// A timer armed by a microtask begins a new chain: it is not nested in the timer before.
const timeout = () => new Promise(resolve => setTimeout(resolve, 0))

async function awaits() {
  const times = []
  for (let i = 0; i < 10; i++) {
    await timeout()
    times.push(performance.now())
  }
  console.log('await', times.join(' '))
}

// chain nests ten timers, then calls arm to set one more, which prints its delay.
function chain(name, arm, n = 10) {
  if (n > 0) {
    setTimeout(chain, 0, name, arm, n - 1)
    return
  }
  const begin = performance.now()
  arm(() => setTimeout(() => console.log(name, performance.now() - begin), 0))
}

// ticks does the same in the tenth run of an interval.
function ticks(name, arm) {
  let n = 0
  const id = setInterval(() => {
    if (++n < 10) return
    clearInterval(id)
    chain(name, arm, 0)
  }, 0)
}

const ways = {
  callback: set => set(),
  queueMicrotask: set => queueMicrotask(set),
  then: set => Promise.resolve().then(set),
  'callback after queueMicrotask': set => { queueMicrotask(() => {}); set() },
}

async function all() {
  await awaits()
  for (const [name, arm] of Object.entries(ways)) {
    chain('timeout, ' + name, arm)
    await sleep(100)
    ticks('interval, ' + name, arm)
    await sleep(100)
  }
}
all()
