// The calls of the service port. Addresses are relative, so that a proxy can serve the console
// below a path of its own.
import { duration } from './format.js';

/** How long a call can take, in milliseconds: the service port itself gives up earlier. */
const PATIENCE_MS = 15_000;

/** A call that was refused, or that was not answered. Its fields are those of a problem. */
class Refusal extends Error {
  constructor(problem, etag) {
    super(problem.title);
    Object.assign(this, problem);
    this.etag = etag;
  }

  /** Whether the call may have had its effect: only a retry with the same names is safe. */
  get isUnknown() {
    return this.status === 0 || this.status >= 500;
  }
}

const unanswered = (detail) => new Refusal({ status: 0, code: 'no_answer', title: 'Anteroom does not answer', detail });

/** A problem, with the delay in its detail. Operators see no headers. */
function withDelay(problem) {
  if (!problem) return null;
  const { detail = '', retry_after_ms: ms } = problem;
  return { ...problem, detail: detail.replace(/Retry after `Retry-After`\.\s*/, ms ? `Retry in ${duration(ms)}. ` : '').trim() };
}

/** The problem in an answer that is not a success. */
export async function refusalOf(answer) {
  const problem = await answer.json().catch(() => null);
  // A proxy sends answers without a problem of Anteroom.
  const title = `${answer.status >= 500 ? 'Anteroom did not answer' : 'The call was refused'} (HTTP ${answer.status})`;
  const isTooLarge = answer.status === 400 || answer.status === 431;
  const unknown = { title, code: '', detail: isTooLarge ? 'The cookies of this site can be too large: delete them.' : '' };
  return new Refusal({ ...unknown, ...withDelay(problem), status: answer.status }, answer.headers.get('etag'));
}

let onSignedOut = () => {};
/** Sets what happens when the session has ended. */
export function whenSignedOut(act) {
  onSignedOut = act;
}

/** A segment of a path. `retry` as a visitor would be another call: its first letter is escaped. */
const segment = (value) => (value === RETRY_VISITOR ? '%72etry' : encodeURIComponent(value));
const RETRY_VISITOR = Symbol('the visitor "retry"');
/** A visitor as a segment of a path. */
export const visitorSegment = (id) => (id === 'retry' ? RETRY_VISITOR : id);

/**
 * Sends a call and returns `{ data, etag }`. `path` is a list of segments, or a text without
 * values of an operator.
 *
 * Throws a `Refusal`.
 */
export async function call(method, path, { query, body, ifMatch, headers, signal } = {}) {
  const address = new URL(Array.isArray(path) ? path.map(segment).join('/') : path, document.baseURI);
  for (const [name, value] of Object.entries(query ?? {})) {
    if (value !== undefined && value !== null && value !== '') address.searchParams.set(name, value);
  }
  const sent = { accept: 'application/json', ...headers };
  if (body !== undefined) sent['content-type'] = 'application/json';
  if (ifMatch) sent['if-match'] = ifMatch;
  const timeout = AbortSignal.timeout(PATIENCE_MS);
  let answer;
  let data = null;
  try {
    answer = await fetch(address, {
      method,
      headers: sent,
      body: body === undefined ? undefined : JSON.stringify(body),
      signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
    });
    // An answer that breaks off, or that is no JSON, is no answer.
    const hasBody = answer.status === 200 || (answer.ok && answer.headers.has('content-type'));
    if (hasBody) data = await answer.json();
  } catch {
    throw unanswered('Check the connection, or close other windows of the console. Then try again.');
  }
  if (!answer.ok) {
    const refusal = await refusalOf(answer);
    if (refusal.status === 401) onSignedOut(refusal);
    throw refusal;
  }
  return { data, etag: answer.headers.get('etag') };
}

export const get = async (path, query, signal) => (await call('GET', path, { query, signal })).data;
export const post = async (path, body) => (await call('POST', path, { body })).data;
export const remove = async (path) => (await call('DELETE', path)).data;

/** The path of a call for operators about one entity. */
export const admin = (kind, name, ...rest) => ['v1', 'admin', kind, name, ...rest];

const pending = new Map();
/**
 * Makes a call that adds something, under a random `operation_id`. While the effect of a call is
 * unknown, its name and body are kept: a retry is then the same call.
 */
export async function addOnce(path, body) {
  const key = path.join('/');
  const operation = pending.get(key) ?? { ...body, operation_id: crypto.randomUUID() };
  pending.set(key, operation);
  try {
    const answer = await post(path, operation);
    pending.delete(key);
    return answer;
  } catch (refusal) {
    if (!refusal.isUnknown) pending.delete(key);
    throw refusal;
  }
}

/** The body of the call that was not answered, if there is one. */
export const unansweredBody = (path) => pending.get(path.join('/'));
