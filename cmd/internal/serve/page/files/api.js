// Requests to the server, and the token.

const stored = "foliot-token"; // the name of the token in the storage of the tab

// An Api sends requests. Addresses are relative to the page, so that a proxy may serve it below any prefix. The token is in a
// header and nowhere else. It is kept in the storage of the tab, which a reload leaves alone, and which ends with the tab.
export class Api {
	#token = "";

	// onRefused is called if the server does not accept the token.
	constructor(onRefused) {
		this.onRefused = onRefused;
		try {
			this.#token = sessionStorage.getItem(stored) ?? "";
		} catch {
			// The browser allows no storage. Then a reload asks again.
		}
	}

	get hasToken() { return this.#token !== ""; }

	set token(token) {
		this.#token = token;
		try {
			if (token === "") sessionStorage.removeItem(stored);
			else sessionStorage.setItem(stored, token);
		} catch {
			// As above.
		}
	}

	// headers returns the headers that each request has.
	get headers() { return authorization(this.#token); }

	// send sends a request and returns {status, ok, etag, body}. The status is 0 if there is no response. The body of an
	// error is a problem with a detail, made here if the server has sent none.
	async send(method, path, { body, headers = {} } = {}) {
		const result = await request(method, path, { body, headers: { ...headers, ...this.headers } });
		if (result.status === 401) this.onRefused();
		return result;
	}
}

// accepts returns {status, ok} for a token that was not used yet.
export const accepts = (token) => request("GET", "v1/timers?limit=1", { headers: authorization(token) });

const authorization = (token) => (token === "" ? {} : { Authorization: "Bearer " + token });

async function request(method, path, { body, headers }) {
	try {
		const response = await fetch(path, { method, headers, body, cache: "no-store", redirect: "error", referrerPolicy: "no-referrer" });
		const { status } = response, content = parse(await response.text());
		return { status, ok: response.ok && content !== null, etag: response.headers.get("ETag"), body: content ?? problem(status) };
	} catch {
		return { status: 0, ok: false, body: { detail: "The server cannot be reached." } };
	}
}

const problem = (status) => ({ detail: `The response has the status ${status} and is not from Foliot. Is a proxy in between?` });

// parse parses JSON, and returns null if it is none. A number that JavaScript would round, or write in another way, stays as it is.
export function parse(text) {
	try {
		return JSON.parse(text, (_, value, context) =>
			(typeof value === "number" && JSON.rawJSON && context?.source !== undefined && context.source !== String(value) ? JSON.rawJSON(context.source) : value));
	} catch {
		return null;
	}
}

// pathOf returns the address of a timer below a list of them.
export const pathOf = (list, id) => `v1/${list}/${encodeURIComponent(id)}`;
