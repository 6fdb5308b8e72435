// The card that says what to do now: carry the message, decide, answer, go on.

import { announce, build, button, dialog, el, hostDialogs } from '/dom.js';
import { get } from '/server.js';

/** How long a question must have been in sight before a button decides it. */
const READING_TIME = 300;

export class Card {
  constructor(view) {
    this.view = view;
    this.element = el('section', { class: 'card now', 'aria-label': 'What to do now' });
    this.parts = new Map();
    this.shown = '';
    this.element.addEventListener('dragover', (event) => event.preventDefault());
    this.element.addEventListener('drop', (event) => this.dropped(event));
  }

  close() {
    clearInterval(this.clock);
    this.small?.close();
  }

  /** The page came back into sight: what is asked has to be read first. */
  seen() {
    this.seenAt = performance.now();
  }

  /** Shows the card for where the session stands; returns what the title of the tab begins with. */
  show(session) {
    this.session = session;
    const [state, make] = this.choose(session);
    const key = JSON.stringify([state, session.questions.map((one) => one.hash), session.message?.round, session.message?.parts, this.view.sizes, session.loop, session.notes, session.check, session.trouble, session.modelQuestion]);
    if (key === this.shown) return this.mark;
    const isTurn = ['ask', 'answer', 'carry'].includes(state);
    const isNews = this.state !== undefined && (state !== this.state || state === 'ask' || state === 'carry');
    // News of the session redraws the card; an answer to the person's own key or click stays on it.
    const isSameTurn = state === this.state && session.message?.round === this.round;
    const told = isSameTurn && this.element.querySelector('.told');
    this.shown = key;
    this.state = state;
    this.round = session.message?.round;
    clearInterval(this.clock);
    this.mark = isTurn ? '● ' : state === 'done' ? '✓ ' : '';
    const active = this.element.ownerDocument.activeElement;
    const held = this.element.contains(active) && active.matches('textarea') && { label: active.ariaLabel, text: active.value };
    this.seen();
    this.element.className = `card now ${state}`;
    this.element.replaceChildren(...make.call(this, session).flat().filter(Boolean), this.foot(session));
    if (told) this.element.querySelector('h2').after(told);
    if (held) this.restore(held);
    if (isNews && isTurn) this.callPerson(session);
    return this.mark;
  }

  /** Puts what was being typed back into the same field; a field for something else stays empty. */
  restore({ label, text }) {
    const box = [...this.element.querySelectorAll('textarea')].find((one) => one.ariaLabel === label);
    if (!box) return;
    box.value = text;
    box.focus();
  }

  choose(session) {
    const questions = session.questions;
    if (questions.some((one) => one.kind === 'model')) return ['answer', this.answer];
    if (questions.length) return ['ask', this.ask];
    if (session.isComplete) return ['done', this.done];
    const isOurs = session.loop && (session.loop.session === session.id || !session.loop.session);
    if (session.loop && !isOurs) return ['elsewhere', this.elsewhere];
    if (session.modelQuestion && !session.loop) return ['answer', this.answer];
    if (!session.loop) return ['stopped', this.stopped];
    if (session.isTaken || !session.message) return ['working', this.working];
    const { sizes, request } = this.view;
    if (sizes?.round === session.message.round && sizes.carriedBy && request?.phase !== 'over') return ['carried', this.carried];
    return ['carry', this.carry];
  }

  // The states.

  carry(session) {
    this.loadParts(session);
    return [el('h2', {}, `Round ${session.message.round}: your turn`), this.turns(session)];
  }

  /** An API carries the round: how far it is, and a way to stop it. Copying is still there, folded. */
  carried(session) {
    const { sizes } = this.view;
    const isHere = session.loop?.isHere && session.loop.session === session.id;
    this.told = el('p', { class: 'progress' });
    this.clock = setInterval(() => this.progress(), 1000);
    this.progress();
    return [
      el('h2', {}, `Round ${session.message.round}: ${sizes.carriedBy} answers`),
      this.told,
      isHere && el('p', {}, button('Stop', () => this.view.act('stop'), { key: 'r' })),
      el('details', {}, el('summary', {}, 'Carry this round yourself'), this.turns(session)),
    ];
  }

