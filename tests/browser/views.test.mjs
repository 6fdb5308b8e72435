// The rest of the page: what can be done with a session, files, settings, the small window, notifications.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { accessible, begin, launch, mark, open, paste, picture, place, readIt, serve, start, turn } from './harness.mjs';

const write = (file, text) => `[CREATE_FILE path="${file}"]\n${text}\n[/CREATE_FILE]`;
const inDialog = (page, name) => page.getByRole('dialog').getByRole('button', { name, exact: true }).click();
const more = async (page, name) => {
  await page.getByRole('navigation', { name: 'Tools' }).getByRole('button', { name: 'More', exact: true }).click();
  await inDialog(page, name);
};

/** No screen is wider than a phone. */
async function fitsPhone(page, what) {
  const size = page.viewportSize();
  await page.setViewportSize({ width: 360, height: 700 });
  const wide = await page.evaluate(() => [document.documentElement.scrollWidth, window.innerWidth]);
  assert.equal(wide[0] <= wide[1], true, `${what}: ${wide}`);
  await page.setViewportSize(size);
}

/** A session with three rounds, each of which wrote a file. */
async function threeRounds(page) {
  const id = await begin(page, 'Three files');
  for (const round of [1, 2, 3]) {
    await paste(page, write(`${round}.txt`, `file ${round}`) + mark(id, round));
    await turn(page, round + 1);
  }
  return id;
}

