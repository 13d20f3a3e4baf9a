// The form that takes a key.
import { TextField } from './action.js';
import { ICON, html, useEffect, useRef, useState } from './dom.js';
import { connect } from './live.js';
import { Problem } from './parts.js';
import { isPrivate, signIn } from './session.js';

export function SignIn({ refusal, hasEnded }) {
  const [key, setKey] = useState('');
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState(null);
  const form = useRef(null);
  useEffect(() => form.current.querySelector('input').focus(), []);
  const submit = async (event) => {
    event.preventDefault();
    setBusy(true);
    setProblem(null);
    try {
      await signIn(key.trim());
      setKey('');
      connect();
    } catch (refused) {
      setProblem(refused);
    }
    setBusy(false);
  };
  return html`<main class="sign-in"><form ref=${form} onSubmit=${submit}>
    <img src=${ICON} alt="" width="40" height="40" />
    <h1>Anteroom console</h1>
    <p>Sign in with an API key of the role <b>operator</b> or <b>viewer</b>.</p>
    ${hasEnded && html`<p class="problem" role="status">The session has ended. ${refusal.code === 'key_forbidden' ? refusal.detail ?? '' : 'It has expired, or its key was removed.'}</p>`}
    ${!isPrivate() && html`<p class="problem" role="note">This connection is not encrypted. Open the console through HTTPS, or forward the port
      to this machine: <code>kubectl port-forward service/admission 8081</code></p>`}
    <${TextField} label="API key" type="password" required value=${key} spellcheck=${false} placeholder="ark1.…"
      hint="The page does not store it. The session ends after 12 hours, or 30 minutes after you close the page." onChange=${setKey} />
    <${Problem} problem=${problem} />
    <button type="submit" class="primary" disabled=${isBusy || !key.trim()} aria-busy=${isBusy}>${isBusy ? 'Signing in …' : 'Sign in'}</button>
  </form></main>`;
}