  /** Says how far the request has come; a clock and each piece of the answer call it. */
  progress() {
    if (this.state !== 'carried' || !this.told) return;
    const { request } = this.view;
    const seconds = (time) => Math.max(0, Math.round(time / 1000));
    const waited = request ? `, ${seconds(Date.now() - request.since)} s` : '';
    const words = {
      asking: () => `Sent; no answer yet${waited}`,
      thinking: () => `Thinking${waited}`,
      answering: () => `Answering: ${request.characters.toLocaleString('en')} characters${waited}`,
      retrying: () => `${request.why}; again in ${seconds(request.at + request.millis - Date.now())} s`,
      whole: () => 'The answer is whole; its steps come next.',
    }[request?.phase];
    const text = words ? words() : 'The message is being sent.';
    if (this.told.textContent !== text) this.told.textContent = text;
  }

  /** Copy the message, bring the reply. */
  turns(session) {
    const { message } = session;
    const isFirst = this.state === 'carry';
    const copies = [];
    for (let part = 1; part <= message.parts; part += 1) {
      const label = message.parts === 1 ? 'Copy message' : `Copy part ${part} of ${message.parts}`;
      copies.push(button(label, () => this.copy(part), { class: part === 1 && isFirst ? 'primary' : '', key: part === 1 && isFirst ? 'c' : undefined }));
    }
    const { sizes } = this.view;
    const limit = session.chat === 'generic' ? 'the limit of a message' : `the limit of ${session.chat}`;
    const size = sizes?.round === message.round ? `~${sizes.tokens} tokens, ${sizes.percent}% of ${limit}` : '';
    this.box = el('textarea', { id: 'reply', rows: '2', placeholder: 'or paste it here', 'aria-label': 'The reply' });
    return el('ol', { class: 'turn' },
        el('li', {}, copies, ' and paste it into your chat. ', el('span', { class: 'note' }, size), this.openChat(message),
          message.attachment && el('p', { class: 'note' }, 'Attach the file ', el('code', {}, message.attachment))),
        el('li', {}, 'Copy the chat’s reply, then ', button('Paste reply', () => this.pasteFromClipboard(), { class: isFirst ? 'primary' : '', key: 'Ctrl+V' }),
          ' or press Ctrl+V anywhere on this page. A file can be dropped here.',
          el('div', { class: 'row' }, this.box, button('Use it', () => this.submit(this.box.value)))));
  }

  /** Links that open the chat, with the message where there is an official way and it is short enough. */
  openChat({ open }) {
    if (!open) return null;
    const link = (address, label, more) => el('a', { class: 'button small', href: address, target: '_blank', rel: 'noopener noreferrer', ...more }, label);
    return el('p', { class: 'opens' },
      open.withMessage && link(open.withMessage, `Open in ${open.title} with the message`, { title: 'The message becomes a part of the address' }),
      ' ', link(open.page, `Copy and open ${open.title}`, { onclick: () => this.copy(1) }));
  }

  working() {
    return [el('h2', {}, 'Working on the reply …'), el('p', { class: 'note' }, 'What happens is shown above. You are asked where a decision is yours.')];
  }

  stopped(session) {
    const what = session.isTaken ? 'A reply was being carried out when it stopped.' : session.replyInInbox ? 'A reply is waiting in the inbox.' : 'Nothing is lost.';
    return [
      el('h2', {}, 'This session is not running'), el('p', {}, what),
      el('p', {}, button('Resume', () => this.view.act('resume'), { class: 'primary', key: 'r' })),
      session.trouble && build(session.trouble),
    ];
  }

  elsewhere(session) {
    return [
      el('h2', {}, 'Another session is running'),
      el('p', {}, 'One session at a time is carried on here. ', el('a', { href: `#/s/${session.loop.session}` }, `Session ${session.loop.session}`), ` runs in process ${session.loop.process}. Stop it to resume this one.`),
    ];
  }

