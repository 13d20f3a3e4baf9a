// Runs the page's script in a pretended browser, in virtual time, and prints what it asked for and showed.
// Its argument is a scene: {script, texts, lang, status, returnTo, until,
// answers: [{path, from?, status, headers?, body?}], of which the last one whose time has come is given; status 0 is a
// network that fails, and no status one that is silent,
// stream: [{at, event, data}], the events of each stream by their time after its start (without it there are no streams),
// shownAt: when a page that is loaded ahead is looked at, hiddenAt: when the visitor looks at another,
// presses: [{at, button}], kept: what localStorage has, others: [{at, kept}], what another tab stores there,
// deniesStorage: whether the browser refuses access to its stores, offline: whether it knows that it is,
// clock: how far its clock is wrong, in ms}.
import { readFileSync } from "node:fs";
import { createContext, runInContext } from "node:vm";

const scene = JSON.parse(process.argv[2]);
let now = 0;
let order = 1;
let timers = [];
const requests = [];
// What the page shows after each answer to "/token", with the number of the answer.
const frames = [];
let answered = null;

const elements = {};
const element = (id) => (elements[id] ??= {
  textContent: id === "texts" ? scene.texts : "",
  hidden: true,
  listeners: {},
  addEventListener(type, act) { this.listeners[type] = act; },
  closest() { return this.hidden ? this : null; },
  focus() { document.activeElement = this; },
});
const room = {
  dataset: {
    queue: "concert", returnTo: scene.returnTo ?? "/", status: scene.status, view: "not_in_line",
    icon: "concert/assets/icon-0-digest.svg", now: "0",
  },
};

const fetch = async (path, { method = "GET", headers = {}, signal }) => {
  requests.push([now, method, path, headers["idempotency-key"] ?? null, headers["x-anteroom-position"] ?? null]);
  // A script that never rests would otherwise run for ever.
  if (requests.length > 2000) throw new Error("too many requests");
  const index = scene.answers.findLastIndex((it) => path.endsWith(it.path) && (it.from ?? 0) <= now);
  const answer = scene.answers[index];
  if (!answer || answer.status === 0) throw new TypeError("the network failed");
  if (answer.status === undefined) {
    return new Promise((_, reject) => setTimeout(() => reject(new TypeError("it took too long")), signal.ms));
  }
  if (path.endsWith("/token")) answered = index;
  return {
    ok: answer.status < 300,
    status: answer.status,
    headers: { get: (name) => answer.headers?.[name] ?? null },
    json: async () => answer.body ?? JSON.parse("<html>"),
  };
};
// As browsers do it: 31 bits, and what does not fit is no time at all.
const setTimeout = (act, ms) => {
  timers.push({ at: now + (ms > 2 ** 31 - 1 || !(ms > 0) ? 1 : ms), order: order++, act });
  return order - 1;
};
const clearTimeout = (which) => { timers = timers.filter((timer) => timer.order !== which); };
const kept = scene.kept ?? {};
const storage = {
  getItem: (name) => kept[name] ?? null,
  setItem: (name, value) => { kept[name] = value; },
  removeItem: (name) => { delete kept[name]; },
};
const stores = {
  get localStorage() {
    if (scene.deniesStorage) throw new Error("SecurityError");
    return storage;
  },
  get sessionStorage() { return this.localStorage; },
};
if (scene.stream) {
  stores.EventSource = class {
    static CLOSED = 2;
    readyState = 1;
    listeners = {};
    constructor(path) {
      requests.push([now, "GET", path, null]);
      for (const { at, event, data } of scene.stream) {
        setTimeout(() => this.readyState === 1 && this.listeners[event]({ data: JSON.stringify(data) }), at);
      }
    }
    addEventListener(type, act) { this.listeners[type] = act; }
    close() { this.readyState = 2; }
  };
}
const document = {
  title: "Concert", hidden: false, prerendering: scene.shownAt !== undefined,
  addEventListener(type, act) {
    if (type === "prerenderingchange") setTimeout(act, scene.shownAt);
    else if (scene.hiddenAt) setTimeout(() => { document.hidden = true; act(); }, scene.hiddenAt);
  },
  documentElement: { lang: scene.lang },
  getElementById: (id) => (id === "room" ? room : element(id)),
};
let address = null;
let left = null;
const page = createContext({
  history: { replaceState: (_state, _title, to) => { address = to; } },
  AbortSignal: { timeout: (ms) => ({ ms }) },
  document, fetch, setTimeout, clearTimeout, crypto, btoa, URLSearchParams,
  addEventListener() {}, navigator: { onLine: !scene.offline },
  performance: { now: () => now },
  window: stores, location: { search: "", replace: (to) => { left = to; } },
});
runInContext("Date", page).now = () => now + (scene.clock ?? 0);
runInContext(readFileSync(scene.script, "utf8"), page);
for (const { at, kept: stored } of scene.others ?? []) setTimeout(() => Object.assign(kept, stored), at);
for (const { at, button } of scene.presses ?? []) {
  setTimeout(() => {
    element(button).focus();
    const form = element(button === "leave_yes" ? "leave_form" : "form");
    form.listeners.submit({ preventDefault() {}, submitter: { id: button } });
  }, at);
}

// An element that is hidden shows nothing.
const shown = () => {
  const shows = (id) => [id, ["keep", "since"].includes(id) && element(id).hidden ? "" : element(id).textContent];
  return Object.fromEntries(["before", "number", "after", "wait_value", "keep", "time", "since"].map(shows));
};
const settled = () => new Promise((resolve) => setImmediate(resolve));
for (;;) {
  await settled();
  if (answered !== null) frames.push({ at: now, answer: answered, ...shown() });
  answered = null;
  timers.sort((one, other) => one.at - other.at || one.order - other.order);
  const next = timers.shift();
  if (!next || next.at > scene.until || requests.length > 2000) break;
  now = next.at;
  next.act();
}
const focus = Object.keys(elements).find((id) => elements[id] === document.activeElement);
delete elements.texts;
const { view } = room.dataset;
process.stdout.write(JSON.stringify({ view, requests, elements, frames, focus, address, kept, left, title: document.title }));
