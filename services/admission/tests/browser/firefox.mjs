// The journey of a visitor in Firefox. What fails throws.
import assert from 'node:assert/strict';
import { inFirefox } from './firefox-page.mjs';

const { PUBLIC } = process.env;
const api = `${PUBLIC}/v1/queues/concert`;
const call = async (method, path, token) => {
  const headers = token ? { 'x-anteroom-token': token } : {};
  const answer = await fetch(api + path, { method, headers });
  assert.ok(answer.ok, `${path}: ${answer.status}`);
  return answer.status === 204 ? null : answer.json();
};
// The queue has room for one: this one is inside.
const { token } = await call('POST', '/tokens');
await call('POST', '/token/claim', token);

await inFirefox(async (page) => {
  await page.goto(`${PUBLIC}/queues/concert`);
  const shows = (view) => page.waitForSelector(`#room[data-view="${view}"]`);
  await shows('waiting');
  assert.equal(await page.$eval('#heading', (heading) => heading.innerText), 'You are next');
  // The style came, too: the policy names it by its address.
  assert.notEqual(await page.$eval('main', (main) => getComputedStyle(main).borderRadius), '0px');
  await page.reload();
  await shows('waiting');
  await call('DELETE', '/token', token);
  await shows('ready');
  await page.click('#enter');
  await shows('inside');
  await page.click('#finish');
  await shows('finished');
});
