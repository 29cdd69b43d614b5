// The figures of the server, in tiles, and the lines of its plot.

import { number, noFigure } from "./live/number.js";
import { duration } from "./live/words.js";

const lately = (name) => ({ history }) => `${number(history.since(name))} in the ${history.period}`;
const of = (name) => ({ snapshot }) => number(snapshot.serve[name]);

export const tiles = [
	{
		name: "In memory", value: of("loaded"), note: ({ snapshot }) => `of ${number(snapshot.serve.pending)} armed`,
		about: "Timers that are in the wheel. With millions of timers, those that are due later wait in the store.",
	},
	{ name: "Being sent", value: of("running"), note: () => "attempts that run now", about: "Attempts that have begun and have no outcome yet, those that wait for a place to send included." },
	{ name: "Retried", value: of("retried"), note: lately("rearmed"), bad: ({ history }) => history.since("rearmed") > 0, about: "Attempts that have failed and are repeated, since the start." },
	{ name: "Dead", value: of("dead"), note: ({ snapshot }) => `${number(snapshot.serve.died)} since the start`, bad: ({ snapshot }) => snapshot.serve.dead > 0, about: "Timers whose attempts are used up." },
	{ name: "Missed occurrences", value: of("missed"), note: () => "of periodic timers", about: "Occurrences of periodic timers that were passed over, because the server did not run or was late." },
	{
		name: "Changes are kept within", value: ({ stats }) => (stats.Ran.Count > 0 ? duration(stats.Ran.P50) : noFigure), note: ({ stats }) => (stats.Ran.Count > 0 ? `99 % in ${duration(stats.Ran.P99)}` : "no change yet"),
		about: "How long a change takes until it is kept, since the start: half of them at most this.",
	},
	{ name: "Due without a handler", value: of("unhandled"), note: () => "made by other programs", bad: ({ snapshot }) => snapshot.serve.unhandled > 0, about: "Timers that are due and that this server has not made, so it does not know what to do with them." },
	{ name: "Panics", value: ({ stats }) => number(stats.Panics), note: lately("panics"), bad: ({ history }) => history.since("panics") > 0, about: "Panics of the server while it handled a timer. Its log has them." },
	{ name: "Steps of the clock", value: of("steps"), note: () => "since the start", about: "How often the wall clock was set to another time." },
	{ name: "Listeners", value: of("listeners"), note: () => "this page counts", about: "Connections to /v1/fires." },
];

export const rates = [
	{ of: "new", name: "armed", colour: "--s1", about: "Timers that were armed, a second: from the change of Armed and the attempts that have begun." },
	{ of: "fired", name: "fired", colour: "--s2", width: 2.4, about: "Attempts that have begun, a second." },
	{ of: "stopped", name: "cancelled", colour: "--s6", dash: [7, 3], about: "Timers that were cancelled, a second." },
	{ of: "rearmed", name: "retried", colour: "--s3", dash: [2, 3], about: "Attempts that have failed and are repeated, a second." },
];

// wheelNote says what the wheel shows of all timers.
export function wheelNote({ pending, loaded, running, unhandled, exact }) {
	const elsewhere = pending - loaded - running - unhandled;
	if (!exact) return "The timers are still being counted: Armed may be too small.";
	if (loaded > 0 && elsewhere > loaded / 100) return `The wheel has the ${number(loaded)} timers that are due first. The other ${number(elsewhere)} wait in the store.`;
	return "A ring turns once in the time beside it. Timers fire at the top.";
}
