// A queue: its numbers, its last 15 minutes, its levers, its line and its changes.
import { admin, get } from './api.js';
import { Changes, lastChangeOf, useChanges } from './changes.js';
import { Chart } from './chart.js';
import { html, memo, useEffect, useMemo, useState } from './dom.js';
import { count, decimal, duration, percent } from './format.js';
import { FindPlace, Line } from './line.js';
import { OverrideEnd } from './override.js';
import { Badge, PlacesBar, QueueBadge, Section, Stat, TargetBadge, Time, remaining, useCaller } from './parts.js';
import { ResetQueue } from './reset.js';
import { to } from './router.js';
import { ChangeRule, RemoveOverride } from './rule_levers.js';
import { MAIN_RULES, OTHER_RULES, RULES, inFile, inForce } from './rules.js';
import { StateLevers } from './state_levers.js';

const HISTORY_MS = 5000;

/** The history of a queue, read again as it grows. Reading it costs Redis nothing. */
function useHistory(name) {
  const [history, setHistory] = useState({ points: [], step_ms: HISTORY_MS });
  useEffect(() => {
    const controller = new AbortController();
    const load = () => document.hidden || get(admin('queues', name, 'history'), {}, controller.signal).then(setHistory, () => {});
    load();
    const timer = setInterval(load, HISTORY_MS);
    return () => {
      clearInterval(timer);
      controller.abort();
    };
  }, [name]);
  return history;
}

const CHARTS = [
  { title: 'In line', format: count, least: 2, series: [{ field: 'depth', label: 'waiting', tone: 'accent' }, { field: 'active', label: 'active', tone: 'good' }] },
  { title: 'Admitted per second', format: decimal, series: [{ field: 'per_second', label: 'admitted', tone: 'good' }] },
  { title: 'Wait', format: duration, isDuration: true, series: [{ field: 'wait_p50_ms', label: 'p50', tone: 'accent' }, { field: 'wait_p90_ms', label: 'p90', tone: 'warning' }] },
  { title: 'Missed turns', format: count, least: 2, series: [{ field: 'missed', label: 'missed', tone: 'warning' }] },
];

const Charts = memo(({ history: { points, step_ms: stepMs } }) => {
  // The last step has only begun: its counts are not those of a whole one.
  const shown = useMemo(() => points.slice(0, -1).map((point) => ({ ...point, per_second: (point.admitted * 1000) / stepMs })), [points]);
  return html`<${Section} title="Last 15 minutes" note="From the memory of the replica that answers: empty after its start.">
    <div class="charts">${CHARTS.map((chart) => html`<${Chart} key=${chart.title} ...${chart} points=${shown} stepMs=${stepMs} />`)}</div>
  <//>`;
});

function Rule({ name, queue, field, changes }) {
  const rule = RULES[field];
  const override = queue.overrides?.[field];
  const change = override && lastChangeOf(changes, field, override);
  return html`<li class="rule">
    <div class="what"><b>${rule.label}</b> <code>${field}</code></div>
    <div class="value">${rule.show(inForce(queue, field))}</div>
    <div class="actions"><${ChangeRule} queue=${name} field=${field} changes=${changes} /></div>
    ${override && html`<div class="origin"><p><${Badge} tone="accent">Override<//> ${change ? html`${change.key}, <${Time} at=${change.at} short />, ` : ''}
      <${OverrideEnd} override=${override} />. The file has ${rule.show(inFile(queue, field))}.</p>
      <${RemoveOverride} queue=${name} field=${field} /></div>`}
  </li>`;
}

function Rules({ name, queue, changes }) {
  const list = (fields) => html`<ul class="rules">${fields.map((field) => html`<${Rule} key=${field} name=${name} queue=${queue} field=${field} changes=${changes} />`)}</ul>`;
  const overridden = OTHER_RULES.filter((field) => queue.overrides?.[field]);
  return html`<${Section} title="Rules" note="A change is an override of the configuration file. Every replica follows within a second.">
    ${list([...MAIN_RULES, ...overridden])}
    <details><summary>All other rules</summary>${list(OTHER_RULES.filter((field) => !overridden.includes(field)))}</details>
  <//>`;
}

