// The page of foliot serve: the token, the live figures, the tables and the form.

import { Live, notice } from "./live/live.js";
import { write, set } from "./live/svg.js";
import { Api, accepts } from "./api.js";
import { Form } from "./form.js";
import { NextTimers, DeadTimers, FiredTimers } from "./timers.js";
import { tiles, rates, wheelNote } from "./figures.js";
import { clock } from "./say.js";

const $ = (id) => document.getElementById(id);
const needed = document.documentElement.dataset.token === "needed";

let begun = false; // the page has a token, or needs none
let focused = null; // the element that had the focus when the token was refused

const api = new Api(() => ask("The server has refused the token. It may have been changed."));
const active = () => begun && !document.hidden && document.documentElement.dataset.state === "live";
const changed = () => Promise.all([next.list.load(), dead.list.load()]);
const form = new Form(api, changed);
const next = new NextTimers(api, { active, changed, change: (id) => form.load(id) });
const dead = new DeadTimers(api, { active, changed });
const fired = new FiredTimers(api, { onFire: () => next.list.want(), onFail: refused });

const live = new Live({
	snapshots: "live.json",
	every: 500,
	headers: () => api.headers,
	tick: 1000, // a microsecond
	tiles,
	rates,
	about: ["Timers that are armed", "They have no outcome yet. Those that are being sent or are tried again count, too."],
	onSnapshot: receive,
	onState: (state) => {
		if (state === "lost") notice("The server cannot be reached. All that you see is what was last known. The page tries again.");
		if (state === "live") changed();
		else fired.stop();
	},
	onRefused: refused,
});

// refused is called if the server has not accepted a request for events.
function refused(status, problem) {
	if (status === 401) ask("The server has refused the token. It may have been changed.");
	else if (problem?.detail) notice(problem.detail);
}

let before = ""; // what the last snapshot says about changes of the lists

// receive takes from a snapshot what is not drawn by Live.
function receive({ time, serve, runtimes }) {
	clock.set(time);
	next.armed = serve.pending;
	write($("wheel-note"), wheelNote(serve));
	fired.listen(serve.fires);
	const { Stopped, Late } = runtimes.timers.stats;
	const now = [serve.pending, serve.scheduled, Stopped, Late.Count, serve.dead, serve.died].join();
	if (now !== before) {
		next.list.want();
		dead.list.want();
	}
	before = now;
}

// begin shows the page.
function begin() {
	begun = true;
	$("gate").hidden = true;
	$("main").hidden = false;
	if (focused?.isConnected) focused.focus();
	focused = null;
	live.start();
}

// ask asks for the token. What was typed elsewhere stays.
function ask(why) {
	const field = $("token");
	if (!begun && !$("gate").hidden) return; // it is being asked
	if (begun) focused = document.activeElement;
	begun = false;
	live.stop();
	fired.stop();
	api.token = "";
	write($("state"), "Waiting for the token");
	document.documentElement.dataset.state = "waiting";
	$("main").hidden = true;
	$("gate").hidden = false;
	complain(why);
	field.focus();
	field.select();
}

function complain(why) {
	write($("token-error"), why);
	$("token-error").hidden = !why;
	set($("token"), { "aria-invalid": why ? "true" : null });
}

$("gate-form").addEventListener("submit", async (event) => {
	event.preventDefault();
	const token = $("token").value.trim();
	if (!token) return complain("Type or paste the token.");
	if (!/^[\x21-\x7e]+$/.test(token)) return complain("A token is one word of ASCII. This one has other characters.");
	const { status } = await accepts(token);
	if (status === 0) return complain("The server cannot be reached. Try again.");
	if (status === 401) {
		complain("The server has refused this token.");
		return $("token").select();
	}
	complain("");
	api.token = token;
	$("token").value = "";
	begin();
});
$("token").addEventListener("input", () => complain(""));

document.addEventListener("visibilitychange", () => {
	if (document.hidden) fired.stop();
	else if (active()) changed();
});
setInterval(() => active() && next.rows.refresh(), 1000);

if (needed && !api.hasToken) ask("");
else begin();
