// The tip: one box that explains the element that is under the pointer, has the focus, or was touched.

import { html, write } from "./svg.js";

const box = document.getElementById("tip");
const said = document.getElementById("said");
const tips = new WeakMap(); // by element: {text, where}
let shown = null; // the element that the tip belongs to
let place = null; // where the tip is if not at its element: {x, y} in the window

// explain gives an element a tip. text returns its lines; the first is the title. where returns a place in the window,
// {x, y}, if the tip is not to be beside the element.
export function explain(e, text, where = () => null) {
	tips.set(e, { text, where });
}

// show shows the tip of an element, at a place of the window or else beside the element.
export function show(e, at = null) {
	if (shown && shown !== e) shown.removeAttribute("aria-describedby");
	shown = e;
	place = at;
	if (document.activeElement === e) e.setAttribute("aria-describedby", "tip");
	refresh();
}

// hide hides the tip, or only that of an element.
export function hide(e = shown) {
	if (e !== shown || !shown) return;
	shown.removeAttribute("aria-describedby");
	shown = null;
	box.hidden = true;
}

// refresh writes the tip again, after new figures.
export function refresh() {
	if (!shown) return;
	const lines = shown.isConnected ? tips.get(shown)?.text() : null;
	if (!lines) return hide();
	while (box.children.length < lines.length) box.append(html("p"));
	while (box.children.length > lines.length) box.lastChild.remove();
	lines.forEach((line, i) => write(box.children[i], line));
	box.hidden = false;
	moveBox();
}

// shows reports whether the tip of an element is shown.
export const shows = (e) => e === shown;

// say has screen readers say the text of the tip. It is called for steps by arrow keys, and not for figures that change by themselves.
export function say() {
	write(said, shown ? [...box.children].map((p) => p.textContent).join(". ") : "");
}

// moveBox places the tip above its element or place, below if there is no room, and within the window.
function moveBox() {
	const gap = 12, edge = 8;
	let { left, top, right, bottom } = shown.getBoundingClientRect();
	const at = place ?? tips.get(shown).where();
	if (at) [left, top, right, bottom] = [at.x, at.y, at.x, at.y];
	const width = box.offsetWidth, height = box.offsetHeight;
	const x = Math.max(edge, Math.min((left + right - width) / 2, document.documentElement.clientWidth - width - edge));
	let y = top - gap - height;
	if (y < edge) y = Math.min(bottom + gap, window.innerHeight - height - edge);
	box.style.transform = `translate(${Math.round(x)}px, ${Math.round(y)}px)`;
}

// explained returns the nearest element with a tip.
function explained(e) {
	while (e && !tips.has(e)) e = e.parentElement;
	return e;
}

// listen shows tips by pointer, focus and touch, and hides them with Escape.
export function listen() {
	document.addEventListener("pointermove", (event) => {
		if (event.pointerType === "touch") return;
		const e = explained(event.target);
		if (!e) {
			if (shown && shown !== document.activeElement) hide();
		} else if (e !== shown || place) {
			show(e, e.ownerSVGElement ? { x: event.clientX, y: event.clientY } : null);
		}
	});
	document.documentElement.addEventListener("pointerleave", () => hide());
	document.addEventListener("click", (event) => {
		const e = explained(event.target);
		if (e) show(e, e.ownerSVGElement ? { x: event.clientX, y: event.clientY } : null);
		else hide();
	});
	document.addEventListener("focusin", (event) => {
		if (event.target.matches(":focus-visible") && tips.has(event.target)) show(event.target);
	});
	document.addEventListener("focusout", (event) => hide(event.target));
	document.addEventListener("keydown", (event) => {
		if (event.key === "Escape") hide();
	});
	document.addEventListener("scroll", () => shown && moveBox(), { passive: true });
}
