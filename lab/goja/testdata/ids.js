// only: goja, in Node ids are objects, and clearImmediate damages timers that are not immediates
const noop = () => {}
const ids = [setTimeout(noop), setInterval(noop, 1), setImmediate(noop), setTimeout(noop)]
console.log(ids.every(id => Number.isInteger(id) && id > 0), new Set(ids).size)
ids.forEach(clearTimeout)
ids.forEach(clearImmediate)
for (const id of [undefined, null, NaN, -1, 0, 1.5, 1e300, 'x', true, {}, Symbol.iterator, 5n]) clearImmediate(id)
clearImmediate(setTimeout(() => console.log('a timer is not cleared by clearImmediate'), 0))
setTimeout(() => console.log('not used again:', !ids.includes(setTimeout(noop))), 1)
setTimeout(function () { console.log('this is the global object:', this === globalThis) }, 2)
setTimeout(function () { 'use strict'; console.log('in strict mode too:', this === globalThis) }, 3)
