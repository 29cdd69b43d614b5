// How late timers fire: a histogram of the last minute, and percentiles.

import { BarChart } from "./bars.js";
import { write } from "./svg.js";
import { noFigure } from "./number.js";
import { duration, percent, timers, microsecond, millisecond, second } from "./words.js";
import { table, fill } from "./table.js";

const perOctave = 4;
const quantiles = [[0.5, "median", "P50"], [0.9, "90 % at most", "P90"], [0.99, "99 % at most", "P99"], [0.999, "99.9 % at most", "P999"], [1, "all at most", "Max"]];

export class Late {
	#chart;
	#low = 8 * microsecond; // the ends of the axis; they only move apart
	#high = 8 * millisecond;

	constructor(host, tableHost) {
		this.host = host;
		this.#chart = new BarChart(host);
		this.table = tableHost.appendChild(table("How late timers fire", ["", "last minute", "since the start"]));
	}

	// clear forgets the ends of the axis, for another runtime.
	clear() {
		this.#low = 8 * microsecond;
		this.#high = 8 * millisecond;
	}

	// update shows the distributions of the last minute and since the start. Without any in the last minute, the bars are
	// those since the start. stats has the percentiles since the start. period names the last minute.
	update(recent, start, stats, period) {
		const quiet = recent.count === 0;
		const shown = quiet ? start : recent;
		const empty = shown.count > 0 ? "" : "No timer has fired yet.";
		this.#draw(shown.count > 0 ? shown : null, quiet ? "since the start" : `in the ${period}`, quiet, empty);
		write(this.table.tHead.rows[0].cells[1], period);
		fill(this.table, [["fired", recent.count, stats.Count], ...quantiles.map(([q, name, key]) =>
			[name, quiet ? noFigure : duration(recent.quantile(q)), stats.Count > 0 ? duration(stats[key]) : noFigure])]);
		if (document.activeElement !== this.host) {
			this.host.setAttribute("aria-label", "How late timers fire: " + (empty ||
				`${quiet ? "since the start" : `in the ${period}`}, half of them at most ${duration(shown.quantile(0.5))}, 99 percent at most ${duration(shown.quantile(0.99))}`));
		}
	}

	#draw(shown, period, quiet, empty) {
		if (shown) {
			while (this.#high < shown.quantile(1) && this.#high < 1e4 * second) this.#high *= 2;
			while (this.#low > shown.quantile(0.05) && this.#low > microsecond) this.#low /= 2;
		}
		const bins = Math.round(Math.log2(this.#high / this.#low) * perOctave);
		const place = (ns) => Math.max(0, Math.min(1, Math.log2(ns / this.#low) / (bins / perOctave)));
		const counts = shown ? shown.binned(this.#low, perOctave, bins) : [];
		const most = Math.max(1, ...counts);
		let sum = 0;
		const bars = counts.map((n, i) => {
			sum += n;
			const from = this.#low * 2 ** (i / perOctave), to = this.#low * 2 ** ((i + 1) / perOctave);
			const which = i === 0 ? `at most ${duration(to)} late` : i === bins - 1 ? `more than ${duration(from)} late` : `${duration(from)} to ${duration(to)} late`;
			return {
				from: i / bins, to: (i + 1) / bins, share: n / most, kind: quiet ? "quiet" : "",
				tip: [`${timers(n)} fired ${which}`, `${percent(n / shown.count)} of those ${period}. ${percent(sum / shown.count)} are at most that late.`],
			};
		});
		const x = [];
		for (let d = Math.ceil(Math.log10(this.#low) - 1e-9); 10 ** d <= this.#high; d++) x.push({ at: place(10 ** d), label: duration(10 ** d) });
		const y = [{ at: 0, label: "0" }];
		if (shown) for (const share of [0.5, 1]) y.push({ at: share, label: percent((share * most) / shown.count) });
		const marks = shown ? [[0.5, "median"], [0.99, "99\u00a0%"]].map(([q, name]) => ({ at: place(shown.quantile(q)), label: `${name}: ${duration(shown.quantile(q))}` })) : [];
		this.#chart.draw({ bars, x, y, marks, empty });
	}
}
