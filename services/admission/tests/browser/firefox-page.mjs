// A page of a phone in Firefox, without complaints. What fails throws.
import assert from 'node:assert/strict';
import puppeteer from 'puppeteer-core';
import { timeout } from './timeout.mjs';

export async function inFirefox(act) {
  const browser = await puppeteer.launch({
    browser: 'firefox', executablePath: process.env.FIREFOX, headless: true, timeout, protocolTimeout: timeout,
  });
  try {
    const page = await browser.newPage();
    page.setDefaultTimeout(timeout);
    const complaints = [];
    page.on('console', (message) => ['error', 'warn'].includes(message.type()) && complaints.push(message.text()));
    page.on('pageerror', (error) => complaints.push(String(error)));
    await page.setViewport({ width: 390, height: 844 });
    await act(page);
    assert.deepEqual(complaints, []);
  } finally {
    await browser.close();
  }
}
