// A session: its rounds, newest at the bottom, as they happen.

import { announce, banner, build, button, dialog, el, showTrouble, showWords } from '/dom.js';
import { Told, follow, get, pause, post } from '/server.js';
import { Card } from '/card.js';
import { changedFiles } from '/diff.js';
import { filesAddress } from '/files.js';

/** How much of the output of a running command stays on the page. */
const LIVE_CHARACTERS = 20000;
/** How long events are collected before the page asks where the session stands. */
const TOGETHER = 40;
/** The pause after a failure, and how many failures in a row are no accident. */
const AGAIN = 500;
const ATTEMPTS = 6;

export async function openSession(id, page) {
  const view = new SessionView(id, page);
  await view.load();
  return view;
}

class SessionView {
  constructor(id, page) {
    this.id = id;
    this.page = page;
    this.path = `/api/sessions/${id}`;
    this.closed = new AbortController();
    this.history = el('div', { class: 'history', role: 'log', 'aria-label': 'What happened' });
    this.earlier = button('Show earlier rounds', () => this.loadEarlier(), { class: 'earlier' });
    this.earlier.hidden = true;
    this.costs = el('p', { class: 'note costs' });
    this.card = new Card(this);
    this.watcher = new IntersectionObserver((entries) => {
      if (entries.some((entry) => entry.isIntersecting)) this.loadEarlier();
    }, { rootMargin: '600px' });
    this.onPaste = (event) => this.card.pasted(event);
    this.onVisible = () => { if (!document.hidden) this.card.seen(); };
    document.addEventListener('paste', this.onPaste);
    document.addEventListener('visibilitychange', this.onVisible);
  }

  close() {
    this.closed.abort();
    this.watcher.disconnect();
    this.card.close();
    document.removeEventListener('paste', this.onPaste);
    document.removeEventListener('visibilitychange', this.onVisible);
  }

  /** Loads the session anew: at the start, and where events are not kept any more. */
  async load() {
    const session = await get(this.path);
    if (this.closed.signal.aborted) return;
    this.stream?.abort();
    this.stream = new AbortController();
    this.closed.signal.addEventListener('abort', () => this.stream.abort());
    this.further = session.further;
    this.current = null;
    const rounds = session.rounds.rounds;
    this.first = rounds[0]?.number ?? session.round;
    this.history.replaceChildren(
      ...(session.rounds.hasEarlier ? [] : [this.task(session)]),
      ...rounds.flatMap((round) => this.round(round)));
    this.session = session;
    this.earlier.hidden = !session.rounds.hasEarlier;
    for (const item of session.items) this.take(item, true);
    if (session.isComplete && session.summary && !rounds.length) this.history.append(build(session.summary));
    this.page.main.replaceChildren(this.earlier, this.history, this.costs, this.card.element);
    this.stand(session);
    this.watcher.observe(this.earlier);
    this.toBottom();
    follow(this.id, session.seq, this.stream.signal, (item) => this.take(item), (how, error) => this.connection(how, error));
  }

  task(session) {
    return build(session.task);
  }

  /** A finished round. */
  round(round) {
    const said = this.further.filter((one) => one.round === round.number).map((one) => build(one.node));
    const section = this.section(round.number, round.isUndone);
    section.append(...round.nodes.map(build), this.links(round));
    return [...said, section];
  }

  /** What there is to look at of a finished round. */
  links({ number, hasChanges, hasMessage, hasReply }) {
    const link = (label, action) => button(label, action, { class: 'link', 'aria-label': `${label} of round ${number}` });
    return el('p', { class: 'links' },
      hasChanges && link('Changes', () => this.showDiff(number)),
      hasMessage && link('Message', () => this.showLetter('sent', number)),
      hasReply && link('Reply', () => this.showLetter('came', number)),
      link('More', () => this.moreOfRound(number)));
  }

  /** Adds to a round that has just ended what a finished one has. */
  async finish(section) {
    const number = Number(section.dataset.round);
    if (section.querySelector('.links')) return;
    try {
      const round = await get(`${this.path}/round/${number}`);
      if (!section.querySelector('.links')) section.append(this.links(round));
    } catch {
      // They come with the next loading.
    }
  }

