// The page of `agent serve` in a real browser: `tests/browser/run`.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { test } from 'node:test';
import { DEADLINE, accessible, begin, browser, longSession, mark, open, paste, picture, place, readIt, serve, start, stop, turn } from './harness.mjs';

test('a session from new to done: copy, paste, approve, decline, answer, undo, reload', async (t) => {
  const { base } = place();
  const { link } = await serve(t, base, '--approval', 'ask');
  const page = await open(t, link);
  await page.getByRole('heading', { name: 'Sessions' }).or(page.getByRole('heading', { name: 'New session' })).waitFor();
  assert.equal(new URL(page.url()).hash.length < 20, true, 'the code is gone from the address');
  await accessible(page, 'start');
  const id = await begin(page, 'Write a greeting and a test for it');
  await accessible(page, 'your turn');
  await picture(page, 'turn');
  await page.getByRole('button', { name: 'Copy message' }).click();
  await page.getByText('✓ Copied').waitFor();
  const copied = await page.evaluate(() => navigator.clipboard.readText());
  assert.match(copied, new RegExp(id));

  await paste(page, `I begin with the greeting.\n\n[PLAN]\n1. write it\n2. test it\n[/PLAN]\n[CREATE_FILE path="greet.sh"]\necho "hello, $1"\n[/CREATE_FILE]\n[RUN_COMMAND]\nsh greet.sh world\n[/RUN_COMMAND]${mark(id, 1)}`);
  await page.getByRole('heading', { name: 'Step 2: may the model do this?' }).waitFor();
  await page.waitForFunction(() => window.innerHeight + window.scrollY >= document.documentElement.scrollHeight - 2, null, { timeout: 5_000 });
  await accessible(page, 'a question');
  await picture(page, 'approval');
  // A click at once is meant for something else.
  await page.reload();
  await page.evaluate(() => new Promise((resolve) => {
    const look = () => {
      const approve = [...document.querySelectorAll('.now .actions button')].find((one) => one.textContent === 'Approve');
      if (approve) { approve.click(); resolve(); } else requestAnimationFrame(look);
    };
    look();
  }));
  await page.waitForTimeout(500);
  await page.getByRole('heading', { name: 'Step 2: may the model do this?' }).waitFor();
  await readIt(page);
  await page.keyboard.press('y');
  await page.getByRole('heading', { name: 'Step 3: may the model do this?' }).waitFor();
  await readIt(page);
  await page.keyboard.press('n');
  await page.getByLabel('Reason').fill('use bash');
  await page.getByRole('button', { name: 'Decline', exact: true }).click();
  await turn(page, 2);
  assert.equal(fs.readFileSync(path.join(base, 'workspace/greet.sh'), 'utf8'), 'echo "hello, $1"\n');
  await page.getByText('you declined: use bash').first().waitFor();

  await page.reload();
  await turn(page, 2);
  await page.getByText('I begin with the greeting.').waitFor();
  await page.getByRole('button', { name: 'Changes of round 1' }).click();
  await page.getByRole('cell', { name: 'echo "hello, $1"' }).waitFor();
  await accessible(page, 'changes');
  await picture(page, 'changes');
  await page.getByRole('button', { name: 'Inline' }).click();
  await page.getByText('+echo "hello, $1"').waitFor();
  await accessible(page, 'changes inline');
  await page.getByRole('button', { name: 'Close' }).click();

  await page.keyboard.press('m');
  await page.getByLabel('Note', { exact: true }).fill('German, please');
  await page.getByRole('button', { name: 'Send with the next message' }).click();
  await page.getByText('Goes with the next message').waitFor();

  await paste(page, `[ASK_USER]\nWhich name?\n[/ASK_USER]${mark(id, 2)}`);
  await page.getByRole('heading', { name: 'The model asks you' }).waitFor();
  await page.getByLabel('Your answer').fill('Ada');
  await page.getByRole('button', { name: 'Answer' }).click();
  await turn(page, 3);
  assert.match(fs.readFileSync(path.join(base, `outbox/${id}_seq0003.txt`), 'utf8'), /Ada[\s\S]*German|German[\s\S]*Ada/);

  await page.keyboard.press('u');
  await page.getByRole('heading', { name: 'Undo round 1' }).waitFor();
  await page.getByText('delete greet.sh').waitFor();
  await page.getByRole('dialog').getByRole('button', { name: 'Undo' }).click();
  await page.getByText('undone', { exact: true }).waitFor();
  assert.equal(fs.existsSync(path.join(base, 'workspace/greet.sh')), false);

  // Without the end mark it is shown first.
  await page.getByLabel('The reply').fill('[MESSAGE]\nI see.\n[/MESSAGE]');
  await page.getByRole('button', { name: 'Use it' }).click();
  await page.getByRole('heading', { name: 'Use this reply?' }).waitFor();
  await page.getByRole('button', { name: 'Discard' }).click();
  await paste(page, `[DONE]\nThe greeting is there.\n[/DONE]${mark(id, 3)}`);
  await page.getByRole('heading', { name: /^Done/ }).waitFor();
  await accessible(page, 'done');
  await page.getByRole('link', { name: 'All sessions' }).click();
  await page.getByRole('link', { name: /Write a greeting/ }).waitFor();
  await accessible(page, 'sessions');
  await picture(page, 'sessions');
  await page.setViewportSize({ width: 360, height: 700 });
  await page.getByRole('link', { name: /Write a greeting/ }).click();
  await page.getByRole('heading', { name: /^Done/ }).waitFor();
  const wide = await page.evaluate(() => document.documentElement.scrollWidth > window.innerWidth);
  assert.equal(wide, false, 'it fits a phone');
});

