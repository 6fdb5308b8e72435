// Differences, inline or side by side.

import { build, button, el } from '/dom.js';

const KEY = 'agent-difference';
/** Files with more lines than this are folded at first. */
const FOLDED_ABOVE = 800;

const isSideBySide = () => (sessionStorage.getItem(KEY) ?? (window.innerWidth >= 1000 ? 'sides' : 'inline')) === 'sides';

/** The lines of a unified diff, `[tag, class, line, ...]`, as rows with what was there and what is there now. */
function pairs(node) {
  const rows = [];
  let gone = [];
  let come = [];
  let [before, now] = [0, 0];
  const flush = () => {
    for (let n = 0; n < Math.max(gone.length, come.length); n += 1) rows.push([gone[n], come[n]]);
    [gone, come] = [[], []];
  };
  for (const [, kind, line] of node.slice(2)) {
    const text = line.slice(1);
    if (kind === 'removed') {
      gone.push({ number: before, text, kind });
      before += 1;
    } else if (kind === 'added') {
      come.push({ number: now, text, kind });
      now += 1;
    } else {
      flush();
      const at = kind === 'place' && /^@@ -(\d+)(?:,\d+)? \+(\d+)/.exec(line);
      if (at) [before, now] = [Number(at[1]), Number(at[2])];
      if (kind !== 'same' || line.startsWith('\\')) {
        rows.push([{ heading: line }]);
      } else {
        rows.push([{ number: before, text, kind }, { number: now, text, kind }]);
        before += 1;
        now += 1;
      }
    }
  }
  flush();
  return rows;
}

function cells(side) {
  if (!side) return [el('td', { class: 'number' }), el('td', { class: 'none' })];
  return [el('td', { class: 'number' }, String(side.number)), el('td', { class: side.kind }, side.text)];
}

function sideBySide(node) {
  const rows = pairs(node).map(([before, now]) => (before?.heading !== undefined
    ? el('tr', {}, el('td', { class: 'place', colspan: '4' }, before.heading))
    : el('tr', {}, cells(before), cells(now))));
  const columns = el('colgroup', {}, ['number', '', 'number', ''].map((name) => el('col', { class: name })));
  const head = el('thead', { class: 'visually-hidden' }, el('tr', {}, ['line', 'before', 'line', 'now'].map((text) => el('th', { scope: 'col' }, text))));
  return el('div', { class: 'sides', tabindex: '0', role: 'region', 'aria-label': 'Before and now' }, el('table', {}, columns, head, el('tbody', {}, rows)));
}

/** A difference of one file, as the person likes to see it; its name stands above it already. */
export function difference(node) {
  const isName = ([, kind, line]) => kind === 'head' && /^(diff |--- |\+\+\+ )/.test(line);
  const lines = node.filter((line, n) => n < 2 || !isName(line));
  return isSideBySide() ? sideBySide(lines) : build(lines);
}

/** The buttons that choose how differences are shown; `again` shows them anew. */
export function howShown(again) {
  const choose = (way) => { sessionStorage.setItem(KEY, way); again(); };
  const one = (way, label) => button(label, () => choose(way), { 'aria-pressed': String((way === 'sides') === isSideBySide()), class: 'small' });
  return el('div', { class: 'choice', role: 'group', 'aria-label': 'How differences are shown' }, one('inline', 'Inline'), one('sides', 'Side by side'));
}

export function counts({ added, removed }) {
  if (added === null || added === undefined) return null;
  return el('span', { class: 'counts' }, el('span', { class: 'plus' }, `+${added}`), ' ', el('span', { class: 'minus' }, `−${removed}`));
}

/** The changed files of a round or a session, each folded in and out. */
export function changedFiles({ files, leftOut }) {
  const place = el('div', { class: 'changes' });
  const fill = () => {
    const all = files.map((file) => {
      const box = el('details', { class: 'changed' }, el('summary', {}, file.path ? build(file.path) : 'file', ' ', counts(file)));
      const show = () => { if (box.open && box.childElementCount === 1) box.append(difference(file.node)); };
      box.addEventListener('toggle', show);
      box.open = file.node.length <= FOLDED_ABOVE;
      show();
      return box;
    });
    place.replaceChildren(howShown(() => { fill(); place.querySelector('[aria-pressed="true"]').focus(); }), ...all,
      ...(leftOut ? [el('p', { class: 'note' }, `${leftOut} more, which are build output or too many: agent diff shows them.`)] : []));
  };
  fill();
  return place;
}
