// Runs programs on Node's timers and prints their traces.
//
// Standard input is a JSON list of programs. Standard output is a JSON list of their traces. A
// program has bodies. Body 0 is executed from outside; the other bodies are those of
// callbacks. An operation is [name, a, b].
//
// There are two traces, one of timers and one of immediates, because the order of a timer and
// an immediate depends on the speed of the machine. Timers only execute operations on timers,
// and immediates only those on immediates.
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
