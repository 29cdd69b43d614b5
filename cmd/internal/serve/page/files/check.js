// What the form checks before it asks the server, and where the complaints of the server belong.

// fields are the fields of the form by the names of their elements, in the order of the page.
export const fields = ["id", "after", "at", "every", "cron", "tz", "url", "kind", "payload"];

const maxID = 255, maxPayload = 64 << 10; // bytes
const duration = /^\+?(0|((\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h))+)$/;
const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/;
const bytes = (text) => new TextEncoder().encode(text).length;

// check returns the complaints about the values of the form: an object of texts by field. It is empty if there is none.
export function check(v) {
	const wrong = {};
	const complain = (field, text) => (wrong[field] ??= text);
	if (v.id === "") complain("id", "Name the timer. With the ID it can be changed and cancelled.");
	if (bytes(v.id) > maxID) complain("id", `An ID has at most ${maxID} bytes, and this one has ${bytes(v.id)}.`);
	if (/[\u0000-\u001f\u007f-\u009f]/.test(v.id)) complain("id", "An ID has no control characters, such as a tab or the end of a line.");
	if (v.id.isWellFormed && !v.id.isWellFormed()) complain("id", "This is half of a character. Leave it out.");
	if (v.id === "." || v.id === "..") complain("id", "A browser cannot send this ID, as it has a meaning in addresses. Choose another one.");

	if (v.after && v.at) complain("after", "There are After and At. Leave one of them empty.");
	if (!v.after && !v.at && !v.every && !v.cron) complain("after", "Say when: fill in After or At, or Every or Cron.");
	if (v.after && !duration.test(v.after)) complain("after", "Write a duration such as 90s, 1h30m or 36h.");
	if (v.at && !time.test(v.at)) complain("at", `Write a time with its offset, such as ${example()}.`);
	if (v.every && v.cron) complain("every", "There are Every and Cron. Leave one of them empty.");
	if (v.every && !duration.test(v.every)) complain("every", "Write a duration such as 30s or 1h.");
	if (v.tz && !v.cron) complain("tz", "It is the time zone of Cron, which is empty. Leave it empty, too.");

	if (v.url && v.kind) complain("url", "There are Webhook URL and Kind. Leave one of them empty.");
	if (!v.url && !v.kind) complain("url", "Say what happens: fill in Webhook URL or Kind.");
	if (v.url && !/^https?:\/\/[^/]/i.test(v.url)) complain("url", "Write an address that begins with http:// or https://.");
	if (v.kind && !/^[A-Za-z0-9_-]{1,63}$/.test(v.kind)) complain("kind", "Use at most 63 letters, digits, underscores and hyphens.");
	if (v.payload) {
		try {
			JSON.parse(v.payload);
		} catch (error) {
			complain("payload", `This is not JSON: ${error.message}. A text is written in quotes.`);
		}
		if (bytes(v.payload) > maxPayload) complain("payload", `A payload has at most 64 KiB, and this one has ${Math.ceil(bytes(v.payload) / 1024)} KiB.`);
	}
	return wrong;
}

// example returns a time in an hour, without the rest of a minute.
const example = () => new Date(Math.ceil(Date.now() / 36e5) * 36e5 + 36e5).toISOString().replace(".000", "");

// bodyOf returns the JSON of a timer for the server. The payload is sent as it was typed. headers are those of the webhook.
export function bodyOf(v, headers) {
	const spec = {};
	for (const field of ["after", "at", "every", "cron", "tz", "kind"]) if (v[field]) spec[field] = v[field];
	if (v.url) spec.webhook = headers ? { url: v.url, headers } : { url: v.url };
	const text = JSON.stringify(spec);
	return v.payload ? `${text.slice(0, -1)}${text === "{}" ? "" : ","}"payload":${v.payload}}` : text;
}

// complaints are the beginnings of what the server says, and the field that each is about.
const complaints = [
	[/^(ID |The ID)/, "id"], [/^There are at and after|^after |^There is no time/, "after"], [/^at |^At of/, "at"],
	[/^There are every and cron|^every |^Every of|^@every/, "every"], [/^cron /, "cron"], [/^(tz|The field \/tz|\/tz)\b/, "tz"],
	[/^webhook|^There are webhook|^There is neither/, "url"], [/^kind /, "kind"], [/^payload|^The body|^\/payload|^The field \/payload/, "payload"],
];

// shown returns a complaint of the server in the words of the form: tz is the field Time zone.
export const shown = (detail) => detail.replace(/^tz\b|(?<=into )tz\b/, "Time zone");

// fieldOf returns the field that a complaint of the server is about; undefined: none.
export const fieldOf = (detail) => complaints.find(([beginning]) => beginning.test(detail))?.[1];
