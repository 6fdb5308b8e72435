// A new session, and the place to work in where there is none yet.

import { build, button, el, showWords, trouble } from '/dom.js';
import { get, post } from '/server.js';

export async function openBegin(page) {
  const offer = await get('/api/new');
  page.title('New session');
  page.tools();
  const told = el('div', { 'aria-live': 'assertive' });
  const fail = (error) => { if (error.status === 401) page.failed(error); else told.replaceChildren(trouble(error)); };
  if (offer.needsPlace) {
    const choose = (place) => post('/api/place', { place }).then(() => location.reload(), fail);
    page.main.replaceChildren(el('section', { class: 'card' },
      el('h1', {}, 'Where should the model work?'),
      el('p', {}, el('code', {}, offer.directory), ' is not empty, and `agent` was not used here yet.'),
      offer.warning && el('p', { class: 'note warning' }, offer.warning),
      el('div', { class: 'actions' },
        button('On what is here, in place', () => choose('project'), { class: 'primary' }),
        button('In a new, empty folder workspace/', () => choose('folder'))),
      told));
    return { close() {}, key() { return false; } };
  }
  const field = (label, input, hint) => el('label', { class: 'field' }, el('span', {}, label), input, hint && el('span', { class: 'note' }, hint));
  const task = el('textarea', { rows: '6', required: '', placeholder: 'What should the model do?', 'aria-label': 'Task' });
  const choice = (options) => el('select', {}, options.map(([value, text]) => el('option', { value }, text)));
  const template = choice([['', 'none'], ...offer.templates.map((one) => [one.name, `/${one.name} — ${one.description}`])]);
  const chat = choice([['', `as set: ${offer.chat}`], ...offer.chats.map((name) => [name, name])]);
  const approval = choice([['', `as set: ${offer.approval}`], ...offer.approvals.map((name) => [name, name])]);
  const check = el('input', { type: 'text', placeholder: offer.check || 'make test' });
  const add = el('textarea', { rows: '2', placeholder: 'src/parser.py' });
  const start = button('Start', begin, { class: 'primary' });
  const preview = el('div', {});
  template.addEventListener('change', () => {
    const chosen = offer.templates.find((one) => one.name === template.value);
    preview.replaceChildren(...(chosen ? [el('p', { class: 'note' }, 'Your task takes the place of {{args}}:'), build(chosen.text)] : []));
  });
  const cost = el('div', { class: 'cost', 'aria-live': 'polite' });
  const paths = () => add.value.split('\n').map((line) => line.trim()).filter(Boolean);
  let counting;
  /** Tells what the files take of the first message, soon after the last letter was typed. */
  function count() {
    clearTimeout(counting);
    counting = setTimeout(async () => {
      if (!paths().length) { cost.replaceChildren(); return; }
      const asked = add.value;
      try {
        const told = await post('/api/cost', { paths: paths(), chat: chat.value });
        if (asked !== add.value) return;
        const name = chat.value || offer.chat;
        const files = told.files.map((one) => el('li', {}, build(one.path), ` ${one.tokens === null ? 'not shown: attach it yourself' : `~${one.tokens} tokens`}`));
        cost.replaceChildren(
          el('p', { class: told.percent > 70 ? 'warning' : 'note' }, `Together ~${told.tokens} tokens, ${told.percent}% of ${name === 'generic' ? 'the limit of a message' : `the limit of ${name}`}.`),
          el('ul', { class: 'lines' }, files));
      } catch (error) {
        if (asked === add.value) cost.replaceChildren(trouble(error));
      }
    }, 300);
  }
  add.addEventListener('input', count);
  chat.addEventListener('change', count);

  async function begin() {
    const said = template.value ? `/${template.value} ${task.value}` : task.value;
    if (!said.trim()) { task.focus(); return; }
    start.disabled = true;
    try {
      const { id, words } = await post('/api/sessions', { task: said, chat: chat.value, approval: approval.value, check: check.value.trim(), add: paths() });
      if (words.length) await showWords(words);
      location.hash = `#/s/${id}`;
    } catch (error) {
      fail(error);
    } finally {
      start.disabled = false;
    }
  }

  page.main.replaceChildren(el('section', { class: 'card' },
    el('h1', {}, 'New session'),
    el('p', { class: 'note' }, `The model works in ${offer.workspace}`),
    field('Task', task),
    el('p', {}, start),
    told,
    el('details', {},
      el('summary', {}, 'More'),
      offer.templates.length > 0 && field('Template', template), offer.templates.length > 0 && preview,
      field('Chat', chat),
      field('Check', check, 'A command that must succeed before the work counts as done.'),
      field('Approval', approval, 'Only stricter than what is set. To permit more: agent new --approval …'),
      field('Show these files at the start', add, 'A path, a folder or a pattern on each line.'), cost)));
  return { close() { clearTimeout(counting); }, key() { return false; }, shown() { task.focus(); } };
}
