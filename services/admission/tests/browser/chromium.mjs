// Chromium for one scene: node SCRIPT NAME [THEME].
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { chromium } from 'playwright-core';
import { timeout } from './timeout.mjs';

const [name, theme] = process.argv.slice(2);
export { theme };
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM, args: ['--no-sandbox', '--disable-dev-shm-usage'], timeout,
});
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

// A user with cookies of its own. What its pages complain of is kept, unless it is `expected`.
export async function user(options, expected = () => false) {
  const context = await browser.newContext(options);
  context.setDefaultTimeout(timeout);
  const complaints = [];
  context.on('page', (page) => {
    page.on('console', (message) => message.type() === 'error' && !expected(message.text()) && complaints.push(message.text()));
    page.on('pageerror', (error) => complaints.push(String(error)));
  });
  return { context, complaints };
}

// What a page shows is accessible, and as wide as a narrow phone, with forced colours too.
export async function isAccessible(page, what) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => window.axe.run());
  assert.deepEqual(violations.map(({ id, nodes }) => [id, nodes[0].html]), [], `${what} ${theme}`);
  for (const forcedColors of ['active', 'none']) {
    await page.emulateMedia({ forcedColors });
    const width = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(width <= 320, `${what}, forced colours ${forcedColors}: ${width} px wide`);
  }
}

// Plays the scene that the command names. What fails throws.
export async function play(scenes) {
  try {
    await scenes[name]();
  } finally {
    await browser.close();
  }
}
