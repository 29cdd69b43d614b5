// A table of things with IDs that come and go.

import { html, set, write } from "./live/svg.js";

// A Rows keeps the rows of a table. Rows that stay are the same elements, so that the focus stays in them. columns are
// {head, class, show}: show returns what is in the cell of an item: a text, or {text, title, note, class}. actions are the buttons
// of a row: {name, do}, and do is called with the item.
export class Rows {
	#rows = new Map(); // by key: {row, cells, item}

	constructor(table, title, columns, actions = []) {
		this.title = title; // gets the focus if no row is left
		this.columns = columns;
		this.actions = actions;
		const heads = columns.map((c) => html("th", { scope: "col", role: "columnheader", class: c.class }, c.head));
		if (actions.length > 0) heads.push(html("td", { role: "cell", class: "actions" }));
		this.body = html("tbody", { role: "rowgroup" });
		table.append(html("thead", { role: "rowgroup" }, html("tr", { role: "row" }, ...heads)), this.body);
		this.body.addEventListener("click", (event) => this.#act(event.target.closest("button")));
	}

	get size() { return this.#rows.size; }

	// show shows items, each with a key. Those that are not among them vanish.
	show(items) {
		const focus = this.#focus();
		const keys = new Set(items.map((item) => item.key));
		for (const [key, { row }] of this.#rows) {
			if (keys.has(key)) continue;
			row.remove();
			this.#rows.delete(key);
		}
		let place = this.body.firstChild;
		for (const item of items) {
			let entry = this.#rows.get(item.key);
			if (!entry) this.#rows.set(item.key, (entry = this.#make(item)));
			entry.item = item;
			if (entry.row === place) place = place.nextSibling;
			else this.body.insertBefore(entry.row, place);
		}
		this.refresh();
		this.#refocus(focus);
	}

	// refresh writes all cells again: some depend on the time.
	refresh() {
		for (const { cells, item } of this.#rows.values()) {
			this.columns.forEach((column, i) => {
				const shown = column.show(item);
				const { text, title = null, note = "", kind = null } = typeof shown === "string" ? { text: shown } : shown;
				write(cells[i].value, text);
				set(cells[i].value, { title, "data-kind": kind });
				write(cells[i].note, note);
			});
		}
	}

	#make(item) {
		const cells = this.columns.map((column) => ({ value: html("span", { class: "value" }), note: html("span", { class: "note" }) }));
		const row = html("tr", { role: "row" });
		this.columns.forEach((column, i) => {
			const cell = i === 0 ? html("th", { scope: "row", role: "rowheader" }) : html("td", { role: "cell" });
			set(cell, { class: column.class, "data-head": column.head });
			cell.append(cells[i].value, cells[i].note);
			row.append(cell);
		});
		if (this.actions.length > 0) {
			row.append(html("td", { role: "cell", class: "actions" }, ...this.actions.map((action) =>
				html("button", { type: "button", "data-do": action.name, "aria-label": `${action.name} ${item.id}` }, action.name))));
		}
		return { row, cells, item };
	}

	#act(button) {
		if (!button) return;
		const { item } = [...this.#rows.values()].find(({ row }) => row.contains(button));
		this.actions.find((action) => action.name === button.dataset.do).do(item);
	}

	// #focus returns where the focus is in the table; null: not in it.
	#focus() {
		const button = document.activeElement;
		if (!this.body.contains(button)) return null;
		const at = [...this.body.rows].findIndex((row) => row.contains(button));
		const key = [...this.#rows].find(([, { row }]) => row === this.body.rows[at])?.[0];
		return { button, at, key, name: button.dataset.do };
	}

	// #refocus gives the focus back if it was lost: to the same button, to that of the row that is there now, or to the title.
	#refocus(focus) {
		if (!focus || focus.button === document.activeElement) return;
		const row = this.#rows.get(focus.key)?.row ?? this.body.rows[Math.min(focus.at, this.body.rows.length - 1)];
		(row?.querySelector(`button[data-do="${focus.name}"]`) ?? this.title).focus();
	}
}
