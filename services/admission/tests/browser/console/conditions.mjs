// Scenes of the console: keys, connections, the keyboard, accessibility, and many queues.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { isAccessible, theme } from '../chromium.mjs';
import { call, join, keys, rush } from './calls.mjs';
import { VIEWS, announces, desk, dialog, fits, goTo, open, operator, shows, signIn, stat, submit } from './operator.mjs';

const { SERVICE, CONFIG } = process.env;

export const conditions = {
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

  async a_viewer_has_no_levers() {
    await rush(5);
    const { page, complaints } = await operator('#/', { key: keys.screen });
    await shows(page.locator('.top'), 'Read only');
    for (const [view, heading] of VIEWS) {
      await goTo(page, view, heading);
      assert.equal(await page.locator('main [aria-haspopup="dialog"]').count(), 0, view);
    }
    await goTo(page, '#/queues/concert', 'concert');
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
    await goTo(page, '#/pools/reward', 'Not found');
    await shows(page.locator('main'), 'No pool “reward” is configured here, or this key does not cover it.');
    await goTo(page, '#/queues/concert', 'concert');
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
    // All of a view is grey, with its badges, charts and buttons.
    await goTo(page, '#/queues/concert', 'concert');
    const isGrey = (it) => { for (let at = it; at; at = at.parentElement) if (getComputedStyle(at).filter.includes('grayscale')) return true; return false; };
    for (const part of ['.view-head .badge', '.levers button', '.bar', '.chart', '.rule .value']) {
      assert.ok(await page.locator(`main ${part}`).first().evaluate(isGrey), part);
    }
    // Operators see no headers: the problem of a list names none.
    await shows(page.locator('.panel .problem'), /Redis is not available.*An outage of Redis ends no waiting place/);
    assert.equal(await page.locator('main', { hasText: 'Retry-After' }).count(), 0);
    await goTo(page, '#/pools/reward', 'reward');
    await open(page, 'Audit');
    await shows(dialog(page).locator('.problem'), /^Redis is down\. Try again when it is back\.$/);
    await submit(page, 'Audit');
    await shows(dialog(page).locator('.problem'), /^Redis is down: nothing was changed\. Try again when it is back\.$/);
    assert.equal(await dialog(page).locator('.problem').count(), 1);
    await submit(page, 'Cancel');
    await goTo(page, '#/', 'Overview');
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
      await goTo(page, view, 'Not found');
      await goTo(page, '#/', 'Overview');
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
    // Tab skips the preview: Escape there would not reach the dialog.
    for (let steps = 0; steps < 8; steps += 1) {
      await page.keyboard.press('Tab');
      assert.notEqual(await page.evaluate(() => document.activeElement.tagName), 'IFRAME');
    }
    await tabTo('Cancel');
    await page.keyboard.press('Enter');
    await dialog(page).waitFor({ state: 'detached' });
    await focusIs('Pause …');
    await page.keyboard.press('Enter');
    await dialog(page).getByRole('button', { name: 'Pause', exact: true, disabled: false }).waitFor();
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
    for (const [view, heading] of VIEWS) {
      await goTo(page, view, heading);
      await page.waitForFunction(() => !document.querySelector('[aria-busy="true"]'));
      for (const details of await page.locator('details').all()) await details.evaluate((it) => { it.open = true; });
      await isAccessible(page, view);
      for (const lever of await page.locator('main [aria-haspopup="dialog"]').all()) {
        const label = await lever.innerText();
        await lever.click();
        await dialog(page).locator('h2').waitFor();
        await isAccessible(page, `${view}, ${label}`);
        await fits(page);
        await page.keyboard.press('Escape');
        await dialog(page).waitFor({ state: 'detached' });
      }
    }
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.waitForSelector('input[type="password"]');
    await isAccessible(page, 'sign in');
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
    // The filter finds what a badge shows, and says if there is nothing.
    await call('PATCH', '/v1/admin/queues/queue-117', { opens_at: '2099-01-15T11:00:00Z' });
    await page.getByLabel('Filter by name or state').fill('opens 2099');
    await shows(page.locator('.card h3'), /^queue-117$/);
    assert.equal(await page.locator('.card').count(), 1);
    await page.getByLabel('Filter by name or state').fill('no such card');
    await shows(page.locator('main'), 'No card has “no such card” in its name or state.');
    assert.deepEqual(complaints, []);
  },
};
