// An interval that is cleared and set again by its own callback, once by what clears timeouts.
let rounds = 0
function again() {
  clearInterval(id)
  clearTimeout(id)
  console.log('round', ++rounds)
  if (rounds < 3) id = setInterval(again, 20)
}
let id = setInterval(again, 20)
