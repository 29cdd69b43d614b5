// How numbers and the labels of axes are written. inspect/testdata/numbers.json has examples, which a test runs in a browser.

const minusSign = "−"; // typographic
export const noFigure = "–"; // in place of a missing figure
export const nbsp = "\u00a0"; // keeps a figure and its unit on one line

// number formats a number with three significant digits, and with all digits before the point.
export function number(v) {
	if (!Number.isFinite(v)) return noFigure;
	const abs = Math.abs(v);
	let decimals = 0;
	if (abs === 0 || abs >= 99.95) decimals = 0;
	else if (abs >= 9.995) decimals = 1;
	else if (abs >= 0.9995) decimals = 2;
	else decimals = Math.min(2 - Math.floor(Math.log10(abs)), 9);
	let [whole, fraction = ""] = abs.toFixed(decimals).split(".");
	fraction = fraction.replace(/0+$/, "");
	const text = whole.replace(/\B(?=(\d{3})+$)/g, ",") + (fraction && "." + fraction);
	return v < 0 && text !== "0" ? minusSign + text : text;
}

// quantity formats a number and its unit.
export function quantity(v, unit) {
	const text = number(v);
	return unit && text !== noFigure ? text + nbsp + unit : text;
}

// count formats a number of timers in short: 10 k, 1 M.
export function count(n) {
	for (const [of, name] of [[1e9, "G"], [1e6, "M"], [1e3, "k"]]) {
		if (n >= of && n / of === Math.trunc((n / of) * 10) / 10) return number(n / of) + nbsp + name;
	}
	return number(n);
}

// timeUnits are the units of time, each 1000 times the one before.
const timeUnits = ["ns", "µs", "ms", "s"];

// axisLabel formats a value for the label of a tick, in the unit of time in which it is shortest.
export function axisLabel(v, unit) {
	if (!unit || unit === "timers") return count(v);
	let i = timeUnits.indexOf(unit);
	if (i < 0 || v === 0) return quantity(v, unit);
	for (; v >= 1000 && i < timeUnits.length - 1; i++) v /= 1000;
	for (; v < 1 && i > 0; i--) v *= 1000;
	return quantity(v, timeUnits[i]);
}

// step returns the distance of labels on a linear axis: 1, 2 or 5 times a power of ten, for about the given number of
// labels over the span.
export function step(span, labels) {
	const power = 10 ** Math.floor(Math.log10(span / labels));
	for (const m of [1, 2, 5]) {
		if (span / (m * power) <= labels - 1) return m * power;
	}
	return 10 * power;
}
