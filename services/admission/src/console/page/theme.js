// Light, dark, or as the system. The choice is the only thing that the page stores.
const NAME = 'anteroom-console-theme';
export const THEMES = { auto: 'Auto', light: 'Light', dark: 'Dark' };

/** The choice; `auto` if there is none. */
export function theme() {
  return document.documentElement.dataset.theme ?? 'auto';
}

/** Applies a choice, and stores it where the browser allows it. */
export function setTheme(name) {
  if (name === 'auto') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = name;
  try {
    localStorage.setItem(NAME, name);
  } catch {
    // Without storage the choice lasts as long as the page.
  }
}

try {
  const stored = localStorage.getItem(NAME);
  if (stored && Object.hasOwn(THEMES, stored)) setTheme(stored);
} catch {
  // As the system.
}
