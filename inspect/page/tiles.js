// Figures that are not drawn: one tile each.

import { html, set, write } from "./svg.js";
import { explain } from "./tip.js";
import { explore } from "./explore.js";
import { number, noFigure } from "./number.js";
import { duration, rate, millisecond } from "./words.js";

// slow is the bound above which a callback counts as slow. Without Options.SlowCallback it is the time after which a callback
// counts as blocked, and another goroutine continues.
const slow = ({ stats }) => stats.SlowCallback || 5 * millisecond;

const lately = (name) => ({ history }) => `${number(history.since(name))} in the ${history.period}`;

// figures are the contents of the tiles of a runtime. value, note and bad get {stats, history, ran, recent, picture}, and so does
// title, which replaces name: ran is how long callbacks took since the start, recent.ran is that of the last minute.
export const figures = [
	{
		name: "Blocked workers", value: ({ stats }) => number(stats.Blocked), note: lately("blocked"), bad: ({ history }) => history.since("blocked") > 0,
		about: "How often a callback blocked its worker, so that another goroutine took over. Each delays other timers by about 10 ms.",
	},
	{
		name: "Panics", value: ({ stats }) => number(stats.Panics), note: lately("panics"), bad: ({ history }) => history.since("panics") > 0,
		about: "Panics of callbacks, polls and Options.Go that Options.OnPanic got.",
	},
	{
		name: "Slow callbacks", title: (now) => `Callbacks over ${duration(slow(now))}`,
		value: (now) => number(now.ran.above(slow(now))), bad: (now) => now.recent.ran.above(slow(now)) > 0,
		note: (now) => `${number(now.recent.ran.above(slow(now)))} in the ${now.history.period}`,
		about: "Callbacks and polls that took longer than Options.SlowCallback, or than 5 ms if it is not set. Their durations are known to a sixteenth.",
	},
	{
		name: "Rescued", value: ({ stats }) => number(stats.Rescued), note: lately("rescued"), bad: ({ history }) => history.since("rescued") > 0,
		about: "Callbacks that the runtime ran itself, because Options.Go dropped them or panicked.",
	},
	{
		name: "Callbacks take", value: ({ stats, recent }) => median(stats, recent), note: ({ stats, recent }) => longest(stats, recent),
		about: "How long callbacks and polls take: half of them at most this, in the last minute if there were any.",
	},
	{ name: "Running", value: ({ stats }) => number(stats.Running), note: ({ stats }) => `${number(stats.Workers)} ${stats.Workers === 1 ? "worker" : "workers"}`, about: "Workers that are running, and callbacks that run outside of their worker." },
	{ name: "Handed over", value: ({ stats }) => number(stats.Handed), note: () => "and not started", about: "Callbacks that Options.Go has got and not started." },
	{ name: "Tasks", value: ({ stats }) => number(stats.Tasks), note: ({ history }) => `${rate(history.rate("polls"))} polls`, about: "Tasks of the runtime, and how often they are polled." },
	{ name: "Queued", value: ({ stats }) => number(stats.Queued), note: () => "values in queues", about: "Values in the queues of the runtime, due or not." },
	{ name: "Slots", value: ({ stats }) => number(stats.Slots), note: ({ stats }) => `${number(stats.Stale)} dead entries`, about: "Timers of the program, armed or not. Dead entries are those of stopped timers that are still in the wheel, until scrubbing frees them." },
];

function median(stats, { ran }) {
	if (ran.count > 0) return duration(ran.quantile(0.5));
	return stats.Ran.Count > 0 ? duration(stats.Ran.P50) : noFigure;
}

function longest(stats, { ran }) {
	if (ran.count > 0) return `${duration(ran.quantile(1))} at most`;
	return stats.Ran.Count > 0 ? `${duration(stats.Ran.Max)} at most` : "none has run yet";
}

export class Tiles {
	#tiles;

	constructor(host, figures) {
		set(host, { role: "group", tabindex: 0, "aria-labelledby": "health-title" });
		this.#tiles = figures.map((figure, i) => {
			const value = html("output", { "aria-live": "off", "aria-labelledby": `tile-${i}` });
			const note = html("span", { class: "note" });
			const name = html("span", { class: "name", id: `tile-${i}` }, figure.name);
			const tile = html("div", { class: "tile" }, name, value, note);
			explain(tile, () => [name.textContent, figure.about]);
			host.append(tile);
			return { figure, tile, name, value, note };
		});
		explore(host, () => this.#tiles.map((t) => t.tile));
	}

	update(now) {
		for (const { figure, tile, name, value, note } of this.#tiles) {
			if (figure.title) write(name, figure.title(now));
			write(value, figure.value(now));
			write(note, figure.note(now));
			tile.classList.toggle("bad", Boolean(figure.bad?.(now)));
		}
	}
}
