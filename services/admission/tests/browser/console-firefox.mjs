// The console in Firefox: sign-in, the overview, a queue, and the end of the session. What fails throws.
import assert from 'node:assert/strict';
import puppeteer from 'puppeteer-core';

const { SERVICE, FIREFOX, KEYS } = process.env;
const { ops, shop } = JSON.parse(KEYS);
const join = async (visitor) => {
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${shop}` };
  const body = JSON.stringify({ visitor_id: visitor });
  const answer = await fetch(`${SERVICE}/v1/queues/concert/tokens`, { method: 'POST', headers, body });
  assert.ok(answer.ok, String(answer.status));
};

// Wide, for a machine that has much else to do.
const timeout = 180_000;
const browser = await puppeteer.launch({ browser: 'firefox', executablePath: FIREFOX, headless: true, timeout, protocolTimeout: timeout });
try {
  const page = await browser.newPage();
  page.setDefaultTimeout(timeout);
  const complaints = [];
  page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()));
  page.on('pageerror', (error) => complaints.push(String(error)));
  await page.setViewport({ width: 390, height: 844 });
  await page.goto(`${SERVICE}/console`);
  await page.waitForSelector('input[type="password"]');
  await page.type('input[type="password"]', ops);
  await page.keyboard.press('Enter');
  await page.waitForSelector('.pulse.good');
  // The style came, too.
  assert.equal(await page.$eval('.top', (top) => getComputedStyle(top).position), 'sticky');
  const waiting = (number) => page.waitForFunction(
    (text) => document.querySelector('.stat.large dd')?.textContent === text, {}, String(number));
  await waiting(0);
  for (let visitor = 0; visitor < 6; visitor += 1) await join(`visitor-${visitor}`);
  await waiting(4);
  await page.reload();
  await waiting(4);
  await page.click('.card h3 a');
  await page.waitForSelector('.rule');
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth) <= 390);
  await page.evaluate(() => [...document.querySelectorAll('button')].find((it) => it.textContent === 'Sign out').click());
  await page.waitForSelector('input[type="password"]');
  assert.deepEqual(complaints, []);
} finally {
  await browser.close();
}
