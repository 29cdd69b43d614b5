// stderr: TimeoutOverflowWarning: 2147483648 does not fit
// All of these delays count as 1: they run before the timer of 2, in the order of arming.
const ran = []
const odd = {
  'nothing': [], 'undefined': [undefined], 'null': [null], 'NaN': [NaN], 'zero': [0], '-0': [-0], '-1': [-1], '-Infinity': [-Infinity],
  'Infinity': [Infinity], '2^31': [2 ** 31], '2^32': [2 ** 32], '2^32+1000': [2 ** 32 + 1000], '2^53': [2 ** 53], '0.5': [0.5], '1.9': [1.9],
  'true': [true], 'false': [false], 'a word': ['soon'], 'an empty string': [''], 'an array': [[]], 'an object': [{}], 'a function': [() => 5],
  'valueOf': [{ valueOf: () => 1 }],
}
for (const name in odd) setTimeout(() => ran.push(name), ...odd[name])
setTimeout(() => ran.push('2'), 2)
for (const [name, ms] of [['"40"', '40'], ['0x28', '0x28'], ['[40]', [40]], ['valueOf 40', { valueOf: () => 40 }]]) {
  setTimeout(() => ran.push(name), ms)
}
setTimeout(() => ran.push('41'), 41)
const never = setTimeout(() => ran.push('2^31-1'), 2 ** 31 - 1)
setTimeout(() => { clearTimeout(never); console.log(ran.join('\n')) }, 200)

for (const ms of [Symbol('s'), 10n, { valueOf() { throw new RangeError('valueOf') } }]) {
  try {
    setTimeout(() => console.log('must not run'), ms)
  } catch (e) {
    console.log('thrown:', e.name)
  }
}
