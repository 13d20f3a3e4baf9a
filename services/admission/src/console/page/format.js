// Numbers, durations and times as the console shows them. A value that is unknown is a dash.
const NONE = '–';
const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });
const fraction = new Intl.NumberFormat('en', { maximumFractionDigits: 1 });
const share = new Intl.NumberFormat('en', { style: 'percent', maximumFractionDigits: 1 });
const plurals = new Intl.PluralRules('en');
const clock = new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium' });
const hour = new Intl.DateTimeFormat('en-GB', { timeStyle: 'short' });
const day = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' });
const year = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', year: 'numeric' });

const known = (value, format) => (value === undefined || value === null ? NONE : format(value));

/** A whole number with its thousands grouped. */
export const count = (value) => known(value, (it) => whole.format(it));

/** The number in a text with digits, which commas, spaces or the like can group: "1,000,000". Else undefined. */
export function wholeNumber(text) {
  const trimmed = text.trim();
  if (!/^(\d+|\d{1,3}([,_'’\s]\d{3})+)$/.test(trimmed)) return undefined;
  const value = Number(trimmed.replace(/\D/g, ''));
  return Number.isSafeInteger(value) ? value : undefined;
}

/** A number with at most one decimal. */
export const decimal = (value) => known(value, (it) => fraction.format(it));

/** A share of 0 to 1 as a percentage. */
export const percent = (value) => known(value, (it) => share.format(it));

/** A number and its noun: "1 visitor", "2 visitors". */
export function counted(value, one, many = `${one}s`) {
  return `${count(value)} ${plurals.select(value) === 'one' ? one : many}`;
}

/** A duration in milliseconds, in at most two units. */
export function duration(value) {
  return known(value, (ms) => {
    if (ms === 0) return '0 s';
    if (ms < 1000) return `${whole.format(ms)} ms`;
    if (ms < 10_000 && ms % 1000 >= 50) return `${fraction.format(ms / 1000)} s`;
    const seconds = Math.round(ms / 1000);
    const units = [['d', 86_400], ['h', 3600], ['min', 60], ['s', 1]];
    const first = units.findIndex(([, size]) => seconds >= size);
    const [unit, size] = units[first];
    const [next, part] = units[first + 1] ?? ['', 0];
    const rest = part ? Math.floor((seconds % size) / part) : 0;
    return `${whole.format(Math.floor(seconds / size))} ${unit}${rest ? ` ${rest} ${next}` : ''}`;
  });
}

/** A duration that is the upper bound of what was measured. */
export const atMost = (value) => known(value, (it) => `≤ ${duration(it)}`);

/** A duration in milliseconds in one unit, for an axis. */
export function axisDuration(ms) {
  const [unit, size] = [['h', 3_600_000], ['min', 60_000], ['s', 1000]].find(([, it]) => ms >= it) ?? ['s', 1000];
  return `${fraction.format(ms / size)} ${unit}`;
}

const isToday = (date) => date.toDateString() === new Date().toDateString();
const isThisYear = (date) => date.getFullYear() === new Date().getFullYear();
const dated = (date, time) =>
  (isToday(date) ? time : `${(isThisYear(date) ? day : year).format(date)}, ${time}`);

/** A time of the operator's zone to the second; with the day if it is not today. */
export const time = (value) => known(value, (it) => dated(new Date(it), clock.format(new Date(it))));

/** The same to the minute. */
export const minute = (value) => known(value, (it) => dated(new Date(it), hour.format(new Date(it))));

/** The hours and minutes alone, for an axis. */
export const axisTime = (ms) => hour.format(new Date(ms));

/** The same time in UTC, in full. */
export function utc(value) {
  return known(value, (it) => `${new Date(it).toISOString().slice(0, 19).replace('T', ' ')} UTC`);
}

/** A value of any kind, in a line of text. */
export function plain(value) {
  if (value === undefined || value === null) return 'none';
  if (typeof value === 'number') return count(value);
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (typeof value === 'string') return /^\d{4}-\d\d-\d\dT/.test(value) ? time(value) : value;
  return JSON.stringify(value);
}
