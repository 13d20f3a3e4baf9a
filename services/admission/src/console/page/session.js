// Sign-in and sign-out. The key is in memory only while the call for it runs; the browser then has
// a cookie that no script can read.
import { call } from './api.js';

const PATH = 'v1/console/session';
/** A session lasts 30 minutes without renewal. */
const RENEW_MS = 5 * 60_000;

export const signIn = (key) => call('POST', PATH, { headers: { authorization: `Bearer ${key}` } });
export const signOut = () => call('DELETE', PATH);

/** Renews the session while the page is open; returns the end of it. */
export function keepSession() {
  const timer = setInterval(() => call('POST', PATH).catch(() => {}), RENEW_MS);
  return () => clearInterval(timer);
}

/** Whether the connection keeps the key from others: HTTPS, or this very machine. */
export function isPrivate() {
  const { protocol, hostname } = location;
  const isLoopback = hostname === 'localhost' || hostname.endsWith('.localhost')
    || hostname === '[::1]' || /^127(\.\d+){3}$/.test(hostname);
  return protocol === 'https:' || isLoopback;
}
