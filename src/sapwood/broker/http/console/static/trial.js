/* A filter that is tried: what is wrong with it and where, what it means, and what it matches now. */

import { ask, events } from "./api.js";
import { count, h, plural, rate, say, spark, sparkline } from "./dom.js";

const SHOWN = 40;

/** A field for a filter that is read while it is written, with the place of what is wrong. */
export class FilterField {
  constructor(label, changed, hint = "symbol = 'IBM' and price < 100") {
    let timer;
    const later = () => { clearTimeout(timer); this.valid = null; timer = setTimeout(() => this.read(), 200); };
    this.changed = changed;
    this.text = h("textarea", { rows: "2", spellcheck: "false", autocapitalize: "off", autocomplete: "off", class: "code", placeholder: hint, oninput: later });
    this.language = h("select", { onchange: later }, h("option", { value: "filter" }, "of records"), h("option", { value: "xpath" }, "of documents (XPath)"));
    this.place = h("pre", { class: "place code", "aria-hidden": "true", hidden: true });
    this.said = h("p", { class: "said", role: "status" });
    this.valid = null;
    this.element = h("div", { class: "filter" },
      h("div", { class: "tools" }, h("label", { class: "field grow" }, h("span", {}, label), this.text), h("label", { class: "field" }, h("span", {}, "Filter"), this.language)),
      this.place, this.said);
  }

  get given() {
    const text = this.text.value.trim();
    return text ? { [this.language.value]: text } : {};
  }

  async read() {
    const given = this.given;
    const asked = (this.asked = {});
    if (!Object.keys(given).length) {
      this.valid = null;
      this.show("", "");
    } else {
      try {
        const found = await ask("filter", given);
        if (asked !== this.asked) return;
        this.valid = found.ok;
        if (!found.ok) this.wrong(Object.values(given)[0], found);
        else this.show(found.never ? "warn" : "good", found.never ? `No publication can match: ${found.never}` : `Read as ${found.normal}${found.conjunctions > 1 ? ` (${count(found.conjunctions)} conjunctions)` : ""}`);
      } catch (error) {
        if (asked !== this.asked) return;
        this.valid = false;
        this.show("bad", error.status ? error.message : "the broker does not answer");
      }
    }
    this.text.setAttribute("aria-invalid", String(this.valid === false));
    this.changed();
  }

  wrong(text, { error, position }) {
    this.show("bad", position === null ? error : `At character ${position + 1}: ${error}`);
    if (position === null) return;
    // The line in which it is, with what cannot be read marked.
    const start = text.lastIndexOf("\n", position - 1) + 1;
    const end = text.indexOf("\n", position);
    const line = text.slice(start, end < 0 ? text.length : end);
    const at = position - start;
    this.place.replaceChildren(line.slice(0, at), h("mark", {}, line[at] ?? " "), line.slice(at + 1));
    this.place.hidden = false;
  }

  show(kind, text) {
    this.place.hidden = true;
    this.said.className = `said ${kind}`;
    say(this.said, text);
  }
}

export class TrialView {
  title = "Try a filter";

  constructor(unknown) {
    this.unknown = unknown;
    this.filter = new FilterField("Show me publications that match, as they are published", () => this.ready());
    this.field = this.filter.text;
    this.begin = h("button", { type: "button", class: "primary", disabled: true, onclick: () => this.start() }, "Try it");
    this.end = h("button", { type: "button", hidden: true, onclick: () => this.stop("stopped") }, "Stop");
    this.state = h("p", { role: "status", class: "muted" });
    this.number = h("span", { class: "value" }, "0");
    this.each = h("span", { class: "value" }, "–");
    this.line = sparkline();
    this.figures = h("dl", { class: "figures few", hidden: true },
      h("div", { class: "figure" }, h("dt", {}, "Matched"), h("dd", {}, this.number)),
      h("div", { class: "figure" }, h("dt", {}, "A second"), h("dd", {}, this.each, this.line)));
    this.list = h("ol", { class: "matches", reversed: true });
    this.element = h("div", {},
      h("p", { class: "lead" }, "A filter that is tried is a subscription like any other: every broker takes part, and what you may not see is not shown. It goes when you leave this view."),
      this.filter.element, h("div", { class: "buttons" }, this.begin, this.end, this.state), this.figures, this.list);
    this.field.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && this.filter.valid) this.start();
    });
  }

  open(given) {
    if (given.filter && given.filter !== this.field.value) {
      this.field.value = given.filter;
      this.filter.read();
    }
  }

  close() {
    this.stop("stopped, as you left this view");
  }

  ready() {
    this.begin.disabled = !this.filter.valid;
  }

  stop(why) {
    if (!this.going) return;
    this.going.abort();
    this.going = null;
    this.end.hidden = true;
    say(this.state, why);
  }

  async start() {
    this.stop("");
    const going = (this.going = new AbortController());
    const past = [];
    let last = { count: 0, at: performance.now() };
    this.list.replaceChildren();
    say(this.number, "0");
    say(this.each, "–");
    spark(this.line, [0, 0]);
    say(this.state, "subscribing …");
    try {
      for await (const [name, data] of events("trial", this.filter.given, going.signal)) {
        if (name === "subscribed") {
          this.figures.hidden = false;
          this.end.hidden = false;
          say(this.state, data.never ? `in force; no publication can match: ${data.never}` : "in force in the whole overlay; waiting for publications");
        } else if (name === "matches") {
          const now = performance.now();
          past.push((1000 * (data.count - last.count)) / Math.max(1, now - last.at));
          if (past.length > 120) past.shift();
          last = { count: data.count, at: now };
          say(this.number, count(data.count));
          say(this.each, rate(past.at(-1)));
          if (past.length > 1) spark(this.line, past);
          this.put(data.newest, data.count);
        } else if (name === "end") {
          this.stop(data.reason);
        }
      }
      if (this.going === going) this.stop("the broker has ended it");
    } catch (error) {
      if (this.going !== going) return;
      this.going = null;
      this.end.hidden = true;
      if (error.status === 401) this.unknown(error.message);
      say(this.state, error.status ? error.message : "the connection was lost");
    }
  }

  put(newest, number) {
    if (newest.length) say(this.state, `in force; the last ${plural(Math.min(SHOWN, number), "match", "matches")} below`);
    this.list.prepend(...newest.map((one) => h("li", {}, h("span", { class: "code" }, one.text), h("span", { class: "code id", title: one.id }, one.id))));
    while (this.list.children.length > SHOWN) this.list.lastChild.remove();
    this.list.setAttribute("start", number);
  }
}
