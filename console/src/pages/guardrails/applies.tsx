/** Shows where a guardrail applies: in the organisation, in its workspace, on MCP servers. */
import { useState } from 'preact/hooks';
import type { BodyOf } from '../../api/client.ts';
import { useReply } from '../../api/use-reply.ts';
import { Problem, Section } from '../../parts/page.tsx';

type Guardrail = BodyOf<'/v1/guardrails/{guardrailId}'>;

export function Applies({ guardrail }: { readonly guardrail: Guardrail }) {
  const [isRequested, ask] = useState(false);
  const { mcp_server_mappings: mappings } = guardrail;
  return (
    <Section
      title="Where it applies"
      about="On MCP servers, and as a default of the organisation or its workspace. Configs name guardrails too; the API does not list the configs and keys that use one."
    >
      <ul>
        {mappings.map(({ id, mcp_server_id: server, run_on, capability_ids: tools }) => (
          <li key={id}>
            <a href={`#/mcp-servers/${server}`}>MCP server {server}</a>: {run_on.join(' and ')},{' '}
            {tools.length === 0 ? 'all tools' : `${tools.length} tools`}
          </li>
        ))}
      </ul>
      {isRequested ? (
        <Defaults guardrail={guardrail} />
      ) : (
        <button type="button" onClick={() => ask(true)}>
          Look up the defaults
        </button>
      )}
    </Section>
  );
}

const sides = {
  input_guardrails: 'model requests',
  output_guardrails: 'responses of models',
  mcp_input_guardrails: 'calls of MCP tools',
  mcp_output_guardrails: 'results of MCP tools',
} as const;
type Side = keyof typeof sides;

/** Costs two requests, so it is loaded when it is asked for. */
function Defaults({
  guardrail: { id, slug, workspace_id: place },
}: {
  readonly guardrail: Guardrail;
}) {
  const organisation = useReply('/v1/admin/organisation/defaults', {});
  const workspace = useReply('/v1/workspaces/{id}/guardrails', {
    parts: { id: place ?? '' },
    isOn: place !== null,
  });
  const names = Object.keys(sides) as Side[];
  const inOrganisation = names.filter((side) =>
    organisation.body?.[side].some((one) => one.id === id),
  );
  const inWorkspace = names.filter((side) =>
    workspace.body?.[side]?.some((one) => one === slug || one === id),
  );
  const isLoading = organisation.isLoading || workspace.isLoading;
  const isNowhere = inOrganisation.length + inWorkspace.length === 0;
  return (
    <>
      {[organisation.error, workspace.error].map(
        (error) => error !== null && <Problem key={error.message} error={error} />,
      )}
      {isLoading && <p class="quiet loading">Loading…</p>}
      <ul>
        {inOrganisation.map((side) => (
          <li key={side}>Every workspace of the organisation: {sides[side]}</li>
        ))}
        {inWorkspace.map((side) => (
          <li key={side}>Everything in its workspace: {sides[side]}</li>
        ))}
      </ul>
      {!isLoading && isNowhere && (
        <p class="quiet">It is no default of organisation or workspace.</p>
      )}
    </>
  );
}
