// Where snapshots and events come from: server-sent events, or single requests. Both are read by fetch, as an EventSource cannot
// send headers, and does not say why a server has refused.

const pause = 1000; // milliseconds before the next request, unless the server names another time
const refusedPause = 2000; // the same after a response that is an error

// A Source requests events until it is closed, and again after each end and each failure. A request has the number of the
// last event, so that the server goes on after it. Options, all of which may be missing:
//
//   - headers returns the headers of a request.
//   - last is the number of the last event that is not wanted.
//   - onOpen is called when the server has accepted a request, onData with each piece of it: also if no event is in it.
//   - onEvents is called with the events of a piece: a list of {id, data}.
//   - onFail is called with the status of the response, 0 if there is none or it has ended, and the problem that it describes.
export class Source {
	#options;
	#request = null; // ends the request
	#again = 0; // the timer of the next request
	#pause = pause;

	constructor(address, options = {}) {
		this.address = address;
		this.last = options.last ?? "";
		this.#options = options;
		this.#open();
	}

	close() {
		clearTimeout(this.#again);
		this.#request?.abort();
		this.#request = null;
	}

	async #open() {
		const request = new AbortController();
		this.#request = request;
		const open = () => this.#request === request;
		let status = 0, problem = null;
		try {
			const headers = { Accept: "text/event-stream", ...this.#options.headers?.() };
			if (this.last !== "") headers["Last-Event-ID"] = this.last;
			const response = await fetch(this.address, { headers, cache: "no-store", signal: request.signal });
			if (response.ok) {
				if (open()) this.#options.onOpen?.();
				await this.#read(response, open);
			} else {
				status = response.status;
				problem = await response.json().catch(() => null);
			}
		} catch {
			// The connection has failed, or close was called.
		}
		if (!open()) return;
		this.#request = null;
		this.#again = setTimeout(() => this.#open(), status ? refusedPause : this.#pause);
		this.#options.onFail?.(status, problem);
	}

	// #read reads a response to its end.
	async #read(response, open) {
		const reader = response.body.getReader();
		const decoder = new TextDecoder();
		let rest = "";
		for (;;) {
			const { done, value } = await reader.read();
			if (done || !open()) return;
			const blocks = (rest + decoder.decode(value, { stream: true })).split("\n\n");
			rest = blocks.pop();
			const events = blocks.map((block) => this.#parse(block)).filter((event) => event.data !== null);
			this.#options.onData?.();
			if (events.length > 0) this.#options.onEvents?.(events);
			if (!open()) return;
		}
	}

	// #parse parses an event. Its data is null if it is a comment.
	#parse(block) {
		const event = { id: "", data: null };
		for (const line of block.split("\n")) {
			const colon = line.indexOf(":");
			const name = line.slice(0, colon), value = line.slice(colon + 1).replace(/^ /, "");
			if (name === "data") event.data = event.data === null ? value : event.data + "\n" + value;
			if (name === "id") this.last = event.id = value;
			if (name === "retry" && /^\d+$/.test(value)) this.#pause = Number(value);
		}
		return event;
	}
}

// A Poll requests an address again and again until it is closed, and takes each response for an event. It has the methods and
// most of the options of a Source. A browser has few connections for one server, and a Poll does not occupy one.
export class Poll {
	#request = null; // ends the request
	#again = 0; // the timer of the next request

	// options.every is the time between two requests in milliseconds.
	constructor(address, options) {
		this.address = address;
		this.options = options;
		this.#open();
	}

	close() {
		clearTimeout(this.#again);
		this.#request?.abort();
		this.#request = null;
	}

	async #open() {
		const { every, headers, onEvents, onFail } = this.options;
		const request = new AbortController(), start = performance.now();
		this.#request = request;
		let status = 0, data = null, problem = null;
		try {
			const response = await fetch(this.address, { headers: headers?.(), cache: "no-store", signal: request.signal });
			if (response.ok) data = await response.text();
			else problem = await response.json().catch(() => null);
			status = response.status;
		} catch {
			data = null; // the connection has failed, or close was called
		}
		if (this.#request !== request) return;
		const wait = data !== null ? Math.max(every / 2, every - (performance.now() - start)) : status ? refusedPause : pause;
		this.#again = setTimeout(() => this.#open(), wait);
		if (data !== null) onEvents([{ id: "", data }]);
		else onFail(status, problem);
	}
}
