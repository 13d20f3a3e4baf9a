// One scene of the operator console in Chromium: node console.mjs NAME [THEME]. What fails throws.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { chromium } from 'playwright-core';

const { PUBLIC, SERVICE, CHROMIUM, CONFIG, KEYS, REPOSITORY, UPDATE_DOCS, WEBHOOK_PORT } = process.env;
const keys = KEYS ? JSON.parse(KEYS) : {};
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const [name, theme] = process.argv.slice(2);
// Wide, for a machine that has much else to do.
const timeout = 180_000;
const browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox', '--disable-dev-shm-usage'], timeout });

// A browser of its own. What its pages complain of is kept.
async function desk(options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, locale: 'en-GB', timezoneId: 'Asia/Seoul', ...options });
  context.setDefaultTimeout(timeout);
  const complaints = [];
  context.on('page', (page) => {
    // A refused call is in the console by itself; a file or a frame that the policy blocks is a fault.
    page.on('console', (message) => message.type() === 'error' && !message.text().startsWith('Failed to load resource') && complaints.push(message.text()));
    page.on('pageerror', (error) => complaints.push(String(error)));
  });
  return { context, complaints };
}
async function signIn(page, key) {
  await page.fill('input[type="password"]', key);
  await page.keyboard.press('Enter');
}
// An operator at a view of the console.
async function operator(view = '#/', { key = keys.ops, ...options } = {}) {
  const { context, complaints } = await desk(options);
  const page = await context.newPage();
  await page.goto(`${SERVICE}/console${view}`);
  if (key) await signIn(page, key);
  await page.waitForSelector('.pulse.good');
  return { page, context, complaints };
}
const call = async (method, path, body, key = keys.ops) => {
  const headers = { 'content-type': 'application/json', ...(key ? { authorization: `Bearer ${key}` } : {}) };
  const answer = await fetch(SERVICE + path, { method, headers, body: body && JSON.stringify(body) });
  assert.ok(answer.ok, `${method} ${path}: ${answer.status} ${await answer.clone().text()}`);
  return answer.status === 204 || answer.status === 202 ? null : answer.json();
};
// A join with the same visitor is the same place. On a busy machine Redis can miss its time.
async function join(visitor, queue = 'concert') {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await call('POST', `/v1/queues/${queue}/tokens`, { visitor_id: visitor }, keys.shop);
    } catch (error) {
      if (attempt === 10 || !/: 50[34] /.test(error.message)) throw error;
    }
  }
}
// Visitors join, some at a time.
async function rush(number, queue) {
  let next = 0;
  const lane = async () => {
    while (next < number) {
      next += 1;
      await join(`visitor-${next}`, queue);
    }
  };
  await Promise.all(Array.from({ length: 20 }, lane));
}
// Waits until an answer, which can be a second old, has this value.
async function becomes(path, field, value) {
  const end = Date.now() + timeout;
  while ((await call('GET', path))[field] !== value) assert.ok(Date.now() < end, `${path}: ${field} is not ${value}`);
}
const open = (page, label) => page.getByRole('button', { name: label, exact: true }).click();
const dialog = (page) => page.locator('dialog');
const submit = (page, label) => dialog(page).getByRole('button', { name: label, exact: true }).click();
const announces = (page, text) => page.locator('.notices', { hasText: text }).waitFor();
const stat = (scope, label) => scope.locator('.stat', { has: scope.page().locator('dt', { hasText: new RegExp(`^${label}$`) }) }).locator('dd');
const shows = (locator, text) => locator.filter({ hasText: text }).first().waitFor();
const rule = (page, label) => page.locator('.rule', { hasText: label }).first();
// The address of each view, with an entity of each kind.
const VIEWS = ['#/', '#/queues/concert', '#/targets/payments', '#/events/voucher', '#/pools/reward', '#/limits/login', '#/queues/none'];

