// The parts of the time ahead, with the number of timers that are due in each.

// parts divides the time from now on into parts, in order and adjoining, and counts the timers of a horizon in them. edges are
// the usual ends of parts. A part is {from, to, count, exact}. Counts are whole numbers that sum up to that of the horizon.
// exact says that the count is known.
//
// A bucket of a horizon says how many timers are due between its ends, but not when. The timers of a bucket count as evenly
// spread. If they are too few for that, their bucket is a part by itself: spread over many parts, a timer would be seen in none.
export function parts(horizon, edges) {
	const buckets = horizon.filter((b) => b.Count > 0).map(({ From, To, Count }) => ({ from: Math.max(From, 0), to: To > 0 ? To : 1, count: Count }));
	const whole = buckets.filter((b) => hasTooFew(b, edges));
	const usual = edges.filter((edge) => !whole.some((b) => b.from < edge && edge < b.to));
	const ends = [...new Set([...usual, ...whole.flatMap((b) => [b.from, b.to])])].filter((end) => end > 0).sort((a, b) => a - b);
	const all = [...ends, Infinity].map((to, i) => ({ from: i === 0 ? 0 : ends[i - 1], to, count: 0, exact: true }));
	for (const b of buckets) spread(b, all);
	return all;
}

// hasTooFew reports whether a bucket covers a whole part, or several, and has less than a timer for the shortest of them, which
// is the first.
function hasTooFew({ from, to, count }, edges) {
	const [first, second] = edges.filter((edge) => from < edge && edge < to);
	return second !== undefined && (count * (second - first)) / (to - from) < 1;
}

// spread adds the timers of a bucket to the parts that it covers. It rounds the number of timers until the end of each part, not
// that of each part, so that none is lost.
function spread({ from, to, count }, all) {
	const covered = all.filter((p) => p.from < to && from < p.to);
	let before = 0;
	for (const p of covered) {
		const until = Math.round((count * (Math.min(to, p.to) - from)) / (to - from));
		p.count += until - before;
		p.exact &&= covered.length === 1;
		before = until;
	}
}
