// The stream of pictures from the server.

// A Stream listens to the server while somebody looks: not while it is paused and not while the page is hidden. It calls
// onPicture with each picture, and onState with "connecting", "live", "paused" or "lost".
export class Stream {
	#source = null; // the EventSource; null while nothing is wanted
	#again = 0; // the timer that opens the source again after the browser gave up
	#silence = 0; // the timer that ends the state live
	#gap = 500; // milliseconds between the last two pictures
	#last = 0; // when the last picture came
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
		if (!wanted) this.#close();
		if (this.#paused) this.#become("paused");
	}

	#open() {
		clearTimeout(this.#again);
		this.#last = 0;
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
		const now = performance.now();
		if (this.#last) this.#gap = Math.min(Math.max(now - this.#last, 100), 60000);
		this.#last = now;
		this.#become("live");
		clearTimeout(this.#silence);
		this.#silence = setTimeout(() => this.#become("lost"), Math.max(3000, 4 * this.#gap));
		this.onPicture(picture);
	}

	#become(state) {
		if (state === this.#state) return;
		this.#state = state;
		this.onState(state);
	}
}
