// Runs the page's script in a pretended browser, in virtual time, and prints what it asked for and showed.
// Its argument is a scene: {script, status, words, until, answers: [{path, from?, status, headers?, body?}],
// presses: [{at, form, button}], kept: what localStorage has, others: [{at, kept}], what another tab stores there,
// deniesStorage: whether the browser refuses access to its stores}.
// Of the answers to a path the last one whose time has come is given; status 0 is a network that fails.
import { readFileSync } from "node:fs";
import { createContext, runInContext } from "node:vm";

const scene = JSON.parse(process.argv[2]);
let now = 0;
let order = 0;
let timers = [];
const requests = [];

const elements = {};
const element = (id) => (elements[id] ??= {
  textContent: "",
  hidden: true,
  addEventListener(_, act) { this.submitted = act; },
  closest() { return this.hidden || element(formOf[id] ?? id).hidden ? this : null; },
  focus() { document.activeElement = this; },
});
const formOf = { enter: "visit", finish: "visit" };
const room = { dataset: { queue: "concert", returnTo: scene.returnTo ?? "/", status: scene.status, words: scene.words } };

const fetch = async (path, { method, headers }) => {
  requests.push([now, method, path, headers["idempotency-key"] ?? null]);
  // A script that never rests would otherwise run for ever.
  if (requests.length > 2000) throw new Error("too many requests");
  const answer = scene.answers.findLast((it) => path.endsWith(it.path) && (it.from ?? 0) <= now);
  if (!answer || answer.status === 0) throw new TypeError("the network failed");
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
const document = {
  title: "", hidden: false, addEventListener() {},
  getElementById: (id) => (id === "room" ? room : element(id)),
};
let address = null;
let left = null;
const page = createContext({
  history: { replaceState: (_state, _title, to) => { address = to; } },
  document, fetch, setTimeout, clearTimeout, setInterval() {}, clearInterval() {}, crypto, btoa,
  performance: { now: () => now },
  window: stores, location: { replace: (to) => { left = to; } },
});
runInContext("Date", page).now = () => now;
runInContext(readFileSync(scene.script, "utf8"), page);
for (const { at, kept: stored } of scene.others ?? []) setTimeout(() => Object.assign(kept, stored), at);
for (const { at, form, button } of scene.presses ?? []) {
  setTimeout(() => {
    element(button).focus();
    element(form).submitted({ preventDefault() {} });
  }, at);
}

const settled = () => new Promise((resolve) => setImmediate(resolve));
for (;;) {
  await settled();
  timers.sort((one, other) => one.at - other.at || one.order - other.order);
  const next = timers.shift();
  if (!next || next.at > scene.until || requests.length > 2000) break;
  now = next.at;
  next.act();
}
const focus = Object.keys(elements).find((id) => elements[id] === document.activeElement);
process.stdout.write(JSON.stringify({ requests, elements, focus, address, kept, left }));
