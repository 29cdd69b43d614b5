// The chooser of the runtime that the page shows. The address of the page keeps the choice.

import { html } from "./svg.js";

export class Chooser {
	#names = [];

	constructor(host, select, onChange) {
		this.host = host;
		this.select = select;
		this.onChange = onChange;
		this.name = fromAddress();
		host.hidden = true;
		select.addEventListener("change", () => this.choose(select.value));
	}

	// update lists the runtimes. If the chosen one is gone, the first is chosen. One runtime needs no choice.
	update(names) {
		if (names.join("\n") !== this.#names.join("\n")) {
			this.#names = names;
			this.select.replaceChildren(...names.map((name) => html("option", { value: name }, name)));
			this.host.hidden = names.length < 2;
		}
		if (!names.includes(this.name)) this.name = names.includes("default") ? "default" : (names[0] ?? "");
		this.select.value = this.name;
	}

	choose(name) {
		if (name === this.name) return;
		this.name = name;
		this.select.value = name;
		history.replaceState(null, "", "#" + encodeURIComponent(name));
		this.onChange();
	}
}

// fromAddress returns the name that the address has after its number sign.
function fromAddress() {
	try {
		return decodeURIComponent(location.hash.slice(1));
	} catch {
		return ""; // not an address that this page has made
	}
}
