// How timers and work are spread over the workers, as bars.

import { html, set, write } from "./svg.js";
import { explain } from "./tip.js";
import { explore } from "./explore.js";
import { number } from "./number.js";
import { percent, rate } from "./words.js";

const span = 2.2; // seconds over which a rate is taken, as in history.js
const uneven = 2; // a worker with so many times its part of the timers is worth a sentence
const shownAtMost = 8; // those with the most timers. The table of workers has all
const few = 100; // armed timers below which the parts mean nothing

// measures are the two bars of a worker.
const measures = [
	{ name: "armed", about: "Timers that are armed on the worker.", of: (w) => w.Armed, text: number },
	{ name: "run", about: "Callbacks and polls that the worker runs, a second.", of: (w) => w.rate, text: rate },
];

export class Loads {
	#rows = []; // {item, name, bars, worker}
	#samples = []; // {time, counts} of the last seconds, oldest first
	#of = ""; // the name of the runtime that the samples are of

	constructor(host) {
		this.host = host;
		this.list = host.appendChild(html("ul", { class: "loads", "aria-labelledby": "loads-title" }));
		this.note = host.appendChild(html("p", { class: "quiet small" }));
		explore(this.list, () => this.#rows.map((row) => row.item));
	}

	// update shows the workers of the runtime with a name. A single one has nothing to be compared with. time is in seconds.
	update(name, stats, time) {
		const rates = this.#rates(name, stats.PerWorker, time);
		const all = stats.PerWorker.map((w, i) => ({ ...w, i, rate: rates?.[i] ?? null, share: stats.Armed > 0 ? w.Armed / stats.Armed : 0 }));
		const workers = all.toSorted((a, b) => b.Armed - a.Armed || a.i - b.i).slice(0, shownAtMost).sort((a, b) => a.i - b.i);
		this.host.hidden = all.length < 2;
		if (this.host.hidden) return;
		while (this.#rows.length < workers.length) this.#rows.push(this.#make());
		while (this.#rows.length > workers.length) this.#rows.pop().item.remove();
		measures.forEach((m, k) => {
			const most = Math.max(...workers.map((w) => m.of(w) ?? 0), 1e-9);
			this.#rows.forEach(({ bars }, i) => {
				bars[k].amount.style.width = `${((100 * (m.of(workers[i]) ?? 0)) / most).toFixed(1)}%`;
				write(bars[k].value, m.text(m.of(workers[i])));
			});
		});
		this.#rows.forEach((row, i) => {
			row.worker = workers[i];
			write(row.name, `Worker ${number(workers[i].i)}`);
		});
		set(this.list, { tabindex: 0 });
		write(this.note, note(workers, all.length, stats.Armed));
	}

	// #rates returns how much each worker ran a second, or null if that is not known.
	#rates(name, workers, time) {
		const counts = workers.map((w) => w.Fired + w.TaskPolls);
		const last = this.#samples.at(-1);
		const goesOn = last && name === this.#of && time >= last.time && counts.length === last.counts.length && counts.every((n, i) => n >= last.counts[i]);
		if (!goesOn) this.#samples = []; // another runtime or process, or Resize has moved shards
		this.#of = name;
		if (!goesOn || time > last.time) this.#samples.push({ time, counts });
		while (this.#samples.length > 2 && time - this.#samples[1].time >= span) this.#samples.shift();
		const first = this.#samples[0];
		return time > first.time ? counts.map((n, i) => (n - first.counts[i]) / (time - first.time)) : null;
	}

	#make() {
		const bars = measures.map((m) => ({ name: m.name, amount: html("span", { class: "amount" }), value: html("span", { class: "value" }) }));
		const row = { name: html("span", { class: "name" }), bars };
		row.item = html("li", {}, row.name,
			...bars.map((b) => html("span", { class: "measure" }, html("span", { class: "rail" }, b.amount), b.value, html("span", { class: "unit" }, b.name))));
		explain(row.item, () => [`${row.name.textContent}: ${percent(row.worker.share)} of the armed timers`,
			...measures.map((m, k) => `${bars[k].value.textContent} ${m.name}. ${m.about}`)]);
		this.list.append(row.item);
		return row;
	}
}

// note says which workers are shown if there are more, and which one has much more than its part of the timers.
function note(workers, count, armed) {
	const even = 1 / count, most = workers.reduce((a, b) => (b.share > a.share ? b : a));
	const which = workers.length < count ? `These are the ${number(workers.length)} of ${number(count)} workers with the most timers. ` : "";
	if (armed < few || most.share < Math.min(uneven * even, 0.9)) return which;
	return `${which}Worker ${number(most.i)} has ${percent(most.share)} of the timers; ${percent(even)} would be even. Timers that one goroutine arms stay together.`;
}
