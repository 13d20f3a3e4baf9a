// The levers of the state of a queue: pause, open, close, bypass, and the end of such an override.
import { Lever, TextField } from './action.js';
import { admin } from './api.js';
import { html, useEffect, useState } from './dom.js';
import { EndingFields, endOf, firstEnding, isEnding } from './ending.js';
import { minute } from './format.js';
import { OverrideDialog } from './override.js';
import { pauseOf } from './pause.js';

const STATES = {
  paused: {
    label: 'Pause', preview: 'paused', tone: 'primary', hint: 'We are back in a few minutes.',
    says: 'Anteroom calls no further visitor. Waiting visitors keep their places, and new visitors can join. Visitors who are inside stay.',
  },
  open: {
    label: 'Open', preview: 'waiting', tone: 'primary',
    says: 'Visitors can join, and Anteroom calls them by the rules in force.',
  },
  closed: {
    label: 'Close', preview: 'closed', tone: 'danger', hint: 'All tickets are sold.',
    says: 'No new visitor can join. Anteroom still calls the visitors in line.',
  },
  bypass: {
    label: 'Bypass', tone: 'danger', needsEnd: true,
    says: ['The gateway check passes every visitor: the service behind it gets all requests without a limit.',
      'Sessions that are in use are renewed. A bypass needs an end.'],
  },
};

const PAUSES = { health: () => 'its target is unhealthy', opening: ({ opens_at: at }) => `it opens ${minute(at)}` };
const RESULTS = { open: 'is open', paused: 'is paused', closed: 'is closed', bypass: 'passes every visitor' };
/** What the state of a queue is after a change that wanted `wanted`. */
function stateResult(queue, wanted) {
  const { queue: name, state } = queue;
  const why = PAUSES[pauseOf(queue)]?.(queue);
  if (state === wanted || !RESULTS[state]) return `${name} ${RESULTS[state] ?? 'is changed'}.`;
  const result = state === 'bypass' ? 'still passes every visitor' : `stays ${state}`;
  return `${name} ${result}${why ? `: ${why}` : ''}.`;
}

/**
 * The waiting page as visitors will see it. It is a document of its own, without scripts, and never has
 * the focus: its keys, such as Escape, would not reach the dialog.
 */
function Preview({ queue, state, reason }) {
  const [shown, setShown] = useState(reason);
  useEffect(() => {
    const timer = setTimeout(() => setShown(reason), 400);
    return () => clearTimeout(timer);
  }, [reason]);
  const address = new URL(admin('queues', queue, 'preview').map(encodeURIComponent).join('/'), document.baseURI);
  address.searchParams.set('state', state);
  // Without the parameter the page would show the reason in force, or a sample.
  address.searchParams.set('reason', shown.trim());
  return html`<figure class="preview">
    <figcaption>What visitors see <a href=${address.href} target="_blank" rel="noopener">Open in a new tab</a></figcaption>
    <div inert><iframe title="Preview of the waiting page" sandbox="" tabindex="-1" src=${address.href}></iframe></div>
  </figure>`;
}

function StateDialog({ queue, state, close }) {
  const { label, says, tone, needsEnd, preview, hint } = STATES[state];
  const [reason, setReason] = useState('');
  const [ending, setEnding] = useState(firstEnding(needsEnd));
  const body = () => ({ state, reason: reason.trim() || undefined, until: endOf(ending) });
  return html`<${OverrideDialog} queue=${queue} title="${label} ${queue}" says=${says} submit=${label} tone=${tone} wide=${Boolean(preview)}
      isReady=${() => isEnding(ending)} body=${body} done=${(now) => stateResult(now, state)} close=${close}>
    ${() => html`<div class=${preview ? 'beside' : ''}><div>
      <${EndingFields} value=${ending} onChange=${setEnding} isRequired=${needsEnd} />
      ${preview !== 'waiting' && html`<${TextField} label="Reason (optional)" name="reason" maxlength="200" value=${reason} placeholder=${hint}
        hint="Visitors read it on the waiting page. At most 200 characters." onChange=${setReason} />`}
      </div>${preview && html`<${Preview} queue=${queue} state=${preview} reason=${reason} />`}</div>`}
  <//>`;
}

/** Removes the override of the state, with its reason. */
function RemoveState({ queue, override }) {
  const isPaused = override === 'paused';
  const label = isPaused ? 'Resume' : `Remove override: ${override}`;
  return html`<${Lever} label=${label}>
    ${(close) => html`<${OverrideDialog} queue=${queue} title=${isPaused ? `Resume ${queue}` : `Remove the override “${override}” of ${queue}`}
      submit=${isPaused ? 'Resume' : 'Remove'} tone="primary" close=${close} body=${() => ({ state: null })}
      says=${[isPaused && 'Anteroom calls visitors again, in the order of the line. The waiting page no longer shows the pause and its reason.',
        'The opening times and the health of the target then decide the state alone.']}
      done=${(now) => stateResult(now, 'open')} />`}
  <//>`;
}

/** All levers that `state` and its override offer. */
export function StateLevers({ queue, state, override }) {
  // Without an override, the file and the health of the target decide: an operator can pause anyway.
  const offered = Object.keys(STATES).filter((name) => name !== override && (name === 'paused' || name !== state) && !(name === 'open' && override));
  return html`<div class="levers" role="group" aria-label="State of the queue">
    ${override && html`<${RemoveState} queue=${queue} override=${override} />`}
    ${offered.map((name) => html`<${Lever} key=${name} label="${STATES[name].label} …" tone=${name === 'paused' ? 'primary' : ''}>
      ${(close) => html`<${StateDialog} queue=${queue} state=${name} close=${close} />`}<//>`)}
  </div>`;
}
