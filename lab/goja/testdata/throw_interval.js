// stderr: TypeError
let n = 0
setInterval(() => {
  console.log('tick', ++n)
  if (n === 2) null.property
}, 20)
