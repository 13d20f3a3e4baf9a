// The changes of an entity: who changed what, when and why.
import { get } from './api.js';
import { html } from './dom.js';
import { plain } from './format.js';
import { PagedSection, usePages } from './pages.js';
import { Time, placeLabel } from './parts.js';
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
  'limit.forget': 'Key forgotten',
};

/** A value of a change: a word, a number, or an override with its end. */
function Value({ field, value }) {
  const show = RULES[field]?.show ?? plain;
  if (value === undefined) return 'as in the file';
  if (value === null || typeof value !== 'object') return show(value);
  return html`${show(value.value)}${value.until && html` until <${Time} at=${value.until} short />`}`;
}

// Fields in the words of the console. What an operation is called is no field.
const WORDS = {
  'queue.evict': ({ before }) => ({ before: { status: placeLabel(before?.status) }, after: { status: 'Ended: evicted' } }),
  'event.give_up': ({ before, after: { given_up: _, ...after } = {} }) => ({ before, after }),
  'limit.forget': () => ({}),
};
const LABELS = { dead: 'dead letters' };

/** What a change did to each field that it names. Those of an override have a value in any case. */
function Differences({ change }) {
  const { operation, reason } = change;
  const { before = {}, after = {} } = WORDS[operation]?.(change) ?? change;
  const isOverride = operation === 'queue.override_rules';
  // The column "Reason" has a reason that was given.
  const fields = [...new Set([...Object.keys(before), ...Object.keys(after)])].filter((field) => field !== 'reason' || !reason);
  return html`<ul class="differences">${fields.map((field) => html`<li key=${field}>
    <b>${RULES[field]?.label ?? LABELS[field] ?? field.replaceAll('_', ' ')}</b> ${(isOverride || field in before) && html`<del><${Value} field=${field} value=${before[field]} /></del> → `}
    ${(isOverride || field in after) && html`<ins><${Value} field=${field} value=${after[field]} /></ins>`}</li>`)}</ul>`;
}

/** The pages of the changes of an entity, from the first when `inputs` change. */
export function useChanges(kind, name, inputs = []) {
  return usePages(
    (before, signal) => get('v1/admin/changes', { entity: `${kind}:${name}`, limit: 50, before }, signal),
    [kind, name, ...inputs], { followsOthers: true });
}

/** The change that made an override of a queue, among those that were loaded. */
export function lastChangeOf(changes, field, { value, until }) {
  const text = (it) => JSON.stringify([RULES[field].show(it.value), it.until && Date.parse(it.until)]);
  return changes.data?.changes.find(({ after }) => after?.[field] && text(after[field]) === text({ value, until }));
}

export function Changes({ changes }) {
  const rows = (changes.data?.changes ?? []).map((change) => html`<tr key=${change.id}>
    <td><${Time} at=${change.at} /></td>
    <td>${change.key}</td>
    <td>${OPERATIONS[change.operation] ?? change.operation}${change.ticket ? ` (ticket ${change.ticket})` : ''}</td>
    <td><${Differences} change=${change} /></td>
    <td>${change.reason ?? ''}</td>
  </tr>`);
  return html`<${PagedSection} title="Changes" pages=${changes} columns=${['Time', 'Key', 'Change', 'Before → after', 'Reason']}
    empty="No operator has changed anything yet." previous="Newer" next="Older">${rows}<//>`;
}