test('a dialog that follows another at once is answered by its own buttons', async (t) => {
  const { base } = place();
  const { link } = await serve(t, base);
  const page = await open(t, link);
  await page.getByRole('heading', { name: /Sessions|New session/ }).waitFor();
  const answers = page.evaluate(async () => {
    const { dialog } = await import('/dom.js');
    const actions = [{ label: 'Take', value: 'taken' }];
    const first = dialog('First', 'a', actions);
    const second = dialog('Second', 'b', actions);
    document.querySelector('dialog[open] button').click();
    // The event of the one that was just closed is still under way.
    const third = dialog('Third', 'c', actions);
    window.answered = 0;
    third.then(() => { window.answered = 1; });
    return Promise.all([first, second, third]);
  });
  await page.getByRole('heading', { name: 'Third' }).waitFor();
  await page.evaluate(() => new Promise((resolve) => { setTimeout(resolve, 50); }));
  assert.equal(await page.evaluate(() => window.answered), 0);
  await page.getByRole('button', { name: 'Take' }).click();
  assert.deepEqual(await answers, [undefined, 'taken', 'taken']);
  assert.equal(await page.locator('dialog').count(), 0);
});

test('an answer that got lost is asked for again', async (t) => {
  const { base } = place();
  const { link } = await serve(t, base);
  const page = await open(t, link);
  await begin(page, 'Lossy');
  let lost = 0;
  await page.route('**/standing', (route) => {
    lost += 1;
    if (lost > 2) return route.continue();
    return lost === 1 ? route.abort() : route.fulfill({ status: 409, json: { error: { message: 'busy', causes: [], hints: [] } } });
  });
  await page.keyboard.press('m');
  await page.getByLabel('Note', { exact: true }).fill('Still there');
  await page.getByRole('button', { name: 'Send with the next message' }).click();
  await page.getByText('Goes with the next message: Still there').waitFor();
  assert.equal(lost >= 3, true);
});

test('the server is killed in the middle and started again', async (t) => {
  const { base } = place();
  const first = await serve(t, base);
  const page = await open(t, first.link);
  const id = await begin(page, 'Survive');
  await stop(first.child, 'SIGKILL');
  await page.getByText('The server does not answer').waitFor();
  const second = await serve(t, base, '--port', String(first.port));
  await page.getByRole('heading', { name: 'This page is not signed in' }).waitFor();
  // A new link in another tab signs this one in as well.
  const other = await page.context().newPage();
  await other.goto(second.link);
  await page.getByRole('heading', { name: 'This session is not running' }).waitFor();
  await page.getByRole('button', { name: 'Resume' }).click();
  await turn(page, 1);
  await paste(page, `[CREATE_FILE path="a.txt"]\nx\n[/CREATE_FILE]${mark(id, 1)}`);
  await turn(page, 2);
  assert.equal(fs.existsSync(path.join(base, 'workspace/a.txt')), true);
});

