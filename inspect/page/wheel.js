// The wheel: rings that turn, with now at the top. A deadline comes up on the right and is due when it reaches the top.

import { svg, set, write, sector, Pool } from "./svg.js";
import { explain } from "./tip.js";
import { explore } from "./explore.js";
import { rings, isManual } from "./rings.js";
import { duration, span, timers, percent } from "./words.js";

const size = 600; // of the picture, in its own unit
const outer = 275, inner = 112; // radii of the outermost and the innermost ring
const fastShare = 0.4; // height of a fast ring, relative to a slow one
const gapBetween = 5; // between two rings
const sweep = 0.925; // the part of a circle that a turn takes. The names of the rings are in the rest
const calm = matchMedia("(prefers-reduced-motion: reduce)");
const calmPause = 2000; // milliseconds between two drawings if motion is not wanted
const frame = 33; // milliseconds between two frames

export class Wheel {
	#rings = []; // {ring, band, track, glow, turning, cells, name, low, high, drawn, passed, moved}
	#base = 0; // when the snapshot was taken, by performance.now
	#drawnAt = -Infinity;
	#turning = false;
	#frame = 0;
	#total = 0;
	#manual = false; // the runtime has a manual clock

	// tick is the tick of the wheel in nanoseconds, or undefined for that of a runtime.
	constructor(host, tick) {
		this.host = host;
		this.tick = tick;
		this.root = svg("svg", { viewBox: `${-size / 2} ${-size / 2} ${size} ${size}`, "aria-hidden": "true", focusable: "false" });
		this.bands = svg("g");
		this.labels = svg("g", { class: "ring-names" });
		const hand = svg("g", { class: "hand" },
			svg("path", { class: "now-line", d: `M0 ${-inner + 8}V${-outer - 4}` }),
			svg("path", { class: "now-mark", d: `M0 ${-outer + 2}l7 -13h-14Z` }),
			svg("text", { x: 12, y: -outer - 4 }, "now"));
		this.root.append(this.bands, hand, this.labels);
		host.append(this.root);
		explore(host, () => this.#rings.filter((r) => r.ring).map((r) => r.band), {
			within: (band) => this.#rings.find((r) => r.band === band).shown(),
		});
	}

	// update shows a new snapshot. at is when it was taken, by performance.now. why is the reason if there is no horizon.
	update(horizon, at, why) {
		if (calm.matches && performance.now() - this.#drawnAt < calmPause) return;
		this.#drawnAt = performance.now();
		this.#base = at;
		this.#manual = isManual(horizon);
		const all = rings(horizon, this.tick);
		this.#total = all.reduce((sum, ring) => sum + ring.count, 0);
		this.#layOut(all);
		const most = Math.max(1, ...all.flatMap((ring) => ring.cells.map((c) => c.count)));
		for (const r of this.#rings) if (r.ring) this.#draw(r, most);
		this.#turn();
		if (document.activeElement !== this.host) set(this.host, { "aria-label": why ? `Timing wheel: not available: ${why}` : describe(all, this.#total) });
	}

	// clear draws at the next update, whatever motion is wanted: another runtime was chosen.
	clear() { this.#drawnAt = -Infinity; }

	// run lets the rings turn, or stops them.
	run(turning) {
		this.#turning = turning;
		cancelAnimationFrame(this.#frame);
		if (!turning) return;
		let last = 0;
		const step = (now) => {
			this.#frame = requestAnimationFrame(step);
			if (now - last < frame || calm.matches) return;
			last = now;
			this.#turn();
		};
		this.#frame = requestAnimationFrame(step);
	}

	// #layOut gives each ring its place.
	#layOut(all) {
		const heights = all.map((ring) => (ring.fast ? fastShare : 1));
		const unit = (outer - inner - gapBetween * (all.length - 1)) / heights.reduce((a, b) => a + b, 0);
		while (this.#rings.length < all.length) this.#rings.push(this.#make());
		let low = inner;
		this.#rings.forEach((r, i) => {
			r.ring = all[i] ?? null;
			set(r.band, { display: r.ring ? null : "none" });
			set(r.name, { display: r.ring ? null : "none" });
			if (!r.ring) return;
			r.low = low;
			r.high = low + heights[i] * unit;
			low = r.high + gapBetween;
			set(r.track, { d: sector(r.low, r.high, 0, sweep) });
			write(r.name, r.ring.fast ? "" : duration(r.ring.turn, 2));
			set(r.name, { x: -7, y: -(r.low + r.high) / 2 + 4 });
		});
	}

	#make() {
		const r = { ring: null };
		r.track = svg("path", { class: "track" });
		r.glow = svg("path", { class: "glow" });
		r.turning = svg("g");
		r.band = svg("g", { class: "ring" }, r.track, r.glow, r.turning);
		r.name = svg("text", { "text-anchor": "end" });
		r.shown = () => r.cells.all.filter((cell) => cell.getAttribute("display") !== "none");
		explain(r.band, () => ringTip(r.ring, this.#total), () => this.#foot());
		r.cells = new Pool(r.turning, (i) => {
			const cell = svg("path", { class: "cell" });
			explain(cell, () => r.ring && r.ring.cells[i] && cellTip(r.ring.cells[i], r.ring, this.#total, this.#elapsed()));
			return cell;
		});
		this.bands.append(r.band);
		this.labels.append(r.name);
		return r;
	}

	// #draw draws the cells of a ring as they were when the snapshot was taken. A fast ring is evenly filled: its turning
	// could not be seen.
	#draw(r, most) {
		const { ring } = r;
		r.drawn = ring.fast ? [] : ring.cells;
		const paths = r.cells.take(r.drawn.length);
		r.drawn.forEach((cell, i) => {
			const v = Math.log1p(cell.count) / Math.log1p(most);
			cell.high = r.low + (r.high - r.low) * (0.22 + 0.78 * v);
			set(paths[i], { d: this.#path(r, cell, cell.from), "fill-opacity": (0.3 + 0.7 * v).toFixed(2) });
		});
		r.passed = 0;
		r.moved = NaN;
		const v = Math.log1p(ring.count) / Math.log1p(Math.max(most, ring.count));
		set(r.glow, { "fill-opacity": (ring.fast && ring.count > 0 ? 0.2 + 0.5 * v : 0).toFixed(2), d: sector(r.low, r.high, 0, sweep) });
	}

	// #path returns the path of a cell from a time on. A small gap is between two cells.
	#path(r, cell, from) {
		const gap = Math.min(0.1 * (cell.to - from), 0.0004 * r.ring.turn);
		return sector(r.low, cell.high, (sweep * from) / r.ring.turn, (sweep * (cell.to - gap)) / r.ring.turn);
	}

	// #foot returns where the tip of a ring is: at the foot of the wheel, away from now.
	#foot() {
		const box = this.host.getBoundingClientRect();
		return { x: (box.left + box.right) / 2, y: box.bottom - 4 };
	}

	// #elapsed returns how long ago the snapshot was taken, in nanoseconds; 0 if time stands still.
	#elapsed() {
		if (!this.#turning || this.#manual || calm.matches) return 0;
		return Math.max(0, performance.now() - this.#base) * 1e6;
	}

	// #turn turns the rings to now. Cells that have passed the top are hidden. Rings that have not moved by a visible bit stay.
	#turn() {
		const elapsed = this.#elapsed();
		for (const r of this.#rings) {
			if (!r.ring || r.ring.fast) continue;
			const turned = (sweep * elapsed) / r.ring.turn;
			if (Math.abs(turned - r.moved) * r.high * 6.3 < 0.15) continue;
			r.moved = turned;
			set(r.turning, { transform: `rotate(${(-360 * turned).toFixed(3)})` });
			for (; r.passed < r.drawn.length && r.drawn[r.passed].to <= elapsed; r.passed++) set(r.cells.all[r.passed], { display: "none" });
			const first = r.drawn[r.passed];
			if (first && first.from < elapsed) set(r.cells.all[r.passed], { d: this.#path(r, first, elapsed) });
		}
	}
}

function ringTip(ring, total) {
	if (!ring) return null;
	const lines = [`${timers(ring.count)} on the ring of ${duration(ring.turn)}`,
		`${percent(total ? ring.count / total : 0)} of all. It turns once in ${duration(ring.turn)}, in 64 steps of ${duration(ring.width)}.`];
	if (ring.fast) lines.push("It is drawn still, as it turns too fast to be seen.");
	return lines;
}

function cellTip(cell, ring, total, elapsed) {
	const from = Math.max(0, cell.from - elapsed), to = Math.max(0, cell.to - elapsed);
	return [`${timers(cell.count)} due ${span(from, to)}`, `${percent(cell.count / total)} of all, on the ring of ${duration(ring.turn)}.`];
}

// describe returns a sentence with the main figures of the wheel.
function describe(all, total) {
	if (total === 0) return "Timing wheel: no timer is armed";
	const parts = all.filter((ring) => ring.count > 0).map((ring) => `${percent(ring.count / total)} on the ring of ${duration(ring.turn, 2)}`);
	return `Timing wheel: ${parts.join(", ")}`;
}

// wheelRows are the rows of the table that says the same.
export function wheelRows(horizon, tick) {
	return rings(horizon, tick).map((ring) => [duration(ring.turn), duration(ring.width), ring.count]);
}
