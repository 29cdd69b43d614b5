// Tables of what a program has several of: runtimes, workers, loops and queues.

import { html, set } from "./svg.js";
import { table, fill } from "./table.js";
import { number, noFigure } from "./look/number.js";
import { duration, rate } from "./words.js";

export class Lists {
	#sections = new Map(); // by title: {section, table, columns}

	constructor(host, choose) {
		this.host = host;
		this.choose = choose; // called with the name of a runtime
		this.buttons = new Map(); // by name of a runtime
	}

	// update shows the tables of a picture. chosen is the name of the runtime that the page shows.
	update(picture, histories, chosen) {
		const names = Object.keys(picture.runtimes);
		this.#show("Runtimes", names.length > 1 ? ["", "armed", "fired", "late, 99 %", "blocked", "panics"] : null, () => names.map((name) => {
			const { stats } = picture.runtimes[name];
			if (!stats) return [this.#button(name, name === chosen), ...Array(5).fill(noFigure)];
			return [this.#button(name, name === chosen), stats.Armed, rate(histories.get(name)?.rate("fired")),
				stats.Late.Count > 0 ? duration(stats.Late.P99) : noFigure, stats.Blocked, stats.Panics];
		}));
		for (const name of this.buttons.keys()) if (!picture.runtimes[name]) this.buttons.delete(name);
		const workers = picture.runtimes[chosen]?.stats?.Worker ?? [];
		this.#show("Workers", workers.length > 0 ? ["", "armed", "fired", "wake-ups", "dead entries", "shards"] : null, () =>
			workers.map((w, i) => [`Worker ${number(i)}`, w.Armed, w.Fired, w.Wakeups, w.Stale, w.Shards]));
		this.#objects("Loops", picture.loops);
		const queues = Object.entries(picture.queues ?? {});
		this.#show("Queues", queues.length > 0 ? ["", "values", "due now", "next in"] : null, () => queues.map(([name, q]) => [name, q.len, ...soonest(q.horizon)]));
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

	// #objects shows a table of objects by name. Its columns are the numbers of the objects.
	#objects(title, all) {
		const rows = Object.entries(all ?? {});
		const keys = [...new Set(rows.flatMap(([, o]) => Object.keys(o).filter((key) => typeof o[key] === "number")))];
		this.#show(title, rows.length > 0 ? ["", ...keys] : null, () => rows.map(([name, o]) => [name, ...keys.map((key) => o[key] ?? noFigure)]));
	}

	// #show shows a table, or hides it if it has no columns.
	#show(title, columns, rows) {
		let entry = this.#sections.get(title);
		if (!columns) {
			if (entry) entry.section.hidden = true;
			return;
		}
		if (!entry || entry.columns !== columns.join()) {
			entry?.section.remove();
			const id = `list-${title.toLowerCase()}`;
			const made = table(title, columns);
			const scroll = html("div", { class: "scroll", role: "group", tabindex: 0, "aria-labelledby": id }, made);
			entry = { section: html("section", { "aria-labelledby": id }, html("h2", { id }, title), scroll), table: made, columns: columns.join() };
			this.#sections.set(title, entry);
			this.host.append(entry.section);
		}
		entry.section.hidden = false;
		fill(entry.table, rows());
	}
}

// soonest returns how many values of a horizon are due, and when the next one is.
function soonest(horizon) {
	const due = horizon.filter((b) => b.From <= 0).reduce((sum, b) => sum + b.Count, 0);
	const next = horizon.find((b) => b.From > 0 && b.Count > 0);
	return [due, next ? duration(next.From) : noFigure];
}
