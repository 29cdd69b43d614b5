// only: virtual, it takes a day
// A day with an event each minute ends at once, to the millisecond.
const start = Date.now()
let minutes = 0
const id = setInterval(() => { minutes++ }, 60_000)
const hours = ms => ms / 3_600_000
setTimeout(() => {
  clearInterval(id)
  console.log(minutes, 'minutes,', hours(Date.now() - start), 'hours,', hours(performance.now()))
}, 24 * 3_600_000)
async function everyEightHours() {
  for (let i = 0; i < 2; i++) {
    await sleep(8 * 3_600_000)
    console.log(hours(performance.now()))
  }
  console.log(start, (await readFile('testdata/day.js')).length > 0, hours(performance.now()))
}
everyEightHours()
setTimeout(() => console.log('24.8 days', performance.now()), 2 ** 31 - 1)
