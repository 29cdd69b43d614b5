process.exitCode = 9
Promise.resolve().then(() => process.exit()).then(() => console.log('must not run'))
Promise.resolve().then(() => console.log('must not run'))
