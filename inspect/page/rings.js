// The rings of the wheel: its levels, found from the buckets of a horizon.

import { second, year } from "./words.js";

const branches = 64; // of a level
const digit = Math.log2(branches);
const decimal = Math.log2(1000); // of a tick of a microsecond: other ticks are powers of two, in nanoseconds

// rings returns the levels of a wheel, the fastest first. A level has buckets of one width, and goes round once in
// 64 of them. Each ring is {width, turn, cells, count, fast}: cells are the buckets with timers. Rings that go round in less
// than a second are fast. usual is the tick of the wheel in nanoseconds, if the buckets do not say it.
export function rings(horizon, usual) {
	const buckets = horizon.filter((b) => b.Count > 0); // an empty range is one bucket, whatever its length
	const phase = widthPhase(buckets, usual);
	const levels = new Map(); // by exponent: the logarithm of the width
	const level = (e) => {
		if (!levels.has(e)) levels.set(e, { width: 2 ** e, turn: 2 ** (e + digit), cells: [], count: 0, fast: 2 ** (e + digit) < second });
		return levels.get(e);
	};
	// The levels that are always shown: from those that turn in a millisecond to that of a year.
	for (let e = phase; ; e += digit) {
		if (2 ** (e + digit) > 5e5) level(e);
		if (2 ** (e + digit) >= year) break;
	}
	const lowest = Math.min(...levels.keys());
	for (const b of buckets) {
		const from = Math.max(b.From, 0), to = Math.max(b.To, 0);
		let e = phase + digit * Math.max(0, Math.round((Math.log2(b.To - b.From) - phase) / digit));
		while (to > 2 ** (e + digit) * 1.02) e += digit; // not of a level: it would not fit on the ring
		const ring = level(Math.max(e, lowest));
		ring.count += b.Count;
		ring.cells.push({ from, to, count: b.Count });
	}
	return [...levels.entries()].sort(([a], [b]) => a - b).map(([, ring]) => ring);
}

// isManual reports whether the runtime of a horizon has a manual clock, which does not go by itself. There a tick is a
// nanosecond.
export const isManual = (horizon) => horizon.length > 0 && widthPhase(horizon.filter((b) => b.Count > 0)) === 0;

// widthPhase returns the logarithm of the wheel's tick, modulo that of 64: every width is a tick times a power of 64.
function widthPhase(buckets, usual = 16384) {
	const votes = new Map();
	const vote = (phase) => votes.set(phase, (votes.get(phase) ?? 0) + 1);
	for (const b of buckets) {
		const exact = Math.log2(b.To - b.From), e = Math.round(exact);
		if (Math.abs(exact - e) < 1e-6) vote(e % digit);
		const times = (exact - decimal) / digit; // the power of 64
		if (Math.abs(times - Math.round(times)) < 1e-6) vote(decimal % digit);
	}
	return [...votes].reduce((best, vote) => (vote[1] > best[1] ? vote : best), [Math.log2(usual) % digit, 0])[0];
}
