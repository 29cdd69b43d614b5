// stderr: Error: from an async function
async function f() {
  await sleep(20)
  throw new Error('from an async function')
}
f()
setTimeout(() => console.log('must not run'), 60)