  done(session) {
    const box = el('textarea', { rows: '2', 'aria-label': 'What to do next', placeholder: 'What should the model do next?' });
    return [
      el('h2', {}, `Done: ${session.changed} file${session.changed === 1 ? '' : 's'} changed`),
      el('div', { class: 'row' }, box, button('Continue', () => box.value.trim() && this.view.act('resume', { instruction: box.value }), { class: 'primary' })),
      el('p', {}, el('a', { href: '#/new' }, 'New session')),
      session.trouble && build(session.trouble),
    ];
  }

  answer(session) {
    const question = session.questions.find((one) => one.kind === 'model');
    const box = el('textarea', { rows: '3', 'aria-label': 'Your answer', placeholder: 'Your answer' });
    const send = () => {
      const text = box.value.trim();
      if (!text) return;
      // Who has typed an answer has read the question.
      if (question) this.view.act('decide', { key: question.key, hash: question.hash, decision: 'say', text });
      else this.view.act('say', { text });
    };
    return [
      el('h2', {}, 'The model asks you'),
      question ? build(question.shown) : build(session.modelQuestion),
      el('div', { class: 'row' }, box, button('Answer', send, { class: 'primary' })),
      !session.loop && el('p', {}, button('Resume', () => this.view.act('resume'), { key: 'r' })),
    ];
  }

  ask(session) {
    const [question, ...others] = session.questions;
    this.question = question;
    const isStep = question.kind === 'step';
    // A reason goes to the model, so it is asked for where the model hears of the decision.
    const hasReason = isStep || question.kind === 'plan';
    const heading = {
      step: `Step ${question.number}: may the model do this?`, network: 'Run it again with the network?', plan: 'May the model begin with this plan?',
      secrets: 'May these go to the chat?', otherRound: 'Use a reply to another round?', checkCannotRun: 'Begin without the check?',
    }[question.kind] ?? 'A question';
    const yes = { step: 'Approve', network: 'Once', plan: 'Approve the plan', nextPart: 'Next part', secrets: 'Send them', otherRound: 'Use it', checkCannotRun: 'Begin without it' }[question.kind] ?? 'Yes';
    const no = { secrets: 'Keep them back', otherRound: 'Reject it' }[question.kind] ?? (hasReason ? 'Decline …' : 'No');
    const always = question.kind === 'network' ? 'For this session' : 'Always';
    const stays = others.filter((one) => one.kind === 'step').length;
    return [
      el('h2', {}, heading),
      question.verb != null && el('p', { class: 'what' }, question.verb, build(question.title)),
      build(question.words), build(question.shown),
      el('dl', {},
        question.why && [el('dt', {}, 'Why'), el('dd', {}, build(question.why))],
        question.may && [el('dt', {}, 'What it may do'), el('dd', {}, build(question.may))],
        question.proposal && [el('dt', {}, `“${always}” means`), el('dd', {}, build(question.proposal))]),
      el('div', { class: 'actions' },
        button(yes, () => this.decide(question, { decision: 'yes' }), { class: 'primary', key: 'y' }),
        button(no, () => this.decline(question, hasReason), { key: 'n' }),
        question.proposal && button(always, () => this.decide(question, { decision: 'always' }), { key: 'a' }),
        question.kind === 'step' && stays > 0 && button(`Approve all ${stays + 1}`, () => this.decideAll(), { key: 'A' }),
        question.script !== null && question.script !== undefined && button('Change …', () => this.edit(question), { key: 'e' }),
        isStep && button('Skip', () => this.decide(question, { decision: 'skip' }), { key: 's' }),
        ['step', 'network', 'plan', 'secrets'].includes(question.kind) && button(isStep ? 'Skip and stop' : 'Stop', () => this.decide(question, { decision: 'stop' }), { key: 'q' })),
      others.length > 0 && el('p', { class: 'note' }, `${others.length} more to decide after this.`),
    ];
  }

