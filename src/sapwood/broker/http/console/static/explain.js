/* Why a publication comes to a subscription, or does not: hop by hop, in the words of the command. */

import { post } from "./api.js";
import { h, say } from "./dom.js";
import { FilterField } from "./trial.js";

export class ExplainView {
  title = "Explain";

  constructor(unknown, overlay) {
    this.unknown = unknown;
    this.overlay = overlay;
    this.filter = new FilterField("The filter of the subscription, as its client gave it", () => {}, "price > 10");
    this.field = this.filter.text;
    const named = (hint) => h("input", { spellcheck: "false", autocomplete: "off", placeholder: hint });
    this.client = named("any");
    this.durable = named("none");
    this.publication = h("textarea", { rows: "3", spellcheck: "false", autocapitalize: "off", class: "code", placeholder: '{"symbol": "IBM", "price": 12}   or   <order>…</order>' });
    this.source = h("select");
    this.state = h("p", { class: "muted", role: "status" });
    this.problem = h("p", { class: "notice", role: "alert", hidden: true });
    this.found = h("div", { class: "explained" });
    const ask = (alone) => (event) => { event.preventDefault(); this.ask(alone); };
    const form = h("form", { onsubmit: ask(false) },
      this.filter.element,
      h("div", { class: "tools" },
        h("label", { class: "field" }, h("span", {}, "Of client"), this.client),
        h("label", { class: "field" }, h("span", {}, "Or durable subscription"), this.durable),
        h("label", { class: "field" }, h("span", {}, "Published at"), this.source)),
      h("label", { class: "field" }, h("span", {}, "The publication: a record, or a document; empty to see who was told of the subscription"), this.publication),
      h("div", { class: "buttons" },
        h("button", { class: "primary" }, "Follow it through the overlay"),
        h("button", { type: "button", onclick: ask(true) }, "Look at filter and publication alone"), this.state));
    this.element = h("div", {},
      h("p", { class: "lead" }, "Nothing is published, and nothing changes: brokers say where the publication would end if it came now, and why."),
      form, this.problem, this.found);
  }

  /** Brokers come and go: the choice of one stays. */
  show() {
    const names = [...this.overlay.brokers.values()].filter((broker) => broker.status).map((broker) => broker.name);
    const seen = names.join("\n");
    if (seen === this.seen) return;
    this.seen = seen;
    const chosen = this.source.value || this.overlay.own;
    this.source.replaceChildren(...names.map((name) => h("option", { value: name }, name)));
    if (names.includes(chosen)) this.source.value = chosen;
  }

  open(given) {
    for (const name of ["client", "durable"]) if (given[name]) this[name].value = given[name];
    if (given.filter) {
      this.field.value = given.filter;
      this.filter.read();
    }
  }

  close() {}

  async ask(alone) {
    const asked = { ...this.filter.given, publication: this.publication.value, alone };
    if (!alone) Object.assign(asked, { client: this.client.value.trim(), durable: this.durable.value.trim(), source: this.source.value });
    say(this.state, "asking …");
    this.problem.hidden = true;
    try {
      const found = await post("explain", asked);
      say(this.state, "");
      this.found.replaceChildren(...(alone ? [words(found.lines[0], found.match.matches)] : this.ways(found)));
    } catch (error) {
      say(this.state, "");
      if (error.status === 401) return this.unknown(error.message);
      this.found.replaceChildren();
      say(this.problem, error.status ? error.message : "the broker does not answer");
      this.problem.hidden = false;
    }
  }

  ways(found) {
    const each = found.subscriptions.map((one, at) => {
      const delivered = one.ways.some((way) => way.delivered);
      return h("article", {}, ...one.ways.map((way) => path(way, one.match !== null)), words(found.lines[at], one.match === null ? null : delivered));
    });
    const aside = Object.entries(found.unreached).map(([address, why]) => h("p", { class: "muted" }, `Not asked: ${address}: ${why}`));
    if (!found.all) aside.unshift(h("p", { class: "muted" }, "There may be more such subscriptions: name the client."));
    return [...each, ...aside];
  }
}

/** The brokers on a way, and which the publication reaches. */
function path(way, isRouted) {
  const parts = way.path.flatMap((name, at) => {
    const reached = !isRouted || way.reached.includes(name);
    const node = h("li", { class: reached ? "reached" : "missed" }, h("span", { class: "stop" }), name);
    if (!at) return [node];
    const hop = way.hops[at - 1];
    const goes = !isRouted || (way.reached.includes(way.path[at - 1]) && hop.goes && hop.link === "up");
    return [h("li", { class: `hop ${goes ? "reached" : "missed"}`, "aria-hidden": "true" }), node];
  });
  return h("ol", { class: "path", "aria-label": "The way of the publication" }, parts);
}

/** The lines of the command, as a list with its parts below each other. */
function words(lines, came) {
  const [first, ...rest] = lines;
  const items = rest.map((line) => {
    const depth = Math.floor((line.length - line.trimStart().length) / 2);
    return h("li", { class: `depth-${Math.min(3, depth)}${/ would (not )?come| way: /.test(` ${line}`) ? " main" : ""}` }, line.trim());
  });
  const mark = came === null ? null : h("span", { class: `verdict ${came ? "good" : "bad"}` }, came ? "comes" : "does not come");
  return h("div", { class: "words" }, h("h2", {}, first, mark && " ", mark), h("ul", {}, items));
}
