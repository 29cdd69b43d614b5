// The tables of runtimes, workers, loops and queues.

import { html, set } from "./svg.js";
import { explain } from "./tip.js";
import { explore } from "./explore.js";
import { table, fill } from "./table.js";
import { number, noFigure } from "./number.js";
import { duration, rate, second } from "./words.js";

// columns are the columns of each table after the first: their heads and meanings.
const columns = {
	Runtimes: [
		["armed", "Timers that are armed."], ["fired", "Timers that have fired, a second."],
		["late, 99\u00a0%", "99 % of the timers were at most so late, since the start."],
		["blocked", "How often a callback blocked its worker, since the start."], ["panics", "Panics that Options.OnPanic got, since the start."],
	],
	Workers: [
		["armed", "Timers of the worker that are armed."], ["fired", "Timers that have fired, since the start."],
		["wake-ups", "How often a goroutine started to run the worker, since the start."],
		["dead entries", "Entries of stopped timers that are still in the wheels of the worker."],
		["shards", "Wheels of the worker: its own, and those of workers that have retired."],
	],
	Loops: [
		["state", "Whether a goroutine runs the loop."], ["timers", "Callbacks that are due later."], ["next in", "When the first of them is due."],
		["posted", "Callbacks that other goroutines have posted and the loop has not collected."], ["held", "Calls of Hold that keep the loop from being idle."],
	],
	Queues: [["values", "Values in the queue."], ["due now", "Values that are due and were not fetched."], ["next in", "When the first value is due or was due, or somewhat earlier."]],
};

export class Lists {
	#sections = new Map(); // by title: {section, table}

	constructor(host, choose) {
		this.host = host;
		this.choose = choose; // called with the name of a runtime
		this.buttons = new Map(); // by name of a runtime
	}

	// update shows the tables of a snapshot. chosen is the name of the runtime that the page shows.
	update(snapshot, histories, chosen) {
		const runtimes = Object.entries(snapshot.runtimes), workers = snapshot.runtimes[chosen]?.stats?.PerWorker ?? [];
		for (const name of this.buttons.keys()) if (!snapshot.runtimes[name]) this.buttons.delete(name);
		this.#show("Runtimes", runtimes.length < 2 ? [] : runtimes.map(([name, { stats }]) =>
			[this.#button(name, name === chosen), ...runtimeCells(stats, histories.get(name))]));
		this.#show("Workers", workers.map((w, i) => [`Worker ${number(i)}`, w.Armed, w.Fired, w.Wakeups, w.Stale, w.Shards]));
		this.#show("Loops", Object.entries(snapshot.loops ?? {}).map(([name, l]) => [name, ...loopCells(l)]));
		this.#show("Queues", Object.entries(snapshot.queues ?? {}).map(([name, q]) => [name, ...queueCells(q)]));
	}

	#button(name, chosen) {
		let button = this.buttons.get(name);
		if (!button) {
			button = html("button", { type: "button", class: "link" }, name);
			button.addEventListener("click", () => this.choose(name));
			this.buttons.set(name, button);
		}
		set(button, { "aria-current": chosen ? "true" : null });
		return button;
	}

	// #show shows a table, or hides it if it has no rows.
	#show(title, rows) {
		if (!this.#sections.has(title)) this.#sections.set(title, this.#make(title));
		const entry = this.#sections.get(title);
		entry.section.hidden = rows.length === 0;
		fill(entry.table, rows);
	}

	#make(title) {
		const id = `list-${title.toLowerCase()}`;
		const made = table(title, ["", ...columns[title].map(([name]) => name)]);
		const heads = [...made.querySelectorAll("th")];
		heads.forEach((head, i) => explain(head, () => columns[title][i]));
		const scroll = html("div", { class: "scroll", role: "group", tabindex: 0, "aria-labelledby": id }, made);
		explore(scroll, () => heads, { scrolls: true });
		const section = html("section", { "aria-labelledby": id }, html("h2", { id }, title), scroll);
		this.host.append(section);
		return { section, table: made };
	}
}

// runtimeCells are the cells of a runtime. stats is null if there is none of this name.
function runtimeCells(stats, history) {
	if (!stats) return Array(5).fill(noFigure);
	return [stats.Armed, rate(history?.rate("fired")), stats.Late.Count > 0 ? duration(stats.Late.P99) : noFigure, stats.Blocked, stats.Panics];
}

// loopCells are the cells of a loop.
function loopCells({ stats, unavailable }) {
	if (!stats) return [reason(unavailable), ...Array(4).fill(noFigure)];
	const state = stats.Closed ? "closed" : stats.Running ? "runs" : "does not run";
	return [state, stats.Timers, stats.Timers > 0 ? until(stats.Next) : noFigure, stats.Posted, stats.Held];
}

// queueCells are the cells of a queue.
function queueCells({ len, overdue, next, unavailable }) {
	if (unavailable?.len) return [reason(unavailable), noFigure, noFigure];
	if (unavailable) return [len, reason(unavailable), noFigure];
	return [len, overdue, next === null ? noFigure : until(next)];
}

const reason = (unavailable) => Object.values(unavailable ?? {})[0] ?? noFigure;

// until formats a time from now. What has been due for a second is stuck, so it says for how long.
const until = (ns) => (ns > 0 ? duration(ns) : ns > -second ? "now" : `${duration(-ns)} ago`);