  foot(session) {
    const facts = [];
    if (session.loop && !session.loop.isHere && session.loop.session === session.id) {
      facts.push(`A loop in another process (${session.loop.process}) carries this session on; this page steers it.`);
    }
    if (session.check) facts.push(el('span', {}, 'Check ', el('code', {}, build(session.check.command)), `: ${session.check.status ?? 'not run yet'}${session.check.isOutdated ? ', before the undo' : ''}`));
    const notes = session.notes.map(({ text, number }) => el('p', { class: 'note' }, 'Goes with the next message: ', build(text),
      number && button('Withdraw', () => this.view.act('withdraw', { number, text }), { class: 'link' })));
    const canNotify = 'Notification' in window && Notification.permission === 'default';
    return el('div', { class: 'foot' },
      facts.map((fact) => el('p', { class: 'note' }, fact)), notes,
      !session.isComplete && button('Note for the model', () => this.note(), { class: 'link', key: 'm' }),
      'documentPictureInPicture' in window && !this.small && button('Small window above the chat', () => this.float(), { class: 'link' }),
      canNotify && button('Notify me when it is my turn', () => Notification.requestPermission(), { class: 'link' }));
  }

  /** Moves the card into a small window that stays above the chat, and back when that is closed. */
  async float() {
    const small = await window.documentPictureInPicture.requestWindow({ width: 400, height: 460 });
    const home = el('p', { class: 'card note' }, 'What to do now is in the small window.');
    this.small = small;
    this.element.replaceWith(home);
    small.document.documentElement.lang = 'en';
    small.document.documentElement.className = document.documentElement.className;
    small.document.title = 'agent';
    small.document.head.append(el('link', { rel: 'stylesheet', href: '/app.css' }));
    small.document.body.append(this.element);
    hostDialogs(small.document);
    small.document.addEventListener('paste', this.view.onPaste);
    small.document.addEventListener('keydown', (event) => {
      const isTyping = event.target.closest('input, textarea, dialog');
      if (!isTyping && !event.ctrlKey && !event.metaKey && !event.altKey && this.key(event)) event.preventDefault();
    });
    small.addEventListener('pagehide', () => {
      this.small = null;
      hostDialogs(document);
      home.replaceWith(this.element);
    });
  }

  get clipboard() {
    return this.element.ownerDocument.defaultView.navigator.clipboard;
  }

  // Carrying.

  /** Fetches the texts ahead, so that a click can copy at once, as browsers demand. */
  async loadParts(session) {
    const { round, parts } = session.message;
    if (this.parts.round === round && this.parts.size === parts) return;
    this.parts = new Map();
    this.parts.round = round;
    try {
      for (let part = 1; part <= parts; part += 1) this.parts.set(part, (await get(`${this.view.path}/message/${part}`)).text);
      if (this.copies && this.element.ownerDocument.hasFocus()) await this.copy(1, true);
    } catch {
      // The button fetches it again.
    }
  }

  async copy(part, isUnasked = false) {
    const text = this.parts.get(part) ?? (await get(`${this.view.path}/message/${part}`)).text;
    try {
      await this.clipboard.writeText(text);
      this.copies = true;
      announce('The message is copied. Paste it into your chat.');
      this.tell('✓ Copied. Paste it into your chat.');
    } catch {
      if (isUnasked) return;
      const box = el('textarea', { rows: '12', readonly: '' }, text);
      dialog('Copy it from here', box, [{ label: 'Close' }]);
      box.select();
    }
  }

  tell(text) {
    this.element.querySelector('.told')?.remove();
    this.element.querySelector('h2')?.after(el('p', { class: 'told' }, text));
  }

  async pasteFromClipboard() {
    try {
      await this.submit(await this.clipboard.readText());
    } catch {
      this.tell('The browser did not let this page read the clipboard. Press Ctrl+V instead.');
      this.box?.focus();
    }
  }

  pasted(event) {
    if (event.target.closest('textarea:not(#reply), input, dialog')) return;
    const text = event.clipboardData?.getData('text/plain');
    if (!text) return;
    event.preventDefault();
    this.submit(text);
  }

