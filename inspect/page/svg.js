// Elements of HTML and SVG.

const namespace = "http://www.w3.org/2000/svg";

// svg makes an SVG element with the attributes.
export function svg(name, attributes = {}, ...children) {
	const e = document.createElementNS(namespace, name);
	set(e, attributes);
	e.append(...children);
	return e;
}

// html makes an HTML element. Attributes with the value null are left out.
export function html(name, attributes = {}, ...children) {
	const e = document.createElement(name);
	set(e, attributes);
	e.append(...children);
	return e;
}

// set sets the attributes that differ, so that an unchanged element is not painted again.
export function set(e, attributes) {
	for (const [name, value] of Object.entries(attributes)) {
		if (value === null || value === undefined) e.removeAttribute(name);
		else if (e.getAttribute(name) !== String(value)) e.setAttribute(name, value);
	}
}

// write sets the text of an element if it differs.
export function write(e, text) {
	if (e.textContent !== text) e.textContent = text;
}

// A Pool keeps elements of one kind in a parent, so that a picture uses the same elements in each drawing.
export class Pool {
	constructor(parent, make) {
		this.parent = parent;
		this.make = make;
		this.all = [];
	}

	// take returns the first n elements, and hides the others.
	take(n) {
		while (this.all.length < n) {
			const e = this.make(this.all.length);
			this.all.push(e);
			this.parent.append(e);
		}
		this.all.forEach((e, i) => set(e, { display: i < n ? null : "none" }));
		return this.all.slice(0, n);
	}
}

// coord formats a coordinate, rounded to a tenth of a pixel.
export const coord = (v) => String(Math.round(v * 10) / 10);

// sector returns the path of a piece of a ring around the origin. Angles are in turns, clockwise from the top.
export function sector(inner, outer, from, to) {
	const end = Math.min(to, from + 0.9999); // a full turn has no begin and end that differ
	const large = end - from > 0.5 ? 1 : 0;
	const at = (r, turn) => {
		const a = turn * 2 * Math.PI;
		return `${coord(r * Math.sin(a))} ${coord(-r * Math.cos(a))}`;
	};
	return `M${at(inner, from)}L${at(outer, from)}A${coord(outer)} ${coord(outer)} 0 ${large} 1 ${at(outer, end)}` +
		`L${at(inner, end)}A${coord(inner)} ${coord(inner)} 0 ${large} 0 ${at(inner, from)}Z`;
}
