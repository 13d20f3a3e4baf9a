// One visit of the waiting page in Chromium: node visits.mjs NAME [THEME]. What fails throws.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { isAccessible, play, theme, user } from './chromium.mjs';

const { PUBLIC, SERVICE, REPOSITORY } = process.env;
const room = `${PUBLIC}/queues/concert`;

// A visitor with a phone.
async function visitor(options = {}) {
  const { context, complaints } = await user({ viewport: { width: 390, height: 844 }, locale: 'en', ...options });
  return { context, complaints, open: async (address = room) => {
    const page = await context.newPage();
    await page.goto(address);
    return page;
  } };
}
const view = (page) => page.locator('#room').getAttribute('data-view');
const shows = (page, name) => page.waitForSelector(`#room[data-view="${name}"]`);
const heading = (page) => page.locator('#heading').innerText();
const ticket = async (page) => (await page.evaluate(async () => (await fetch('../v1/queues/concert/token')).json())).ticket;
// The queue has room for one: this one is inside, so that all others wait.
async function holder() {
  const page = await (await visitor()).open();
  await shows(page, 'ready');
  await page.click('#enter');
  await shows(page, 'inside');
  return page;
}

const visits = {
  // Joins, waits, is called, enters, finishes; the next one is called.
  async journey() {
    const first = await holder();
    const { complaints, open } = await visitor();
    const page = await open();
    await shows(page, 'waiting');
    assert.equal(await heading(page), 'You are next');
    assert.match(await page.innerText('#since'), /In line since \d/);
    assert.match(await page.title(), /^\(0\) /);
    await first.click('#finish');
    await shows(first, 'finished');
    await shows(page, 'ready');
    assert.match(await page.innerText('#time'), /^\d+:\d\d$/);
    assert.match(await page.title(), /^● /);
    assert.equal(await page.evaluate(() => document.activeElement.id), 'heading', 'a screen reader hears it');
    await page.click('#enter');
    await shows(page, 'inside');
    await page.click('#finish');
    await shows(page, 'finished');
    await page.reload();
    assert.equal(await view(page), 'finished', 'a reload does not join');
    assert.deepEqual(complaints, []);
  },

  // Reload, five tabs, a closed tab: all are one place.
  async one_place() {
    await holder();
    const { complaints, open } = await visitor();
    const page = await open();
    await shows(page, 'waiting');
    const own = await ticket(page);
    await page.reload();
    await shows(page, 'waiting');
    const tabs = await Promise.all([1, 2, 3, 4].map(() => open()));
    await Promise.all(tabs.map((tab) => shows(tab, 'waiting')));
    for (const tab of [page, ...tabs]) assert.equal(await ticket(tab), own);
    await Promise.all([page, ...tabs].map((tab) => tab.close()));
    const again = await open();
    await shows(again, 'waiting');
    assert.equal(await ticket(again), own);
    assert.deepEqual(complaints, []);
  },

  // A page with an address goes on to it, as soon as it is looked at.
  async goes_on() {
    const first = await holder();
    const { open } = await visitor();
    const page = await open(`${room}?return_to=/openapi.json`);
    await shows(page, 'waiting');
    await first.click('#finish');
    await page.waitForURL(`${PUBLIC}/openapi.json`);
  },

  async offline_and_back() {
    await holder();
    const { context, open } = await visitor();
    // Without streams: a stream that breaks is opened again by the browser.
    await context.addInitScript(() => { delete window.EventSource; });
    const page = await open();
    await shows(page, 'waiting');
    const own = await ticket(page);
    await context.setOffline(true);
    await shows(page, 'offline');
    await context.setOffline(false);
    await shows(page, 'waiting');
    assert.equal(await ticket(page), own);
  },

  async leaves_with_the_keyboard_alone() {
    await holder();
    const { complaints, open } = await visitor();
    const page = await open();
    await shows(page, 'waiting');
    const tabTo = async (id) => {
      for (let steps = 0; steps < 30; steps += 1) {
        await page.keyboard.press('Tab');
        const found = await page.evaluate((wanted) => document.activeElement.closest(`#${wanted}`) !== null, id);
        if (found) return;
      }
      assert.fail(`no way to ${id}`);
    };
    await tabTo('leave');
    await page.keyboard.press('Enter');
    await tabTo('leave_no');
    await page.keyboard.press('Enter');
    assert.equal(await page.locator('#leave').getAttribute('open'), null, 'the visitor stays');
    assert.equal(await page.evaluate(() => document.activeElement.tagName), 'SUMMARY');
    assert.equal(await view(page), 'waiting');
    await page.focus('#leave summary');
    await page.keyboard.press('Enter');
    await tabTo('leave_yes');
    await page.keyboard.press('Enter');
    await shows(page, 'left');
    await page.keyboard.press('Shift+Tab');
    await tabTo('join');
    await page.keyboard.press('Enter');
    await shows(page, 'waiting');
    assert.deepEqual(complaints, []);
  },

  async without_javascript() {
    const first = await holder();
    const { open } = await visitor({ javaScriptEnabled: false });
    const page = await open();
    await page.click('#join');
    await shows(page, 'waiting');
    assert.equal(await heading(page), 'You are next');
    await first.click('#finish');
    await shows(page, 'ready');
    await page.click('#enter');
    await shows(page, 'inside');
    await page.click('#finish');
    await shows(page, 'finished');
    await page.click('#join');
    await shows(page, 'ready');
  },

  // A switch of the language keeps the place.
  async in_another_language() {
    await holder();
    const { complaints, open } = await visitor({ locale: 'ar' });
    const page = await open();
    await shows(page, 'waiting');
    assert.equal(await page.evaluate(() => getComputedStyle(document.body).direction), 'rtl');
    const own = await ticket(page);
    await page.click('#languages summary');
    await page.click('#languages button[lang="ja"]');
    await page.waitForSelector('html[lang="ja"] #room[data-view="waiting"]');
    assert.equal(await ticket(page), own);
    assert.deepEqual(complaints, []);
  },

  // On a slow phone the page itself comes first, and says what it knows without the script.
  async on_a_slow_network() {
    await holder();
    const { context, complaints } = await visitor();
    const page = await context.newPage();
    const session = await context.newCDPSession(page);
    await session.send('Network.emulateNetworkConditions', {
      offline: false, latency: 400, downloadThroughput: 50 * 1024, uploadThroughput: 50 * 1024,
    });
    // The script comes when the page was read, however fast the machine is.
    let release;
    const wasRead = new Promise((resolve) => { release = resolve; });
    await context.route('**/assets/*.js', (route) => wasRead.then(() => route.continue()));
    await page.goto(room, { waitUntil: 'commit' });
    await page.waitForSelector('#heading');
    assert.equal(await heading(page), 'You are not in line yet');
    release();
    await shows(page, 'waiting');
    assert.deepEqual(complaints, []);
  },

  // The page of docs/how-to/integrate/custom-waiting-page.md, on the host of the waiting page.
  async custom_page() {
    const guide = readFileSync(`${REPOSITORY}/docs/how-to/integrate/custom-waiting-page.md`, 'utf8');
    const html = guide.split('```html\n')[1].split('```')[0];
    const first = await holder();
    const { context, complaints, open } = await visitor();
    const own = `${PUBLIC}/waiting/?return_to=/openapi.json`;
    await context.route(own, (route) => route.fulfill({ contentType: 'text/html', body: html }));
    const page = await open(own);
    const waits = () => page.waitForFunction(
      () => document.getElementById('message').textContent.startsWith('You are number 1.'));
    await waits();
    await page.reload();
    await waits();
    await first.click('#finish');
    await page.waitForURL(`${PUBLIC}/openapi.json`);
    assert.deepEqual(complaints, []);
  },

  // A second visit loads the document alone, and no visit asks another host.
  async loads_little() {
    await holder();
    const { context, open } = await visitor();
    const page = await context.newPage();
    const session = await context.newCDPSession(page);
    await session.send('Network.enable');
    let loaded = [];
    const cached = new Set();
    session.on('Network.requestServedFromCache', ({ requestId }) => cached.add(requestId));
    session.on('Network.responseReceived', ({ requestId, response, type }) => {
      if (response.fromDiskCache) cached.add(requestId);
      loaded.push({ requestId, type, url: response.url });
    });
    const visit = async () => {
      loaded = [];
      await page.goto(room);
      await shows(page, 'waiting');
      return loaded.filter(({ requestId, type }) => !cached.has(requestId) && type !== 'Fetch' && type !== 'EventSource');
    };
    const first = await visit();
    assert.ok(first.length >= 3, JSON.stringify(first));
    for (const { url } of first) assert.ok(url.startsWith(PUBLIC), url);
    assert.deepEqual((await visit()).map(({ type }) => type), ['Document']);
    await open();
  },

  // A page without its style loads itself again: soon at first, for it may be of another version, and then rarely.
  async without_its_style() {
    await holder();
    const { context } = await visitor();
    await context.clock.install();
    await context.route('**/assets/*.css', (route) => route.abort());
    const page = await context.newPage();
    let loads = 0;
    page.on('load', () => { loads += 1; });
    const after = async (seconds, expected) => {
      await page.clock.fastForward(1000 * seconds);
      const again = expected > loads ? page.waitForEvent('load') : null;
      if (again) await again;
      assert.equal(loads, expected, `${seconds} s`);
      await shows(page, 'waiting');
    };
    await page.goto(room);
    await shows(page, 'waiting');
    await after(16, 2);
    await after(100, 2);
    await after(300, 3);
  },

  // A notification and a sound are on request alone.
  async notifies_on_request() {
    const first = await holder();
    const { context, open } = await visitor();
    await context.grantPermissions(['notifications'], { origin: PUBLIC });
    await context.addInitScript(() => {
      window.notes = [];
      const Asked = window.Notification;
      window.Notification = class {
        constructor(title, options) { window.notes.push([title, options.body]); }
        static requestPermission() { return Asked.requestPermission(); }
        static get permission() { return Asked.permission; }
      };
    });
    const page = await open();
    await shows(page, 'waiting');
    await page.click('#notify');
    await page.waitForSelector('#notified:not([hidden])');
    assert.equal(await page.evaluate(() => document.activeElement.id), 'notified', 'a screen reader hears it');
    await page.evaluate(() => {
      Object.defineProperty(document, 'hidden', { get: () => true });
    });
    await first.click('#finish');
    await shows(page, 'ready');
    assert.deepEqual(await page.evaluate(() => window.notes), [['Waiting room', 'It is your turn. Open the page to enter.']]);
  },

  // Each state in one theme and both directions, on a narrow phone, with forced colours and little motion.
  async is_accessible() {
    const preview = `${SERVICE}/v1/admin/queues/concert/preview`;
    const { detail } = await (await fetch(`${preview}?state=none`)).json();
    const states = detail.replace('state must be one of ', '').split(', ');
    assert.ok(states.length > 20, detail);
    const { context, complaints } = await visitor({ viewport: { width: 320, height: 700 }, reducedMotion: 'reduce' });
    const page = await context.newPage();
    for (const lang of ['en', 'ar']) {
      for (const state of states) {
        const answer = await fetch(`${preview}?state=${state}&lang=${lang}&theme=${theme}`);
        await page.setContent(await answer.text());
        await isAccessible(page, `${state} ${lang}`);
      }
    }
    assert.deepEqual(complaints, []);
  },
};

await play(visits);
