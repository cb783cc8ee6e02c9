/* The overlay: what goes on in figures, brokers and links as a drawing, and each link as a row. */

import { Table, bytes, count, delay, h, plural, rate, s, say, short, span, spark, sparkline } from "./dom.js";

const FIGURES = [
  ["publications", "Published here", "/s", "Publications that this broker has accepted from its clients"],
  ["deliveries", "Delivered here", "/s", "Deliveries to clients of this broker"],
  ["came", "From neighbors", "/s", "Publications that came over links"],
  ["sent", "To neighbors", "/s", "Publications that went over links"],
  ["processor", "Processor", "", "Of one processor, by the broker's process"],
];

const TABLES = {
  local: "of clients here", received: "heard from neighbors", propagated: "told to neighbors",
  advertisements: "advertisements", unconfirmed: "not yet in force", held: "publications held",
};

const EVENTS = {
  connections: "connections opened", slow_consumers: "slow clients disconnected", faulty_peers: "peers at fault",
  links_lost: "links lost", publishers_held: "times that publishers were held", durable_dropped: "let go by mailboxes",
};

export class OverlayView {
  title = "Overlay";

  constructor(overlay) {
    this.overlay = overlay;
    this.figures = new Map(FIGURES.map(([name, label, unit, title]) => {
      const value = h("span", { class: "value" }, "–");
      const line = sparkline();
      return [name, { value, line, element: h("div", { class: "figure", title }, h("dt", {}, label), h("dd", {}, value, h("span", { class: "unit" }, unit), line)) }];
    }));
    this.drawing = new Drawing(overlay, (name) => this.choose(name));
    this.links = new Table("Links", [
      { name: "Link" },
      { name: "Publications", title: "Publications a second over the link, in both directions", class: "number" },
      { name: "Told of subscriptions", title: "How many subscriptions the neighbor was told of, of all it could be told of", class: "wide" },
      { name: "Heard", title: "Subscriptions that the neighbor has told of", class: "number" },
      { name: "Delay", title: "Bounds of the delay of the last message that came", class: "number" },
      { name: "Waiting", title: "Bytes that the system has yet to take", class: "number" },
      { name: "State" },
    ]);
    this.about = h("dl", { class: "facts" });
    this.tables = h("dl", { class: "facts" });
    this.events = h("dl", { class: "facts" });
    this.heading = h("h2", {}, "Links");
    this.all = h("button", { type: "button", class: "quiet", hidden: true, onclick: () => this.choose(null) }, "Show those of all brokers");
    this.chosen = null;
    this.element = h("div", {},
      h("dl", { class: "figures" }, [...this.figures.values()].map((one) => one.element)),
      h("section", { class: "drawing", "aria-label": "Brokers and links" }, this.drawing.element),
      h("div", { class: "heading" }, this.heading, this.all),
      this.links.whole,
      h("div", { class: "columns" },
        h("section", {}, h("h2", {}, "This broker"), this.about),
        h("section", {}, h("h2", {}, "Subscriptions"), this.tables),
        h("section", {}, h("h2", {}, "Since it began"), this.events)));
  }

  choose(name) {
    this.chosen = this.chosen === name ? null : name;
    this.show();
  }

  show() {
    const here = this.overlay.here;
    if (!here?.status) return;
    for (const [name, { value, line }] of this.figures) {
      const now = here.rates[name];
      say(value, name === "processor" ? (now === undefined ? "–" : `${(100 * now).toFixed(now < 0.1 ? 1 : 0)} %`) : rate(now));
      if (here.past[name].length > 1) spark(line, here.past[name]);
    }
    if (this.chosen && !this.overlay.brokers.has(this.chosen)) this.chosen = null;
    this.drawing.show(this.chosen);
    this.showLinks();
    this.showFacts(here.status);
  }

  showLinks() {
    const of = this.chosen ? [this.overlay.known(this.chosen)] : [...this.overlay.brokers.values()];
    say(this.heading, this.chosen ? `Links of ${this.chosen}` : "Links");
    this.all.hidden = !this.chosen;
    const rows = [];
    for (const broker of of) {
      if (!broker.status) continue;
      for (const link of broker.links.values()) rows.push([`${broker.name} ${link.name}`, this.row(broker, link)]);
    }
    const silent = this.chosen && !of[0].status;
    this.links.put(rows, silent ? `${this.chosen} does not answer: ${of[0].why || "nobody has said where it is"}` : "This broker has no links.");
  }

