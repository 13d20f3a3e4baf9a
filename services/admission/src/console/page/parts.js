// Small parts that all views share.
import { createContext, html, useContext } from './dom.js';
import { count, duration, minute, time, utc } from './format.js';
import { pauseOf } from './pause.js';

/** The caller of the live state, and whether it may change something. */
export const Caller = createContext({ canChange: false });
export const useCaller = () => useContext(Caller);

/** A time of the operator's zone, with UTC in its title. */
export function Time({ at, short }) {
  if (!at) return '–';
  return html`<time datetime=${at} title=${utc(at)}>${short ? minute(at) : time(at)}</time>`;
}

/** How long until a time, in words. */
export function remaining(at, now) {
  const ms = new Date(at) - new Date(now);
  return ms > 0 ? `in ${duration(Math.ceil(ms / 1000) * 1000)}` : 'now';
}

// The tone of a state, and its name for people.
const STATES = {
  open: ['good', 'Open'],
  paused: ['warning', 'Paused'],
  closed: ['neutral', 'Closed'],
  bypass: ['danger', 'Bypass'],
};
const HEALTH = {
  closed: ['good', 'Healthy'],
  open: ['danger', 'Fallback'],
  half_open: ['warning', 'Testing'],
  unknown: ['neutral', 'Unknown'],
};
const PLACES = {
  waiting: ['neutral', 'Waiting'],
  away: ['warning', 'Inactive'],
  ready: ['accent', 'Ready'],
  active: ['good', 'Active'],
  gone: ['neutral', 'Ended'],
};

/** A short text with a tone. */
export function Badge({ tone = 'neutral', title, children }) {
  return html`<span class="badge ${tone}" title=${title}>${children}</span>`;
}

const badge = (table) => ({ state, reason }) => {
  const [tone, label] = table[state] ?? ['neutral', state ?? 'Not read yet'];
  return html`<${Badge} tone=${tone}>${label}${reason && `: ${reason}`}<//>`;
};
const StateBadge = badge(STATES);
/** The state of a queue. Before its opening time that is the time. */
export const QueueBadge = ({ queue }) => (pauseOf(queue) === 'opening'
  ? html`<${Badge}>Opens <${Time} at=${queue.opens_at} short /><//>` : html`<${StateBadge} state=${queue.state} />`);
/** The text of that. */
export const queueLabel = (queue) => (pauseOf(queue) === 'opening' ? `Opens ${minute(queue.opens_at)}` : STATES[queue.state]?.[1] ?? '');
export const TargetBadge = badge(HEALTH);
export const PlaceBadge = badge(PLACES);
export const placeLabel = (state) => PLACES[state]?.[1] ?? state;
export const healthLabel = (state) => HEALTH[state]?.[1] ?? state ?? '';

/** A number with its name. */
export function Stat({ label, value, unit, hint, large, tone }) {
  return html`<div class="stat ${large ? 'large' : ''} ${tone ?? ''}" title=${hint}>
    <dt>${label}</dt><dd>${value}${unit && html`<span class="unit"> ${unit}</span>`}</dd>
  </div>`;
}

/** A bar of parts of a whole: `[{ value, tone, label }]`. Its numbers are in the text beside it. */
export function Bar({ whole, parts, label }) {
  const width = (value) => `${whole > 0 ? Math.min(100, (100 * value) / whole) : 0}%`;
  const text = `${label}: ${parts.map((part) => `${part.label} ${count(part.value)}`).join(', ')} of ${count(whole)}`;
  return html`<div class="bar" role="img" aria-label=${text}>
    ${parts.map((part) => html`<span class=${part.tone} style=${{ width: width(part.value) }} />`)}
  </div>`;
}

/** The places of a queue, of its capacity if it has one. */
export function PlacesBar({ queue: { rules, active = 0, ready = 0 } }) {
  return html`<${Bar} label="Places" whole=${rules?.capacity ?? active + ready}
    parts=${[{ value: active, tone: 'good', label: 'active' }, { value: ready, tone: 'accent', label: 'ready' }]} />`;
}

/** A part of a view, with a heading. */
export function Section({ title, aside, note, children, tone }) {
  const id = `section-${title.toLowerCase().replace(/\W+/g, '-')}`;
  return html`<section class="panel ${tone ?? ''}" aria-labelledby=${id}>
    <header><h2 id=${id}>${title}</h2>${aside && html`<div class="aside">${aside}</div>`}</header>
    ${note && html`<p class="note">${note}</p>`}
    ${children}
  </section>`;
}

/** A text whose names between backticks are code. */
const withCode = (text) => text.split('`').map((part, at) => (at % 2 ? html`<code>${part}</code>` : part));

/** What the service answered instead of doing a call. */
export function Problem({ problem }) {
  if (!problem) return null;
  return html`<div class="problem" role="alert">
    <strong>${problem.title}</strong>${problem.detail && html`<p>${withCode(problem.detail)}</p>`}
    ${problem.code && html`<p class="code">Code: <code>${problem.code}</code></p>`}
  </div>`;
}

/**
 * A table that scrolls by itself where it is too wide. `columns`: names, or null for actions; those
 * in `numbers` are aligned as numbers.
 */
export function Table({ label, columns, numbers = [], children, empty }) {
  const rows = [children].flat(Infinity).filter(Boolean);
  if (!rows.length) return html`<p class="empty">${empty}</p>`;
  return html`<div class="scroll" role="group" aria-label=${label} tabindex="0"><table>
    <thead><tr>${columns.map((name) => html`<th scope="col" class=${numbers.includes(name) ? 'number' : ''}>${name ?? html`<span class="unseen">Actions</span>`}</th>`)}</tr></thead>
    <tbody>${rows}</tbody>
  </table></div>`;
}
