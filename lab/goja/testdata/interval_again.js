// An interval that its own callback clears and sets again, once with clearTimeout.
let rounds = 0
function again() {
  clearInterval(id)
  clearTimeout(id)
  console.log('round', ++rounds)
  if (rounds < 3) id = setInterval(again, 20)
}
let id = setInterval(again, 20)