test('a loop in a terminal is shown and steered', async (t) => {
  const { base } = place();
  const { link } = await serve(t, base);
  const loop = start(base, ['new', '--base', '.', '--clipboard', 'off', 'Work in a terminal']);
  t.after(() => stop(loop, 'SIGINT'));
  const page = await open(t, link);
  await page.getByRole('link', { name: /Work in a terminal/ }).click();
  await turn(page, 1);
  await page.getByText('carries this session on; this page steers it').waitFor();
  const id = /#\/s\/([0-9a-f]{8})/.exec(page.url())[1];
  await paste(page, `[RUN_COMMAND]\necho from the page\n[/RUN_COMMAND]${mark(id, 1)}`);
  await turn(page, 2);
  await paste(page, `[DONE]\nok\n[/DONE]${mark(id, 2)}`);
  const code = await new Promise((resolve) => { loop.once('exit', resolve); });
  assert.equal(code, 0);
  await page.getByRole('heading', { name: /^Done/ }).waitFor();
});

test('while an API carries a round the card says how far it is, and copying is not the first thing', async (t) => {
  const { base } = place();
  // The answer comes in pieces, as the test lets it; before the second one the server is busy once.
  const held = [];
  let asked = 0;
  const model = http.createServer((request, response) => {
    request.resume().on('end', () => {
      asked += 1;
      if (asked === 2) { response.writeHead(503, { 'retry-after': '2' }).end('{"error":{"message":"busy"}}'); return; }
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      held.push({
        piece: (delta) => response.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta }] })}\n\n`),
        end: () => response.end(`data: ${JSON.stringify({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] })}\n\ndata: [DONE]\n\n`),
      });
    });
  });
  await new Promise((resolve) => { model.listen(0, '127.0.0.1', resolve); });
  t.after(() => { model.closeAllConnections(); model.close(); });
  const asking = async (count) => { while (held.length < count) await new Promise((resolve) => { setTimeout(resolve, 20); }); return held[count - 1]; };
  const url = `http://127.0.0.1:${model.address().port}/v1`;
  const { link } = await serve(t, base, '--api', 'custom', '--api-url', url, '--model', 'tiny');
  const page = await open(t, link);
  await page.goto(new URL('/#/new', page.url()).href);
  await page.getByLabel('Task', { exact: true }).fill('say hello');
  await page.getByRole('button', { name: 'Start' }).click();
  await page.getByRole('heading', { name: 'Round 1: custom tiny answers' }).waitFor();
  const id = /#\/s\/([0-9a-f]{8})/.exec(page.url())[1];
  const first = await asking(1);
  await page.getByText(/^Sent; no answer yet, \d+ s$/).waitFor();
  assert.equal(await page.getByRole('button', { name: 'Copy message' }).isVisible(), false);
  assert.equal(await page.locator('.now button.primary').count(), 0);
  await accessible(page, 'carried by an API');
  await picture(page, 'api');
  first.piece({ content: '[CREATE_FILE path="hello.txt"]\nhello\n' });
  await page.getByText(/^Answering: \d+ characters, \d+ s$/).waitFor();
  await page.reload();
  await page.getByRole('heading', { name: 'Round 1: custom tiny answers' }).waitFor();
  await page.getByText('Carry this round yourself').click();
  await page.getByRole('button', { name: 'Copy message' }).click();
  await page.getByText('✓ Copied').waitFor();
  first.piece({ content: `[/CREATE_FILE]${mark(id, 1)}` });
  first.end();
  // The second request is refused at first.
  await page.getByRole('heading', { name: 'Round 2: custom tiny answers' }).waitFor();
  await page.getByText(/again in [12] s$/).waitFor();
  const second = await asking(2);
  second.piece({ content: `[DONE]\nhello is there\n[/DONE]${mark(id, 2)}` });
  second.end();
  await page.getByRole('heading', { name: /^Done/ }).waitFor();
  assert.equal(fs.readFileSync(path.join(base, 'workspace/hello.txt'), 'utf8'), 'hello\n');
});

