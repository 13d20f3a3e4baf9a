// All entities that the key covers, as cards. A card renders only when its entity has changed.
import { Sparkline } from './chart.js';
import { html, isAlike, memo, useEffect, useRef, useState } from './dom.js';
import { atMost, count, counted, decimal, duration, percent, plain } from './format.js';
import { Badge, Bar, PlacesBar, QueueBadge, Stat, TargetBadge, Time, healthLabel, queueLabel } from './parts.js';
import { to } from './router.js';
import { Attention } from './attention.js';
import { RULES } from './rules.js';

/** With fewer entities there is nothing to filter. */
const FILTER_FROM = 8;

/** The frame of a card: its heading is a link to the view of the entity. */
function Card({ kind, name, badge, isStale, children }) {
  return html`<article class="card ${isStale ? 'stale' : ''}">
    <header><h3><a href=${to(kind, name)}>${name}</a></h3>${badge}</header>
    ${children}
  </article>`;
}

function Overrides({ overrides }) {
  const named = Object.entries(overrides ?? {}).filter(([field]) => field !== 'reason');
  if (!named.length) return null;
  return html`<ul class="chips" aria-label="Overrides in force">${named.map(([field, { value, until }]) => html`<li key=${field}>
    ${RULES[field]?.label ?? field} ${RULES[field]?.show(value) ?? plain(value)}${until ? html` until <${Time} at=${until} short />` : ', no end'}
  </li>`)}</ul>`;
}

/** After so long without a reading a card shows its age, in milliseconds. */
const STALE_MS = 5000;

/** An entity as its card shows it: the age of recent data is no part of that. */
const asShown = (entity) => (entity.age_ms <= STALE_MS ? { ...entity, age_ms: 0 } : entity);
const isShownAlike = ({ entity: one, ...properties }, { entity: other, ...others }) =>
  isAlike(properties, others) && (one === other || isAlike(asShown(one), asShown(other)));

const QueueCard = memo(({ name, entity: queue, health }) => {
  const { capacity } = queue.rules ?? {};
  const ageMs = queue.age_ms ?? 0;
  return html`<${Card} kind="queues" name=${name} badge=${html`<${QueueBadge} queue=${queue} />`} isStale=${ageMs > STALE_MS}>
    <div class="headline">
      <dl><${Stat} large label="Waiting" value=${count(queue.depth)} /></dl>
      <${Sparkline} values=${queue.sparkline} label="Waiting visitors in the last 15 minutes" />
    </div>
    <${PlacesBar} queue=${queue} />
    <dl class="stats">
      <${Stat} label="Active" value=${count(queue.active)} unit=${capacity ? `/ ${count(capacity)}` : ''} />
      <${Stat} label="Ready" value=${count(queue.ready)} />
      <${Stat} label="Admitted / min" value=${count(queue.admitted_per_minute)} />
      <${Stat} label="Longest wait" value=${duration(queue.longest_wait_ms)} />
      <${Stat} label="Expected wait" value=${duration(queue.expected_wait_ms)} />
      ${queue.target && html`<div class="stat follows"><dt>Follows <a href=${to('targets', queue.target)}>${queue.target}</a></dt>
        <dd><${TargetBadge} state=${health} /></dd></div>`}
    </dl>
    ${queue.reason && html`<p class="reason">“${queue.reason}”</p>`}
    ${queue.paused_by === 'health' && html`<p class="reason">Paused by the health of its target.</p>`}
    <${Overrides} overrides=${queue.overrides} />
    ${ageMs > STALE_MS && html`<p class="note">Read ${duration(ageMs)} ago</p>`}
  <//>`;
}, isShownAlike);

const TargetCard = memo(({ name, entity: target }) => html`
  <${Card} kind="targets" name=${name} badge=${html`<${TargetBadge} state=${target.state} />`}>
    <dl class="rows">
      <${Stat} label="Success rate" value=${percent(target.success_rate)} />
      <${Stat} label="Outcomes" value=${count((target.successes ?? 0) + (target.failures ?? 0))} unit=${`in ${duration(target.window_ms)}`} />
      <${Stat} label="Latency p95" value=${atMost(target.latency_p95_ms)} />
    </dl>
  <//>`, isShownAlike);

