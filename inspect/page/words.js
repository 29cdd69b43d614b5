// How durations, shares and names are written.

import { number, quantity, nbsp, noFigure } from "./number.js";

export const microsecond = 1e3, millisecond = 1e6, second = 1e9;
export const minute = 60 * second, hour = 60 * minute, day = 24 * hour, year = 365.25 * day;

const units = [[year, "y"], [day, "d"], [hour, "h"], [minute, "min"], [second, "s"], [millisecond, "ms"], [microsecond, "µs"], [1, "ns"]];

// duration formats nanoseconds in the largest unit that leaves at least 1, with at most so many significant digits.
export function duration(ns, digits = 3) {
	if (!Number.isFinite(ns)) return noFigure;
	if (ns === 0) return "0" + nbsp + "s";
	const short = Number(ns.toPrecision(digits));
	const [unit, name] = units.find(([u]) => Math.abs(short) >= u) ?? units.at(-1);
	return quantity(Number((ns / unit).toPrecision(digits)), name);
}

// span formats a range of time from now.
export function span(from, to) {
	if (from <= 0) return to <= 0 ? "overdue" : `within ${duration(to)}`;
	return `in ${duration(from)} to ${duration(to)}`;
}

// timers formats a number of timers with the word.
export const timers = (n) => (n === 1 ? `1${nbsp}timer` : `${number(n)}${nbsp}timers`);

// rate formats a number of events a second.
export const rate = (v) => (v === null || v === undefined || Number.isNaN(v) ? noFigure : number(v < 100 ? v : Math.round(v)) + nbsp + "/s");

// percent formats a share. Only a share of 1 is 100 %.
export function percent(share) {
	if (!Number.isFinite(share)) return noFigure;
	if (share > 0 && share < 0.001) return "< 0.1" + nbsp + "%";
	if (share < 1 && share > 0.999) return "> 99.9" + nbsp + "%";
	return number(Number((share * 100).toPrecision(share > 0.99 && share < 1 ? 3 : 2))) + nbsp + "%";
}

// shortName removes the path of the package from the name of a function, also from type arguments.
export const shortName = (name) => name.replace(/[\w.~-]+\//g, "");
