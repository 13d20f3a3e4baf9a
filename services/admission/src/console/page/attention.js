// What an operator should look at first, from the live state.
import { html } from './dom.js';
import { count, counted, percent } from './format.js';
import { pauseOf } from './pause.js';
import { to } from './router.js';

const entries = (entities) => Object.entries(entities ?? {}).sort(([a], [b]) => (a < b ? -1 : 1));

const lineTaken = (depth, most) => (depth >= most ? `The line is full (${count(depth)} / ${count(most)})` : `${percent(depth / most)} of the line is taken`);

/** `[{ kind, name, tone, text }]`, the most urgent first. */
function concerns(state) {
  const found = [];
  const add = (tone, kind, name, text) => found.push({ tone, kind, name, text });
  for (const [name, pool] of entries(state.pools)) {
    if (pool.unconfirmed) add('danger', 'pools', name, 'blocked until an operator confirms it');
  }
  for (const [name, queue] of entries(state.queues)) {
    if (queue.state === 'bypass') add('danger', 'queues', name, 'passes every visitor');
    if (queue.paused_by === 'health') add('danger', 'queues', name, 'paused by the health of its target');
    else if (queue.state === 'paused' && pauseOf(queue) !== 'opening') add('warning', 'queues', name, 'paused');
    const { max_waiting: most } = queue.rules ?? {};
    if (most && queue.depth >= 0.9 * most) add('warning', 'queues', name, lineTaken(queue.depth, most));
  }
  for (const [name, target] of entries(state.targets)) {
    if (target.state === 'open') add('danger', 'targets', name, `in fallback, ${percent(target.success_rate)} success`);
    if (target.state === 'half_open') add('warning', 'targets', name, 'is tested after a fallback');
  }
  for (const [name, event] of entries(state.events)) {
    if (event.dead > 0) add('warning', 'events', name, counted(event.dead, 'dead letter'));
  }
  return found.sort((a, b) => (a.tone === b.tone ? 0 : a.tone === 'danger' ? -1 : 1));
}

export function Attention({ state }) {
  const found = concerns(state);
  if (!found.length) return null;
  const shown = found.slice(0, 8);
  return html`<section class="attention ${found[0].tone}" aria-labelledby="attention">
    <h2 id="attention">Needs attention</h2>
    <ul>${shown.map(({ tone, kind, name, text }) => html`<li key="${kind}/${name}/${text}" class=${tone}>
      <a href=${to(kind, name)}>${name}</a> ${text}</li>`)}
      ${found.length > shown.length && html`<li>and ${found.length - shown.length} more</li>`}</ul>
  </section>`;
}
