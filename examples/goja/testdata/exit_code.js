// args: one two
// The exit code of a script that ends by itself; what is no integer is refused.
console.log(process.exitCode, process.argv.slice(2).join())
for (const code of ['x', 1.5, NaN, {}, true]) {
  try {
    process.exitCode = code
    console.log('taken')
  } catch (e) {
    console.log('refused')
  }
}
process.exitCode = '12'
setTimeout(() => { process.exitCode = 5 }, 1)
