/** Shows one MCP server: its tools, and definitions that differ from the approved ones. */
import { useState } from 'preact/hooks';
import { addressOf, change, type RowOf } from '../../api/client.ts';
import { mayDo } from '../../api/session.ts';
import { type ReplyState, useReply } from '../../api/use-reply.ts';
import { DeclaredNote } from '../../parts/declared.tsx';
import { ActionDialog } from '../../parts/dialog.tsx';
import { Facts, Page, Section, Show } from '../../parts/page.tsx';
import { Pages, Table } from '../../parts/table.tsx';
import { Ago, NamedState, State, type Tone } from '../../parts/text.tsx';
import type { PageParts } from '../pages.ts';

type Definitions = '/v1/mcp-integrations/{mcpIntegrationId}/definitions';
type Definition = RowOf<Definitions>;

const tones: Readonly<Record<Definition['state'], Tone>> = {
  trusted: 'good',
  drifted: 'bad',
  new: 'warning',
  gone: 'quiet',
};

export default function McpServer({ parts: { id = '' } }: { readonly parts: PageParts }) {
  const server = useReply('/v1/mcp-servers/{mcpServerId}', { parts: { mcpServerId: id } });
  return (
    <Page title={server.body?.name ?? 'MCP server'}>
      <Show loaded={server}>
        {(body) => (
          <>
            <DeclaredNote kind="McpServer" of={body} />
            <Section title="Facts">
              <Facts
                facts={[
                  ['Slug', <code key="slug">{body.slug}</code>],
                  ['State', <NamedState key="state" name={body.status} />],
                  ['Address', body.mcp_integration_details.url],
                  ['Login', body.mcp_integration_details.auth_type],
                  ['Users', body.default_user_access],
                  ['Definitions that differ', body.definition_policy],
                  [
                    'Calls',
                    <a key="logs" href={`#/logs?mcp_server=${body.slug}`}>
                      in the log
                    </a>,
                  ],
                ]}
              />
            </Section>
            <Pins integrationId={body.mcp_integration_id} />
            <Capabilities id={id} />
          </>
        )}
      </Show>
    </Page>
  );
}

function Capabilities({ id }: { readonly id: string }) {
  const [page, setPage] = useState(0);
  const capabilities = useReply('/v1/mcp-servers/{mcpServerId}/capabilities', {
    query: { page_size: 50, current_page: page },
    parts: { mcpServerId: id },
  });
  return (
    <Section title="Tools, prompts and resources">
      <Show loaded={capabilities}>
        {({ data, has_more, total }) => (
          <>
            <Table
              caption="Capabilities"
              rows={data}
              keyOf={({ type, name }) => `${type} ${name}`}
              empty="None is known yet. Sync asks the server; so does a test of the server."
              columns={[
                { name: 'Name', cell: ({ name }) => <code>{name}</code> },
                { name: 'Type', cell: ({ type }) => type },
                { name: 'Allowed', cell: ({ enabled }) => (enabled ? 'yes' : 'no') },
                { name: 'Description', cell: ({ description }) => description ?? '' },
                { name: 'Last seen', cell: (row) => <Ago at={row.last_seen_at} /> },
              ]}
            />
            <Pages page={page} hasMore={has_more} total={total} onPage={setPage} />
          </>
        )}
      </Show>
    </Section>
  );
}

/** Definitions that are not trusted come first, because somebody has to look at them. */
function Pins({ integrationId }: { readonly integrationId: string }) {
  const parts = { mcpIntegrationId: integrationId };
  const loaded = useReply('/v1/mcp-integrations/{mcpIntegrationId}/definitions', { parts });
  return (
    <Section
      title="Pinned definitions"
      about="A server can change what a tool says after somebody approved it. Each change shows here."
    >
      <Show loaded={loaded}>
        {({ counts, data }) => (
          <>
            <p>
              {counts.trusted} trusted, {counts.drifted} drifted, {counts.new} new, {counts.gone}{' '}
              gone, {counts.suspicious} suspicious
            </p>
            {data.some(({ state }) => state !== 'trusted') && (
              <Untrusted rows={data} integrationId={integrationId} loaded={loaded} />
            )}
          </>
        )}
      </Show>
    </Section>
  );
}

interface UntrustedProps {
  readonly rows: readonly Definition[];
  readonly integrationId: string;
  readonly loaded: Pick<ReplyState<unknown>, 'reload'>;
}

function Untrusted({ rows, integrationId, loaded }: UntrustedProps) {
  const [approving, setApproving] = useState<Definition | null>(null);
  const mayApprove = mayDo('mcp_integrations.update');
  return (
    <>
      <Table
        caption="Definitions that are not the approved ones"
        rows={rows.filter(({ state }) => state !== 'trusted')}
        keyOf={({ type, name }) => `${type} ${name}`}
        empty=""
        columns={[
          { name: 'Name', cell: ({ name }) => <code>{name}</code> },
          { name: 'State', cell: ({ state }) => <State tone={tones[state]}>{state}</State> },
          {
            name: 'Differences',
            cell: ({ changes }) => changes.map((one) => JSON.stringify(one)).join('\n'),
          },
          {
            name: 'Suspicious',
            cell: ({ warnings }) => warnings.map((one) => JSON.stringify(one)).join('\n'),
          },
          {
            name: 'Action',
            cell: (row) =>
              mayApprove && (
                <button type="button" onClick={() => setApproving(row)}>
                  Approve…
                </button>
              ),
          },
        ]}
      />
      {approving !== null && (
        <Approval
          definition={approving}
          integrationId={integrationId}
          onClose={() => setApproving(null)}
          onDone={loaded.reload}
        />
      )}
    </>
  );
}

function Approval({
  definition,
  integrationId,
  onClose,
  onDone,
}: {
  readonly definition: Definition;
  readonly integrationId: string;
  readonly onClose: () => void;
  readonly onDone: () => void;
}) {
  const { type, name, seen_digest: digest } = definition;
  const path = '/v1/mcp-integrations/{mcpIntegrationId}/definitions/approve';
  const act = async (): Promise<void> => {
    const address = addressOf(path, {}, { mcpIntegrationId: integrationId });
    await change('POST', address, { definitions: [{ type, name, digest }] });
    onDone();
  };
  return (
    <ActionDialog title={`Approve ${name}`} verb="Approve" onClose={onClose} act={act}>
      <p>
        From now on the definition that the server shows today is the approved one. If it has
        changed since this page loaded, the server refuses.
      </p>
      <p class="quiet">{digest}</p>
    </ActionDialog>
  );
}