  row(broker, link) {
    const here = broker.name === this.overlay.own;
    const saved = link.known ? 1 - link.told / link.known : 0;
    const told = link.told === null ? "–" : {
      text: `${count(link.told)} of ${count(link.known)}`,
      href: here && link.up ? `#subscriptions?to=${encodeURIComponent(link.name)}` : undefined,
      share: link.known ? link.told / link.known : 0,
      note: link.known && saved > 0.0005 ? `${saved < 0.0995 ? (100 * saved).toFixed(1) : Math.round(100 * saved)} % saved` : undefined,
    };
    const heard = link.heard === null ? "–" : {
      text: count(link.heard),
      href: here && link.up ? `#subscriptions?from=${encodeURIComponent(link.name)}` : undefined,
    };
    return [
      { text: `${broker.name} → ${link.name}`, class: "name" },
      link.up ? { text: `${rate(link.sent_s)} out, ${rate(link.came_s)} in`, title: `${count(link.sent)} went and ${count(link.came)} came since the link is up` } : "–",
      told, heard,
      link.up ? delay(link.delay_min_s, link.delay_max_s) : "–",
      link.up ? bytes(link.waiting_bytes) : "–",
      !link.up ? { text: "down", class: "state bad" }
        : link.behind ? { text: "being told", class: "state warn" }
          : link.unconfirmed ? { text: `up, ${count(link.unconfirmed)} unconfirmed`, class: "state warn" }
            : { text: "up", class: "state good" },
    ];
  }

  showFacts(status) {
    const store = status.store ? `${status.store.durability}, ${count(status.store.end - status.store.first)} kept` : "keeps nothing";
    facts(this.about, [
      ["protocol", status.routing], ["version", status.version], ["up for", span(status.uptime_s)],
      ["clients", count(status.clients)], ["store", store],
      ["engines", `${status.engines.records}, ${status.engines.documents}`],
      ["kernels", status.kernels.join(", ") || "plain Python"],
    ]);
    facts(this.tables, Object.entries(status.tables).map(([name, value]) => [TABLES[name] ?? name.replaceAll("_", " "), count(value)]));
    const counted = Object.entries(status.events).filter(([name]) => name in EVENTS).map(([name, value]) => [EVENTS[name], count(value)]);
    const routed = Object.entries(status.routed).map(([name, value]) => [name.replaceAll("_", " "), count(value)]);
    facts(this.events, [["publications", count(status.events.publications)], ["deliveries", count(status.events.deliveries)], ...counted, ...routed]);
  }
}

function facts(list, pairs) {
  if (list.children.length !== pairs.length) {
    list.replaceChildren(...pairs.map(() => h("div", {}, h("dt"), h("dd"))));
  }
  pairs.forEach(([name, value], at) => {
    say(list.children[at].children[0], name);
    say(list.children[at].children[1], value);
  });
}

// The drawing ------------------------------------------------------------------------------------

const GAP = { across: 92, along: 210 };
const NARROW = { across: 132, along: 118 };

/** Brokers as a tree from this one on, as far as links form one; further links are bows. */
class Drawing {
  constructor(overlay, choose) {
    this.overlay = overlay;
    this.choose = choose;
    this.edges = s("g");
    this.nodes = s("g");
    this.element = s("svg", { role: "group", "aria-label": "Brokers and the links between them" }, this.edges, this.nodes);
    this.known = new Map();
    this.narrow = matchMedia("(max-width: 640px)");
    this.narrow.addEventListener("change", () => { this.shape = ""; });
  }

  show(chosen) {
    const around = this.overlay.neighbors();
    const names = [...around.keys()].sort();
    const pairs = names.flatMap((name) => [...around.get(name)].filter((other) => name < other).sort().map((other) => [name, other]));
    const shape = JSON.stringify([names, pairs, this.overlay.own]);
    if (shape !== this.shape) {
      this.shape = shape;
      this.lay(around, pairs);
    }
    for (const [one, other] of pairs) this.edge(one, other);
    for (const name of names) this.node(name, name === chosen);
  }

