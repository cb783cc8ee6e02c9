/* The page: which view is shown, who looks, and the state that comes in as long as it is open. */

import { events, forget, remember } from "./api.js";
import { h, say, span } from "./dom.js";
import { ExplainView } from "./explain.js";
import { OverlayView } from "./overlay.js";
import { Overlay } from "./state.js";
import { ClientsView, DurableView, JournalView, SubscriptionsView } from "./tables.js";
import { TrialView } from "./trial.js";

const AGAIN_MS = [500, 1000, 2000, 5000, 10000];

const by = (id) => document.getElementById(id);
const overlay = new Overlay();
const views = {
  overlay: new OverlayView(overlay),
  clients: new ClientsView(unknown),
  subscriptions: new SubscriptionsView(unknown, overlay),
  durable: new DurableView(unknown),
  journal: new JournalView(unknown),
  try: new TrialView(unknown),
  explain: new ExplainView(unknown, overlay),
};
const names = Object.keys(views);
let shown = null;

// Views ------------------------------------------------------------------------------------------

function route() {
  const [name, query] = location.hash.slice(1).split("?");
  const view = views[name] ?? views.overlay;
  shown?.close?.();
  if (shown !== view) by("main").replaceChildren(h("h2", { class: "title" }, view.title), view.element);
  shown = view;
  for (const link of document.querySelectorAll("nav a")) {
    const here = views[link.hash.slice(1)] === view;
    if (here) {
      link.setAttribute("aria-current", "page");
      link.scrollIntoView({ block: "nearest", inline: "nearest" });
    } else link.removeAttribute("aria-current");
  }
  document.title = `${view.title} · ${overlay.own ?? "Sapwood"}`;
  view.open?.(Object.fromEntries(new URLSearchParams(query ?? "")));
  view.show?.();
}

addEventListener("hashchange", () => {
  route();
  by("main").focus({ preventScroll: true });
});

addEventListener("keydown", (event) => {
  const at = document.activeElement;
  if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|TEXTAREA|SELECT)$/.test(at?.tagName) || by("ask").open) return;
  const name = names[Number(event.key) - 1];
  if (name) location.hash = name;
  else if (event.key === "/" && shown?.field) {
    event.preventDefault();
    shown.field.focus();
  }
});

// Who looks --------------------------------------------------------------------------------------

function unknown(why) {
  const dialog = by("ask");
  if (dialog.open) return;
  say(by("ask-why"), why);
  dialog.querySelector("form").reset();
  dialog.showModal();
}

by("ask").addEventListener("close", () => {
  const given = Object.fromEntries(new FormData(by("ask").querySelector("form")));
  if (given.token || given.user) remember(given);
  by("ask").querySelector("form").reset();
  look();
  shown?.open?.({});
});

// What comes in ----------------------------------------------------------------------------------

let looking = null;

function pulse(kind, text) {
  by("pulse").className = kind;
  say(by("pulse-text"), text);
}

function heard(name, data) {
  if (name === "status") {
    const isFirst = !overlay.own;
    overlay.takeOwn(data);
    const { status } = data;
    say(by("broker"), status.broker);
    say(by("about"), `${status.routing} · Sapwood ${status.version} · up ${span(status.uptime_s)}`);
    pulse("live", "live");
    if (isFirst) route();
  } else if (name === "overlay") {
    overlay.takeOthers(data);
  }
  if (shown?.show && !document.hidden) shown.show();
}

async function look() {
  looking?.abort();
  const mine = (looking = new AbortController());
  for (let failed = 0; looking === mine; ) {
    try {
      for await (const [name, data] of events("live", {}, mine.signal)) {
        failed = 0;
        if (name === "end") throw new Error(data.reason);
        heard(name, data);
      }
      throw new Error("the broker has closed the connection");
    } catch (error) {
      if (looking !== mine) return;
      if (error.status === 401) {
        looking = null;
        forget();
        pulse("lost", "who are you?");
        unknown(error.message);
        return;
      }
      pulse("lost", error instanceof TypeError ? "the broker does not answer" : error.message);
    }
    await new Promise((done) => setTimeout(done, AGAIN_MS[Math.min(failed++, AGAIN_MS.length - 1)]));
  }
}

route();
look();
