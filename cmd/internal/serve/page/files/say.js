// What the page says: the message at its foot, and how times and values are written.

import { write } from "./live/svg.js";
import { noFigure, nbsp } from "./live/number.js";

const box = document.getElementById("message");
const shownFor = 15000; // milliseconds
let hide = 0;

// say shows a message, and has screen readers say it. The kind is "good" or "bad", or "spoken" if the page shows the text elsewhere.
export function say(text, kind = "good") {
	clearTimeout(hide);
	box.dataset.kind = kind;
	write(box, text);
	hide = setTimeout(() => write(box, ""), shownFor);
}

document.addEventListener("keydown", (event) => {
	if (event.key === "Escape") write(box, "");
});

// clock is the clock of the server, as the snapshots show it.
export const clock = {
	ahead: 0, // milliseconds before that of the browser
	set(time) { this.ahead = (Date.parse(time) || Date.now()) - Date.now(); },
	now() { return Date.now() + this.ahead; },
};

const units = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];

// until says when a time comes or how long ago it was, in at most two units.
export function until(at) {
	const seconds = Math.round((Date.parse(at) - clock.now()) / 1000);
	if (Number.isNaN(seconds)) return noFigure;
	if (seconds === 0 || seconds === -1) return "now";
	let rest = Math.abs(seconds);
	const word = seconds < 0 ? "overdue by" : "in";
	if (rest >= 1000 * 86400) return `${word} ${(rest / 365.25 / 86400).toFixed(1)}${nbsp}y`;
	const parts = [];
	for (const [size, name] of units) {
		const n = Math.floor(rest / size);
		if (n > 0 || parts.length > 0) parts.push(n > 0 ? `${n}${nbsp}${name}` : "");
		rest -= n * size;
	}
	return `${word} ${parts.slice(0, 2).filter(Boolean).join(" ")}`;
}

// due says the same in a sentence about a timer.
export function due(at) {
	const text = until(at);
	return text.startsWith("overdue") ? text : `due ${text}`;
}

const day = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
const hours = new Intl.DateTimeFormat(undefined, { timeStyle: "medium" });

// local writes a time by the clock on the wall of the reader, without the day if it is today.
export function local(at) {
	const time = new Date(at);
	if (Number.isNaN(time.getTime())) return noFigure;
	return (time.toDateString() === new Date(clock.now()).toDateString() ? hours : day).format(time);
}

// short returns the beginning of a text.
export const short = (text, most = 300) => (text.length > most ? text.slice(0, most) + "…" : text);

// quoted returns an ID for a sentence.
export const quoted = (id) => `“${short(id, 60)}”`;

// plain returns a payload as text.
export const plain = (payload) => (payload === undefined ? "" : JSON.stringify(payload));
