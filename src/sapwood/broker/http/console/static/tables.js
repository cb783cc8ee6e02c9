/* Clients, subscriptions, durable subscriptions and the journal, page by page. */

import { ask } from "./api.js";
import { Table, bytes, count, h, moment, plural, rate, say, span } from "./dom.js";

const AGAIN_MS = 2000;

/** A table that is asked for, and asked for again as long as it is looked at. */
class Paged {
  constructor() {
    this.status = h("p", { class: "muted", role: "status" });
    this.problem = h("p", { class: "notice", role: "alert", hidden: true });
    this.back = h("button", { type: "button", onclick: () => this.turn(this.behind.pop()) }, "Earlier rows");
    this.onward = h("button", { type: "button", onclick: () => { this.behind.push(this.at); this.turn(this.next); } }, "Further rows");
    this.hold = h("button", { type: "button", "aria-pressed": "false", onclick: () => this.toggle() }, "Hold still");
    this.pager = h("div", { class: "pager" }, this.status, h("span", { class: "buttons" }, this.hold, this.back, this.onward));
    this.behind = [];
    this.at = undefined;
  }

  open(given) {
    this.given = given;
    this.behind = [];
    this.at = undefined;
    this.closed = false;
    this.load();
  }

  close() {
    this.closed = true;
    clearTimeout(this.timer);
  }

  /** Stay as it is, or go on being asked for. */
  toggle() {
    this.held = !this.held;
    this.hold.setAttribute("aria-pressed", String(this.held));
    if (!this.held) this.load();
  }

  turn(place) {
    this.at = place;
    this.load();
  }

  /** Begin at the first page again: something else is looked for. */
  again() {
    this.behind = [];
    this.turn(undefined);
  }

  async load() {
    clearTimeout(this.timer);
    const asked = (this.asked = {});
    try {
      const found = await this.ask();
      if (asked !== this.asked || this.closed) return;
      this.problem.hidden = true;
      this.next = found.next;
      this.put(found);
    } catch (error) {
      if (asked !== this.asked || this.closed) return;
      if (error.status === 401) return this.unknown(error.message);
      say(this.problem, error.status ? error.message : "the broker does not answer");
      this.problem.hidden = false;
    }
    this.back.disabled = !this.behind.length;
    this.onward.disabled = this.next === null || this.next === undefined;
    this.back.hidden = this.onward.hidden = this.back.disabled && this.onward.disabled;
    this.timer = setTimeout(() => (document.hidden ? this.wait() : this.held || this.load()), AGAIN_MS);
  }

  /** Nobody looks: go on when somebody does. */
  wait() {
    document.addEventListener("visibilitychange", () => !this.closed && this.load(), { once: true });
  }
}

function searching(view, label, hint) {
  let timer;
  const field = h("input", { type: "search", spellcheck: "false", autocomplete: "off", placeholder: hint, oninput: () => {
    clearTimeout(timer);
    timer = setTimeout(() => view.again(), 250);
  } });
  view.field = field;
  return h("label", { class: "field" }, h("span", {}, label), field);
}

function shownOf(found, rows, one) {
  if (!found.total) return "";
  const all = plural(found.total, one);
  if (rows === found.total) return all;
  const first = count(found.first + 1);
  return `${rows ? count(rows) : "none"} shown from number ${first} on, of ${all}`;
}

const written = (row) => (row.xpath === undefined ? { text: row.filter, class: "code", title: row.filter } : { text: row.xpath, class: "code", note: "XPath", title: row.xpath });

export class ClientsView extends Paged {
  title = "Clients";

  constructor(unknown) {
    super();
    this.unknown = unknown;
    this.before = new Map();
    this.table = new Table("Clients of this broker", [
      { name: "Client" }, { name: "Address" }, { name: "Identity" },
      { name: "Subscriptions", class: "number" },
      { name: "Published", class: "number", title: "By this client and its earlier connections in one session" },
      { name: "Delivered", class: "number", title: "On this connection" },
      { name: "Waiting", class: "number", title: "Bytes that it has yet to read" },
      { name: "Last heard", class: "number" },
    ]);
    this.element = h("div", {}, h("div", { class: "tools" }, searching(this, "Find", "part of a name")), this.problem, this.table.whole, this.pager);
  }

