// Background work keeps the script running, and its result is a promise.
async function main() {
  const [first, second] = await Promise.all([readFile('testdata/io.js'), readFile('testdata/exit.js')])
  console.log(first.split('\n')[0])
  console.log(second.split('\n')[0])
  try {
    await readFile('testdata/there is no such file')
  } catch (e) {
    console.log(e instanceof Error, /no such file|cannot find/.test(e.message))
  }
  await sleep(20)
  return 'slept'
}
main().then(v => console.log(v))
console.log('under way')
