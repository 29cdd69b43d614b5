// only: goja, Node shows objects in another way
// stderr: to stderr
console.log()
console.log('a', 1, 1.5, -1, true, null, undefined, 10n, Symbol('s'))
console.log({ a: [1, 'x', { b: null }] }, [], [1, 2], new Date(0).toISOString(), /x/g)
console.log(function named() {}, class C {}, new Map())
console.info('info')
console.debug('debug')
console.error('to stderr')
console.warn('to stderr')
const round = {}
round.round = round
console.log(round)
