/* A client of a Sapwood broker over the WebSocket of its gateway: one file, no dependencies.
 *
 *   import { connect } from "http://127.0.0.1:7412/sapwood.js";
 *
 *   const client = connect("ws://127.0.0.1:7412/socket", { token: "..." });
 *   const dear = await client.subscribe({ filter: "price > 100" }, (delivery) => {
 *     console.log(delivery.publication.id, delivery.publication.attributes);
 *   });
 *   const id = await client.publish({ attributes: { symbol: "IBM", price: 120 } });
 *   await dear.unsubscribe();
 *   client.close();
 *
 * A connection that is lost is made again, and subscriptions with it: where the broker keeps a
 * journal each goes on behind the last delivery it has seen, and a publication without an answer by
 * then is sent again, under the same id, so that it is published once. Without a journal it is
 * rejected: whether it was accepted is not known.
 *
 * Works in browsers, and in Node from version 22 on.
 */

const FIRST_MS = 100;
const MOST_MS = 5000;

/** A request that the broker has refused, or whose answer is not known any more. */
export class SapwoodError extends Error {
  constructor(reason, isRefusal, { status, retry_after } = {}) {
    super(reason);
    this.name = "SapwoodError";
    /** Whether the broker has refused it; otherwise nobody knows what came of it. */
    this.isRefusal = isRefusal;
    /** The status of HTTP for a refusal: 403 what is not granted, 429 beyond a quota, 4xx else. */
    this.status = status;
    /** In how many seconds it may pass, where waiting helps. */
    this.retryAfter = retry_after;
  }
}

/** A client of the broker at `url` (ws:// or wss://), which shows `token`, or `user` and `password`.
 *
 * `onend` is called with a reason when the broker does not let it in, `onstate` with true and false
 * as connections come and go, `onerror` with an error when a subscription that was in force is
 * refused on a later connection.
 */
export function connect(url, { token, user, password, onend, onstate, onerror } = {}) {
  return new Client(url, { token, user, password }, { onend, onstate, onerror });
}

class Subscription {
  constructor(client, id, wanted, ondelivery) {
    this.id = id;
    this.wanted = wanted;
    this.ondelivery = ondelivery;
    this._client = client;
    this._mark = undefined;
  }

  /** The request that is sent on each connection. */
  _request() {
    const request = { ...this.wanted, type: "subscribe", id: this.id };
    if (this._mark !== undefined && request.durable === undefined) request.mark = this._mark;
    return request;
  }

  /** Be done with deliveries of a durable subscription. */
  acknowledge(...deliveries) {
    const numbers = deliveries.map((one) => one.number);
    this._client._send({ type: "acknowledge", id: this.id, numbers });
  }

  /** Withdraw it; resolves when nothing more is delivered. */
  unsubscribe() {
    return this._client._unsubscribe(this);
  }
}

class Client {
  constructor(url, shown, { onend, onstate, onerror }) {
    this._url = url;
    this._shown = shown;
    this._onend = onend ?? (() => {});
    this._onstate = onstate ?? (() => {});
    this._onerror = onerror ?? ((error) => console.error(error));
    this._serial = 0;
    this._subscriptions = new Map();
    /* Answers that are awaited: of subscriptions by "subscribe s1", of publications by number. */
    this._awaited = new Map();
    /* Publications without an answer, by number and in order: sent, or waiting for a connection. */
    this._unanswered = new Map();
    const chance = crypto.getRandomValues(new Uint8Array(12));
    this._name = Array.from(chance, (byte) => byte.toString(16).padStart(2, "0")).join("");
    this._hasJournal = false;
    this._isUp = false;
    this._isClosed = false;
    this._failures = 0;
    this._open();
  }

  /** Subscribe to `{ filter }` or `{ xpath, namespaces }`, with `since`, or `durable` and `window`.
   *
   * A filter in another language names it: `{ filter, dialect: "cesql" }`; patterns of SNS and
   * EventBridge are texts or objects.
   * With `replay: "last"` and `by`, an attribute or several, the last publication of each of their
   * values comes first.
   *
   * Resolves when the subscription is in force everywhere; `ondelivery` is called with each delivery.
   */
  subscribe(wanted, ondelivery) {
    this._serial += 1;
    const subscription = new Subscription(this, `s${this._serial}`, wanted, ondelivery);
    this._subscriptions.set(subscription.id, subscription);
    const answer = this._answer(`subscribe ${subscription.id}`).then(() => subscription);
    this._send(subscription._request());
    return answer;
  }

