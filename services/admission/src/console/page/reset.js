// The lever that resets a queue.
import { ActionDialog, Lever, TextField } from './action.js';
import { admin, post } from './api.js';
import { html, useState } from './dom.js';

/** Removes all visitors, after the name of the queue was typed. */
export function ResetQueue({ queue }) {
  return html`<${Lever} label="Reset …" tone="danger">${(close) => html`<${ResetDialog} queue=${queue} close=${close} />`}<//>`;
}

function ResetDialog({ queue, close }) {
  const [typed, setTyped] = useState('');
  const run = async () => {
    await post(admin('queues', queue, 'reset'));
    return `${queue} is reset.`;
  };
  return html`<${ActionDialog} title="Reset ${queue}" submit="Reset" tone="danger" isReady=${typed === queue} run=${run} close=${close}
      says=${['You cannot undo a reset. It removes all waiting and admitted visitors, and tickets restart at 1.', 'Rules, overrides and the measured rate stay.']}>
    <${TextField} label="Type “${queue}” to confirm" value=${typed} autocapitalize="off" spellcheck=${false} onChange=${setTyped} />
  <//>`;
}
