// A target (circuit breaker): its window, its latencies, and what callers get.
import { html } from './dom.js';
import { atMost, count, duration, percent } from './format.js';
import { Bar, Section, Stat, TargetBadge } from './parts.js';
import { to } from './router.js';

const MEANING = {
  closed: 'Callers call it. Each permit is granted.',
  open: 'Callers use their fallback. No permit is granted.',
  half_open: 'A few callers at a time get a permit, to test it. All others use their fallback.',
  unknown: 'Redis has not answered yet.',
};

export function TargetView({ name, entity: target, state }) {
  const followers = Object.entries(state.queues ?? {}).filter(([, queue]) => queue.target === name).map(([queue]) => queue);
  const outcomes = (target.successes ?? 0) + (target.failures ?? 0);
  return html`<header class="view-head"><h1>${name}</h1><${TargetBadge} state=${target.state} /></header>
    <div class="summary">
      <p>${MEANING[target.state] ?? ''}</p>
      ${target.degraded && html`<p class="reason">Redis is down: this is the last known state.</p>`}
      <${Bar} label="Outcomes" whole=${outcomes} parts=${[{ value: target.successes ?? 0, tone: 'good', label: 'successes' },
        { value: target.failures ?? 0, tone: 'danger', label: 'failures' }]} />
      <dl class="tiles">
        <${Stat} large label="Success rate" value=${percent(target.success_rate)} />
        <${Stat} large label="Successes" tone="good" value=${count(target.successes)} />
        <${Stat} large label="Failures" tone="danger" value=${count(target.failures)} />
        <${Stat} large label="Window" value=${duration(target.window_ms)} hint="How long an outcome counts" />
        <${Stat} large label="Latency p50" value=${atMost(target.latency_p50_ms)} />
        <${Stat} large label="Latency p95" value=${atMost(target.latency_p95_ms)} />
        <${Stat} large label="Reporters" value=${count(target.reporters)} hint="Callers that reported within the window" />
        <${Stat} large label="Permits" value=${{ closed: 'granted', open: 'refused', half_open: `${count(target.permits)} in use` }[target.state] ?? '–'} />
      </dl>
    </div>
    ${followers.length > 0 && html`<${Section} title="Queues that follow it"><ul class="links">
      ${followers.map((queue) => html`<li key=${queue}><a href=${to('queues', queue)}>${queue}</a></li>`)}</ul><//>`}`;
}
