/** Lists what an operator has to look at, each with its reason and a link. */
import type { ComponentChildren } from 'preact';
import { useReply } from '../../api/use-reply.ts';
import { Problem, Section } from '../../parts/page.tsx';
import { Ago, NamedState } from '../../parts/text.tsx';

interface Matter {
  readonly key: string;
  readonly href: string;
  readonly state: string;
  readonly text: ComponentChildren;
}

const soonMs = 7 * 86_400_000;
const mattersMax = 12;

export function Attention() {
  const sync = useReply('/admin/v2/gatewright/sync/status', { everyMs: 30_000 });
  const keys = useReply('/v1/api-keys', { query: { page_size: 100 } });
  const matters: Matter[] = [];
  for (const { owner, report } of sync.body?.data ?? []) {
    if (report === null || report.state === 'Synced') continue;
    const text = report.error?.message ?? report.message ?? `${report.drift_count} fields drifted`;
    matters.push({
      key: owner,
      href: '#/sync',
      state: report.state,
      text: `Sync ${owner}: ${text}`,
    });
  }
  for (const { id, name, status, expires_at: at } of keys.body?.data ?? []) {
    const isEnding = at !== null && status === 'active' && Date.parse(at) - Date.now() < soonMs;
    if (status === 'active' && !isEnding) continue;
    const ending = isEnding ? (
      <>
        {' '}
        expires <Ago at={at} />
      </>
    ) : null;
    const text = (
      <>
        Key {name}
        {ending}
      </>
    );
    matters.push({ key: id, href: `#/keys/${id}`, state: isEnding ? 'expiring' : status, text });
  }
  const isLoading = sync.body === null && keys.body === null;
  return (
    <Section title="Needs attention">
      {[sync.error, keys.error].map(
        (error) =>
          error !== null && error.status !== 403 && <Problem key={error.message} error={error} />,
      )}
      {matters.length === 0 && !isLoading && <p class="quiet">Nothing: all is in order.</p>}
      <ul class="matters">
        {matters.slice(0, mattersMax).map(({ key, href, state, text }) => (
          <li key={key}>
            <NamedState name={state} /> <a href={href}>{text}</a>
          </li>
        ))}
      </ul>
      {matters.length > mattersMax && (
        <p>
          {matters.length - mattersMax} more, mostly of <a href="#/keys">keys</a>.
        </p>
      )}
    </Section>
  );
}
