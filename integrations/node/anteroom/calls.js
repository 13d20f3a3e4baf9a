// The calls to Anteroom. Copy this folder into your service: docs/how-to/integrate/node.md explains it.
const {
  ANTEROOM_PUBLIC = 'http://127.0.0.1:8080',
  ANTEROOM_SERVICE = 'http://127.0.0.1:8081',
} = process.env;
export const { QUEUE = 'concert' } = process.env;

export function secret(name) {
  if (!process.env[name]) throw new Error(`set ${name}`);
  return process.env[name];
}
const serviceHeaders = { authorization: `Bearer ${secret('ANTEROOM_KEY')}`, 'content-type': 'application/json' };

// One call: 2 s for a try, one retry after a 5xx or no answer.
async function call(base, method, path, headers, body) {
  let answer;
  for (let tries = 0; tries < 2; tries += 1) {
    try {
      const options = { method, headers, body, redirect: 'manual', signal: AbortSignal.timeout(2000) };
      const response = await fetch(`${base}/v1/queues/${QUEUE}/${path}`, options);
      answer = { status: response.status, headers: response.headers, body: await response.text() };
      if (answer.status < 500) break;
    } catch (error) {
      console.warn('no answer of Anteroom:', String(error.cause ?? error));
      answer = { status: 503, headers: new Headers({ 'retry-after': '5' }), body: '' };
    }
  }
  return answer;
}

// Asks the gateway check about a visitor with these headers.
export function check(headers) {
  return call(ANTEROOM_PUBLIC, 'GET', 'authorize', headers);
}

// The visitor is done: its slot is free for the next one. If the call fails, the session ends after session_ttl.
export async function finish(place) {
  if (!place) return;
  const answer = await call(ANTEROOM_SERVICE, 'DELETE', `places/${place}`, serviceHeaders);
  if (answer.status !== 204) console.warn('a place was not finished:', answer.status, answer.body);
}

// Joins for a user that you know: the same place on each device.
export function join(visitorId) {
  return call(ANTEROOM_SERVICE, 'POST', 'tokens', serviceHeaders, JSON.stringify({ visitor_id: visitorId }));
}
