// The stream of pictures from the server.

const patience = 3000; // milliseconds without a picture after which a connection counts as lost, if pictures come fast
const firstPatience = 65000; // the same while it is not known how fast they come

// A Stream listens to the server, but not while it is paused and not while the page is hidden. It calls onPicture with each
// picture, and onState with "connecting", "live", "paused" or "lost".
export class Stream {
	#source = null; // the EventSource; null while nothing is wanted
	#again = 0; // the timer that opens the source again after the browser gave up
	#silence = 0; // the timer that gives a connection up because nothing comes
	#count = 0; // pictures that have come, at most 3
	#gap = 0; // about the longest time between two pictures of late, in milliseconds
	#last = 0; // when the last picture came, by performance.now
	#state = "";
	#paused = false;

	constructor(address, onPicture, onState) {
		this.address = address;
		this.onPicture = onPicture;
		this.onState = onState;
		document.addEventListener("visibilitychange", () => this.#follow());
		addEventListener("pagehide", () => this.#close());
		addEventListener("pageshow", () => this.#follow());
		this.#follow();
	}

	get paused() { return this.#paused; }

	// pause ends the stream, or begins it again.
	pause(paused) {
		this.#paused = paused;
		this.#follow();
	}

	// #follow opens or closes the source, as it is wanted.
	#follow() {
		const wanted = !this.#paused && !document.hidden;
		if (wanted && !this.#source) this.#open();
		if (!wanted) {
			this.#close();
			this.#count = 0;
		}
		if (this.#paused) this.#become("paused");
	}

	#open() {
		clearTimeout(this.#again);
		if (this.#state !== "lost") this.#become("connecting");
		const source = new EventSource(this.address);
		this.#source = source;
		source.onmessage = (event) => this.#receive(event.data);
		source.onerror = () => {
			this.#become("lost");
			// The browser tries again by itself, unless the server has refused.
			if (source.readyState !== EventSource.CLOSED) return;
			this.#close();
			this.#again = setTimeout(() => this.#follow(), 2000);
		};
	}

	#close() {
		clearTimeout(this.#again);
		clearTimeout(this.#silence);
		this.#source?.close();
		this.#source = null;
	}

	#receive(data) {
		let picture;
		try {
			picture = JSON.parse(data);
		} catch {
			return this.#become("lost");
		}
		this.#become("live");
		this.#listen();
		this.onPicture(picture);
	}

	// #listen notes that a picture has come, and sets the time when the connection is given up. The first two pictures may
	// come at once, so they do not say how fast pictures come.
	#listen() {
		const now = performance.now();
		if (this.#count > 0) this.#gap = Math.max(0.9 * this.#gap, now - this.#last);
		this.#last = now;
		this.#count = Math.min(this.#count + 1, 3);
		clearTimeout(this.#silence);
		this.#silence = setTimeout(() => {
			this.#become("lost");
			this.#close();
			this.#follow();
		}, this.#count < 3 ? firstPatience : Math.max(patience, 4 * this.#gap));
	}

	#become(state) {
		if (state === this.#state) return;
		this.#state = state;
		this.onState(state);
	}
}
