// The live figures: it gets snapshots from the server and shows those of one runtime.

import { Stream } from "./stream.js";
import { History } from "./history.js";
import { distributions } from "./distribution.js";
import { Wheel, wheelRows } from "./wheel.js";
import { Horizon, horizonRows } from "./horizon.js";
import { Plot } from "./plots.js";
import { Late } from "./late.js";
import { Owners } from "./owners.js";
import { Tiles, figures } from "./tiles.js";
import { Loads } from "./loads.js";
import { Lists } from "./lists.js";
import { Chooser } from "./chooser.js";
import { alternative } from "./table.js";
import { write, set } from "./svg.js";
import * as tip from "./tip.js";
import { number } from "./number.js";
import { rate } from "./words.js";

const $ = (id) => document.getElementById(id);

// lines are those of the plots.
const lines = {
	rates: [
		{ of: "new", name: "armed", colour: "--s1", about: "Timers that were armed, a second: from the change of Armed and the timers that have fired or were stopped." },
		{ of: "fired", name: "fired", colour: "--s2", width: 2.4, about: "Timers that have fired, a second. Those of tasks count." },
		{ of: "stopped", name: "stopped", colour: "--s6", dash: [7, 3], about: "Armed timers that were stopped, a second." },
		{ of: "rearmed", name: "re-armed", colour: "--s3", dash: [2, 3], about: "Armed timers that were reset, a second." },
	],
	wakeups: [
		{ of: "wakeups", name: "wake-ups", colour: "--s4", about: "How often the timekeeper woke, a second." },
		{ of: "blocked", name: "blocked workers", colour: "--s11", dash: [4, 2], about: "How often a callback blocked its worker, a second." },
	],
};

const words = { connecting: "Connecting", live: "Live", paused: "Paused", lost: "Connection lost" };

// A Live shows snapshots in the elements of the page. Those of loads, of owners, of the lists and of the choice of a runtime may be missing.
// Options:
//
//   - snapshots is the address of the snapshots, every the milliseconds between two requests for single ones, or 0 for a stream.
//     headers returns the headers of requests.
//   - rates and about replace the lines of the first plot, and the tip of the number of timers. tiles replaces the figures.
//   - tick is the tick of the wheel in nanoseconds.
//   - onSnapshot, onState and onRefused are called as those of a Stream are, after the page has changed.
export class Live {
	#options;
	#stream = null;
	#histories = new Map(); // by name of a runtime
	#snapshot = null; // the last one
	#takenAt = 0; // when it was taken, by performance.now
	#wheel;
	#horizon;
	#late;
	#owners;
	#tiles;
	#loads;
	#plots;
	#chooser;
	#lists;
	#tables;

