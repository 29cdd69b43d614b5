// Tables of what a program has several of: runtimes, workers, loops and queues.

import { html, set } from "./svg.js";
import { table, fill } from "./table.js";
import { number, noFigure } from "./look/number.js";
import { duration, rate } from "./words.js";

export class Lists {
	#sections = new Map(); // by title: {section, table}

	constructor(host, choose) {
		this.host = host;
		this.choose = choose; // called with the name of a runtime
		this.buttons = new Map(); // by name of a runtime
	}

	// update shows the tables of a picture. chosen is the name of the runtime that the page shows.
	update(picture, histories, chosen) {
		const runtimes = Object.entries(picture.runtimes), workers = picture.runtimes[chosen]?.stats?.Worker ?? [];
		for (const name of this.buttons.keys()) if (!picture.runtimes[name]) this.buttons.delete(name);
		this.#show("Runtimes", ["armed", "fired", "late, 99 %", "blocked", "panics"], runtimes.length < 2 ? [] : runtimes.map(([name, { stats }]) =>
			[this.#button(name, name === chosen), ...runtimeCells(stats, histories.get(name))]));
		this.#show("Workers", ["armed", "fired", "wake-ups", "dead entries", "shards"], workers.map((w, i) =>
			[`Worker ${number(i)}`, w.Armed, w.Fired, w.Wakeups, w.Stale, w.Shards]));
		this.#show("Loops", ["state", "timers", "next in", "posted", "held"], Object.entries(picture.loops ?? {}).map(([name, l]) => [name, ...loopCells(l)]));
		this.#show("Queues", ["values", "due now", "next in"], Object.entries(picture.queues ?? {}).map(([name, q]) => [name, ...queueCells(q)]));
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
	#show(title, columns, rows) {
		let entry = this.#sections.get(title);
		if (!entry) {
			const id = `list-${title.toLowerCase()}`;
			const made = table(title, ["", ...columns]);
			const scroll = html("div", { class: "scroll", role: "group", tabindex: 0, "aria-labelledby": id }, made);
			entry = { section: html("section", { "aria-labelledby": id }, html("h2", { id }, title), scroll), table: made };
			this.#sections.set(title, entry);
			this.host.append(entry.section);
		}
		entry.section.hidden = rows.length === 0;
		fill(entry.table, rows);
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
const until = (ns) => (ns <= 0 ? "now" : duration(ns));
