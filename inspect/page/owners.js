// The functions that the timers belong to, as bars.

import { html, set, write } from "./svg.js";
import { explain } from "./tip.js";
import { explore } from "./explore.js";
import { number } from "./number.js";
import { percent, shortName } from "./words.js";

const shownAtMost = 8; // the others are one bar

export class Owners {
	#rows = []; // {item, name, bar, share, owner}

	constructor(host) {
		this.list = host.appendChild(html("ul", { class: "owners", "aria-labelledby": "owners-title" }));
		this.note = host.appendChild(html("p", { class: "quiet small" }));
		explore(this.list, () => this.#rows.map((row) => row.item));
	}

	// update shows the shares. why is the reason if there are none.
	update(callbacks, armed, why) {
		const all = together(callbacks);
		const samples = all.reduce((sum, o) => sum + o.Samples, 0);
		while (this.#rows.length < all.length) this.#rows.push(this.#make());
		while (this.#rows.length > all.length) this.#rows.pop().item.remove();
		const most = Math.max(...all.map((o) => o.Share), 1e-9);
		this.#rows.forEach((row, i) => {
			const owner = all[i];
			row.owner = { ...owner, samples };
			write(row.name, shortName(owner.Func));
			write(row.share, percent(owner.Share));
			row.bar.style.width = `${((100 * owner.Share) / most).toFixed(1)}%`;
		});
		set(this.list, { tabindex: all.length > 0 ? 0 : null, hidden: all.length > 0 ? null : "" });
		write(this.note, note(armed, samples, why));
	}

	#make() {
		const row = { name: html("span", { class: "name" }), bar: html("span", { class: "amount" }), share: html("span", { class: "share" }) };
		row.item = html("li", {}, row.name, row.share, html("span", { class: "rail" }, row.bar));
		explain(row.item, () => [row.owner.Func, `${percent(row.owner.Share)} of the timers: ${number(row.owner.Samples)} of ${number(row.owner.samples)} that were looked at.`]);
		this.list.append(row.item);
		return row;
	}
}

function note(armed, samples, why) {
	if (why) return `Not available: ${why}.`;
	if (armed === 0 || samples === 0) return "No timer is armed, so there is no function to name.";
	return samples < armed ? `Estimated from ${number(samples)} of ${number(armed)} timers.` : "";
}

// together puts all after the first few into one.
function together(callbacks) {
	if (callbacks.length <= shownAtMost) return callbacks;
	const rest = callbacks.slice(shownAtMost - 1);
	const sum = (key) => rest.reduce((total, o) => total + o[key], 0);
	return [...callbacks.slice(0, shownAtMost - 1), { Func: `${rest.length} other functions`, Share: sum("Share"), Samples: sum("Samples") }];
}
