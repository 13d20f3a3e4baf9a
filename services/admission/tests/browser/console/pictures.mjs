// Scene of the console: the pictures of the documentation.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { call, join, keys } from './calls.mjs';
import { goTo, operator, shows } from './operator.mjs';

const { PUBLIC, REPOSITORY, UPDATE_DOCS } = process.env;

export const pictures = {
  // The pictures of the documentation. To write them, visitors come and go for some minutes.
  async pictures() {
    const seconds = UPDATE_DOCS ? 150 : 3;
    const end = Date.now() + 1000 * seconds;
    await call('PATCH', '/v1/admin/queues/concert', { capacity: 240 });
    await call('PATCH', '/v1/admin/queues/vaccination', { state: 'paused', reason: 'We continue at 14:30.', until: new Date(Date.now() + 3_600_000).toISOString() });
    const visit = async (queue, number) => {
      await pause(Math.random() * 800 * seconds);
      let { token, status } = await join(`guest-${number}`, queue);
      const own = (method, path = '') => fetch(`${PUBLIC}/v1/queues/${queue}/token${path}`, { method, headers: { 'x-anteroom-token': token } });
      while (Date.now() < end && status === 'waiting') {
        await pause(2000);
        ({ status } = await (await own('GET')).json());
      }
      await own('POST', '/claim');
      await pause(20_000 + Math.random() * 60_000);
      await own('DELETE');
    };
    const crowd = { concert: UPDATE_DOCS ? 1500 : 20, 'sneaker-drop': UPDATE_DOCS ? 400 : 20, vaccination: 12 };
    for (const [queue, number] of Object.entries(crowd)) for (let at = 0; at < number; at += 1) visit(queue, at).catch(() => {});
    const report = async () => {
      while (Date.now() < end) {
        const failures = Math.random() < 0.4 ? 1 : 0;
        const id = `guest-${Math.random()}`;
        const calls = [
          ['targets/payments/outcomes', { successes: 20, failures, reporter: 'shop-1', latency_ms: 90 }],
          ...(Math.random() < 0.1 ? [['events/voucher/applications', { visitor_id: id }]] : []),
          ...(Math.random() < 0.3 ? [['pools/reward/draws', { option: 'small', operation_id: id }]] : []),
          ...[1, 2, 3].map((time) => ['limits/login/check', { key: id + time }]),
        ];
        // On a busy machine an answer can be late: the picture has the others.
        for (const [path, body] of calls) await call('POST', `/v1/${path}`, body, keys.shop).catch(() => {});
        await pause(1000);
      }
    };
    const { page } = await operator('#/', { viewport: { width: 1200, height: 860 }, colorScheme: 'light' });
    await report();
    const take = async (picture) => {
      const image = await page.screenshot();
      assert.ok(image.length > 20_000, picture);
      if (UPDATE_DOCS) writeFileSync(`${REPOSITORY}/docs/images/${picture}.png`, image);
    };
    await shows(page.locator('.chips'), 'Capacity 240');
    await take('console');
    await goTo(page, '#/queues/concert', 'concert');
    await page.locator('.chart svg').first().waitFor();
    await take('console-queue');
    await page.context().browser().close();
    // Visits that have not ended yet.
    process.exit(0);
  },
};
