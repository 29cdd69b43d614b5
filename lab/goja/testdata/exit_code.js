// args: one two
// The exit code of a script that ends by itself. A value that is not an integer is an error.
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
