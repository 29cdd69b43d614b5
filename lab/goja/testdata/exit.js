// process.exit ends everything at once.
process.exitCode = 7
setTimeout(() => {
  queueMicrotask(() => console.log('must not run: microtask'))
  try {
    console.log('exits')
    process.exit(3)
    console.log('must not run: next statement')
  } catch (e) {
    console.log('must not run: catch')
  } finally {
    console.log('must not run: finally')
  }
}, 20)
setTimeout(() => console.log('must not run: sibling'), 20)
