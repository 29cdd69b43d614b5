// The horizon: how many timers are due when, from now to a year, on a logarithmic scale.

import { BarChart } from "./bars.js";
import { count, number } from "./number.js";
import { parts } from "./parts.js";
import { duration, timers, percent, millisecond, second, minute, hour, day, year } from "./words.js";

const low = millisecond; // the end of the first part
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
		const all = parts(horizon, fineEdges(this.#chart.narrow ? 4 : 8));
		const most = Math.max(10, ...all.map((p) => p.count));
		const top = Math.ceil(Math.log10(most));
		const scale = (n) => (n === 0 ? 0 : (Math.log10(n) + 0.25) / (top + 0.25));
		let before = 0;
		const bars = all.map((p) => {
			before += p.count;
			return {
				from: place(p.from), to: place(p.to), share: scale(p.count),
				tip: [`${amount(p, timers)} due ${name(p)}`, `${percent(armed ? p.count / armed : 0)} of all. Until then ${percent(armed ? before / armed : 0)} are due.`],
			};
		});
		const empty = why ? `Not available: ${why}.` : armed === 0 ? "No timer is armed." : "";
		const y = [{ at: 0, label: "0" }];
		const every = Math.ceil(top / 5);
		for (let d = top; d >= 0 && scale(10 ** d) > 0.13; d -= every) y.push({ at: scale(10 ** d), label: count(10 ** d) });
		this.#chart.draw({ bars, y, x: (this.#chart.narrow ? fewPlaces : places).map((v) => ({ at: place(v), label: label(v) })), empty });
		if (document.activeElement !== this.host) this.host.setAttribute("aria-label", empty ? `When timers are due: ${empty}` : describe(all, armed));
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

// fineEdges returns the edges of parts from a millisecond to a year, so many for each power of ten.
function fineEdges(perDecade) {
	const edges = [];
	for (let i = 0; i <= Math.floor(decades * perDecade); i++) edges.push(low * 10 ** (i / perDecade));
	return [...edges, year];
}

// name says when the timers of a part are due.
function name({ from, to }) {
	if (from === 0) return `now or within ${to === low ? "a millisecond" : label(to)}`;
	if (to === Infinity) return `in more than ${from === year ? "a year" : label(from)}`;
	return `in ${label(from)} to ${label(to)}`;
}

// amount says how many timers a part has.
const amount = ({ count, exact }, write) => (exact ? "" : "about ") + write(count);

// describe returns a sentence with the main figures of the strip.
function describe(all, armed) {
	const most = all.reduce((a, b) => (b.count > a.count ? b : a));
	let sum = 0;
	const middle = all.find((p) => (sum += p.count) >= armed / 2) ?? all.at(-1);
	return `When timers are due: most of them, ${amount(most, number)}, ${name(most)}; half of all ${middle.to === Infinity ? name(middle) : `within ${duration(middle.to)}`}`;
}

// horizonRows are the rows of the table that says the same.
export function horizonRows(horizon, armed) {
	let before = 0;
	return parts(horizon, places).map((p) => {
		before += p.count;
		return [name(p), p.count, percent(armed ? before / armed : 0)];
	});
}