  /** Publish `{ attributes, document, payload, id, ttl, traceparent, tracestate }`.
   *
   * Resolves with the id when it is accepted. `ttl` is in seconds.
   */
  publish(publication) {
    if (this._isClosed) return Promise.reject(new SapwoodError("the client is closed", false));
    this._serial += 1;
    const ref = this._serial;
    const id = publication.id ?? `${this._name}.${ref}`;
    const message = { ...publication, type: "publish", id, ref };
    const answer = this._answer(ref).then((told) => told.id);
    this._unanswered.set(ref, { message, wasSent: this._isUp });
    this._send(message);
    return answer;
  }

  /** Say goodbye; what has no answer is rejected. */
  close() {
    this._isClosed = true;
    clearTimeout(this._timer);
    this._socket.close(1000);
    this._lost("the client is closed", true);
  }

  _unsubscribe(subscription) {
    if (!this._subscriptions.delete(subscription.id) || !this._isUp) return Promise.resolve();
    const answer = this._answer(`unsubscribe ${subscription.id}`);
    this._send({ type: "unsubscribe", id: subscription.id });
    return answer.then(() => undefined);
  }

  _answer(key) {
    return new Promise((resolve, reject) => this._awaited.set(key, { resolve, reject }));
  }

  _send(message) {
    if (this._isUp) this._socket.send(JSON.stringify(message));
  }

  _open() {
    const socket = new WebSocket(this._url);
    this._socket = socket;
    let reason = "the connection was lost";
    socket.onopen = () => socket.send(JSON.stringify({ ...this._shown, type: "connect" }));
    socket.onmessage = (event) => {
      const message = JSON.parse(event.data);
      if (message.type === "end") reason = message.reason;
      else this._heard(message);
    };
    socket.onclose = (event) => {
      if (socket !== this._socket || this._isClosed) return;
      const wasUp = this._isUp;
      const isFinal = event.code === 1008 && !wasUp;
      this._lost(reason, isFinal);
      if (isFinal) {
        this._isClosed = true;
        this._onend(reason);
        return;
      }
      const wait = Math.min(MOST_MS, FIRST_MS * 2 ** this._failures) * (0.5 + Math.random() / 2);
      this._failures += 1;
      this._timer = setTimeout(() => this._open(), wait);
    };
    socket.onerror = () => {};
  }

  _lost(reason, isFinal) {
    const wasUp = this._isUp;
    this._isUp = false;
    for (const [key, { resolve, reject }] of [...this._awaited]) {
      const published = this._unanswered.get(key);
      const isSafe = published !== undefined && (this._hasJournal || !published.wasSent);
      if ((isSafe || String(key).startsWith("subscribe ")) && !isFinal) continue;
      this._awaited.delete(key);
      this._unanswered.delete(key);
      if (String(key).startsWith("unsubscribe ")) resolve(undefined);
      else reject(new SapwoodError(reason, false));
    }
    if (wasUp) this._onstate(false);
  }

  _heard(message) {
    switch (message.type) {
      case "connected":
        this._isUp = true;
        this._hasJournal = message.journal;
        this._failures = 0;
        for (const one of this._subscriptions.values()) this._send(one._request());
        for (const one of this._unanswered.values()) {
          one.wasSent = true;
          this._send(one.message);
        }
        this._onstate(true);
        break;
      case "delivery":
        for (const id of message.subscriptions) {
          const subscription = this._subscriptions.get(id);
          if (subscription === undefined) continue;
          if (message.mark !== undefined) subscription._mark = message.mark;
          subscription.ondelivery(message);
        }
        break;
      case "confirmed":
      case "refused": {
        const key = message.of === "publish" ? message.ref : `${message.of} ${message.id}`;
        const awaited = this._awaited.get(key);
        this._awaited.delete(key);
        this._unanswered.delete(key);
        if (message.type === "confirmed") {
          awaited?.resolve(message);
          break;
        }
        if (message.of === "subscribe") this._subscriptions.delete(message.id);
        const error = new SapwoodError(message.reason, true, message);
        if (awaited === undefined) this._onerror(error);
        else awaited.reject(error);
        break;
      }
    }
  }
}
