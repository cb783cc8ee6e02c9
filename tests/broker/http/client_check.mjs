// What the client in JavaScript does, one line of JSON for each step: run by test_javascript.py.
import { pathToFileURL } from "node:url";

const [file, base] = process.argv.slice(2);
const { connect, SapwoodError } = await import(pathToFileURL(file).href);
const say = (step, told) => console.log(JSON.stringify({ step, told }));
const until = async (condition) => {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5));
};
const post = async (price) => {
  const headers = { "Content-Type": "application/json" };
  const body = JSON.stringify({ price });
  const answer = await fetch(`${base}/publish`, { method: "POST", headers, body });
  if (!answer.ok) throw new Error(await answer.text());
};

const states = [];
const socket = `${base.replace("http", "ws")}/socket`;
const client = connect(socket, { onstate: (one) => states.push(one) });
const prices = [];
const wanted = { filter: "price > 10" };
const dear = await client.subscribe(wanted, (one) => prices.push(one.publication.attributes.price));
say("published", await client.publish({ id: "p1", attributes: { price: 11 } }));
await client.publish({ attributes: { price: 9 } });
await until(() => prices.length === 1);

for (const [step, refused] of [
  ["subscribe", client.subscribe({ filter: "price >" }, () => {})],
  ["publish", client.publish({ document: "<a>" })],
]) {
  const error = await refused.catch((one) => one);
  say(step, error instanceof SapwoodError && error.isRefusal && error.status);
}

client._socket.close(); // the connection is lost, and something is published meanwhile
await post(12);
await until(() => states.length >= 3);
const later = client.publish({ id: "p4", attributes: { price: 13 } });
say("later", await later);
await until(() => prices.length === 3);
say("prices", prices);
say("states", states);

await dear.unsubscribe();
await client.publish({ attributes: { price: 14 } });

let count = 0;
const worker = await client.subscribe({ ...wanted, durable: "work", window: 1 }, (one) => {
  say("number", one.number);
  count += 1;
  if (count === 1) setTimeout(() => worker.acknowledge(one), 0);
});
await post(15);
await post(16);
await client.publish({ attributes: { price: 1 } });
await until(() => count === 2);

say("unsubscribed", prices);
await worker.unsubscribe();

const seen = [];
await client.subscribe({ filter: "exists symbol" }, (one) => seen.push(one.publication));
const span = { traceparent: `00-${"1".repeat(32)}-${"2".repeat(16)}-01`, tracestate: "a=1" };
await client.publish({ id: "q1", attributes: { symbol: "SAP", price: 1 }, ttl: 60, ...span });
const doubtful = client.publish({ attributes: { symbol: "SAP", price: 2 } });
client._socket.close(); // before its answer: it is sent again, and published once
await doubtful;
await client.publish({ attributes: { symbol: "IBM", price: 3 } });
await until(() => seen.length >= 3);
say("envelope", seen[0]);
say("seen", seen.map((one) => one.attributes.price));
const last = [];
const board = { filter: "exists symbol", replay: "last", by: "symbol" };
await client.subscribe(board, (one) => last.push(one.publication.attributes.price));
await until(() => last.length === 2);
say("last", last);
client.close();
say("closed", await client.publish({ attributes: {} }).catch((one) => one.message));

const ended = await new Promise((onend) => {
  connect(socket, { user: "ann", onend });
});
say("ended", ended);
