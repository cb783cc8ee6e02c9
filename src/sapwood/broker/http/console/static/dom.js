/* Elements, numbers in words, and tables that change in place: nothing here makes HTML of a text. */

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

/** An HTML element. */
export const h = (tag, attributes = {}, ...children) =>
  fill(document.createElement(tag), attributes, children);

/** An SVG element. */
export const s = (tag, attributes = {}, ...children) =>
  fill(document.createElementNS(SVG, tag), attributes, children);

/** Change a text only where it differs, so that what a person has selected stays selected. */
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

// Numbers ----------------------------------------------------------------------------------------

const WHOLE = new Intl.NumberFormat("en");
const ROUND = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });

export const count = (value) => (value === null || value === undefined ? "–" : WHOLE.format(value));

/** A number where little room is. */
export const short = (value) => (value < 10000 ? WHOLE.format(value) : ROUND.format(value));

/** Events a second, from none at all to millions. */
export function rate(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (value === 0) return "0";
  if (value < 0.1) return "<0.1";
  return value < 10 ? value.toFixed(1) : short(Math.round(value));
}

export function bytes(value) {
  if (value === null || value === undefined) return "–";
  for (const unit of ["B", "KiB", "MiB", "GiB"]) {
    if (value < 1024 || unit === "GiB") return `${value < 10 && unit !== "B" ? value.toFixed(1) : Math.round(value)} ${unit}`;
    value /= 1024;
  }
}

/** A length of time in its two largest units. */
export function span(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  if (seconds < 1) return seconds < 0.0005 ? "0 ms" : `${Math.max(1, Math.round(seconds * 1000))} ms`;
  const units = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];
  const at = units.findIndex(([size]) => seconds >= size);
  const [size, name] = units[at];
  const whole = Math.floor(seconds / size);
  const next = units[at + 1];
  const rest = next ? Math.floor((seconds - whole * size) / next[0]) : 0;
  return rest ? `${whole} ${name} ${rest} ${next[1]}` : `${whole} ${name}`;
}

/** The bounds of a delay, as people say them. */
export function delay(least, most) {
  if (most === null || most === undefined) return "–";
  const ms = (value) => (value * 1000 < 10 ? (value * 1000).toFixed(2) : Math.round(value * 1000));
  return least ? `${ms(least)} to ${ms(most)} ms` : `≤ ${ms(most)} ms`;
}

export const clock = (epoch) => new Date(epoch * 1000).toLocaleTimeString("en-GB");

export function moment(epoch) {
  if (!epoch) return "–";
  const then = new Date(epoch * 1000);
  const today = new Date().toDateString() === then.toDateString();
  return today ? then.toLocaleTimeString("en-GB") : `${then.toISOString().slice(0, 10)} ${then.toLocaleTimeString("en-GB")}`;
}

export const plural = (value, one, many = `${one}s`) => `${count(value)} ${value === 1 ? one : many}`;

// Tables -----------------------------------------------------------------------------------------

/** A table whose rows are put by `put`: each `[key, cells]`; a cell is a text, or an object.
 *
 * `{ text, class, title, href, share, note }`: share is a bar from 0 to 1 below the text.
 */
export class Table {
  constructor(caption, columns) {
    this.columns = columns;
    this.body = h("tbody");
    this.known = new Map();
    this.empty = h("p", { class: "empty", hidden: true });
    const heads = columns.map((column) =>
      h("th", { scope: "col", class: column.class, title: column.title }, column.name));
    this.table = h("table", {}, h("caption", {}, caption), h("thead", {}, h("tr", {}, heads)), this.body);
    this.element = h("div", { class: "table", tabindex: "0", role: "region", "aria-label": caption }, this.table);
    this.whole = h("div", {}, this.element, this.empty);
  }

  /** Show rows, of which those that were there stay what they are; a text where there are none. */
  put(rows, nothing = "There is nothing.") {
    const keys = new Set(rows.map(([key]) => key));
    for (const [key, row] of this.known) {
      if (!keys.has(key)) {
        row.remove();
        this.known.delete(key);
      }
    }
    let at = this.body.firstChild;
    for (const [key, cells] of rows) {
      let row = this.known.get(key);
      if (!row) {
        row = h("tr", {}, this.columns.map((column, place) =>
          h(place ? "td" : "th", { scope: place ? null : "row", class: column.class, "data-name": column.name })));
        this.known.set(key, row);
      }
      if (row !== at) this.body.insertBefore(row, at);
      else at = at.nextSibling;
      cells.forEach((cell, place) => write(row.children[place], cell));
    }
    this.table.hidden = !rows.length;
    this.element.hidden = !rows.length;
    this.empty.hidden = rows.length > 0;
    say(this.empty, rows.length ? "" : nothing);
  }
}

function write(element, cell) {
  const given = typeof cell === "object" && cell !== null ? cell : { text: cell };
  const seen = JSON.stringify(given);
  if (element.seen === seen) return;
  element.seen = seen;
  element.title = given.title ?? "";
  const text = given.href ? h("a", { href: given.href }, given.text) : given.text;
  const said = given.class ? h("span", { class: given.class }, text) : text;
  const parts = [given.note ? h("span", {}, said, h("span", { class: "note" }, given.note)) : said];
  if (given.share !== undefined) parts.push(bar(given.share));
  element.replaceChildren(...parts);
}

function bar(share) {
  const width = Math.max(0, Math.min(1, share)) * 100;
  return s("svg", { class: "bar", viewBox: "0 0 100 4", preserveAspectRatio: "none", "aria-hidden": "true" },
    s("rect", { class: "bar-all", width: 100, height: 4 }), s("rect", { class: "bar-part", width, height: 4 }));
}

/** A line of what was, as a small picture beside a number; `values` are the last ones. */
export function spark(svg, values) {
  const high = Math.max(...values, 1e-9);
  const most = Math.max(30, values.length);
  const step = 100 / (most - 1);
  const points = values.map((value, at) =>
    `${(100 - (values.length - 1 - at) * step).toFixed(2)},${(23 - (value / high) * 21).toFixed(2)}`);
  svg.firstChild.setAttribute("points", points.join(" "));
}

export const sparkline = () =>
  s("svg", { class: "spark", viewBox: "0 0 100 24", preserveAspectRatio: "none", "aria-hidden": "true" },
    s("polyline", { points: "" }));
