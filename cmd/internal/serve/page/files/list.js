// A list of the server: its first page, more of it by the cursor, and all of that again when it has changed.

import { write } from "./live/svg.js";

// narrow matches the screens on which a row of a table has several lines.
export const narrow = matchMedia("(max-width: 760px)");
const most = 1000; // items that one request can have, and the page shows
const soonest = 1000; // milliseconds between two requests, if they are fast
const share = 10; // a request may take one of so many parts of the time
const slow = 5000; // milliseconds after which the list is requested without a sign that it has changed

// pageSize returns how many rows a table has at first, and how many More adds.
export const pageSize = () => (narrow.matches ? 10 : 20);

// A List shows a list in a table. Options:
//
//   - path returns the address without limit and cursor, and name is the field of the response that has the items.
//   - rows is the Rows of the table, and item makes what it shows of an item of the response.
//   - note and more are the elements below the table: a text and the button More. words returns the text.
//   - active reports whether the page may send requests now.
export class List {
	#options;
	#items = [];
	#next = ""; // the cursor
	#timer = 0; // of the next request; 0: there is none
	#begun = 0; // requests so far. The response to an older one than the last is not shown
	#ended = -Infinity; // when the last request ended, by performance.now
	#took = 0; // milliseconds that it took

	constructor(api, options) {
		this.api = api;
		this.#options = options;
		options.more.addEventListener("click", () => this.#more());
		setInterval(() => this.want(), slow);
	}

	// want says that the list may have changed. It is requested soon, but not more often than the server can bear.
	want() {
		if (this.#timer || !this.#options.active()) return;
		const pause = this.#ended + Math.max(soonest, share * this.#took) - performance.now();
		this.#timer = setTimeout(() => {
			this.#timer = 0;
			if (this.#options.active()) this.load();
		}, Math.max(0, pause));
	}

	// load requests what is shown, now.
	async load() {
		clearTimeout(this.#timer);
		this.#timer = 0;
		const page = pageSize();
		const limit = Math.min(Math.max(page, Math.ceil(this.#items.length / page) * page), most);
		await this.#request(`limit=${limit}`, []);
	}

	// clear forgets what is shown, because something else is wanted.
	clear() {
		this.#items = [];
		return this.load();
	}

	async #more() {
		const shown = this.#items.length;
		await this.#request(`limit=${pageSize()}&cursor=${encodeURIComponent(this.#next)}`, this.#items);
		// The button may have vanished with the focus in it.
		if (this.#options.more.hidden && this.#items.length > shown) this.#options.rows.title.focus();
	}

	// #request requests a page and shows it after items that are there.
	async #request(query, before) {
		const number = ++this.#begun, { path, name, item } = this.#options, address = path();
		const start = performance.now();
		const { ok, body } = await this.api.send("GET", address + (address.includes("?") ? "&" : "?") + query);
		this.#ended = performance.now();
		this.#took = this.#ended - start;
		if (!ok || number !== this.#begun || address !== path()) return;
		const all = new Map([...before, ...body[name].map(item)].map((i) => [i.key, i]));
		this.#items = [...all.values()];
		this.#next = body.next ?? "";
		this.#options.rows.show(this.#items);
		this.describe();
	}

	// describe writes the text below the table.
	describe() {
		const { note, more, words } = this.#options;
		const text = words(this.#items.length, this.#next !== "");
		const full = this.#next !== "" && this.#items.length >= most;
		more.hidden = this.#next === "" || full;
		write(note, full ? `These are the first ${most}. ${text}` : text);
		note.hidden = note.textContent === "";
	}
}
