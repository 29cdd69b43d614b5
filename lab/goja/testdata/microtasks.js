// All microtasks run after each callback, before the next one.
const order = []
const say = word => order.push(word)
setTimeout(() => {
  say('timer 1')
  Promise.resolve()
    .then(() => { say('then 1'); queueMicrotask(() => say('a microtask of a microtask')) })
    .then(() => say('then 2'))
  queueMicrotask(() => say('queued after then 1'))
}, 20)
setTimeout(() => say('timer 2'), 20)

async function steps() {
  say('async begins')
  await null
  say('after await')
  await new Promise(resolve => setTimeout(resolve, 40, 'value'))
  say('after a timer')
  try {
    await new Promise((_, reject) => setTimeout(reject, 1, new Error('no')))
  } catch (e) {
    say('caught ' + e.message)
  }
  return 'done'
}
steps().then(say).then(() => console.log(order.join('\n')))
queueMicrotask(() => say('queued by the script'))
say('script ends')