const scenes = {
  // A wrong key, a backend's, an operator's; then 2 000 visitors join while the page is open.
  async signs_in_and_watches_a_rush() {
    const { context, complaints } = await desk();
    const page = await context.newPage();
    await page.goto(`${SERVICE}/console`);
    await signIn(page, 'ark1.wrong');
    await shows(page.locator('.problem'), 'key_invalid');
    await signIn(page, keys.shop);
    await shows(page.locator('.problem'), 'key_forbidden');
    await signIn(page, keys.ops);
    await page.waitForSelector('.pulse.good');
    assert.equal(await page.evaluate(() => JSON.stringify([Object.keys(localStorage), document.cookie])), '[[],""]');
    const card = page.locator('.card', { hasText: 'concert' });
    const waiting = stat(card, 'Waiting');
    await shows(waiting, /^0$/);
    const joins = rush(2000);
    await page.waitForFunction(() => /^[1-9]/.test(document.querySelector('.stat.large dd').textContent));
    await joins;
    await shows(waiting, '1,998');
    await shows(stat(card, 'Ready'), /^2$/);
    await card.getByRole('link', { name: 'concert' }).click();
    await page.waitForURL(/#\/queues\/concert$/);
    await page.locator('.chart .line').first().waitFor({ state: 'attached' });
    await shows(page.locator('tbody th'), /^3$/);
    await open(page, 'Sign out');
    await page.waitForSelector('input[type="password"]');
    await page.reload();
    await page.waitForSelector('input[type="password"]');
    assert.deepEqual(complaints, []);
  },

  // A pause with a reason; the waiting page of a visitor shows it. What is typed is never markup.
  async pauses_a_queue() {
    await rush(3);
    const { context } = await desk({ viewport: { width: 390, height: 844 } });
    const visitor = await context.newPage();
    await visitor.goto(`${PUBLIC}/queues/concert`);
    await visitor.waitForSelector('#room[data-view="waiting"]');
    const { page, complaints } = await operator('#/queues/concert');
    const reason = 'Back at 14:30 <b>sharp</b> & fresh';
    await open(page, 'Pause …');
    // Without a reason the preview shows none.
    const preview = page.frameLocator('iframe');
    await preview.locator('h1').waitFor();
    assert.ok(!(await preview.locator('body').innerText()).includes('14:30'));
    await dialog(page).getByLabel('Reason (optional)').fill(reason);
    await dialog(page).getByLabel('End').selectOption('10');
    await shows(page.frameLocator('iframe').locator('#reason'), reason);
    await submit(page, 'Pause');
    await announces(page, 'concert is paused');
    await shows(page.locator('.view-head .badge'), 'Paused');
    await shows(page.locator('.summary .reason'), reason);
    await visitor.waitForSelector('#room[data-view="paused"]');
    assert.match(await visitor.innerText('#reason'), /<b>sharp<\/b>/);
    const row = page.locator('[aria-labelledby="section-changes"] tbody tr').first();
    await shows(row, reason);
    assert.equal((await row.innerText()).split(reason).length, 2, 'the reason once');
    await open(page, 'Resume');
    await shows(dialog(page).locator('h2'), /^Resume concert$/);
    await submit(page, 'Resume');
    await announces(page, 'concert is open.');
    await shows(page.locator('.view-head .badge'), 'Open');
    await visitor.waitForSelector('#room[data-view="waiting"]');
    assert.deepEqual(complaints, []);
  },

  // The health of a target, or a time to come, pauses a queue whatever an operator sets. An
  // operator can pause it too, and the page says what is in force.
  async opens_a_queue_that_stays_paused() {
    await call('POST', '/v1/targets/payments/outcomes', { successes: 0, failures: 40, latency_ms: 90, reporter: 'shop-1' }, keys.shop);
    await call('PATCH', '/v1/admin/queues/vaccination', { opens_at: '2099-01-15T11:00:00Z' });
    await call('PATCH', '/v1/admin/queues/concert', { max_waiting: 1 });
    for (const visitor of ['ada', 'grace']) await join(visitor).catch(() => {});
    const { page, complaints } = await operator('#/');
    await shows(page.locator('.attention'), 'The line is full (1 / 1)');
    await shows(stat(page.locator('.card', { hasText: 'Success rate' }), 'Latency p95'), /^≤ \d+ ms$/);
    // A queue that opens later is no alarm.
    await shows(page.locator('.card', { hasText: 'vaccination' }).locator('.badge'), 'Opens 15 Jan 2099, 20:00');
    await shows(page.locator('.attention'), 'paused by the health of its target');
    assert.ok(!(await page.locator('.attention').innerText()).includes('vaccination'));
    await page.evaluate(() => { location.hash = '#/queues/concert'; });
    await shows(page.locator('.view-head .badge'), 'Paused');
    await open(page, 'Pause …');
    await submit(page, 'Pause');
    await announces(page, 'concert is paused.');
    await open(page, 'Resume');
    await submit(page, 'Resume');
    await announces(page, 'concert stays paused: its target is unhealthy.');
    await open(page, 'Open …');
    await submit(page, 'Open');
    await page.getByRole('button', { name: 'Remove override: open', exact: true }).waitFor();
    await shows(page.locator('.summary'), 'An operator has set the state open');
    assert.equal(await page.getByRole('button', { name: 'Resume', exact: true }).count(), 0);
    await page.getByRole('button', { name: 'Pause …', exact: true }).waitFor();
    await page.evaluate(() => { location.hash = '#/queues/vaccination'; });
    await shows(page.locator('h1'), 'vaccination');
    await shows(page.locator('.view-head .badge'), 'Opens 15 Jan 2099, 20:00');
    await open(page, 'Open …');
    await submit(page, 'Open');
    await announces(page, 'vaccination stays paused: it opens 15 Jan 2099');
    assert.deepEqual(complaints, []);
  },

  // Two operators change the capacity at the same time: the second sees both values, and decides.
  async changes_the_capacity_in_conflict() {
    const [first, second] = [await operator('#/queues/concert'), await operator('#/queues/concert')];
    const change = async ({ page }, value) => {
      await rule(page, 'Capacity').getByRole('button', { name: 'Change capacity' }).click();
      await dialog(page).getByText('In force: 2').waitFor();
      await dialog(page).getByLabel('New value').fill(String(value));
    };
    await change(first, 7);
    await change(second, 9);
    await submit(second.page, 'Change');
    await announces(second.page, 'Capacity of concert is 9.');
    await submit(first.page, 'Change');
    const row = first.page.locator('.conflict tbody tr');
    await row.waitFor();
    assert.deepEqual(await row.locator('th, td').allInnerTexts(), ['Capacity', '2', '9', '7']);
    assert.equal((await call('GET', '/v1/admin/queues/concert')).rules.capacity, 9);
    await submit(first.page, 'Apply mine');
    await announces(first.page, 'Capacity of concert is 7.');
    for (const { page } of [first, second]) await shows(rule(page, 'Capacity').locator('.value'), /^7$/);
    await shows(rule(second.page, 'Capacity').locator('.origin'), 'ops');
    await shows(second.page.locator('.differences'), 'Capacity 9 → 7');
    // On a phone the rule has the whole width, and its buttons are below the text.
    for (const width of [320, 390]) {
      await first.page.setViewportSize({ width, height: 800 });
      for (const part of ['.what', '.value', '.origin p']) {
        const box = await rule(first.page, 'Capacity').locator(part).boundingBox();
        assert.ok(box.width > 0.6 * width, `${part} at ${width} px: ${box.width} px wide`);
      }
    }
    await first.page.setViewportSize({ width: 1280, height: 900 });
    // A change keeps the end of the override, if the operator chooses no other one.
    const until = new Date(Date.now() + 3_600_000).toISOString().replace(/\.\d+/, '');
    await call('PATCH', '/v1/admin/queues/concert', { batch: 5, until });
    await shows(rule(first.page, 'Batch').locator('.origin'), 'until');
    await rule(first.page, 'Batch').getByRole('button', { name: 'Change batch' }).click();
    await shows(dialog(first.page), /An override of ops, until .+\. The file has .+\./);
    assert.match(await dialog(first.page).getByLabel('End').locator('option:checked').textContent(), /^keep the end \(.+\)$/);
    await dialog(first.page).getByLabel('New value').fill('6');
    await submit(first.page, 'Change');
    await announces(first.page, 'Batch of concert is 6.');
    const { overrides } = await call('GET', '/v1/admin/queues/concert');
    assert.deepEqual([overrides.batch.value, overrides.batch.until], [6, until]);
    // A value that the service refuses: the field shows why.
    await rule(first.page, 'Capacity').getByRole('button', { name: 'Change capacity' }).click();
    await dialog(first.page).getByLabel('New value').fill('0');
    await submit(first.page, 'Change');
    await shows(dialog(first.page).locator('.field.wrong'), 'capacity');
    await first.page.keyboard.press('Escape');
    await open(first.page, 'Remove override: Capacity');
    await submit(first.page, 'Remove');
    await shows(rule(first.page, 'Capacity').locator('.value'), /^2$/);
    assert.deepEqual([...first.complaints, ...second.complaints], []);
  },

  async finds_and_evicts_a_visitor() {
    await rush(30);
    const wanted = await join('<img src=x onerror=alert(1)>');
    const { page, complaints } = await operator('#/queues/concert');
    await page.getByLabel('By').selectOption('visitor_id');
    await page.getByLabel('Visitor id').fill('<img src=x onerror=alert(1)>');
    await open(page, 'Find');
    await shows(page.locator('.found'), String(wanted.ticket));
    await page.locator('.found').getByRole('button').click();
    await submit(page, 'Evict');
    await announces(page, `ticket ${wanted.ticket} has ended`);
    await shows(page.locator('.found'), 'Ended: evicted');
    assert.equal((await call('GET', `/v1/admin/queues/concert/places/${wanted.ticket}`)).status, 'gone');
    // From the line: the second page of it.
    await open(page, 'Next');
    await shows(page.locator('tbody th'), /^23$/);
    await open(page, 'Evict ticket 23');
    await submit(page, 'Evict');
    await announces(page, 'ticket 23 has ended');
    await page.getByLabel('Visitor id').fill('no such visitor');
    await open(page, 'Find');
    await shows(page.locator('main'), 'No visitor with this id has a place now. An ended place is found by its ticket.');
    // The list of changes has what this page did, and what another operator does.
    await shows(page.locator('[aria-labelledby="section-changes"] tbody tr'), 'Visitor evicted (ticket 23)');
    await call('DELETE', '/v1/admin/queues/concert/places/20');
    await shows(page.locator('[aria-labelledby="section-changes"] tbody tr'), 'Visitor evicted (ticket 20)');
    assert.deepEqual(complaints, []);
  },

  async resets_after_a_typed_confirmation() {
    await rush(5);
    const { page, complaints } = await operator('#/queues/concert');
    await open(page, 'Reset …');
    const button = dialog(page).getByRole('button', { name: 'Reset', exact: true });
    await dialog(page).getByLabel('Type').fill('concer');
    assert.ok(await button.isDisabled());
    await dialog(page).getByLabel('Type').fill('concert');
    await button.click();
    await announces(page, 'concert is reset');
    await shows(page.locator('[aria-labelledby="section-changes"] tbody tr'), 'Queue reset');
    await shows(stat(page.locator('.tiles'), 'Last ticket'), /^0$/);
    assert.deepEqual(complaints, []);
  },

  // The webhook refuses the applications; after it was repaired, they are retried.
  async retries_dead_letters() {
    let isRepaired = false;
    const webhook = createServer((request, answer) => {
      request.resume().on('end', () => answer.writeHead(isRepaired ? 200 : 422).end());
    });
    await new Promise((resolve) => webhook.listen(Number(WEBHOOK_PORT), '127.0.0.1', resolve));
    const visitors = ['ada', 'grace', 'alan <i>t</i>', 'retry'];
    for (const visitor of visitors) await call('POST', '/v1/events/voucher/applications', { visitor_id: visitor }, keys.shop);
    const { page, complaints } = await operator('#/');
    await page.locator('.attention').getByRole('link', { name: 'voucher' }).click();
    await shows(stat(page.locator('.tiles'), 'Dead letters'), /^4$/);
    assert.equal(await stat(page.locator('.tiles'), 'Codes left').count(), 0, 'it hands out no codes');
    await open(page, 'Give up retry');
    await submit(page, 'Give up');
    await announces(page, 'retry is given up');
    await open(page, 'Give up alan <i>t</i>');
    await submit(page, 'Give up');
    await announces(page, 'is given up');
    isRepaired = true;
    await open(page, 'Retry ada');
    await submit(page, 'Retry');
    await announces(page, 'ada is retried');
    await shows(stat(page.locator('.tiles'), 'Issued'), /^1 /);
    await open(page, 'Retry all');
    await submit(page, 'Retry all');
    await shows(stat(page.locator('.tiles'), 'Issued'), /^2 /);
    await shows(stat(page.locator('.tiles'), 'Dead letters'), /^0$/);
    await open(page, 'Add stock …');
    await dialog(page).getByLabel('Amount').fill('80');
    await submit(page, 'Add stock');
    await announces(page, 'a stock of 100');
    await becomes('/v1/events/voucher', 'stock', 100);
    webhook.close();
    assert.deepEqual(complaints, []);
  },

  // A deposit whose answer is lost is retried under its name, and counts once.
  async deposits_once() {
    const { page, context, complaints } = await operator('#/pools/reward');
    await context.route('**/funds', async (route) => {
      await route.fetch();
      await route.abort();
    }, { times: 1 });
    await open(page, 'Deposit …');
    for (const wrong of ['1.5', '1,0', '0', 'many']) {
      await dialog(page).getByLabel('Amount').fill(wrong);
      await shows(dialog(page), 'This is no whole number from 1 on, such as 1,000,000.');
      assert.ok(await dialog(page).getByRole('button', { name: 'Deposit', exact: true }).isDisabled(), wrong);
    }
    for (const grouped of ['1,000,000', '1 000 000']) {
      await dialog(page).getByLabel('Amount').fill(grouped);
      await shows(dialog(page).locator('.hint'), /^1,000,000$/);
    }
    await dialog(page).getByLabel('Amount').fill('500');
    await submit(page, 'Deposit');
    await shows(dialog(page), 'does not answer');
    await submit(page, 'Retry');
    await announces(page, 'The balance of reward is 1,500.');
    await becomes('/v1/pools/reward', 'funded', 1500);
    await shows(page.locator('tbody tr'), 'funded');
    await open(page, 'Audit');
    await submit(page, 'Audit');
    await announces(page, 'The audit passes');
    assert.deepEqual(complaints, []);
  },

  async looks_a_key_of_a_limit_up() {
    for (let times = 0; times < 6; times += 1) {
      await fetch(`${SERVICE}/v1/limits/login/check`, { method: 'POST', headers: { 'content-type': 'application/json', authorization: `Bearer ${keys.shop}` },
        body: JSON.stringify({ key: 'ada' }) });
    }
    const { page, complaints } = await operator('#/limits/login');
    await page.getByLabel('Key', { exact: true }).fill('ada');
    await open(page, 'Look up');
    await shows(page.locator('.found'), 'Refused');
    await open(page, 'Forget this key …');
    await submit(page, 'Forget');
    await shows(page.locator('.found'), 'Allowed');
    assert.deepEqual(complaints, []);
  },

  async a_viewer_has_no_levers() {
    await rush(5);
    const { page, complaints } = await operator('#/', { key: keys.screen });
    await shows(page.locator('.top'), 'Read only');
    for (const view of VIEWS) {
      await page.evaluate((hash) => { location.hash = hash; }, view);
      await page.locator('main h1').waitFor();
      assert.equal(await page.locator('main [aria-haspopup="dialog"]').count(), 0, view);
    }
    await page.evaluate(() => { location.hash = '#/queues/concert'; });
    await page.getByLabel('Ticket', { exact: true }).fill('3');
    await open(page, 'Find');
    await shows(page.locator('.found'), 'Waiting');
    // What the page does not offer, the service refuses.
    const status = await page.evaluate(async () => (await fetch('v1/admin/queues/concert', {
      method: 'PATCH', headers: { 'content-type': 'application/json' }, body: '{"state":"paused"}' })).status);
    assert.equal(status, 403);
    assert.deepEqual(complaints, []);
  },

  async a_key_with_scopes_sees_what_they_cover() {
    const { page, complaints } = await operator('#/', { key: keys.narrow });
    assert.deepEqual(await page.locator('.card h3').allInnerTexts(), ['concert']);
    await page.evaluate(() => { location.hash = '#/pools/reward'; });
    await shows(page.locator('main h1'), 'Not found');
    await page.evaluate(() => { location.hash = '#/queues/concert'; });
    await shows(page.locator('main'), 'Last 15 minutes');
    assert.deepEqual(complaints, []);
  },

  // A key that is removed: the page asks for another one, and returns to its view.
  async a_removed_key_ends_the_session() {
    const { page, complaints } = await operator('#/queues/concert');
    const file = readFileSync(CONFIG, 'utf8');
    const removed = file.replace(/\[keys\.ops\]\n(?:.+\n){3}/, '');
    assert.notEqual(removed, file);
    const start = Date.now();
    writeFileSync(CONFIG, removed);
    await page.waitForSelector('input[type="password"]');
    console.log(`the page asks to sign in ${Date.now() - start} ms after the key was removed`);
    await shows(page.locator('.problem'), 'The session has ended');
    await signIn(page, keys.screen);
    await shows(page.locator('main h1'), 'concert');
    assert.deepEqual(complaints, []);
  },

  // The test stops Redis and starts it, when this says so.
  async redis_down_and_back() {
    await rush(12);
    const { page, complaints } = await operator('#/');
    const waiting = stat(page.locator('.card', { hasText: 'concert' }), 'Waiting');
    await shows(waiting, /^10$/);
    console.log('stop Redis');
    await shows(page.locator('.banner'), 'Redis is down');
    await page.waitForSelector('main.stale');
    assert.equal(await waiting.innerText(), '10', 'the last value stays');
    // A dialog says it once, in plain words, before and after its call.
    await page.evaluate(() => { location.hash = '#/pools/reward'; });
    await open(page, 'Audit');
    await shows(dialog(page).locator('.problem'), /^Redis is down\. Try again when it is back\.$/);
    await submit(page, 'Audit');
    await shows(dialog(page).locator('.problem'), /^Redis is down: nothing was changed\. Try again when it is back\.$/);
    assert.equal(await dialog(page).locator('.problem').count(), 1);
    await submit(page, 'Cancel');
    await page.evaluate(() => { location.hash = '#/'; });
    console.log('start Redis');
    await page.locator('.banner', { hasText: 'Redis is down' }).waitFor({ state: 'detached' });
    await page.waitForSelector('main:not(.stale) .card');
    assert.deepEqual(complaints, []);
  },

  // The test stops Anteroom and lets it run again, when this says so.
  async connection_lost_and_back() {
    const { page, complaints } = await operator('#/');
    console.log('stop Anteroom');
    await shows(page.locator('.banner'), 'Connection lost, retrying');
    await page.waitForSelector('main.stale .card');
    console.log('start Anteroom');
    await page.waitForSelector('.pulse.good');
    assert.deepEqual(complaints, []);
  },

  // Tabs out of sight leave the connections of the browser to the one in sight.
  async has_no_stream_out_of_sight() {
    const { page, complaints } = await operator('#/');
    const isLive = (request) => request.url().endsWith('/v1/admin/live');
    const sight = (isHidden) => page.evaluate((isHidden) => {
      Object.defineProperty(document, 'hidden', { configurable: true, get: () => isHidden });
      document.dispatchEvent(new Event('visibilitychange'));
    }, isHidden);
    const ended = page.waitForEvent('requestfailed', isLive);
    await sight(true);
    await ended;
    await page.waitForSelector('.pulse.danger');
    assert.equal(await page.locator('.banner').count(), 0);
    const begun = page.waitForRequest(isLive);
    await sight(false);
    await begun;
    await page.waitForSelector('.pulse.good');
    // Names that every object has are no views, and no entities.
    for (const view of ['#/constructor/x', '#/toString', '#/__proto__/x', '#/queues/toString', '#/queues/__proto__']) {
      await page.evaluate((view) => { location.hash = view; }, view);
      await shows(page.locator('h1'), 'Not found');
      await page.evaluate(() => { location.hash = '#/'; });
      await shows(page.locator('h1'), 'Overview');
    }
    assert.deepEqual(complaints, []);
  },

  async without_keys() {
    const { page, complaints } = await operator('#/', { key: null });
    await shows(page.locator('.banner'), 'No API keys are configured');
    await page.getByRole('link', { name: 'concert' }).click();
    await open(page, 'Close …');
    await submit(page, 'Close');
    await shows(page.locator('.view-head .badge'), 'Closed');
    assert.deepEqual(complaints, []);
  },

  // From the sign-in to a pause, without a pointer.
  async with_the_keyboard_alone() {
    await rush(5);
    const { page, complaints } = await operator('#/');
    const tabTo = async (name) => {
      for (let steps = 0; steps < 60; steps += 1) {
        await page.keyboard.press('Tab');
        if (await page.evaluate(() => document.activeElement.textContent.trim() || document.activeElement.name) === name) return;
      }
      assert.fail(`no way to ${name}`);
    };
    const focusIs = async (text) => {
      try {
        await page.waitForFunction((text) => document.activeElement.textContent.trim() === text, text);
      } catch {
        assert.fail(`${await page.evaluate(() => document.activeElement.outerHTML.slice(0, 200))} has the focus, not ${text}`);
      }
    };
    await page.waitForFunction(() => document.activeElement.tagName === 'H1', undefined, { polling: 100 });
    await tabTo('concert');
    await page.keyboard.press('Enter');
    await page.waitForFunction(() => document.activeElement.tagName === 'H1' && document.activeElement.textContent === 'concert');
    await tabTo('Pause …');
    await page.keyboard.press('Enter');
    await dialog(page).waitFor();
    await page.keyboard.press('Escape');
    await dialog(page).waitFor({ state: 'detached' });
    assert.equal(await page.evaluate(() => document.activeElement.textContent), 'Pause …', 'the focus is back');
    await page.keyboard.press('Enter');
    await page.waitForFunction(() => document.activeElement.name === 'until');
    await tabTo('Cancel');
    await page.keyboard.press('Enter');
    await dialog(page).waitFor({ state: 'detached' });
    await focusIs('Pause …');
    await page.keyboard.press('Enter');
    await tabTo('Pause');
    await page.keyboard.press('Enter');
    await announces(page, 'concert is paused');
    // The button is gone with what it did: the focus is at the heading of the view.
    await page.getByRole('button', { name: 'Resume', exact: true }).waitFor();
    await focusIs('concert');
    // A dialog that destroys nothing has the focus on its button, another one on Cancel.
    await tabTo('Resume');
    await page.keyboard.press('Enter');
    await dialog(page).waitFor();
    await focusIs('Resume');
    await page.keyboard.press('Enter');
    await announces(page, 'concert is open.');
    await focusIs('concert');
    await tabTo('Evict');
    await page.keyboard.press('Enter');
    await dialog(page).waitFor();
    await focusIs('Cancel');
    await page.keyboard.press('Shift+Tab');
    await tabTo('Evict');
    await page.keyboard.press('Enter');
    await announces(page, 'has ended');
    await focusIs('Line');
    assert.deepEqual(complaints, []);
  },

  // Each view and each dialog in one theme, on a narrow phone, with forced colours and little motion.
  async is_accessible() {
    await rush(30);
    await call('PATCH', '/v1/admin/queues/concert', { state: 'paused', reason: 'We are back soon.', capacity: 3 });
    const { page, complaints } = await operator('#/', { viewport: { width: 320, height: 700 }, colorScheme: theme, reducedMotion: 'reduce', bypassCSP: true });
    await page.evaluate(axe);
    const fits = async (what) => {
      const width = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(width <= 320, `${what}: ${width} px wide`);
    };
    const check = async (what) => {
      const { violations } = await page.evaluate(() => window.axe.run());
      assert.deepEqual(violations.map(({ id, nodes }) => [id, nodes[0].html]), [], `${what} ${theme}`);
      await fits(what);
    };
    for (const view of VIEWS) {
      await page.evaluate((hash) => { location.hash = hash; }, view);
      await page.locator('main h1').waitFor();
      await page.waitForFunction(() => !document.querySelector('[aria-busy="true"]'));
      for (const details of await page.locator('details').all()) await details.evaluate((it) => { it.open = true; });
      await check(view);
      await page.emulateMedia({ forcedColors: 'active' });
      await fits(`${view}, forced colours`);
      await page.emulateMedia({ forcedColors: 'none' });
      for (const lever of await page.locator('main [aria-haspopup="dialog"]').all()) {
        const label = await lever.innerText();
        await lever.click();
        await dialog(page).locator('h2').waitFor();
        await check(`${view}, ${label}`);
        await page.keyboard.press('Escape');
        await dialog(page).waitFor({ state: 'detached' });
      }
    }
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.waitForSelector('input[type="password"]');
    await check('sign in');
    assert.deepEqual(complaints, []);
  },

  // Reports how long scripts run while the cards change.
  async shows_two_hundred_queues() {
    const { page, context, complaints } = await operator('#/');
    await page.waitForFunction(() => document.querySelectorAll('.cards.queues .card').length >= 200);
    const session = await context.newCDPSession(page);
    await session.send('Performance.enable');
    const measure = async () => {
      const { metrics } = await session.send('Performance.getMetrics');
      return Object.fromEntries(metrics.map(({ name: metric, value }) => [metric, value]));
    };
    // Each second a visitor joins each queue, as fast as the machine can.
    let isOver = false;
    let joined = 0;
    const joining = (async () => {
      for (let round = 0; !isOver; round += 1) {
        const second = page.waitForTimeout(1000);
        for (let queue = 0; queue < 200 && !isOver; queue += 20) {
          await Promise.all(Array.from({ length: 20 }, (_, at) => join(`visitor-${round}`, `queue-${queue + at}`)));
          joined += 20;
        }
        await second;
      }
    })();
    await page.waitForTimeout(3000);
    joined = 0;
    const before = await measure();
    await page.waitForTimeout(15_000);
    const after = await measure();
    isOver = true;
    await joining;
    const perSecond = (metric) => (1000 * (after[metric] - before[metric])) / (after.Timestamp - before.Timestamp);
    console.log(`200 queues, ${(joined / 15).toFixed(0)} joins a second: ${perSecond('ScriptDuration').toFixed(1)} ms of script a second, ${perSecond('TaskDuration').toFixed(1)} ms of all tasks`);
    await page.getByLabel('Filter by name or state').fill('queue-117');
    await page.waitForFunction(() => document.querySelectorAll('.card').length === 1);
    assert.deepEqual(complaints, []);
  },

  // The pictures of the documentation. To write them, visitors come and go for some minutes.
  async pictures() {
    const seconds = UPDATE_DOCS ? 150 : 3;
    const end = Date.now() + 1000 * seconds;
    await call('PATCH', '/v1/admin/queues/concert', { capacity: 240 });
    await call('PATCH', '/v1/admin/queues/vaccination', { state: 'paused', reason: 'We continue at 14:30.', until: new Date(Date.now() + 3_600_000).toISOString() });
    const pause = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });
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
    await page.evaluate(() => { location.hash = '#/queues/concert'; });
    await page.locator('.chart svg').first().waitFor();
    await take('console-queue');
    await browser.close();
    // Visits that have not ended yet.
    process.exit(0);
  },
};

try {
  await scenes[name]();
} finally {
  await browser.close();
}
