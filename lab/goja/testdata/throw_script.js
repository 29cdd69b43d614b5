// stderr: Uncaught a word
setTimeout(() => console.log('must not run: timer'), 1)
queueMicrotask(() => console.log('must not run: microtask'))
console.log('thrown')
throw 'a word'