function Summary({ queue, targets, now }) {
  const { capacity, batch, interval_ms: interval } = queue.rules ?? {};
  const target = targets?.[queue.target];
  const state = queue.overrides?.state;
  return html`<div class="summary">
    ${queue.paused_by === 'health' && html`<p class="reason">The health of its target pauses this queue. No override of the state or the batch lifts this pause.</p>`}
    ${queue.reason && html`<p class="reason">Visitors read: “${queue.reason}”</p>`}
    ${state && html`<p>An operator has set the state <b>${state.value}</b>, ${state.until ? html`until <${Time} at=${state.until} /> (${remaining(state.until, now)})` : 'with no end'}.</p>`}
    ${queue.target && html`<p>Follows the health of <a href=${to('targets', queue.target)}>${queue.target}</a> <${TargetBadge} state=${target?.state ?? queue.health} />
      ${queue.health_pace !== undefined && html` and admits at ${percent(queue.health_pace)} of the normal rate`}.</p>`}
    ${queue.adaptive && html`<p>The batch adapts: ${count(queue.adaptive.batch)} now, between ${count(queue.adaptive.min_batch)} and ${count(queue.adaptive.max_batch)} (${queue.adaptive.reason}).</p>`}
    <${PlacesBar} queue=${queue} />
    <dl class="tiles">
      <${Stat} large label="Waiting" value=${count(queue.depth)} />
      <${Stat} large label="Ready" tone="accent" value=${count(queue.ready)} hint="Called, and not yet inside" />
      <${Stat} large label="Active" tone="good" value=${count(queue.active)} unit=${capacity ? `/ ${count(capacity)}` : ''} />
      <${Stat} large label="Admitted / min" value=${count(queue.admitted_per_minute)} unit=${batch ? `of ${count(Math.round((batch * 60_000) / interval))}` : ''} />
      <${Stat} large label="Longest wait" value=${duration(queue.longest_wait_ms)} hint="How long the head of the line has waited" />
      <${Stat} large label="Expected wait" value=${duration(queue.expected_wait_ms)} hint="For a visitor who joins now" />
      <${Stat} large label="Inactive" value=${count(queue.away)} hint="Waiting, but without a poll: skipped until they return" />
      <${Stat} large label="Last ticket" value=${count(queue.last_ticket)} />
    </dl>
    ${(queue.joins_at || queue.opens_at || queue.closes_at) && html`<dl class="facts">
      ${queue.joins_at && html`<div><dt>Joins from</dt><dd><${Time} at=${queue.joins_at} /></dd></div>`}
      ${queue.opens_at && html`<div><dt>Opens</dt><dd><${Time} at=${queue.opens_at} /> (${remaining(queue.opens_at, now)})</dd></div>`}
      ${queue.closes_at && html`<div><dt>Closes</dt><dd><${Time} at=${queue.closes_at} /> (${remaining(queue.closes_at, now)})</dd></div>`}
    </dl>`}
  </div>`;
}

export function QueueView({ name, entity: queue, state }) {
  const { canChange } = useCaller();
  // Another operator's change shows in the live state: read the list of changes again.
  const changes = useChanges('queues', name, [queue.overrides]);
  const history = useHistory(name);
  return html`<header class="view-head"><h1>${name}</h1><${QueueBadge} queue=${queue} />
      <${StateLevers} queue=${name} state=${queue.state} override=${queue.overrides?.state?.value} /></header>
    <${Summary} queue=${queue} targets=${state.targets} now=${state.at} />
    <div class="two">
      <${Charts} history=${history} />
      <${Rules} name=${name} queue=${queue} changes=${changes} />
      <${Line} queue=${name} />
      <div class="stack"><${FindPlace} queue=${name} />
        ${canChange && html`<${Section} title="Reset" tone="danger" note="Removes all waiting and admitted visitors. You cannot undo it.">
          <${ResetQueue} queue=${name} /><//>`}</div>
    </div>
    <${Changes} changes=${changes} />`;
}
