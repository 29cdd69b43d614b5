// A picture that arrow keys walk through, part by part.

import * as tip from "./tip.js";

// explore lets arrow keys mark the parts of a picture, one at a time, and shows their tips. host is the element with the
// focus, and parts returns the parts in order. A part is an element with a tip. Options:
//
//   - within returns the smaller parts of a part. Left and right then walk within a part, up and down from part to part.
//   - scrolls says that the host scrolls up and down. Its parts are side by side, and only left and right mark them.
export function explore(host, parts, { within = null, scrolls = false } = {}) {
	let part = null; // the part that is marked, or that has the marked one within
	let marked = null;

	const mark = (e) => {
		marked?.classList.remove("marked");
		marked = e;
		if (!e) return;
		e.classList.add("marked");
		if (scrolls) e.scrollIntoView({ block: "nearest", inline: "nearest" });
		tip.show(e);
	};

	// walk marks the element that is so many steps after the marked one; before the first step, the first or the last.
	const walk = (all, from, steps) => {
		const at = all.indexOf(from);
		const to = at < 0 ? (steps > 0 ? 0 : all.length - 1) : Math.max(0, Math.min(at + steps, all.length - 1));
		mark(all[to] ?? from);
		return marked;
	};

	host.addEventListener("keydown", (event) => {
		if (event.altKey || event.ctrlKey || event.metaKey) return;
		const steps = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, Home: -Infinity, End: Infinity }[event.key];
		const sideways = event.key === "ArrowLeft" || event.key === "ArrowRight";
		if (!steps || (scrolls && !sideways)) return;
		event.preventDefault();
		if (within && part && sideways) walk(within(part), marked, steps);
		else part = walk(parts(), part, steps);
		tip.say();
	});
	host.addEventListener("focusout", () => {
		if (marked) tip.hide(marked);
		mark(null);
		part = null;
	});
}
