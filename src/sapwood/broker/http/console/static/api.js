/* Questions to the broker: answers, and streams of events. Who asks is kept for this tab alone. */

const KEPT = "sapwood-console";

/** What a broker refuses, with its reason. `position` is where a filter cannot be read. */
export class Refused extends Error {
  constructor(status, answer) {
    super(answer.error ?? answer.detail ?? `the broker answers by ${status}`);
    this.status = status;
  }
}

export function remember({ token, user, password }) {
  const text = token ? `Bearer ${token}` : `Basic ${btoa(String.fromCharCode(...new TextEncoder().encode(`${user}:${password}`)))}`;
  sessionStorage.setItem(KEPT, text);
}

export const forget = () => sessionStorage.removeItem(KEPT);

function headers() {
  const kept = sessionStorage.getItem(KEPT);
  return kept ? { Authorization: kept } : {};
}

function path(what, given) {
  const named = Object.entries(given).filter(([, value]) => value !== undefined && value !== null && value !== "");
  const query = new URLSearchParams(named).toString();
  return `/api/${what}${query ? `?${query}` : ""}`;
}

async function checked(response) {
  if (response.ok) return response;
  throw new Refused(response.status, await response.json().catch(() => ({})));
}

/** The answer to a question. Raises `Refused`, and `TypeError` where nobody answers. */
export async function ask(what, given = {}, signal) {
  return (await checked(await fetch(path(what, given), { headers: headers(), signal }))).json();
}

/** The same for one that is long. */
export async function post(what, body) {
  const sent = { method: "POST", headers: { ...headers(), "Content-Type": "application/json" }, body: JSON.stringify(body) };
  return (await checked(await fetch(`/api/${what}`, sent))).json();
}

/** Events, each a name and its data, until `signal` says that it is enough, or the broker goes. */
export async function* events(what, given, signal) {
  const response = await checked(await fetch(path(what, given), { headers: headers(), signal }));
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      rest += value;
      const parts = rest.split("\n\n");
      rest = parts.pop();
      for (const part of parts) {
        const lines = part.split("\n");
        const name = lines.find((line) => line.startsWith("event: "))?.slice(7);
        const data = lines.find((line) => line.startsWith("data: "))?.slice(6);
        if (name && data) yield [name, JSON.parse(data)];
      }
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}
