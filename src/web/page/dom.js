// Elements from data. Nothing here or elsewhere on this page parses HTML: texts become text nodes, and the
// tags that the server may name are listed.

const TAGS = new Set([
  'div', 'p', 'span', 'pre', 'code', 'ul', 'ol', 'li', 'table', 'tr', 'td', 'em', 'strong', 'del',
  'blockquote', 'br', 'hr', 'details', 'summary',
]);

/** A node of the server, `"text"` or `[tag, class, child, ...]`, as a node of the page. */
export function build(node) {
  if (!Array.isArray(node)) return document.createTextNode(String(node ?? ''));
  const [tag, className, ...children] = node;
  const element = document.createElement(TAGS.has(tag) ? tag : 'span');
  if (className === 'open' && tag === 'details') element.open = true;
  else if (className) element.className = className;
  // Scrolls with the keys too.
  if (tag === 'pre') element.tabIndex = 0;
  if (className.startsWith('said') || className === 'plain') element.dir = 'auto';
  element.append(...children.map(build));
  return element;
}

/** An element of ours: `el('button', { class: 'x', onclick: f }, 'text', child)`. */
export function el(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (name === 'class') element.className = value;
    else if (name in element && typeof value !== 'string') element[name] = value;
    else element.setAttribute(name, value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== undefined && child !== null && child !== false));
  return element;
}

/** A button; `key` is shown to those who look for it. */
export function button(text, action, properties = {}) {
  const { key, ...rest } = properties;
  return el('button', { type: 'button', onclick: action, 'aria-keyshortcuts': key, title: key && `Key: ${key}`, ...rest }, text);
}

/** Says something to a screen reader. */
export function announce(text) {
  const said = document.getElementById('said');
  said.textContent = '';
  setTimeout(() => { said.textContent = text; }, 30);
}

/** Shows a line above everything, with a button if there is something to do, or takes it away. */
export function banner(text, className = '', action = null) {
  const line = document.getElementById('banner');
  line.hidden = !text;
  line.className = className;
  line.replaceChildren(text ?? '', ...(action ? [' ', action] : []));
}

let host = document;

/** The document in which dialogs open: that of the window that the person uses. */
export function hostDialogs(other) {
  host = other;
}

/** The dialog that is open, if there is one. */
let opened;

/**
 * Opens a dialog with a title; resolves when it is closed, with the value that a button gave. A new one
 * closes the one before it, which then resolves with nothing.
 *
 * Each is an element of its own: `close` comes later than the closing, and would be taken by the next one.
 */
export function dialog(title, content, actions, className = '') {
  opened?.close();
  return new Promise((resolve) => {
    let result;
    const buttons = actions.map(({ label, value, kind }) =>
      button(label, () => { result = value; box.close(); }, { class: kind }));
    const box = el('dialog', { 'aria-labelledby': 'dialog-title', class: className },
      el('h2', { id: 'dialog-title' }, title),
      el('div', { class: 'content', tabindex: '0' }, content),
      el('div', { class: 'actions' }, buttons));
    box.addEventListener('close', () => {
      if (opened === box) opened = undefined;
      box.remove();
      resolve(result);
    });
    opened = box;
    host.body.append(box);
    box.showModal();
    buttons[0]?.focus();
  });
}

/** A failure of the server in its own words. */
export function trouble(error) {
  const told = error.told ?? { message: error.message, causes: [], hints: [] };
  return el('div', { class: 'trouble', role: 'alert' },
    el('p', {}, told.message),
    told.causes.map((cause) => el('p', { class: 'note' }, `Caused by: ${cause}`)),
    told.hints.map((hint) => el('p', { class: 'note' }, `Hint: ${hint}`)));
}

/** Shows a failure until it is closed. */
export function showTrouble(error) {
  return dialog('That did not work', trouble(error), [{ label: 'Close' }]);
}

/** Shows what the server has to say. */
export function showWords(words) {
  return dialog('Please note', words.map((text) => el('p', {}, build(text))), [{ label: 'Close' }]);
}

const UNITS = [['day', 86400], ['hour', 3600], ['minute', 60]];

/** How long ago something was. */
export function ago(time) {
  const seconds = Math.max(0, (Date.now() - Date.parse(time)) / 1000);
  for (const [name, length] of UNITS) {
    const count = Math.floor(seconds / length);
    if (count >= 1) return `${count} ${name}${count === 1 ? '' : 's'} ago`;
  }
  return 'just now';
}