test('output comes while a command runs, and the check has the last word', async (t) => {
  const { base } = place();
  const { link } = await serve(t, base, '--check', 'test -f ok.txt');
  const page = await open(t, link);
  const id = await begin(page, 'Run long');
  await page.getByText('Check test -f ok.txt: failed').waitFor();
  // It ends when the test has seen its first line, so the line was there while it ran.
  await paste(page, `[RUN_COMMAND]\necho first; until [ -f seen ]; do sleep 0.1; done; echo last\n[/RUN_COMMAND]\n[DONE]\nReady.\n[/DONE]${mark(id, 1)}`);
  await page.locator('.step.running .live', { hasText: 'first' }).waitFor();
  await page.getByRole('heading', { name: 'Working on the reply …' }).waitFor();
  assert.equal(await page.getByText('last', { exact: true }).count(), 0);
  fs.writeFileSync(path.join(base, 'workspace/seen'), '');
  await turn(page, 2);
  await page.locator('.step.failed', { hasText: 'Your check' }).first().waitFor();
  await paste(page, `[CREATE_FILE path="ok.txt"]\nx\n[/CREATE_FILE]\n[DONE]\nReady.\n[/DONE]${mark(id, 2)}`);
  await page.getByRole('heading', { name: /^Done/ }).waitFor();
  await page.locator('.step.ok', { hasText: 'Your check' }).first().waitFor();
});

test('a session on the page asks what it would ask in a terminal', async (t) => {
  const { base } = place();
  const { link } = await serve(t, base, '--check', 'no-such-program-here');
  const page = await open(t, link);
  await page.getByRole('heading', { name: /Sessions|New session/ }).waitFor();
  await page.goto(new URL('/#/new', page.url()).href);
  await page.getByLabel('Task', { exact: true }).fill('Ask me');
  await page.getByRole('button', { name: 'Start' }).click();
  await page.getByRole('heading', { name: 'Begin without the check?' }).waitFor();
  await accessible(page, 'a question about the check');
  await readIt(page);
  await page.keyboard.press('y');
  await turn(page, 1);
  const id = /#\/s\/([0-9a-f]{8})/.exec(page.url())[1];

  const { sandbox } = JSON.parse(fs.readFileSync(path.join(base, `sessions/${id}.json`), 'utf8'));
  await paste(page, `[RUN_COMMAND]\necho once >> runs; echo "curl: (6) Could not resolve host: example.org" >&2; exit 6\n[/RUN_COMMAND]${mark(id, 1)}`);
  if (['namespaces', 'bubblewrap'].includes(sandbox)) {
    await page.getByRole('heading', { name: 'Run it again with the network?' }).waitFor();
    await accessible(page, 'the offer of the network');
    await readIt(page);
    await page.keyboard.press('n');
  } else {
    t.diagnostic('no offer of the network: this machine has no sandbox with a network of its own');
  }
  await turn(page, 2);
  assert.equal(fs.readFileSync(path.join(base, 'workspace/runs'), 'utf8'), 'once\n');

  fs.writeFileSync(path.join(base, 'inbox/other.txt'), `[CREATE_FILE path="a.txt"]\nx\n[/CREATE_FILE]${mark(id, 1)}`);
  await page.getByRole('heading', { name: 'Use a reply to another round?' }).waitFor();
  await readIt(page);
  await page.getByRole('button', { name: 'Reject it' }).click();
  await turn(page, 2);
  await page.getByText('it answers round 1, this is round 2').waitFor();
  assert.equal(fs.existsSync(path.join(base, 'workspace/a.txt')), false);
});

