// The horizon: how many timers are due when, from now to a year, on a logarithmic scale.

import { BarChart } from "./bars.js";
import { count, number } from "./look/number.js";
import { duration, timers, percent, millisecond, second, minute, hour, day, year } from "./words.js";

const low = millisecond; // the end of the first bin
const decades = Math.log10(year / low);
const places = [low, 10 * low, 100 * low, second, 10 * second, minute, 10 * minute, hour, 6 * hour, day, 7 * day, 30 * day, year];
const fewPlaces = [low, 100 * low, 10 * second, 10 * minute, day, year]; // for a narrow screen

export class Horizon {
	#chart;

	constructor(host) {
		this.host = host;
		this.#chart = new BarChart(host);
	}

	// update shows a horizon. why is the reason if there is none.
	update(horizon, armed, why) {
		const bins = binned(horizon, fineEdges(this.#chart.narrow ? 4 : 8));
		const most = Math.max(10, ...bins.map((b) => b.count));
		const top = Math.ceil(Math.log10(most));
		const scale = (n) => (n < 0.5 ? 0 : (Math.log10(Math.max(n, 1)) + 0.25) / (top + 0.25));
		let before = 0;
		const bars = bins.map((b) => {
			before += b.count;
			const about = Math.round(b.count), all = Math.round(before);
			return {
				from: place(b.from), to: place(b.to), share: scale(b.count),
				tip: [`about ${timers(about)} due ${b.name}`, `${percent(armed ? b.count / armed : 0)} of all. Until then ${percent(armed ? all / armed : 0)} are due.`],
			};
		});
		const empty = why ? `Not available: ${why}.` : armed === 0 ? "No timer is armed." : "";
		const y = [{ at: 0, label: "0" }];
		const every = Math.ceil(top / 5);
		for (let d = top; d >= 0 && scale(10 ** d) > 0.13; d -= every) y.push({ at: scale(10 ** d), label: count(10 ** d) });
		this.#chart.draw({ bars, y, x: (this.#chart.narrow ? fewPlaces : places).map((v) => ({ at: place(v), label: label(v) })), empty });
		if (document.activeElement !== this.host) this.host.setAttribute("aria-label", empty ? `When timers are due: ${empty}` : describe(bins, armed));
	}
}

// label writes a place on the axis. A bar that ends there is due by then.
const label = (v) => (v === 7 * day ? "1\u00a0week" : v === 30 * day ? "30\u00a0d" : v === year ? "1\u00a0year" : duration(v));

// place returns where a time is on the axis. Before the first millisecond and after a year is room for a bar.
function place(ns) {
	const margin = 0.02;
	if (ns <= 0) return 0;
	if (!Number.isFinite(ns)) return 1;
	return margin + (1 - 2 * margin) * Math.max(0, Math.min(1, Math.log10(ns / low) / decades));
}

// fineEdges returns the edges of bins from a millisecond to a year, so many for each power of ten.
function fineEdges(perDecade) {
	const edges = [];
	for (let i = 0; i <= Math.floor(decades * perDecade); i++) edges.push(low * 10 ** (i / perDecade));
	return [...edges, year];
}

// binned spreads the buckets over bins. A bucket counts as evenly filled. The first bin has the timers that are due before
// the first edge, with the overdue ones, and the last bin those that are due after the last edge.
function binned(horizon, edges) {
	const bins = [...edges, Infinity].map((to, i) => ({ from: i === 0 ? 0 : edges[i - 1], to, count: 0 }));
	bins.forEach((b) => {
		if (b.from === 0) b.name = "now or within a millisecond";
		else if (b.to === Infinity) b.name = "in more than a year";
		else b.name = `in ${label(b.from)} to ${label(b.to)}`;
	});
	let first = 0;
	for (const { From, To, Count } of horizon) {
		if (Count <= 0) continue;
		const from = Math.max(From, 0), to = Math.max(To, from + 1);
		while (bins[first].to <= from) first++;
		for (let i = first; i < bins.length && bins[i].from < to; i++) {
			bins[i].count += (Count * (Math.min(to, bins[i].to) - Math.max(from, bins[i].from))) / (to - from);
		}
	}
	return bins;
}

// describe returns a sentence with the main figures of the strip.
function describe(bins, armed) {
	const most = bins.reduce((a, b) => (b.count > a.count ? b : a));
	let sum = 0;
	const middle = bins.find((b) => (sum += b.count) >= armed / 2) ?? bins.at(-1);
	return `When timers are due: most of them, about ${number(Math.round(most.count))}, ${most.name}; half of all within ${duration(middle.to)}`;
}

// horizonRows are the rows of the table that says the same.
export function horizonRows(horizon, armed) {
	let before = 0;
	return binned(horizon, places).map((b) => {
		before += b.count;
		return [b.name, Math.round(b.count), percent(armed ? before / armed : 0)];
	});
}