  ask = () => ask("clients", { first: this.at, search: this.field.value });

  put(found) {
    const now = performance.now() / 1000;
    const seen = new Map();
    const rows = found.rows.map((row) => {
      const before = this.before.get(row.name);
      const passed = before ? now - before.now : 0;
      const since = (name) => (passed > 0.2 ? `${rate(Math.max(0, (row[name] - before[name]) / passed))}/s` : undefined);
      seen.set(row.name, { now, published: row.published, delivered: row.delivered });
      return [row.name, [
        { text: row.name, class: "name" }, row.address, row.identity ?? "anyone",
        row.subscriptions ? { text: count(row.subscriptions), href: `#subscriptions?search=${encodeURIComponent(row.name)}` } : count(row.subscriptions),
        { text: count(row.published), note: since("published") }, { text: count(row.delivered), note: since("delivered") },
        bytes(row.waiting_bytes), span(Math.floor(row.idle_s)).replace("0 ms", "now"),
      ]];
    });
    this.before = seen;
    this.table.put(rows, found.total ? "No name here has that in it." : "No client is connected.");
    say(this.status, shownOf(found, rows.length, "client"));
  }
}

export class SubscriptionsView extends Paged {
  title = "Subscriptions";

  constructor(unknown, overlay) {
    super();
    this.unknown = unknown;
    this.overlay = overlay;
    this.side = h("select", { onchange: () => { location.hash = `#subscriptions${this.side.value}`; } });
    this.own = new Table("Subscriptions of clients of this broker", [
      { name: "Filter", class: "wide" }, { name: "Client" }, { name: "Id" },
      { name: "Hits", class: "number", title: "Publications that met it since it was first shown here; counted while a console is open" },
      { name: "State" },
    ]);
    this.others = new Table("Subscriptions on a link", [
      { name: "Filter", class: "wide" }, { name: "Key", title: "The broker at which it began, which life of it, a number" }, { name: "What it is" },
    ]);
    this.find = searching(this, "Find", "part of a client's name, of an id or a key");
    this.element = h("div", {}, h("div", { class: "tools" }, h("label", { class: "field" }, h("span", {}, "Which"), this.side), this.find), this.problem, this.own.whole, this.others.whole, this.pager);
  }

  open(given) {
    this.seen = null;
    if (given.search !== undefined) this.field.value = given.search;
    super.open(given);
    this.show();
  }

  /** What there is to choose from: those of clients, and both directions of each link. */
  show() {
    const given = this.given;
    const links = [...(this.overlay.here?.links.values() ?? [])].filter((link) => link.up).map((link) => link.name);
    for (const name of [given.from, given.to]) if (name && !links.includes(name)) links.push(name);
    const options = [["", "of clients here"]];
    for (const name of links.sort()) {
      options.push([`?from=${encodeURIComponent(name)}`, `heard from ${name}`], [`?to=${encodeURIComponent(name)}`, `told to ${name}`]);
    }
    const seen = JSON.stringify([options, given]);
    if (seen === this.seen) return;
    this.seen = seen;
    this.side.replaceChildren(...options.map(([value, text]) => h("option", { value }, text)));
    this.side.value = given.from ? `?from=${encodeURIComponent(given.from)}` : given.to ? `?to=${encodeURIComponent(given.to)}` : "";
  }

  ask = () => ask("subscriptions", { first: this.at, search: this.field.value, from: this.given.from, to: this.given.to });

  put(found) {
    const link = this.given.from || this.given.to;
    this.own.whole.hidden = Boolean(link);
    this.others.whole.hidden = !link;
    if (link) {
      this.others.put(found.rows.map((row, at) => [row.key || `${found.first + at}`, [
        written(row), { text: row.key || "–", class: "code" },
        this.given.from ? "a subscription of theirs, or beyond" : row.merger ? "a merger, in the place of several" : "told as it is; others may be covered by it",
      ]]), "There is none.");
    } else {
      this.own.put(found.rows.map((row) => [row.key, [
        written(row),
        row.durable === null ? { text: row.client, class: "name", href: `#explain?client=${encodeURIComponent(row.client)}`, title: "Explain" } : { text: row.durable, class: "name", href: "#durable", note: "durable" },
        row.durable === null ? row.id : "–", this.hits(row),
        !row.in_force ? { text: "not yet in force", class: "state warn" } : row.connected ? { text: "in force", class: "state good" } : { text: "client is away", class: "state warn" },
      ]]), found.total ? "Nothing here has that in its name." : "No client has subscribed.");
    }
    say(this.status, shownOf(found, found.rows.length, "subscription"));
  }

