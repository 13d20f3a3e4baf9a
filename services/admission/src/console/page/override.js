// The levers that override rules of a queue. Each dialog sends the revision that it has read: if
// the rules have changed since, it shows both values.
import { ActionDialog, ChoiceField, Field, Lever, TextField } from './action.js';
import { admin, call } from './api.js';
import { html, useEffect, useLoad, useRef, useState } from './dom.js';
import { EndingFields, endOf, firstEnding, isEnding } from './ending.js';
import { minute } from './format.js';
import { Problem, Time } from './parts.js';
import { pauseOf } from './pause.js';
import { RULES, inForce } from './rules.js';

const read = (queue, signal) => call('GET', admin('queues', queue), { signal });
const show = (field, value) => RULES[field].show(value);

/** What was wanted, read, and is in force now, field by field. */
function Conflict({ body, before, now }) {
  const fields = Object.keys(body).filter((field) => field in RULES);
  return html`<div class="problem conflict" role="alert">
    <strong>The rules have changed while this dialog was open. Nothing was changed.</strong>
    <table><thead><tr><th scope="col">Rule</th><th scope="col">You read</th><th scope="col">In force now</th><th scope="col">Yours</th></tr></thead>
      <tbody>${fields.map((field) => html`<tr key=${field}><th scope="row">${RULES[field].label}</th>
        <td>${show(field, inForce(before, field))}</td><td>${show(field, inForce(now, field))}</td>
        <td>${body[field] === null ? 'no override' : show(field, body[field])}</td></tr>`)}</tbody></table>
    <p>“Cancel” keeps what is in force now.</p>
  </div>`;
}

/**
 * A dialog that overrides rules. `body()` is what it sends, `done` a sentence about the result, or
 * what makes one of the queue that the service returns. `children(queue)` are its fields, with the
 * queue as it was read.
 */
function OverrideDialog({ queue, title, says, submit, tone, wide, isReady = true, body, done, close, children }) {
  const { data: found, problem } = useLoad((signal) => read(queue, signal), [queue]);
  const latest = useRef(null);
  const [isConflict, setConflict] = useState(false);
  const run = async () => {
    const { etag } = latest.current ?? found;
    try {
      const { data } = await call('PATCH', admin('queues', queue), { body: body(), ifMatch: etag });
      return typeof done === 'function' ? done(data) : done;
    } catch (refusal) {
      if (refusal.code === 'revision_changed') {
        latest.current = { data: refusal.current, etag: refusal.etag };
        setConflict(true);
      }
      throw refusal;
    }
  };
  const conflict = (refusal) => html`<${Conflict} body=${body()} before=${found.data} now=${refusal.current} />`;
  return html`<${ActionDialog} title=${title} says=${says} submit=${isConflict ? 'Apply mine' : submit} tone=${tone} wide=${wide}
      isReady=${found && isReady} run=${run} close=${close} conflict=${conflict}>
    <${Problem} problem=${found ? null : problem} />
    ${children?.(found?.data)}
  <//>`;
}

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
  const why = PAUSES[wanted === 'paused' ? null : pauseOf(queue)]?.(queue);
  if (state === wanted || !RESULTS[state]) return `${name} ${RESULTS[state] ?? 'is changed'}.`;
  const result = state === 'bypass' ? 'still passes every visitor' : `stays ${state}`;
  return `${name} ${result}${why ? `: ${why}` : ''}.`;
}

/** The waiting page as visitors will see it. It is a document of its own, without scripts. */
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
    <div><iframe title="Preview of the waiting page" sandbox="" src=${address.href}></iframe></div>
  </figure>`;
}

function StateDialog({ queue, state, close }) {
  const { label, says, tone, needsEnd, preview, hint } = STATES[state];
  const [reason, setReason] = useState('');
  const [ending, setEnding] = useState(firstEnding(needsEnd));
  const body = () => ({ state, reason: reason.trim() || undefined, until: endOf(ending) });
  return html`<${OverrideDialog} queue=${queue} title="${label} ${queue}" says=${says} submit=${label} tone=${tone} wide=${Boolean(preview)}
      isReady=${isEnding(ending)} body=${body} done=${(now) => stateResult(now, state)} close=${close}>
    ${() => html`<div class=${preview ? 'beside' : ''}><div>
      <${EndingFields} value=${ending} onChange=${setEnding} isRequired=${needsEnd} />
      ${preview !== 'waiting' && html`<${TextField} label="Reason (optional)" name="reason" maxlength="200" value=${reason} placeholder=${hint}
        hint="Visitors read it on the waiting page. At most 200 characters." onChange=${setReason} />`}
      </div>${preview && html`<${Preview} queue=${queue} state=${preview} reason=${reason} />`}</div>`}
  <//>`;
}

