/** Shows times, amounts, states and other values in one way on all pages. */
import type { ComponentChildren } from 'preact';

const timeFormat = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });
const units = [
  ['year', 365 * 86_400_000],
  ['month', 30 * 86_400_000],
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1000],
] as const;

/** "3 minutes ago", with the exact time as its title; a dash for null. */
export function Ago({ at }: { readonly at: string | null | undefined }) {
  if (at === null || at === undefined) return <span class="quiet">–</span>;
  const date = new Date(at);
  const distanceMs = date.getTime() - Date.now();
  const [unit, sizeMs] = units.find(([, ms]) => Math.abs(distanceMs) >= ms) ?? units[5];
  const text = relative.format(Math.round(distanceMs / sizeMs), unit);
  return (
    <time dateTime={at} title={timeFormat.format(date)}>
      {text}
    </time>
  );
}

/** The exact time in the reader's zone. */
export function At({ at }: { readonly at: string }) {
  return <time dateTime={at}>{timeFormat.format(new Date(at))}</time>;
}

const shortTimeFormat = new Intl.DateTimeFormat(undefined, {
  month: 'short',
  day: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hourCycle: 'h23',
});

/** Day and time on one line, for long lists; the title has the year. */
export function ShortAt({ at }: { readonly at: string }) {
  const date = new Date(at);
  return (
    <time class="short" dateTime={at} title={timeFormat.format(date)}>
      {shortTimeFormat.format(date)}
    </time>
  );
}

/** Text on one line, cut where it is long; the title has all of it. */
export function Short({ text }: { readonly text: string }) {
  return (
    <span class="short" title={text}>
      {text}
    </span>
  );
}

const count = new Intl.NumberFormat('en');
const shortCount = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });

export const formatCount = (value: number): string => count.format(value);
export const formatShort = (value: number): string => shortCount.format(value);

/** US dollars, with as many digits as small amounts need. */
export function formatDollars(value: number): string {
  const isSmall = value !== 0 && Math.abs(value) < 0.01;
  const maximumFractionDigits = isSmall ? 6 : 2;
  const options = { style: 'currency', currency: 'USD', maximumFractionDigits } as const;
  return new Intl.NumberFormat('en', options).format(value);
}

/** Milliseconds as `48 ms` or `1.2 s`; a dash for null. */
export function formatDuration(ms: number | null | undefined): string {
  if (ms === null || ms === undefined) return '–';
  return ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)} s`;
}

export type Tone = 'good' | 'warning' | 'bad' | 'quiet';

/** A state in one word; the word says it all, so that nobody depends on its colour. */
export function State({
  tone,
  children,
}: {
  readonly tone: Tone;
  readonly children: ComponentChildren;
}) {
  return <span class={`state ${tone}`}>{children}</span>;
}

const tones: Readonly<Record<string, Tone>> = {
  active: 'good',
  Synced: 'good',
  passed: 'good',
  success: 'good',
  monitored: 'warning',
  unjudged: 'warning',
  exhausted: 'bad',
  expired: 'bad',
  denied: 'bad',
  failed: 'bad',
  Failed: 'bad',
  Degraded: 'bad',
  OutOfSync: 'warning',
  expiring: 'warning',
  failing: 'bad',
  'nearly exhausted': 'warning',
  pending: 'warning',
  archived: 'quiet',
  accepted: 'good',
  Suspended: 'warning',
};

/** A state that the API names. */
export function NamedState({ name }: { readonly name: string | null | undefined }) {
  if (name === null || name === undefined || name === '') return <span class="quiet">–</span>;
  return <State tone={tones[name] ?? 'quiet'}>{name}</State>;
}

/** HTTP status of a response. */
export function StatusCode({ status }: { readonly status: number | null }) {
  if (status === null) return <span class="quiet">–</span>;
  const tone = status < 400 ? 'good' : status < 500 ? 'warning' : 'bad';
  return <State tone={tone}>{status}</State>;
}

/** Part of an amount that is used, as a bar with its figures beside it. */
export function Share({
  used,
  of,
  format,
}: {
  readonly used: number;
  readonly of: number;
  readonly format: (value: number) => string;
}) {
  const part = of === 0 ? 1 : Math.min(1, used / of);
  const text = `${format(used)} of ${format(of)}`;
  return (
    <span class="share">
      <meter max={1} low={0.8} high={0.999} optimum={0} value={part} aria-label={text} />
      <span>{text}</span>
    </span>
  );
}