const EventCard = memo(({ name, entity: event }) => html`
  <${Card} kind="events" name=${name} badge=${event.dead > 0 && html`<${Badge} tone="danger">${counted(event.dead, 'dead letter')}<//>`}>
    <${Bar} label="Stock" whole=${event.stock} parts=${[{ value: event.issued ?? 0, tone: 'good', label: 'issued' },
      { value: (event.pending ?? 0) + (event.claimed ?? 0), tone: 'accent', label: 'pending' }]} />
    <dl class="rows">
      <${Stat} label="Issued" value=${count(event.issued)} unit=${`/ ${count(event.stock)}`} />
      <${Stat} label="Pending" value=${count(event.pending)} />
      <${Stat} label="Dead letters" value=${count(event.dead)} />
    </dl>
  <//>`, isShownAlike);

const PoolCard = memo(({ name, entity: pool }) => html`
  <${Card} kind="pools" name=${name} badge=${pool.unconfirmed && html`<${Badge} tone="danger">Unconfirmed<//>`}>
    <${Bar} label="Funds" whole=${pool.funded} parts=${[{ value: pool.paid ?? 0, tone: 'neutral', label: 'paid' },
      { value: pool.held ?? 0, tone: 'accent', label: 'held' }]} />
    <dl class="rows">
      <${Stat} label="Balance" value=${count(pool.balance)} />
      <${Stat} label="Held" value=${count(pool.held)} />
      <${Stat} label="Paid" value=${count(pool.paid)} />
    </dl>
  <//>`, isShownAlike);

const LimitCard = memo(({ name, entity: limit }) => html`
  <${Card} kind="limits" name=${name}>
    <dl class="rows">
      <${Stat} label="Checks / s" value=${decimal(limit.checks_per_second)} />
      <${Stat} label="Refusals / s" value=${decimal(limit.refusals_per_second)} />
      <${Stat} label="Limit" value=${count(limit.limit)} unit=${`in ${duration(limit.window_ms)}`} />
    </dl>
  <//>`, isShownAlike);

// The groups of cards, in their order. `state` is what the filter finds besides the name.
const GROUPS = [
  { kind: 'queues', title: 'Queues', View: QueueCard, state: queueLabel },
  { kind: 'targets', title: 'Targets', is: 'circuit breakers', View: TargetCard, state: (it) => healthLabel(it.state) },
  { kind: 'events', title: 'Events', is: 'give-aways of a limited stock', View: EventCard, state: (it) => (it.dead ? 'dead letters' : '') },
  { kind: 'pools', title: 'Pools', is: 'budgets', View: PoolCard, state: (it) => (it.unconfirmed ? 'unconfirmed' : '') },
  { kind: 'limits', title: 'Limits', is: 'rate limits, of this replica only', View: LimitCard, state: () => '' },
];

/** The names of the entities of a group that a filter finds. */
function found({ title, state }, entities = {}, filter) {
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  return Object.keys(entities).sort().filter((name) => {
    const text = `${name} ${state(entities[name])} ${title}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
}

function Group({ group: { kind, title, is, View }, names: shown, entities, targets }) {
  if (!shown.length) return null;
  return html`<section class=${shown.length > 2 ? 'wide' : ''} aria-labelledby="group-${kind}">
    <header class="group"><h2 id="group-${kind}">${title} <span class="number">${count(shown.length)}</span></h2>
      ${is && html`<p>${is}</p>`}</header>
    <div class="cards ${kind}">${shown.map((name) => html`<${View} key=${name} name=${name} entity=${entities[name]}
      health=${kind === 'queues' ? targets?.[entities[name].target]?.state ?? entities[name].health : undefined} />`)}</div>
  </section>`;
}

/** The sums over all queues. */
function Totals({ queues }) {
  const all = Object.values(queues ?? {});
  if (all.length < 2) return null;
  const sum = (field) => all.reduce((total, queue) => (queue[field] === undefined ? total : (total ?? 0) + queue[field]), undefined);
  return html`<dl class="totals">
    <${Stat} label="Waiting" value=${count(sum('depth'))} />
    <${Stat} label="Ready" value=${count(sum('ready'))} />
    <${Stat} label="Active" value=${count(sum('active'))} />
    <${Stat} label="Admitted / min" value=${count(sum('admitted_per_minute'))} />
  </dl>`;
}

export function Overview({ state }) {
  const [queues, ...others] = GROUPS;
  const [filter, setFilter] = useState('');
  const input = useRef(null);
  const number = GROUPS.reduce((total, { kind }) => total + Object.keys(state[kind] ?? {}).length, 0);
  useEffect(() => {
    const focus = (event) => {
      if (event.key !== '/' || event.target.closest('input, select, textarea, dialog')) return;
      event.preventDefault();
      input.current?.focus();
    };
    document.addEventListener('keydown', focus);
    return () => document.removeEventListener('keydown', focus);
  }, []);
  const names = Object.fromEntries(GROUPS.map((it) => [it.kind, found(it, state[it.kind], filter)]));
  const isNothing = number > 0 && Object.values(names).every((it) => !it.length);
  const group = (it) => html`<${Group} key=${it.kind} group=${it} names=${names[it.kind]} entities=${state[it.kind]} targets=${state.targets} />`;
  return html`<div class="overview">
    <header class="view-head"><h1>Overview</h1>
      ${number >= FILTER_FROM && html`<label class="filter"><span class="unseen">Filter by name or state</span>
        <input ref=${input} type="search" placeholder="Filter by name or state  ( / )" value=${filter}
          onInput=${(event) => setFilter(event.target.value)} /></label>`}
    </header>
    <${Totals} queues=${state.queues} />
    <${Attention} state=${state} />
    <div role="status">${isNothing && html`<p class="empty">No card has “${filter.trim()}” in its name or state.</p>`}</div>
    ${group(queues)}
    <div class="groups">${others.map(group)}</div>
    ${number === 0 && html`<p class="empty">This key covers no entity of this configuration.</p>`}
  </div>`;
}
