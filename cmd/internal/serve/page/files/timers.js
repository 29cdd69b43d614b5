// The tables: the timers that come next, those that have fired, and those that gave up.

import { Source } from "./live/source.js";
import { write } from "./live/svg.js";
import { number } from "./live/number.js";
import { duration } from "./live/words.js";
import { List, pageSize } from "./list.js";
import { Rows } from "./rows.js";
import { parse, pathOf } from "./api.js";
import { say, until, local, short, plain, quoted } from "./say.js";

const $ = (id) => document.getElementById(id);

const idColumn = { head: "ID", class: "id", show: (t) => ({ text: t.id, title: t.id }) };
const payloadColumn = { head: "Payload", class: "payload", show: (t) => ({ text: short(t.payload), title: t.payload ? short(t.payload, 2000) : null }) };

// The period of a timer.
function period(t) {
	if (t.cron) return { text: t.cron, note: t.tz ?? "UTC", title: `Cron ${t.cron} in ${t.tz ?? "UTC"}` };
	return t.every ? { text: `every ${t.every}` } : { text: "once", kind: "quiet" };
}

// Where a timer goes.
function target(t) {
	if (!t.webhook) return { text: t.kind ?? "", note: "event", title: `Listeners of /v1/fires get it as ${t.kind}.` };
	let host = t.webhook.url;
	try {
		host = new URL(t.webhook.url).host;
	} catch {
		// Shown as it is.
	}
	return { text: host, note: "webhook", title: short(t.webhook.url, 1000) };
}

// A NextTimers is the table of the timers that come next. change is called with the ID of a timer to be changed.
export class NextTimers {
	armed = 0; // timers that the server has

	constructor(api, { active, change, changed }) {
		this.api = api;
		this.rows = new Rows($("next"), $("next-title"), [
			idColumn,
			{ head: "Due", class: "due", show: (t) => ({ text: until(t.at), note: local(t.at), title: t.at }) },
			{ head: "Repeats", class: "period", show: period },
			{ head: "Goes to", class: "target", show: target },
			payloadColumn,
		], [{ name: "Change", do: (t) => change(t.id) }, { name: "Cancel", do: (t) => this.#cancel(t, changed) }]);
		const path = () => "v1/timers?order=due" + ($("prefix").value ? `&prefix=${encodeURIComponent($("prefix").value.toWellFormed?.() ?? $("prefix").value)}` : "");
		this.list = new List(api, {
			path, name: "timers", rows: this.rows, note: $("next-note"), more: $("next-more"), active,
			item: (t) => ({ ...t, key: t.id, payload: plain(t.payload) }),
			words: (shown, more) => this.#words(shown, more),
		});
		let typed = 0;
		$("prefix").addEventListener("input", () => {
			clearTimeout(typed);
			typed = setTimeout(() => this.list.clear(), 200);
		});
		$("prefix").addEventListener("keydown", (event) => {
			if (event.key !== "Escape" || !$("prefix").value) return;
			$("prefix").value = "";
			this.list.clear();
		});
	}

	#words(shown, more) {
		const prefix = $("prefix").value;
		if (shown === 0) return prefix ? `No timer has an ID that begins with ${quoted(prefix)}.` : "No timer is armed. The form above makes one.";
		return more && !prefix && this.armed > shown ? `The next ${number(shown)} of ${number(this.armed)}.` : "";
	}

	async #cancel(t, changed) {
		const { ok, status, body } = await this.api.send("DELETE", pathOf("timers", t.id));
		if (ok) say(`Cancelled ${quoted(t.id)}.`);
		else say(`${quoted(t.id)} was not cancelled. ${body.detail}`, "bad");
		if (status) await changed();
	}
}

// A DeadTimers is the table of the timers that gave up.
export class DeadTimers {
	constructor(api, { active, changed }) {
		this.api = api;
		this.rows = new Rows($("dead"), $("dead-title"), [
			idColumn,
			{ head: "Error", class: "why", show: (t) => ({ text: short(t.error, 400), title: t.error }) },
			{ head: "Attempts", class: "number", show: (t) => number(t.attempts) },
			{ head: "Was due", class: "due", show: (t) => ({ text: local(t.at), title: t.at }) },
		], [
			{ name: "Redrive", do: (t) => this.#act("POST", pathOf("dead", t.id) + "/redrive", `Redrove ${quoted(t.id)}: it is tried again now.`, t, changed) },
			{ name: "Discard", do: (t) => this.#act("DELETE", pathOf("dead", t.id), `Discarded ${quoted(t.id)}.`, t, changed) },
		]);
		this.list = new List(api, {
			path: () => "v1/dead", name: "dead", rows: this.rows, note: $("dead-note"), more: $("dead-more"), active,
			item: (t) => ({ ...t, key: t.id }),
			words: (shown) => (shown === 0 ? "No timer is dead: none has used up its attempts." : ""),
		});
	}

	async #act(method, path, done, t, changed) {
		const { ok, status, body } = await this.api.send(method, path);
		if (ok) say(done);
		else say(`${quoted(t.id)} stays as it is. ${body.detail}`, "bad");
		if (status) await changed();
	}
}

const keptFires = 200;
const drawEvery = 250; // milliseconds
const silence = 40000; // milliseconds after which a connection is given up. The server sends something each 15 seconds

const outcomes = {
	done: "It is done.", retry: "It has failed and is tried again.", dead: "It has failed, and its attempts are used up.",
	dropped: "It was given up: the receiver said that it is gone.",
};

// reason returns the error of an attempt, or the status of the response if there is no error.
function reason(e) {
	if (e.error) return short(e.error, 200);
	if (e.status) return `status ${e.status}`;
	return e.kind ? "" : "no response";
}

// A FiredTimers is the table of attempts and their outcomes, the newest first.
export class FiredTimers {
	#events = []; // the newest first
	#source = null;
	#last = null; // the number of the last event; null: it was never connected
	#shown = pageSize() / 2;
	#draw = 0;
	#silence = 0;

