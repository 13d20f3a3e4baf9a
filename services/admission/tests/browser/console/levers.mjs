// Scenes of the console: what an operator changes and looks up.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { isAccessible } from '../chromium.mjs';
import { call, join, keys, rush } from './calls.mjs';
import { announces, becomes, desk, dialog, goTo, open, operator, rule, shows, stat, submit } from './operator.mjs';

const { PUBLIC, SERVICE, WEBHOOK_PORT } = process.env;

// The words of an element that are on more than one line.
function brokenWords(element) {
  const found = [];
  const texts = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    for (const { 0: word, index } of texts.currentNode.data.matchAll(/\S+/g)) {
      const range = document.createRange();
      range.setStart(texts.currentNode, index);
      range.setEnd(texts.currentNode, index + word.length);
      if (new Set([...range.getClientRects()].map(({ top }) => top)).size > 1) found.push(word);
    }
  }
  return found;
}

export const levers = {
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
    // One press is enough, though another operator changes another rule.
    await call('PATCH', '/v1/admin/queues/concert', { batch: 7 });
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
    await becomes('/v1/admin/queues/concert', 'state', 'paused');
    for (const visitor of ['ada', 'grace']) await join(visitor).catch(() => {});
    const { page, complaints } = await operator('#/');
    await shows(page.locator('.attention'), 'The line is full (1 / 1)');
    await shows(stat(page.locator('.card', { hasText: 'Success rate' }), 'Latency p95'), /^≤ \d+ ms$/);
    // A queue that opens later is no alarm.
    const opens = page.locator('.card', { hasText: 'vaccination' }).locator('.badge');
    await shows(opens, 'Opens 15 Jan 2099, 20:00');
    assert.match(await opens.evaluate((it) => getComputedStyle(it).display), /block$/, 'a flex box has no space between its parts');
    await shows(page.locator('.attention'), 'paused by the health of its target');
    assert.ok(!(await page.locator('.attention').innerText()).includes('vaccination'));
    await goTo(page, '#/queues/concert', 'concert');
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
    await goTo(page, '#/queues/vaccination', 'vaccination');
    await shows(page.locator('.view-head .badge'), 'Opens 15 Jan 2099, 20:00');
    await open(page, 'Open …');
    await submit(page, 'Open');
    await announces(page, 'vaccination stays paused: it opens 15 Jan 2099');
    assert.deepEqual(complaints, []);
  },

  // Two operators change the capacity at the same time: the second sees both values, and decides.
  async changes_the_capacity_in_conflict() {
    const [first, second] = [await operator('#/queues/concert', { bypassCSP: true }), await operator('#/queues/concert')];
    const change = async ({ page }, value) => {
      await rule(page, 'Capacity').getByRole('button', { name: 'Change capacity' }).click();
      await dialog(page).getByText('In force: 2').waitFor();
      await page.keyboard.type(String(value));
      assert.equal(await dialog(page).getByLabel('New value').inputValue(), String(value));
    };
    await change(first, 7);
    await change(second, 9);
    await submit(second.page, 'Change');
    await announces(second.page, 'Capacity of concert is 9.');
    await submit(first.page, 'Change');
    const conflict = first.page.locator('.conflict');
    await conflict.waitFor();
    await first.page.setViewportSize({ width: 320, height: 800 });
    await isAccessible(first.page, 'conflict');
    await first.page.setViewportSize({ width: 1280, height: 900 });
    assert.deepEqual(await conflict.locator('b, dd').allInnerTexts(), ['Capacity', '2', '9, no end', '7, no end']);
    await shows(dialog(first.page), /In force: 9\s*An override of ops, no end\. The file has 2\./);
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
    // A conflict shows the ends, too. What the operator sees is what is sent.
    await rule(first.page, 'Batch').getByRole('button', { name: 'Change batch' }).click();
    await shows(dialog(first.page), 'In force: 6');
    const later = new Date(Date.now() + 7_200_000).toISOString().replace(/\.\d+/, '');
    await call('PATCH', '/v1/admin/queues/concert', { batch: 6, until: later });
    await dialog(first.page).getByLabel('New value').fill('8');
    await submit(first.page, 'Change');
    await conflict.waitFor();
    const ends = await conflict.locator('time').evaluateAll((times) => times.map((it) => it.dateTime));
    assert.deepEqual(ends.map((end) => Date.parse(end)), [until, later, until].map((end) => Date.parse(end)));
    await submit(first.page, 'Apply mine');
    await announces(first.page, 'Batch of concert is 8.');
    assert.equal((await call('GET', '/v1/admin/queues/concert')).overrides.batch.until, until);
    // Another rule that has changed is no conflict.
    await rule(first.page, 'Batch').getByRole('button', { name: 'Change batch' }).click();
    await shows(dialog(first.page), 'In force: 8');
    await call('PATCH', '/v1/admin/queues/concert', { session_ttl_ms: 900_000 });
    await dialog(first.page).getByLabel('New value').fill('4');
    await submit(first.page, 'Change');
    await announces(first.page, 'Batch of concert is 4.');
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
    await shows(page.locator('.differences'), /^status Waiting → Ended: evicted$/);
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
    await shows(page.locator('[aria-labelledby="section-line"]'), 'No places.');
    // The line shows later visitors without a press.
    await rush(5);
    await shows(page.locator('[aria-labelledby="section-line"] tbody th'), /^3$/);
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
    // On a phone each word is on one line.
    await page.setViewportSize({ width: 390, height: 844 });
    await page.getByRole('button', { name: 'Give up retry' }).waitFor();
    assert.deepEqual(await page.locator('[aria-labelledby="section-dead-letters"] table').evaluate(brokenWords), []);
    await page.setViewportSize({ width: 1280, height: 900 });
    await open(page, 'Give up retry');
    await submit(page, 'Give up');
    await announces(page, 'retry is given up');
    await shows(page.locator('.differences'), /^dead letters 4 → 3$/);
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

  // A deposit whose answer is lost, breaks off, or comes from a proxy is retried under its name, and counts once.
  async deposits_once() {
    const { page, context, complaints } = await operator('#/pools/reward');
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
    const faults = [
      ['Anteroom does not answer', (route) => route.abort()],
      ['Anteroom does not answer', (route) => route.fulfill({ status: 200, contentType: 'application/json', body: '{"balance": 15' })],
      ['Anteroom does not answer', (route) => route.fulfill({ status: 200, contentType: 'text/html', body: '<p>Hello' })],
      ['Anteroom does not answer', (route) => route.fulfill({ status: 200, body: '' })],
      ['Anteroom did not answer (HTTP 502)', (route) => route.fulfill({ status: 502, contentType: 'text/html', body: '<p>Bad gateway' })],
    ];
    for (const [number, [text, fault]] of faults.entries()) {
      await context.route('**/funds', async (route) => {
        await route.fetch();
        await fault(route);
      }, { times: 1 });
      const sent = page.waitForRequest('**/funds');
      await submit(page, number ? 'Retry' : 'Deposit');
      await sent;
      await shows(dialog(page).locator('.problem strong'), text);
      await shows(dialog(page), 'its effect is unknown');
    }
    await submit(page, 'Retry');
    await announces(page, 'The balance of reward is 1,500.');
    await becomes('/v1/pools/reward', 'funded', 1500);
    const funded = page.locator('[aria-labelledby="section-ledger"] tbody tr', { hasText: 'funded' });
    await shows(funded, '500');
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
    const row = page.locator('[aria-labelledby="section-changes"] tbody tr');
    await shows(row, 'Key forgotten');
    assert.equal(await row.locator('.differences').innerText(), '');
    assert.deepEqual(complaints, []);
  },
};
