// The page: which view is shown, the list of sessions, and the keys.

import { ago, announce, banner, build, button, dialog, el, showTrouble, trouble } from '/dom.js';
import { Told, get, post, signIn, whenSignedIn, whenStale } from '/server.js';
import { openSession } from '/session.js';
import { openBegin } from '/begin.js';
import { openFiles } from '/files.js';
import { openSettings } from '/settings.js';

const main = document.getElementById('main');
const where = document.getElementById('where');
const tools = document.getElementById('tools');
/** What is shown now: it may take keys, and is closed before the next one is shown. */
let view = { close() {}, key() { return false; } };

const KEYS = [
  ['?', 'this list'], ['g', 'all sessions'], ['n', 'a new session'], ['/', 'search the sessions'],
  ['c', 'copy the message'], ['Ctrl+V', 'paste the reply, anywhere on the page'],
  ['y', 'approve what is asked'], ['n', 'decline it, with a reason'], ['a', 'approve it always'],
  ['A', 'approve all of this round'], ['e', 'change the command, then approve'], ['s', 'skip it'], ['q', 'skip it and stop'],
  ['m', 'a note for the model'], ['u', 'undo the latest round'], ['U', 'redo what was undone'], ['d', 'all changes of the session'],
  ['f', 'the files of the workspace'], ['o', 'more that can be done with the session'], ['r', 'resume, or stop'],
  [',', 'settings'], ['t', 'dark, light, or as the system'],
];

function showKeys() {
  const rows = KEYS.map(([key, what]) => el('li', {}, el('kbd', {}, key), ` ${what}`));
  dialog('Keys', el('ul', { class: 'keys' }, rows), [{ label: 'Close' }]);
}

/** How often the list of sessions is looked at, in milliseconds. */
const LOOK_EVERY = 2000;
const THEMES = ['', 'dark', 'light'];

function setTheme(theme) {
  document.documentElement.className = theme;
  sessionStorage.setItem('agent-theme', theme);
}

function nextTheme() {
  const theme = THEMES[(THEMES.indexOf(document.documentElement.className) + 1) % THEMES.length];
  setTheme(theme);
  announce(theme ? `${theme} colours` : 'colours as the system');
}

document.addEventListener('keydown', (event) => {
  const typing = event.target.closest('input, textarea, select, dialog');
  if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
  const action = {
    '?': showKeys,
    g: () => { location.hash = '#/'; },
    n: () => { location.hash = '#/new'; },
    ',': () => { location.hash = '#/settings'; },
    t: nextTheme,
  }[event.key];
  if (view.key(event)) event.preventDefault();
  else if (action) { event.preventDefault(); action(); }
});

/** What every view may use of the page around it. */
const frame = {
  title(text, mark = '') {
    document.title = `${mark}${text || 'agent'}`;
    where.textContent = text;
  },
  tools(...buttons) {
    tools.replaceChildren(...buttons.filter(Boolean), el('a', { class: 'button', href: '#/settings', 'aria-keyshortcuts': ',', title: 'Key: ,' }, 'Settings'),
      button('Keys', showKeys, { key: '?' }), button('Colours', nextTheme, { key: 't' }));
  },
};

/** Says that the page is not signed in, and what to do. */
function showSignedOut(error) {
  view.close();
  view = { close() {}, key() { return false; } };
  frame.title('');
  tools.replaceChildren();
  main.replaceChildren(el('section', { class: 'card' },
    el('h1', {}, 'This page is not signed in'),
    el('p', {}, error?.told?.message ?? 'Open the link that `agent serve` printed in its terminal.'),
    el('p', {}, 'Each link opens the page once. Press Enter in that terminal for another one; if it was closed, start it again:'),
    el('pre', {}, 'agent serve')));
}

/** Shows a failure of a whole view. */
function failed(error) {
  if (error instanceof Told && error.status === 401) return showSignedOut(error);
  if (error instanceof TypeError) {
    main.replaceChildren(el('section', { class: 'card' },
      el('h1', {}, 'The server does not answer'),
      el('p', {}, 'Start `agent serve` again, and open the link that it prints. Nothing is lost.'),
      button('Try again', route)));
    return undefined;
  }
  main.replaceChildren(el('section', { class: 'card' }, el('h1', {}, 'This cannot be shown'), trouble(error), el('a', { href: '#/' }, 'All sessions')));
  return undefined;
}