  lay(around, pairs) {
    const { places, tree, box } = layout(around, this.overlay.own, this.narrow.matches ? NARROW : GAP, this.narrow.matches);
    this.places = places;
    this.element.setAttribute("viewBox", box.join(" "));
    this.element.setAttribute("width", box[2]);
    this.element.setAttribute("height", box[3]);
    this.known.clear();
    this.edges.replaceChildren(...pairs.map(([one, other]) => {
      const line = s("path", { d: curve(places.get(one), places.get(other), tree.has(`${one} ${other}`), this.narrow.matches) });
      const title = s("title");
      const to = s("text", { class: "flow" });
      const back = s("text", { class: "flow" });
      const group = s("g", { class: "edge" }, title, line, to, back);
      this.known.set(`${one} ${other}`, { group, line, title, to, back });
      return group;
    }));
    this.nodes.replaceChildren(...[...places.keys()].map((name) => {
      const { x, y } = places.get(name);
      const title = s("title");
      const load = s("text", { class: "load", y: 43 });
      const act = (event) => {
        if (event.type === "keydown" && event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        this.choose(name);
      };
      const node = s("g", { class: "node", transform: `translate(${x} ${y})`, tabindex: "0", role: "button", onclick: act, onkeydown: act },
        title, s("circle", { class: "reach", r: 22 }), s("circle", { class: "body", r: 9 }), s("text", { class: "called", y: 28 }, name), load);
      this.known.set(name, { node, title, load });
      return node;
    }));
  }

  edge(one, other) {
    const { group, line, title, to, back } = this.known.get(`${one} ${other}`);
    const a = this.places.get(one);
    const b = this.places.get(other);
    const [from, into] = a.x < b.x || (a.x === b.x && a.y < b.y) ? [one, other] : [other, one];
    const forth = this.overlay.flow(from, into);
    const home = this.overlay.flow(into, from);
    const busy = Math.log10(1 + (forth ?? 0) + (home ?? 0));
    line.setAttribute("stroke-width", (1.5 + Math.min(5, busy)).toFixed(2));
    const ends = [this.overlay.brokers.get(one)?.links.get(other), this.overlay.brokers.get(other)?.links.get(one)].filter(Boolean);
    group.setAttribute("class", `edge${ends.some((link) => link.behind || link.unconfirmed) ? " late" : ""}${forth || home ? " busy" : ""}`);
    const told = ends.filter((link) => link.told !== null).map((link) => `${link.name} was told ${count(link.told)} of ${count(link.known)} subscriptions`);
    say(title, [`${from} to ${into}: ${rate(forth)} publications a second; back: ${rate(home)}`, ...told].join("\n"));
    const middle = { x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 };
    const upright = Math.abs(a.x - b.x) < Math.abs(a.y - b.y);
    const words = (value, arrow) => (value ? `${arrow} ${rate(value)}/s` : "");
    // Beside a line that goes down; else above and below, further away where it is steep.
    const steep = upright ? 0 : Math.min(14, Math.abs(a.y - b.y) / 6);
    place(to, middle.x + (upright ? 12 : 0), middle.y - (upright ? 6 : 9 + steep), words(forth, upright ? "↓" : "→"), upright);
    place(back, middle.x + (upright ? 12 : 0), middle.y + (upright ? 10 : 18 + steep), words(home, upright ? "↑" : "←"), upright);
  }

  node(name, chosen) {
    const { node, title, load } = this.known.get(name);
    const broker = this.overlay.brokers.get(name);
    const status = broker?.status;
    const kind = name === this.overlay.own ? " own" : status ? "" : " silent";
    node.setAttribute("class", `node${kind}${chosen ? " chosen" : ""}`);
    node.setAttribute("aria-pressed", String(chosen));
    const local = status ? status.tables.local ?? 0 : 0;
    say(load, status ? `${short(status.clients)} ${status.clients === 1 ? "client" : "clients"} · ${short(local)} ${local === 1 ? "sub" : "subs"}` : "does not answer");
    const about = status
      ? `${name}: ${plural(status.clients, "client")}, ${plural(local, "subscription")} of theirs, ${rate(broker.rates.publications)} publications and ${rate(broker.rates.deliveries)} deliveries a second; up for ${span(status.uptime_s)}`
      : `${name}: ${broker?.why || "nobody has said where it is"}`;
    say(title, about);
    node.setAttribute("aria-label", about);
  }
}

function place(text, x, y, said, upright) {
  text.setAttribute("x", x);
  text.setAttribute("y", y);
  text.setAttribute("text-anchor", upright ? "start" : "middle");
  say(text, said);
}

function curve(a, b, isTree, narrow) {
  if (isTree) {
    const half = narrow ? (a.y + b.y) / 2 : (a.x + b.x) / 2;
    return narrow ? `M${a.x} ${a.y}C${a.x} ${half} ${b.x} ${half} ${b.x} ${b.y}` : `M${a.x} ${a.y}C${half} ${a.y} ${half} ${b.y} ${b.x} ${b.y}`;
  }
  const bow = 0.18;
  return `M${a.x} ${a.y}Q${(a.x + b.x) / 2 + bow * (b.y - a.y)} ${(a.y + b.y) / 2 - bow * (b.x - a.x)} ${b.x} ${b.y}`;
}

/** Where each broker stands: level by level from one on, which stands between its branches.
 *
 * Branches go to both sides where there are several, or downward where that is narrow.
 */
function layout(around, root, gap, narrow) {
  const below = new Map();
  const tree = new Set();
  const seen = new Set();
  const walk = (from) => {
    seen.add(from);
    let level = [from];
    while (level.length) {
      const next = [];
      for (const name of level) {
        const mine = [...around.get(name)].filter((other) => !seen.has(other)).sort();
        mine.forEach((other) => { seen.add(other); tree.add([name, other].sort().join(" ")); });
        below.set(name, mine);
        next.push(...mine);
      }
      level = next;
    }
  };
  const roots = [root, ...[...around.keys()].filter((name) => name !== root).sort()].filter((name) => {
    if (seen.has(name) || !around.has(name)) return false;
    walk(name);
    return true;
  });
  const leaves = (name) => below.get(name).reduce((sum, other) => sum + leaves(other), 0) || 1;
  const spots = new Map();
  const put = (name, depth, first, side) => {
    let at = first;
    for (const other of below.get(name)) {
      put(other, depth + side, at, side);
      at += leaves(other);
    }
    spots.set(name, [depth, first + (leaves(name) - 1) / 2]);
  };
  let first = 0;
  for (const name of roots) {
    const mine = below.get(name);
    const sides = narrow || mine.length < 2 ? [mine, []] : halves(mine, leaves);
    const sizes = sides.map((side) => side.reduce((sum, other) => sum + leaves(other), 0));
    const rows = Math.max(1, ...sizes);
    sides.forEach((side, number) => {
      let at = first + (rows - sizes[number]) / 2;
      for (const other of side) {
        put(other, number ? -1 : 1, at, number ? -1 : 1);
        at += leaves(other);
      }
    });
    spots.set(name, [0, first + (rows - 1) / 2]);
    first += rows;
  }
  const places = new Map([...spots].map(([name, [depth, at]]) =>
    [name, narrow ? { x: at * gap.across, y: depth * gap.along } : { x: depth * gap.along, y: at * gap.across }]));
  const xs = [...places.values()].map(({ x }) => x);
  const ys = [...places.values()].map(({ y }) => y);
  const side = narrow ? 70 : 95;
  const left = Math.min(...xs) - side;
  const top = Math.min(...ys) - 34;
  return { places, tree, box: [left, top, Math.max(...xs) + side - left, Math.max(...ys) + 58 - top] };
}

function halves(names, leaves) {
  const sides = [[], []];
  const sizes = [0, 0];
  for (const name of names) {
    const to = sizes[0] <= sizes[1] ? 0 : 1;
    sides[to].push(name);
    sizes[to] += leaves(name);
  }
  return sides;
}
