// A cleared timer never runs; clearing anything else does nothing.
const never = () => console.log('must not run')
clearInterval(setTimeout(never, 1))
clearTimeout(setInterval(never, 1))
clearImmediate(setImmediate(never))

// Another kind: clearTimeout does not clear an immediate.
clearTimeout(setImmediate(() => console.log('an immediate is not cleared by clearTimeout')))

// The id as a number and as a string.
const byNumber = setTimeout(never, 1), byString = setTimeout(never, 1)
clearTimeout(+byNumber)
clearTimeout(String(+byString))

// Another timer that is due in the same iteration.
let second
setTimeout(() => { clearTimeout(second); console.log('cleared its sibling') }, 200)
second = setTimeout(never, 200)
let immediate
setImmediate(() => clearImmediate(immediate))
immediate = setImmediate(never)

// In a microtask between two timers.
let third
setTimeout(() => Promise.resolve().then(() => clearTimeout(third)), 220)
third = setTimeout(never, 220)

// A timer clears itself, twice, and is cleared after it has run.
const own = setTimeout(() => { clearTimeout(own); clearTimeout(own); console.log('cleared itself while running') }, 240)
setTimeout(() => clearTimeout(own), 260)

// Not an id.
let asked = 0
const foreign = { valueOf() { asked++; return +own }, toString() { asked++; return String(+own) } }
for (const id of [undefined, null, NaN, -1, 0, 1.5, 1e300, Infinity, '', 'x', '1.0', true, {}, [], foreign, () => {}, 12345678, '12345678', 5n]) {
  clearTimeout(id)
  clearInterval(id)
}
clearTimeout()
console.log('asked a foreign object', asked, 'times')