  async dropped(event) {
    event.preventDefault();
    const [file] = event.dataTransfer.files;
    const text = file ? await file.text() : event.dataTransfer.getData('text/plain');
    if (text) this.submit(text);
  }

  /** Hands a reply over; without this round's end mark the person sees first what was understood. */
  async submit(text) {
    const answer = await this.view.act('reply', { text });
    if (!answer) return;
    if (answer.isTaken) {
      if (this.box) this.box.value = '';
      this.tell(`✓ Taken: ${answer.commands} command${answer.commands === 1 ? '' : 's'}.`);
      announce('The reply is taken.');
      return;
    }
    const content = el('div', {}, el('p', {}, answer.doubt),
      el('p', {}, `${answer.commands} command${answer.commands === 1 ? '' : 's'} understood${answer.issues ? `, ${answer.issues} parts not` : ''}.`),
      el('ul', { class: 'lines' }, answer.steps.map(build)), answer.problems.map(build),
      answer.cut && el('p', { class: 'note warning' }, 'It ends too early, in ', build(answer.cut)));
    if (await dialog('Use this reply?', content, [{ label: 'Discard' }, { label: 'Use it', value: true, kind: 'primary' }])) {
      await this.view.act('reply', { text, isSure: true });
    }
  }

  // Deciding.

  /** Sends a decision with the hash of what was shown. Too early is a click meant for something else. */
  async decide(question, verdict) {
    if (!(performance.now() - this.seenAt >= READING_TIME)) return;
    await this.view.act('decide', { key: question.key, hash: question.hash, ...verdict });
  }

  async decideAll() {
    await this.decide(this.question, { decision: 'all' });
  }

  async decline(question, hasReason) {
    if (!hasReason) { await this.decide(question, { decision: 'no' }); return; }
    const box = el('textarea', { rows: '3', 'aria-label': 'Reason' });
    const content = el('div', {}, el('p', {}, 'The model is told why; leave it empty to give no reason.'), box);
    const answered = dialog('Decline', content, [{ label: 'Decline', value: true, kind: 'primary' }, { label: 'Cancel' }]);
    box.focus();
    if (await answered) await this.decide(question, { decision: 'no', ...(box.value.trim() && { reason: box.value.trim() }) });
  }

  async edit(question) {
    const box = el('textarea', { rows: '10', class: 'script', 'aria-label': 'The command' });
    box.value = question.script;
    const answered = dialog('Change the command', box, [{ label: 'Run this', value: true, kind: 'primary' }, { label: 'Cancel' }]);
    box.focus();
    if (await answered && box.value.trim()) await this.decide(question, { decision: 'edit', script: box.value });
  }

  async note() {
    const box = el('textarea', { rows: '4', 'aria-label': 'Note' });
    const answered = dialog('A note for the model', box, [{ label: 'Send with the next message', value: true, kind: 'primary' }, { label: 'Cancel' }]);
    box.focus();
    if (await answered && box.value.trim()) await this.view.act('say', { text: box.value.trim() });
  }

  // Calling.

  callPerson(session) {
    announce(this.element.querySelector('h2')?.textContent ?? '');
    if (document.hidden && 'Notification' in window && Notification.permission === 'granted') {
      new Notification('agent: your turn', { body: this.element.querySelector('h2')?.textContent, tag: session.id });
    }
  }

  key(event) {
    const wanted = event.key;
    if (wanted === 'm' && !this.session.isComplete) { this.note(); return true; }
    if (wanted === 'c' && this.state === 'carry') { this.copy(1); return true; }
    if (wanted === 'r' && this.state === 'stopped') { this.view.act('resume'); return true; }
    if (wanted === 'r' && this.session.loop?.isHere && this.session.loop.session === this.session.id) { this.view.act('stop'); return true; }
    if (this.state !== 'ask') return false;
    const found = [...this.element.querySelectorAll('.actions button')].find((one) => one.getAttribute('aria-keyshortcuts') === wanted);
    found?.click();
    return Boolean(found);
  }
}