async function openList(page) {
  let list = await get('/api/sessions').catch((error) => {
    // Where there is no base directory yet, the first thing to do is a session.
    if (error instanceof Told && error.status === 409) return null;
    throw error;
  });
  if (!list) { location.replace('#/new'); return view; }
  page.title('');
  page.tools();
  const search = el('input', { type: 'search', placeholder: 'Search', 'aria-label': 'Search the sessions', oninput: () => { fill(); lookDeeper(); } });
  let deeper = [];
  let looking;
  /** Looks into replies and names of files too, soon after the last letter was typed. */
  function lookDeeper() {
    clearTimeout(looking);
    deeper = [];
    const words = search.value.trim();
    if (!words) return;
    looking = setTimeout(async () => {
      const { ids } = await post('/api/search', { words }).catch(() => ({ ids: [] }));
      if (words !== search.value.trim()) return;
      deeper = ids;
      fill();
    }, 300);
  }
  const rows = el('ul', { class: 'sessions' });
  const none = el('p', { class: 'note' });
  function fill() {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const found = list.sessions.filter((one) => deeper.includes(one.id) || words.every((word) => `${one.name ?? ''} ${one.title} ${one.task} ${one.id} ${one.state}`.toLowerCase().includes(word)));
    const held = rows.contains(document.activeElement) && document.activeElement.getAttribute('href');
    rows.replaceChildren(...found.map(row));
    if (held) rows.querySelector(`a[href="${held}"]`)?.focus();
    none.textContent = found.length ? '' : words.length ? 'No session has these words.' : 'There is no session yet.';
  }
  page.main.replaceChildren(
    el('div', { class: 'head' }, el('h1', {}, 'Sessions'), el('a', { class: 'button primary', href: '#/new' }, 'New session')),
    el('p', { class: 'note' }, list.workspace), search, rows, none,
    ...list.troubles.map((text) => el('p', { class: 'note warning' }, text)));
  fill();
  // Sessions that a terminal begins or carries on appear by themselves.
  const watching = setInterval(async () => {
    if (document.hidden) return;
    const now = await get('/api/sessions').catch(() => list);
    if (JSON.stringify(now) === JSON.stringify(list)) return;
    list = now;
    fill();
  }, LOOK_EVERY);
  return {
    close() { clearInterval(watching); clearTimeout(looking); },
    key(event) {
      if (event.key !== '/') return false;
      search.focus();
      return true;
    },
  };
}

function row(session) {
  const state = session.isRunning ? `${session.state}, running` : session.state;
  return el('li', {}, el('a', { href: `#/s/${session.id}` },
    el('span', { class: 'name', dir: 'auto' }, session.name && `${session.name}: `, build(session.title)),
    el('span', { class: `chip ${session.isRunning ? 'running' : ''}` }, state),
    el('span', { class: 'note' }, `${session.id} · round ${session.rounds} · ${session.changed} file${session.changed === 1 ? '' : 's'} changed · ${ago(session.updatedAt)}`)));
}

/** The path that an address means. */
function unescaped(address) {
  try {
    return address.split('/').filter(Boolean).map(decodeURIComponent).join('/');
  } catch {
    return address;
  }
}

/** Counts the views: one that comes too late is closed at once. */
let routes = 0;

async function route() {
  routes += 1;
  const number = routes;
  view.close();
  view = { close() {}, key() { return false; } };
  banner(null);
  const path = location.hash.slice(1) || '/';
  const session = /^\/s\/([0-9a-f]{8})(?:\/files(\/.*)?|())$/.exec(path);
  const isShown = () => number === routes;
  const page = {
    // A view fills a place of its own, so that one that comes too late overwrites nothing.
    main: el('div'),
    title(...words) { if (isShown()) frame.title(...words); },
    tools(...buttons) { if (isShown()) frame.tools(...buttons); },
    failed(error) { if (isShown()) failed(error); },
    anotherWindow,
  };
  try {
    let opened;
    if (session && session[3] === undefined) opened = await openFiles(session[1], unescaped(session[2] ?? ''), page);
    else if (session) opened = await openSession(session[1], page);
    else if (path === '/settings') opened = await openSettings(page);
    else if (path === '/new') opened = await openBegin(page);
    else opened = await openList(page);
    if (!isShown()) { opened.close(); return; }
    view = opened;
    main.replaceChildren(page.main);
    view.shown?.();
  } catch (error) {
    page.failed(error);
  }
}

/** Opens another window of this page, signed in. */
async function anotherWindow() {
  try {
    const { link } = await post('/api/link');
    window.open(link + location.hash.slice(1), '_blank', 'noopener');
  } catch (error) {
    showTrouble(error);
  }
}

setTheme(sessionStorage.getItem('agent-theme') ?? '');
window.addEventListener('hashchange', async () => {
  if (/^#[0-9a-f]{64}/.test(location.hash)) await signIn().catch(failed);
  route();
});
try {
  if (await signIn()) await route();
  else showSignedOut();
} catch (error) {
  failed(error);
}
whenSignedIn(route);
whenStale(() => banner('`agent serve` was started again with another version of this page. Nothing is lost:', 'warning', button('Reload the page', () => location.reload())));