	// onFire is called after events have come, onFail as that of a Source.
	constructor(api, { onFire, onFail }) {
		this.api = api;
		this.onFire = onFire;
		this.onFail = onFail;
		this.rows = new Rows($("fired"), $("fired-title"), [
			idColumn,
			{ head: "Time", class: "when", show: (e) => (e.at ? { text: local(e.at), title: e.at } : "") },
			{ head: "Late", class: "number late", show: (e) => duration(e.late_us * 1000) },
			{ head: "Outcome", class: "outcome", show: (e) => ({ text: e.outcome, note: reason(e), kind: e.outcome, title: outcomes[e.outcome] ?? null }) },
			{ head: "Attempt", class: "number", show: (e) => number(e.attempt) },
			{ head: "Went to", class: "target", show: (e) => (e.kind ? { text: e.kind, note: "event" } : { text: "webhook" }) },
			payloadColumn,
		]);
		$("fired-more").addEventListener("click", () => {
			this.#shown = keptFires;
			this.#show();
			if ($("fired-more").hidden) $("fired-title").focus();
		});
	}

	// listen begins to listen after an event, or after the last one that came.
	listen(after) {
		if (this.#source) return;
		this.#last ??= after;
		this.#show();
		this.#source = new Source("v1/fires", {
			headers: () => this.api.headers,
			last: this.#last,
			onData: () => this.#await(),
			onEvents: (events) => this.#receive(events),
			onFail: (status, problem) => this.onFail(status, problem),
		});
		this.#await();
	}

	stop() {
		clearTimeout(this.#silence);
		if (this.#source) this.#last = this.#source.last;
		this.#source?.close();
		this.#source = null;
	}

	#await() {
		clearTimeout(this.#silence);
		this.#silence = setTimeout(() => {
			this.stop();
			this.listen();
		}, silence);
	}

	#receive(events) {
		this.#last = events.at(-1).id;
		this.#events = [...events.slice(-keptFires).reverse(), ...this.#events].slice(0, keptFires);
		this.#draw ||= setTimeout(() => this.#show(), drawEvery);
		this.onFire();
	}

	#show() {
		clearTimeout(this.#draw);
		this.#draw = 0;
		// Only what is shown is parsed: there may be thousands of events a second.
		this.rows.show(this.#events.slice(0, this.#shown).map((event) => (event.item ??= itemOf(event))).filter((item) => item.id !== undefined));
		$("fired-more").hidden = this.#events.length <= this.#shown;
		write($("fired-note"), this.rows.size > 0 ? "" : "No timer has fired since the server was started.");
		$("fired-note").hidden = this.rows.size > 0;
	}
}

function itemOf(event) {
	const fire = parse(event.data) ?? {};
	return { ...fire, key: event.id, payload: plain(fire.payload) };
}
