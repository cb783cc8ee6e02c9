/* What is known of the overlay: the last state of each broker, and what was before, for rates. */

const KEPT = 120;

/** One broker, as its state comes in. */
export class Known {
  constructor(name) {
    this.name = name;
    this.status = null;
    this.why = "";
    this.address = "";
    this.links = new Map();
    /** rates by name, and what they were */
    this.rates = {};
    this.past = { publications: [], deliveries: [], came: [], sent: [], processor: [] };
  }

  take(status, extra = {}) {
    const before = this.status;
    const passed = before ? status.uptime_s - before.uptime_s : 0;
    if (before && passed === 0) return;
    this.status = status;
    const links = new Map(status.links.map((link) => [link.name, { ...link, sent_s: null, came_s: null }]));
    if (before && passed > 0) {
      const since = (name) => Math.max(0, (status.events[name] - before.events[name]) / passed);
      this.rates = { publications: since("publications"), deliveries: since("deliveries"), came: 0, sent: 0 };
      for (const link of before.links) {
        const now = links.get(link.name);
        if (!now?.up || !link.up) continue;
        // A link that was made again counts from 0.
        now.sent_s = Math.max(0, (now.sent - link.sent) / passed);
        now.came_s = Math.max(0, (now.came - link.came) / passed);
        this.rates.sent += now.sent_s;
        this.rates.came += now.came_s;
      }
      if (extra.processor_s !== undefined && this.processor_s !== undefined) {
        this.rates.processor = Math.max(0, (extra.processor_s - this.processor_s) / passed);
      }
      for (const [name, values] of Object.entries(this.past)) {
        if (this.rates[name] === undefined) continue;
        values.push(this.rates[name]);
        if (values.length > KEPT) values.shift();
      }
    } else if (passed < 0) {
      this.rates = {};
    }
    this.processor_s = extra.processor_s;
    this.links = links;
  }
}

export class Overlay {
  constructor() {
    this.own = null;
    this.brokers = new Map();
  }

  get here() {
    return this.brokers.get(this.own);
  }

  known(name) {
    if (!this.brokers.has(name)) this.brokers.set(name, new Known(name));
    return this.brokers.get(name);
  }

  /** The state of the broker whose console this is. */
  takeOwn({ status, processor_s }) {
    this.own = status.broker;
    this.known(this.own).take(status, { processor_s });
  }

  /** Those of the others, as they have answered. */
  takeOthers({ brokers }) {
    const there = new Set([this.own]);
    for (const one of brokers) {
      there.add(one.name);
      const known = this.known(one.name);
      known.address = one.address;
      known.why = one.why;
      if (one.status) known.take(one.status);
      else known.status = null;
    }
    for (const name of this.brokers.keys()) if (!there.has(name)) this.brokers.delete(name);
  }

  /** The brokers that are known, or named as neighbors, with those beside them. */
  neighbors() {
    const around = new Map([...this.brokers.keys()].map((name) => [name, new Set()]));
    const put = (one, other) => {
      if (!around.has(one)) around.set(one, new Set());
      around.get(one).add(other);
    };
    for (const broker of this.brokers.values()) {
      if (!broker.status) continue;
      for (const link of broker.links.values()) {
        if (!link.up) continue;
        put(broker.name, link.name);
        put(link.name, broker.name);
      }
    }
    return around;
  }

  /** What goes from one broker to another each second, as either of the two says. */
  flow(from, to) {
    return this.brokers.get(from)?.links.get(to)?.sent_s ?? this.brokers.get(to)?.links.get(from)?.came_s ?? null;
  }
}
