// The console in Firefox: sign-in, the overview, a queue, and the end of the session. What fails throws.
import assert from 'node:assert/strict';
import { join, keys } from './console/calls.mjs';
import { inFirefox } from './firefox-page.mjs';

const { SERVICE } = process.env;

await inFirefox(async (page) => {
  await page.goto(`${SERVICE}/console`);
  await page.waitForSelector('input[type="password"]');
  await page.type('input[type="password"]', keys.ops);
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
  // What is typed in a dialog replaces the value in force.
  await page.click('.rule button');
  await page.waitForSelector('dialog input[name="capacity"]:focus');
  await page.keyboard.type('7');
  assert.equal(await page.$eval('dialog input', (input) => input.value), '7');
  await page.keyboard.press('Escape');
  await page.waitForFunction(() => !document.querySelector('dialog'));
  await page.evaluate(() => [...document.querySelectorAll('button')].find((it) => it.textContent === 'Sign out').click());
  await page.waitForSelector('input[type="password"]');
});
