// The form that makes and changes a timer.

import { html, write, set } from "./live/svg.js";
import { fields, check, bodyOf, fieldOf, shown } from "./check.js";
import { pathOf } from "./api.js";
import { say, due, plain, quoted } from "./say.js";

const $ = (id) => document.getElementById(id);
const value = (field) => (field === "payload" ? $(field).value.trim() : field === "id" ? $(field).value : $(field).value.trim());
const tries = 3; // for a periodic timer whose next occurrence comes in between

// A Form makes a timer, or changes the one that was loaded: then it demands the revision that was loaded, so that a change
// in between is not overwritten. changed is called after something was saved. A reader may close the form; what needs it opens it.
export class Form {
	#loaded = null; // {id, rev, at, webhook, …}: the timer that is changed. rev is its ETag
	#busy = false;

	constructor(api, changed) {
		this.api = api;
		this.changed = changed;
		$("form").addEventListener("submit", (event) => {
			event.preventDefault();
			this.#save();
		});
		$("clear").addEventListener("click", () => {
			this.clear();
			$("id").focus();
		});
		for (const field of fields) $(field).addEventListener("input", () => this.#typed(field));
		$("id").addEventListener("change", () => this.#lookUp());
	}

	// clear empties the form, for a new timer.
	clear() {
		this.#loaded = null;
		for (const field of fields) $(field).value = "";
		this.#accept();
		this.#describe();
	}

	// load puts a timer into the form.
	async load(id) {
		const { ok, etag, body } = await this.api.send("GET", pathOf("timers", id));
		if (!ok) return say(`${quoted(id)} cannot be loaded. ${body.detail}`, "bad");
		this.#fill(body, etag);
		say(`Loaded ${quoted(id)} into the form.`);
		$("fold").open = true;
		$("id").focus();
		$("maker").scrollIntoView({ block: "nearest" });
	}

	#fill(timer, etag) {
		this.clear();
		this.#loaded = { ...timer, rev: etag };
		const { id, at, every = "", cron = "", tz = "", kind = "", payload, webhook } = timer;
		Object.entries({ id, at, every, cron, tz, kind, url: webhook?.url ?? "", payload: plain(payload) }).forEach(([field, text]) => ($(field).value = text));
		this.#describe();
	}

	get #values() { return Object.fromEntries(fields.map((field) => [field, value(field)])); }

	// #isChange reports whether the form is about the timer that was loaded.
	get #isChange() { return this.#loaded !== null && this.#loaded.id === $("id").value; }

	// #describe says what the form is about.
	#describe() {
		write($("form-title"), this.#isChange ? "Change timer" : "New timer");
		write($("clear"), this.#loaded ? "New timer" : "Clear");
		const names = Object.keys(this.#loaded?.webhook?.headers ?? {});
		this.#hint("url", names.length > 0 ? `Its headers stay: ${names.join(", ")}.` : "");
		this.#hint("id", this.#loaded && !this.#isChange ? `Another ID makes another timer. ${quoted(this.#loaded.id)} stays as it is.` : "");
	}

	#hint(field, text) {
		write($(`${field}-hint`), text);
		$(`${field}-hint`).hidden = !text;
	}

	// #typed forgets what was wrong with a field that changes.
	#typed(field) {
		this.#complain(field, "");
		const together = { after: ["at"], at: ["after"], every: ["after", "cron"], cron: ["after", "every", "tz"], url: ["kind"], kind: ["url"] };
		for (const other of together[field] ?? []) if ($(other).getAttribute("aria-invalid")) this.#complain(other, check(this.#values)[other] ?? "");
		$("form-error").hidden = true;
		// The time of the loaded timer gives way to a new one.
		if (field === "after" && $("after").value && this.#loaded && $("at").value === this.#loaded.at) $("at").value = "";
		if (field === "id") this.#describe();
	}

	// #lookUp says so if there is a timer with the ID that was typed.
	async #lookUp() {
		const id = $("id").value;
		if (!id || this.#loaded || check(this.#values).id) return;
		const { ok, body } = await this.api.send("GET", `v1/timers?limit=1&prefix=${encodeURIComponent(id)}`);
		if (ok && body.timers[0]?.id === id && $("id").value === id && !this.#loaded) this.#hint("id", "There is a timer with this ID. Save replaces it.");
	}

	// #complain shows what is wrong with a field, or that nothing is.
	#complain(field, text) {
		write($(`${field}-error`), text);
		$(`${field}-error`).hidden = !text;
		set($(field), { "aria-invalid": text ? "true" : null });
	}

	// #accept hides all complaints.
	#accept() {
		for (const field of fields) this.#complain(field, "");
		$("form-error").hidden = true;
	}

	// #refuse shows complaints, and goes to the first field that has one.
	#refuse(wrong) {
		for (const field of fields) this.#complain(field, wrong[field] ?? "");
		const first = fields.find((field) => wrong[field]);
		$("fold").open = true;
		$(first).focus();
		say(`Nothing was saved. ${wrong[first]}`, "spoken");
	}

