// Does one piece of work on Node's event loop and prints the result as a line of JSON.
//
// usage: loop.js node version|register|delays|soon|chain|late N [FROM_NS TO_NS]
'use strict';
const [, , , work, count, ...extra] = process.argv;
const n = Number(count);
const [low, high] = extra.map(Number);
const now = () => Number(process.hrtime.bigint());
const tell = (x) => console.log(JSON.stringify(x));

// Node's timers have a resolution of a millisecond.
const ms = (ns) => Math.ceil(ns / 1e6);

const works = {
  version: () => tell({ version: 'Node ' + process.version }),
  register: () => {
    const delays = Array.from({ length: n }, (_, i) => 60000 + 1000 * (i % 60));
    const began = now();
    for (const d of delays) setTimeout(() => {}, d);
    tell({ ns: now() - began });
    process.exit();
  },
  delays: () => {
    let left = n;
    const began = now();
    for (let i = 0; i < n; i++) {
      setTimeout(() => { if (--left === 0) tell({ ns: now() - began }); }, ms(low + Math.floor((high - low) * i / Math.max(n - 1, 1))));
    }
  },
  soon: () => {
    let left = n;
    const began = now();
    const nothing = () => {};
    const refill = () => {
      if (left === 0) return tell({ ns: now() - began });
      const some = Math.min(left, 1024);
      for (let i = 0; i < some; i++) setImmediate(nothing);
      left -= some;
      setImmediate(refill);
    };
    refill();
  },
  chain: () => {
    let left = n;
    const began = now();
    const one = () => { if (--left === 0) tell({ ns: now() - began }); else setImmediate(one); };
    setImmediate(one);
  },
  late: () => {
    const late = [];
    for (let i = 0; i < n; i++) {
      const d = ms(low + Math.random() * (high - low));
      const due = now() + d * 1e6;
      setTimeout(() => { if (late.push(now() - due) === n) tell({ late }); }, d);
    }
  },
};
works[work]();
