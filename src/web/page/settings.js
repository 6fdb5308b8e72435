// The settings in force.

import { build, el } from '/dom.js';
import { get } from '/server.js';

export async function openSettings(page) {
  const { groups } = await get('/api/settings');
  page.title('Settings');
  page.tools();
  page.main.replaceChildren(
    el('section', { class: 'card' },
      el('h1', {}, 'Settings'),
      el('p', { class: 'note' }, 'These are in force here. Start the page with another value, for example ', el('code', {}, 'agent serve --approval ask'), ', or write it into appsettings.json.'),
      groups.map((group) => el('details', {}, el('summary', {}, group.title),
        el('dl', { class: 'all' }, group.settings.map((one) => [
          el('dt', {}, el('code', {}, one.name), ' ', build(one.value), ' ', el('code', {}, one.flag)),
          el('dd', {}, build(one.meaning), el('span', { class: 'note' }, ' From ', build(one.origin)))]))))));
  return { close() {}, key() { return false; } };
}