  section(number, isUndone) {
    const heading = el('h2', {}, `Round ${number}`, isUndone && el('span', { class: 'chip' }, 'undone'));
    return el('section', { class: isUndone ? 'round undone' : 'round', 'data-round': String(number) }, heading);
  }

  async loadEarlier() {
    if (this.earlier.hidden || this.loading) return;
    this.loading = true;
    try {
      const { rounds, hasEarlier } = await get(`${this.path}/rounds/${this.first}`);
      const height = document.documentElement.scrollHeight;
      this.history.prepend(...(hasEarlier ? [] : [this.task(this.session)]), ...rounds.flatMap((round) => this.round(round)));
      this.first = rounds[0]?.number ?? 1;
      this.earlier.hidden = !hasEarlier;
      // What was in view stays there, also where the browser does not do that by itself.
      if (window.scrollY < 5) window.scrollBy(0, document.documentElement.scrollHeight - height);
    } catch (error) {
      this.earlier.hidden = true;
      showTrouble(error);
    } finally {
      this.loading = false;
      // The watcher tells of changes only: a button that stays in view must be looked at anew.
      this.watcher.unobserve(this.earlier);
      this.watcher.observe(this.earlier);
    }
  }

  /** Shows an event. */
  take(item, isOld = false) {
    const wasAtBottom = this.isAtBottom();
    const nodes = (item.nodes ?? []).map(build);
    if (item.request) this.followRequest(item);
    switch (item.kind) {
      case 'reset':
        if (!isOld) this.reload();
        return;
      case 'outbox':
        this.sizes = { round: item.number, ...item.size };
        this.request = null;
      // falls through
      case 'reply':
        this.currentSection(item.number).append(...nodes);
        break;
      case 'running':
        this.currentSection().append(el('div', { class: 'step running', 'data-step': String(item.number) }, nodes));
        break;
      case 'output':
        this.addOutput(item);
        break;
      case 'step': {
        const running = this.running(item.number);
        if (running) running.replaceWith(...nodes);
        else this.currentSection().append(...nodes);
        break;
      }
      default:
        if (nodes.length) this.currentSection().append(...nodes);
    }
    if (isOld) return;
    if (item.kind !== 'output' && item.kind !== 'item') this.refresh();
    if (item.request) this.card.progress();
    if (wasAtBottom) this.toBottom();
  }

  /** How far the request to an API has come, for the card. */
  followRequest({ request, at, text }) {
    const begins = request.phase === 'asking';
    const before = begins ? null : this.request;
    this.request = {
      ...request, at: Date.parse(at), since: before?.since ?? Date.parse(at),
      characters: (before?.characters ?? 0) + (request.phase === 'answering' ? text.length : 0),
    };
  }

  /** The round under way; a message with another number begins another one. */
  currentSection(number) {
    if (!this.current || (number !== undefined && this.current.dataset.round !== String(number))) {
      if (this.current && this.session) this.finish(this.current);
      this.current = this.section(number ?? this.session?.round ?? 1, false);
      this.history.append(this.current);
    }
    return this.current;
  }

  running(number) {
    return this.history.querySelector(`.running[data-step="${Number(number)}"]`);
  }

  addOutput(item) {
    const output = this.running(item.number)?.querySelector('.live');
    if (!output) return;
    output.append(el('span', { class: item.isThought ? 'thought' : '' }, item.text));
    for (let length = output.textContent.length; length > LIVE_CHARACTERS && output.childElementCount > 1;) {
      length -= output.firstChild.textContent.length;
      output.firstChild.remove();
    }
    output.scrollTop = output.scrollHeight;
  }

  isAtBottom() {
    return window.innerHeight + window.scrollY >= document.documentElement.scrollHeight - 80;
  }

  toBottom() {
    requestAnimationFrame(() => window.scrollTo(0, document.documentElement.scrollHeight));
  }

  async reload() {
    try {
      await this.load();
    } catch (error) {
      this.page.failed(error);
    }
  }

