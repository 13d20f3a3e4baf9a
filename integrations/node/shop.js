// A shop that uses the folder anteroom. The tests in integrations/checks run it.
import express from 'express';
import { finish, join } from './anteroom/calls.js';
import { gate, relay } from './anteroom/gate.js';
import { assertion, isFromAnteroom } from './anteroom/signatures.js';

const { PORT = '3000', SHOP_URL = 'http://127.0.0.1:3000' } = process.env;
const app = express();

// A page of another origin can send your visitors' cookies. It must change nothing (CSRF).
app.use((req, res, next) => {
  const [site, origin] = [req.get('sec-fetch-site'), req.get('origin')];
  const isOurs = site ? site === 'same-origin' || site === 'none' : !origin || origin === new URL(SHOP_URL).origin;
  return req.method === 'GET' || req.method === 'HEAD' || isOurs ? next() : res.sendStatus(403);
});

// Open paths, before the check: what a user needs to get a place, and the webhook.
function login(req, res, next) {
  req.user = req.get('x-demo-user'); // your login
  return req.user ? next() : res.sendStatus(401);
}
app.get('/identity', login, (req, res) => {
  res.set('Cache-Control', 'no-store').json({ assertion: assertion(req.user) });
});
app.post('/join', login, async (req, res) => {
  res.set('Cache-Control', 'no-store');
  relay(res, await join(req.user)); // the token of the user's place, or why there is none
});
const handedOut = new Set(); // your database: store the key in the transaction that hands out the item
app.post('/webhook', express.raw({ type: () => true }), (req, res) => {
  if (!req.body || !isFromAnteroom(req.get('x-anteroom-signature'), req.body)) return res.sendStatus(401);
  const { idempotency_key: key } = JSON.parse(req.body);
  if (handedOut.has(key)) return res.sendStatus(409);
  handedOut.add(key);
  return res.sendStatus(201);
});

// All other paths need a place.
app.use(gate);
app.get('/seats', (req, res) => {
  res.send('<h1>Seats</h1><form method="post" action="/order"><button>Order</button></form>');
});
app.post('/order', async (req, res) => {
  await finish(req.place); // after your own work is committed
  res.send('Your order is complete.');
});

const server = app.listen(PORT, '127.0.0.1', (error) => {
  if (error) throw error;
  console.log(`listening on http://127.0.0.1:${server.address().port}`);
});
