// A lever that adds an amount, once: stock or funds.
import { ActionDialog, Lever, TextField } from './action.js';
import { addOnce, unansweredBody } from './api.js';
import { html, useState } from './dom.js';
import { count, wholeNumber } from './format.js';

/** `field` is the name of the amount in the body; `done(answer)` a sentence about the result. */
export function AddAmount({ label, ...properties }) {
  return html`<${Lever} label=${label} tone="primary">${(close) => html`<${AddDialog} ...${properties} close=${close} />`}<//>`;
}

function AddDialog({ title, submit, says, path, field, done, close }) {
  const unanswered = unansweredBody(path);
  const [text, setText] = useState(unanswered ? String(unanswered[field]) : '');
  const amount = wholeNumber(text) ?? 0;
  const isWrong = text.trim() !== '' && amount === 0;
  const run = async () => done(await addOnce(path, { [field]: amount }));
  return html`<${ActionDialog} title=${title} says=${says} submit=${unanswered ? 'Retry' : submit} isReady=${amount > 0} run=${run} close=${close}>
    ${unanswered && html`<p class="problem">The last call was not answered, so its effect is unknown. A retry is the same call: it cannot count twice.</p>`}
    <${TextField} label="Amount" name=${field} value=${text} inputmode="numeric" aria-invalid=${isWrong || undefined} required disabled=${Boolean(unanswered)}
      hint=${amount ? count(amount) : isWrong ? 'This is no whole number from 1 on, such as 1,000,000.' : 'A whole number'} onChange=${setText} />
  <//>`;
}
