// Figures that are not drawn: one tile each.

import { html, set, write } from "./svg.js";
import { explain } from "./tip.js";
import { explore } from "./explore.js";
import { number, noFigure } from "./number.js";
import { duration, rate, millisecond } from "./words.js";

// slow is the bound above which a callback counts as slow: the time after which it counts as blocked, and another goroutine
// continues.
const slow = 5 * millisecond;

const lately = (name) => ({ history }) => `${number(history.since(name))} in the ${history.period}`;

// figures are the contents of the tiles of a runtime. value, note and bad get {stats, history, ran, recent, snapshot}, and so does
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
		name: `Callbacks over ${duration(slow)}`,
		value: ({ ran }) => number(ran.above(slow)), bad: ({ recent }) => recent.ran.above(slow) > 0,
		note: ({ recent, history }) => `${number(recent.ran.above(slow))} in the ${history.period}`,
		about: "Callbacks and polls that took longer than this. Their durations are known to a sixteenth.",
	},
	{
		name: "Rescued", value: ({ stats }) => number(stats.GoRescued), note: lately("rescued"), bad: ({ history }) => history.since("rescued") > 0,
		about: "Callbacks that the runtime ran itself, because Options.Go dropped them or panicked.",
	},
	{
		name: "Callbacks take", value: ({ stats, recent }) => median(stats, recent), note: ({ stats, recent }) => longest(stats, recent),
		about: "How long callbacks and polls take: half of them at most this, in the last minute if there were any.",
	},
	{ name: "Goroutines", value: ({ stats }) => number(stats.Goroutines), note: ({ stats }) => `${number(stats.Workers)} ${stats.Workers === 1 ? "worker" : "workers"}`, about: "Goroutines that run callbacks and polls. A worker that runs has one, and a callback that blocked its worker keeps its own." },
	{ name: "Handed over", value: ({ stats }) => number(stats.GoPending), note: () => "and not started", about: "Callbacks that were given to Options.Go and have not started." },
	{ name: "Tasks", value: ({ stats }) => number(stats.Tasks), note: ({ history }) => `${rate(history.rate("polls"))} polls`, about: "Tasks of the runtime, and how often they are polled." },
	{ name: "Queued", value: ({ stats }) => number(stats.Queued), note: () => "values in queues", about: "Values in the queues of the runtime, due or not." },
	{ name: "Timers", value: ({ stats }) => number(stats.Timers), note: ({ stats }) => `${number(stats.Stale)} dead entries`, about: "Timers of the program, armed or not. Dead entries are those of stopped timers that are still in the wheel, until scrubbing frees them." },
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
