// stderr: RangeError: in a microtask
setTimeout(() => console.log('must not run: timer'), 1)
Promise.resolve().then(() => console.log('before'))
queueMicrotask(() => { throw new RangeError('in a microtask') })
Promise.resolve().then(() => console.log('must not run: after'))
