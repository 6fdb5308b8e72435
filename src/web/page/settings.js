// The settings in force. A few of the person's own are changed here; for what permits more there is a command to type.

import { announce, build, el, trouble } from '/dom.js';
import { get, post } from '/server.js';

const commandLine = (text) => el('code', { class: 'command' }, text);

function changeable(one, told, again) {
  const select = el('select', { 'aria-label': one.title }, one.choices.map((choice) =>
    el('option', { value: choice.word, selected: choice.word === one.value, disabled: choice.isLooser }, choice.isLooser ? `${choice.word} (in a terminal)` : choice.word)));
  const save = async () => {
    try {
      const { inForce, because } = await post('/api/settings', { key: one.name, value: select.value });
      announce(`${one.title}: ${inForce}`);
      again(because ? [`✓ Saved. Here ${one.title} stays ${inForce}, from `, build(because), '.'] : [`✓ ${one.title} is ${inForce} from now on.`]);
    } catch (error) {
      select.value = one.value;
      told.replaceChildren(trouble(error));
    }
  };
  select.addEventListener('change', save);
  const looser = one.choices.find((choice) => choice.isLooser);
  return el('div', { class: 'field' },
    el('span', {}, one.title), select,
    el('p', { class: 'note' }, build(one.meaning), ' Now from ', build(one.origin), '.'),
    looser && el('p', { class: 'note' }, 'What permits more is typed in a terminal: ', commandLine(looser.command)));
}

export async function openSettings(page) {
  page.title('Settings');
  page.tools();
  const told = el('div', { 'aria-live': 'polite' });
  const again = async (words) => {
    const { own, groups, file } = await get('/api/settings');
    told.replaceChildren(...(words ? [el('p', { class: 'told' }, ...words)] : []));
    page.main.replaceChildren(
      el('section', { class: 'card settings' },
        el('h1', {}, 'Settings'), told,
        el('p', { class: 'note' }, 'These are yours, in all projects', file ? [': ', el('code', {}, file)] : '', '. They hold for sessions that begin or are resumed from now on.'),
        own.map((one) => changeable(one, told, again))),
      el('section', { class: 'card' },
        el('h2', {}, 'All settings in force here'),
        el('p', { class: 'note' }, 'They are changed in a terminal: ', commandLine('agent config set KEY VALUE')),
        groups.map((group) => el('details', {}, el('summary', {}, group.title),
          el('dl', { class: 'all' }, group.settings.map((one) => [
            el('dt', {}, el('code', {}, one.name), ' ', one.value[2] ? build(one.value) : 'empty'),
            el('dd', {}, build(one.meaning), el('span', { class: 'note' }, ' From ', build(one.origin), '.'))]))))));
  };
  await again();
  return { close() {}, key() { return false; } };
}
