// The way to the server: the token, requests, and the stream of events.

const KEY = 'agent-token';
const channel = new BroadcastChannel('agent-token');
let token = sessionStorage.getItem(KEY);
let onSignedIn = () => {};

// Another tab of this page may have the token, or need it. Only pages of this very origin hear this.
channel.onmessage = ({ data }) => {
  if (data.wanted && token) channel.postMessage({ token });
  if (data.token && data.token !== token) { keep(data.token); onSignedIn(); }
};

function keep(value) {
  token = value;
  sessionStorage.setItem(KEY, value);
}

/** A failure that the server told. */
export class Told extends Error {
  constructor(status, told) {
    super(told.message);
    this.status = status;
    this.told = told;
  }
}

/** Exchanges the code in the address for the token, and takes it out of the address and the history. */
export async function signIn() {
  const code = /^#([0-9a-f]{64})(\/.*)?$/.exec(location.hash);
  if (code) {
    history.replaceState(null, '', `/#${code[2] ?? '/'}`);
    const answer = await post('/api/sign-in', { code: code[1] });
    keep(answer.token);
    channel.postMessage({ token: answer.token });
    return true;
  }
  if (!token) {
    channel.postMessage({ wanted: true });
    await new Promise((resolve) => { onSignedIn = resolve; setTimeout(resolve, 300); });
  }
  return Boolean(token);
}

/** Calls `action` when another tab was signed in and gave its token. */
export function whenSignedIn(action) {
  onSignedIn = action;
}

let version;
let onStale = () => {};

/** Calls `action` when the server has another page than this one: it was started again, newer or older. */
export function whenStale(action) {
  onStale = action;
}

async function request(path, options) {
  const headers = { ...options.headers };
  if (token) headers.authorization = `Bearer ${token}`;
  const response = await fetch(path, { ...options, headers, cache: 'no-store', credentials: 'omit', redirect: 'error' });
  const current = response.headers.get('agent-page');
  version ??= current;
  if (current !== version) onStale();
  if (response.ok) return response;
  const told = await response.json().catch(() => ({}));
  throw new Told(response.status, told.error ?? { message: `The server answered ${response.status}.`, causes: [], hints: [] });
}

export async function get(path) {
  return (await request(path, { method: 'GET', headers: {} })).json();
}

export async function post(path, body = {}) {
  const headers = { 'content-type': 'application/json' };
  return (await request(path, { method: 'POST', headers, body: JSON.stringify(body) })).json();
}

/** Waits, but not longer than the signal lets it. */
export const pause = (time, signal) => new Promise((resolve) => {
  const timer = setTimeout(resolve, time);
  signal.addEventListener('abort', () => { clearTimeout(timer); resolve(); }, { once: true });
});

/**
 * Follows a session: calls `take` with each item after `last`, and `tell` with how the connection is.
 * Each item has a number, so a page that was offline gets what it missed.
 */
export async function follow(id, last, signal, take, tell) {
  let wait = 250;
  while (!signal.aborted) {
    try {
      const headers = { 'last-event-id': String(last) };
      const response = await request(`/api/sessions/${id}/events`, { method: 'GET', headers, signal });
      tell('open');
      wait = 250;
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      let rest = '';
      for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        const messages = (rest + value).split('\n\n');
        rest = messages.pop();
        for (const message of messages) {
          const data = message.split('\n').find((line) => line.startsWith('data: '));
          if (!data) continue;
          const item = JSON.parse(data.slice(6));
          last = item.seq;
          take(item);
        }
      }
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof Told && error.status !== 503) { tell('refused', error); return; }
    }
    if (signal.aborted) return;
    tell('lost');
    await pause(wait, signal);
    wait = Math.min(wait * 2, 3000);
  }
}