test('two tabs decide the same question, and one of them is told', async (t) => {
  const { base } = place();
  const { link } = await serve(t, base, '--approval', 'ask');
  const one = await open(t, link);
  const id = await begin(one, 'Ask me');
  const other = await one.context().newPage();
  await other.goto(one.url());
  await turn(other, 1);
  await paste(one, `[RUN_COMMAND]\necho once >> count.txt\n[/RUN_COMMAND]${mark(id, 1)}`);
  const asked = (page) => page.getByRole('heading', { name: 'Step 1: may the model do this?' }).waitFor();
  await Promise.all([asked(one), asked(other)]);
  const decision = await other.evaluate(async (session) => {
    const token = sessionStorage.getItem('agent-token');
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const standing = await (await fetch(`/api/sessions/${session}/standing`, { headers })).json();
    const [{ key, hash }] = standing.questions;
    const send = () => fetch(`/api/sessions/${session}/decide`, { method: 'POST', headers, body: JSON.stringify({ key, hash, decision: 'yes' }) });
    const answers = await Promise.all([send(), send()]);
    return answers.map((answer) => answer.status).sort();
  }, id);
  assert.deepEqual(decision, [200, 409]);
  await Promise.all([turn(one, 2), turn(other, 2)]);
  assert.equal(fs.readFileSync(path.join(base, 'workspace/count.txt'), 'utf8'), 'once\n');

  // Both press the key at the same time: one decision counts, and nobody is left with a question that is gone.
  await paste(one, `[RUN_COMMAND]\necho twice >> count.txt\n[/RUN_COMMAND]${mark(id, 2)}`);
  await Promise.all([asked(one), asked(other)]);
  await Promise.all([readIt(one), readIt(other)]);
  const press = (page, key) => page.evaluate((value) => document.body.dispatchEvent(new KeyboardEvent('keydown', { key: value, bubbles: true })), key);
  await Promise.all([press(one, 's'), press(other, 's')]);
  for (const page of [one, other]) await page.locator('h2', { hasText: 'Round 3: your turn' }).waitFor();
  const told = await Promise.all([one, other].map((page) => page.getByText('That did not work').count()));
  assert.equal(told[0] + told[1] <= 1, true);
  assert.equal(fs.readFileSync(path.join(base, 'workspace/count.txt'), 'utf8'), 'once\n');
});

test('a hostile reply is text', async (t) => {
  const { base } = place();
  const { link } = await serve(t, base);
  const page = await open(t, link);
  const id = await begin(page, 'Be <b>careful</b>');
  const name = '<img src=x onerror=alert(1)>.txt';
  const prose = '<script>window.owned = 1</script> <img src="http://evil.test/x" onerror="window.owned = 1"> [click](javascript:window.owned=1) ![p](http://evil.test/p.png) \u202Egnp.exe \u001b]8;;http://evil.test\u0007link\u001b]8;;\u0007 \u0000';
  await paste(page, `${prose}\n\n[CREATE_FILE path="${name}"]\n<script>window.owned = 1</script>\u202E\n[/CREATE_FILE]\n[RUN_COMMAND]\nprintf '\\033[2J<script>window.owned=1</script>\\342\\200\\256x'\n[/RUN_COMMAND]\n[ASK_USER]\n<iframe src="http://evil.test"></iframe>?\n[/ASK_USER]${mark(id, 1)}`);
  await page.getByRole('heading', { name: 'The model asks you' }).waitFor();
  await page.getByText('<iframe src="http://evil.test"></iframe>?').first().waitFor();
  await page.getByText('window.owned = 1').first().waitFor();
  for (const view of ['live', 'reloaded']) {
    assert.equal(await page.evaluate(() => window.owned), undefined, view);
    assert.equal(await page.locator('main img, main script, main iframe, main a[href^="javascript"]').count(), 0, view);
    const text = await page.locator('main').innerText();
    assert.equal(/[\u202E\u001B\u0000]/.test(text), false, view);
    assert.match(text, /\\u\{202e\}gnp\.exe/, view);
    await page.reload();
    await page.getByRole('heading', { name: 'The model asks you' }).waitFor();
  }
});

test('a reply of 600 KB', async (t) => {
  const { base } = place();
  const { link } = await serve(t, base);
  const page = await open(t, link);
  const id = await begin(page, 'Much');
  const lines = Array.from({ length: 12_000 }, (_, n) => `line ${n} ${'x'.repeat(35)}`).join('\n');
  const prose = `${'**word** `code` '.repeat(4_000)}\n\n`;
  const since = Date.now();
  await paste(page, `${prose}[CREATE_FILE path="big.txt"]\n${lines}\n[/CREATE_FILE]${mark(id, 1)}`);
  await turn(page, 2);
  t.diagnostic(`600 KB carried out and shown after ${Date.now() - since} ms`);
  assert.equal(fs.statSync(path.join(base, 'workspace/big.txt')).size, lines.length + 1);
  await page.reload();
  await turn(page, 2);
  const nodes = await page.evaluate(() => document.querySelectorAll('*').length);
  assert.equal(nodes < 20_000, true, `${nodes} elements`);
});