  connection(how, error) {
    if (how === 'open') { if (this.wasLost) { this.wasLost = false; banner(null); this.refresh(); } return; }
    if (how === 'lost') { this.wasLost = true; banner('The server does not answer. If `agent serve` was stopped, start it again. Nothing is lost.', 'warning'); return; }
    this.page.failed(error);
  }

  /**
   * Asks where the session stands; several events in a row ask once. One request at a time: an older
   * answer that comes later would hide a newer one. What fails is asked for again.
   */
  refresh() {
    this.isWanted = true;
    if (this.isAsking) return;
    this.isAsking = true;
    this.askStanding().finally(() => { this.isAsking = false; });
  }

  async askStanding() {
    const { signal } = this.closed;
    let failures = 0;
    while (this.isWanted) {
      await pause(failures ? AGAIN : TOGETHER, signal);
      if (signal.aborted) return;
      this.isWanted = false;
      try {
        const session = await get(`${this.path}/standing`);
        if (!signal.aborted) this.stand(session);
        failures = 0;
      } catch (error) {
        if (signal.aborted) return;
        failures += 1;
        // A session that was removed, or a page that is not signed in any more.
        if (error instanceof Told && (error.status === 401 || failures >= ATTEMPTS)) { this.page.failed(error); return; }
        this.isWanted = true;
      }
    }
  }

  /** Shows where the session stands. */
  stand(session) {
    this.session = session;
    this.further = session.further;
    this.costs.textContent = session.usage ?? '';
    this.costs.hidden = !session.usage;
    if (session.isComplete && this.current) this.finish(this.current);
    const wasAtBottom = this.isAtBottom();
    const mark = this.card.show(session);
    // A card that grew hides nothing of what it is about.
    if (wasAtBottom) this.toBottom();
    const title = Array.isArray(session.title) ? '' : session.title;
    this.page.title(session.name ? `${session.name}: ${title}` : title, mark);
    const isHere = session.loop?.isHere && session.loop.session === this.id;
    this.page.tools(
      isHere && button('Stop', () => this.act('stop'), { key: 'r' }),
      button('Undo', () => this.reverse({}), { key: 'u', disabled: !session.undoable.length }),
      button('Redo', () => this.reverse({ isRedo: true }), { key: 'U', disabled: !session.canRedo }),
      el('a', { class: 'button', href: filesAddress(this.id), 'aria-keyshortcuts': 'f', title: 'Key: f' }, 'Files'),
      button('More', () => this.more(), { key: 'o' }),
    );
  }

  /** Does something with the session and shows where it stands then. */
  async act(what, body = {}) {
    try {
      const answer = await post(`${this.path}/${what}`, body);
      this.refresh();
      if (answer.words?.length) await showWords(answer.words);
      return answer;
    } catch (error) {
      if (error instanceof Told && error.status === 401) this.page.failed(error);
      else await showTrouble(error);
      this.refresh();
      return null;
    }
  }

  /** Shows what an undo or a redo would change, and carries it out if the person wants that. */
  async reverse(wanted) {
    const plan = await this.act('reverse', wanted);
    if (!plan || !await this.agree(plan, wanted.isRedo ? 'Redo' : 'Undo')) return;
    if (await this.act('reverse', { ...wanted, hash: plan.hash })) {
      announce(`${plan.title}: done`);
      this.reload();
    }
  }

  /** Shows what would change in the workspace. */
  agree(plan, label) {
    const actions = plan.isVain ? [{ label: 'Close' }] : [{ label, value: true, kind: 'primary' }, { label: 'Cancel' }];
    return dialog(plan.title, el('ul', { class: 'lines' }, plan.lines.map(build)), actions);
  }

  /** Makes a session that goes on after a round of this one; the latest if none is named. */
  async fork(round) {
    let forked = await this.act('fork', { round });
    if (forked && !forked.id) {
      if (!await this.agree(forked, 'Undo these and fork')) return;
      forked = await this.act('fork', { round, hash: forked.hash });
    }
    if (forked) location.hash = `#/s/${forked.id}`;
  }

