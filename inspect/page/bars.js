// A chart of bars side by side, with labels at both axes and marks across. Places are shares of the width and the height.

import { svg, set, write, coord, Pool } from "./svg.js";
import { explain } from "./tip.js";
import { explore } from "./explore.js";

const margin = { top: 26, right: 12, bottom: 26, left: 48 };
const ruler = document.createElement("canvas").getContext("2d");

export class BarChart {
	#drawing = null; // the last drawing, to draw it again in another size
	#bars = [];

	constructor(host) {
		this.host = host;
		this.root = svg("svg", { class: "plot", "aria-hidden": "true", focusable: "false" });
		const layer = (name) => this.root.appendChild(svg("g", { class: name }));
		const pool = (parent, make) => new Pool(parent, make);
		const grid = layer("grid"), bars = layer("bars"), texts = layer("texts");
		this.lines = pool(grid, () => svg("path"));
		this.pool = pool(bars, (i) => {
			const touch = svg("rect", { class: "touch" }), box = svg("rect", { class: "box" });
			const bar = svg("g", { class: "column" }, touch, box);
			explain(bar, () => this.#bars[i]?.tip);
			return bar;
		});
		this.marks = pool(bars, () => svg("path", { class: "mark-line" }));
		this.texts = pool(texts, () => svg("text"));
		this.empty = svg("text", { class: "empty", "text-anchor": "middle" });
		this.root.append(this.empty);
		host.append(this.root);
		explore(host, () => this.pool.all.slice(0, this.#bars.length).filter((_, i) => this.#bars[i].share > 0));
		new ResizeObserver(() => this.#drawing && this.draw(this.#drawing)).observe(host);
	}

	get narrow() { return this.host.clientWidth < 640; }

	// draw draws {bars: [{from, to, share, tip, kind}], x: [{at, label}], y: [{at, label}], marks: [{at, label}], empty}.
	draw(drawing) {
		this.#drawing = drawing;
		this.#bars = drawing.bars;
		const width = this.host.clientWidth, height = this.host.clientHeight;
		if (width === 0) return;
		set(this.root, { viewBox: `0 0 ${width} ${height}`, width, height });
		const x = (share) => margin.left + share * (width - margin.left - margin.right);
		const y = (share) => height - margin.bottom - share * (height - margin.top - margin.bottom);

		const lines = [...drawing.y.map((t) => ({ d: `M${coord(x(0))} ${coord(y(t.at))}H${coord(x(1))}`, class: t.at === 0 ? "axis" : "minor" })),
			...drawing.x.map((t) => ({ d: `M${coord(x(t.at))} ${coord(y(0))}v5`, class: "axis" }))];
		this.lines.take(lines.length).forEach((e, i) => set(e, lines[i]));

		this.pool.take(drawing.bars.length).forEach((e, i) => {
			const b = drawing.bars[i];
			const left = x(b.from), wide = Math.max(x(b.to) - left, 1), tall = b.share > 0 ? Math.max(y(0) - y(b.share), 1.5) : 0;
			set(e, { class: ["column", b.kind ?? "", e.classList.contains("marked") ? "marked" : ""].join(" ").trim() });
			set(e.firstChild, { x: coord(left), y: coord(y(1)), width: coord(wide), height: coord(y(0) - y(1)) });
			set(e.lastChild, { x: coord(left + 0.5), y: coord(y(0) - tall), width: coord(Math.max(wide - 1, 0.5)), height: coord(tall), rx: Math.min(2, wide / 4) });
		});

		const marks = drawing.marks ?? [];
		this.marks.take(marks.length).forEach((e, i) => set(e, { d: `M${coord(x(marks[i].at))} ${coord(y(0))}V${coord(y(1) - 6)}` }));
		const texts = [...withRoom(drawing.x.map((t) => ({ text: t.label, x: x(t.at), y: height - 6, class: "tick" })), width),
			...drawing.y.map((t) => ({ text: t.label, x: margin.left - 8, y: y(t.at) + 4, class: "tick", anchor: "end" })),
			...sideBySide(marks.map((m) => ({ text: m.label, x: x(m.at), y: y(1) - 11, class: "mark-name" })), width)];
		this.texts.take(texts.length).forEach((e, i) => {
			const t = texts[i];
			set(e, { x: coord(t.x), y: coord(t.y), class: t.class, "text-anchor": t.anchor ?? "middle" });
			write(e, t.text);
		});
		set(this.empty, { x: coord(x(0.5)), y: coord(y(0.5)) });
		write(this.empty, drawing.empty ?? "");
	}
}

// textWidth returns the width of a label of pictures.css.
function textWidth(text, weight = 400) {
	ruler.font = `${weight} 12px ${getComputedStyle(document.body).fontFamily}`;
	return ruler.measureText(text).width;
}

// withRoom leaves out the labels that would overlap one before them, and moves those at an edge inwards.
function withRoom(labels, width) {
	const kept = [];
	let end = -Infinity;
	for (const label of labels) {
		const half = textWidth(label.text) / 2;
		const at = Math.max(half, Math.min(label.x, width - half));
		if (at - half < end + 6) continue;
		end = at + half;
		kept.push({ ...label, x: at });
	}
	return kept;
}

// sideBySide moves labels apart that would overlap, half of the way each, and those at an edge inwards.
function sideBySide(labels, width) {
	const half = labels.map((l) => textWidth(l.text, 600) / 2);
	const at = labels.map((l, i) => Math.max(half[i], Math.min(l.x, width - half[i])));
	for (let i = 1; i < at.length; i++) {
		const lacking = half[i - 1] + half[i] + 8 - (at[i] - at[i - 1]);
		if (lacking <= 0) continue;
		const room = width - half[i] - at[i];
		const right = Math.min(room, Math.max(lacking / 2, lacking - (at[i - 1] - half[i - 1])));
		at[i] += right;
		at[i - 1] -= lacking - right;
	}
	return labels.map((l, i) => ({ ...l, x: at[i] }));
}
