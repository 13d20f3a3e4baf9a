// Signed identities, and the signatures of webhooks.
import { createHmac, timingSafeEqual } from 'node:crypto';
import { QUEUE, secret } from './calls.js';

const IDENTITY_SECRET = secret('ANTEROOM_IDENTITY_SECRET');
const WEBHOOK_SECRET = secret('ANTEROOM_WEBHOOK_SECRET');

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
