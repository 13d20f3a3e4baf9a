// The rules of a queue that an override can change: their names for people, and how a value of each
// is shown.
import { count, duration, plain, time } from './format.js';

const number = (label, help) => ({ kind: 'number', label, help, show: (value) => (value === null || value === undefined ? 'no limit' : count(value)) });
const span = (label, help) => ({ kind: 'span', label, help, show: duration });
const moment = (label, help) => ({ kind: 'moment', label, help, show: (value) => (value ? time(value) : 'none') });

export const RULES = {
  state: { kind: 'state', label: 'State', show: plain },
  reason: { kind: 'text', label: 'Reason', show: plain },
  capacity: number('Capacity', 'How many visitors can be ready or active at any moment. A lower value removes no visitor.'),
  batch: number('Batch', 'How many visitors are admitted at most in any interval.'),
  interval_ms: span('Interval', 'The interval of the batch.'),
  pace: { kind: 'choice', choices: ['even', 'batch'], label: 'Pace', help: 'How the batch is spread over the interval.', show: plain },
  max_waiting: number('Longest line', 'How many visitors can wait. Later ones cannot join.'),
  joins_at: moment('Joins from', 'The time from which visitors can join.'),
  opens_at: moment('Opens', 'The time from which visitors are admitted.'),
  closes_at: moment('Closes', 'The time from which the queue is closed.'),
  claim_ttl_ms: span('Time to enter', 'How long a called visitor has to enter.'),
  session_ttl_ms: span('Session', 'How long a session lasts without renewal.'),
  session_max_ms: span('Longest session', 'How long a session lasts at most.'),
  unproven_ttl_ms: span('Unproven session', 'How long a session that began at the gateway check lasts until the visitor first sends its token.'),
  idle_ttl_ms: span('Inactive after', 'How long a waiting visitor can go without a poll before it is skipped.'),
  keep_ttl_ms: span('Ticket kept', 'How long an inactive visitor keeps the ticket.'),
  first_poll_ttl_ms: span('First poll', 'How long a new visitor can go without a first poll.'),
  places_per_address: number('Places per address', 'How many places one client address can have. 0: no limit.'),
  local_answers: { kind: 'flag', label: 'Local answers', help: 'Whether admission authorizes active visitors from memory.', show: plain },
};

/** The rules that decide how many visitors enter: shown first. */
export const MAIN_RULES = ['capacity', 'batch', 'interval_ms', 'pace'];

/** All other rules. */
export const OTHER_RULES = Object.keys(RULES).filter((field) => !MAIN_RULES.includes(field) && field !== 'state' && field !== 'reason');

/** The value in force; `queue` is what `GET /v1/admin/queues/{queue}` returns, or `current` of a refusal. */
export const inForce = (queue, field) => (queue.rules && field in queue.rules ? queue.rules[field] : queue[field]);

/** The value of the configuration file. */
export const inFile = (queue, field) => (queue.overrides?.[field] ? queue.overrides[field].configured : inForce(queue, field));
