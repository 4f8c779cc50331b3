/** Shows one config: its drawing, the route of a request, its document and earlier versions. */
import { useState } from 'preact/hooks';
import { useReply } from '../../api/use-reply.ts';
import { Json } from '../../parts/code.tsx';
import { DeclaredNote } from '../../parts/declared.tsx';
import { Facts, Page, Section, Show } from '../../parts/page.tsx';
import { Table } from '../../parts/table.tsx';
import { Ago, NamedState } from '../../parts/text.tsx';
import type { PageParts } from '../pages.ts';
import type { ConfigLevel } from './config-level.ts';
import { Drawing } from './drawing.tsx';
import { TryRequest } from './try-request.tsx';

export default function Config({ parts: { id = '' } }: { readonly parts: PageParts }) {
  const [taken, setTaken] = useState<readonly string[]>([]);
  const loaded = useReply('/v1/configs/{configId}', { parts: { configId: id } });
  return (
    <Page title={loaded.body?.name ?? 'Config'}>
      <Show loaded={loaded}>
        {(config) => {
          const level = JSON.parse(config.config) as ConfigLevel;
          return (
            <>
              <DeclaredNote kind="Config" of={config} scope="configs.update" />
              <Section title="Facts">
                <Facts
                  facts={[
                    ['Slug', <code key="slug">{config.slug}</code>],
                    ['State', <NamedState key="state" name={config.status} />],
                    ['Changed', <Ago key="changed" at={config.last_updated_at} />],
                    [
                      'Requests',
                      <a key="logs" href={`#/logs?config=${id}`}>
                        in the log
                      </a>,
                    ],
                  ]}
                />
              </Section>
              <Section title="Route">
                <Drawing level={level} taken={taken} />
                <h3>Try it</h3>
                <TryRequest level={level} onTaken={setTaken} />
              </Section>
              <Section title="Document">
                <Json value={level} label={config.slug} />
              </Section>
              <Versions id={id} />
            </>
          );
        }}
      </Show>
    </Page>
  );
}

function Versions({ id }: { readonly id: string }) {
  const query = { page_size: 10 };
  const versions = useReply('/v1/configs/{configId}/versions', { query, parts: { configId: id } });
  return (
    <Section title="Versions">
      <Show loaded={versions}>
        {({ data }) => (
          <Table
            caption="Versions, newest first"
            rows={data}
            keyOf={({ version_id }) => version_id}
            empty="There is no earlier version."
            columns={[
              { name: 'Changed', cell: (row) => <Ago at={row.last_updated_at} /> },
              { name: 'By', cell: (row) => row.updated_by },
              {
                name: 'Document',
                cell: ({ config }) => (
                  <details>
                    <summary>Show</summary>
                    <Json value={JSON.parse(config)} label="Document" />
                  </details>
                ),
              },
            ]}
          />
        )}
      </Show>
    </Section>
  );
}