	constructor(options) {
		this.#options = options;
		this.#wheel = new Wheel($("wheel"), options.tick);
		this.#horizon = new Horizon($("horizon"));
		this.#late = new Late($("late"), $("late-table"));
		this.#owners = $("owners") && new Owners($("owners"));
		this.#tiles = new Tiles($("tiles"), options.tiles ?? figures);
		this.#loads = $("loads") && new Loads($("loads"));
		this.#plots = [
			new Plot($("rates"), $("rates-keys"), "Timers a second", options.rates ?? lines.rates),
			new Plot($("wakeups"), $("wakeups-keys"), "Wake-ups a second", lines.wakeups),
		];
		this.#chooser = $("chooser") && new Chooser($("chooser"), $("runtime"), () => {
			this.#wheel.clear();
			this.#late.clear();
			this.#render();
		});
		this.#lists = $("lists") && new Lists($("lists"), (name) => this.#chooser.choose(name));
		const rates = options.rates ?? lines.rates;
		this.#tables = [
			alternative($("wheel-table"), "The rings of the wheel", ["One turn", "a step", "timers"], () => wheelRows(this.#chosen.horizon, options.tick)),
			alternative($("horizon-table"), "When timers are due", ["Due", "timers, about", "all until then"], () => horizonRows(this.#chosen.horizon, this.#chosen.stats.Armed)),
			alternative($("rates-table"), "The last minutes", ["Seconds ago", ...rates.map((line) => line.name), "wake-ups"], () => this.#rateRows([...rates.map((line) => line.of), "wakeups"])),
		];
		$("pause").addEventListener("click", () => this.#togglePause());
		document.addEventListener("keydown", (event) => this.#key(event));
		this.#explain();
	}

	// start begins to listen to the server, or listens again with other headers.
	start() {
		if (this.#stream) return this.#stream.again();
		const { snapshots, every, headers, onState, onRefused } = this.#options;
		this.#stream = new Stream(snapshots, { every, headers, onRefused, onSnapshot: (snapshot) => this.#receive(snapshot), onState: (state) => this.#become(state, onState) });
	}

	// stop ends that until start is called.
	stop() { this.#stream?.stop(); }

	get paused() { return Boolean(this.#stream?.paused); }

	get #name() { return this.#chooser ? this.#chooser.name : Object.keys(this.#snapshot.runtimes)[0]; }
	get #chosen() { return this.#snapshot.runtimes[this.#name]; }

	// #receive keeps a snapshot and shows it.
	#receive(next) {
		if (next.error) return notice(`The server has no snapshot: ${next.error}`);
		this.#snapshot = next;
		this.#takenAt = performance.now();
		for (const name of this.#histories.keys()) if (!next.runtimes[name]) this.#histories.delete(name);
		for (const [name, runtime] of Object.entries(next.runtimes)) {
			if (!runtime.stats) continue;
			if (!this.#histories.has(name)) this.#histories.set(name, new History());
			this.#histories.get(name).add(Date.parse(next.time) / 1000 || this.#takenAt / 1000, runtime);
		}
		this.#chooser?.update(Object.keys(next.runtimes));
		this.#render();
		this.#options.onSnapshot?.(next);
	}

	// #render shows the last snapshot.
	#render() {
		const runtime = this.#snapshot && this.#chosen;
		if (!runtime) return notice(this.#snapshot ? "There is no runtime." : "");
		const history = this.#histories.get(this.#name);
		const { stats, unavailable = {} } = runtime;
		$("pictures").hidden = !stats;
		notice([...new Set(Object.values(unavailable))].join(", ") || this.#advice(stats));
		this.#lists?.update(this.#snapshot, this.#histories, this.#name);
		if (!stats) return;
		write($("armed"), number(stats.Armed));
		set($("hub"), { "data-digits": number(stats.Armed).length });
		this.#wheel.update(runtime.horizon, this.#takenAt, unavailable.horizon);
		this.#horizon.update(runtime.horizon, stats.Armed, unavailable.horizon);
		for (const plot of this.#plots) plot.update(history);
		const now = distributions(runtime);
		const recent = { late: history.distribution("late", now.late), ran: history.distribution("ran", now.ran) };
		this.#late.update(recent.late, now.late, stats.Late, history.period);
		this.#tiles.update({ stats, history, ran: now.ran, recent, snapshot: this.#snapshot });
		this.#loads?.update(this.#name, stats, history.when(history.end - 1));
		this.#owners?.update(runtime.callbacks, stats.Armed, unavailable.callbacks);
		for (const update of this.#tables) update();
		tip.refresh();
	}

	// #advice says what to do if the page shows only the default runtime, and the program does not use it.
	#advice(stats) {
		const alone = Object.keys(this.#snapshot.runtimes).length === 1 && this.#name === "default";
		const unused = stats && stats.Timers + stats.Tasks + stats.Queued + stats.Stopped + stats.Late.Count === 0;
		return alone && unused ? "The runtime “default” has not had a timer yet. Options.Runtimes of inspect.Handler names other runtimes to show." : "";
	}

	// #rateRows are a sample each ten seconds, the newest first.
	#rateRows(names) {
		const data = this.#histories.get(this.#name).series(names);
		const rows = [];
		let next = Infinity;
		for (let i = data[0].length - 1; i > 0; i--) {
			if (data[0][i] > next) continue;
			next = data[0][i] - 10;
			rows.push([number(Math.round(data[0].at(-1) - data[0][i])), ...data.slice(1).map((all) => rate(all[i]))]);
		}
		return rows;
	}

	#become(state, onState) {
		document.documentElement.dataset.state = state;
		write($("state"), words[state]);
		this.#wheel.run(state === "live");
		onState?.(state);
	}

	#togglePause() {
		if (!this.#stream) return;
		this.#stream.pause(!this.#stream.paused);
		set($("pause"), { "aria-pressed": this.#stream.paused });
		write($("pause"), this.#stream.paused ? "Resume" : "Pause");
		tip.refresh();
	}

	// #key pauses with the space bar and P, unless an element uses the key itself.
	#key(event) {
		if (event.altKey || event.ctrlKey || event.metaKey || event.repeat) return;
		const own = event.target.closest?.("button, select, summary, a, input, textarea");
		if (event.key === "p" || event.key === "P" ? !event.target.closest?.("select, input, textarea") : event.key === " " && !own) {
			event.preventDefault();
			this.#togglePause();
		}
	}

	#explain() {
		const state = () => document.documentElement.dataset.state ?? "connecting";
		tip.explain($("pause"), () => [this.paused ? "Go on" : "Stop all that moves", "Space or P does the same."]);
		tip.explain($("state"), () => words[state()] && [words[state()], {
			lost: "The page tries to connect again. The figures are the last ones that came.", paused: "The figures stand still.",
			live: "The figures are those of now.", connecting: "No figures have come yet.",
		}[state()]]);
		tip.explain($("hub"), () => this.#options.about ?? ["Timers that are armed", "They have neither fired nor been stopped. Timers of tasks count."]);
		tip.listen();
	}
}

// notice shows a sentence above everything, or hides it.
export function notice(text) {
	$("notice").hidden = !text;
	write($("notice"), text && text[0].toUpperCase() + text.slice(1) + (text.endsWith(".") ? "" : "."));
}
