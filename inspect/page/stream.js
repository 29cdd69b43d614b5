// The stream of snapshots from the server.

import { Source, Poll } from "./source.js";

const patience = 3000; // milliseconds without a snapshot after which a connection counts as lost, if snapshots come fast
const firstPatience = 65000; // the same while it is not known how fast they come

// A Stream listens to the server, but not while it is paused and not while the page is hidden. It calls onSnapshot with each
// snapshot, onState with "connecting", "live", "paused" or "lost", and onRefused with the status and the problem of a response that
// is an error. headers returns the headers of a request. If every is not 0, it requests single snapshots, so many milliseconds apart.
export class Stream {
	#source = null; // null while nothing is wanted
	#lastID = ""; // the number of the last snapshot
	#silence = 0; // the timer that gives a connection up because nothing comes
	#count = 0; // snapshots that have come, at most 3
	#gap = 0; // about the longest time between two snapshots of late, in milliseconds
	#last = 0; // when the last snapshot came, by performance.now
	#state = "";
	#paused = false;
	#stopped = false;

	constructor(address, { onSnapshot, onState, onRefused = () => {}, headers = () => ({}), every = 0 }) {
		this.address = address;
		this.onSnapshot = onSnapshot;
		this.onState = onState;
		this.onRefused = onRefused;
		this.headers = headers;
		this.every = every;
		document.addEventListener("visibilitychange", () => this.#follow());
		addEventListener("pagehide", () => this.#close());
		addEventListener("pageshow", () => this.#follow());
		this.#follow();
	}

	get paused() { return this.#paused; }

	// stop ends the stream until again is called.
	stop() {
		this.#stopped = true;
		this.#follow();
		this.#become("connecting");
	}

	// again begins the stream anew, with other headers.
	again() {
		this.#stopped = false;
		this.#close();
		this.#follow();
	}

	// pause ends the stream, or begins it again.
	pause(paused) {
		this.#paused = paused;
		this.#follow();
	}

	// #follow opens or closes the source, as it is wanted.
	#follow() {
		const wanted = !this.#paused && !this.#stopped && !document.hidden;
		if (wanted && !this.#source) this.#open();
		if (!wanted) {
			this.#close();
			this.#count = 0;
		}
		if (this.#paused) this.#become("paused");
	}

	#open() {
		if (this.#state !== "lost") this.#become("connecting");
		this.#await(firstPatience);
		this.#source = new (this.every ? Poll : Source)(this.address, {
			every: this.every,
			headers: this.headers,
			last: this.#lastID,
			onEvents: (events) => {
				this.#lastID = events.at(-1).id;
				this.#receive(events.at(-1).data); // of several the last is that of now
			},
			onFail: (status, problem) => {
				this.#become("lost");
				if (status) this.onRefused(status, problem);
			},
		});
	}

	#close() {
		clearTimeout(this.#silence);
		this.#source?.close();
		this.#source = null;
	}

	#receive(data) {
		let snapshot;
		try {
			snapshot = JSON.parse(data);
		} catch {
			return this.#become("lost");
		}
		this.#become("live");
		this.#listen();
		this.onSnapshot(snapshot);
	}

	// #listen notes that a snapshot has come, and sets the time when the connection is given up. The first two snapshots may
	// come at once, so they do not say how fast snapshots come.
	#listen() {
		const now = performance.now();
		if (this.#count > 0) this.#gap = Math.max(0.9 * this.#gap, now - this.#last);
		this.#last = now;
		this.#count = Math.min(this.#count + 1, 3);
		this.#await(this.#count < 3 ? firstPatience : Math.max(patience, 4 * this.#gap));
	}

	// #await sets the time when the connection is given up, in milliseconds from now.
	#await(time) {
		clearTimeout(this.#silence);
		this.#silence = setTimeout(() => {
			this.#become("lost");
			this.#close();
			this.#follow();
		}, time);
	}

	#become(state) {
		if (state === this.#state) return;
		this.#state = state;
		this.onState(state);
	}
}