test('rename, undo to a round, redo, fork from a round, hand over, export, end, remove', async (t) => {
  const { base } = place();
  const { link } = await serve(t, base);
  const page = await open(t, link);
  const id = await threeRounds(page);
  const there = () => [1, 2, 3].filter((n) => fs.existsSync(path.join(base, `workspace/${n}.txt`)));

  await more(page, 'Rename');
  await page.getByRole('textbox', { name: 'Name' }).fill('no <b>markup</b>');
  await inDialog(page, 'Rename');
  await page.getByText('cannot be the name of a session').waitFor();
  await inDialog(page, 'Close');
  await more(page, 'Rename');
  await page.getByRole('textbox', { name: 'Name' }).fill('my-files');
  await inDialog(page, 'Rename');
  await page.locator('#where', { hasText: 'my-files: Three files' }).waitFor();

  await page.getByRole('button', { name: 'More of round 1' }).click();
  await inDialog(page, 'Undo all later rounds');
  await page.getByRole('heading', { name: 'Undo rounds 3 and 2' }).waitFor();
  await page.getByText('delete 3.txt').waitFor();
  await accessible(page, 'the preview of an undo');
  await inDialog(page, 'Cancel');
  assert.deepEqual(there(), [1, 2, 3], 'a preview changes nothing');
  await page.getByRole('button', { name: 'More of round 1' }).click();
  await inDialog(page, 'Undo all later rounds');
  await inDialog(page, 'Undo');
  await page.getByText('undone', { exact: true }).nth(1).waitFor();
  assert.deepEqual(there(), [1]);

  await page.keyboard.press('Shift+U');
  await page.getByText('create 2.txt').waitFor();
  await inDialog(page, 'Redo');
  await page.getByText('undone', { exact: true }).first().waitFor({ state: 'detached' });
  assert.deepEqual(there(), [1, 2, 3]);

  await more(page, 'Hand over to a new chat');
  await page.getByText('Message 4 is ready').nth(1).waitFor();
  const handed = fs.readFileSync(path.join(base, `outbox/${id}_seq0004.txt`), 'utf8');
  assert.match(handed, /Three files/);

  const download = page.waitForEvent('download');
  await more(page, 'Export');
  const exported = await download;
  assert.equal(exported.suggestedFilename(), `agent-${id}.html`);
  assert.match(fs.readFileSync(await exported.path(), 'utf8'), /file 2/);

  // A fork goes on with the same files: its session is another one, so this one stops first.
  await page.keyboard.press('r');
  await page.getByRole('heading', { name: 'This session is not running' }).waitFor();
  await page.getByRole('button', { name: 'More of round 2' }).click();
  await inDialog(page, 'Fork from here');
  await page.getByText('delete 3.txt').waitFor();
  await inDialog(page, 'Undo these and fork');
  await page.waitForURL((url) => /#\/s\/[0-9a-f]{8}$/.test(url.hash) && !url.hash.endsWith(id));
  assert.deepEqual(there(), [1, 2]);
  // The fork has no name, and the other session was not running either.
  await page.locator('#where', { hasText: /^Three files$/ }).waitFor();
  await page.getByRole('heading', { name: 'This session is not running' }).waitFor();

  await more(page, 'End');
  await inDialog(page, 'End');
  await page.getByRole('heading', { name: /^Done/ }).waitFor();
  await more(page, 'Remove');
  await inDialog(page, 'Remove');
  await page.getByRole('heading', { name: 'Sessions' }).waitFor();
  await page.getByRole('link', { name: /my-files: Three files/ }).waitFor();
  assert.equal(await page.locator('ul.sessions li').count(), 1);
  await page.keyboard.press('/');
  await page.keyboard.type('nothing like this');
  await page.getByText('No session has these words.').waitFor();
  await page.getByLabel('Search the sessions').fill('2.txt');
  await page.getByRole('link', { name: /my-files: Three files/ }).waitFor();
  await page.getByLabel('Search the sessions').fill('three FILES');
  await page.getByRole('link', { name: /my-files: Three files/ }).waitFor();
});

test('files of the workspace are shown with what changed, and nothing else is', async (t) => {
  const { base, root } = place();
  const workspace = path.join(base, 'workspace');
  fs.mkdirSync(path.join(workspace, 'old'), { recursive: true });
  fs.writeFileSync(path.join(workspace, 'old/kept.txt'), 'one\ntwo\nthree\n');
  fs.writeFileSync(path.join(workspace, 'gone.txt'), 'x\n');
  fs.writeFileSync(path.join(root, 'secret.txt'), 'secret');
  fs.symlinkSync(path.join(root, 'secret.txt'), path.join(workspace, 'link'));
  const { link } = await serve(t, base);
  const page = await open(t, link);
  const id = await begin(page, 'Look');
  const strange = '<img src=x onerror=alert(1)> #1%.txt';
  await paste(page, `[EDIT_FILE path="old/kept.txt"]\n<<<<<<< SEARCH\ntwo\n=======\nTWO\nand <b>more</b>\n>>>>>>> REPLACE\n[/EDIT_FILE]\n[DELETE_FILE path="gone.txt"]\n[/DELETE_FILE]\n${write(strange, 'new')}${mark(id, 1)}`);
  await turn(page, 2);
  await page.keyboard.press('f');
  await page.getByRole('heading', { name: 'Files' }).waitFor();
  await page.getByText('1 changed').waitFor();
  await page.getByText('deleted').waitFor();
  await page.getByText('a link, not followed').waitFor();
  await accessible(page, 'a folder');
  await picture(page, 'files');
  await fitsPhone(page, 'a folder');
  await page.getByRole('link', { name: strange }).click();
  await page.getByText('new', { exact: true }).waitFor();
  await page.getByRole('link', { name: 'workspace' }).click();
  await page.getByRole('link', { name: 'old/' }).click();
  await page.getByRole('link', { name: 'kept.txt' }).click();
  await page.locator('pre.file .added', { hasText: 'and <b>more</b>' }).waitFor();
  assert.deepEqual(await page.locator('pre.file .added').allTextContents(), ['TWO', 'and <b>more</b>']);
  await accessible(page, 'a file');
  await page.getByRole('button', { name: 'Difference' }).click();
  await page.getByRole('cell', { name: 'two', exact: true }).waitFor();
  await accessible(page, 'side by side');
  await fitsPhone(page, 'side by side');
  await page.getByRole('button', { name: 'Inline' }).click();
  await page.getByText('-two').waitFor();
  for (const path of ['../secret.txt', '..%2fsecret.txt', 'link', 'link/x', '.git/config', '%00']) {
    await page.goto(new URL('/#/', page.url()).href);
    await page.getByRole('heading', { name: 'Sessions' }).waitFor();
    await page.goto(new URL(`/#/s/${id}/files/${path}`, page.url()).href);
    await page.getByText(/cannot be shown|It is a link|not opened|there is no/).first().waitFor();
    assert.equal((await page.locator('main').innerText()).includes('secret\n'), false, path);
  }
});

test('a new session says what its files cost and what a template says', async (t) => {
  const { base, root } = place();
  fs.mkdirSync(path.join(base, 'workspace'), { recursive: true });
  fs.writeFileSync(path.join(base, 'workspace/a.txt'), 'word '.repeat(2000));
  const prompts = path.join(root, 'home/.config/agent/prompts');
  fs.mkdirSync(prompts, { recursive: true });
  fs.writeFileSync(path.join(prompts, 'review.md'), '---\ndescription: look at something\n---\nReview {{args}} with <b>care</b>.\n');
  const { link } = await serve(t, base, '--chat', 'chatgpt-free');
  const page = await open(t, link);
  await page.getByRole('heading', { name: /Sessions|New session/ }).waitFor();
  await page.keyboard.press('n');
  await page.getByRole('heading', { name: 'New session' }).waitFor();
  await page.locator('summary', { hasText: 'More' }).click();
  await page.getByLabel(/Show these files/).fill('a.txt');
  await page.getByText(/Together ~\d+ tokens, \d+% of the limit of chatgpt-free/).waitFor();
  await page.getByLabel(/Show these files/).fill('../../etc/passwd');
  await page.getByText('there is no file').or(page.getByText('not in the workspace')).first().waitFor();
  await page.getByLabel(/Show these files/).fill('a.txt');
  await page.getByLabel('Template').selectOption('review');
  await page.getByText('Review {{args}} with <b>care</b>.').waitFor();
  await accessible(page, 'a new session');
  await fitsPhone(page, 'a new session');
  await page.getByLabel('Task', { exact: true }).fill('the parser');
  await page.getByRole('button', { name: 'Start' }).click();
  await turn(page, 1);
  await page.getByRole('log').getByText('Review the parser with <b>care</b>.').waitFor();
  const chat = page.getByRole('link', { name: 'Copy and open ChatGPT' });
  assert.deepEqual(
    await chat.evaluate((one) => [one.href, one.target, one.rel]),
    ['https://chatgpt.com/', '_blank', 'noopener noreferrer'],
  );
  const id = /#\/s\/([0-9a-f]{8})/.exec(page.url())[1];
  assert.match(fs.readFileSync(path.join(base, `outbox/${id}_seq0001.txt`), 'utf8'), /word word/);
});

test('the page says when it is older than the server', async (t) => {
  const { base } = place();
  const { link } = await serve(t, base);
  const page = await open(t, link);
  await begin(page, 'Grow old');
  await page.route('**/standing', async (route) => {
    const response = await route.fetch();
    route.fulfill({ response, headers: { ...response.headers(), 'agent-page': 'another' } });
  });
  await page.keyboard.press('m');
  await page.getByLabel('Note', { exact: true }).fill('Hello');
  await inDialog(page, 'Send with the next message');
  await page.getByText('with another version of this page').waitFor();
  await accessible(page, 'a stale page');
  await page.unroute('**/standing');
  await page.getByRole('button', { name: 'Reload the page' }).click();
  await turn(page, 1);
  await page.getByText('Goes with the next message: Hello').waitFor();
  assert.equal(await page.locator('#banner').isVisible(), false);
  await page.getByRole('button', { name: 'Withdraw' }).click();
  await page.getByText('Goes with the next message: Hello').waitFor({ state: 'detached' });
});

test('a paste without the end mark is shown as it is understood', async (t) => {
  const { base } = place();
  const { link } = await serve(t, base);
  const page = await open(t, link);
  const id = await begin(page, 'Doubt');
  await paste(page, `${write('a.txt', 'x')}\n[RUN_COMMAND]\necho <b>hi</b>\n[/RUN_COMMAND]\n[CREATE_FILE]\nno path\n[/CREATE_FILE]\n`);
  await page.getByRole('heading', { name: 'Use this reply?' }).waitFor();
  await page.getByText('does not have the end mark').waitFor();
  await page.getByRole('listitem').filter({ hasText: 'create a.txt' }).waitFor();
  await page.getByRole('listitem').filter({ hasText: 'echo <b>hi</b>' }).waitFor();
  await page.getByRole('dialog').getByText(/Not used, line/).waitFor();
  await accessible(page, 'a doubtful reply');
  await fitsPhone(page, 'a doubtful reply');
  assert.equal(fs.existsSync(path.join(base, 'workspace/a.txt')), false);
  await inDialog(page, 'Discard');
  await paste(page, `${write('a.txt', 'x')}${mark(id, 7)}`);
  await page.getByText('This reply answers round 7, and this is round 1.').waitFor();
  await inDialog(page, 'Discard');
  // A file that is dropped on the card is a reply too.
  const dropped = await page.evaluateHandle((text) => {
    const transfer = new DataTransfer();
    transfer.items.add(new File([text], 'reply.txt', { type: 'text/plain' }));
    return transfer;
  }, write('a.txt', 'x'));
  await page.locator('section.now').dispatchEvent('drop', { dataTransfer: dropped });
  await page.getByRole('heading', { name: 'Use this reply?' }).waitFor();
  await inDialog(page, 'Use it');
  await turn(page, 2);
  assert.equal(fs.readFileSync(path.join(base, 'workspace/a.txt'), 'utf8'), 'x\n');
});

test('the card works in a small window above the chat', async (t) => {
  const { base } = place();
  const { link } = await serve(t, base, '--approval', 'ask');
  const page = await open(t, link);
  const id = await begin(page, 'Float');
  if (!await page.evaluate(() => 'documentPictureInPicture' in window)) {
    t.skip('this browser has no small windows');
    return;
  }
  const [small] = await Promise.all([
    page.context().waitForEvent('page'),
    page.getByRole('button', { name: 'Small window above the chat' }).click(),
  ]);
  await page.getByText('What to do now is in the small window.').waitFor();
  await small.getByRole('heading', { name: 'Round 1: your turn' }).waitFor();
  await small.getByRole('button', { name: 'Copy message' }).waitFor();
  await small.getByLabel('The reply').fill(write('a.txt', 'x') + mark(id, 1));
  await small.getByRole('button', { name: 'Use it' }).click();
  await small.getByRole('heading', { name: 'Step 1: may the model do this?' }).waitFor();
  // Requests of small windows cannot be answered by the tests.
  if (!process.env.AGENT_PAGE) await small.waitForFunction(() => getComputedStyle(document.querySelector('.now')).borderTopLeftRadius === '12px');
  await readIt(small);
  await small.getByRole('button', { name: 'Decline …' }).click();
  await small.getByLabel('Reason').fill('another name');
  await small.getByRole('dialog').getByRole('button', { name: 'Decline', exact: true }).click();
  await small.getByRole('heading', { name: 'Round 2: your turn' }).waitFor();
  await small.close();
  await turn(page, 2);
  assert.equal(fs.existsSync(path.join(base, 'workspace/a.txt')), false);
});

test('a person who looks elsewhere is told that it is their turn', async (t) => {
  const { base } = place();
  const { link } = await serve(t, base);
  const page = await open(t, link);
  // Headless Chromium shows no notification, and never hides a page: both are watched and played here.
  await page.addInitScript(() => {
    window.told = [];
    window.Notification = class { static permission = 'granted'; constructor(title, { body, tag }) { window.told.push([title, body, tag]); } };
    Object.defineProperty(document, 'hidden', { get: () => window.away ?? false });
  });
  const id = await begin(page, 'Look away');
  await page.reload();
  await turn(page, 1);
  assert.equal(await page.title(), '● Look away');
  await paste(page, write('a.txt', 'x') + mark(id, 1));
  await turn(page, 2);
  assert.deepEqual(await page.evaluate(() => window.told), [], 'not while the page is looked at');
  await page.evaluate(() => { window.away = true; });
  fs.writeFileSync(path.join(base, 'inbox/reply.txt'), `[ASK_USER]\nWhich?\n[/ASK_USER]${mark(id, 2)}`);
  await page.waitForFunction(() => window.told.length > 0);
  assert.deepEqual(await page.evaluate(() => window.told), [['agent: your turn', 'The model asks you', id]]);
  assert.equal(await page.title(), '● Look away');
});

test('the next message is copied when it is ready, once one was', async (t) => {
  const { base } = place();
  const { link } = await serve(t, base);
  const page = await open(t, link);
  const id = await begin(page, 'Copy');
  await page.keyboard.press('c');
  await page.getByText('✓ Copied').waitFor();
  // A card that is drawn anew in the same round still says so.
  await page.keyboard.press('m');
  await page.getByLabel('Note', { exact: true }).fill('Mind the gap');
  await page.getByRole('button', { name: 'Send with the next message' }).click();
  await page.locator('.card.now').getByText('Mind the gap').waitFor();
  assert.equal(await page.getByText('✓ Copied').count(), 1);
  await paste(page, write('a.txt', 'x') + mark(id, 1));
  await turn(page, 2);
  await page.getByText('✓ Copied').waitFor();
  const copied = await page.evaluate(() => navigator.clipboard.readText());
  assert.equal(copied, fs.readFileSync(path.join(base, `outbox/${id}_seq0002.txt`), 'utf8'));
});

test('keys do what buttons do, and are listed', async (t) => {
  const { base } = place();
  const { link } = await serve(t, base, '--approval', 'ask');
  const page = await open(t, link);
  const id = await begin(page, 'Keys');
  await page.keyboard.press('?');
  await page.getByRole('heading', { name: 'Keys' }).waitFor();
  await accessible(page, 'the keys');
  await fitsPhone(page, 'the keys');
  await page.keyboard.press('Escape');
  await paste(page, `[RUN_COMMAND]\ntouch a.txt\n[/RUN_COMMAND]\n${write('b.txt', 'x')}\n[RUN_COMMAND]\necho old\n[/RUN_COMMAND]${mark(id, 1)}`);
  const asked = (n) => page.getByRole('heading', { name: `Step ${n}: may the model do this?` }).waitFor();
  await asked(1);
  await fitsPhone(page, 'a question');
  await readIt(page);
  await page.keyboard.press('s');
  await asked(2);
  await readIt(page);
  await page.keyboard.press('y');
  await asked(3);
  await readIt(page);
  await page.keyboard.press('e');
  await page.getByRole('textbox', { name: 'The command' }).fill('echo changed > c.txt');
  await page.getByRole('button', { name: 'Run this' }).click();
  await turn(page, 2);
  const there = ['a.txt', 'b.txt', 'c.txt'].filter((name) => fs.existsSync(path.join(base, 'workspace', name)));
  assert.deepEqual(there, ['b.txt', 'c.txt']);
  // All at once, and whatever begins like it from now on.
  await paste(page, `${write('d.txt', 'x')}\n${write('e.txt', 'x')}${mark(id, 2)}`);
  await asked(1);
  await readIt(page);
  await page.keyboard.press('Shift+A');
  await turn(page, 3);
  assert.equal(fs.existsSync(path.join(base, 'workspace/e.txt')), true);
  await paste(page, `[RUN_COMMAND]\nls\n[/RUN_COMMAND]${mark(id, 3)}`);
  await asked(1);
  await readIt(page);
  await page.keyboard.press('q');
  await page.getByRole('heading', { name: 'This session is not running' }).waitFor();
  await page.keyboard.press('r');
  await turn(page, 4);
  await page.keyboard.press('d');
  await page.getByRole('heading', { name: 'All changes of this session: 4 files' }).waitFor();
  await fitsPhone(page, 'changes');
  await page.keyboard.press('Escape');
  await page.keyboard.press('t');
  assert.equal(await page.evaluate(() => document.documentElement.className), 'dark');
  await page.keyboard.press('g');
  await page.getByRole('heading', { name: 'Sessions' }).waitFor();
  await fitsPhone(page, 'sessions');
});

test('settings of the person are changed, and nothing is loosened', async (t) => {
  const { base, root } = place();
  const { link } = await serve(t, base);
  const page = await open(t, link);
  await page.getByRole('heading', { name: /Sessions|New session/ }).waitFor();
  await page.keyboard.press(',');
  await page.getByLabel('Chat', { exact: true }).selectOption('claude');
  await page.getByText('✓ Chat is claude from now on.').waitFor();
  await page.getByLabel('Approval').selectOption('ask');
  await page.getByText('✓ Approval is ask from now on.').waitFor();
  const file = path.join(root, 'home/.config/agent/settings.json');
  assert.deepEqual(JSON.parse(fs.readFileSync(file, 'utf8')), { Chat: 'claude', Approval: 'ask' });
  // Back to something looser leads to the terminal.
  assert.equal(await page.getByRole('option', { name: 'auto (in a terminal)' }).last().isDisabled(), true);
  await page.getByText('agent config set Approval').waitFor();
  await page.getByText('What the model may do').click();
  await page.locator('dt', { hasText: 'Approval' }).filter({ hasText: 'ask' }).waitFor();
  await accessible(page, 'settings');
  await page.evaluate(() => window.scrollTo(0, 0));
  await picture(page, 'settings');
  await fitsPhone(page, 'settings');
  await begin(page, 'Be strict');
  await page.getByText(/of the limit of claude/).waitFor();
  const id = /#\/s\/([0-9a-f]{8})/.exec(page.url())[1];
  await paste(page, write('a.txt', 'x') + mark(id, 1));
  await page.getByRole('heading', { name: 'Step 1: may the model do this?' }).waitFor();
});

test('where agent was never used, the page asks where to work', async (t) => {
  for (const [choice, workspace] of [['On what is here, in place', '.'], ['In a new, empty folder workspace/', 'workspace']]) {
    const { base } = place();
    fs.writeFileSync(path.join(base, 'mine.txt'), 'mine\n');
    const { link } = await launch(t, base, ['serve', '--no-open', '--json']);
    const page = await open(t, link);
    await page.getByRole('heading', { name: 'Where should the model work?' }).waitFor();
    await accessible(page, 'where to work');
    await fitsPhone(page, 'where to work');
    assert.deepEqual(fs.readdirSync(base), ['mine.txt'], 'nothing is made before the person decides');
    await page.getByRole('button', { name: choice }).click();
    await page.getByLabel('Task', { exact: true }).fill('Begin');
    await page.getByRole('button', { name: 'Start' }).click();
    await turn(page, 1);
    const id = /#\/s\/([0-9a-f]{8})/.exec(page.url())[1];
    await page.getByLabel('The reply').fill(write('made.txt', 'x') + mark(id, 1));
    await page.getByRole('button', { name: 'Use it' }).click();
    await turn(page, 2);
    assert.equal(fs.existsSync(path.join(base, workspace, 'made.txt')), true, choice);
  }
});

test('the meter is there, whichever comes first, the message or its event', async (t) => {
  const { base } = place();
  const { link } = await serve(t, base);
  const page = await open(t, link);
  // The card is shown before the event of its message comes.
  await page.route(/\/api\/sessions\/[0-9a-f]{8}$/, async (route) => {
    let response = await route.fetch();
    let session = await response.json();
    while (!session.message) {
      response = await route.fetch();
      session = await response.json();
    }
    await route.fulfill({ response, json: { ...session, seq: 0, items: [] } });
  });
  await begin(page, 'Late');
  await page.getByText(/~\d+ tokens, \d+% of the limit of a message/).waitFor();
});
