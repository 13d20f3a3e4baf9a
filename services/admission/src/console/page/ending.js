// When an override ends: a choice of durations, a time, or no end.
import { ChoiceField, TextField } from './action.js';
import { html } from './dom.js';
import { minute, utc } from './format.js';
import { live } from './live.js';

const MINUTES = [['5', 'in 5 minutes'], ['10', 'in 10 minutes'], ['30', 'in 30 minutes'], ['60', 'in 1 hour'], ['240', 'in 4 hours']];

/** The first choice: the end that the override in force has (`kept`), if any. With `isRequired` there must be an end. */
export const firstEnding = (isRequired, kept) => ({ choice: kept ? 'keep' : isRequired ? '10' : '', at: '', kept });

/** The end as RFC 3339, by the clock of Anteroom; undefined without one. */
export function endOf({ choice, at, kept }) {
  if (choice === 'keep') return kept;
  if (choice === '') return undefined;
  if (choice === 'at') return Number.isNaN(Date.parse(at)) ? undefined : new Date(at).toISOString();
  return new Date(Date.parse(live.value.state?.at ?? Date()) + 60_000 * Number(choice)).toISOString();
}

/** Whether the choice is complete. */
export const isEnding = (ending) => ending.choice === '' || endOf(ending) !== undefined;

/** The fields of the choice. */
export function EndingFields({ value, onChange, isRequired }) {
  const choices = [...(value.kept ? [['keep', `keep the end (${minute(value.kept)})`]] : []), ...(isRequired ? [] : [['', 'no end: until an operator removes it']]), ...MINUTES, ['at', 'at a time …']];
  const end = value.choice === 'at' ? endOf(value) : undefined;
  return html`<${ChoiceField} label="End" name="until" value=${value.choice} choices=${choices}
      onChange=${(choice) => onChange({ ...value, choice })} />
    ${value.choice === 'at' && html`<${TextField} label="Time, in your zone" type="datetime-local" required
      value=${value.at} hint=${end ? utc(end) : undefined} onChange=${(at) => onChange({ ...value, at })} />`}`;
}
