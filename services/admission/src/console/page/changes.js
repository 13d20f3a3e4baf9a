// The changes of an entity: who changed what, when and why.
import { get } from './api.js';
import { html } from './dom.js';
import { plain } from './format.js';
import { Pager, Problem, Section, Table, Time, LoadButton, usePages } from './parts.js';
import { RULES } from './rules.js';

const OPERATIONS = {
  'queue.override_rules': 'Rules overridden',
  'queue.reset': 'Queue reset',
  'queue.evict': 'Visitor evicted',
  'queue.purge': 'Data deleted',
  'event.add_stock': 'Stock added',
  'event.retry_dead': 'Dead letters retried',
  'event.give_up': 'Dead letter given up',
  'pool.fund': 'Deposit',
  'pool.confirm': 'Pool confirmed',
  'limit.forget': 'Key reset',
};

const isObject = (value) => value !== null && typeof value === 'object' && !Array.isArray(value);

/** The values that differ: `[name, before, after]`. Objects are compared field by field. */
export function differences(before, after, name = '') {
  if (!isObject(before) && !isObject(after)) {
    return JSON.stringify(before) === JSON.stringify(after) ? [] : [[name, before, after]];
  }
  const [old, recent] = [before, after].map((it) => (isObject(it) ? it : {}));
  const names = [...new Set([...Object.keys(old), ...Object.keys(recent)])];
  return names.flatMap((field) => differences(old[field], recent[field], name ? `${name}.${field}` : field));
}

/** The same by the names for people, each rule once: an override and the rule that it changes are one fact. */
function shown({ before, after }) {
  const found = new Map();
  for (const [path, old, recent] of differences(before, after)) {
    const parts = path.split('.');
    if (parts[0] === 'overrides' && parts[2] !== 'until') continue;
    const field = parts[0] === 'rules' || parts[0] === 'overrides' ? parts[1] : path;
    const label = (RULES[field]?.label ?? field.replaceAll('_', ' ')) + (parts[2] === 'until' ? ', end' : '');
    const show = parts[2] === 'until' ? plain : RULES[field]?.show ?? plain;
    found.set(label, [label, show(old), show(recent)]);
  }
  return [...found.values()];
}

/** The pages of the changes of an entity, from the first when `inputs` change. */
export const useChanges = (kind, name, inputs = []) => usePages(
  (before, signal) => get('v1/admin/changes', { entity: `${kind}:${name}`, limit: 50, before }, signal),
  [kind, name, ...inputs],
);

/** The newest change that set a field of a queue, among those that were loaded. */
export function lastChangeOf(changes, field) {
  return changes.data?.changes.find(({ before, after }) =>
    differences(before?.overrides?.[field], after?.overrides?.[field]).length > 0);
}

export function Changes({ changes }) {
  const rows = (changes.data?.changes ?? []).map((change) => html`<tr key=${change.id}>
    <td><${Time} at=${change.at} /></td>
    <td>${change.key ?? 'no key'}</td>
    <td>${OPERATIONS[change.operation] ?? change.operation}${change.ticket ? ` (ticket ${change.ticket})` : ''}</td>
    <td><ul class="differences">${shown(change).map(([label, before, after]) => html`<li key=${label}>
      <b>${label}</b> ${before === 'none' ? '' : html`<del>${before}</del> → `}<ins>${after}</ins></li>`)}</ul></td>
    <td>${change.reason ?? ''}</td>
  </tr>`);
  return html`<${Section} title="Changes" aside=${html`<${LoadButton} isLoading=${changes.isLoading} onClick=${changes.toFirst}>Refresh<//>`}>
    <${Problem} problem=${changes.problem} />
    <${Table} label="Changes" columns=${['Time', 'Key', 'Change', 'Before → after', 'Reason']}
      empty=${changes.isLoading ? 'Loading …' : 'No operator has changed anything yet.'}>${rows}<//>
    <${Pager} pages=${changes} previous="Newer" next="Older" />
  <//>`;
}
