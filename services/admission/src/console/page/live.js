// The live state: one stream of all entities, as JSON merge patches after the first event. Objects
// that a patch does not name keep their identity, so that views can compare them.
import { refusalOf } from './api.js';
import { createStore } from './dom.js';

const PATH = 'v1/admin/live';
/** The stream has an event each second: without one for so long, the connection is lost. */
const SILENCE_MS = 5000;
const FIRST_RETRY_MS = 500;
const LAST_RETRY_MS = 5000;
/** A page out of sight for so long has no stream: a browser opens 6 connections to a host, all tabs together. */
const HIDDEN_MS = 5000;

/**
 * `phase`: `connecting`, `live`, `lost`, `suspended` (out of sight) or `signed_out`. `state`: the newest state that was
 * received. `refusal`: why the last stream ended, if the service gave a reason. `hasEnded`: whether
 * that was the end of a session.
 */
export const live = createStore({ phase: 'connecting', state: null, refusal: null });

/** A JSON merge patch (RFC 7396). What the patch does not name is the same object as before. */
function mergePatch(target, patch) {
  if (patch === null || typeof patch !== 'object' || Array.isArray(patch)) return patch;
  const merged = target !== null && typeof target === 'object' && !Array.isArray(target) ? { ...target } : {};
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete merged[name];
    else merged[name] = mergePatch(merged[name], value);
  }
  return merged;
}

/** The events of a stream: the name and the data of each. */
async function* events(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    text += value;
    const blocks = text.split(/\r?\n\r?\n/);
    text = blocks.pop();
    for (const block of blocks) {
      const fields = block.split(/\r?\n/).map((line) => line.match(/^(\w+): ?(.*)$/)).filter(Boolean);
      const all = (name) => fields.filter((field) => field[1] === name).map((field) => field[2]);
      if (all('data').length) yield { name: all('event')[0] ?? 'message', data: JSON.parse(all('data').join('\n')) };
    }
  }
}

let current = null;
let retryTimer = null;
let retryMs = FIRST_RETRY_MS;

const update = (change) => live.set({ ...live.value, ...change });

function retry(refusal = null) {
  clearTimeout(retryTimer);
  update({ phase: live.value.state ? 'lost' : 'connecting', refusal });
  retryTimer = setTimeout(connect, Math.max(retryMs, refusal?.retry_after_ms ?? 0) * (0.75 + Math.random() / 2));
  retryMs = Math.min(2 * retryMs, LAST_RETRY_MS);
}

/** Ends the stream, or the wait for the next one. */
function stop() {
  clearTimeout(retryTimer);
  current?.abort();
  current = null;
}

/** Opens the stream, in place of the one before. */
export async function connect() {
  stop();
  const controller = new AbortController();
  current = controller;
  let silence;
  const received = () => {
    clearTimeout(silence);
    silence = setTimeout(() => controller.abort(), SILENCE_MS);
  };
  try {
    received();
    const answer = await fetch(new URL(PATH, document.baseURI), {
      headers: { accept: 'text/event-stream' }, cache: 'no-store', signal: controller.signal,
    });
    if (!answer.ok) {
      const refusal = await refusalOf(answer);
      if (refusal.status === 401 || refusal.status === 403) return disconnect(refusal);
      return retry(refusal);
    }
    for await (const { name, data } of events(answer.body)) {
      received();
      if (name === 'end') return disconnect(data);
      if (name !== 'state' && name !== 'change') continue;
      retryMs = FIRST_RETRY_MS;
      const state = name === 'state' ? data : mergePatch(live.value.state, data);
      update({ phase: 'live', state, refusal: null });
    }
    if (current === controller) retry();
  } catch {
    if (current === controller) retry();
  } finally {
    clearTimeout(silence);
  }
}

/** Ends the stream: the session has ended. Nothing of the state is kept. */
export function disconnect(refusal = null) {
  stop();
  live.set({ phase: 'signed_out', state: null, refusal, hasEnded: Boolean(live.value.state && refusal) });
}

/** Ends the stream until the page is in sight. */
function suspend() {
  stop();
  update({ phase: 'suspended', refusal: null });
}

let hiddenTimer = null;
function followSight() {
  clearTimeout(hiddenTimer);
  const { phase } = live.value;
  if (document.hidden && phase !== 'signed_out') {
    hiddenTimer = setTimeout(() => live.value.phase !== 'signed_out' && suspend(), HIDDEN_MS);
  }
  if (!document.hidden && phase === 'suspended') connect();
}
document.addEventListener('visibilitychange', followSight);
followSight();