test(`${longSession} rounds open at once and scroll to the first`, { timeout: 600_000 }, async (t) => {
  const { base } = place();
  const { link, child } = await serve(t, base, '--max-rounds', String(longSession + 10));
  const page = await open(t, link);
  const id = await begin(page, 'Many rounds');
  await page.goto(new URL('/#/', page.url()).href);
  // The replies go into the inbox like those of anybody else.
  for (let round = 1; round < longSession; round += 1) {
    const next = path.join(base, `outbox/${id}_seq${String(round + 1).padStart(4, '0')}.txt`);
    fs.writeFileSync(path.join(base, `inbox/r${round}.txt`), `Reply number ${round}.\n[MESSAGE]\nRound ${round} says hello.\n[/MESSAGE]${mark(id, round)}`);
    const until = Date.now() + DEADLINE;
    while (!fs.existsSync(next)) {
      assert.equal(Date.now() < until, true, `round ${round}`);
      await new Promise((resolve) => { setTimeout(resolve, 5); });
    }
  }
  const since = Date.now();
  await page.goto(new URL(`/#/s/${id}`, page.url()).href);
  await turn(page, longSession);
  await page.getByText(`Reply number ${longSession - 1}.`).waitFor();
  const opened = Date.now() - since;
  t.diagnostic(`${longSession} rounds open in ${opened} ms`);
  assert.equal(opened < 10_000, true, `${opened} ms`);
  while (await page.locator('section.round').count() < longSession - 1) {
    await page.evaluate(() => window.scrollTo(0, 0));
    await page.waitForTimeout(30);
  }
  await page.getByText('Reply number 1.', { exact: true }).waitFor();
  const rounds = await page.locator('section.round').evaluateAll((all) => all.map((one) => Number(one.dataset.round)));
  assert.deepEqual(rounds, Array.from({ length: longSession }, (_, n) => n + 1));
  const slowest = await page.evaluate(async () => {
    let last = performance.now();
    let worst = 0;
    for (let y = 0; y < document.documentElement.scrollHeight; y += 2000) {
      window.scrollTo(0, y);
      await new Promise(requestAnimationFrame);
      const now = performance.now();
      worst = Math.max(worst, now - last);
      last = now;
    }
    return worst;
  });
  t.diagnostic(`slowest frame while scrolling: ${Math.round(slowest)} ms`);
  const memory = fs.readFileSync(`/proc/${child.pid}/status`, 'utf8').match(/VmRSS:\s+(\d+) kB/)[1];
  t.diagnostic(`memory of the server with the loop: ${Math.round(memory / 1024)} MB`);
});

test('an event is on the screen soon, and the first paint is early', async (t) => {
  const { base } = place();
  const { link } = await serve(t, base);
  const page = await open(t, link);
  const id = await begin(page, 'Fast');
  const paint = await page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime);
  const times = [];
  for (let n = 0; n < 10; n += 1) {
    const seen = page.getByText(`note ${n} end`).first().waitFor();
    const since = Date.now();
    const said = start(base, ['say', '--base', '.', `note ${n} end`]);
    await new Promise((resolve) => { said.once('exit', resolve); });
    const told = Date.now();
    await seen;
    times.push(Date.now() - Math.min(told, Date.now()), told - since);
  }
  t.diagnostic(`first paint ${Math.round(paint)} ms; from the end of \`agent say\` to the screen, and how long it took: ${times.join(', ')} ms`);
  assert.equal(id.length, 8);
});

