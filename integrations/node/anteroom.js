// Anteroom for Express. Copy this file into your service: docs/how-to/integrate/node.md explains it.
import { createHmac, timingSafeEqual } from 'node:crypto';

const {
  QUEUE = 'concert',
  ANTEROOM_PUBLIC = 'http://127.0.0.1:8080',
  ANTEROOM_SERVICE = 'http://127.0.0.1:8081',
  SHOP_URL = 'http://127.0.0.1:3000', // as visitors type it; its origin is in return_to_origins
} = process.env;
const TOKEN_HEADERS = ['cookie', 'x-anteroom-token', 'authorization'];
const ANSWER_HEADERS = ['content-type', 'retry-after', 'www-authenticate', 'x-anteroom-room', 'x-anteroom-refusal'];

function secret(name) {
  if (!process.env[name]) throw new Error(`set ${name}`);
  return process.env[name];
}
const KEY = secret('ANTEROOM_KEY');
const IDENTITY_SECRET = secret('ANTEROOM_IDENTITY_SECRET');
const WEBHOOK_SECRET = secret('ANTEROOM_WEBHOOK_SECRET');

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
const serviceHeaders = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' };

// Middleware: asks the gateway check. Only 200 passes; the handle of the place is then in req.place.
export async function gate(req, res, next) {
  const headers = TOKEN_HEADERS.filter((name) => req.headers[name]).map((name) => [name, req.headers[name]]);
  const answer = await call(ANTEROOM_PUBLIC, 'GET', 'authorize', headers);
  res.set('Cache-Control', 'private, no-store');
  res.append('Set-Cookie', answer.headers.getSetCookie());
  if (answer.status === 200) {
    req.place = answer.headers.get('x-anteroom-place');
    return next();
  }
  if (answer.status === 401 || answer.status === 403) return refuse(req, res, answer);
  console.warn('the gateway check failed:', answer.status, answer.body);
  return res.status(503).set('Retry-After', '5').send('The waiting room is not available. Please try again.');
}

// A page leads to the waiting room. A script gets Anteroom's own answer.
function refuse(req, res, answer) {
  const room = answer.headers.get('x-anteroom-room');
  const mode = req.get('sec-fetch-mode');
  const isPage = mode ? mode === 'navigate' : (req.get('accept') ?? '').includes('text/html');
  if (isPage && room) {
    const isRead = req.method === 'GET' || req.method === 'HEAD';
    const back = encodeURIComponent(SHOP_URL + (isRead ? req.originalUrl : '/'));
    if (isRead) return res.redirect(302, `${room}?return_to=${back}`);
    const link = `<a href="${room}?return_to=${back}">Go to the waiting room</a>`;
    return res.status(answer.status).send(`<p>Nothing was changed. ${link}</p>`);
  }
  return relay(res, answer);
}

// Returns Anteroom's own answer.
export function relay(res, answer) {
  for (const name of ANSWER_HEADERS) {
    if (answer.headers.get(name)) res.set(name, answer.headers.get(name));
  }
  return res.status(answer.status).send(Buffer.from(answer.body));
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

// A signed identity: the user's browser joins with it on the public port.
export function assertion(visitorId) {
  const expiry = Math.floor(Date.now() / 1000) + 150;
  const message = `anteroom assertion\n${QUEUE}\n${visitorId}\n${expiry}`;
  const mac = createHmac('sha256', IDENTITY_SECRET).update(message).digest('base64url');
  return `ara1.${Buffer.from(visitorId).toString('base64url')}.${expiry}.${mac}`;
}

// Whether a webhook's raw body was signed by Anteroom, within the last 5 minutes.
export function isFromAnteroom(signature, body) {
  const parts = (signature ?? '').split(',').map((part) => part.split('='));
  const time = parts.find(([name]) => name === 't')?.[1] ?? '';
  if (!/^\d+$/.test(time) || Math.abs(Date.now() / 1000 - Number(time)) > 300) return false;
  const expected = createHmac('sha256', WEBHOOK_SECRET).update(`${time}.`).update(body).digest();
  const macs = parts.filter(([name]) => name === 'v1').map(([, value]) => Buffer.from(value ?? '', 'hex'));
  return macs.some((mac) => mac.length === expected.length && timingSafeEqual(mac, expected));
}