  /** What can be done with a finished round. */
  async moreOfRound(round) {
    const canUndo = this.session.undoable.some((later) => later > round);
    const wanted = await dialog(`Round ${round}`, el('p', { class: 'note' }, `Go back to how the files were after round ${round}, or try another way from there.`), [
      canUndo && { label: 'Undo all later rounds', value: 'undo' },
      { label: 'Fork from here', value: 'fork' },
      { label: 'Close' },
    ].filter(Boolean));
    if (wanted === 'undo') await this.reverse({ to: round });
    if (wanted === 'fork') await this.fork(round);
  }

  async rename() {
    const box = el('input', { type: 'text', 'aria-label': 'Name', maxlength: '40', value: this.session.name ?? '' });
    const content = el('div', {}, el('p', { class: 'note' }, 'One word, by which commands know it too, as in agent resume parser-fix. Empty: no name.'), box);
    const answered = dialog('Name of this session', content, [{ label: 'Rename', value: true, kind: 'primary' }, { label: 'Cancel' }]);
    box.select();
    if (await answered) await this.act('rename', { name: box.value });
  }

  async showDiff(round) {
    try {
      const found = await get(`${this.path}/diff/${round}`);
      const what = round ? `Changes of round ${round}` : 'All changes of this session';
      await dialog(`${what}: ${found.count} file${found.count === 1 ? '' : 's'}`, changedFiles(found), [{ label: 'Close' }], 'wide');
    } catch (error) {
      showTrouble(error);
    }
  }

  async showLetter(what, round) {
    try {
      const { node, file } = await get(`${this.path}/${what}/${round}`);
      await dialog(file, build(node), [{ label: 'Close' }]);
    } catch (error) {
      showTrouble(error);
    }
  }

  async more() {
    const wanted = await dialog('This session', el('p', { class: 'note' }, `${this.id} in ${this.session.workspace}`), [
      { label: 'All changes', value: 'changes' },
      { label: 'Another window', value: 'window' },
      { label: 'Files', value: 'files' },
      { label: 'Rename', value: 'rename' },
      { label: 'Fork', value: 'fork' },
      { label: 'Hand over to a new chat', value: 'handoff' },
      { label: 'Export', value: 'export' },
      { label: 'End', value: 'end' },
      { label: 'Remove', value: 'remove', kind: 'danger' },
      { label: 'Close' },
    ]);
    if (wanted === 'changes') await this.showDiff(0);
    if (wanted === 'files') location.hash = filesAddress(this.id);
    if (wanted === 'rename') await this.rename();
    if (wanted === 'fork') await this.fork();
    if (wanted === 'window') this.page.anotherWindow();
    if (wanted === 'handoff') await this.act('handoff');
    if (wanted === 'export') await this.download();
    if (wanted === 'end' && await this.confirm('End this session?', 'The files stay as they are.', 'End')) await this.act('end');
    if (wanted === 'remove' && await this.confirm('Remove this session?', 'Its messages and replies go, and what it did can no longer be undone. The workspace stays as it is.', 'Remove')) {
      if (await this.act('remove')) location.hash = '#/';
    }
  }

  confirm(title, text, label) {
    return dialog(title, el('p', {}, text), [{ label: 'Cancel' }, { label, value: true, kind: 'danger' }]);
  }

  async download() {
    try {
      const { name, text } = await get(`${this.path}/export`);
      const address = URL.createObjectURL(new Blob([text], { type: 'text/html' }));
      const link = el('a', { href: address, download: name });
      link.click();
      URL.revokeObjectURL(address);
    } catch (error) {
      showTrouble(error);
    }
  }

  key(event) {
    const actions = {
      u: this.session.undoable.length > 0 && (() => this.reverse({})),
      U: this.session.canRedo && (() => this.reverse({ isRedo: true })),
      d: this.session.changed > 0 && (() => this.showDiff(0)),
      f: () => { location.hash = filesAddress(this.id); },
      o: () => this.more(),
    };
    const action = actions[event.key];
    if (action) { action(); return true; }
    return this.card.key(event);
  }
}