/** Removes the override of a rule. */
export function RemoveOverride({ queue, field }) {
  const { label: rule } = RULES[field];
  return html`<${Lever} label="Remove override" name="Remove override: ${rule}" small>
    ${(close) => html`<${OverrideDialog} queue=${queue} title="Remove the override of ${rule.toLowerCase()}" submit="Remove"
      says="The value of the configuration file is then in force." tone="primary" close=${close}
      body=${() => ({ [field]: null })} done="The override of ${rule.toLowerCase()} is removed." />`}
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

/** Pause, open, close, bypass; and the end of such an override. */
export function StateLevers({ queue, state, override }) {
  // Without an override, the file and the health of the target decide: an operator can pause anyway.
  const offered = Object.keys(STATES).filter((name) => name !== override && (name === 'paused' || name !== state) && !(name === 'open' && override));
  return html`<div class="levers" role="group" aria-label="State of the queue">
    ${override && html`<${RemoveState} queue=${queue} override=${override} />`}
    ${offered.map((name) => html`<${Lever} key=${name} label="${STATES[name].label} …" tone=${name === 'paused' ? 'primary' : ''}>
      ${(close) => html`<${StateDialog} queue=${queue} state=${name} close=${close} />`}<//>`)}
  </div>`;
}

const UNITS = [['1', 'ms'], ['1000', 'seconds'], ['60000', 'minutes'], ['3600000', 'hours']];
const unitOf = (ms) => UNITS.findLast(([size]) => ms % Number(size) === 0)?.[0] ?? '1';

// The controls by the kind of a rule: the text of a value, the value of a text, and the field.
const CONTROLS = {
  number: {
    text: (value) => (value === null || value === undefined ? '' : String(value)),
    value: (text) => (text === '' ? undefined : Number(text)),
    View: (properties) => html`<${TextField} ...${properties} type="number" min="0" step="1" inputmode="numeric" required />`,
  },
  span: {
    text: (value) => (value ? { amount: String(value / Number(unitOf(value))), unit: unitOf(value) } : { amount: '', unit: '1000' }),
    value: ({ amount, unit }) => (amount === '' ? undefined : Math.round(Number(amount) * Number(unit))),
    View: ({ label, name, hint, value, onChange }) => html`<${Field} label=${label} name=${name} hint=${hint}>${(attributes) => html`<div class="pair">
      <input ...${attributes} type="number" min="0" step="any" required value=${value.amount} onInput=${(event) => onChange({ ...value, amount: event.target.value })} />
      <select aria-label="Unit" onChange=${(event) => onChange({ ...value, unit: event.target.value })}>
        ${UNITS.map(([size, name]) => html`<option value=${size} selected=${size === value.unit}>${name}</option>`)}</select></div>`}<//>`,
  },
  choice: {
    text: (value) => value,
    value: (text) => text,
    View: ({ choices, ...properties }) => html`<${ChoiceField} ...${properties} choices=${choices.map((it) => [it, it])} />`,
  },
  flag: {
    text: (value) => String(value),
    value: (text) => text === 'true',
    View: (properties) => html`<${ChoiceField} ...${properties} choices=${[['true', 'yes'], ['false', 'no']]} />`,
  },
  moment: {
    text: () => '',
    value: (text) => (Number.isNaN(Date.parse(text)) ? undefined : new Date(text).toISOString()),
    View: (properties) => html`<${TextField} ...${properties} type="datetime-local" required />`,
  },
};

function RuleDialog({ queue, field, value, override, change, close }) {
  const rule = RULES[field];
  const control = CONTROLS[rule.kind];
  const [text, setText] = useState(control.text(value));
  const [ending, setEnding] = useState(firstEnding(false, override?.until));
  const wanted = control.value(text);
  const body = () => ({ [field]: wanted, until: endOf(ending) });
  return html`<${OverrideDialog} queue=${queue} title="Change ${rule.label.toLowerCase()} of ${queue}" says=${rule.help} submit="Change" tone="primary"
      isReady=${wanted !== undefined && isEnding(ending)} body=${body} close=${close}
      done="${rule.label} of ${queue} is ${rule.show(wanted)}.">
    ${(found) => html`<p>In force: <b>${rule.show(found ? inForce(found, field) : value)}</b></p>
      ${override && html`<p>An override${change ? ` of ${change.key}` : ''}, <${OverrideEnd} override=${override} />. The file has ${rule.show(override.configured)}.</p>`}
      <${control.View} name=${field} label="New value" choices=${rule.choices} value=${text} onChange=${setText} />
      <${EndingFields} value=${ending} onChange=${setEnding} />`}
  <//>`;
}

/** Until when an override is in force. */
export const OverrideEnd = ({ override: { until } }) => (until ? html`until <${Time} at=${until} />` : 'no end');

/** A lever that changes one rule; `override` is in force, and `change` has set it, if known. */
export function ChangeRule({ queue, field, value, override, change }) {
  return html`<${Lever} label="Change …" name="Change ${RULES[field].label.toLowerCase()}" small>
    ${(close) => html`<${RuleDialog} queue=${queue} field=${field} value=${value} override=${override} change=${change} close=${close} />`}
  <//>`;
}

/** Removes all visitors, after the name of the queue was typed. */
export function ResetQueue({ queue }) {
  return html`<${Lever} label="Reset …" tone="danger">${(close) => html`<${ResetDialog} queue=${queue} close=${close} />`}<//>`;
}

function ResetDialog({ queue, close }) {
  const [typed, setTyped] = useState('');
  const run = async () => {
    await call('POST', admin('queues', queue, 'reset'));
    return `${queue} is reset.`;
  };
  return html`<${ActionDialog} title="Reset ${queue}" submit="Reset" tone="danger" isReady=${typed === queue} run=${run} close=${close}
      says=${['You cannot undo a reset. It removes all waiting and admitted visitors, and tickets restart at 1.', 'Rules, overrides and the measured rate stay.']}>
    <${TextField} label="Type “${queue}” to confirm" value=${typed} autocapitalize="off" spellcheck=${false} onChange=${setTyped} />
  <//>`;
}
