/** Shows the exact settings with which a client uses the gateway. */
import { useState } from 'preact/hooks';
import { mayDo, session } from '../../api/session.ts';
import { useReply } from '../../api/use-reply.ts';
import { Code } from '../../parts/code.tsx';
import { ChoiceField, Filters, TextField } from '../../parts/fields.tsx';
import { Page, Problem, Section } from '../../parts/page.tsx';
import { changeQuery, queryOf } from '../../routing/routes.ts';
import { clients, keyPlaceholder, mcpBlocks } from './clients.ts';

/** The ports on which a gateway listens unless its settings say otherwise. */
const inferencePort = 8787;
const mcpPort = 8788;
const mcpId = 'mcp';

/** A guess where the server does not know the address. */
const addressAt = (port: number): string => `${location.protocol}//${location.hostname}:${port}`;

export default function Setup() {
  const client = queryOf().get('client') ?? clients[0]!.id;
  const choices = [
    ...clients.map(({ id, name }) => [id, name] as const),
    [mcpId, 'An MCP client'] as const,
  ];
  return (
    <Page
      title="Client setup"
      about={
        <>
          Clients work unchanged: they take the address of the gateway and a{' '}
          <a href="#/keys">key</a>. Replace <code>{keyPlaceholder}</code> by its value.
        </>
      }
    >
      <Filters>
        <ChoiceField
          label="Client"
          value={client}
          onValue={(value) => changeQuery({ client: value })}
          choices={choices}
        />
      </Filters>
      {client === mcpId ? <McpClient /> : <ModelClient id={client} />}
    </Page>
  );
}

/** The address without a slash or `/v1` at its end; null when it is no address of HTTP. */
function baseOf(text: string): string | null {
  const url = URL.parse(text.trim());
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== '') return null;
  return `${url.origin}${url.pathname}`.replace(/\/+$/, '').replace(/\/v1$/, '');
}

const addressProblem = {
  message: 'Enter an address such as https://ai.example.com, without a user name.',
};

function ModelClient({ id }: { readonly id: string }) {
  const known = session.value?.addresses.inference ?? null;
  const [address, setAddress] = useState(known ?? addressAt(inferencePort));
  const [model, setModel] = useState('');
  const client = clients.find((one) => one.id === id) ?? clients[0]!;
  const inference = baseOf(address);
  return (
    <Section
      title={client.name}
      about={
        known === null && (
          <>
            The server does not know at which address clients reach inference: check this one, and
            set <code>GATEWRIGHT_INFERENCE_URL</code>.
          </>
        )
      }
    >
      <Filters>
        <TextField label="Address of inference" type="url" value={address} onValue={setAddress} />
        {client.usesModel && (
          <TextField label="Model" value={model} onValue={setModel} hint="gpt-4o or @slug/gpt-4o" />
        )}
      </Filters>
      {inference === null ? (
        <Problem error={addressProblem} />
      ) : (
        client
          .blocks({ inference, model: model.trim() || 'MODEL' })
          .map(({ label, text }) => (
            <Code key={`${client.id} ${label}`} label={label} text={text} />
          ))
      )}
      <p class="quiet">
        The key needs the scope <code>completions.write</code>.{' '}
        {client.usesModel
          ? 'The config of the key, or @slug/ before the model, selects the provider. '
          : 'The client sends model names of its own provider: a config whose override_params set the model answers them all. '}
        <code>GET /v1/models</code> at the address of inference lists what the key may use.
      </p>
    </Section>
  );
}

function McpClient() {
  const known = session.value?.addresses.mcp ?? null;
  const [address, setAddress] = useState(known ?? addressAt(mcpPort));
  const [chosen, setChosen] = useState('');
  const mayList = mayDo('mcp_servers.list');
  const servers = useReply('/v1/mcp-servers', { query: { page_size: 50 }, isOn: mayList });
  const found = servers.body?.data ?? [];
  const slug = chosen || found[0]?.slug;
  const base = baseOf(address);
  const choices = found.map((one) => [one.slug, `${one.name} (${one.slug})`] as const);
  const field = { label: 'MCP server', value: slug ?? '', onValue: setChosen };
  return (
    <Section
      title="An MCP client"
      about={
        known === null && (
          <>
            The server does not know at which address clients reach the MCP gateway: check this one,
            and set <code>GATEWRIGHT_MCP_URL</code>.
          </>
        )
      }
    >
      <Filters>
        <TextField
          label="Address of the MCP gateway"
          type="url"
          value={address}
          onValue={setAddress}
        />
        {mayList ? <ChoiceField {...field} choices={choices} /> : <TextField {...field} />}
      </Filters>
      {servers.error !== null && <Problem error={servers.error} onRetry={servers.reload} />}
      {servers.body !== null && found.length === 0 && <p>No MCP server is declared here.</p>}
      {base === null && <Problem error={addressProblem} />}
      {base !== null &&
        slug !== undefined &&
        mcpBlocks(slug, base).map(({ label, text }) => (
          <Code key={label} label={label} text={text} />
        ))}
      <p class="quiet">
        The key needs the scope <code>mcp.invoke</code>. A key of a workspace reaches the servers of
        its workspace.
      </p>
    </Section>
  );
}
