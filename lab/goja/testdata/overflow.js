// stderr: RangeError: the call stack is exhausted
// only: goja, in Node this can be caught
setTimeout(function down() { down() }, 1)
setTimeout(() => console.log('must not run'), 20)
