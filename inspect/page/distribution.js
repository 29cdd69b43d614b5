// A distribution of durations, as the server counts them.

// A Distribution has buckets: the longest duration that belongs in each, in nanoseconds, and how many are in it.
class Distribution {
	constructor(buckets, max) {
		this.buckets = buckets;
		this.max = max; // no duration is longer
		this.count = buckets.reduce((sum, [, n]) => sum + n, 0);
	}

	// of makes a distribution of the server's buckets and its longest duration.
	static of(buckets, max) {
		return new Distribution(buckets.map((b) => [b.UpTo, b.Count]), max);
	}

	// minus returns the durations that were added since an earlier distribution.
	minus(earlier) {
		const before = new Map(earlier.buckets);
		const rest = this.buckets.map(([to, n]) => [to, n - (before.get(to) ?? 0)]);
		return rest.some(([, n]) => n < 0) ? this : new Distribution(rest.filter(([, n]) => n > 0), this.max);
	}

	// quantile returns a duration that a share q of the durations does not exceed.
	quantile(q) {
		let rank = Math.max(1, Math.ceil(q * this.count));
		for (const [to, n] of this.buckets) {
			rank -= n;
			if (rank <= 0) return Math.min(to, this.max);
		}
		return NaN;
	}

	// above returns how many are longer than a duration.
	above(ns) {
		return this.buckets.reduce((sum, [to, n]) => sum + (to > ns ? n : 0), 0);
	}

	// binned returns counts for bins of a logarithmic axis: bin i goes from low*2^(i/perOctave) to the next. Shorter
	// and longer durations are in the first and the last bin.
	binned(low, perOctave, bins) {
		const out = new Array(bins).fill(0);
		for (const [to, n] of this.buckets) {
			const i = Math.ceil(Math.log2(to / low) * perOctave - 1e-6) - 1;
			out[Math.max(0, Math.min(i, bins - 1))] += n;
		}
		return out;
	}
}

// distributions returns how late timers of a runtime fired, and how long its callbacks ran, since its start.
export function distributions(runtime) {
	return { late: Distribution.of(runtime.late, runtime.stats.Late.Max), ran: Distribution.of(runtime.ran, runtime.stats.Ran.Max) };
}
