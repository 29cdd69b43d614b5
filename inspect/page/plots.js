// Lines over the last minutes, drawn by uPlot.

import { svg, html, set, write } from "./svg.js";
import * as tip from "./tip.js";
import { kept } from "./history.js";
import { count, step } from "./number.js";
import { rate } from "./words.js";

const uPlot = globalThis.uPlot;
const shortest = 60; // seconds that the axis has at least
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const font = '12px system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif';

// A Plot draws rates of a history. lines are {of, name, colour, dash, about}: of is the name of a counter.
export class Plot {
	#plot;
	#times = [];

	constructor(host, keys, title, lines) {
		this.host = host;
		this.lines = lines;
		this.title = title;
		this.keys = lines.map((line, i) => this.#key(keys, line, i + 1));
		this.#plot = new uPlot(this.#options(), [[], ...lines.map(() => [])], host);
		new ResizeObserver(() => this.#plot.setSize(this.#size())).observe(host);
		matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.#plot.redraw());
		tip.explain(host, () => this.#tip(), () => this.#where());
		host.addEventListener("keydown", (event) => this.#step(event));
		host.addEventListener("focusout", () => this.#plot.setCursor({ left: -10, top: -10 }));
	}

	update(history) {
		const data = history.series(this.lines.map((line) => line.of));
		const now = data[0].at(-1) ?? 0;
		data[0] = data[0].map((t) => t - now);
		this.#times = data[0];
		this.#plot.setData(data);
		this.lines.forEach((line, i) => write(this.keys[i].value, rate(data[i + 1].at(-1))));
		if (document.activeElement !== this.host) {
			set(this.host, { "aria-label": `${this.title}: ${this.lines.map((line, i) => `${line.name} ${rate(data[i + 1].at(-1))}`).join(", ")}` });
		}
	}

	// #key makes the button of a line: its name, its last value, and a piece of the line. It hides and shows the line.
	#key(host, line, i) {
		const swatch = svg("svg", { class: "swatch", viewBox: "0 0 22 10", width: 22, height: 10, "aria-hidden": "true" },
			svg("path", { d: "M0 5H22", class: `stroke-${line.colour.slice(2)}`, "stroke-dasharray": line.dash?.join(" ") ?? null }));
		const value = html("span", { class: "value" }, "–");
		const button = html("button", { type: "button", class: "key", "aria-pressed": "true" }, html("span", { class: "name" }, swatch, line.name), value);
		button.addEventListener("click", () => {
			const show = button.getAttribute("aria-pressed") !== "true";
			set(button, { "aria-pressed": show });
			this.#plot.setSeries(i, { show });
		});
		tip.explain(button, () => [line.about, button.getAttribute("aria-pressed") === "true" ? "Press to hide the line." : "Press to show the line."]);
		host.append(button);
		return { button, value };
	}

	#size() { return { width: Math.max(this.host.clientWidth, 100), height: this.host.clientHeight }; }

	#options() {
		const axis = { stroke: () => colour("--quiet"), font, ticks: { show: false }, grid: { stroke: () => colour("--hair"), width: 1 } };
		return {
			...this.#size(),
			padding: [10, 14, 0, 0],
			legend: { show: false },
			cursor: {
				sync: { key: "foliot" }, drag: { x: false, y: false, setScale: false }, y: false,
				points: { size: 7 },
			},
			scales: {
				x: { time: false, range: () => [-Math.min(kept, Math.max(shortest, -(this.#times[0] ?? 0))), 0] },
				y: { range: (_, low, high) => [0, top(high)] },
			},
			axes: [
				{ ...axis, size: 28, gap: 8, splits: (_, __, low) => ago(low), values: (_, all) => all.map((v) => (v === 0 ? "now" : before(v))), grid: { show: false } },
				{ ...axis, size: 48, gap: 8, splits: (_, __, low, high) => marks(high), values: (_, all) => all.map((v) => count(v)) },
			],
			series: [{}, ...this.lines.map((line) => ({ label: line.name, stroke: () => colour(line.colour), width: line.width ?? 1.8, dash: line.dash, points: { show: false } }))],
			hooks: { setCursor: [() => tip.shows(this.host) && tip.refresh()] },
		};
	}

	#tip() {
		const { idx } = this.#plot.cursor;
		if (idx === null || idx === undefined || this.#times.length === 0) return [this.title, this.#times.length < 2 ? "There are no figures yet." : "Of the last minutes. Arrow keys walk through them."];
		const when = -this.#times[idx];
		return [when < 0.5 ? "now" : `${Math.round(when)} s ago`, ...this.lines.map((line, i) => `${line.name} ${rate(this.#plot.data[i + 1][idx])}`)];
	}

	#where() {
		const { left } = this.#plot.cursor;
		if (left === null || left < 0) return null;
		const box = this.#plot.over.getBoundingClientRect();
		return { x: box.left + left, y: box.top + 4 };
	}

	// #step moves the cursor by arrow keys.
	#step(event) {
		const by = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10, Home: -Infinity, End: Infinity }[event.key];
		if (!by || event.altKey || event.ctrlKey || event.metaKey || this.#times.length === 0) return;
		event.preventDefault();
		const last = this.#times.length - 1;
		const { left, idx } = this.#plot.cursor;
		const from = left >= 0 && idx !== null && idx !== undefined ? idx : last + 1;
		const to = Math.max(0, Math.min(last, from + by));
		this.#plot.setCursor({ left: this.#plot.valToPos(this.#times[to], "x"), top: this.#plot.over.clientHeight / 2 });
		tip.show(this.host);
		tip.say();
	}
}

// top returns the end of an axis that has room for the value.
function top(high) {
	if (!(high > 0)) return 1;
	const by = step(high, 5);
	return Math.ceil(high / by - 1e-9) * by;
}

// marks returns the places of labels up to the end of an axis.
function marks(high) {
	const by = step(high, 5), all = [];
	for (let i = 0; i * by <= high * 1.0001; i++) all.push(Number((i * by).toPrecision(9)));
	return all;
}

// ago returns the places of labels on the axis of time: each minute, or each quarter of one.
function ago(low) {
	const by = low < -100 ? 60 : 15, all = [];
	for (let t = 0; t >= low; t -= by) all.unshift(t === 0 ? 0 : t);
	return all;
}

const before = (v) => (v % 60 === 0 ? `−${-v / 60}\u00a0min` : `−${-v}\u00a0s`);
