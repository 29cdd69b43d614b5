// stderr: SyntaxError
console.log('must not run')
setTimeout(() => {, 1)