  hits(row) {
    if (row.hits === null) return "–";
    const per = row.counted_s > 1 ? `${rate(row.hits / row.counted_s)}/s` : undefined;
    return { text: count(row.hits), note: per, title: `in ${span(row.counted_s)}` };
  }
}

export class DurableView extends Paged {
  title = "Durable subscriptions";

  constructor(unknown) {
    super();
    this.unknown = unknown;
    this.table = new Table("Durable subscriptions, and what waits in their mailboxes", [
      { name: "Name" }, { name: "Filter", class: "wide" }, { name: "Waiting", class: "number wide" },
      { name: "Bytes", class: "number" }, { name: "Oldest", class: "number" },
      { name: "With consumers", class: "number", title: "Handed out, and not acknowledged" },
      { name: "Let go", class: "number", title: "By the bounds of the mailbox" }, { name: "Consumers" }, { name: "State" },
    ]);
    this.element = h("div", {}, this.problem, this.table.whole, this.pager);
  }

  ask = () => ask("durables", { after: this.at });

  put(found) {
    const rows = found.rows.map((row) => [row.name, [
      { text: row.name, class: "name" }, written(row),
      { text: `${count(row.waiting)} of ${count(row.max_count)}`, share: row.max_count ? row.waiting / row.max_count : 0 },
      `${bytes(row.bytes)} of ${bytes(row.max_bytes)}`, row.waiting ? span(row.oldest_s) : "–", count(row.out),
      row.dropped ? { text: count(row.dropped), class: "state bad" } : "0",
      row.consumers.length ? row.consumers.join(", ") : { text: `none for ${span(row.unread_s)}`, class: "state warn" }, row.state,
    ]]);
    this.table.put(rows, found.kept ? "There are none. One is made by sapwood subscribe --durable NAME FILTER." : "This broker keeps nothing (it has no --data), so it has no durable subscriptions.");
    say(this.status, rows.length ? `${count(rows.length)} shown` : "");
  }
}

export class JournalView extends Paged {
  title = "Journal";

  constructor(unknown) {
    super();
    this.unknown = unknown;
    this.table = new Table("Publications that the broker keeps, the last one first", [
      { name: "Place", class: "number" }, { name: "Time" }, { name: "Id" }, { name: "From" }, { name: "Publication", class: "wide" },
    ]);
    let timer;
    const later = () => { clearTimeout(timer); timer = setTimeout(() => this.again(), 400); };
    this.field = h("input", { spellcheck: "false", autocomplete: "off", class: "code", placeholder: "price > 100", oninput: later });
    this.language = h("select", { onchange: later }, h("option", { value: "filter" }, "filter"), h("option", { value: "xpath" }, "XPath"));
    this.back.textContent = "Newer";
    this.onward.textContent = "Older";
    this.element = h("div", {},
      h("div", { class: "tools" },
        h("label", { class: "field grow" }, h("span", {}, "Which match"), this.field),
        h("label", { class: "field" }, h("span", {}, "as"), this.language)),
      this.problem, this.table.whole, this.pager);
  }

  ask = () => ask("journal", { before: this.at, [this.language.value]: this.field.value.trim() });

  put(found) {
    this.table.put(found.rows.map((row) => [String(row.place), [
      count(row.place), moment(row.at), { text: row.id, class: "code" }, row.home ?? "–", { text: row.text, class: "code", title: row.text },
    ]]), !found.kept ? "This broker keeps no journal (it has no --data)." : this.field.value.trim() ? `None of the ${count(found.looked_at)} that were looked at matches.` : "Nothing is kept yet.");
    say(this.status, found.kept && found.end > found.first ? `${count(found.end - found.first)} kept, from place ${count(found.first)} on` : "");
  }
}