test('other pages and other names get nothing', async (t) => {
  const { base } = place();
  const { port, address, link } = await serve(t, base);
  const evil = http.createServer((request, response) => {
    response.setHeader('content-type', 'text/html');
    response.end(`<iframe id="frame" src="${address}/"></iframe>`);
  });
  await new Promise((resolve) => { evil.listen(0, '127.0.0.1', resolve); });
  t.after(() => evil.close());
  const context = await browser.newContext();
  t.after(() => context.close());
  const page = await context.newPage();
  const rebound = await page.goto(`http://evil.test:${port}/`);
  assert.equal(rebound.status(), 421);
  for (const attacker of [`http://127.0.0.1:${evil.address().port}/`, `http://evil.test:${evil.address().port}/`]) {
    await page.goto(attacker);
    const got = await page.evaluate(async (target) => {
      const attempts = [
        fetch(`${target}/api/sessions`),
        fetch(`${target}/api/sessions`, { headers: { authorization: 'Bearer 0' } }),
        fetch(`${target}/api/sign-in`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' }),
        fetch(`${target}/app.js`),
      ];
      attempts.push(fetch(`${target}/api/sessions`, { method: 'POST', mode: 'no-cors', body: '{"task":"x"}' }));
      const settled = await Promise.allSettled(attempts);
      let framed = 'nothing';
      try { framed = document.getElementById('frame').contentDocument?.body?.textContent ?? 'nothing'; } catch { framed = 'nothing'; }
      return [settled.map((one) => one.status), framed];
    }, address);
    assert.deepEqual(got, [Array(5).fill('rejected'), 'nothing']);
  }
  assert.equal(fs.existsSync(path.join(base, 'sessions')), false, 'no session was begun');
  const own = await open(t, link);
  await own.getByRole('heading', { name: 'New session' }).or(own.getByRole('heading', { name: 'Sessions' })).waitFor();
});

test('a hole in the page would run nothing and tell nobody', async (t) => {
  const { base } = place();
  const { address } = await serve(t, base);
  let heard = 0;
  const evil = http.createServer((request, response) => { heard += 1; response.setHeader('access-control-allow-origin', '*'); response.end('x'); });
  await new Promise((resolve) => { evil.listen(0, '127.0.0.1', resolve); });
  t.after(() => evil.close());
  const elsewhere = `http://127.0.0.1:${evil.address().port}/`;
  const attack = (target) => new Promise((resolve) => {
    // Later, because what the tests call themselves is not held by the policy.
    setTimeout(async () => {
      const tried = async (action) => { try { return (await action()) ?? 'done'; } catch (error) { return error.name; } };
      const loaded = (tag, address) => new Promise((settle) => {
        const element = document.createElement(tag);
        element.onload = () => settle('loaded');
        element.onerror = () => settle('blocked');
        document.body.append(element);
        element.src = address;
      });
      const result = {
        html: await tried(() => { document.body.insertAdjacentHTML('beforeend', '<img src=x onerror="window.owned=1">'); }),
        evaluate: await tried(() => { (0, eval)('window.owned=1'); }),
        inline: await tried(() => { const script = document.createElement('script'); script.textContent = 'window.owned=1'; document.body.append(script); }),
        handler: await tried(() => { document.body.setAttribute('onclick', 'window.owned=1'); document.body.click(); }),
        fetched: await tried(() => fetch(target).then(() => 'fetched')),
        beacon: await tried(() => String(navigator.sendBeacon(target, 'x'))),
        socket: await tried(() => new Promise((settle) => { const socket = new WebSocket(target.replace('http', 'ws')); socket.onopen = () => settle('open'); socket.onerror = () => settle('blocked'); })),
        picture: await tried(() => loaded('img', target)),
      };
      await new Promise((settle) => { setTimeout(settle, 200); });
      resolve({ ...result, owned: window.owned ?? null });
    });
  });
  const context = await browser.newContext();
  t.after(() => context.close());
  const page = await context.newPage();
  await page.goto(address);
  const blocked = await page.evaluate(attack, elsewhere);
  const { beacon, inline, handler, ...rest } = blocked;
  assert.deepEqual(rest, { html: 'TypeError', evaluate: 'EvalError', fetched: 'TypeError', socket: 'blocked', picture: 'blocked', owned: null });
  assert.equal(heard, 0, JSON.stringify({ beacon, inline, handler }));
  // A page without the policy is open to all of it.
  const open = http.createServer((request, response) => { response.setHeader('content-type', 'text/html'); response.end('<body>'); });
  await new Promise((resolve) => { open.listen(0, '127.0.0.1', resolve); });
  t.after(() => open.close());
  await page.goto(`http://127.0.0.1:${open.address().port}/`);
  const free = await page.evaluate(attack, elsewhere);
  assert.deepEqual([free.html, free.evaluate, free.fetched, free.owned], ['done', 'done', 'fetched', 1]);
  assert.equal(heard > 0, true);
});
