// Levers: a button opens a dialog, the dialog says what a call will do, makes it, and shows its
// progress and its problem. What was done is announced.
import { createContext, createStore, html, useContext, useEffect, useId, useRef, useState, useStore } from './dom.js';
import { live } from './live.js';
import { Problem, useCaller } from './parts.js';

const SHOWN_MS = 8000;
const notices = createStore([]);

/** Shows a result for a moment; screen readers read it. */
export function announce(text) {
  const notice = { text, id: crypto.randomUUID() };
  notices.set([...notices.value, notice]);
  setTimeout(() => notices.set(notices.value.filter(({ id }) => id !== notice.id)), SHOWN_MS);
}

/** Where results are shown. */
export function Notices() {
  const all = useStore(notices);
  return html`<div class="notices" role="status" aria-live="polite">
    ${all.map(({ id, text }) => html`<p key=${id}>${text}</p>`)}
  </div>`;
}

/**
 * A button that opens a dialog: `children(close)`. A caller that may change nothing has none.
 */
export function Lever({ label, name, tone = '', small, children }) {
  const [isOpen, setOpen] = useState(false);
  if (!useCaller().canChange) return null;
  return html`<button type="button" class="${tone} ${small ? 'small' : ''}" aria-haspopup="dialog" aria-label=${name}
      onClick=${() => setOpen(true)}>${label}</button>
    ${isOpen && children(() => setOpen(false))}`;
}

const DialogProblem = createContext(null);

/**
 * A dialog about one call. `run()` makes it and returns what was done, in a sentence.
 * `conflict(problem)` shows a refusal `revision_changed`.
 */
export function ActionDialog({ title, says, submit, tone = 'primary', isReady = true, run, close, conflict, wide, children }) {
  const dialog = useRef(null);
  const id = useId();
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState(null);
  useEffect(() => {
    const opened = dialog.current;
    opened.showModal();
    return () => opened.close();
  }, []);
  const act = async (event) => {
    event.preventDefault();
    setBusy(true);
    setProblem(null);
    try {
      const done = await run();
      close();
      announce(done);
    } catch (refusal) {
      setProblem(refusal);
      setBusy(false);
    }
  };
  const isConflict = problem?.code === 'revision_changed' && conflict;
  const isOffline = live.value.state?.redis === false;
  return html`<dialog ref=${dialog} class=${wide ? 'wide' : ''} aria-labelledby="${id}-title" onClose=${close}
      onCancel=${(event) => isBusy && event.preventDefault()}>
    <form onSubmit=${act}>
      <h2 id="${id}-title">${title}</h2>
      ${[says].flat().filter(Boolean).map((text) => html`<p>${text}</p>`)}
      ${isOffline && html`<p class="problem">Redis is down. Until it is back, calls change nothing.</p>`}
      <${DialogProblem.Provider} value=${problem}>${children}<//>
      ${isConflict ? conflict(problem, () => setProblem(null)) : html`<${Problem} problem=${problem} />`}
      <footer>
        <button type="button" disabled=${isBusy} onClick=${close}>Cancel</button>
        <button type="submit" class=${tone} disabled=${isBusy || !isReady} aria-busy=${isBusy}>
          ${isBusy ? 'Working …' : submit}
        </button>
      </footer>
    </form>
  </dialog>`;
}

/** A lever whose dialog has only a text and a button. */
export function Confirm({ label, name, title, says, submit, tone = 'danger', small, run }) {
  return html`<${Lever} label=${label} name=${name} tone=${small ? '' : tone} small=${small}>
    ${(close) => html`<${ActionDialog} title=${title} says=${says} submit=${submit ?? label} tone=${tone} run=${run} close=${close} />`}
  <//>`;
}

/**
 * A field of a dialog, with its name in the API. `children(attributes)` is its control. If the
 * problem of the dialog names the field, the control is invalid.
 */
export function Field({ name, label, hint, children }) {
  const id = useId();
  const problem = useContext(DialogProblem);
  const isWrong = Boolean(problem && name && new RegExp(`\\b${name}\\b`).test(problem.detail));
  const described = [hint && `${id}-hint`, isWrong && `${id}-wrong`].filter(Boolean).join(' ');
  return html`<div class="field ${isWrong ? 'wrong' : ''}">
    <label for=${id}>${label}</label>
    ${children({ id, name, 'aria-describedby': described || undefined, 'aria-invalid': isWrong || undefined })}
    ${hint && html`<p class="hint" id="${id}-hint">${hint}</p>`}
    ${isWrong && html`<p class="wrong" id="${id}-wrong">${problem.detail}</p>`}
  </div>`;
}

/** A field with a line of text or a number. */
export function TextField({ value, onChange, type = 'text', hint, label, name, ...rest }) {
  return html`<${Field} name=${name} label=${label} hint=${hint}>
    ${(attributes) => html`<input ...${attributes} ...${rest} type=${type} value=${value} autocomplete="off"
      onInput=${(event) => onChange(event.target.value)} />`}
  <//>`;
}

/** A field with a choice: `choices` are pairs of a value and its name. */
export function ChoiceField({ value, onChange, choices, hint, label, name }) {
  return html`<${Field} name=${name} label=${label} hint=${hint}>
    ${(attributes) => html`<select ...${attributes} onChange=${(event) => onChange(event.target.value)}>
      ${choices.map(([choice, text]) => html`<option key=${choice} value=${choice} selected=${choice === value}>${text}</option>`)}
    </select>`}
  <//>`;
}
