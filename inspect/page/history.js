// The last minutes of a runtime.

import { distributions } from "./distribution.js";

export const kept = 300; // seconds that the history goes back
const capacity = 700; // samples: at least those seconds, at one each half second
const spacing = 0.45; // seconds: samples that come faster are left out
const gap = 5; // seconds without a sample that show as a gap, unless snapshots come that slowly
const smooth = 2.2; // seconds over which a rate is taken, so that a timer a second is a line
const coarse = 5; // seconds between two distributions that are kept
export const recent = 60; // seconds that "the last minute" has

// columns are the numbers that a sample has. Counters only grow while a runtime lives.
const columns = {
	armed: (s) => s.Armed,
	fired: (s) => s.Late.Count, // Fired leaves out the timers of tasks
	stopped: (s) => s.Stopped,
	rearmed: (s) => s.Rearmed,
	wakeups: (s) => s.Wakeups,
	polls: (s) => s.TaskPolls,
	blocked: (s) => s.Blocked,
	panics: (s) => s.Panics,
	rescued: (s) => s.GoRescued,
};
const counters = Object.keys(columns).filter((name) => name !== "armed");

// A History holds samples of a runtime in rings of fixed size.
export class History {
	constructor() {
		this.time = new Float64Array(capacity);
		this.values = Object.fromEntries(Object.keys(columns).map((name) => [name, new Float64Array(capacity)]));
		this.clear();
	}

	clear() {
		this.end = 0; // the number of samples ever; sample i is at i % capacity
		this.usual = Infinity; // the shortest time between two samples, in seconds
		this.distributions = []; // {time, late, ran}, of the last minute, oldest first
	}

	get length() { return Math.min(this.end, capacity); }

	// add appends a snapshot of the runtime. time is in seconds.
	add(time, runtime) {
		const last = this.end - 1;
		if (last >= 0) {
			const lower = (name) => columns[name](runtime.stats) < this.at(name, last);
			if (time < this.when(last) || counters.some(lower)) this.clear(); // another process
			else if (time - this.when(last) < spacing) return;
		}
		if (this.end > 0) this.usual = Math.min(this.usual, time - this.when(this.end - 1));
		const i = this.end++ % capacity;
		this.time[i] = time;
		for (const [name, of] of Object.entries(columns)) this.values[name][i] = of(runtime.stats);
		this.#keep(time, runtime);
	}

	#keep(time, runtime) {
		const d = this.distributions;
		if (d.length > 0 && time - d.at(-1).time < coarse) return;
		d.push({ time, ...distributions(runtime) });
		while (time - d[0].time > recent + coarse) d.shift();
	}

	when(i) { return this.time[i % capacity]; }
	at(name, i) { return this.values[name][i % capacity]; }

	// since returns how much a counter grew in the last minute, or in as much of it as is known.
	since(name) {
		const last = this.end - 1;
		let i = last;
		while (i > this.end - this.length && this.when(last) - this.when(i - 1) <= recent) i--;
		return last < 0 ? 0 : this.at(name, last) - this.at(name, i);
	}

	// period names the time that since and distribution cover: the last minute, or less if the page has not listened that long.
	get period() {
		const known = this.end > 0 ? this.when(this.end - 1) - this.distributions[0].time : 0;
		return known >= recent - coarse ? "last minute" : `last ${Math.max(1, Math.round(known))}\u00a0s`;
	}

	// series returns times and rates for a plot: [times, ...rates of each name]. A gap is null.
	series(names) {
		const out = [[], ...names.map(() => [])];
		for (let i = this.end - this.length; i < this.end; i++) {
			const t = this.when(i);
			if (t < this.when(this.end - 1) - kept) continue;
			out[0].push(t);
			names.forEach((name, k) => out[k + 1].push(this.rate(name, i)));
		}
		return out;
	}

	// rate returns how much a counter grew a second in the two seconds before sample i; null if that is not known. The
	// armings, "new", are not counted by the runtime. They follow from the change of Armed and from the timers that have fired or were stopped.
	rate(name, i = this.end - 1) {
		const joined = (k) => k > this.end - this.length && this.when(k) - this.when(k - 1) <= Math.max(gap, 3 * this.usual);
		if (!joined(i)) return null;
		let from = i;
		do from--; while (joined(from) && this.when(i) - this.when(from - 1) <= smooth);
		const grown = (n) => this.at(n, i) - this.at(n, from);
		const by = name === "new" ? Math.max(0, grown("armed") + grown("fired") + grown("stopped")) : grown(name);
		return by / (this.when(i) - this.when(from));
	}

	// distribution returns the durations that were added to late or ran in the last minute.
	distribution(name, now) {
		const d = this.distributions;
		return now.minus(d[0][name]);
	}
}
