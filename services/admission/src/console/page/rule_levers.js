// The levers of one rule of a queue: a new value, and the end of an override.
import { ChoiceField, Field, Lever, TextField } from './action.js';
import { lastChangeOf } from './changes.js';
import { html, useState } from './dom.js';
import { EndingFields, endOf, firstEnding, isEnding } from './ending.js';
import { OverrideDialog, OverrideEnd } from './override.js';
import { RULES, inFile, inForce } from './rules.js';

const UNITS = [['1', 'ms'], ['1000', 'seconds'], ['60000', 'minutes'], ['3600000', 'hours']];
const unitOf = (ms) => UNITS.findLast(([size]) => ms % Number(size) === 0)[0];

// The controls by the kind of a rule: the text of a value, the value of a text, and the field.
const CONTROLS = {
  number: {
    text: (value) => String(value ?? ''),
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

function RuleDialog({ queue, field, changes, close }) {
  const rule = RULES[field];
  const control = CONTROLS[rule.kind];
  // What the operator has entered. The rest is as it was read.
  const [entered, setEntered] = useState({});
  const form = (found) => ({ text: control.text(inForce(found, field)), ending: firstEnding(false, found.overrides?.[field]?.until), ...entered });
  const body = (found) => {
    const { text, ending } = form(found);
    return { [field]: control.value(text), until: endOf(ending) };
  };
  const fields = (found, now) => {
    const { text, ending } = form(found);
    const override = now.overrides?.[field];
    const change = override && lastChangeOf(changes, field, override);
    return html`<p>In force: <b>${rule.show(inForce(now, field))}</b></p>
      ${override && html`<p>An override${change ? ` of ${change.key}` : ''}, <${OverrideEnd} override=${override} />. The file has ${rule.show(inFile(found, field))}.</p>`}
      <${control.View} name=${field} label="New value" choices=${rule.choices} value=${text} onChange=${(text) => setEntered({ ...entered, text })} />
      <${EndingFields} value=${ending} onChange=${(ending) => setEntered({ ...entered, ending })} />`;
  };
  return html`<${OverrideDialog} queue=${queue} title="Change ${rule.label.toLowerCase()} of ${queue}" says=${rule.help} submit="Change" tone="primary"
      isReady=${(found) => body(found)[field] !== undefined && isEnding(form(found).ending)} body=${body} close=${close}
      done=${(_, wanted) => `${rule.label} of ${queue} is ${rule.show(wanted[field])}.`}>
    ${(found, now) => found && fields(found, now)}
  <//>`;
}

/** A lever that changes one rule of a queue; `changes` are those of the queue. */
export function ChangeRule(properties) {
  return html`<${Lever} label="Change …" name="Change ${RULES[properties.field].label.toLowerCase()}" small>
    ${(close) => html`<${RuleDialog} ...${properties} close=${close} />`}
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
