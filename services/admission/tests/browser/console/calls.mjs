// Calls of an operator and of the backend of a shop, without a browser.
import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';

const { SERVICE, KEYS } = process.env;
export const keys = KEYS ? JSON.parse(KEYS) : {};

export const call = async (method, path, body, key = keys.ops) => {
  const headers = { 'content-type': 'application/json', ...(key ? { authorization: `Bearer ${key}` } : {}) };
  const answer = await fetch(SERVICE + path, { method, headers, body: body && JSON.stringify(body) });
  assert.ok(answer.ok, `${method} ${path}: ${answer.status} ${await answer.clone().text()}`);
  return answer.status === 204 || answer.status === 202 ? null : answer.json();
};
// A join with the same visitor is the same place. On a busy machine Redis can miss its time.
export async function join(visitor, queue = 'concert') {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await call('POST', `/v1/queues/${queue}/tokens`, { visitor_id: visitor }, keys.shop);
    } catch (error) {
      if (attempt === 10 || !/: 50[34] /.test(error.message)) throw error;
      await pause(100 * attempt);
    }
  }
}
// Visitors join, some at a time.
export async function rush(number, queue) {
  let next = 0;
  const lane = async () => {
    while (next < number) {
      next += 1;
      await join(`visitor-${next}`, queue);
    }
  };
  await Promise.all(Array.from({ length: 20 }, lane));
}
