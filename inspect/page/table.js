// Tables of figures.

import { html, write } from "./svg.js";
import { number } from "./number.js";

// table makes a table with a caption for screen readers and the heads of its columns. The first column has names.
export function table(caption, heads) {
	return html("table", {},
		html("caption", { class: "unseen" }, caption),
		html("thead", {}, html("tr", {}, ...heads.map((head) => (head ? html("th", { scope: "col" }, head) : html("td"))))),
		html("tbody"));
}

// fill writes the rows of a table, into the cells that are there. Numbers are formatted.
export function fill(table, rows) {
	const body = table.tBodies[0];
	while (body.rows.length > rows.length) body.lastChild.remove();
	while (body.rows.length < rows.length) body.append(html("tr"));
	rows.forEach((row, i) => {
		const cells = body.rows[i].cells;
		row.forEach((value, k) => {
			if (!cells[k]) body.rows[i].append(k === 0 ? html("th", { scope: "row" }) : html("td"));
			if (value instanceof Node) cells[k].firstChild === value || cells[k].replaceChildren(value);
			else write(cells[k], typeof value === "number" ? number(value) : value);
		});
	});
}

// alternative puts a table into a details element, and calls rows for its rows only while it is open.
export function alternative(details, caption, heads, rows) {
	const t = table(caption, heads);
	details.append(html("div", { class: "scroll", role: "group", tabindex: 0, "aria-label": caption }, t));
	const update = () => details.open && fill(t, rows());
	details.addEventListener("toggle", update);
	return update;
}
