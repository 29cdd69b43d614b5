// A picture that arrow keys walk through, part by part.

import * as tip from "./tip.js";

// explore lets arrow keys mark the parts of a picture, one at a time, and shows their tips. host is the element with the
// focus, and parts returns the parts in order. A part is an element with a tip.
export function explore(host, parts) {
	let marked = null;
	const mark = (part) => {
		marked?.classList.remove("marked");
		marked = part;
		if (!part) return;
		part.classList.add("marked");
		tip.show(part);
	};
	host.addEventListener("keydown", (event) => {
		if (event.altKey || event.ctrlKey || event.metaKey) return;
		const all = parts();
		const at = all.indexOf(marked);
		let next;
		switch (event.key) {
			case "ArrowRight": case "ArrowUp": next = at + 1; break;
			case "ArrowLeft": case "ArrowDown": next = at < 0 ? all.length - 1 : at - 1; break;
			case "Home": next = 0; break;
			case "End": next = all.length - 1; break;
			default: return;
		}
		event.preventDefault();
		if (all.length === 0) return;
		mark(all[Math.max(0, Math.min(next, all.length - 1))]);
		tip.say();
	});
	host.addEventListener("focusout", () => {
		if (marked) tip.hide(marked);
		mark(null);
	});
}
