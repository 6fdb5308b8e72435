// What the tests of the page share: base directories, servers, pages, replies.
//
// Each test has a base directory and a server of its own. `AGENT_PROGRAM` names the program, `AGENT_PICTURES`
// a folder for pictures of the main screens, `AGENT_ROUNDS` how many rounds the long session has, `AGENT_PAGE` a
// folder with scripts and styles to use in place of those that are compiled in.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import readline from 'node:readline';
import { after, before } from 'node:test';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';

const here = path.dirname(fileURLToPath(import.meta.url));
export const program = process.env.AGENT_PROGRAM ?? path.join(here, '../../target/debug/agent');
const pictures = process.env.AGENT_PICTURES;
const parts = process.env.AGENT_PAGE;
export const longSession = Number(process.env.AGENT_ROUNDS ?? 500);
const axeSource = fs.readFileSync(path.join(here, 'node_modules/axe-core/axe.min.js'), 'utf8');
export const DEADLINE = 60_000;

export let browser;
const roots = [];

before(async () => {
  browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
      '--disable-component-update', '--disable-sync', '--host-resolver-rules=MAP evil.test 127.0.0.1'],
  });
});
after(async () => {
  await browser?.close();
  for (const root of roots) fs.rmSync(root, { recursive: true, force: true, maxRetries: 5 });
});

/** A base directory; everything in it goes when the tests end. */
export function place() {
  const root = fs.mkdtempSync(path.join(os.tmpdir(), 'agent-page-'));
  const base = path.join(root, 'base');
  fs.mkdirSync(base);
  roots.push(root);
  return { root, base };
}

export function start(base, args) {
  const root = path.dirname(base);
  const env = { PATH: process.env.PATH, HOME: path.join(root, 'home'), XDG_STATE_HOME: path.join(root, 'state') };
  return spawn(program, args, { cwd: base, env, stdio: ['ignore', 'pipe', 'pipe'] });
}

/** A server; `link` opens its page once. */
export const serve = (t, base, ...flags) => launch(t, base, ['serve', '--no-open', '--json', '--base', '.', ...flags]);

export async function launch(t, base, args) {
  const child = start(base, args);
  let errors = '';
  child.stderr.on('data', (data) => { errors += data; });
  t.after(() => stop(child));
  const lines = readline.createInterface({ input: child.stdout });
  const told = await new Promise((resolve, reject) => {
    lines.once('line', resolve);
    child.once('exit', () => reject(new Error(errors)));
  });
  const { address, link } = JSON.parse(told);
  return { child, address, link, port: Number(address.split(':').pop()) };
}

export function stop(child, signal = 'SIGTERM') {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
  const gone = new Promise((resolve) => { child.once('exit', resolve); });
  child.kill(signal);
  return gone;
}

/** A page; whatever goes wrong in it fails the test. */
export async function open(t, link, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1100, height: 800 }, ...options });
  t.after(async () => {
    if (!t.passed) for (const page of context.pages()) t.diagnostic(`${page.url()}\n${await page.locator('body').innerText()}`);
    await context.close();
  });
  context.setDefaultTimeout(DEADLINE);
  await context.grantPermissions(['clipboard-read', 'clipboard-write', 'notifications']);
  if (parts) {
    await context.route(/\.(js|css)$/, async (route) => {
      const body = fs.readFileSync(path.join(parts, path.basename(route.request().url())));
      route.fulfill({ response: await route.fetch(), body });
    });
  }
  const page = await context.newPage();
  const wrong = [];
  page.on('pageerror', (error) => wrong.push(String(error)));
  page.on('dialog', (dialog) => { wrong.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
  page.on('console', (message) => { if (/Content Security Policy|Trusted/i.test(message.text())) wrong.push(message.text()); });
  page.on('request', (request) => { if (!request.url().startsWith(new URL(link).origin) && !request.url().startsWith('blob:')) wrong.push(`request: ${request.url()}`); });
  t.after(() => assert.deepEqual(wrong, []));
  await page.goto(link);
  return page;
}

export async function begin(page, task) {
  await page.goto(new URL('/#/new', page.url()).href);
  await page.getByLabel('Task', { exact: true }).fill(task);
  await page.getByRole('button', { name: 'Start' }).click();
  await page.getByRole('heading', { name: 'Round 1: your turn' }).waitFor();
  return /#\/s\/([0-9a-f]{8})/.exec(page.url())[1];
}

export const mark = (id, round) => `\n[END ${id}#${round}]\n`;

/** Copies a reply, as the person does in the chat, and presses Ctrl+V on the page. */
export async function paste(page, text) {
  await page.evaluate((value) => navigator.clipboard.writeText(value), text);
  await page.locator('#main').focus();
  await page.keyboard.press('Control+V');
}

export const turn = (page, round) => page.getByRole('heading', { name: `Round ${round}: your turn` }).waitFor();
/** Longer than a question must have been in sight. */
export const readIt = (page) => page.waitForTimeout(350);

export async function picture(page, name) {
  if (!pictures) return;
  fs.mkdirSync(pictures, { recursive: true });
  // A picture shows a person's folders, not those of the test.
  await page.evaluate((all) => {
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
      for (const root of all) {
        const text = texts.currentNode;
        if (text.data.includes(root)) text.data = text.data.replaceAll(`${root}/base`, '/home/ada/project').replaceAll(`${root}/home`, '/home/ada');
      }
    }
  }, roots);
  for (const colours of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme: colours });
    await page.screenshot({ path: path.join(pictures, `${name}-${colours}.png`) });
  }
  await page.emulateMedia({ colorScheme: 'light' });
}

/** Nothing serious that shuts people out, in both colours. */
export async function accessible(page, what) {
  for (const colours of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme: colours });
    await page.evaluate(axeSource);
    const { violations } = await page.evaluate(() => window.axe.run(document));
    const serious = violations.filter((one) => ['serious', 'critical'].includes(one.impact));
    assert.deepEqual(serious.map((one) => [one.id, one.nodes.map((node) => node.html)]), [], `${what}, ${colours}`);
  }
  await page.emulateMedia({ colorScheme: 'light' });
}
