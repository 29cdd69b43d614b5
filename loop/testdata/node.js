// Runs programs on Node's timers and prints what they did.
//
// Standard input is a JSON list of programs, standard output a JSON list of their traces. A program has bodies; body 0
// is run from outside, the others are those of callbacks. An operation is [name, a, b].
//
// There are two traces, of timers and of immediates: which of a timer and an immediate comes first is up to the speed of
// the machine. Operations on timers are done by timers alone and those on immediates by immediates alone.
'use strict';

const maxCalls = 150;

function execute({ bodies }, done) {
  const traces = { timers: [], immediates: [] };
  const made = { timers: [], immediates: [] };
  let left = 0;

  function start(kind, body, arm) {
    const id = made[kind].length;
    left++;
    const entry = { live: true };
    made[kind].push(entry);
    entry.handle = arm(() => {
      entry.live = false;
      traces[kind].push(`call ${id}`);
      run(kind, bodies[body], id);
      end();
    });
  }

  function end() {
    left--;
    if (left === 0) setImmediate(() => done(traces));
  }

  function run(kind, ops, id) {
    for (const [name, a, b] of ops) {
      const full = made[kind].length >= maxCalls;
      if (name === 'timer' && kind === 'timers' && !full) {
        start('timers', a, (f) => setTimeout(f, b));
      } else if (name === 'immediate' && kind === 'immediates' && !full) {
        start('immediates', a, (f) => setImmediate(f));
      } else if (name === 'microtask') {
        queueMicrotask(() => traces[kind].push(`microtask of ${id}`));
      } else if (name === 'cancel' && made[kind].length > 0) {
        const entry = made[kind][b % made[kind].length];
        (kind === 'timers' ? clearTimeout : clearImmediate)(entry.handle);
        if (entry.live) {
          entry.live = false;
          end();
        }
      }
    }
  }

  left++;
  run('timers', bodies[0], -1);
  run('immediates', bodies[0], -1);
  end();
}

let input = '';
process.stdin.on('data', (chunk) => { input += chunk; });
process.stdin.on('end', () => {
  const programs = JSON.parse(input);
  const traces = [];
  (function next() {
    if (traces.length === programs.length) {
      process.stdout.write(JSON.stringify(traces));
      return;
    }
    execute(programs[traces.length], (trace) => {
      traces.push(trace);
      next();
    });
  })();
});
