// The gateway check as a middleware of Express.
import { check } from './calls.js';

const { SHOP_URL = 'http://127.0.0.1:3000' } = process.env; // as visitors type it; its origin is in return_to_origins
const TOKEN_HEADERS = ['cookie', 'x-anteroom-token', 'authorization'];
const ANSWER_HEADERS = ['content-type', 'retry-after', 'www-authenticate', 'x-anteroom-room', 'x-anteroom-refusal'];

// Only 200 passes; the handle of the place is then in req.place.
export async function gate(req, res, next) {
  const headers = TOKEN_HEADERS.filter((name) => req.headers[name]).map((name) => [name, req.headers[name]]);
  const answer = await check(headers);
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
