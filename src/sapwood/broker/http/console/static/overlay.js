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
const NARROW = { across: 34, along: 70, width: 330 };

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
    const narrow = (this.isNarrow = this.narrow.matches);
    const { places, above, box } = layout(around, this.overlay.own, narrow);
    this.places = places;
    this.above = above;
    this.element.classList.toggle("narrow", narrow);
    this.element.setAttribute("viewBox", box.join(" "));
    this.element.setAttribute("width", box[2]);
    this.element.setAttribute("height", box[3]);
    this.known.clear();
    this.edges.replaceChildren(...pairs.map(([one, other]) => {
      const isTree = above.get(one) === other || above.get(other) === one;
      const line = s("path", { d: (narrow && isTree ? elbow : isTree ? curve : bow)(places.get(one), places.get(other)) });
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
      const load = s("text", narrow ? { class: "load", x: 18, y: 16 } : { class: "load", y: 43 });
      const called = s("text", narrow ? { class: "called", x: 18 } : { class: "called", y: 28 }, name);
      const act = (event) => {
        if (event.type === "keydown" && event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        this.choose(name);
      };
      const node = s("g", { class: "node", transform: `translate(${x} ${y})`, tabindex: "0", role: "button", onclick: act, onkeydown: act },
        title, s("circle", { class: "reach", r: 22 }), s("circle", { class: "body", r: 9 }), called, load);
      this.known.set(name, { node, title, load });
      return node;
    }));
  }

  edge(one, other) {
    const { group, line, title, to, back } = this.known.get(`${one} ${other}`);
    const a = this.places.get(one);
    const b = this.places.get(other);
    const [from, into] = this.above.get(other) === one || (this.above.get(one) !== other && a.x < b.x) ? [one, other] : [other, one];
    const forth = this.overlay.flow(from, into);
    const home = this.overlay.flow(into, from);
    const busy = Math.log10(1 + (forth ?? 0) + (home ?? 0));
    line.setAttribute("stroke-width", (1.5 + Math.min(5, busy)).toFixed(2));
    const ends = [this.overlay.brokers.get(one)?.links.get(other), this.overlay.brokers.get(other)?.links.get(one)].filter(Boolean);
    group.setAttribute("class", `edge${ends.some((link) => link.behind || link.unconfirmed) ? " late" : ""}${forth || home ? " busy" : ""}`);
    const told = ends.filter((link) => link.told !== null).map((link) => `${link.name} was told ${count(link.told)} of ${count(link.known)} subscriptions`);
    say(title, [`${from} to ${into}: ${rate(forth)} publications a second; back: ${rate(home)}`, ...told].join("\n"));
    if (this.isNarrow) {
      // Below the name of the one that is further away, whose line to this one it is.
      const to_ = this.places.get(into);
      const isTree = this.above.get(into) === from;
      place(to, to_.x + 18, to_.y + 32, isTree ? [words(forth, "↓"), words(home, "↑")].filter(Boolean).join("   ") : "");
      return;
    }
    // Above and below the line, further away where it is steep.
    const isForward = this.places.get(from).x <= this.places.get(into).x;
    const steep = Math.min(14, Math.abs(a.y - b.y) / 6);
    place(to, (a.x + b.x) / 2, (a.y + b.y) / 2 - 9 - steep, words(forth, isForward ? "→" : "←"));
    place(back, (a.x + b.x) / 2, (a.y + b.y) / 2 + 18 + steep, words(home, isForward ? "←" : "→"));
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

const words = (value, arrow) => (value ? `${arrow} ${rate(value)}/s` : "");

function place(text, x, y, said) {
  text.setAttribute("x", x);
  text.setAttribute("y", y);
  say(text, said);
}

function curve(a, b) {
  const half = (a.x + b.x) / 2;
  return `M${a.x} ${a.y}C${half} ${a.y} ${half} ${b.y} ${b.x} ${b.y}`;
}

/** Down from the upper one, and then to the side. */
function elbow(a, b) {
  const [upper, lower] = a.y < b.y ? [a, b] : [b, a];
  return `M${upper.x} ${upper.y}V${lower.y - 14}Q${upper.x} ${lower.y} ${upper.x + 14} ${lower.y}H${lower.x}`;
}

function bow(a, b) {
  return `M${a.x} ${a.y}Q${(a.x + b.x) / 2 + 0.18 * (b.y - a.y)} ${(a.y + b.y) / 2 - 0.18 * (b.x - a.x)} ${b.x} ${b.y}`;
}

/** Where each broker stands, level by level from one on, and which one is above it in that tree.
 *
 * Branches go to both sides where there are several. Where it is narrow, each broker has a row, in
 * which it stands further right than the one above it.
 */
function layout(around, root, narrow) {
  const below = new Map();
  const above = new Map();
  const roots = [];
  for (const name of [root, ...[...around.keys()].sort()]) {
    if (!around.has(name) || below.has(name)) continue;
    roots.push(name);
    above.set(name, null);
    for (let level = [name]; level.length; ) {
      const next = [];
      for (const one of level) {
        const mine = [...around.get(one)].filter((other) => !above.has(other)).sort();
        mine.forEach((other) => above.set(other, one));
        below.set(one, mine);
        next.push(...mine);
      }
      level = next;
    }
  }
  return { above, ...(narrow ? rows(roots, below) : sides(roots, below)) };
}

function rows(roots, below) {
  const places = new Map();
  const walk = (name, depth) => {
    places.set(name, { x: depth * NARROW.across, y: places.size * NARROW.along });
    for (const other of below.get(name)) walk(other, depth + 1);
  };
  for (const name of roots) walk(name, 0);
  const right = Math.max(...[...places.values()].map(({ x }) => x));
  return { places, box: [-26, -26, Math.max(NARROW.width, right + 200), places.size * NARROW.along + 12] };
}

function sides(roots, below) {
  const leaves = (name) => below.get(name).reduce((sum, other) => sum + leaves(other), 0) || 1;
  const places = new Map();
  const at = (depth, row) => ({ x: depth * GAP.along, y: row * GAP.across });
  const put = (name, depth, first, side) => {
    let row = first;
    for (const other of below.get(name)) {
      put(other, depth + side, row, side);
      row += leaves(other);
    }
    places.set(name, at(depth, first + (leaves(name) - 1) / 2));
  };
  let first = 0;
  for (const name of roots) {
    const mine = below.get(name);
    const both = mine.length < 2 ? [mine, []] : halves(mine, leaves);
    const sizes = both.map((side) => side.reduce((sum, other) => sum + leaves(other), 0));
    const most = Math.max(1, ...sizes);
    both.forEach((side, number) => {
      let row = first + (most - sizes[number]) / 2;
      for (const other of side) {
        put(other, number ? -1 : 1, row, number ? -1 : 1);
        row += leaves(other);
      }
    });
    places.set(name, at(0, first + (most - 1) / 2));
    first += most;
  }
  const xs = [...places.values()].map(({ x }) => x);
  const ys = [...places.values()].map(({ y }) => y);
  const left = Math.min(...xs) - 95;
  const top = Math.min(...ys) - 34;
  return { places, box: [left, top, Math.max(...xs) + 95 - left, Math.max(...ys) + 58 - top] };
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
