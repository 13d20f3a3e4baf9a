// Levers: a button opens a dialog, the dialog says what a call will do, makes it, and shows its
// progress and its problem. What was done is announced.
import { createContext, createStore, html, useContext, useEffect, useId, useRef, useState, useStore } from './dom.js';
import { live } from './live.js';
import { Problem, useCaller } from './parts.js';

const SHOWN_MS = 8000;
const notices = createStore([]);
/** How many actions of this page have succeeded. */
export const actions = createStore(0);

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

/** Where the focus goes if a button is gone: the heading of its section, or of the view. */
function focusHeading(section) {
  const near = section?.isConnected ? section.querySelector('h2') : null;
  const heading = near ?? document.querySelector('main h1');
  heading?.setAttribute('tabindex', '-1');
  heading?.focus();
}

/** What had the focus last: an element that is removed loses it before its component hears of that. */
let lastFocused = null;
document.addEventListener('focusin', ({ target }) => { lastFocused = target; });

/** The button of a dialog gets the focus back when the dialog closes. If it is gone, its heading does. */
function useFocusReturn(isOpen) {
  const button = useRef(null);
  const opened = useRef(false);
  useEffect(() => {
    if (!isOpen && opened.current) button.current?.focus();
    opened.current = isOpen;
  }, [isOpen]);
  useEffect(() => {
    const element = button.current;
    const section = element?.closest('section');
    return () => {
      const hadFocus = opened.current || lastFocused === element;
      // After the whole change of the view: only if nothing else has the focus by then.
      if (hadFocus) setTimeout(() => document.activeElement === document.body && focusHeading(section));
    };
  }, []);
  return button;
}

/**
 * A button that opens a dialog: `children(close)`. A caller that may change nothing has none.
 */
export function Lever({ label, name, tone = '', small, children }) {
  const [isOpen, setOpen] = useState(false);
  const button = useFocusReturn(isOpen);
  if (!useCaller().canChange) return null;
  return html`<button ref=${button} type="button" class="${tone} ${small ? 'small' : ''}" aria-haspopup="dialog" aria-label=${name}
      onClick=${() => setOpen(true)}>${label}</button>
    ${isOpen && children(() => setOpen(false))}`;
}

const DialogProblem = createContext(null);

/**
 * A dialog about one call. `run()` makes it and returns what was done, in a sentence.
 * `conflict(problem)` shows a refusal `revision_changed`. Until `isLoaded` its fields can be missing.
 */
export function ActionDialog({ title, says, submit, tone = 'primary', isReady = true, isLoaded = true, run, close, conflict, wide, children }) {
  const dialog = useRef(null);
  const id = useId();
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState(null);
  useEffect(() => {
    const opened = dialog.current;
    opened.showModal();
    opened.focus();
    return () => opened.close();
  }, []);
  // The first field has the focus, or else the button that acts. What destroys something has it on
  // Cancel. A problem, during which no button could be pressed, gives it back.
  useEffect(() => {
    const { current: opened } = dialog;
    const isFree = document.activeElement === opened || !opened.contains(document.activeElement);
    if (!isFree || isBusy) return;
    const field = problem ? opened.querySelector('[aria-invalid]') : opened.querySelector('input:enabled, select');
    const button = opened.querySelector(tone === 'danger' && !problem ? 'footer button' : 'footer button[type="submit"]:enabled');
    (field ?? button)?.focus();
    // What is typed replaces the value.
    field?.select?.();
  }, [isLoaded, isReady, isBusy, problem]);
  const act = async (event) => {
    event.preventDefault();
    setBusy(true);
    setProblem(null);
    try {
      const done = await run();
      actions.set(actions.value + 1);
      close();
      announce(done);
    } catch (refusal) {
      setProblem(refusal);
      setBusy(false);
    }
  };
  const isConflict = problem?.code === 'revision_changed' && conflict;
  // The code says that a call had no effect: Redis did not answer.
  const isDown = problem ? problem.code === 'store_unavailable' : live.value.state?.redis === false;
  return html`<dialog ref=${dialog} tabindex="-1" class=${wide ? 'wide' : ''} aria-labelledby="${id}-title" onClose=${close}
      onCancel=${(event) => isBusy && event.preventDefault()}>
    <form onSubmit=${act}>
      <h2 id="${id}-title">${title}</h2>
      ${[says].flat().filter(Boolean).map((text) => html`<p>${text}</p>`)}
      <${DialogProblem.Provider} value=${problem}>${children}<//>
      ${isConflict ? conflict(problem) : isDown ? html`<p class="problem" role="alert">Redis is down${problem ? ': nothing was changed' : ''}. Try again when it is back.</p>`
        : html`<${Problem} problem=${problem} />`}
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
