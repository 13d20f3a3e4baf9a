// What an operator does and sees, for the scenes of the console.
import assert from 'node:assert/strict';
import { user } from '../chromium.mjs';
import { timeout } from '../timeout.mjs';
import { call, keys } from './calls.mjs';

const { SERVICE } = process.env;

// A user at a desk. The browser itself reports a refused call; a file or a frame that the policy blocks
// is a fault.
export const desk = (options) => user(
  { viewport: { width: 1280, height: 900 }, locale: 'en-GB', timezoneId: 'Asia/Seoul', ...options },
  (text) => text.startsWith('Failed to load resource'));
export async function signIn(page, key) {
  await page.fill('input[type="password"]', key);
  await page.keyboard.press('Enter');
}
// An operator at a view of the console.
export async function operator(view = '#/', { key = keys.ops, ...options } = {}) {
  const { context, complaints } = await desk(options);
  const page = await context.newPage();
  await page.goto(`${SERVICE}/console${view}`);
  if (key) await signIn(page, key);
  await page.waitForSelector('.pulse.good');
  return { page, context, complaints };
}
// Waits until an answer, which can be a second old, has this value.
export async function becomes(path, field, value) {
  const end = Date.now() + timeout;
  while ((await call('GET', path))[field] !== value) assert.ok(Date.now() < end, `${path}: ${field} is not ${value}`);
}
export const open = (page, label) => page.getByRole('button', { name: label, exact: true }).click();
export const dialog = (page) => page.locator('dialog');
// What the open dialog shows fits into it, on a desk and on phones.
export async function fits(page) {
  const { width: own, height } = page.viewportSize();
  for (const width of [320, 390, 1280, own]) {
    await page.setViewportSize({ width, height });
    const wide = await dialog(page).evaluate((it) => {
      const { right } = it.getBoundingClientRect();
      const parts = [it, ...it.querySelectorAll(':not(input, option, iframe, .preview > div)')];
      const isWide = (part) => part.getBoundingClientRect().right > right || (part.clientWidth > 0 && part.scrollWidth > part.clientWidth + 1);
      return parts.filter(isWide).map((part) => part.outerHTML.slice(0, 200));
    });
    assert.deepEqual(wide, [], `${width} px`);
  }
}
export async function submit(page, label) {
  await fits(page);
  await dialog(page).getByRole('button', { name: label, exact: true }).click();
}
export const announces = (page, text) => page.locator('.notices', { hasText: text }).waitFor();
export const stat = (scope, label) => scope.locator('.stat', { has: scope.page().locator('dt', { hasText: new RegExp(`^${label}$`) }) }).locator('dd');
export const shows = (locator, text) => locator.filter({ hasText: text }).first().waitFor();
export const rule = (page, label) => page.locator('.rule', { hasText: label }).first();
// The address of each view, with an entity of each kind, and its heading.
export const VIEWS = [
  ['#/', 'Overview'], ['#/queues/concert', 'concert'], ['#/targets/payments', 'payments'], ['#/events/voucher', 'voucher'],
  ['#/pools/reward', 'reward'], ['#/limits/login', 'login'], ['#/queues/none', 'Not found'],
];
export async function goTo(page, view, heading) {
  await page.evaluate((hash) => { location.hash = hash; }, view);
  await shows(page.locator('main h1'), heading);
}
