// The page: it gets pictures from the server and shows those of one runtime.

import { Stream } from "./stream.js";
import { History } from "./history.js";
import { distributions } from "./distribution.js";
import { Wheel, wheelRows } from "./wheel.js";
import { Horizon, horizonRows } from "./horizon.js";
import { Plot } from "./plots.js";
import { Late } from "./late.js";
import { Owners } from "./owners.js";
import { Tiles } from "./tiles.js";
import { Lists } from "./lists.js";
import { Chooser } from "./chooser.js";
import { alternative } from "./table.js";
import { write, set } from "./svg.js";
import * as tip from "./tip.js";
import { number } from "./look/number.js";
import { rate } from "./words.js";

const $ = (id) => document.getElementById(id);

const histories = new Map(); // by name of a runtime
let picture = null; // the last one
let takenAt = 0; // when it was taken, by performance.now

const wheel = new Wheel($("wheel"));
const horizon = new Horizon($("horizon"));
const late = new Late($("late"), $("late-table"));
const owners = new Owners($("owners"));
const tiles = new Tiles($("tiles"));
const plots = [
	new Plot($("rates"), $("rates-keys"), "Timers a second", [
		{ of: "new", name: "armed", colour: "--s1", about: "Timers that were armed, a second: from the change of Armed and the timers that have fired or were stopped." },
		{ of: "fired", name: "fired", colour: "--s2", width: 2.4, about: "Timers that have fired, a second. Those of tasks count." },
		{ of: "stopped", name: "stopped", colour: "--s6", dash: [7, 3], about: "Armed timers that were stopped, a second." },
		{ of: "rearmed", name: "re-armed", colour: "--s3", dash: [2, 3], about: "Armed timers that were reset, a second." },
	]),
	new Plot($("wakeups"), $("wakeups-keys"), "Wake-ups a second", [
		{ of: "wakeups", name: "wake-ups", colour: "--s4", about: "How often the timekeeper woke, a second." },
		{ of: "blocked", name: "blocked workers", colour: "--s11", dash: [4, 2], about: "How often a callback blocked its worker, a second." },
	]),
];
const chooser = new Chooser($("chooser"), $("runtime"), () => {
	wheel.clear();
	late.clear();
	render();
});
const lists = new Lists($("lists"), (name) => chooser.choose(name));
const tables = [
	alternative($("wheel-table"), "The rings of the wheel", ["One turn", "a step", "timers"], () => wheelRows(chosen().horizon)),
	alternative($("horizon-table"), "When timers are due", ["Due", "timers, about", "all until then"], () => horizonRows(chosen().horizon, chosen().stats.Armed)),
	alternative($("rates-table"), "The last minutes", ["Seconds ago", "armed", "fired", "stopped", "re-armed", "wake-ups"], rateRows),
];

function chosen() { return picture.runtimes[chooser.name]; }

// notice shows a sentence above everything, or hides it.
function notice(text) {
	$("notice").hidden = !text;
	write($("notice"), text && text[0].toUpperCase() + text.slice(1) + (text.endsWith(".") ? "" : "."));
}

// advice says what to do if the page shows only the default runtime, and the program does not use it.
function advice(stats) {
	const alone = Object.keys(picture.runtimes).length === 1 && chooser.name === "default";
	const unused = stats && stats.Slots + stats.Tasks + stats.Queued + stats.Stopped + stats.Late.Count === 0;
	return alone && unused ? "The runtime “default” has not had a timer yet. Options.Runtimes of inspect.Handler names other runtimes to show." : "";
}

// rateRows are a sample each ten seconds, the newest first.
function rateRows() {
	const data = histories.get(chooser.name).series(["new", "fired", "stopped", "rearmed", "wakeups"]);
	const rows = [];
	let next = Infinity;
	for (let i = data[0].length - 1; i > 0; i--) {
		if (data[0][i] > next) continue;
		next = data[0][i] - 10;
		rows.push([number(Math.round(data[0].at(-1) - data[0][i])), ...data.slice(1).map((all) => rate(all[i]))]);
	}
	return rows;
}

// receive keeps a picture and shows it.
function receive(next) {
	if (next.error) return notice(`The server has no picture: ${next.error}`);
	picture = next;
	takenAt = performance.now();
	for (const name of histories.keys()) if (!next.runtimes[name]) histories.delete(name);
	for (const [name, runtime] of Object.entries(next.runtimes)) {
		if (!runtime.stats) continue;
		if (!histories.has(name)) histories.set(name, new History());
		histories.get(name).add(Date.parse(next.time) / 1000 || takenAt / 1000, runtime);
	}
	chooser.update(Object.keys(next.runtimes));
	render();
}

// render shows the last picture.
function render() {
	const runtime = picture && chosen();
	if (!runtime) return notice(picture ? "There is no runtime." : "");
	const history = histories.get(chooser.name);
	const { stats, unavailable = {} } = runtime;
	$("pictures").hidden = !stats;
	notice([...new Set(Object.values(unavailable))].join(", ") || advice(stats));
	lists.update(picture, histories, chooser.name);
	if (!stats) return;
	write($("armed"), number(stats.Armed));
	set($("hub"), { "data-digits": number(stats.Armed).length });
	wheel.update(runtime.horizon, takenAt, unavailable.horizon);
	horizon.update(runtime.horizon, stats.Armed, unavailable.horizon);
	for (const plot of plots) plot.update(history);
	const now = distributions(runtime);
	const recent = { late: history.distribution("late", now.late), ran: history.distribution("ran", now.ran) };
	late.update(recent.late, now.late, stats.Late, history.period);
	tiles.update({ stats, history, ran: now.ran, recent });
	owners.update(runtime.callbacks, stats.Armed, unavailable.callbacks);
	for (const update of tables) update();
	tip.refresh();
}

const words = { connecting: "Connecting", live: "Live", paused: "Paused", lost: "Connection lost" };
const stream = new Stream("events", receive, (state) => {
	document.documentElement.dataset.state = state;
	write($("state"), words[state]);
	wheel.run(state === "live");
});

function togglePause() {
	stream.pause(!stream.paused);
	set($("pause"), { "aria-pressed": stream.paused });
	write($("pause"), stream.paused ? "Resume" : "Pause");
	tip.refresh();
}

$("pause").addEventListener("click", togglePause);
tip.explain($("pause"), () => [stream.paused ? "Go on" : "Stop all that moves", "Space or P does the same."]);
tip.explain($("state"), () => [words[document.documentElement.dataset.state], {
	lost: "The page tries to connect again. The figures are the last ones that came.", paused: "The figures stand still.",
	live: "The figures are those of now.", connecting: "No figures have come yet.",
}[document.documentElement.dataset.state]]);
tip.explain($("hub"), () => ["Timers that are armed", "They have neither fired nor been stopped. Timers of tasks count."]);
document.addEventListener("keydown", (event) => {
	if (event.altKey || event.ctrlKey || event.metaKey || event.repeat) return;
	const own = event.target.closest?.("button, select, summary, a, input");
	if (event.key === "p" || event.key === "P" ? !event.target.closest?.("select, input") : event.key === " " && !own) {
		event.preventDefault();
		togglePause();
	}
});
tip.listen();
