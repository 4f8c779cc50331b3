/** Chooses the time range of a page, which is kept in the page's query. */
import { useMemo } from 'preact/hooks';
import { changeQuery, queryOf } from '../routing/routes.ts';
import { ChoiceField, TextField } from './fields.tsx';

/** Members of the queries of logs and analytics, RFC 3339; without an end the range ends now. */
export interface TimeRange {
  readonly time_of_generation_min: string;
  readonly time_of_generation_max?: string;
}

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

const choices = [
  ['1h', 'Last hour'],
  ['24h', 'Last 24 hours'],
  ['yesterday', 'Since yesterday'],
  ['7d', 'Last 7 days'],
  ['30d', 'Last 30 days'],
  ['custom', 'From a time to a time'],
] as const;
export type RangeName = (typeof choices)[number][0];

const lengthsMs: Readonly<Record<string, number>> = {
  '1h': hourMs,
  '24h': dayMs,
  '7d': 7 * dayMs,
  '30d': 30 * dayMs,
};

/** The range in the page's query, or the usual one. It is fixed until the query or `round` changes. */
export function useTimeRange(usual: RangeName, round = 0): TimeRange {
  const query = queryOf();
  const name = query.get('range') ?? usual;
  const from = query.get('from') ?? '';
  const to = query.get('to') ?? '';
  return useMemo(() => resolveRange(name, from, to, Date.now()), [name, from, to, round]);
}

/** `yesterday` starts at midnight in the reader's zone. */
function resolveRange(name: string, from: string, to: string, nowMs: number): TimeRange {
  if (name === 'custom' && !Number.isNaN(Date.parse(from))) {
    const start = { time_of_generation_min: new Date(from).toISOString() };
    if (Number.isNaN(Date.parse(to))) return start;
    return { ...start, time_of_generation_max: new Date(to).toISOString() };
  }
  if (name === 'yesterday') {
    const start = new Date(nowMs);
    start.setDate(start.getDate() - 1);
    start.setHours(0, 0, 0, 0);
    return { time_of_generation_min: start.toISOString() };
  }
  const startMs = nowMs - (lengthsMs[name] ?? dayMs);
  return {
    time_of_generation_min: new Date(Math.floor(startMs / minuteMs) * minuteMs).toISOString(),
  };
}

export function TimeRangeFields({ usual }: { readonly usual: RangeName }) {
  const query = queryOf();
  const name = query.get('range') ?? usual;
  const choose = (range: string): void => {
    const isUsual = range === usual;
    const from = new Date(Date.now() - dayMs).toISOString();
    const members = range === 'custom' ? { from, to: '' } : { from: '', to: '' };
    changeQuery({ ...members, range: isUsual ? '' : range });
  };
  return (
    <>
      <ChoiceField label="Time range" value={name} onValue={choose} choices={choices} />
      {name === 'custom' && (
        <>
          <TimeField label="From" name="from" />
          <TimeField label="To (now if empty)" name="to" />
        </>
      )}
    </>
  );
}

/** A time of the page's query, shown in the reader's zone. */
function TimeField({ label, name }: { readonly label: string; readonly name: 'from' | 'to' }) {
  const at = Date.parse(queryOf().get(name) ?? '');
  return (
    <TextField
      type="datetime-local"
      label={label}
      value={Number.isNaN(at) ? '' : localText(at)}
      onValue={(value) =>
        changeQuery({ [name]: value === '' ? '' : new Date(value).toISOString() })
      }
    />
  );
}

/** `2026-11-29T08:15` in the reader's zone, as inputs of times want it. */
function localText(at: number): string {
  const offsetMs = new Date(at).getTimezoneOffset() * minuteMs;
  return new Date(at - offsetMs).toISOString().slice(0, 16);
}
