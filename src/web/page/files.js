// The files of the workspace, to look at, with what the session changed.

import { build, button, el } from '/dom.js';
import { post } from '/server.js';
import { counts, difference, howShown } from '/diff.js';

/** The address of a file or a folder; every part of the path may have any character. */
export function filesAddress(id, path = '') {
  const parts = path.split('/').filter(Boolean).map(encodeURIComponent);
  return `#/s/${id}/files${parts.map((part) => `/${part}`).join('')}`;
}

const size = (bytes) => (bytes < 1024 ? `${bytes} bytes` : bytes < 1024 * 1024 ? `${Math.round(bytes / 1024)} KB` : `${Math.round(bytes / 1024 / 1024)} MB`);

function trail(id, path) {
  const parts = path.split('/').filter(Boolean);
  const links = parts.map((part, n) => {
    const isHere = n === parts.length - 1;
    const link = el('a', { href: filesAddress(id, parts.slice(0, n + 1).join('/')), 'aria-current': isHere ? 'page' : undefined }, part);
    return ['/', link];
  });
  return el('nav', { class: 'trail', 'aria-label': 'Where this is' }, el('a', { href: filesAddress(id) }, 'workspace'), links);
}

function entry(id, path, one) {
  const address = filesAddress(id, path ? `${path}/${one.name}` : one.name);
  const mark = one.changes > 0 && el('span', { class: 'chip changed-mark' },
    one.isNew ? 'new ' : one.isFolder ? `${one.changes} changed ` : 'changed ', counts(one));
  const name = one.isSpecial ? el('span', { class: 'name' }, build(one.shown)) : el('a', { class: 'name', href: address }, build(one.shown), one.isFolder && '/');
  return el('li', {}, name, mark, el('span', { class: 'note' }, one.isSpecial ? 'a link, not followed' : one.isFolder ? '' : size(one.size)));
}

function folder(id, path, shown) {
  return [
    el('ul', { class: 'files' },
      shown.entries.map((one) => entry(id, path, one)),
      shown.gone.map((name) => el('li', { class: 'gone' }, el('span', { class: 'name' }, build(name)), el('span', { class: 'chip' }, 'deleted')))),
    !shown.entries.length && !shown.gone.length && el('p', { class: 'note' }, 'This folder is empty.'),
    shown.leftOut > 0 && el('p', { class: 'note' }, `${shown.leftOut} more entries are not shown.`),
  ];
}

function file(shown) {
  const place = el('div', {});
  const show = (what) => {
    const one = (name, label) => button(label, () => { show(name); place.querySelector('[aria-pressed="true"]').focus(); }, { 'aria-pressed': String(name === what), class: 'small' });
    const choice = shown.difference && el('div', { class: 'choice', role: 'group', 'aria-label': 'What is shown' }, one('file', 'File'), one('difference', 'Difference'));
    const how = what === 'difference' && howShown(() => show(what));
    place.replaceChildren(...[choice, how, what === 'file' ? build(shown.lines) : difference(shown.difference)].filter(Boolean));
  };
  show('file');
  return [place];
}

export async function openFiles(id, path, page) {
  const shown = await post(`/api/sessions/${id}/files`, { path });
  page.title('Files of the workspace');
  page.tools(el('a', { class: 'button', href: `#/s/${id}` }, 'Session'));
  const content = shown.entries ? folder(id, path, shown) : shown.unshown ? [el('p', { class: 'note' }, shown.unshown)] : file(shown);
  page.main.replaceChildren(
    el('h1', {}, 'Files'), trail(id, path),
    el('p', { class: 'note' }, 'Read-only. Marked is what this session changed.'),
    ...content.filter(Boolean));
  return { close() {}, key() { return false; } };
}
