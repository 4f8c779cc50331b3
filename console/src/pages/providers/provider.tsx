/** Shows one provider: its limits, its models and their prices. */
import type { BodyOf } from '../../api/client.ts';
import { useReply } from '../../api/use-reply.ts';
import { nameOfWorkspace } from '../../api/workspaces.ts';
import { DeclaredNote } from '../../parts/declared.tsx';
import { RequestsPlot } from '../../parts/figure-plots.tsx';
import { Facts, Page, Section, Show } from '../../parts/page.tsx';
import { Plot } from '../../parts/plot.tsx';
import { Ago, formatDuration, NamedState } from '../../parts/text.tsx';
import { useTimeRange } from '../../parts/time-range.tsx';
import type { PageParts } from '../pages.ts';
import { Models } from './models.tsx';

type Provider = BodyOf<'/v1/providers/{providerId}'>;

export default function ProviderPage({ parts }: { readonly parts: PageParts }) {
  const provider = useReply('/v1/providers/{providerId}', { parts: { providerId: parts.id! } });
  const slug = provider.body?.slug ?? '';
  return (
    <Page
      title={provider.body?.name ?? 'Provider'}
      about={<code>@{slug}</code>}
      actions={
        <a class="button" href={`#/logs?provider=${encodeURIComponent(`@${slug}`)}`}>
          Its requests
        </a>
      }
    >
      <Show loaded={provider}>
        {(body) => (
          <>
            <DeclaredNote kind="Provider" of={body} />
            <ProviderFacts provider={body} />
            <Section title="Last 24 hours">
              <Traffic provider={body} />
            </Section>
            <Section
              title="Models and prices"
              about={`Models of the integration, which providers share. Service: ${body.ai_provider_name}.`}
            >
              <Models integrationId={body.integration_id} service={body.ai_provider_name} />
            </Section>
          </>
        )}
      </Show>
    </Page>
  );
}

function ProviderFacts({ provider }: { readonly provider: Provider }) {
  const limits = [provider.usage_limits ?? [], provider.rate_limits ?? []].flat();
  return (
    <Section title="Settings">
      <Facts
        facts={[
          ['State', <NamedState key="state" name={provider.status} />],
          ['Service', provider.ai_provider_name],
          ['Integration', <code key="integration">{provider.integration_id}</code>],
          ['Workspace', nameOfWorkspace(provider.workspace_id)],
          [
            'Credential',
            provider.masked_api_key === '' ? 'that of the integration' : provider.masked_api_key,
          ],
          ['Expires', <Ago key="expires" at={provider.expires_at} />],
          ['Limits', limits.length === 0 ? 'none' : limits.map(limitInWords).join('; ')],
          ['Changed', <Ago key="changed" at={provider.last_updated_at} />],
          ['Note', provider.note ?? '–'],
        ]}
      />
    </Section>
  );
}

const units: Readonly<Record<string, string>> = {
  rps: 'second',
  rpm: 'minute',
  rph: 'hour',
  rpd: 'day',
  rpw: 'week',
};

function limitInWords(limit: Readonly<Record<string, unknown>>): string {
  const { type, unit, value, credit_limit: credit } = limit;
  if (value !== undefined) return `${value} ${type} a ${units[String(unit)] ?? unit}`;
  return type === 'cost' ? `budget of $${credit}` : `${credit} ${type}`;
}

function Traffic({ provider: { slug, workspace_id } }: { readonly provider: Provider }) {
  const range = useTimeRange('24h');
  const graph = useReply('/v1/analytics/graph', {
    query: { ...range, workspace_id, virtual_keys: slug },
  });
  return (
    <Show loaded={graph}>
      {({ data }) => {
        const times = data.map((point) => point.timestamp);
        return (
          <div class="plots">
            <RequestsPlot data={data} />
            <Plot
              title="Latency"
              times={times}
              format={formatDuration}
              series={[
                {
                  name: 'p50',
                  values: data.map((point) => point.duration_ms_p50),
                  colour: '--good',
                },
                {
                  name: 'p99',
                  values: data.map((point) => point.duration_ms_p99),
                  colour: '--bad',
                },
              ]}
            />
          </div>
        );
      }}
    </Show>
  );
}