	// #box shows a text beside the button, and buttons that say what to do.
	#box(text, ...actions) {
		const buttons = actions.map(([name, act]) => {
			const button = html("button", { type: "button" }, name);
			button.addEventListener("click", act);
			return button;
		});
		$("form-error").replaceChildren(html("p", {}, text), ...buttons);
		$("form-error").hidden = false;
		$("fold").open = true;
		say(text, "spoken");
		buttons[0]?.focus();
	}

	async #save() {
		if (this.#busy) return;
		this.#busy = true;
		set($("form"), { "aria-busy": "true" });
		try {
			await this.#send(tries);
		} finally {
			this.#busy = false;
			set($("form"), { "aria-busy": null });
		}
	}

	async #send(left) {
		const values = this.#values, wrong = check(values);
		if (Object.keys(wrong).length > 0) return this.#refuse(wrong);
		this.#accept();
		const change = this.#isChange;
		const headers = { "Content-Type": "application/json" };
		if (change) headers["If-Match"] = this.#loaded.rev;
		const { ok, status, body } = await this.api.send("PUT", pathOf("timers", values.id), { body: bodyOf(values, this.#loaded?.webhook?.headers), headers });
		if (ok) {
			say(`${status === 201 ? "Saved" : change ? "Changed" : "Replaced"} ${quoted(body.id)}: ${due(body.at)}.`);
			this.clear();
			return this.changed();
		}
		if (status === 412 && change) return this.#conflict(values.id, left);
		if (status === 0) return this.#box("The connection was lost, and whether the timer was saved is open. What you have typed is still here: save it again when the server is back.");
		const field = status === 400 || status === 413 ? fieldOf(body.detail) : undefined;
		if (field) return this.#refuse({ [field]: shown(body.detail) });
		if (status !== 401) this.#box(`Nothing was saved. ${body.detail}`);
	}

	// #conflict is called if the timer has another revision than the one that was loaded.
	async #conflict(id, left) {
		const { ok, status, etag, body } = await this.api.send("GET", pathOf("timers", id));
		if (status === 404) {
			this.#loaded = null;
			this.#describe();
			return this.#box(`Nothing was saved: ${quoted(id)} has fired or was cancelled since it was loaded. Save again to make it anew.`);
		}
		if (!ok) return this.#box(`Nothing was saved, as ${quoted(id)} was changed since it was loaded. ${body.detail}`);
		if (left > 1 && isNextOccurrence(this.#loaded, body)) {
			if ($("at").value === this.#loaded.at) $("at").value = body.at;
			this.#loaded = { ...body, rev: etag };
			return this.#send(left - 1);
		}
		this.#box(`Nothing was saved: ${quoted(id)} was changed since it was loaded. It is now ${due(body.at)}.`,
			["Load the change", () => {
				this.#fill(body, etag);
				$("id").focus();
				say(`Loaded ${quoted(id)} again.`);
			}],
			["Keep mine", () => {
				this.#loaded = { ...this.#loaded, rev: etag };
				this.#accept();
				$("form").querySelector("[type=submit]").focus();
				say(`Save replaces ${quoted(id)} now.`);
			}]);
	}
}

// isNextOccurrence reports whether two revisions of a periodic timer differ by nothing but the time.
function isNextOccurrence(before, after) {
	const rest = ({ rev, at, ...spec }) => JSON.stringify(spec);
	return Boolean(after.every || after.cron) && rest(before) === rest(after);
}
