// stderr: an error that cannot be shown
// only: goja, Node prints what it can
setTimeout(() => { throw { toString() { throw 'up' } } }, 1)
setTimeout(() => console.log('must not run'), 20)
